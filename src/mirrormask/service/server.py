"""The server around the application: its socket, its signals and its end."""

from __future__ import annotations

import errno
import socket
from collections.abc import Sequence
from typing import Any

from mirrormask.core.errors import MirrormaskError, MissingExtra


def check_installed() -> None:
    """Raise where the extra is missing."""
    try:
        import fastapi
        import uvicorn
    except ImportError as error:
        raise MissingExtra(str(error.name or "fastapi").split(".")[0], "serve", "serving over HTTP") from None
    assert fastapi and uvicorn


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens, before anything slow is loaded.

    Raises:
        MirrormaskError: the port is in use or may not be taken, or there is no such address here.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        taken = socket.socket(family, kind, protocol)
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(address)
        taken.listen(1024)
    except (OSError, OverflowError) as error:
        number = getattr(error, "errno", None)
        if number == errno.EADDRINUSE:
            raise MirrormaskError(
                f"The port {port} of {host} is in use. Choose another with --port, or --port 0 for any that is free."
            ) from None
        if number == errno.EACCES:
            raise MirrormaskError(f"The port {port} may not be used. Choose one from 1024 with --port.") from None
        raise MirrormaskError(f"Nothing can listen on {host}:{port} ({error}). Check --host and --port.") from None
    return taken


def run(app: Any, taken: Sequence[socket.socket]) -> None:
    """Answer until a signal ends it."""
    import uvicorn

    config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False)
    uvicorn.Server(config).run(sockets=list(taken))
