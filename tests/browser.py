"""A real browser for tests of pages: Chromium as Debian installs it, found on the PATH."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
"""Such that it starts as root, and asks nothing of the network for itself."""


@contextmanager
def started() -> Iterator[Any]:
    """Yield a browser, or skip the test where there is none."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip(f"no browser is on the PATH (looked for {', '.join(NAMES)}): apt-get install chromium")
    playing = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install '.[test]'")
    with playing.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=list(FLAGS))
        yield browser
        browser.close()


@contextmanager
def opened(browser: Any, address: str, *, first: str = "", **options: Any) -> Iterator[Any]:
    """Yield a page that must not fail: errors of its scripts, refused content and requests elsewhere fail the test.

    Args:
        browser: from `started`.
        address: of the page.
        first: a script that runs before those of the page.
        options: of its context, such as `viewport` and `color_scheme`.
    """
    wrong: list[str] = []
    home = address.split("#")[0].rsplit("/", 1)[0]
    context = browser.new_context(reduced_motion="reduce", **options)
    context.add_init_script(first or ";")
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.on("pageerror", lambda error: wrong.append(f"script: {error}"))
    page.on("console", lambda said: wrong.append(f"console: {said.text}") if _is_error(said) else None)
    page.on("request", lambda asked: None if asked.url.startswith(home) else wrong.append(f"request: {asked.url}"))
    try:
        page.goto(address)
        yield page
    finally:
        context.close()
    assert not wrong, wrong


def _is_error(said: Any) -> bool:
    """Return whether the browser refused something; an answer such as 401 is not of that kind."""
    return said.type == "error" and "Failed to load resource" not in said.text
