"""What every request passes before it is answered, and every answer before it leaves: two layers of plain ASGI."""

from __future__ import annotations

import asyncio
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

from mirrormask.service.errors_json import error_response
from mirrormask.service.keys import Keys
from mirrormask.service.limits import Limits
from mirrormask.service.meters import Meters

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

OPEN = ("/", "/health", "/docs", "/docs.css", "/openapi.json")
"""What needs no key: nothing of what is served can be read there. Below /page/ neither."""

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_GONE = 499  # what is counted where nobody waited for the answer
_HEADERS = [(name.encode(), value.encode()) for name, value in HEADERS.items()]


class Door:
    """The outer layer: counts and times requests, adds headers to every answer, and says of what broke only that.

    Args:
        app: what is inside.
        meters: what counts.
        ending: says whether the server is about to end, so that connections are closed after their answer.
    """

    def __init__(self, app: App, *, meters: Meters, ending: Callable[[], bool]) -> None:
        self._app, self._meters, self._ending = app, meters, ending

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0

        async def sent(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                kept = [*message.get("headers", []), *_HEADERS]
                if scope["path"].startswith(("/api", "/v1", "/metrics", "/health")):
                    kept.append((b"cache-control", b"no-store"))
                else:
                    kept.append((b"cache-control", b"no-cache"))
                if self._ending():
                    kept.append((b"connection", b"close"))
                message = {**message, "headers": kept}
            await send(message)

        self._meters.in_flight += 1
        try:
            await self._app(scope, receive, sent)
        except Exception:
            sys.stderr.write(traceback.format_exc())
            if not status:
                message = "Something broke here that should not; the server's log says what."
                await error_response(500, message, "server_error")(scope, receive, sent)
        finally:
            self._meters.in_flight -= 1
            route = getattr(scope.get("route"), "path", "other")
            self._meters.answered(scope["method"] if route != "other" else "any", route, status or _GONE, _since(began))


class Gate:
    """The inner layer: keys, the name that was called, sizes and time.

    Args:
        app: what is inside.
        keys: of those who may ask; none: everyone.
        limits: how much is taken on.
        hosts: names under which the service may be called; None: any.
        meters: that know how much is in flight.
        wait: returns after how many seconds it is worth trying again.
    """

    def __init__(
        self,
        app: App,
        *,
        keys: Keys,
        limits: Limits,
        hosts: frozenset[str] | None,
        meters: Meters,
        wait: Callable[[], int],
    ) -> None:
        self._app, self._keys, self._limits, self._hosts = app, keys, limits, hosts
        self._meters, self._wait = meters, wait

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer why not."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.lower(): value for name, value in scope["headers"]}
        refused = self._refused(scope, headers)
        if refused is not None:
            await refused(scope, receive, send)
            return
        try:
            async with asyncio.timeout(self._limits.seconds):
                body = await self._read(receive)
        except TimeoutError:
            message = f"The request was not there whole after {self._limits.seconds:g} s. Send it faster, or in parts."
            await error_response(408, message, "timeout", close=True)(scope, receive, send)
            return
        if body is None:
            await self._too_large()(scope, receive, send)
            return
        await self._answered(scope, _given(body), receive, send)

    async def _answered(self, scope: Scope, given: Receive, receive: Receive, send: Send) -> None:
        """Answer in time, and not at all where whoever asked has gone."""
        own, started = asyncio.current_task(), False
        gone = asyncio.ensure_future(receive())  # after a whole body the next that comes is the end of the connection
        gone.add_done_callback(lambda done: None if done.cancelled() or started or own is None else own.cancel())

        async def sent(message: MutableMapping[str, Any]) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                gone.cancel()
                deadline.reschedule(None)  # how fast a reader reads is its own affair
            await send(message)

        try:
            async with asyncio.timeout(self._limits.seconds) as deadline:
                await self._app(scope, given, sent)
        except asyncio.CancelledError:
            if started or not gone.done() or own is None:
                raise
            own.uncancel()
        except TimeoutError:
            if started or not deadline.expired():
                raise
            message = f"The answer was not there after {self._limits.seconds:g} s. Ask for less at once."
            await error_response(503, message, "timeout", retry_after=self._wait())(scope, receive, send)
        finally:
            gone.cancel()

    async def _read(self, receive: Receive) -> bytes | None:
        """Return the whole body; None where it is too large."""
        parts, size, more = [], 0, True
        while more:
            message = await receive()
            if message["type"] != "http.request":  # whoever asked has gone
                return b""
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self._limits.size:
                return None
            more = message.get("more_body", False)
        return b"".join(parts)

    def _refused(self, scope: Scope, headers: Mapping[bytes, bytes]) -> App | None:
        if self._hosts is not None and _host(headers.get(b"host", b"")) not in self._hosts:
            message = "This name is not one under which the service may be called. Allow it with --allowed-host."
            return error_response(421, message, "wrong_host")
        free = scope["path"] in OPEN or scope["path"].startswith("/page/")
        if self._keys and not free:
            given = _given_key(headers)
            if given is None:
                message = "A key is needed. Send it as a header: Authorization: Bearer KEY."
                return error_response(401, message, "missing_key", headers={"www-authenticate": "Bearer"})
            if not self._keys.know(given):
                message = "The key is not one of this server's. Check it, or ask whoever runs the server for one."
                return error_response(401, message, "wrong_key", headers={"www-authenticate": "Bearer"})
        length = headers.get(b"content-length", b"")
        if length.isdigit() and int(length[:20]) > self._limits.size:
            return self._too_large()
        if self._meters.in_flight > self._limits.requests and not free:
            seconds = self._wait()
            message = f"{self._limits.requests:,} requests are being answered already. Try again in {seconds} s."
            return error_response(429, message, "too_many_requests", retry_after=seconds)
        return None

    def _too_large(self) -> App:
        message = f"A request may have {self._limits.megabytes:g} MB. Send the texts in several."
        return error_response(413, message, "too_large", close=True)


def _given(body: bytes) -> Receive:
    """Return what gives a body that was read."""

    async def give() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    return give


def _host(value: bytes) -> str:
    """Return the name in a Host header, without its port."""
    text = value.decode("latin-1").strip().lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0]


def _given_key(headers: Mapping[bytes, bytes]) -> bytes | None:
    kind, _, value = headers.get(b"authorization", b"").strip().partition(b" ")
    if kind.lower() == b"bearer" and value.strip():
        return value.strip()
    return headers.get(b"x-api-key")


def _since(began: float) -> float:
    return time.perf_counter() - began
