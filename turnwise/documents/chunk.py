"""Documents, cut into passages of about 200 words that keep to sections and sentences."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile

from turnwise.documents.blocks import Block, Parsed, heading_path
from turnwise.text import sentences
from turnwise.types import Chunk

LIMIT = 1200  # characters in a passage, at most: about 200 words


Span = tuple[int, int]  # where a piece of the document's text starts and ends


def chunk(parsed: Parsed) -> list[Chunk]:
    """The passages of a document, in order. None crosses a page or a heading of the top two levels."""
    chunks: list[Chunk] = []
    for _, blocks in groupby(parsed.blocks, key=lambda block: (block.part, block.page)):
        sections = [list(section) for _, section in groupby(blocks, key=lambda block: block.section)]
        for group in _grouped(sections):
            chunks += [_merged(parsed.text, group)] if len(group) > 1 else _packed(parsed.text, group[0])
    return chunks


def _grouped(sections: Sequence[list[Block]]) -> Iterator[list[list[Block]]]:
    """Neighbouring sections that fit into one passage together; a longer section stays by itself."""
    group: list[list[Block]] = []
    for section in sections:
        if group and section[-1].end - group[0][0].section > LIMIT:
            yield group
            group = []
        group.append(section)
    yield group


def _merged(text: str, sections: Sequence[list[Block]]) -> Chunk:
    """One passage of several small sections, with the headings in it that they do not share."""
    first, last = sections[0][0], sections[-1][-1]
    levels = zip(*(section[0].headings for section in sections), strict=False)
    shared = tuple(level[0] for level in takewhile(lambda level: len(set(level)) == 1, levels))
    start = first.start if shared == first.headings else first.section
    return Chunk(text[start : last.end], heading_path(shared), first.page, start, last.end)


@dataclass(frozen=True, slots=True)
class _Piece:
    """What a passage is made of and not cut inside: a span, and the header row to repeat where a passage begins so."""

    start: int
    end: int
    header: str = ""


def _packed(text: str, section: Sequence[Block]) -> Iterator[Chunk]:
    """One section as passages of about equal size."""
    length = section[-1].end - section[0].start
    aim = length / math.ceil(length / LIMIT)
    pieces = [piece for run in _runs(section) for piece in _pieces(text, run)]
    for start, end, header in _filled(pieces, aim):
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
    """A list or table whole where it fits a passage, else by its items or rows."""
    if run[-1].end - run[0].start <= LIMIT:
        yield _Piece(run[0].start, run[-1].end)
        return
    for block in run:
        room = LIMIT - len(block.header) - 1 if block.header else LIMIT
        for span in _fitting(text, (block.start, block.end), room, _CODE_WAYS if block.code else _WAYS):
            yield _Piece(*span, block.header)


def _filled(pieces: Sequence[_Piece], aim: float) -> Iterator[tuple[int, int, str]]:
    first, end = pieces[0], pieces[0].end
    for piece in pieces[1:]:
        repeated = len(first.header) + 1 if first.header else 0
        if end - first.start >= aim or piece.end - first.start + repeated > LIMIT:
            yield first.start, end, first.header
            first = piece
        end = piece.end
    yield first.start, end, first.header


Divide = Callable[[str, Span, int], Iterator[Span]]


def _fitting(text: str, span: Span, room: int, ways: Sequence[Divide]) -> Iterator[Span]:
    """A span in pieces that each fit the room, divided no more finely than that needs."""
    if span[1] - span[0] <= room:
        yield span
        return
    divide, *finer = ways
    for piece in divide(text, span, room):
        yield from _fitting(text, piece, room, finer)


def _sentences(text: str, span: Span, _: int) -> Iterator[Span]:
    start, end = span
    for sentence in sentences(text[start:end]):
        start = text.index(sentence, start)  # only whitespace lies between: the first found is the right one
        yield start, start + len(sentence)
        start += len(sentence)


def _lines(text: str, span: Span, _: int) -> Iterator[Span]:
    return (found.span() for found in re.compile(r"[^\n]+").finditer(text, *span))


def _words(text: str, span: Span, _: int) -> Iterator[Span]:
    return (found.span() for found in re.compile(r"\S+").finditer(text, *span))


def _slices(_: str, span: Span, room: int) -> Iterator[Span]:
    return ((start, min(start + room, span[1])) for start in range(*span, room))


_WAYS: tuple[Divide, ...] = (_sentences, _lines, _words, _slices)
_CODE_WAYS: tuple[Divide, ...] = (_lines, _words, _slices)
