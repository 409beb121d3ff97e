"""How much the service takes on."""

from __future__ import annotations

from dataclasses import dataclass

from mirrormask.core.errors import above, at_least


@dataclass(frozen=True)
class Limits:
    """How much the service takes on.

    Args:
        megabytes: of a request's body.
        seconds: for a request to be read and answered.
        waiting: texts that may wait to be encoded.
        requests: that may be answered at a time.
    """

    megabytes: float = 8.0
    seconds: float = 30.0
    waiting: int = 4096
    requests: int = 256

    def __post_init__(self) -> None:
        above("megabytes", self.megabytes, 0, of="a request")
        above("seconds", self.seconds, 0, of="a request")
        at_least("waiting", self.waiting, 1, of="the service")
        at_least("requests", self.requests, 1, of="the service")

    @property
    def size(self) -> int:
        """Return the bytes of a body."""
        return int(self.megabytes * 1_000_000)
