"""Splits documents into passages of about 200 words along sections and sentences."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile

from turnwise.documents.blocks import Block, Parsed, heading_path
from turnwise.text import sentences
from turnwise.types import Chunk

MAX_PASSAGE_CHARS = 1200  # about 200 words


Span = tuple[int, int]  # start and end in the document's text


def chunk(parsed: Parsed) -> list[Chunk]:
    """Split a document into passages, in order. None crosses a page or a heading of the top two levels."""
    chunks: list[Chunk] = []
    for _, blocks in groupby(parsed.blocks, key=lambda block: (block.part, block.page)):
        sections = [list(section) for _, section in groupby(blocks, key=lambda block: block.section)]
        for group in _group_small_sections(sections):
            chunks += [_merge(parsed.text, group)] if len(group) > 1 else _split_section(parsed.text, group[0])
    return chunks


def _group_small_sections(sections: Sequence[list[Block]]) -> Iterator[list[list[Block]]]:
    """Group neighbouring sections that fit into one passage together; a longer section stays by itself."""
    group: list[list[Block]] = []
    for section in sections:
        if group and section[-1].end - group[0][0].section > MAX_PASSAGE_CHARS:
            yield group
            group = []
        group.append(section)
    yield group


def _merge(text: str, sections: Sequence[list[Block]]) -> Chunk:
    """One passage from several small sections; headings they do not share stay in its text."""
    first, last = sections[0][0], sections[-1][-1]
    levels = zip(*(section[0].headings for section in sections), strict=False)
    shared = tuple(level[0] for level in takewhile(lambda level: len(set(level)) == 1, levels))
    start = first.start if shared == first.headings else first.section
    return Chunk(text[start : last.end], heading_path(shared), first.page, start, last.end)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A span that is never split, and the table header to repeat if a passage begins with it."""

    start: int
    end: int
    header: str = ""


def _split_section(text: str, section: Sequence[Block]) -> Iterator[Chunk]:
    """Split a section into passages of about equal size."""
    length = section[-1].end - section[0].start
    target = length / math.ceil(length / MAX_PASSAGE_CHARS)
    pieces = [piece for run in _runs(section) for piece in _pieces(text, run)]
    for start, end, header in _fill_passages(pieces, target):
        passage = f"{header}\n{text[start:end]}" if header else text[start:end]
        yield Chunk(passage, section[0].heading, section[0].page, start, end)


def _runs(section: Sequence[Block]) -> Iterator[list[Block]]:
    """Blocks that belong together: a list, a table, or a paragraph by itself."""
    run: list[Block] = []
    for block in section:
        if run and not block.tight:
            yield run
            run = []
        run.append(block)
    yield run


def _pieces(text: str, run: Sequence[Block]) -> Iterator[_Piece]:
    """A list or table as one piece if it fits a passage, else one piece per item or row."""
    if run[-1].end - run[0].start <= MAX_PASSAGE_CHARS:
        yield _Piece(run[0].start, run[-1].end)
        return
    for block in run:
        room = MAX_PASSAGE_CHARS - len(block.header) - 1 if block.header else MAX_PASSAGE_CHARS
        for span in _split_to_fit(text, (block.start, block.end), room, _CODE_SPLITTERS if block.code else _SPLITTERS):
            yield _Piece(*span, block.header)


def _fill_passages(pieces: Sequence[_Piece], target: float) -> Iterator[tuple[int, int, str]]:
    first, end = pieces[0], pieces[0].end
    for piece in pieces[1:]:
        repeated = len(first.header) + 1 if first.header else 0
        if end - first.start >= target or piece.end - first.start + repeated > MAX_PASSAGE_CHARS:
            yield first.start, end, first.header
            first = piece
        end = piece.end
    yield first.start, end, first.header


Splitter = Callable[[str, Span, int], Iterator[Span]]


def _split_to_fit(text: str, span: Span, room: int, splitters: Sequence[Splitter]) -> Iterator[Span]:
    """Split a span into pieces of at most `room` characters, with the coarsest splitter that works."""
    if span[1] - span[0] <= room:
        yield span
        return
    split, *finer = splitters
    for piece in split(text, span, room):
        yield from _split_to_fit(text, piece, room, finer)


def _sentences(text: str, span: Span, _: int) -> Iterator[Span]:
    start, end = span
    for sentence in sentences(text[start:end]):
        start = text.index(sentence, start)  # only whitespace lies between, so the first match is the right one
        yield start, start + len(sentence)
        start += len(sentence)


def _lines(text: str, span: Span, _: int) -> Iterator[Span]:
    return (found.span() for found in re.compile(r"[^\n]+").finditer(text, *span))


def _words(text: str, span: Span, _: int) -> Iterator[Span]:
    return (found.span() for found in re.compile(r"\S+").finditer(text, *span))


def _slices(_: str, span: Span, room: int) -> Iterator[Span]:
    return ((start, min(start + room, span[1])) for start in range(*span, room))


_SPLITTERS: tuple[Splitter, ...] = (_sentences, _lines, _words, _slices)
_CODE_SPLITTERS: tuple[Splitter, ...] = (_lines, _words, _slices)
