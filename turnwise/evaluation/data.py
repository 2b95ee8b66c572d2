"""Reads benchmark folders: the known files that are present, and others in the same format.

The layout is rewrite/*.jsonl, followup/*.jsonl, guard/*.jsonl, mtrag/turns.jsonl with mtrag/corpus/*.jsonl, and
doc2dial/turns.jsonl with doc2dial/documents.jsonl; each may be gzipped. One of these subfolders, or a folder with such
files directly in it, also works. The kind of a file is determined by its first row, not by its name.
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
    """A question at some turn of a conversation, with its human labels: whether it needs the history, and how it reads
    without it. Either may be unknown."""

    turn: int
    history: tuple[Message, ...]
    question: str
    needs_context: bool | None = None
    rewrite: str | None = None


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation between two people, and for each turn whether it changes the topic."""

    turns: tuple[str, ...]
    shift: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """A text in a collection: a passage that is indexed as it is, or a document to be cut into passages."""

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
    """A turn of a conversation about a domain, and whether the domain's passages answer it."""

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
    """A folder with turns and the texts to search: passages by domain, or one file of whole documents."""

    name: str
    turns: Path
    corpora: dict[str, Path]
    documents: Path | None


@dataclass(frozen=True, slots=True)
class LabelledText:
    """A text and its label: 1 for an attack, a leak or an ungrounded answer. `source` is the family it belongs to; the
    other fields depend on the file."""

    text: str
    label: int
    source: str
    language: str = ""  # of an attack that is not in English
    position: str = ""  # where in a passage an instruction was hidden
    context: str = ""  # what an answer should be based on
    secret: str = ""  # what an answer must not reveal
    spans: tuple[tuple[str, int, int], ...] = ()  # personal data: kind, start, end


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A whole conversation that is an attack or not, and the index of the turn that completes the attack."""

    turns: tuple[Message, ...]
    label: int
    source: str
    attack_turn: int

    @property
    def last(self) -> int:
        """The index of the user's last message."""
        return max((index for index, turn in enumerate(self.turns) if turn.role == "user"), default=0)


GuardKind = Literal["message", "composed", "dialogue", "passage", "leak", "pii", "grounding"]


# --- the files ---------------------------------------------------------------------------------------------------


def followup_files(folder: Path) -> dict[str, Path]:
    """Files with labels for questions that need their context, or for topic shifts, by name: followup/cast19_labels."""
    return _files_with_fields(folder, ("followup", "rewrite"), (("question", "needs_context"), ("turns", "shift")))


def rewrite_files(folder: Path) -> dict[str, Path]:
    """Files of questions with human rewrites, by name: rewrite/cast20."""
    return _files_with_fields(folder, ("rewrite",), (("question", "rewrite"),))


def collections(folder: Path) -> list[Collection]:
    """The folders with turns and the passages or documents to search."""
    _check_folder(folder)
    found = []
    for name, subfolder in _data_folders(folder):
        files = _files(subfolder)
        turns, documents, corpora = files.get("turns"), files.get("documents"), _files(subfolder / "corpus")
        if turns and (documents or corpora):
            known = name or ("mtrag" if corpora else "doc2dial")
            found.append(Collection(known, turns, corpora, documents))
    if not found:
        raise _nothing_found(
            folder, "mtrag/turns.jsonl with mtrag/corpus/*.jsonl, doc2dial/turns.jsonl with documents.jsonl"
        )
    return found


def guard_files(folder: Path) -> dict[str, tuple[Path, GuardKind]]:
    """Files of texts and conversations for the rails, by name (direct_eval), with the kind of each. Files for training,
    which have "train" in their name, are left out."""
    _check_folder(folder)
    found: dict[str, tuple[Path, GuardKind]] = {}
    for folder_name, subfolder in _data_folders(folder):
        if folder_name not in ("", "guard"):
            continue
        for name, path in _files(subfolder).items():
            kind = _guard_kind(name, first_row(path))
            if kind and "train" not in name.split("_"):
                found[name] = path, kind
    if not found:
        raise _nothing_found(folder, "guard/*.jsonl whose rows have 'text' or 'turns', and 'label'")
    return found


def _guard_kind(name: str, row: dict[str, Any]) -> GuardKind | None:
    """What the rows of a file are. Rows of passages look like messages, but their files are called indirect…."""
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


def _files_with_fields(
    folder: Path, subfolders: tuple[str, ...], choices: tuple[tuple[str, ...], ...]
) -> dict[str, Path]:
    """The files in these subfolders whose first row has all fields of one of the choices."""
    _check_folder(folder)
    found: dict[str, Path] = {}
    for folder_name, subfolder in _data_folders(folder):
        if folder_name and folder_name not in subfolders:
            continue
        for stem, path in _files(subfolder).items():
            name = f"{folder_name}/{stem}" if folder_name else stem
            row = first_row(path)
            if any(row.keys() >= set(fields) for fields in choices):
                found[name] = path
            elif folder_name and "turns" not in row:  # whole conversations, such as canard_train, are for training
                log.warning("%s is left out: its rows do not have %s.", path, _field_names(choices))
    if not found:
        raise _nothing_found(
            folder, " or ".join(f"{name}/*.jsonl" for name in subfolders) + f" whose rows have {_field_names(choices)}"
        )
    return found


def _data_folders(folder: Path) -> list[tuple[str, Path]]:
    """The folder itself, with its name if it is a known one, and its subfolders."""
    own = folder.resolve().name
    inside = sorted(path for path in folder.iterdir() if path.is_dir())
    return [(own if own in ("rewrite", "followup", "guard", "mtrag", "doc2dial") else "", folder)] + [
        (path.name, path) for path in inside
    ]


