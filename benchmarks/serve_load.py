"""The service under load: many clients beside one at a time, every answer compared with the library's own; then faults.

A server is started as a user starts it, on an index and the encoder it was made with; all texts are made here. The
first part sends requests of mixed sizes (searches, texts to encode, pairs, OpenAI's embeddings) one at a time, then by
many clients at once; `ratio` is how many more a second the second gets through, `cpu_ratio` how much less CPU time of
the server a request takes then, which other programs on the machine change less. The second part does the same while
clients die in the middle of a request, a body is far too large, a reader reads slowly, and the index is replaced on
disk; it ends with SIGTERM under load.

    python benchmarks/serve_load.py                          # 64 clients, 10,000 requests
    python benchmarks/serve_load.py --requests 600 --clients 16 --seconds 60
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

CLOSE = 2e-4
"""How far a number of an answer may be from the library's: a batch is summed in another order."""

SIZES = (1,) * 14 + (2,) * 3 + (4,) * 2 + (8,)
"""Texts of a request that encodes."""

HEAD = b"POST %b HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"

SUBJECTS = ("baker", "pilot", "neighbor", "engineer", "child", "sailor", "teacher", "painter", "farmer", "doctor")
VERBS = ("paints", "repairs", "watches", "carries", "forgets", "describes", "finds", "sells", "hides", "counts")
OBJECTS = ("boat", "clock", "apple", "street", "letter", "bread", "window", "garden", "bridge", "lamp", "coat", "map")
PLACES = ("near the river", "before sunrise", "without a word", "after the storm", "every winter", "at the station")
KINDS = ("old", "wooden", "broken", "red", "empty", "long", "heavy", "small", "blue", "quiet", "torn", "warm")


def sentence(rng: random.Random) -> str:
    """Return a sentence."""
    one, other = rng.choice(KINDS), rng.choice(KINDS)
    return (
        f"The {one} {rng.choice(SUBJECTS)} {rng.choice(VERBS)} the {other} {rng.choice(OBJECTS)} {rng.choice(PLACES)}."
    )


def documents(count: int, seed: int) -> list[dict[str, Any]]:
    """Return documents of one to four sentences with a year and a language."""
    rng = random.Random(seed)
    return [
        {
            "id": f"d{number}",
            "text": " ".join(sentence(rng) for _ in range(rng.randint(1, 4))),
            "year": rng.randint(2000, 2024),
            "lang": rng.choice(("en", "de", "fr")),
        }
        for number in range(count)
    ]


def questions(count: int, seed: int) -> list[tuple[str, dict[str, Any]]]:
    """Return requests of mixed kinds and sizes: paths and bodies."""
    rng = random.Random(seed)
    found: list[tuple[str, dict[str, Any]]] = []
    for _ in range(count):
        kind = rng.random()
        texts = [sentence(rng) for _ in range(rng.choice(SIZES))]
        if kind < 0.55:
            words = sentence(rng).split()
            body: dict[str, Any] = {"query": " ".join(rng.sample(words, rng.randint(2, len(words))))}
            body |= {"mode": rng.choice(("both", "both", "both", "vectors", "words")), "top": rng.choice((3, 10))}
            if rng.random() < 0.3:
                body["where"] = f"year >= {rng.randint(2000, 2020)} and lang != 'fr'"
            found.append(("/api/search", body))
        elif kind < 0.7:
            found.append(("/api/encode", {"texts": texts}))
        elif kind < 0.85:
            found.append(("/v1/embeddings", {"input": texts, "model": "any"}))
        else:
            found.append(("/api/similarity", {"a": texts[0], "b": sentence(rng)}))
    return found


