"""Draw docs/guide/serve-page.png: the page of `mirrormask serve` over an index of this documentation.

python docs/draw_page.py    (needs Chromium on the PATH, and pip install ".[serve,test]")
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from mirrormask.search.index import Index

HERE = Path(__file__).parent
PICTURE = HERE / "guide" / "serve-page.png"
QUERY = "which checkpoint is kept when there are no labels"


def sections() -> Iterator[dict[str, Any]]:
    """Yield the sections of the pages as documents."""
    for path in sorted([*HERE.glob("*.md"), *HERE.glob("guide/*.md")]):
        part = "background" if path.parent == HERE else "guide"
        for number, text in enumerate(re.split(r"\n(?=## )", path.read_text(encoding="utf-8"))):
            head, _, body = text.partition("\n")
            name = f"{path.relative_to(HERE).as_posix()}#{number}"
            if len(body.split()) > 25:
                yield {"id": name, "title": head.lstrip("# "), "text": body[:800], "part": part, "page": path.stem}


def main() -> None:
    """Index, serve, look and end."""
    found = shutil.which("chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        index = Path(folder) / "mirrormask-docs"
        Index.build(list(sections()), index)
        command = [sys.executable, "-m", "mirrormask", "serve", str(index), "--port", "0", "--json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            address = json.loads("".join(iter(server.stdout.readline, "}\n")) + "}")["url"]
            browser = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1180, "height": 760})
            page.goto(address)
            page.fill("#query", QUERY)
            page.wait_for_selector(".hit")
            page.screenshot(path=str(PICTURE))
            browser.close()
            server.terminate()


if __name__ == "__main__":
    main()
