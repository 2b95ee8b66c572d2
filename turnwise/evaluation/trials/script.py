"""Reads test files: conversations in YAML. Errors name the line."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from turnwise.errors import BadRequest
from turnwise.evaluation.trials.expect import Check, check_of

SAMPLE = "sample"
FILE_FIELDS = ("name", "library", "documents", "data", "settings", "conversations", "turns")
CONVERSATION_FIELDS = ("name", "turns")
TURN_FIELDS = ("ask", "says", "query", "collection", "expect")


@dataclass(frozen=True, slots=True)
class Asked:
    """One turn of a test: the question and its checks. With `says`, the turn is not run: `says` is its answer."""

    ask: str
    says: str | None = None
    query: str | None = None  # replaces the product's own search query
    collections: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    line: int = 0


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation in a test file."""

    name: str
    turns: tuple[Asked, ...]
    line: int = 0


@dataclass(frozen=True, slots=True)
class Script:
    """A test file: its documents and conversations. `library` is a folder, "sample", or ""."""

    path: Path
    name: str
    talks: tuple[Talk, ...]
    library: str = ""
    documents: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)


def yaml() -> YAML:
    """A reader and writer that preserves comments, order and quotes."""
    round_trip = YAML()
    round_trip.preserve_quotes = True
    round_trip.width = 110
    round_trip.indent(mapping=2, sequence=4, offset=2)
    return round_trip


def load(path: Path) -> Any:
    """The parsed file. Raises BadRequest, with the line, if it cannot be read."""
    try:
        return yaml().load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadRequest(f"{path} cannot be read: {error.strerror}.", "Give a YAML file.") from error
    except UnicodeDecodeError as error:
        raise BadRequest(f"{path} cannot be read: {error}.", "Give a YAML file.") from error
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise BadRequest(f"{path}:{line}: this is not YAML: {error.problem}.", "Fix that line.") from error
    except YAMLError as error:
        raise BadRequest(f"{path}: this is not YAML: {error}.", "Fix it.") from error


def read(path: Path) -> Script:
    """The tests in a file. Raises BadRequest, with the line, if something in it is wrong."""
    content = load(path)
    at = _Reader(path)
    fields = at.fields(content, FILE_FIELDS, "the file")
    if ("conversations" in fields) == ("turns" in fields):
        raise at.wrong(content, "a file has either `conversations` or the `turns` of one", "Use one of them.")
    name = str(fields.get("name", path.stem))
    conversation = partial(at.fields, known=CONVERSATION_FIELDS, what="a conversation")
    conversations = (
        [content]
        if "turns" in fields
        else map(conversation, at.many(content, fields["conversations"], "conversations"))
    )
    talks = tuple(_talk(at, each, f"conversation {number}") for number, each in enumerate(conversations, 1))
    library, documents = str(fields.get("library", "")), at.texts(content, "documents")
    if library and documents:
        raise at.wrong(content, "`library` and `documents` exclude each other", "Keep one of them.", "library")
    settings = at.fields(fields.get("settings", {}), None, "`settings`")
    return Script(
        path,
        name,
        talks,
        library,
        documents,
        at.texts(content, "data"),
        dict(settings),
    )


def _talk(at: _Reader, value: Mapping[str, Any], name: str) -> Talk:
    turns = tuple(_turn(at, each) for each in at.many(value, value.get("turns"), "turns"))
    return Talk(str(value.get("name", name)), turns, at.line(value))


def _turn(at: _Reader, value: Any) -> Asked:
    if isinstance(value, str):
        return Asked(value)
    fields = at.fields(value, TURN_FIELDS, "a turn")
    for name in ("ask", "says", "query"):
        if name in fields and not isinstance(fields[name], str):
            raise at.wrong(value, f"`{name}` is a text, not {fields[name]!r}", "Put it in quotation marks.", name)
    if "ask" not in fields:
        raise at.wrong(value, "a turn has no `ask`", "Add the question: ask: What is BERT?")
    if "says" in fields and ("expect" in fields or "query" in fields):
        raise at.wrong(value, "a turn that `says` its answer is not run", "Leave out `expect` and `query`.", "says")
    expected = fields.get("expect", {})
    checks = []
    for name, wanted in at.fields(expected, None, "`expect`").items():
        try:
            checks.append(check_of(str(name), wanted))
        except ValueError as error:
            raise at.wrong(expected, str(error), "docs/TESTING.md lists what can be expected.", name) from error
    return Asked(
        fields["ask"],
        fields.get("says"),
        fields.get("query"),
        at.texts(value, "collection"),
        tuple(checks),
        at.line(value),
    )


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads fields of a file's values; its errors name the line."""

    path: Path

    def fields(self, value: Any, known: Sequence[str] | None, what: str) -> Mapping[str, Any]:
        if not isinstance(value, Mapping):
            raise self.wrong(value, f"{what} should be names with values, not {value!r}", "See docs/TESTING.md.")
        for name in value:
            if known is not None and name not in known:
                near = difflib.get_close_matches(str(name), known, n=1)
                hint = f"Did you mean `{near[0]}`?" if near else f"It may have: {', '.join(known)}."
                raise self.wrong(value, f"{what} has no `{name}`", hint, name)
        return value

    def many(self, parent: Any, value: Any, name: str) -> list[Any]:
        if not isinstance(value, list) or not value:
            raise self.wrong(parent, f"`{name}` should be a non-empty list", "Begin each item with a dash.", name)
        return list(value)

    def texts(self, parent: Mapping[str, Any], name: str) -> tuple[str, ...]:
        value = parent.get(name, [])
        return tuple(map(str, value)) if isinstance(value, list) else (str(value),)

    def line(self, value: Any, name: Any = None) -> int:
        """The line, counted from 1, of a value of the file or of one of its names; 0 if unknown."""
        marks = getattr(value, "lc", None)
        if marks is None:
            return 0
        try:
            return int(marks.key(name)[0] if name is not None else marks.line) + 1
        except (KeyError, TypeError):
            return int(marks.line) + 1

    def wrong(self, value: Any, problem: str, hint: str, name: Any = None) -> BadRequest:
        line = self.line(value, name)
        return BadRequest(f"{self.path}{f':{line}' if line else ''}: {problem}.", hint)