class Truth:
    """What the library itself answers.

    Args:
        index: folders of the index, as it is and as it will be; an answer by any of them is right.
    """

    def __init__(self, *index: Path) -> None:
        from mirrormask.search.index import Index

        self.indexes = [Index.open(folder) for folder in index]
        self.model = self.indexes[0].encoder.model

    def of(self, path: str, body: dict[str, Any]) -> list[Any]:
        """Return the right answers to a request."""
        from mirrormask.core.similarity import paired_cosine, unit_rows
        from mirrormask.models.bulk import encode_texts

        if path == "/api/search":
            options = {key: value for key, value in body.items() if key != "query"}
            return [[hit.to_dict() for hit in each.search(body["query"], **options)] for each in self.indexes]
        if path == "/api/encode":
            return [encode_texts(self.model, body["texts"])]
        if path == "/v1/embeddings":
            return [unit_rows(encode_texts(self.model, body["input"]))]
        vectors = encode_texts(self.model, [body["a"], body["b"]])
        return [paired_cosine(vectors[:1], vectors[1:])[0]]


def right(path: str, answer: dict[str, Any], truths: list[Any]) -> bool:
    """Say whether an answer is one of the right ones; documents with one score may change places."""
    if path == "/api/search":
        return any(_same_hits(answer["hits"], truth) for truth in truths)
    if path == "/api/encode":
        found: Any = answer["vectors"]
    elif path == "/v1/embeddings":
        found = [each["embedding"] for each in answer["data"]]
    else:
        found = answer["cosine"]
    return any(
        np.shape(found) == np.shape(truth) and np.abs(np.subtract(found, truth)).max() < CLOSE for truth in truths
    )


def _same_hits(found: list[dict[str, Any]], truth: list[dict[str, Any]]) -> bool:
    if len(found) != len(truth):
        return False
    scores = {hit["id"]: hit for hit in truth}
    for hit, expected in zip(found, truth, strict=True):
        if abs(hit["score"] - expected["score"]) > 20 * CLOSE:  # scores are deviations, up to 20 of them
            return False
        own = scores.get(hit["id"])
        if own is None:  # it may have come in for one with the same score at the end of the list
            if abs(hit["score"] - truth[-1]["score"]) > 20 * CLOSE:
                return False
        elif hit["passage"] != own["passage"] or hit["metadata"] != own["metadata"]:
            return False
    return True


@dataclass
class Tally:
    """What came of requests."""

    answered: int = 0
    wrong: int = 0
    errors: dict[int, int] = field(default_factory=dict)
    lost: int = 0
    refused: int = 0
    seconds: float = 0.0
    examples: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return the counts, JSON-able."""
        rate = self.answered / self.seconds if self.seconds else 0.0
        counts = {"answered": self.answered, "wrong": self.wrong, "lost": self.lost, "refused": self.refused}
        return {**counts, "errors": self.errors, "seconds": round(self.seconds, 2), "per_second": round(rate, 1)}


class Client:
    """One connection that asks one request after another."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, path: str, body: bytes) -> tuple[int, bytes]:
        """Return the status and the body of an answer.

        Raises:
            ConnectionRefusedError: nobody listens.
            ConnectionError: the connection ended without an answer.
        """
        if self.streams is None:
            self.streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self.streams
        try:
            writer.write(HEAD % (path.encode(), len(body)) + body)
            await writer.drain()
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
            content = await reader.readexactly(length)
        except (asyncio.IncompleteReadError, OSError) as error:
            self.close()
            raise ConnectionError("the connection ended without an answer") from error
        if b"connection: close" in head:
            self.close()
        return int(head.split(b" ", 2)[1]), content

    def close(self) -> None:
        """Close the connection."""
        if self.streams is not None:
            self.streams[1].close()
            self.streams = None


async def load(
    port: int,
    asked: list[tuple[str, dict[str, Any], list[Any]]],
    clients: int,
    requests: int,
    seconds: float,
    seed: int,
) -> Tally:
    """Ask requests by some clients at once until all are asked, the time is over, or nobody listens any more."""
    tally = Tally()
    left = iter(random.Random(seed).choices(asked, k=requests))
    bodies = {id(body): json.dumps(body).encode() for _, body, _ in asked}
    began = time.perf_counter()

    async def work() -> None:
        client = Client(port)
        for path, body, truths in left:
            try:
                status, content = await client.ask(path, bodies[id(body)])
            except ConnectionRefusedError:
                tally.refused += 1
                break
            except ConnectionError:
                tally.lost += 1
                continue
            if status != 200:
                tally.errors[status] = tally.errors.get(status, 0) + 1
                tally.examples.append(content[:300].decode())
            else:
                tally.answered += 1
                if not right(path, json.loads(content), truths):
                    tally.wrong += 1
                    tally.examples.append(f"{path} {json.dumps(body)} {content[:1000].decode()}")
            if time.perf_counter() - began > seconds:
                break
        client.close()

    await asyncio.gather(*[work() for _ in range(clients)])
    tally.seconds = time.perf_counter() - began
    return tally


