"""What the API takes and says, as a page of its own: no script, no style and no font comes from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

router = APIRouter(include_in_schema=False)
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title></head>
<body><main><h1>{title} {version}</h1>
<p>The same for programs: <a href="/openapi.json">/openapi.json</a>. Errors are problem documents (RFC 9457) with
<code>code</code> and <code>hint</code>.</p>
{groups}
</main></body></html>
"""


@router.get("/docs")
def page(request: Request) -> HTMLResponse:
    schema = request.app.openapi()
    routes = [(method, path, what) for path, item in schema["paths"].items() for method, what in item.items()]
    tags = dict.fromkeys(what["tags"][0] for _, _, what in routes)
    groups = "\n".join(_group(tag, [each for each in routes if each[2]["tags"][0] == tag], schema) for tag in tags)
    info = schema["info"]
    return HTMLResponse(_PAGE.format(title=escape(info["title"]), version=escape(info["version"]), groups=groups))


def _group(tag: str, routes: list[tuple[str, str, dict[str, Any]]], schema: dict[str, Any]) -> str:
    return f"<h2>{escape(tag)}</h2>\n" + "\n".join(_route(*route, schema) for route in routes)


def _route(method: str, path: str, what: dict[str, Any], schema: dict[str, Any]) -> str:
    lines = [*_parameters(what), *_body(what, schema), *_answers(what)]
    listed = "".join(f"<li>{line}</li>" for line in lines)
    told = escape(what.get("description", ""))
    return f"<section><h3><code>{method.upper()} {escape(path)}</code></h3><p>{told}</p><ul>{listed}</ul></section>"


def _parameters(what: dict[str, Any]) -> Iterator[str]:
    for each in what.get("parameters", []):
        if each["in"] == "query":
            yield f"<code>?{escape(each['name'])}=</code> {escape(each.get('description', ''))}"


def _body(what: dict[str, Any], schema: dict[str, Any]) -> Iterator[str]:
    for media, content in what.get("requestBody", {}).get("content", {}).items():
        fields = _model(content["schema"], schema).get("properties", {})
        told = ", ".join(
            f"<code>{escape(name)}</code> {escape(field.get('description', ''))}" for name, field in fields.items()
        )
        yield f"takes {escape(media)}{': ' + told if told else ''}"


def _model(given: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    choices = [given, *given.get("anyOf", [])]
    names = [each["$ref"].rpartition("/")[2] for each in choices if "$ref" in each]
    model: dict[str, Any] = schema["components"]["schemas"][names[0]] if names else given
    return model


def _answers(what: dict[str, Any]) -> Iterator[str]:
    for status, answer in what["responses"].items():
        if status.startswith("2"):
            yield f"answers {status}: {escape(answer.get('description', ''))}"
