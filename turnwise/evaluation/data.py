"""Reading benchmark folders: whichever of the known files are there, and others of the same form.

A folder is laid out as rewrite/*.jsonl, followup/*.jsonl, guard/*.jsonl, mtrag/turns.jsonl with mtrag/corpus/*.jsonl,
and doc2dial/turns.jsonl with doc2dial/documents.jsonl; each may be gzipped. One of those subfolders, or a folder that
holds such files directly, may be given as well. What a file is follows from its first row, not from its name.
"""

from __future__ import annotations

import gzip
import json
import logging
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from turnwise.errors import BadRequest
from turnwise.types import Message, Role

log = logging.getLogger(__name__)
T = TypeVar("T")


# --- the rows ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Question:
    """A question at a turn of a conversation, with what people said about it: does it lean on the history, and how
    would it read without it. Either may be unknown."""

    turn: int
    history: tuple[Message, ...]
    question: str
    needs_context: bool | None = None
    rewrite: str | None = None


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation of two people, and for each of its turns whether it changes the topic."""

    turns: tuple[str, ...]
    shift: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """A text of a collection: a passage that is indexed as it is, or a document that is still to be cut."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class PassageQuery:
    """A question and the ids of the passages that answer it."""

    asked: Question
    domain: str
    relevant: frozenset[str]


@dataclass(frozen=True, slots=True)
class LabelledTurn:
    """A turn of a conversation over a domain's passages, and whether those answer it."""

    conversation: str
    domain: str
    turn: int
    question: str
    answerability: str  # ANSWERABLE, PARTIAL, UNANSWERABLE or CONVERSATIONAL


@dataclass(frozen=True, slots=True)
class SpanQuery:
    """A question and the character spans of a document that answer it."""

    asked: Question
    document: str
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Collection:
    """A folder with turns and what they are to be searched in: passages by domain, or one file of whole documents."""

    name: str
    turns: Path
    corpora: dict[str, Path]
    documents: Path | None


@dataclass(frozen=True, slots=True)
class Judged:
    """A text and what it is: 1 for an attack, a leak or an ungrounded answer. `source` is the family it belongs to;
    what else is known of it depends on the file."""

    text: str
    label: int
    source: str
    language: str = ""  # of an attack that is not in English
    position: str = ""  # where in a passage an instruction was hidden
    context: str = ""  # what an answer should rest on
    secret: str = ""  # what an answer may not give away
    spans: tuple[tuple[str, int, int], ...] = ()  # personal data: kind, start, end


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A whole conversation that is an attack or is not, and the place of the turn that completes it."""

    turns: tuple[Message, ...]
    label: int
    source: str
    attack_turn: int

    @property
    def last(self) -> int:
        """The place of the user's last message."""
        return max((place for place, turn in enumerate(self.turns) if turn.role == "user"), default=0)


GuardKind = Literal["message", "composed", "dialogue", "passage", "leak", "pii", "grounding"]


# --- the files ---------------------------------------------------------------------------------------------------


def labelled(folder: Path) -> dict[str, Path]:
    """Files that say which questions need their context, or where the topic shifts, by name: followup/cast19_labels."""
    return _of_form(folder, ("followup", "rewrite"), (("question", "needs_context"), ("turns", "shift")))


def rewritten(folder: Path) -> dict[str, Path]:
    """Files of questions with a human rewrite, by name: rewrite/cast20."""
    return _of_form(folder, ("rewrite",), (("question", "rewrite"),))


def collections(folder: Path) -> list[Collection]:
    """The folders that hold turns together with passages or documents to search."""
    _check(folder)
    found = []
    for name, place in _places(folder):
        here = _files(place)
        turns, documents, corpora = here.get("turns"), here.get("documents"), _files(place / "corpus")
        if turns and (documents or corpora):
            known = name or ("mtrag" if corpora else "doc2dial")
            found.append(Collection(known, turns, corpora, documents))
    if not found:
        raise _nothing(folder, "mtrag/turns.jsonl with mtrag/corpus/*.jsonl, doc2dial/turns.jsonl with documents.jsonl")
    return found


def guarded(folder: Path) -> dict[str, tuple[Path, GuardKind]]:
    """Files of texts and conversations that rails judge, by name (direct_eval), with what each holds. Those that are
    for training say so in their name and are left alone."""
    _check(folder)
    found: dict[str, tuple[Path, GuardKind]] = {}
    for place_name, place in _places(folder):
        if place_name not in ("", "guard"):
            continue
        for name, path in _files(place).items():
            kind = _guard_kind(name, first_row(path))
            if kind and "train" not in name.split("_"):
                found[name] = path, kind
    if not found:
        raise _nothing(folder, "guard/*.jsonl whose rows have 'text' or 'turns', and 'label'")
    return found