class Server:
    """The command as a user gives it, in a process of its own.

    Args:
        arguments: of `mirrormask serve`.
    """

    def __init__(self, *arguments: str) -> None:
        command = [
            sys.executable,
            "-m",
            "mirrormask",
            "serve",
            *arguments,
            "--port",
            "0",
            "--json",
            "--backend",
            "torch",
        ]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        said = ""
        while "}" not in said:
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit(f"the server did not start: {said}")
            said += line
        self.port = int(json.loads(said)["url"].rpartition(":")[2])

    def memory(self) -> float:
        """Return how many megabytes it holds."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    def cpu(self) -> float:
        """Return how many seconds of CPU time it has taken."""
        facts = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(facts[11]) + int(facts[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> int:
        """Ask it to end and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        with self.process:  # its output is closed
            return self.process.wait(60)


async def killed_clients(port: int, count: int = 30) -> int:
    """Open connections that die in the middle of a request, or before its answer."""
    whole = json.dumps({"texts": ["a long text of many words"] * 40}).encode()
    for number in range(count):
        with socket.create_connection(("127.0.0.1", port)) as plug:
            plug.sendall(HEAD % (b"/api/encode", len(whole)) + (whole if number % 2 else whole[:100]))
            await asyncio.sleep(0.1)
            plug.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # ends with a reset
    return count


