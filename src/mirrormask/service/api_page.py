"""The documentation of the paths as one page that loads nothing from elsewhere and runs no script."""

from __future__ import annotations

import json
from html import escape
from typing import Any

STYLE = """\
:root { color-scheme: light dark; --line: #8884; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); }
h3 code { font-size: 1rem; }
pre { overflow-x: auto; padding: .75rem; border: 1px solid var(--line); border-radius: .4rem; font-size: .85rem; }
table { border-collapse: collapse; font-size: .9rem; }
td, th { text-align: left; padding: .15rem .75rem .15rem 0; vertical-align: top; }
"""


def api_page(schema: dict[str, Any]) -> str:
    """Return the page of an OpenAPI schema.

    Args:
        schema: as FastAPI writes it.
    """
    info = schema["info"]
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<title>{escape(info["title"])}: the API</title><link rel="stylesheet" href="docs.css"></head><body><main>',
        f"<h1>{escape(info['title'])} {escape(info['version'])}</h1><p>{escape(info.get('summary', ''))} ",
        'For programs: <a href="openapi.json">openapi.json</a>. To search: <a href="./">the page</a>.</p>',
    ]
    sections: dict[str, list[str]] = {}
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            own = sections.setdefault(operation.get("tags", ["Others"])[0], [])
            own.extend(_operation(method.upper(), path, operation, schema))
    for title, lines in sections.items():
        parts += [f"<h2>{escape(title)}</h2>", *lines]
    return "\n".join([*parts, "</main></body></html>\n"])


def _operation(method: str, path: str, operation: dict[str, Any], schema: dict[str, Any]) -> list[str]:
    name = escape(f"{method} {path}")
    lines = [f'<h3 id="{escape(operation["operationId"])}"><code>{name}</code></h3>']
    lines.append(f"<p>{escape(operation.get('summary', ''))}. {escape(operation.get('description', ''))}</p>")
    body = _body(operation, schema)
    if body:
        lines += _fields(body)
        example = json.dumps(body["examples"][0], ensure_ascii=False)
        told = example.replace("'", "'\\''")
        lines.append(
            "<pre>" + escape(f"curl $ADDRESS{path} -H 'Content-Type: application/json' \\\n     -d '{told}'") + "</pre>"
        )
    else:
        lines.append("<pre>" + escape(f"curl $ADDRESS{path}") + "</pre>")
    answer = operation["responses"].get("200", {}).get("content", {}).get("application/json", {}).get("example")
    if answer is not None:
        lines.append("<pre>" + escape(json.dumps(answer, ensure_ascii=False, indent=1)) + "</pre>")
    return lines


def _body(operation: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    name = content.get("$ref", "").rpartition("/")[2]
    found: dict[str, Any] = schema.get("components", {}).get("schemas", {}).get(name, {})
    return found


def _fields(body: dict[str, Any]) -> list[str]:
    rows = []
    for name, field in body["properties"].items():
        needed = "needed" if name in body.get("required", []) else f"default {json.dumps(field.get('default'))}"
        rows.append(
            f"<tr><td><code>{escape(name)}</code></td><td>{escape(needed)}</td>"
            f"<td>{escape(field.get('description', ''))}</td></tr>"
        )
    return ["<table><tr><th>field</th><th></th><th></th></tr>", *rows, "</table>"]
