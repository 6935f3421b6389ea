"""The page that describes the interface, made from its OpenAPI description; it loads nothing from elsewhere."""

import json
from typing import Any

from tfcr.pages import escape

EXAMPLES = {"post /predict": '{"text": "the printer does not print"}', "post /explain": '{"text": "paper jam"}'}


def documentation_html(openapi: dict[str, Any], address: str) -> str:
    """Return the body of the page: what can be asked, with which fields, and what is answered."""
    parts = [
        "<h1>What this server answers</h1>",
        f'<p>{escape(openapi["info"]["description"])} <a href="openapi.json">OpenAPI description</a></p>',
    ]
    for path, methods in openapi["paths"].items():
        for method, operation in methods.items():
            parts.append(_operation(openapi, method, path, operation, address))
    return "\n".join(parts)


def _operation(openapi: dict[str, Any], method: str, path: str, operation: dict[str, Any], address: str) -> str:
    parts = [f"<h2><code>{method.upper()} {escape(path)}</code></h2>", f"<p>{escape(operation['description'])}</p>"]
    rows = [(one["name"], one["schema"], one.get("description", "")) for one in operation.get("parameters", ())]
    if rows:
        parts.append(_fields("Parameters of the address", rows))
    body = operation.get("requestBody")
    if body:
        schema = _resolved(openapi, body["content"]["application/json"]["schema"])
        fields = [(name, field, field.get("description", "")) for name, field in schema["properties"].items()]
        parts.append(_fields("Fields of the body, JSON", fields))
    parts.append(f"<pre>{escape(_curl(method, path, address))}</pre>")
    answers = "".join(
        f'<tr><td class="name">{escape(status)}</td><td class="text">{escape(answer["description"])}</td></tr>'
        for status, answer in operation["responses"].items()
    )
    parts.append(
        '<div class="scroll" tabindex="0"><table><caption>Answers</caption><thead><tr><th scope="col">status</th>'
        f'<th scope="col" class="text">meaning</th></tr></thead><tbody>{answers}</tbody></table></div>'
    )
    return f"<section>{''.join(parts)}</section>"


def _fields(caption: str, rows: list[tuple[str, dict[str, Any], str]]) -> str:
    body = "".join(
        f'<tr><td class="name"><code>{escape(name)}</code></td><td class="text">{escape(_type(schema))}</td>'
        f'<td class="text">{escape(what)}</td></tr>'
        for name, schema, what in rows
    )
    return (
        f'<div class="scroll" tabindex="0"><table><caption>{caption}</caption><thead><tr><th scope="col">field</th>'
        '<th scope="col" class="text">holds</th><th scope="col" class="text">meaning</th></tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _type(schema: dict[str, Any]) -> str:
    """Return what a field holds, in words.

    >>> _type({"type": "array", "items": {"type": "string"}, "maxItems": 3})
    'array of string, at most 3'
    """
    found = str(schema.get("type", ""))
    if "enum" in schema:
        found = "one of " + ", ".join(json.dumps(name, ensure_ascii=False) for name in schema["enum"])
    if "items" in schema:
        found += f" of {_type(schema['items'])}"
    limits = [
        f"{words} {schema[key]:,}"
        for key, words in (("minimum", "from"), ("maximum", "to"), ("maxLength", "at most"), ("maxItems", "at most"))
        if key in schema
    ]
    default = [f"default {json.dumps(schema['default'])}"] if "default" in schema else []
    return ", ".join([found, *limits, *default])


def _resolved(openapi: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    name = schema.get("$ref", "").rpartition("/")[2]
    found: dict[str, Any] = openapi["components"]["schemas"][name] if name else schema
    return found


def _curl(method: str, path: str, address: str) -> str:
    example = EXAMPLES.get(f"{method} {path}")
    if example is None:
        return f"curl {address}{path}"
    return f"curl {address}{path} -H 'Content-Type: application/json' -d '{example}'"
