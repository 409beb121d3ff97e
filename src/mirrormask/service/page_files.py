"""The files of the page, read once."""

from __future__ import annotations

from importlib.resources import files

from fastapi.responses import Response

KINDS = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


class PageFiles:
    """The page's own files, and those with which the map's page draws."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[bytes, str]] = {}
        for package in ("mirrormask.exploring", "mirrormask.service"):
            for file in (files(package) / "page").iterdir():
                kind = KINDS.get(file.name.rpartition(".")[2])
                if kind is not None:
                    self._files[file.name] = file.read_bytes(), kind

    def __contains__(self, name: str) -> bool:
        return name in self._files

    def response(self, name: str) -> Response:
        """Return a file as an answer."""
        content, kind = self._files[name]
        return Response(content, media_type=kind)
