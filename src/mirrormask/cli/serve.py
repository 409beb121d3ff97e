"""`mirrormask serve`: an index or an encoder behind an address."""

from __future__ import annotations

from pathlib import Path

import typer

from mirrormask.cli.output import Json, Output, Quiet


def serve(
    what: list[str] = typer.Argument(
        ..., metavar="INDEX_OR_MODEL...", help="Folders that `mirrormask index` wrote, or models by name or folder."
    ),
    host: str = typer.Option("127.0.0.1", "--host", help="The address to listen on; 0.0.0.0 is every one there is."),
    port: int = typer.Option(8000, "--port", "-p", help="0 takes any that is free."),
    model: str = typer.Option(None, "--model", "-m", help="Where the index's encoder is, if it was moved."),
    backend: str = typer.Option(
        "auto", "--backend", help="What computes: torch, openvino, onnx; auto is the quickest that gives the same."
    ),
    keys: Path = typer.Option(
        None, "--keys", help="A file with one API key a line. MIRRORMASK_API_KEYS in the environment holds some too."
    ),
    cors: list[str] = typer.Option(
        [], "--cors", metavar="ORIGIN", help="A web page that may ask from a browser, such as https://example.org."
    ),
    allowed_host: list[str] = typer.Option(
        [], "--allowed-host", metavar="NAME", help="A name under which it may be called, such as that of a proxy."
    ),
    megabytes: float = typer.Option(8.0, "--megabytes", help="Of a request at most."),
    seconds: float = typer.Option(30.0, "--seconds", help="For a request at most."),
    waiting: int = typer.Option(4096, "--waiting", help="Texts that may wait to be encoded; others get a 429."),
    requests: int = typer.Option(256, "--requests", help="That are answered at a time; others get a 429."),
    as_json: bool = Json,
    quiet: bool = Quiet,
) -> None:
    """Answer searches, encode texts and be OpenAI's embeddings over HTTP, with a page to search in.

    [bold]mirrormask serve my-index[/bold], then open http://127.0.0.1:8000

    Two encoders side by side on one query: [bold]mirrormask serve index-one index-other[/bold]

    It ends with Ctrl-C or a polite kill, once everything that it took is answered.
    """
    from mirrormask.service.keys import read_keys
    from mirrormask.service.limits import Limits
    from mirrormask.service.naming import allowed_hosts, check_arguments, check_origins, is_loopback
    from mirrormask.service.server import check_installed, listen, run

    check_installed()
    limits = Limits(megabytes=megabytes, seconds=seconds, waiting=waiting, requests=requests)
    check_arguments(what)
    check_origins(cors)
    known = read_keys(keys)
    output = Output(as_json=as_json, quiet=quiet)
    with listen(host, port) as taken:  # before anything slow is imported
        if not is_loopback(host) and not known:
            output.say(f"Warning: everyone who reaches {host} may ask, since there are no keys. Give them with --keys.")
        from mirrormask.service.answering import Service
        from mirrormask.service.app import make_app
        from mirrormask.service.served import open_all

        served = open_all(what, model=model, backend=backend)
        address = f"[{host}]" if ":" in host else host
        url = f"http://{address}:{taken.getsockname()[1]}"
        names = [each.name for each in served]
        by = [each.texts.backend for each in served]
        told = ", ".join(f"{name} (by {which})" for name, which in zip(names, by, strict=True))
        output.result({"url": url, "served": names, "backends": by}, lambda: output.line(f"Serving {told} on {url}"))
        output.say(f"Search at {url}, the API at {url}/docs. Ctrl-C ends it.")
        service = Service(served, limits)
        hosts = allowed_hosts(host, allowed_host)
        run(make_app(service, keys=known, hosts=hosts, origins=cors), service, taken)