def _files(folder: Path) -> dict[str, Path]:
    """The data files in a folder by name without extension; a plain file is preferred to a gzipped one."""
    if not folder.is_dir():
        return {}
    found = {
        path.name.removesuffix(extension): path
        for extension in (".jsonl.gz", ".jsonl")
        for path in folder.iterdir()
        if path.name.endswith(extension) and path.is_file()
    }
    return dict(sorted(found.items()))


def _field_names(choices: Iterable[tuple[str, ...]]) -> str:
    return ", or ".join(" and ".join(repr(field) for field in fields) for fields in choices)


def _check_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise BadRequest(f"{folder} is not a folder.", "Give the folder of the benchmark files with --data.")


def _nothing_found(folder: Path, wanted: str) -> BadRequest:
    return BadRequest(
        f"{folder} contains nothing that this suite evaluates.", f"It looks for {wanted}, each plain or gzipped."
    )


# --- reading rows ------------------------------------------------------------------------------------------------


def rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects in a file with their line numbers; empty lines are skipped."""
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
    """The first row, which shows the kind of the file; an empty dict if the file is empty."""
    return next((row for _, row in rows(path)), {})


def later_questions(path: Path, *required: str) -> list[Question]:
    """The questions in a file that are not the first of their conversation. Every row must have the required fields."""
    return [asked for asked in questions(path, *required) if asked.turn > 1]


def questions(path: Path, *required: str) -> list[Question]:
    """All questions in a file."""
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


def labelled_texts(path: Path) -> list[LabelledText]:
    """The labelled texts in a file. `source` may also be [family, language]."""
    found = []
    for line, row in rows(path):
        fields = _Row(path, line, row)
        family, language = row.get("source"), fields.get("lang", str, None)
        if isinstance(family, list) and len(family) == 2:
            family, language = family
        found.append(
            LabelledText(
                fields.get("text", str),
                fields.get("label", int),
                str(family or ""),
                str(language or ""),
                fields.get("position", str, None) or "",
                fields.get("context", str, None) or "",
                fields.get("secret", str, None) or "",
                tuple(_pii_span(fields, span) for span in row.get("spans") or ()),
            )
        )
    return found


def _pii_span(fields: _Row, span: Any) -> tuple[str, int, int]:
    match span:
        case [str(kind), int(start), int(end)]:
            return kind, start, end
    raise malformed(fields.path, fields.line, "'spans' should hold [kind, start, end]")


def dialogues(path: Path) -> list[Dialogue]:
    found = []
    for line, row in rows(path):
        fields = _Row(path, line, row)
        turns = tuple(_message(fields, turn, "turns") for turn in fields.many("turns", dict))
        attack_turn = fields.get("attack_turn", int, 0)
        found.append(Dialogue(turns, fields.get("label", int), fields.get("source", str, None) or "", attack_turn))
    return found


def entries(path: Path) -> list[Entry]:
    """The passages or documents in a file."""
    found: dict[str, Entry] = {}
    for line, row in rows(path):
        fields = _Row(path, line, row)
        entry = Entry(fields.get("_id", str), fields.get("title", str, None) or "", fields.get("text", str))
        if found.setdefault(entry.id, entry) is not entry:
            raise malformed(path, line, f"a second text with the _id {entry.id!r}")
    return list(found.values())


def passage_queries(path: Path) -> list[PassageQuery]:
    """The turns that have a relevant passage; the others cannot be scored."""
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
    """A gold span without the whitespace around it."""
    return start + len(text) - len(text.lstrip()), start + len(text.rstrip())


def _question(fields: _Row, rewrite: str = "rewrite") -> Question:
    question = fields.get("question", str)
    if not question.strip():
        raise malformed(fields.path, fields.line, "'question' is empty")
    return Question(
        fields.get("turn", int),
        tuple(_message(fields, message) for message in fields.many("history", dict)),
        question,
        fields.get("needs_context", bool, None),
        fields.get(rewrite, str, None),
    )


def _message(row: _Row, value: dict[str, Any], where: str = "history") -> Message:
    fields = _Row(row.path, row.line, value)
    role: Role = fields.get("role", str)
    if role not in get_args(Role):
        raise malformed(row.path, row.line, f"unknown role {role!r} in {where!r}")
    return Message(role, fields.get("content", str))


def malformed(path: Path, line: int, problem: str) -> BadRequest:
    return BadRequest(f"{path}, line {line}: {problem}.", "Fix or remove that row.")


_REQUIRED: Any = object()


@dataclass(frozen=True, slots=True)
class _Row:
    """A row whose fields are checked when they are read."""

    path: Path
    line: int
    values: dict[str, Any]

    def get(self, name: str, kind: type[T], default: Any = _REQUIRED) -> Any:
        value = self.values.get(name)
        if value is None and default is not _REQUIRED:
            return default
        return self._check_value(name, value, kind)

    def many(self, name: str, kind: type[T]) -> tuple[T, ...]:
        values = self._check_value(name, self.values.get(name), list)
        return tuple(self._check_value(name, value, kind) for value in values)

    def _check_value(self, name: str, value: Any, kind: type[T]) -> T:
        if name not in self.values:
            raise malformed(self.path, self.line, f"no field {name!r}")
        if type(value) is not kind:
            raise malformed(self.path, self.line, f"{name!r} should hold {kind.__name__}, not {value!r:.60}")
        if isinstance(value, str) and not _is_text(value):
            raise malformed(self.path, self.line, f"{name!r} contains a lone surrogate")
        return value


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
