"""Answers as JSON, whatever stands in the texts and columns of an index."""

from __future__ import annotations

import json
from typing import Any

from fastapi.responses import JSONResponse

from mirrormask.core.finite import finite


class JsonAnswer(JSONResponse):
    """JSON without NaN or infinity, which are none, and without halves of characters, which are no UTF-8."""

    def render(self, content: Any) -> bytes:
        """Return the bytes of an answer."""
        try:
            text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        except ValueError:
            text = json.dumps(finite(content), ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "replace")
