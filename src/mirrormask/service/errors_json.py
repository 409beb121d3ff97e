"""Errors as JSON, in the shape that OpenAI's clients know, without a path of this machine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from mirrormask.service.json_answer import JsonAnswer

_PATH = re.compile(r"(?<![\w/.:])/(?:[\w.+@~-]+/)+([\w.+@~-]+)")


def error_response(
    status: int,
    message: str,
    code: str,
    *,
    param: str | None = None,
    retry_after: int | None = None,
    close: bool = False,
    headers: Mapping[str, str] | None = None,
) -> JsonAnswer:
    """Return the answer to a request that was refused.

    Args:
        status: of HTTP.
        message: one sentence, with the way out.
        code: for programs.
        param: of the request that is wrong, if one is.
        retry_after: seconds after which it is worth trying again.
        close: the connection, since the rest of the request is not read.
        headers: more of them.
    """
    more = {**(headers or {})}
    if retry_after is not None:
        more["retry-after"] = str(retry_after)
    if close:
        more["connection"] = "close"
    kind = "invalid_request_error" if status < 500 and status != 429 else "server_error"
    if status == 429:
        kind = "rate_limit_error"
    if status == 401:
        kind = "authentication_error"
    content: dict[str, Any] = {"message": message, "type": kind, "param": param, "code": code}
    return JsonAnswer({"error": content}, status, more)


def without_paths(message: str, names: Mapping[str, str]) -> str:
    """Return a sentence in which no path of this machine stands.

    Args:
        message: for someone at this machine.
        names: paths that are known, and what is said instead.

    Example:
        >>> without_paths("/srv/data/mine/my-index has no document 'x'.", {"/srv/data/mine/my-index": "my-index"})
        "my-index has no document 'x'."
        >>> without_paths("The file /home/me/private/model.bin is damaged.", {})
        'The file model.bin is damaged.'
    """
    for path in sorted(names, key=len, reverse=True):
        if "/" in path:
            message = message.replace(path, names[path])
    return _PATH.sub(r"\1", message)
