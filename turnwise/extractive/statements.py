"""What passages state, sentence by sentence, item by item and row by row, and the words of it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, pairwise
from operator import itemgetter

from turnwise.dialogue.irregular import base_stems
from turnwise.text import asks, content_stems, ends, is_field, message_stems, sentences, without_citations, words
from turnwise.types import Evidence

ANSWERS = 0.29  # score from which a sentence counts as an answer
CONTINUES = 0.2  # the same where the user only asks for more, and for a side of a comparison
MAX_GAP = 0.2  # how far a sentence may be behind the best of its passage
CACHE_SIZE = 8192  # sentences and passages that are not read anew, since a conversation comes back to them
MAX_HEADING_CHARS = 100  # characters of a line in a passage that can be a heading

ITEM = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+")
_CELLS = re.compile(r"(?:^| )\|(?: |$)")  # what divides the cells of a row; the first and the last may be empty
_POINTS_BACK = re.compile(r"[^,;:]*\b(?:it|they|them|this|these|those|he|him|she|her|both)\b", re.I)
LEADING_PRONOUN = re.compile(
    r"^(?:(?:but|and|so|then|also|however|thus),? )?(?:it|they|this|that|these|those|he|she|its|their|such)\b", re.I
)
UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+")  # scripts without spaces between words
_PLURAL_NUMBER = re.compile(r"^(\d+)s$")  # "under 18s"
_SMALL = re.compile(  # words of asking and of grammar in such scripts; hiragana writes little else
    "什么样|什麼樣|什么|什麼|为什么|為什麼|怎么样|怎麼樣|怎么|怎麼|如何|多少|几个|幾個|哪里|哪裡|哪个|哪個|哪些|是否|可以|告诉我|告訴我|更多|请问|請問|"
    "[是的了吗嗎呢在和与與有谁誰哪几幾吧啊请請何]|[\u3040-\u309f]+"
)


@dataclass(frozen=True, slots=True)
class Statement:
    """What a passage states: a sentence, an item of a list, or a row of a table."""

    text: str  # as it is quoted
    above: str = ""  # the nearest heading, question or line with a colon above it in the passage
    row: str = ""  # of a table: the same in the words of a table, with the head of its first column
    before: str = ""  # of a sentence that may lean on the one before: that one
    values: str = ""  # of a line "name: value; name: value" what is its own, for the names are those of all such lines

    @property
    def item(self) -> bool:
        return bool(ITEM.match(self.text))

    @property
    def is_row(self) -> bool:
        return bool(self.row or self.values)

    @property
    def name(self) -> str:
        """What tells a row from others of its table: its first cell, or where it says its columns, all of them."""
        return self.values if self.row and self.values else self.text.partition(": ")[0]

    @property
    def whole(self) -> str:
        """All that says what it is about."""
        return f"{self.above} {self.row or self.text}".strip()

    def reading(self, leans: bool) -> str:
        """What the judge reads of it: where it leans on the sentence before, that too."""
        return f"{self.above} {self.before} {self.text}".strip() if leans else self.whole

    def leans(self, wanted: Set[str]) -> bool:
        """Whether it says a part of what was asked for, and the sentence before, to which it points back, another."""
        if not self.before:
            return False
        own = stems_of(self.text)
        return not wanted.isdisjoint(own) and not wanted.isdisjoint(stems_of(self.before) - own)

    def named_by(self, wanted: Set[str]) -> bool:
        """Whether it may be meant: a row only if a word of it was asked for, and not just one of every row."""
        own = self.values or (self.row and self.whole)
        return not own or not wanted.isdisjoint(stems_of(own))


@dataclass(slots=True)
class Candidate:
    """A statement that an answer may use."""

    stated: Statement
    evidence: Evidence
    position: int  # in its passage
    rank: int  # of its passage
    behind: float  # what it counts that the search found others more fitting
    said: bool  # in an earlier answer of this conversation
    just_said: bool = False  # in the last one
    # What follows depends on the question.
    leans: bool = False  # it needs the sentence before it to answer
    meant: bool = True  # it may be what is asked about; most rows of a table are not
    spelled: bool = False  # a row whose whole name, of several words, is in the question
    by_place: bool = False  # a row meant because of the heading above it, not because of its own words
    score: float = 0.0

    def ask(self, wanted: Set[str]) -> None:
        """Begin another question, of these words: forget what was found out for the last one."""
        self.leans, self.meant, self.spelled, self.by_place = self.stated.leans(wanted), True, False, False
        self.score = 0.0

    @property
    def text(self) -> str:
        return self.stated.text

    @property
    def reading(self) -> str:
        return self.stated.reading(self.leans)

    @property
    def item(self) -> bool:
        return self.stated.item


def about(candidate: Candidate) -> frozenset[str]:
    """The stems of a sentence and of all the headings above it."""
    passage = candidate.evidence.passage
    return stems_of(f"{candidate.stated.whole} {passage.called} {passage.heading}")


def neighbours(candidate: Candidate, other: Candidate) -> bool:
    """Whether both stand in the same passage under the same heading."""
    return candidate.evidence is other.evidence and candidate.stated.above == other.stated.above


# --- reading ------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=CACHE_SIZE)
def stated_in(text: str) -> tuple[Statement, ...]:
    return tuple(statements(text))


def statements(text: str) -> Iterator[Statement]:
    """What a passage states: its whole sentences, list items and "name: value" lines, and the rows of its tables, each
    with the heads of the columns. Headings and questions are not stated, but said of what stands under them, and a line
    that ends in a colon of the paragraph or list after it."""
    heading = lead = ""
    paragraphs = ["", *re.split(r"\n\s*\n", text.strip()), ""]
    for before, paragraph, after in zip(paragraphs, paragraphs[1:], paragraphs[2:], strict=False):
        if _heads(paragraph, before, after):
            bare = ITEM.sub("", paragraph).strip()
            heading, lead = (heading, bare) if bare.endswith(":") else (bare, "")
            continue
        for tabular, lines in groupby(paragraph.split("\n"), key=lambda line: " | " in line):
            state = _rows if tabular else _prose
            yield from state(list(lines), lead or heading)
        if paragraph.endswith(":"):
            lead = ITEM.sub("", sentences(paragraph)[-1]).strip()
        elif not ITEM.match(after) and not is_field(after):
            lead = ""


def _heads(paragraph: str, before: str, after: str) -> bool:
    """Whether a paragraph is a heading: a short line without an end, and of numbered ones no item of a list."""
    bare = ITEM.sub("", paragraph).strip()
    short = len(paragraph) <= MAX_HEADING_CHARS and "\n" not in paragraph and " | " not in paragraph
    if not short or not bare or bare[0].islower() or (ends(bare) and not asks(bare)) or bare.endswith((",", ";")):
        return False
    if bare.endswith(":") and len(sentences(bare)) > 1:
        return False
    if bare != paragraph.strip():
        return paragraph.strip()[0].isdigit() and not ITEM.match(before) and not ITEM.match(after)
    if not is_field(bare):
        return True
    name, _, value = bare.partition(":")
    titled = name[-1].isdigit() or not any(map(str.isdigit, value))  # "Chapter 1: The 1990s", not "Phone: 0151 22"
    return titled and not is_field(before) and bool(after) and not is_field(after)


def _rows(lines: Sequence[str], above: str) -> Iterator[Statement]:
    heads = _CELLS.split(lines[0])
    for line in lines[1:]:
        first, *cells = _CELLS.split(line)
        columns = heads[-len(cells) :]  # the head of the first column may be empty
        told = _told(zip(columns, cells, strict=False))
        head = heads[0] if len(heads) > len(cells) and heads[0].lower() not in first.lower() else ""
        row = f"{first} ({head}): {told}." if head else f"{first}: {told}."
        yield Statement(f"{head} {first}: {told}." if head and first[:1].isdigit() else f"{first}: {told}.", above, row)


def _told(cells: Iterable[tuple[str, str]]) -> str:
    """Cells of a row, each after the head of its column."""
    return ", ".join(f"{head} {cell}" for head, cell in cells if cell)


def _prose(lines: Sequence[str], above: str) -> Iterator[Statement]:
    if len(lines) > 1 and _heads(lines[0], "", "") and not is_field(lines[0]) and all(map(is_field, lines[1:3])):
        above, lines = lines[0], lines[1:]
    lead = above
    for are_fields, run in groupby(zip(lines, _are_fields(lines), strict=True), key=itemgetter(1)):
        part = [line for line, _ in run]
        yield from _fields(part, lead) if are_fields else _sentences(part, above)
        last = "" if are_fields else (sentences("\n".join(part)) or [""])[-1]
        lead = ITEM.sub("", last).strip() if last.endswith(":") or asks(last) else above


def _are_fields(lines: Sequence[str]) -> list[bool]:
    """Which lines are each a "name: value": the only one, or one beside another, that does not go on below."""
    rows = _are_rows(lines)
    single = [row or (is_field(line) and len(sentences(line)) == 1) for row, line in zip(rows, lines, strict=True)]
    if len(lines) == 1:
        return [rows[0] or (single[0] and not ends(lines[0]))]
    beside = zip([False, *single], [*single[1:], False], strict=False)
    goes_on = [line[:1].islower() and not is_field(line) for line in (*lines[1:], "")]
    return [one and any(near) and not on for one, near, on in zip(single, beside, goes_on, strict=True)]


def _are_rows(lines: Sequence[str]) -> list[bool]:
    """Which lines are each a row of a table that says its columns, "name: value; name: value": those with the first
    name of another, or with many names that all begin alike, as words after a semicolon in a sentence do not."""
    named = [_named(line) if is_field(line) else [("", "")] for line in lines]
    firsts = Counter(names[0][0] for names in named)
    alike = (len(names) > 2 and len({name[:1].isupper() for name, _ in names}) == 1 for names in named)
    return [len(names) > 1 and (firsts[names[0][0]] > 1 or same) for names, same in zip(named, alike, strict=True)]


def _fields(lines: Sequence[str], above: str) -> Iterator[Statement]:
    lines = list(map(without_citations, lines))
    for line, is_row in zip(lines, _are_rows(lines), strict=True):
        if is_row:
            named = _named(line)
            (head, first), *others = named
            row = f"{first} ({head}): {_told(others)}".replace("_", " ").rstrip(".") + "."
            yield Statement(line, above, row, values=" ".join(value for _, value in named))
        elif asks(line):
            above = line
        else:
            yield Statement(line, above, values=line)


def _sentences(lines: Sequence[str], above: str) -> Iterator[Statement]:
    outer, before = above, ""
    for sentence in sentences("\n".join(lines)):
        item = bool(ITEM.match(sentence))
        above = outer if item else above
        if asks(sentence) or sentence.endswith(":"):  # said of what follows; of an item's, only within it
            above, before = ITEM.sub("", sentence).strip(), ""
            outer = outer if item else above
        elif item or (len(units(sentence)) > 1 and ends(sentence)):
            text = without_citations(sentence)  # a number in a document's own brackets is no citation of ours
            yield Statement(text, above, before=before if _POINTS_BACK.match(text) else "")
            before = text


def _named(line: str) -> list[tuple[str, str]]:
    """The names and values of a line "name: value; name: value"; what has no name belongs to the value before it."""
    named: list[tuple[str, str]] = []
    for part in line.split("; "):
        name, colon, value = part.partition(": ")
        if colon or not named:
            named.append((name, value))
        else:
            named[-1] = (named[-1][0], f"{named[-1][1]}; {part}")
    return named


# --- words --------------------------------------------------------------------------------------------------------


def units(text: str) -> list[str]:
    """The words of a text, or the characters where it puts no spaces between words."""
    if not UNSPACED.search(text):
        return words(text)
    return [unit for word in words(text) for unit in (word if UNSPACED.match(word) else (word,))]


def stems_of(text: str) -> frozenset[str]:
    """What a text says, by its words; by single and neighbouring characters where it puts no spaces between words."""
    if not UNSPACED.search(text):
        said = frozenset(_PLURAL_NUMBER.sub(r"\1", key) for key in base_stems(message_stems(text)))
        return said | {"weekend"} if said & {"saturday", "sunday"} else said
    runs = UNSPACED.findall(text)
    pairs = {first + second for run in runs for first, second in pairwise(run)}
    return message_stems(UNSPACED.sub(" ", text)).union("".join(runs), pairs)


def asked_stems(question: str) -> set[str]:
    """What a question asks about; of a run of characters without spaces its pairs, without the small words."""
    if not UNSPACED.search(question):
        return {_PLURAL_NUMBER.sub(r"\1", key) for key in base_stems(content_stems(question))}
    runs = [run for found in UNSPACED.findall(question) for run in _SMALL.split(found) if run]
    pairs = {first + second for run in runs for first, second in pairwise(run)}
    return content_stems(UNSPACED.sub(" ", question)) | pairs | {run for run in runs if len(run) == 1}
