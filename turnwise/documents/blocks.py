"""A document as plain text plus its structure: built by every reader, and split by the chunker."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from turnwise.text import SELECTORS, clean, hidden_bytes, one_line
from turnwise.types import Hidden

MAX_HEADING_CHARS = 200
PART_LEVEL = 2  # headings up to this level begin a new part of the document
MAX_HIDDEN_CHARS = 100_000  # of hidden text kept per document
MAX_TABLE_HEADER_CHARS = 300  # a longer header row is not repeated in each part of a split table

_DATE = re.compile(r"(?:D:)?([12]\d{3})(?:[-/.]?(0[1-9]|1[0-2])(?:[-/.]?(0[1-9]|[12]\d|3[01]))?)?")
_NOT_A_TITLE = re.compile(
    r"untitled|document\d*|title|slide \d+|(?:power ?point )?presentation|word document|microsoft \w+ -.*"
    r"|.*\.[a-z]{2,4}x?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, list item, table row or piece of code: a span of the document's text, and its context."""

    start: int
    end: int
    headings: tuple[str, ...] = ()
    page: int | None = None
    section: int = 0  # where the nearest heading begins in the text
    part: int = 0  # where the nearest heading of the top two levels begins
    tight: bool = False  # continues the block before: the next list item or table row
    code: bool = False  # split only between lines
    header: str = ""  # for a table row: the header row of its table

    @property
    def heading(self) -> str:
        return heading_path(self.headings)


@dataclass(frozen=True, slots=True)
class Parsed:
    """A parsed document: its whole text, headings included, and the blocks in it."""

    title: str
    text: str
    blocks: tuple[Block, ...]
    date: str = ""  # stated by the document: an ISO date, or only the year or month
    hidden: tuple[Hidden, ...] = ()  # text that people do not see


def iso_date(text: str) -> str:
    """The date at the beginning of a text: "D:20240131120000Z" is "2024-01-31", "2024" is "2024"."""
    found = _DATE.match(text.strip())
    return "-".join(part for part in found.groups() if part) if found else ""


def as_title(text: str) -> str:
    """The title from a file's metadata, or "" if it is a program's default."""
    title = " ".join(clean(text).split())
    return "" if _NOT_A_TITLE.fullmatch(title) or not 3 < len(title) < 250 else title


def heading_path(headings: tuple[str, ...]) -> str:
    return " > ".join(headings)


_TAG_CHARACTERS = re.compile("[\U000e0020-\U000e007e]{4,}")


def invisible_text(text: str) -> str:
    """Decode text in invisible characters: Unicode tags for letters, variation selectors for bytes."""
    letters = ["".join(chr(ord(each) - 0xE0000) for each in run) for run in _TAG_CHARACTERS.findall(text)]
    letters += [hidden_bytes(run).decode("utf-8", "replace") for run in SELECTORS.findall(text)]
    return "\n".join(letters)


class Builder:
    """Builds a document from headings and blocks, in reading order."""

    def __init__(self) -> None:
        self.main_heading = ""  # the first heading of level one
        self.date = ""  # stated by the document
        self._pieces: list[str] = []
        self._length = 0
        self._blocks: list[Block] = []
        self._headings: list[tuple[int, str]] = []
        self._section = self._part = 0
        self._hidden: dict[str, list[str]] = {}
        self._room = MAX_HIDDEN_CHARS

    def hide(self, where: str, text: str) -> None:
        """Keep text that people do not see separate from the document's text."""
        text = clean(text)[: self._room]
        if text:
            self._hidden.setdefault(where, []).append(text)
            self._room -= len(text)

    def heading(self, level: int, text: str, written: bool = True) -> None:
        """Begin a section. With `written`, the heading becomes part of the text."""
        text = " ".join(self._clean(text).split())
        if not text or len(text) > MAX_HEADING_CHARS:
            self.block(text)  # too long for a heading: treat it as a paragraph
            return
        if written:
            self._section = self._write(text, "\n\n")
        else:
            self._section = self._length + 2 if self._length else 0
        if level <= PART_LEVEL:
            self._part = self._section
        if level == 1:
            self.main_heading = self.main_heading or text
        self._headings = [above for above in self._headings if above[0] < level] + [(level, text)]

    def block(
        self, text: str, page: int | None = None, tight: bool = False, code: bool = False, header: str = ""
    ) -> None:
        """Append a block; a tight one is on the line after the block before it (list items, table rows)."""
        text = self._clean(text)
        if not text:
            return
        start = self._write(text, "\n" if tight else "\n\n")
        headings = tuple(title for _, title in self._headings)
        header = clean(header) if len(header) <= MAX_TABLE_HEADER_CHARS else ""
        self._blocks.append(Block(start, self._length, headings, page, self._section, self._part, tight, code, header))

    def table(self, rows: Iterable[Sequence[str]], page: int | None = None) -> None:
        """Append a table, one block per row; the first row is its header. If that is empty, two columns are names and
        values."""
        header, begun, has_names = "", False, False
        for number, row in enumerate(rows):
            cells = [" ".join(cell.split()) for cell in row]
            has_names = has_names or (number == 0 and len(cells) == 2 and not any(cells))
            text = ": ".join(cell.rstrip(":") for cell in cells if cell) if has_names else " | ".join(cells)
            if text.strip(" |"):
                self.block(text, page, tight=begun, header=header)
                header, begun = header or ("" if has_names else text), True

    def build(self, title: str) -> Parsed:
        """Return the document. A main heading equal to the title is left out of the heading paths."""
        title = one_line(clean(title), MAX_HEADING_CHARS)
        blocks = (
            replace(block, headings=block.headings[1:]) if block.headings[:1] == (title,) else block
            for block in self._blocks
        )
        hidden = tuple(Hidden(where, "\n".join(dict.fromkeys(texts))) for where, texts in self._hidden.items())
        return Parsed(title, "".join(self._pieces), tuple(blocks), self.date, hidden)

    def _clean(self, text: str) -> str:
        if not text.isascii() and (hidden := invisible_text(text)):
            self.hide("invisible characters", hidden)
        return clean(text)

    def _write(self, text: str, separator: str) -> int:
        separator = separator if self._length else ""
        start = self._length + len(separator)
        self._pieces += (separator, text)
        self._length = start + len(text)
        return start
