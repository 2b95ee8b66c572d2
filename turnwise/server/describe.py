"""The API as a readable page, made from its OpenAPI description, with a curl command for each route."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

METHODS = ("get", "post", "put", "patch", "delete")
MAX_DEPTH = 3  # levels of nested objects whose fields are listed
OPEN_PATHS = ("/healthz", "/readyz")

PAGE_HEAD = """<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <title>The API of Turnwise</title>
  <link rel="icon" href="/web/icon.svg">
  <link rel="stylesheet" href="/web/style.css">
  <link rel="stylesheet" href="/web/docs.css">
</head>
<body class="docs">
"""
INTRODUCTION = """<header><a href="/"><img src="/web/icon.svg" alt="">Turnwise</a></header>
<main>
<h1>The API of Turnwise {version}</h1>
<p>Requests and answers are JSON unless said otherwise. Where the server has keys, send one with each request:
<code>Authorization: Bearer KEY</code>. An error is a problem document (RFC 9457) with a <code>detail</code>, a
<code>hint</code> and a <code>code</code> for programs; under <code>/v1</code> it has the form of OpenAI’s errors. Every
answer has an <code>X-Request-ID</code>, which is also in the server’s log. The same as a description for machines:
<a href="/openapi.json">openapi.json</a>.</p>
"""


def page(description: Mapping[str, Any]) -> str:
    """The whole page. It loads nothing from elsewhere and runs no scripts."""
    groups: dict[str, list[tuple[str, str, Mapping[str, Any]]]] = {}
    for path, operations in description["paths"].items():
        for method in METHODS:
            if method in operations:
                groups.setdefault(_group(path), []).append((method, path, operations[method]))
    parts = [PAGE_HEAD, INTRODUCTION.format(version=escape(str(description["info"]["version"])))]
    parts.append('<nav aria-label="Routes">\n')
    for name, members in groups.items():
        links = "".join(
            f'<li><a href="#{_anchor(method, path)}"><b>{method.upper()}</b> {escape(path)}</a></li>'
            for method, path, _ in members
        )
        parts.append(f"<details open><summary>{escape(name)}</summary><ul>{links}</ul></details>\n")
    parts.append("</nav>\n")
    for name, members in groups.items():
        parts.append(f'<section id="{_slug(name)}">\n<h2>{escape(name)}</h2>\n')
        parts += [_operation(*member, description) for member in members]
        parts.append("</section>\n")
    return "".join([*parts, "</main>\n</body>\n</html>\n"])


def _group(path: str) -> str:
    first = path.strip("/").split("/")
    names = {"v1": "OpenAI-compatible", "api": first[1].capitalize() if len(first) > 1 else "Api"}
    return names.get(first[0], "Operations")


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _anchor(method: str, path: str) -> str:
    return _slug(f"{method} {path}")


def _operation(method: str, path: str, operation: Mapping[str, Any], whole: Mapping[str, Any]) -> str:
    anchor = _anchor(method, path)
    parts = [
        f'<article id="{anchor}">\n<h3><a href="#{anchor}"><b>{method.upper()}</b> {escape(path)}</a></h3>\n',
        f"<p>{escape(operation.get('summary', ''))}</p>\n",
    ]
    if about := operation.get("description", ""):
        parts.append(f"<p>{escape(about)}</p>\n")
    fields = [
        (each["name"], _kind(each.get("schema", {}), whole), each["in"], each) for each in _parameters(operation, whole)
    ]
    if fields:
        rows = (
            _row(name, kind, where, each.get("required", False), _about(each)) for name, kind, where, each in fields
        )
        parts.append(_table("Parameters", ("Name", "Kind", "Where", "What it is"), rows))
    body_kind, body = _body(operation, whole)
    if body and body.get("properties"):
        rows = (_row(name, kind, "", needed, about) for name, kind, needed, about in _fields(body, whole))
        parts.append(_table("Body", ("Field", "Kind", "", "What it is"), rows))
    elif body_kind:
        parts.append(f"<p>Body: <code>{escape(body_kind)}</code></p>\n")
    parts.append(f"<pre><code>{escape(_curl(method, path, operation, body_kind, body, whole))}</code></pre>\n")
    answers = [
        _row(status, ", ".join(each.get("content", {})) or "-", "", False, each.get("description", ""))
        for status, each in operation.get("responses", {}).items()
    ]
    parts.append(_table("Answers", ("Status", "Kind", "", "What it is"), iter(answers)))
    return "".join([*parts, "</article>\n"])


def _table(caption: str, heads: tuple[str, ...], rows: Iterator[str]) -> str:
    head = "".join(f'<th scope="col">{each}</th>' for each in heads if each)
    body = f"<thead><tr>{head}</tr></thead><tbody>\n{''.join(rows)}</tbody>"
    return f'<div class="table"><table><caption>{caption}</caption>{body}</table></div>\n'


def _row(name: str, kind: str, where: str, needed: bool, about: str) -> str:
    mark = " <small>required</small>" if needed else ""
    place = f"<td>{escape(where)}</td>" if where else ""
    cells = f"<td>{escape(kind)}</td>{place}<td>{escape(about)}</td>"
    return f'<tr><th scope="row"><code>{escape(name)}</code>{mark}</th>{cells}</tr>\n'


def _parameters(operation: Mapping[str, Any], whole: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [_resolve(each, whole) for each in operation.get("parameters", [])]


def _about(parameter: Mapping[str, Any]) -> str:
    schema = parameter.get("schema", {})
    default = schema.get("default")
    given = "" if default in (None, "") else f" Default: {json.dumps(default)}."
    return f"{parameter.get('description') or schema.get('description') or ''}{given}".strip()


def _resolve(schema: Mapping[str, Any], whole: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in schema:
        found: Any = whole
        for part in schema["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        schema = found
    return schema


def _kind(schema: Mapping[str, Any], whole: Mapping[str, Any]) -> str:
    """The kind of a value in a word or two."""
    named = schema.get("$ref", "").rpartition("/")[2]
    schema = _resolve(schema, whole)
    for choice in ("anyOf", "oneOf", "allOf"):
        if choice in schema:
            kinds = dict.fromkeys(_kind(each, whole) for each in schema[choice])
            return " or ".join(kinds)
    if "enum" in schema:
        return " or ".join(map(str, schema["enum"]))
    if "const" in schema:
        return str(schema["const"])
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}), whole)}"
    return str(named or schema.get("type", "anything"))


def _body(operation: Mapping[str, Any], whole: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    content = _resolve(operation.get("requestBody", {}), whole).get("content", {})
    kind = "application/json" if "application/json" in content else next(iter(content), "")
    return kind, _resolve(content.get(kind, {}).get("schema", {}), whole)


def _fields(
    schema: Mapping[str, Any], whole: Mapping[str, Any], before: str = "", depth: int = 1
) -> Iterator[tuple[str, str, bool, str]]:
    """The fields of an object and of the objects in it: name, kind, whether it is required, and what it is."""
    for name, inner in schema.get("properties", {}).items():
        needed = name in schema.get("required", ())
        yield f"{before}{name}", _kind(inner, whole), needed, _about({"schema": inner})
        resolved, listed = _resolve(inner, whole), ""
        if resolved.get("type") == "array":
            resolved, listed = _resolve(resolved.get("items", {}), whole), "[]"
        if depth < MAX_DEPTH and resolved.get("properties"):
            yield from _fields(resolved, whole, f"{before}{name}{listed}.", depth + 1)


def _curl(
    method: str,
    path: str,
    operation: Mapping[str, Any],
    body_kind: str,
    body: Mapping[str, Any],
    whole: Mapping[str, Any],
) -> str:
    lines = ["curl" if method == "get" else f"curl -X {method.upper()}"]
    if path not in OPEN_PATHS:
        lines.append('-H "Authorization: Bearer $KEY"')
    if body_kind == "application/json":
        lines += ["-H 'Content-Type: application/json'", f"-d '{json.dumps(_example(path, body, whole))}'"]
    elif body_kind:
        lines.append("--data-binary @FILE")
    needed = [each["name"] for each in _parameters(operation, whole) if each["in"] == "query" and each.get("required")]
    query = "?" + "&".join(f"{name}={name.upper()}" for name in needed) if needed else ""
    place = re.sub(r"\{(\w+)(?::\w+)?\}", lambda name: name[1].upper(), path)
    lines.append(f"'http://127.0.0.1:8000{place}{query}'")
    return " \\\n  ".join(lines)


def _example(path: str, schema: Mapping[str, Any], whole: Mapping[str, Any]) -> dict[str, Any]:
    """A small valid body: what is required, and a question where one can be asked."""
    if path == "/api/chat":
        return {"message": "What is BERT?"}
    needed = schema.get("required", ())
    return {name: _value(name, inner, whole) for name, inner in schema.get("properties", {}).items() if name in needed}


def _value(name: str, schema: Mapping[str, Any], whole: Mapping[str, Any]) -> Any:
    schema = _resolve(schema, whole)
    if name == "messages":
        return [{"role": "user", "content": "What is BERT?"}]
    for choice in ("anyOf", "oneOf", "allOf"):
        if choice in schema:
            return _value(name, schema[choice][0], whole)
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type") == "object":
        return _example("", schema, whole)
    plain: dict[str, Any] = {"array": [], "integer": 1, "number": 1, "boolean": True}
    return plain.get(schema.get("type", ""), f"{name} …")