async def large_body(port: int, size: int = 50_000_000) -> int:
    """Send a body that is far too large, without saying how long it is, and return the status."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(
        b"POST /api/encode HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        b"transfer-encoding: chunked\r\n\r\n"
    )
    piece = b"a" * 65_536
    try:
        for _ in range(size // len(piece)):
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await writer.drain()
    except ConnectionError:
        pass
    try:
        return int((await reader.readuntil(b"\r\n")).split()[1])
    except (OSError, asyncio.IncompleteReadError):
        return 413  # it was closed while we were still sending, which is an answer too
    finally:
        writer.close()


async def slow_reader(port: int, body: dict[str, Any], truth: Any) -> bool:
    """Ask for much, read it a little at a time, and return whether it was right."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2048)
    content = json.dumps(body).encode()
    writer.write(HEAD % (b"/api/encode", len(content)) + content)
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    left = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
    found = b""
    while len(found) < left:
        found += await reader.read(max(2048, left // 40))
        await asyncio.sleep(0.05)
    writer.close()
    return b" 200 " in head and right("/api/encode", json.loads(found), [truth])


async def with_faults(
    server: Server, asked: list[Any], replace: Any, truth: Truth, clients: int, requests: int, seconds: float
) -> dict[str, Any]:
    """Ask under load while things go wrong, then again once the index is another, and end with SIGTERM under load."""
    rng = random.Random(9)
    many = {"texts": [sentence(rng) for _ in range(100)]}
    known = truth.of("/api/encode", many)[0]
    dying = asyncio.create_task(killed_clients(server.port))
    slow = asyncio.create_task(slow_reader(server.port, many, known))
    large = asyncio.create_task(large_body(server.port))
    replacing = asyncio.create_task(asyncio.to_thread(replace))
    during = await load(server.port, asked, clients, requests, seconds, seed=3)
    status, slow_right = await large, await slow
    await replacing
    killed = await dying

    async def stop() -> None:
        await asyncio.sleep(min(2.0, seconds / 4))
        server.process.send_signal(signal.SIGTERM)

    stopping = asyncio.create_task(stop())
    ending = await load(server.port, asked, clients, 1_000_000, 60, seed=4)
    await stopping
    code = await asyncio.to_thread(server.process.wait, 60)
    return {
        "during": during.to_dict(),
        "killed_clients": killed,
        "large_body": status,
        "slow_reader_right": slow_right,
        "ending": ending.to_dict(),
        "exit_code": code,
        "examples": during.examples[:3] + ending.examples[:3],
    }


def main() -> None:
    """Run all of it and print what was found; the last line is one JSON object."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--clients", type=int, default=64)
    options.add_argument("--requests", type=int, default=10_000)
    options.add_argument("--seconds", type=float, default=600, help="of each part at most")
    options.add_argument("--documents", type=int, default=2_000)
    options.add_argument("--model", default="mini-sentence")
    chosen = options.parse_args()
    from mirrormask.search.index import Index

    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder) / "notes"
        rows = documents(chosen.documents, 1)
        Index.build(rows, here, model=chosen.model)
        Index.build(rows[: len(rows) // 2], Path(folder) / "later", model=chosen.model)
        before, both = Truth(here), Truth(here, Path(folder) / "later")
        asked = [(path, body, before.of(path, body)) for path, body in questions(300, 2)]
        server = Server(str(here))
        try:
            print(f"the library knows the answers to {len(asked)} requests; the server is on port {server.port}")
            asyncio.run(load(server.port, asked, 4, 100, chosen.seconds, seed=0))  # the first are slower
            cpu = [server.cpu()]
            alone = asyncio.run(
                load(server.port, asked, 1, max(100, chosen.requests // 20), chosen.seconds / 4, seed=1)
            )
            cpu.append(server.cpu())
            print("one at a time:", alone.to_dict(), flush=True)
            warm = asyncio.run(load(server.port, asked, chosen.clients, chosen.requests // 5, chosen.seconds, seed=2))
            held = server.memory()
            cpu.append(server.cpu())
            together = asyncio.run(load(server.port, asked, chosen.clients, chosen.requests, chosen.seconds, seed=3))
            growth = server.memory() - held
            cpu.append(server.cpu())
            print(f"{chosen.clients} at a time:", together.to_dict(), f"{growth:+.1f} MB", flush=True)
            asked = [(path, body, both.of(path, body)) for path, body, _ in asked]

            def replace() -> None:
                """Make the index anew, with half of its documents, as `mirrormask index --anew` does."""
                Index.build(rows[: len(rows) // 2], here, model=chosen.model)

            faults = asyncio.run(
                with_faults(
                    server, asked, replace, both, chosen.clients, chosen.requests // 4, min(chosen.seconds, 120)
                )
            )
            print("with faults:", json.dumps(faults, indent=1), flush=True)
        finally:
            server.stop()
    rates = [each.answered / each.seconds for each in (together, alone)]
    costs = [(cpu[1] - cpu[0]) / alone.answered, (cpu[3] - cpu[2]) / together.answered]
    for example in together.examples[:3] + warm.examples[:3]:
        print(example)
    print(
        json.dumps(
            {
                "name": "serve_load",
                "ratio": round(rates[0] / rates[1], 3),
                "cpu_ratio": round(costs[0] / costs[1], 3),
                "clients": chosen.clients,
                "requests": together.answered,
                "per_second": round(rates[0], 1),
                "one_at_a_time_per_second": round(rates[1], 1),
                "wrong": alone.wrong + warm.wrong + together.wrong,
                "server_errors": sum(n for s, n in together.errors.items() if s >= 500),
                "other_errors": sum(n for s, n in together.errors.items() if s < 500),
                "lost": alone.lost + warm.lost + together.lost,
                "memory_growth_mb": round(growth, 1),
                "memory_mb": round(held, 1),
                "fault_wrong": faults["during"]["wrong"] + faults["ending"]["wrong"],
                "fault_lost": faults["during"]["lost"] + faults["ending"]["lost"],
                "fault_errors": {**faults["during"]["errors"], **faults["ending"]["errors"]},
                "large_body": faults["large_body"],
                "slow_reader_right": faults["slow_reader_right"],
                "exit_code": faults["exit_code"],
            }
        )
    )


if __name__ == "__main__":
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    main()
