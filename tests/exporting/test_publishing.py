from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from mirrormask.core.errors import ModelError
from mirrormask.exporting.publishing import plan_publishing, publish

CARD = "# Mine\n\nTrained on /home/me/secret/letters.txt, see https://example.org/a/b and 1/2 of it.\n"


class Hub(ThreadingHTTPServer):
    """A stand-in for the hub: it makes repositories, says how files are to come, takes them and a commit."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.repositories: dict[str, bool] = {}
        self.files: dict[str, bytes] = {}
        self.stored: dict[str, bytes] = {}
        self.commits: list[dict[str, Any]] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Answer(BaseHTTPRequestHandler):
    server: Hub

    def log_message(self, *_: Any) -> None:
        pass

    def say(self, content: Any, status: int = 200) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def allowed(self) -> bool:
        if self.headers.get("Authorization") == "Bearer hf_right":
            return True
        self.body()
        self.say({"error": "Invalid credentials in Authorization header"}, 401)
        return False

    def do_GET(self) -> None:
        name = self.path.removeprefix("/api/models/").partition("?")[0].partition("/revision")[0]
        if name in self.server.repositories:
            self.say({"id": name, "private": self.server.repositories[name], "siblings": []})
        else:
            self.say({"error": "Repository not found"}, 404)

    def do_POST(self) -> None:
        if not self.allowed():
            return
        hub, body = self.server, self.body()
        if self.path == "/api/repos/create":
            asked = json.loads(body)
            name = f"{asked.get('organization') or 'me'}/{asked['name']}"
            if name in hub.repositories:
                self.say({"error": "You already created this model repo", "url": f"{hub.address}/{name}"}, 409)
                return
            hub.repositories[name] = bool(asked.get("private") or asked.get("visibility") == "private")
            self.say({"url": f"{hub.address}/{name}", "name": name})
        elif self.path == "/api/validate-yaml":
            self.say({"errors": [], "warnings": []})
        elif self.path.endswith("/preupload/main"):
            names = [each["path"] for each in json.loads(body)["files"]]
            large = ".safetensors"
            self.say(
                {
                    "files": [
                        {"path": n, "uploadMode": "lfs" if n.endswith(large) else "regular", "shouldIgnore": False}
                        for n in names
                    ]
                }
            )
        elif self.path.endswith("/info/lfs/objects/batch"):
            objects = [
                {**each, "actions": {"upload": {"href": f"{hub.address}/put/{each['oid']}"}}}
                for each in json.loads(body)["objects"]
            ]
            self.say({"transfer": "basic", "objects": objects})
        elif self.path.endswith("/commit/main"):
            for line in body.decode().splitlines():
                self._keep(json.loads(line))
            self.say(
                {"commitUrl": f"{hub.address}/me/mine/commit/1", "commitOid": "1", "hookOutput": "", "success": True}
            )
        else:
            self.say({"error": f"no such place: {self.path}"}, 404)

    def do_PUT(self) -> None:
        self.server.stored[self.path.rpartition("/")[2]] = self.body()
        self.say({})

    def _keep(self, entry: dict[str, Any]) -> None:
        value = entry["value"]
        if entry["key"] == "header":
            self.server.commits.append(value)
        elif entry["key"] == "file":
            self.server.files[value["path"]] = base64.b64decode(value["content"])
        elif entry["key"] == "lfsFile":
            self.server.files[value["path"]] = self.server.stored[value["oid"]]


@pytest.fixture
def hub() -> Iterator[Hub]:
    server = Hub()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def run_folder(saved: Callable[[str], Path], tmp_path: Path) -> Path:
    """A run as training leaves it, and what must never leave the machine beside and in it."""
    import shutil

    folder = tmp_path / "run"
    shutil.copytree(saved("cls-mlp-kept"), folder / "model")
    (folder / "model" / "README.md").write_text(CARD, encoding="utf-8")
    facts = json.loads((folder / "model" / "mirrormask.json").read_text(encoding="utf-8"))
    facts["data"] = "/home/me/secret/letters.txt"
    (folder / "model" / "mirrormask.json").write_text(json.dumps(facts), encoding="utf-8")
    for name in ("letters.txt", "notes.json", "optimizer.pt", "model/training_args.bin", "model/letters.txt"):
        (folder / name).write_text("private", encoding="utf-8")
    for name in ("checkpoint-10/model.safetensors", "model/checkpoint-10/model.safetensors", "model/corpus/texts.json"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("private", encoding="utf-8")
    return folder


def command(hub: Hub, *arguments: str, token: str = "hf_right") -> subprocess.CompletedProcess[str]:
    """Run the command line with the stand-in as its hub."""
    own = {"HF_ENDPOINT": hub.address, "HF_TOKEN": token, "HF_HUB_OFFLINE": "0", "HF_HUB_DISABLE_XET": "1"}
    own |= {"HF_HUB_DISABLE_TELEMETRY": "1"}
    return subprocess.run(
        [sys.executable, "-m", "mirrormask", "publish", *arguments],
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_model_and_its_card_go_to_the_hub_and_nothing_else(hub: Hub, run_folder: Path) -> None:
    tried = command(hub, str(run_folder), "me/mine", "--dry-run", "--json")
    assert tried.returncode == 0, tried.stderr
    planned = json.loads(tried.stdout)
    assert planned["dry_run"]
    assert not hub.repositories and not hub.files
    done = command(hub, str(run_folder), "me/mine")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "private" in done.stdout
    assert hub.repositories == {"me/mine": True}
    assert set(hub.files) == set(planned["files"])
    assert {"README.md", "modules.json", "model.safetensors", "2_Dense/model.safetensors"} <= set(hub.files)
    weights = run_folder / "model" / "model.safetensors"
    assert hashlib.sha256(hub.files["model.safetensors"]).digest() == hashlib.sha256(weights.read_bytes()).digest()
    assert not any(content == b"private" or b"secret" in content for content in hub.files.values())
    card = hub.files["README.md"].decode()
    assert card == CARD.replace("/home/me/secret/letters.txt", "letters.txt")
    assert json.loads(hub.files["mirrormask.json"])["data"] == "letters.txt"
    assert {"letters.txt", "training_args.bin", "checkpoint-10/model.safetensors", "corpus/texts.json"} == set(
        planned["left_out"]
    )


def test_what_the_hub_refuses_is_one_sentence(hub: Hub, run_folder: Path) -> None:
    refused = command(hub, str(run_folder), "me/mine", token="hf_wrong")
    assert refused.returncode == 2
    assert "The hub does not let you write me/mine. Log in" in " ".join(refused.stderr.split())
    hub.repositories["me/open"] = False
    public = command(hub, str(run_folder), "me/open")
    assert public.returncode == 2
    assert "me/open is public already, and nothing was sent" in " ".join(public.stderr.split())
    assert not hub.files


def test_a_name_an_offline_machine_and_a_language_model_are_refused(
    run_folder: Path, tiny_folder: Path, tmp_path: Path
) -> None:
    with pytest.raises(Exception, match="'a b/c' is no name for the hub"):
        publish(str(run_folder), "a b/c", dry_run=True)
    with pytest.raises(Exception, match="HF_HUB_OFFLINE is set"):
        publish(str(run_folder), "me/mine")
    with pytest.raises(ModelError, match="is a language model and no sentence encoder"):
        plan_publishing(str(tiny_folder))
    (run_folder / "model" / "model.safetensors").unlink()
    (run_folder / "model" / "2_Dense" / "model.safetensors").unlink()
    (run_folder / "model" / "lm_head.safetensors").unlink(missing_ok=True)
    with pytest.raises(ModelError, match="holds no weights"):
        plan_publishing(str(run_folder))


def test_an_export_goes_with_its_loader(saved: Callable[[str], Path], tmp_path: Path) -> None:
    from mirrormask.exporting.export_model import export_model

    export_model(str(saved("mean")), tmp_path / "out", to="onnx")
    plan = plan_publishing(str(tmp_path / "out"))
    assert {"model.onnx", "loader.py", "export.json", "tokenizer.json", "README.md", "modules.json"} <= set(plan.files)
    assert plan.left_out == []
