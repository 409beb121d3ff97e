"""What the service counts of itself, in the text that Prometheus reads."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_TEXTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


class Histogram:
    """Numbers by their size.

    Args:
        edges: upper ends of its buckets.
    """

    def __init__(self, edges: tuple[float, ...]) -> None:
        self.edges = edges
        self.counts = [0] * (len(edges) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        """Count one number."""
        self.counts[bisect_left(self.edges, value)] += 1
        self.total += value

    def lines(self, name: str, labels: str) -> Iterable[str]:
        """Yield its lines, each bucket with all below it."""
        held = 0
        for edge, count in zip((*self.edges, "+Inf"), self.counts, strict=True):
            held += count
            yield f'{name}_bucket{{{labels}{"," if labels else ""}le="{edge}"}} {held}'
        shown = f"{{{labels}}}" if labels else ""
        yield f"{name}_sum{shown} {self.total:.6f}"
        yield f"{name}_count{shown} {held}"


class Meters:
    """Requests, batches and refusals since the start."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._seconds: dict[str, Histogram] = {}
        self._batches = Histogram(_TEXTS)
        self._tokens = 0
        self._encoding = 0.0
        self.in_flight = 0

    def answered(self, method: str, path: str, status: int, seconds: float) -> None:
        """Count a request that was answered; `path` is one of the service's own."""
        with self._lock:
            self._requests[method, path, status] += 1
            self._seconds.setdefault(path, Histogram(_SECONDS)).add(seconds)

    def encoded(self, texts: int, tokens: int, seconds: float) -> None:
        """Count a batch that went through a model."""
        with self._lock:
            self._batches.add(texts)
            self._tokens += tokens
            self._encoding += seconds

    def text(self, gauges: Mapping[str, tuple[str, str, float]]) -> str:
        """Return everything as Prometheus reads it.

        Args:
            gauges: what others know now: by name with labels, a kind, what it means, and its value.
        """
        with self._lock:
            lines = ["# HELP mirrormask_requests_total Requests answered.", "# TYPE mirrormask_requests_total counter"]
            for (method, path, status), count in sorted(self._requests.items()):
                lines.append(f'mirrormask_requests_total{{method="{method}",path="{path}",status="{status}"}} {count}')
            name = "mirrormask_request_seconds"
            lines += [f"# HELP {name} From the first byte of a request to its answer.", f"# TYPE {name} histogram"]
            for path, each in sorted(self._seconds.items()):
                lines += each.lines(name, f'path="{path}"')
            name = "mirrormask_batch_texts"
            lines += [f"# HELP {name} Texts encoded at once.", f"# TYPE {name} histogram"]
            lines += self._batches.lines(name, "")
            counts = {
                "mirrormask_tokens_total": ("counter", "Tokens that went through a model.", self._tokens),
                "mirrormask_encoding_seconds_total": ("counter", "Time spent in a model.", round(self._encoding, 6)),
                "mirrormask_requests_in_flight": ("gauge", "Requests that are being answered.", self.in_flight),
            }
        told = ""
        for named, (kind, meaning, value) in {**counts, **gauges}.items():
            bare = named.partition("{")[0]
            if bare != told:
                lines += [f"# HELP {bare} {meaning}", f"# TYPE {bare} {kind}"]
                told = bare
            lines.append(f"{named} {value}")
        return "\n".join(lines) + "\n"
