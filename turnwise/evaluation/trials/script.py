"""Conversations as tests: a YAML file as it is written, read into values; what is wrong in it is told with its line."""

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
OF_FILE = ("name", "library", "documents", "data", "settings", "conversations", "turns")
OF_CONVERSATION = ("name", "turns")
OF_TURN = ("ask", "says", "query", "collection", "expect")


@dataclass(frozen=True, slots=True)
class Asked:
    """One turn of a test: what is asked, and what must hold. With `says` it is not run: that is what was answered."""

    ask: str
    says: str | None = None
    query: str | None = None  # searched for in place of what we would search for
    collections: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    line: int = 0


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation of a test, its turns in order."""

    name: str
    turns: tuple[Asked, ...]
    line: int = 0


@dataclass(frozen=True, slots=True)
class Script:
    """A file of tests: the documents they are about, and the conversations. `library` is a folder, "sample", or ""."""

    path: Path
    name: str
    talks: tuple[Talk, ...]
    library: str = ""
    documents: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)


def yaml() -> YAML:
    """A reader and writer that keeps what people wrote: comments, order and quotes."""
    kept = YAML()
    kept.preserve_quotes = True
    kept.width = 110
    kept.indent(mapping=2, sequence=4, offset=2)
    return kept


def load(path: Path) -> Any:
    """The file as YAML. Raises BadRequest with the line where it cannot be read."""
    try:
        return yaml().load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequest(f"{path} cannot be read: {error}.", "Give a YAML file.") from error
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise BadRequest(f"{path}:{line}: this is no YAML: {error.problem}.", "Mend that line.") from error
    except YAMLError as error:
        raise BadRequest(f"{path}: this is no YAML: {error}.", "Mend it.") from error


def read(path: Path) -> Script:
    """The tests of a file. Raises BadRequest with the line of what does not belong there."""
    told = load(path)
    at = _At(path)
    fields = at.fields(told, OF_FILE, "the file")
    if ("conversations" in fields) == ("turns" in fields):
        raise at.wrong(told, "a file has either `conversations` or the `turns` of one", "Name one of them.")
    name = str(fields.get("name", path.stem))
    conversation = partial(at.fields, known=OF_CONVERSATION, what="a conversation")
    several = (
        [told] if "turns" in fields else map(conversation, at.many(told, fields["conversations"], "conversations"))
    )
    talks = tuple(_talk(at, each, f"conversation {number}") for number, each in enumerate(several, 1))
    library, documents = str(fields.get("library", "")), at.texts(told, "documents")
    if library and documents:
        raise at.wrong(told, "`library` and `documents` both say what is asked about", "Keep one of them.", "library")
    settings = at.fields(fields.get("settings", {}), None, "`settings`")
    return Script(
        path,
        name,
        talks,
        library,
        documents,
        at.texts(told, "data"),
        dict(settings),
    )


def _talk(at: _At, told: Mapping[str, Any], name: str) -> Talk:
    turns = tuple(_asked(at, each) for each in at.many(told, told.get("turns"), "turns"))
    return Talk(str(told.get("name", name)), turns, at.line(told))


def _asked(at: _At, told: Any) -> Asked:
    if isinstance(told, str):
        return Asked(told)
    fields = at.fields(told, OF_TURN, "a turn")
    for name in ("ask", "says", "query"):
        if name in fields and not isinstance(fields[name], str):
            raise at.wrong(told, f"`{name}` is a text, not {fields[name]!r}", "Put it in quotation marks.", name)
    if "ask" not in fields:
        raise at.wrong(told, "a turn has no `ask`", "Say what is asked: ask: What is BERT?")
    if "says" in fields and ("expect" in fields or "query" in fields):
        raise at.wrong(told, "a turn that `says` its answer is not run", "Leave out `expect` and `query`.", "says")
    expected = fields.get("expect", {})
    checks = []
    for name, value in at.fields(expected, None, "`expect`").items():
        try:
            checks.append(check_of(str(name), value))
        except ValueError as error:
            raise at.wrong(expected, str(error), "docs/TESTING.md lists what can be expected.", name) from error
    return Asked(
        fields["ask"],
        fields.get("says"),
        fields.get("query"),
        at.texts(told, "collection"),
        tuple(checks),
        at.line(told),
    )


@dataclass(frozen=True, slots=True)
class _At:
    """Where in a file we are, for what has to be told of it."""

    path: Path

    def fields(self, told: Any, known: Sequence[str] | None, what: str) -> Mapping[str, Any]:
        if not isinstance(told, Mapping):
            raise self.wrong(told, f"{what} should be names with values, not {told!r}", "Look at docs/TESTING.md.")
        for name in told:
            if known is not None and name not in known:
                near = difflib.get_close_matches(str(name), known, n=1)
                hint = f"Did you mean `{near[0]}`?" if near else f"It may have: {', '.join(known)}."
                raise self.wrong(told, f"{what} has no `{name}`", hint, name)
        return told

    def many(self, told: Any, value: Any, name: str) -> list[Any]:
        if not isinstance(value, list) or not value:
            raise self.wrong(told, f"`{name}` should be a list with something in it", "Begin each with a dash.", name)
        return list(value)

    def texts(self, told: Mapping[str, Any], name: str) -> tuple[str, ...]:
        value = told.get(name, [])
        return tuple(map(str, value)) if isinstance(value, list) else (str(value),)

    def line(self, told: Any, name: Any = None) -> int:
        """The line, counted from 1, where a value of the file or one of its names begins; 0 where that is not known."""
        marks = getattr(told, "lc", None)
        if marks is None:
            return 0
        try:
            return int(marks.key(name)[0] if name is not None else marks.line) + 1
        except (KeyError, TypeError):
            return int(marks.line) + 1

    def wrong(self, told: Any, what: str, hint: str, name: Any = None) -> BadRequest:
        line = self.line(told, name)
        return BadRequest(f"{self.path}{f':{line}' if line else ''}: {what}.", hint)
