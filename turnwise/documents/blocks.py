"""A document as plain text with its structure beside it: what every reader builds and the chunker packs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from turnwise.text import clean, one_line

LONGEST_HEADING = 200
PART_LEVEL = 2  # a heading of this level or above begins a new part of the document


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, list item, table row or piece of code: a span of the document's text, and where it stands."""

    start: int
    end: int
    headings: tuple[str, ...] = ()
    page: int | None = None
    section: int = 0  # where the nearest heading begins in the text
    part: int = 0  # where the nearest heading of the top two levels begins

    @property
    def heading(self) -> str:
        return heading_path(self.headings)


@dataclass(frozen=True, slots=True)
class Parsed:
    """A document that was read: its whole text, headings included, and the blocks in it."""

    title: str
    text: str
    blocks: tuple[Block, ...]


def heading_path(headings: tuple[str, ...]) -> str:
    return " > ".join(headings)


class Builder:
    """Puts a document together from headings and blocks, in reading order."""

    def __init__(self) -> None:
        self.main_heading = ""  # the first heading of level one
        self._pieces: list[str] = []
        self._length = 0
        self._blocks: list[Block] = []
        self._headings: list[tuple[int, str]] = []
        self._section = self._part = 0

    def heading(self, level: int, text: str) -> None:
        text = " ".join(clean(text).split())
        if not text or len(text) > LONGEST_HEADING:
            self.block(text)  # marked as a heading, yet a paragraph to any reader
            return
        self._section = self._write(text, "\n\n")
        if level <= PART_LEVEL:
            self._part = self._section
        if level == 1:
            self.main_heading = self.main_heading or text
        self._headings = [above for above in self._headings if above[0] < level] + [(level, text)]

    def block(self, text: str, page: int | None = None, tight: bool = False) -> None:
        """Append a block; a tight one follows the block before it on the next line (items of a list, rows)."""
        text = clean(text)
        if not text:
            return
        start = self._write(text, "\n" if tight else "\n\n")
        headings = tuple(title for _, title in self._headings)
        self._blocks.append(Block(start, self._length, headings, page, self._section, self._part))

    def build(self, title: str) -> Parsed:
        """The document. A main heading that is the title is no part of the heading paths: it would say it twice."""
        title = one_line(clean(title), LONGEST_HEADING)
        blocks = (
            replace(block, headings=block.headings[1:]) if block.headings[:1] == (title,) else block
            for block in self._blocks
        )
        return Parsed(title, "".join(self._pieces), tuple(blocks))

    def _write(self, text: str, separator: str) -> int:
        separator = separator if self._length else ""
        start = self._length + len(separator)
        self._pieces += (separator, text)
        self._length = start + len(text)
        return start
