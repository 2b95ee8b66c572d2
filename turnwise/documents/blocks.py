"""A document as plain text with its structure beside it: what every reader builds and the chunker packs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from turnwise.text import clean, one_line
from turnwise.types import Hidden

LONGEST_HEADING = 200
PART_LEVEL = 2  # a heading of this level or above begins a new part of the document
MOST_HIDDEN = 100_000  # characters that readers do not see, of which a document is remembered to hide so many
LONGEST_HEADER = 300  # characters of a table's header row that is repeated with each part of a split table

_DATE = re.compile(r"(?:D:)?([12]\d{3})(?:[-/.]?(0[1-9]|1[0-2])(?:[-/.]?(0[1-9]|[12]\d|3[01]))?)?")
_NOT_A_TITLE = re.compile(
    r"untitled|document\d*|title|slide \d+|(?:power ?point )?presentation|word document|microsoft \w+ -.*"
    r"|.*\.[a-z]{2,4}x?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, list item, table row or piece of code: a span of the document's text, and where it stands."""

    start: int
    end: int
    headings: tuple[str, ...] = ()
    page: int | None = None
    section: int = 0  # where the nearest heading begins in the text
    part: int = 0  # where the nearest heading of the top two levels begins
    tight: bool = False  # goes on from the block before: the next item of a list, the next row of a table
    code: bool = False  # cut between lines only, where it must be cut
    header: str = ""  # the header row, of the other rows of a table

    @property
    def heading(self) -> str:
        return heading_path(self.headings)


@dataclass(frozen=True, slots=True)
class Parsed:
    """A document that was read: its whole text, headings included, and the blocks in it."""

    title: str
    text: str
    blocks: tuple[Block, ...]
    date: str = ""  # the document's own, where it says one: an ISO date, or the beginning of one
    hidden: tuple[Hidden, ...] = ()  # what its readers do not see


def iso_date(text: str) -> str:
    """The date that a text begins with, as far as it goes: "D:20240131120000Z" is "2024-01-31", "2024" is "2024"."""
    found = _DATE.match(text.strip())
    return "-".join(part for part in found.groups() if part) if found else ""


def as_title(text: str) -> str:
    """What a file's metadata gives as its title, or "" where that is a program's filling."""
    title = " ".join(clean(text).split())
    return "" if _NOT_A_TITLE.fullmatch(title) or not 3 < len(title) < 250 else title


def heading_path(headings: tuple[str, ...]) -> str:
    return " > ".join(headings)


_TAGS = re.compile("[\U000e0020-\U000e007e]{4,}")
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{4,}")


def smuggled(text: str) -> str:
    """What is written in characters that nobody sees: tags that stand for letters, variants that stand for bytes."""
    letters = ["".join(chr(ord(each) - 0xE0000) for each in run) for run in _TAGS.findall(text)]
    for run in _SELECTORS.findall(text):
        numbers = bytes(ord(each) - (0xFE00 if ord(each) < 0xFFFF else 0xE00F0) for each in run)
        letters.append(numbers.decode("utf-8", "replace"))
    return "\n".join(letters)


class Builder:
    """Puts a document together from headings and blocks, in reading order."""

    def __init__(self) -> None:
        self.main_heading = ""  # the first heading of level one
        self.date = ""  # the document's own, where it has one
        self._pieces: list[str] = []
        self._length = 0
        self._blocks: list[Block] = []
        self._headings: list[tuple[int, str]] = []
        self._section = self._part = 0
        self._hidden: dict[str, list[str]] = {}
        self._room = MOST_HIDDEN

    def hide(self, where: str, text: str) -> None:
        """Keep apart what readers do not see: it is no part of the text."""
        text = clean(text)[: self._room]
        if text:
            self._hidden.setdefault(where, []).append(text)
            self._room -= len(text)

    def heading(self, level: int, text: str, written: bool = True) -> None:
        """Begin a section. Its heading is part of the text, unless what follows says it anyway."""
        text = " ".join(self._clean(text).split())
        if not text or len(text) > LONGEST_HEADING:
            self.block(text)  # marked as a heading, yet a paragraph to any reader
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
        """Append a block; a tight one follows the block before it on the next line (items of a list, rows)."""
        text = self._clean(text)
        if not text:
            return
        start = self._write(text, "\n" if tight else "\n\n")
        headings = tuple(title for _, title in self._headings)
        header = clean(header) if len(header) <= LONGEST_HEADER else ""
        self._blocks.append(Block(start, self._length, headings, page, self._section, self._part, tight, code, header))

    def table(self, rows: Iterable[Sequence[str]], page: int | None = None) -> None:
        """Append a table, a block a row; the first row is its header."""
        header = ""
        for row in rows:
            text = " | ".join(" ".join(cell.split()) for cell in row)
            if text.strip(" |"):
                self.block(text, page, tight=bool(header), header=header)
                header = header or text

    def build(self, title: str) -> Parsed:
        """The document. A main heading that is the title is no part of the heading paths: it would say it twice."""
        title = one_line(clean(title), LONGEST_HEADING)
        blocks = (
            replace(block, headings=block.headings[1:]) if block.headings[:1] == (title,) else block
            for block in self._blocks
        )
        hidden = tuple(Hidden(where, "\n".join(dict.fromkeys(texts))) for where, texts in self._hidden.items())
        return Parsed(title, "".join(self._pieces), tuple(blocks), self.date, hidden)

    def _clean(self, text: str) -> str:
        if not text.isascii() and (unseen := smuggled(text)):
            self.hide("invisible characters", unseen)
        return clean(text)

    def _write(self, text: str, separator: str) -> int:
        separator = separator if self._length else ""
        start = self._length + len(separator)
        self._pieces += (separator, text)
        self._length = start + len(text)
        return start
