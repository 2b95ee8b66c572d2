"""What an answer rests on: its citations, and the passages behind them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

from turnwise.text import CITATION, points, without_citations
from turnwise.types import Message, Passage, Source

Locate = Callable[[str], Passage | None]


def with_sources(message: Message, locate: Locate) -> Message:
    """The message with what it cited. A caller that keeps its own history sends text only: look its sentences up."""
    if message.role != "assistant" or message.sources or not CITATION.search(message.content):
        return message
    found: dict[int, Source] = {}
    for number, quote in cited_points(message.content):
        passage = None if number in found else locate(quote)
        if passage:
            found[number] = to_source(number, passage, quote)
    return dataclasses.replace(message, sources=tuple(found.values()))


def cited_points(answer: str) -> Iterator[tuple[int, str]]:
    """Every citation of an answer with the words that rest on it, without the quotation marks of a quoted passage."""
    for point in points(answer):
        quote = without_citations(point).removeprefix("As I said: ").strip("“” ")
        for number in CITATION.findall(point):
            yield int(number), quote


def to_source(number: int, passage: Passage, quote: str) -> Source:
    return Source(
        number,
        passage.id,
        passage.title,
        passage.source,
        passage.heading,
        passage.page,
        passage.text,
        quote,
        passage.reference,
    )
