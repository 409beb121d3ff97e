"""The server around the application: its socket, its signals and its end."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import signal
import socket
import time
from collections.abc import Iterator
from typing import Any

from mirrormask.core.errors import MirrormaskError, MissingExtra, between

_LAST_REQUESTS = 2.0  # seconds in which requests still come in on connections that are open
_CONNECTIONS = 1000


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
    between("port", port, 0, 65_536, of="the service")  # the system would take the rest of a division
    taken = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        taken = socket.socket(family, kind, protocol)
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(address)
        taken.listen(1024)
    except OSError as error:
        if taken is not None:
            taken.close()
        if error.errno == errno.EADDRINUSE:
            raise MirrormaskError(
                f"The port {port} of {host} is in use. Choose another with --port, or --port 0 for any that is free."
            ) from None
        if error.errno == errno.EACCES:
            raise MirrormaskError(f"The port {port} may not be used. Choose one from 1024 with --port.") from None
        raise MirrormaskError(f"Nothing can listen on {host}:{port} ({error}). Check --host and --port.") from None
    return taken


def run(app: Any, service: Any, taken: socket.socket) -> None:
    """Answer until Ctrl-C or a polite kill; what was taken by then is answered, and a second signal ends at once.

    Args:
        app: the application.
        service: that is told that the end comes, and closed.
        taken: from `listen`.
    """
    import uvicorn

    class Server(uvicorn.Server):
        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            """Take signals as wishes to end, and give them back afterwards without raising them again."""
            before = {each: signal.signal(each, self.handle_exit) for each in (signal.SIGINT, signal.SIGTERM)}
            try:
                yield
            finally:
                for each, handler in before.items():
                    signal.signal(each, handler)

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            """Take no new connection, answer on those that are open until each is closed or silent, then end."""
            service.ending = True  # from now on every answer closes its connection
            for each in self.servers:
                each.close()
            for own in sockets or []:
                own.close()
            deadline = time.monotonic() + _LAST_REQUESTS
            while self.server_state.connections and time.monotonic() < deadline and not self.force_exit:
                await asyncio.sleep(0.05)
            await super().shutdown(sockets)

    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=int(service.limits.seconds) + 1,
        limit_concurrency=_CONNECTIONS,
        ws="none",
    )
    server = Server(config)
    server.run(sockets=[taken])
    service.close()