def _guard_kind(name: str, row: dict[str, Any]) -> GuardKind | None:
    """What the rows of a file are. A passage looks like a message: its file is called indirect."""
    if "label" not in row:
        return None
    if "turns" in row:
        return "composed" if "attack_turn" in row else "dialogue"
    kinds: dict[str, GuardKind] = {"spans": "pii", "secret": "leak", "context": "grounding"}
    for field, kind in kinds.items():
        if field in row:
            return kind
    if "text" not in row:
        return None
    return "passage" if name.startswith("indirect") else "message"


def _of_form(folder: Path, subfolders: tuple[str, ...], forms: tuple[tuple[str, ...], ...]) -> dict[str, Path]:
    _check(folder)
    found: dict[str, Path] = {}
    for place_name, place in _places(folder):
        if place_name and place_name not in subfolders:
            continue
        for stem, path in _files(place).items():
            name = f"{place_name}/{stem}" if place_name else stem
            fields = first_row(path)
            if any(fields.keys() >= set(form) for form in forms):
                found[name] = path
            elif place_name and "turns" not in fields:  # whole conversations, as canard_train, are for training
                log.warning("%s is left out: its rows do not have %s.", path, _spoken(forms))
    if not found:
        raise _nothing(
            folder, " or ".join(f"{name}/*.jsonl" for name in subfolders) + f" whose rows have {_spoken(forms)}"
        )
    return found


def _places(folder: Path) -> list[tuple[str, Path]]:
    """The folder itself, under its own name where that is a known one, and its subfolders."""
    own = folder.resolve().name
    inside = sorted(path for path in folder.iterdir() if path.is_dir())
    return [(own if own in ("rewrite", "followup", "guard", "mtrag", "doc2dial") else "", folder)] + [
        (path.name, path) for path in inside
    ]


def _files(folder: Path) -> dict[str, Path]:
    """The data files of a folder by name without ending; a plain one comes before its gzipped twin."""
    if not folder.is_dir():
        return {}
    found = {
        path.name.removesuffix(ending): path
        for ending in (".jsonl.gz", ".jsonl")
        for path in folder.iterdir()
        if path.name.endswith(ending) and path.is_file()
    }
    return dict(sorted(found.items()))


def _spoken(forms: Iterable[tuple[str, ...]]) -> str:
    return ", or ".join(" and ".join(repr(field) for field in form) for form in forms)


def _check(folder: Path) -> None:
    if not folder.is_dir():
        raise BadRequest(f"{folder} is not a folder.", "Give the folder of the benchmark files with --data.")


def _nothing(folder: Path, wanted: str) -> BadRequest:
    return BadRequest(
        f"{folder} holds nothing that this suite evaluates.", f"It looks for {wanted}, each plain or gzipped."
    )


# --- the rows, read ----------------------------------------------------------------------------------------------


def rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file with their line numbers; an empty line is passed over."""
    number = 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            for number, line in enumerate(stream, 1):
                if line.strip():
                    row = json.loads(line)
                    if not isinstance(row, dict):
                        raise ValueError("not an object")
                    yield number, row
    except (ValueError, OSError, EOFError, zlib.error) as error:
        raise malformed(path, max(number, 1), str(error)) from error


def first_row(path: Path) -> dict[str, Any]:
    """What shows the form of a file; empty where the file is."""
    return next((row for _, row in rows(path)), {})


def later_questions(path: Path, *required: str) -> list[Question]:
    """The questions of a file after the first of each conversation. Every row must have the required fields."""
    return [asked for asked in questions(path, *required) if asked.turn > 1]


def questions(path: Path, *required: str) -> list[Question]:
    """All questions of a file."""
    found = []
    for line, row in rows(path):
        for name in required:
            if row.get(name) is None:
                raise malformed(path, line, f"no field {name!r}")
        found.append(_question(_Row(path, line, row)))
    return found


def talks(path: Path) -> Iterator[Talk]:
    for line, row in rows(path):
        fields = _Row(path, line, row)
        turns, shift = fields.many("turns", str), fields.many("shift", bool)
        if len(turns) != len(shift):
            raise malformed(path, line, f"{len(turns)} turns but {len(shift)} labels in 'shift'")
        yield Talk(turns, shift)


def judged(path: Path) -> list[Judged]:
    """The labelled texts of a file. A family may be given with its language, as [family, language]."""
    found = []
    for line, row in rows(path):
        fields = _Row(path, line, row)
        family, language = row.get("source"), fields.get("lang", str, None)
        if isinstance(family, list) and len(family) == 2:
            family, language = family
        found.append(
            Judged(
                fields.get("text", str),
                fields.get("label", int),
                str(family or ""),
                str(language or ""),
                fields.get("position", str, None) or "",
                fields.get("context", str, None) or "",
                fields.get("secret", str, None) or "",
                tuple(_marked(fields, span) for span in row.get("spans") or ()),
            )
        )
    return found


def _marked(fields: _Row, span: Any) -> tuple[str, int, int]:
    match span:
        case [str(kind), int(start), int(end)]:
            return kind, start, end
    raise malformed(fields.path, fields.line, "'spans' should hold [kind, start, end]")


def dialogues(path: Path) -> list[Dialogue]:
    found = []
    for line, row in rows(path):
        fields = _Row(path, line, row)
        turns = tuple(_message(fields, said, "turns") for said in fields.many("turns", dict))
        at = fields.get("attack_turn", int, 0)
        found.append(Dialogue(turns, fields.get("label", int), fields.get("source", str, None) or "", at))
    return found


def entries(path: Path) -> list[Entry]:
    """The passages or documents of a file."""
    found: dict[str, Entry] = {}
    for line, row in rows(path):
        fields = _Row(path, line, row)
        entry = Entry(fields.get("_id", str), fields.get("title", str, None) or "", fields.get("text", str))
        if found.setdefault(entry.id, entry) is not entry:
            raise malformed(path, line, f"a second text with the _id {entry.id!r}")
    return list(found.values())


def passage_queries(path: Path) -> list[PassageQuery]:
    """The turns that have a relevant passage; those without cannot be scored."""
    found = []
    for line, row in rows(path):
        fields = _Row(path, line, row)
        grades = fields.get("qrels", dict)
        try:
            relevant = frozenset(str(passage) for passage, grade in grades.items() if grade > 0)
        except TypeError:
            raise malformed(path, line, "'qrels' should give a number for each passage") from None
        if relevant:
            found.append(PassageQuery(_question(fields, "mixtral_rewrite"), fields.get("domain", str), relevant))
    return found


def labelled_turns(path: Path) -> list[LabelledTurn]:
    found = []
    for line, row in rows(path):
        fields = _Row(path, line, row)
        labels = fields.many("answerability", str)
        conversation, domain = fields.get("conversation_id", str), fields.get("domain", str)
        asked = _question(fields)
        found.append(LabelledTurn(conversation, domain, asked.turn, asked.question, labels[0] if labels else ""))
    return found


def span_queries(path: Path) -> list[SpanQuery]:
    found = []
    for line, row in rows(path):
        fields = _Row(path, line, row)
        starts, texts = fields.many("gold_start", int), fields.many("gold_text", str)
        if len(starts) != len(texts):
            raise malformed(path, line, f"{len(starts)} starts but {len(texts)} texts of gold spans")
        spans = tuple(_span(start, text) for start, text in zip(starts, texts, strict=True) if text.strip())
        if spans:
            found.append(SpanQuery(_question(fields), fields.get("gold_doc", str), spans))
    return found


def _span(start: int, text: str) -> tuple[int, int]:
    """A gold span without the white space around it."""
    return start + len(text) - len(text.lstrip()), start + len(text.rstrip())


def _question(fields: _Row, rewrite: str = "rewrite") -> Question:
    question = fields.get("question", str)
    if not question.strip():
        raise malformed(fields.path, fields.line, "'question' is empty")
    return Question(
        fields.get("turn", int),
        tuple(_message(fields, said) for said in fields.many("history", dict)),
        question,
        fields.get("needs_context", bool, None),
        fields.get(rewrite, str, None),
    )


def _message(fields: _Row, said: dict[str, Any], where: str = "history") -> Message:
    one = _Row(fields.path, fields.line, said)
    role: Role = one.get("role", str)
    if role not in get_args(Role):
        raise malformed(fields.path, fields.line, f"unknown role {role!r} in {where!r}")
    return Message(role, one.get("content", str))


def malformed(path: Path, line: int, what: str) -> BadRequest:
    return BadRequest(f"{path}, line {line}: {what}.", "Mend or remove that row.")


_REQUIRED: Any = object()


@dataclass(frozen=True, slots=True)
class _Row:
    """A row whose fields are checked as they are taken."""

    path: Path
    line: int
    values: dict[str, Any]

    def get(self, name: str, kind: type[T], default: Any = _REQUIRED) -> Any:
        value = self.values.get(name)
        if value is None and default is not _REQUIRED:
            return default
        return self._checked(name, value, kind)

    def many(self, name: str, kind: type[T]) -> tuple[T, ...]:
        values = self._checked(name, self.values.get(name), list)
        return tuple(self._checked(name, value, kind) for value in values)

    def _checked(self, name: str, value: Any, kind: type[T]) -> T:
        if name not in self.values:
            raise malformed(self.path, self.line, f"no field {name!r}")
        if type(value) is not kind:
            raise malformed(self.path, self.line, f"{name!r} should hold {kind.__name__}, not {value!r:.60}")
        if isinstance(value, str) and not _is_text(value):
            raise malformed(self.path, self.line, f"{name!r} holds a lone surrogate")
        return value


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
