"""The citations of an answer, and the passages behind them."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby

from turnwise.dialogue.language import CODES, language
from turnwise.sums.grammar import CURRENCIES
from turnwise.text import CITATION, IN_BRACKETS, content_stems, is_field, points, sentences, without_citations
from turnwise.types import Message, Passage, Source

BARS = re.compile(r"(?:^| )\|(?: |$)")  # between the cells of a row; the first and the last may be empty
_TOKEN = re.compile(r"[-−+<>≤≥~]?\d+(?:[.,:]\d+)*|[^\W\d_]+|[$€£¥%]")
# Columns of a table file whose cells name its rows, and those whose cells only number them.
_NAMES = re.compile(r"(?:\w+[ _])?(?:name|title|product|item|article|description)", re.I)
_NUMBERS = re.compile(
    r"(?:\w+[ _])?(?:sku|ids?|codes?|nos?|nr|num|number|ref|reference|ean|gtin|isbn|mpn|article|part)\.?", re.I
)

Locate = Callable[[str], Passage | None]


def with_sources(message: Message, locate: Locate) -> Message:
    """Returns the message with its sources. A caller that keeps its own history sends only text, so the cited sentences
    are looked up."""
    if message.role != "assistant" or message.sources or not CITATION.search(message.content):
        return message
    found: dict[int, Source] = {}
    for number, quote in cited_points(message.content):
        passage = None if number in found else locate(quote)
        if passage:
            found[number] = to_source(number, passage, quote)
    return dataclasses.replace(message, sources=tuple(found.values()))


_NOT_KNOWN = re.compile(
    r"i (?:do not|don['’]t) know|i(?: (?:am|was)|['’]m) (?:not able|unable) to|"
    r"i (?:cannot|can['’]t|could not) (?:find|answer)",
    re.I,
)
_NOT_IN_THE_DOCUMENTS = re.compile(  # unless it cites what it says
    r"(?:sorry|unfortunately)\b.{0,40}\b(?:no|not|n['’]t)\b|"
    r"(?:the |none of the )?(?:evidence|documents?|passages?|library|context)\b.{0,60}\b"
    r"(?:do(?:es)? not|don['’]t|doesn['’]t|no|not) (?:\w+ ){0,2}"
    r"(?:answer|say|mention|contain|provide|include|information)|"
    r"there is (?:no|not enough) (?:\w+ ){0,2}(?:information|evidence)",
    re.I,
)


def abstains(answer: str) -> bool:
    """Whether an answer starts by saying that there is none, in our own words or in those of language models."""
    text = answer.lstrip("*_# ")
    own = "unknown", "unknown_again", "no_more", "nothing_found", "nothing_in_part"
    if _NOT_KNOWN.match(text) or text.startswith(_own_openings(*own)):
        return True
    first = next(iter(sentences(text)), "")
    return bool(_NOT_IN_THE_DOCUMENTS.match(first)) and not CITATION.search(first)


def just_abstained(history: Sequence[Message]) -> bool:
    """Whether the last answer of a conversation says that there is none."""
    return abstains(next((each.content for each in reversed(history) if each.role == "assistant"), ""))


@lru_cache(maxsize=256)
def without_unknown(answer: str) -> str:
    """Returns an answer without the paragraphs that say something is not known."""
    return "\n\n".join(part for part in answer.split("\n\n") if not abstains(part))


def has_no_more(answer: str) -> bool:
    """Whether an answer says that there is no more to say than what was said before."""
    return answer.startswith(_own_openings("no_more"))


@lru_cache(maxsize=4)
def _own_openings(*kinds: str) -> tuple[str, ...]:
    return tuple(language(code).says[kind].split("{")[0] for code in CODES for kind in kinds)


def repeats(answer: str) -> bool:
    """Whether an answer opens by saying that it repeats what was said: "As I said: "."""
    return answer.startswith(_own_openings("again"))


def without_again(answer: str) -> str:
    """Returns an answer without saying first that it repeats what was said."""
    return next((answer.removeprefix(each) for each in _own_openings("again") if answer.startswith(each)), answer)


def cited_points(answer: str) -> Iterator[tuple[int, str]]:
    """Yields every citation of an answer with the text it supports, without the quotation marks of a quoted passage."""
    for point in points(answer):
        quote = without_again(without_citations(point)).strip("“” ")
        for number in CITATION.findall(point):
            yield int(number), quote


def to_source(number: int, passage: Passage, claim: str) -> Source:
    """Returns a passage as the source of a claim, with the sentence that supports it."""
    return Source(
        number,
        passage.id,
        passage.title,
        passage.source,
        passage.heading,
        passage.page,
        passage.text,
        supporting_text(claim, passage.text),
        passage.reference,
        passage.date,
    )


def supporting_text(claim: str, text: str) -> str:
    """Returns the words of a text that support a claim: the claim itself if it is quoted or is a row of a table just as
    we write it, or else the sentence or row that has most in common with it, or "" if none has anything in common."""
    claim = " ".join(claim.split())
    if claim in " ".join(text.split()) or any(_is_written(claim, row) for row in _rows(text)):
        return claim
    wanted = content_stems(claim)

    def similarity(part: str) -> float:
        stems = content_stems(part)
        return len(wanted & stems) / math.sqrt(len(wanted) * len(stems) or 1)

    best = max((*_rows_in_words(text), *_sentences_beside_rows(text)), key=similarity, default="")
    return best.lstrip("-*• ") if similarity(best) else ""


def _rows_in_words(text: str) -> list[str]:
    """Returns the rows of the tables in a passage, each with its column names, and the lines of a CSV file. The lines
    of a table without column names, and a line alone, stay as they are."""
    rows: list[str] = []
    for is_table, lines in _line_groups(text):
        if not is_table:
            rows += filter(_is_record, lines)
        elif len(lines) == 1:
            rows += sentences(lines[0])
        elif any(map(str.isdigit, IN_BRACKETS.sub("", lines[0]))):
            rows += lines
        else:
            for (_, first), *cells in _table_rows(lines):
                values = ", ".join(f"{head} {cell}" for head, cell in cells if cell)
                rows.append(f"{first}: {values}" if first else values)
    return rows


def _rows(text: str) -> Iterator[list[tuple[str, str]]]:
    """Yields the rows of the tables and CSV files in a passage: column names and cells."""
    for is_table, lines in _line_groups(text):
        if is_table:
            yield from _table_rows(lines)
        else:
            for line in filter(_is_record, lines):
                pairs = (part.partition(": ") for part in line.split("; "))
                yield list(name_first([(column, cell) for column, _, cell in pairs]))


def name_first(cells: Sequence[tuple[str, str]]) -> Sequence[tuple[str, str]]:
    """Returns the cells of a row that begins with its number or code with that at the end and its name first."""
    place = next((place for place, (column, _) in enumerate(cells) if _NAMES.fullmatch(column)), 0)
    if not place or not cells[place][1] or not (_NUMBERS.fullmatch(cells[0][0]) or cells[0][1].isdigit()):
        return cells
    return [cells[place], *cells[1:place], *cells[place + 1 :], cells[0]]


def _line_groups(text: str) -> Iterator[tuple[bool, list[str]]]:
    """Yields the lines of a passage, those of a table together, and whether they are a table."""
    for is_table, lines in groupby(text.splitlines(), key=is_table_row):
        yield is_table, list(lines)


def _table_rows(lines: list[str]) -> list[list[tuple[str, str]]]:
    heads, *table = [[cell.strip() for cell in BARS.split(line)] for line in lines]
    # The head of the first column may be empty, and is not stored then.
    return [list(zip([""] * (len(cells) - len(heads)) + heads, cells, strict=False)) for cells in table]


def _is_written(claim: str, row: list[tuple[str, str]]) -> bool:
    """Whether a claim is the name of a row and then cells of it, with no other word: "Rye: price €4.20, vegan: yes"."""
    told = _tokens(claim)
    (head, first), *others = [(_tokens(column), _tokens(cell)) for column, cell in row]
    name = head + first if told[: len(head + first)] == head + first else first
    rest = told[len(name) :]
    if not first or not rest or told[: len(name)] != name:
        return False
    for column, cell in others:
        for form in (column + cell, column[:-1] + cell + column[-1:]):  # the name of a column may end in a unit
            if cell and rest[: len(form)] == form:
                rest = rest[len(form) :]
                break
    return not rest


def _tokens(text: str) -> list[str]:
    found = _TOKEN.findall(text.lower())
    return [CURRENCIES.get(each, each) for each in found if each != "in"]


def _sentences_beside_rows(text: str) -> list[str]:
    return sentences("\n".join(line for line in text.splitlines() if not is_table_row(line) and not _is_record(line)))


def _is_record(line: str) -> bool:
    """Whether a line is a row of a CSV file: "item: Rye loaf; price: 4.20"."""
    return is_field(line) and "; " in line and all(": " in part for part in line.split("; "))


def is_table_row(line: str) -> bool:
    return bool(BARS.search(line))


def parts_of(text: str) -> list[str]:
    """Returns the sentences of a passage and the rows of its tables and of CSV files."""
    return [
        part
        for sentence in sentences(text)
        for part in (sentence.splitlines() if is_table_row(sentence) or _is_record(sentence) else [sentence])
    ]
