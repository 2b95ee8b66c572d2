"""Documents, cut into passages of about 200 words that keep to sections and sentences."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
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


def _packed(text: str, section: Sequence[Block]) -> Iterator[Chunk]:
    """One section as passages of about equal size."""
    length = section[-1].end - section[0].start
    aim = length / math.ceil(length / LIMIT)
    spans = [span for block in section for span in _fitting(text, (block.start, block.end), _WAYS)]
    for start, end in _filled(spans, aim):
        yield Chunk(text[start:end], section[0].heading, section[0].page, start, end)


def _filled(spans: Sequence[Span], aim: float) -> Iterator[Span]:
    start, end = spans[0]
    for next_start, next_end in spans[1:]:
        if end - start >= aim or next_end - start > LIMIT:
            yield start, end
            start = next_start
        end = next_end
    yield start, end


def _fitting(text: str, span: Span, ways: Sequence[Callable[[str, Span], Iterator[Span]]]) -> Iterator[Span]:
    """A span in pieces that each fit a passage, divided no more finely than that needs."""
    if span[1] - span[0] <= LIMIT:
        yield span
        return
    divide, *finer = ways
    for piece in divide(text, span):
        yield from _fitting(text, piece, finer)


def _sentences(text: str, span: Span) -> Iterator[Span]:
    start, end = span
    for sentence in sentences(text[start:end]):
        start = text.index(sentence, start)  # only whitespace lies between: the first found is the right one
        yield start, start + len(sentence)
        start += len(sentence)


def _lines(text: str, span: Span) -> Iterator[Span]:
    return (found.span() for found in re.compile(r"[^\n]+").finditer(text, *span))


def _words(text: str, span: Span) -> Iterator[Span]:
    return (found.span() for found in re.compile(r"\S+").finditer(text, *span))


def _slices(_: str, span: Span) -> Iterator[Span]:
    return ((start, min(start + LIMIT, span[1])) for start in range(*span, LIMIT))


_WAYS = (_sentences, _lines, _words, _slices)
