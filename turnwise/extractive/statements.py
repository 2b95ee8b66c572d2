"""What passages state, sentence by sentence, item by item and row by row, and the stems of their words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, pairwise
from operator import itemgetter

from turnwise.byline import byline_paragraphs
from turnwise.dialogue.citing import BARS, is_table_row, name_first
from turnwise.dialogue.irregular import base_stem
from turnwise.dialogue.language import read_language, word_list
from turnwise.text import (
    CONTEXT_BAR,
    ITEM,
    UNSPACED,
    asks,
    content_stems,
    ends,
    is_content,
    is_field,
    sentences,
    stem,
    without_citations,
    words,
)
from turnwise.types import Evidence, Passage, Prompt

ANSWER_SCORE = 0.29  # from here on a sentence counts as an answer
CONTINUATION_SCORE = 0.2  # the same if the user only asks for more, and for a side of a comparison
MAX_GAP = 0.2  # how far a sentence may score below the best one of its passage
CACHE_SIZE = 8192  # sentences and passages, because a conversation returns to them
MAX_HEADING_CHARS = 100  # a longer line is not a heading
MAX_TITLE_WORDS = 5  # of a part of a heading before a full stop: "Chapter 2. The sea"
MAX_LEAD_CHARS = 80  # a longer first sentence of a list item is a statement of its own
MAX_LED_CHARS = 250  # of a lead and the sentences that belong to it
MAX_READ_CHARS = 300  # of a statement and what is read with it: the judge reads no more

_POINTS_BACK = re.compile(r"[^,;:]*\b(?:it|they|them|this|these|those|he|him|she|her|both)\b", re.I)
LEADING_PRONOUN = re.compile(
    r"^(?:(?:but|and|so|then|also|however|thus),? )?(?:it|they|this|that|these|those|he|she|its|their|such)\b", re.I
)
_BEGINS_LEANING = re.compile(
    r"(?:the|this|that|these|those|it|its|they|their|he|she|his|her|such|both|each|all|otherwise|then|there)\b", re.I
)
# What says little without the sentence before it: "After that, ...", "If this does not help, ...", "It sits there."
_FOLLOWS_ON = re.compile(
    r"(?:(?:and|but|so),? )?"
    r"(?:then|otherwise|afterwards|(?:after|before|until|besides) (?:this|that)"
    r"|if (?:so|not|this|that|these|those|they|none of (?:this|that|these|those|them))"
    r"|(?:in|on|for) (?:this|that|these|those|such|such an?|both) (?:cases?|events?|reasons?|purposes?|days?|times?)"
    r"|next(?=,)|(?:second|third|fourth|fifth|last|final)(?:ly)?(?=,)|neither(?!.* n?or )|both(?!.* and )"
    r"|decision: (?:approved|accepted|adopted|agreed|carried|rejected|declined)"
    r"|further(?:more)?(?! (?:information|details|reading|questions|help))|the (?:others|rest|same|latter|former)"
    r"|[^,;:]*?\binstead(?! of)|[^,;:]*?\bthere(?=\W*$))\b",
    re.I,
)
# A formula on a line of its own: "V = I R", "$$a \\le b$$". Names before "=" are short, unlike those of a field.
_FORMULA = re.compile(r"\s*\$\$?[^$]+\$\$?[.,;]?\s*|(?:[^\s=]{1,12} ){0,4}[^\s=]{1,12} ?[=≈≤≥∝] ?[^=:|]{1,80}")
# "Q: Are you open on Sundays?" and "A: No.": the labels say nothing.
_QUESTION_LABEL = re.compile(r"^(?:Q|F|P|Question|Frage|Pregunta) ?\d{0,3} ?[:.] (?=[^\n]*\?[ \t]*$)", re.M)
_ANSWER_LABEL = re.compile(r"^(?:A|R|Answer|Antwort|Réponse|Respuesta) ?\d{0,3} ?[:.] (?=\S)", re.M)
_LETTER = re.compile(r"[^\W\d_]\w{0,5}\b")
_EQUATION = re.compile(r"\S{1,12} ?[=≈∝] ?[^=:;,.?!]{1,60}")
_EXPLAINED = re.compile(r"(?:^|[,;:] |\b(?:[Hh]ere|where|and) )\[?([^\W\d_]\w{0,5})\]? (?:is|are|means|denotes) ")
_ENTRY = re.compile(r"(?:[-*•] )?[A-Z][\w’'-]*(?: [\w’'-]+){0,4}(?: \([^)]*\))?(?: [-–—] |: (?i:an?|the) )")
_SAME_ITEM = re.compile(r" |\n[ \t]+")  # between two sentences of a list item
# "The program does not start. Delete the lock file.": a problem and its remedy.
_PROBLEM = re.compile(
    r"\b(?:not|no|never|nothing|cannot|\w+n['’]t|stuck|blank|empty|slow|wrong|missing|broken|lost|blocked|locked|dead|"
    r"fail(?:s|ed|ure)?|errors?|problems?|crash(?:es|ed)?|freez(?:es|ing)|frozen|hangs|stops|leak(?:s|ing)?|"
    r"forg[eo]t(?:ten)?|too)\b",
    re.I,
)
_REMEDY = re.compile(
    r"(?:first |then |please |simply |just )?(?:add|adjust|ask|call|change|charge|check|choose|clean|clear|click|close|"
    r"connect|contact|delete|disable|disconnect|download|email|empty|enable|enter|fill|follow|free|go|hold|increase|"
    r"install|loosen|log|look|lower|make sure|move|open|phone|plug|press|pull|push|put|re(?:boot|build|connect|duce|"
    r"fill|fresh|install|load|move|name|pair|place|set|start|store)|report|ring|run|see|select|set|shut|sign|start|switch|"
    r"tap|tell|tighten|try|turn|unlock|unplug|update|upgrade|use|wait|wipe|write)\b",
    re.I,
)
# An instruction, "Then rinse the brush.": what may come before its verb, some verbs, and what comes after most others.
_BEFORE_VERB = re.compile(
    r"(?:(?:if|when|once|after|before|to|for) [^,]+, |(?:and|then|first|next|now|please|finally|afterwards|lastly|"
    r"always|never|do not|don['’]t|simply|just|carefully|gently|slowly|immediately|instead),? )*",
    re.I,
)
_INSTRUCTS = re.compile(
    r"(?:allow|apply|attach|avoid|begin|boil|bring|copy|drain|dry|find|give|hang|heat|insert|keep|leave|let|measure|mix|"
    r"pour|print|remember|repeat|rinse|save|send|stir|submit|take|type|upload|wash|wear)\b",
    re.I,
)
_VERB_AND_OBJECT = re.compile(
    r"([a-z]+) (?:the|an?|your|it|them|this|these|those|all|any|each|every|both|up|off|out|down|back)\b", re.I
)
_NO_VERB = re.compile(
    r"\w*(?:[^s]s|[^r]ing|[^e]ed|ly|one|body)|across|almost|along|although|among|around|behind|beside|despite|even|except|"
    r"given|half|inside|late|maybe|near|often|outside|plus|quite|since|soon|though|today|tomorrow|tonight|toward|unless|"
    r"unlike|via|whatever|whenever|whether|within|without",
    re.I,
)
_LABEL = re.compile(  # a word at the start of a paragraph that says what it is about
    r"(?!(?:Yes|No|Never|Always|Maybe|Perhaps|Free|None|Nothing|Nobody|Sorry|Thanks|Welcome|Hello|Stop|Wait|True|False|"
    r"Correct|Wrong|Done|Exactly|Right|Good|Great)\b)[A-Z][a-z]{3,}\."
)
_VERSION_OR_YEAR = re.compile(r"^\W*(?:version |release |v)?\d+(?:\.\d+)+\W*$|\b(?:19|20)\d\d\b", re.I)
_VERSION = re.compile(r"\W*(?:version |release |v)?\d+(?:\.\d+)+(?:\W+(?=.*\b(?:19|20)\d\d\b).*)?", re.I)
# "2.1 Fees", but not "3 May", "2 bedroom flat" or "4.1.0 – 3 May", which say when or which.
_HEADING_NUMBER = re.compile(r"^(?:\d{1,2}(?:(?:\.\d+){1,2}[.)]?|[.)])|[IVX]+[.)]) +(?=[^\W\d_])")
_CLOSED = re.compile(r"(?:opens?|closes?|(?:opening )?(?:hours|times?)|from|to|until) closed", re.I)  # column and cell
_PLURAL_NUMBER = re.compile(r"\d+s")  # "under 18s"
_PLURAL_ACRONYM = re.compile(r"[b-df-hj-np-tv-z]{2,4}s")  # "DVDs", which the stemmer leaves as it is
_SMALL = re.compile(  # question and grammar words in those scripts; hiragana is used for little else
    "什么样|什麼樣|什么|什麼|为什么|為什麼|怎么样|怎麼樣|怎么|怎麼|如何|多少|几个|幾個|哪里|哪裡|哪个|哪個|哪些|是否|可以|告诉我|告訴我|更多|请问|請問|"
    "[是的了吗嗎呢在和与與有谁誰哪几幾吧啊请請何]|[\u3040-\u309f]+"
)


@dataclass(frozen=True, slots=True)
class Statement:
    """What a passage states: a sentence, an item of a list, or a row of a table."""

    text: str  # as it is quoted
    above: str = ""  # the nearest heading, question or line with a colon above it in the passage
    row: str = ""  # for a table row: the same, with the name of its first column
    before: str = ""  # the previous sentence of its paragraph
    values: str = ""  # for a line "name: value; name: value": its values, because all such lines share the names
    cells: tuple[tuple[str, str], ...] = ()  # for a table row: column names and cells
    in_item: bool = False  # it is a sentence of a list item, but not the first
    reply: str = ""  # the word before it that replies to the question above, maybe a heading of the passage: "Yes."

    @property
    def is_item(self) -> bool:
        return bool(ITEM.match(self.text))

    @property
    def is_entry(self) -> bool:
        """Whether it is an entry of a glossary: "Ferry - a boat that ..."."""
        return bool(_ENTRY.match(self.text))

    @property
    def is_row(self) -> bool:
        return bool(self.row or self.values)

    @property
    def name(self) -> str:
        """What tells a row from the others of its table: its first cell, or all its values if it names its columns."""
        return self.values if self.row and self.values else self.text.partition(": ")[0]

    @property
    def whole(self) -> str:
        """The statement with everything that says what it is about."""
        return f"{self.above} {self.row or self.text}".strip()

    def reading(self, in_context: bool) -> str:
        """What the models read of it; in context, with the previous sentence and a bar between both."""
        fits = self.before and len(self.whole) + len(self.before) <= MAX_READ_CHARS
        return f"{self.above} {self.before}{CONTEXT_BAR}{self.text}".strip() if in_context and fits else self.whole

    @property
    def refers_back(self) -> bool:
        """Whether it begins with something that only the previous sentence explains."""
        return bool(LEADING_PRONOUN.match(self.text) or _FOLLOWS_ON.match(ITEM.sub("", self.text)))

    @property
    def is_instruction(self) -> bool:
        """Whether it tells somebody to do something: "Then rinse the brush." """
        start = _BEFORE_VERB.sub("", ITEM.sub("", self.text), count=1)
        verb = _VERB_AND_OBJECT.match(start)
        has_verb = verb is not None and is_content(verb[1]) and not _NO_VERB.fullmatch(verb[1])
        return has_verb or bool(_REMEDY.match(start) or _INSTRUCTS.match(start))

    def leans(self, wanted: Set[str]) -> bool:
        """Whether the previous sentence may say what it is about: that one has more of what was asked for, or this one
        begins with a pronoun or "the"."""
        if not self.before:
            return False
        return bool(_BEGINS_LEANING.match(self.text)) or self._lacks(wanted, self.whole)

    def needs_previous(self, wanted: Set[str]) -> bool:
        """Whether it has one part of what was asked for, and the previous sentence, which it refers to, another."""
        if not self.before or not _POINTS_BACK.match(self.text):
            return False
        return self._lacks(wanted, self.text) and not wanted.isdisjoint(stems_of(self.text))

    def _lacks(self, wanted: Set[str], text: str) -> bool:
        """Whether the previous sentence has something of what was asked for that this text does not have."""
        more = wanted & stems_of(self.before)
        return bool(more) and not more <= stems_of(text)

    def named_by(self, wanted: Set[str]) -> bool:
        """Whether it may be meant: a row only if it has a word that was asked for, and not one that all rows have."""
        own = self.values or (self.row and self.whole)
        return not own or not wanted.isdisjoint(stems_of(own))


@dataclass(slots=True)
class Candidate:
    """A statement that an answer may use."""

    statement: Statement
    evidence: Evidence
    position: int  # in its passage
    rank: int  # of its passage
    behind: float  # score penalty, because the search ranked other passages higher
    said: bool  # in an earlier answer of this conversation
    just_said: bool = False  # in the last one
    # These depend on the question.
    needs_previous: bool = False  # it answers only together with the previous sentence
    leans: bool = False  # the previous sentence may say what it is about
    meant: bool = True  # it may be what is asked about; most rows of a table are not
    spelled: bool = False  # a row whose whole name, of several words, is in the question
    under_asked: bool = False  # it is in the section that tells what is asked
    by_place: bool = False  # a row meant because of the heading above it, not because of its own words
    score: float = 0.0
    likely: float = 0.0  # how likely it answers the message as it was typed, where that was read

    def ask(self, wanted: Set[str]) -> None:
        """Reset for another question, which asks for these words."""
        self.needs_previous, self.leans = self.statement.needs_previous(wanted), self.statement.leans(wanted)
        self.meant, self.spelled, self.by_place, self.score = True, False, False, 0.0
        self.under_asked = False

    @property
    def text(self) -> str:
        return self.statement.text

    @property
    def reading(self) -> str:
        return self.statement.reading(self.leans)

    @property
    def is_item(self) -> bool:
        return self.statement.is_item

    @property
    def version(self) -> str:
        """The heading of an item if it is a version or has a year, as in release notes; with the version above it if it
        only says "Added" or the like. Otherwise an empty string."""
        above = line_above(self)
        if not self.is_item or _VERSION_OR_YEAR.search(above):
            return above if self.is_item else ""
        parents = self.evidence.passage.heading.split(" > ")
        version = next(filter(_VERSION.fullmatch, reversed(parents)), "")
        return f"{version}, {above}" if version else ""


def section_of(passage: Passage) -> str:
    """The heading right above a passage, without its number: "Fees" in "Visiting > 2.1 Fees"."""
    return _HEADING_NUMBER.sub("", passage.heading.rpartition(" > ")[2])


def line_above(candidate: Candidate) -> str:
    """The line above a sentence or its list, in its passage or right above that."""
    return candidate.statement.above or section_of(candidate.evidence.passage)


def stems_with_headings(candidate: Candidate) -> frozenset[str]:
    """The stems of a sentence and of all headings above it."""
    passage = candidate.evidence.passage
    return stems_of(f"{candidate.statement.whole} {passage.called} {passage.heading}")


def neighbours(candidate: Candidate, other: Candidate) -> bool:
    """Whether both are in the same passage under the same heading."""
    return candidate.evidence is other.evidence and candidate.statement.above == other.statement.above


def cited_last(pool: Sequence[Candidate], prompt: Prompt) -> list[Candidate]:
    """What is in the passages that the last answer cites."""
    last = "".join(prompt.said[-1:])
    return [each for each in pool if f"[{each.evidence.number}]" in last]


def same_document(candidate: Candidate, other: Candidate) -> bool:
    return candidate.evidence.passage.document_id == other.evidence.passage.document_id


def letters_of(text: str) -> set[str]:
    """The letters and short names in a formula: Q, K and c in "Q = K c"."""
    return {name for formula in _EQUATION.findall(text) for name in _LETTER.findall(formula)}


def has_formula(text: str) -> bool:
    return bool(letters_of(text))


def explained_in(text: str) -> set[str]:
    """The short names that a sentence says the meaning of: "Here Q is the charge"."""
    return set(_EXPLAINED.findall(text))


# --- reading ------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=CACHE_SIZE)
def cached_statements(text: str) -> tuple[Statement, ...]:
    return tuple(statements(text))


def statements(text: str) -> Iterator[Statement]:
    """What a passage states: its complete sentences, list items and "name: value" lines, and the rows of its tables,
    each with the column names. A heading or question is no statement but belongs to what is below it, and a line that
    ends in a colon belongs to the paragraph or list after it."""
    heading = lead = ""
    if _QUESTION_LABEL.search(text):
        text = _ANSWER_LABEL.sub("", _QUESTION_LABEL.sub("", text))
    parts = re.split(r"\n\s*\n", text.strip())
    if by := byline_paragraphs(text):
        yield Statement(" ".join(" ".join(parts[:by]).split()))
    paragraphs = ["", *filter(None, parts[by:]), ""]
    for before, paragraph, after in zip(paragraphs, paragraphs[1:], paragraphs[2:], strict=False):
        if _is_heading(paragraph, before, after):
            bare = ITEM.sub("", paragraph).strip()
            heading, lead = (heading, bare) if bare.endswith(":") else (bare, "")
            continue
        if _is_led_line(paragraph, before):
            yield Statement(f"{lead}\n{paragraph}", heading)
        else:
            yield from _stated(paragraph, lead or heading)
        if _FORMULA.fullmatch(after) and not ends(paragraph) and not ITEM.match(paragraph):
            paragraph = f"{paragraph.rstrip(': ')}:"  # "It is given by", above its formula
        if paragraph.endswith(":"):
            lead = ITEM.sub("", sentences(paragraph)[-1]).strip()
        elif not ITEM.match(after) and not is_field(after):
            lead = ""


def _is_heading(paragraph: str, before: str, after: str) -> bool:
    """Whether a paragraph is a heading: a short line without a full stop. A numbered one must not be a list item."""
    bare = ITEM.sub("", paragraph).strip()
    if _FORMULA.fullmatch(bare):
        return False
    short = len(paragraph) <= MAX_HEADING_CHARS and "\n" not in paragraph and not is_table_row(paragraph)
    if not short or not bare or bare[0].islower() or (ends(bare) and not asks(bare)) or bare.endswith((",", ";")):
        return False
    if any(bare.endswith(":") or len(words(each)) > MAX_TITLE_WORDS for each in sentences(bare)[:-1]):
        return False
    if bare != paragraph.strip():
        return paragraph.strip()[0].isdigit() and not ITEM.match(before) and not ITEM.match(after)
    if not is_field(bare):
        return True
    name, _, value = bare.partition(":")
    titled = name[-1].isdigit() or not any(map(str.isdigit, value))  # "Chapter 1: The 1990s", not "Phone: 0151 22"
    return titled and not is_field(before) and bool(after) and not is_field(after)


def _stated(paragraph: str, above: str) -> Iterator[Statement]:
    for tabular, lines in groupby(paragraph.split("\n"), key=is_table_row):
        read = _rows if tabular else _prose
        yield from read(list(lines), above)


def _is_led_line(paragraph: str, before: str) -> bool:
    """Whether a paragraph is a command or the like, one line that is told by the line with a colon before it."""
    fits = len(before) + len(paragraph) < MAX_LED_CHARS and "\n" not in paragraph and before.endswith(":")
    own = ends(paragraph) or ITEM.match(paragraph) or is_table_row(paragraph) or is_field(paragraph)
    return fits and not own and not _FORMULA.fullmatch(paragraph)


def _rows(lines: Sequence[str], above: str) -> Iterator[Statement]:
    heads = BARS.split(lines[0])
    for line in lines[1:]:
        first, *cells = BARS.split(line)
        columns = heads[-len(cells) :]  # the head of the first column may be empty
        values = _cells_in_words(zip(columns, cells, strict=False))
        head = heads[0] if len(heads) > len(cells) and heads[0].lower() not in first.lower() else ""
        row = f"{first} ({head}): {values}." if head else f"{first}: {values}."
        text = f"{head} {first}: {values}." if head and first[:1].isdigit() else f"{first}: {values}."
        if not first or not values:
            row = text = f"{first or values}."
        named = ((heads[0] if len(heads) > len(cells) else "", first), *zip(columns, cells, strict=False))
        yield Statement(text, above, row, cells=named)


def _cells_in_words(cells: Iterable[tuple[str, str]]) -> str:
    """The cells of a row, each after its column name; "closed", and not "Open closed"."""
    told = (cell.lower() if _CLOSED.fullmatch(f"{head} {cell}") else f"{head} {cell}" for head, cell in cells if cell)
    return ", ".join(dict.fromkeys(told))


def _prose(lines: Sequence[str], above: str) -> Iterator[Statement]:
    listed = all(map(is_field, lines[1:3])) or all(map(ITEM.match, lines[1:3]))
    if len(lines) > 1 and listed and _is_heading(lines[0], "", "") and not is_field(lines[0]):
        above, lines = lines[0], lines[1:]
    lead = above
    for are_fields, run in groupby(zip(lines, _are_fields(lines), strict=True), key=itemgetter(1)):
        part = [line for line, _ in run]
        yield from _fields(part, lead) if are_fields else _sentences(part, above)
        last = "" if are_fields else (sentences("\n".join(part)) or [""])[-1]
        lead = ITEM.sub("", last).strip() if last.endswith(":") or asks(last) else above


def _are_fields(lines: Sequence[str]) -> list[bool]:
    """Which lines are each a "name: value": alone or next to another one, and not continued on the next line."""
    rows = _are_rows(lines)
    single = [row or (is_field(line) and len(sentences(line)) == 1) for row, line in zip(rows, lines, strict=True)]
    if len(lines) == 1:
        return [rows[0] or (single[0] and not ends(lines[0]))]
    beside = zip([False, *single], [*single[1:], False], strict=False)
    goes_on = [line[:1].islower() and not is_field(line) for line in (*lines[1:], "")]
    return [one and any(near) and not on for one, near, on in zip(single, beside, goes_on, strict=True)]


def _are_rows(lines: Sequence[str]) -> list[bool]:
    """Which lines are each a table row that names its columns, "name: value; name: value": those that share the first
    name with another line, or have at least three names that are all upper or all lower case, unlike the words after a
    semicolon in a sentence."""
    fields = [_names_and_values(line) if is_field(line) else [("", "")] for line in lines]
    firsts = Counter(pairs[0][0] for pairs in fields)
    alike = (len(pairs) > 2 and len({name[:1].isupper() for name, _ in pairs}) == 1 for pairs in fields)
    return [len(pairs) > 1 and (firsts[pairs[0][0]] > 1 or same) for pairs, same in zip(fields, alike, strict=True)]


def _fields(lines: Sequence[str], above: str) -> Iterator[Statement]:
    lines = list(map(without_citations, lines))
    for line, is_row in zip(lines, _are_rows(lines), strict=True):
        if is_row:
            pairs = name_first(_names_and_values(line))
            (head, first), *others = pairs
            row = f"{first} ({head}): {_cells_in_words(others)}".replace("_", " ").rstrip(".") + "."
            yield Statement(line, above, row, values=" ".join(value for _, value in pairs), cells=tuple(pairs))
        elif asks(line):
            above = line
        else:
            name, _, value = line.partition(": ")
            yield Statement(line, above, values=line, cells=(("", name), ("", value)))


def _sentences(lines: Sequence[str], above: str) -> Iterator[Statement]:
    outer, before, in_item, reply = above, "", False, ""
    for sentence, beside in _with_leads("\n".join(lines)):
        item = bool(ITEM.match(sentence))
        above, in_item = outer if item else above, in_item and beside and not item
        if above and not before and _FORMULA.fullmatch(sentence):
            led = above.endswith(":")
            yield Statement(f"{above} {sentence.strip()}" if led else sentence.strip(), "" if led else above)
            above, before = "" if led else above, sentence
        elif asks(sentence) or sentence.endswith(":"):  # it belongs to what follows; in an item, only within the item
            yield from [Statement(f"{above} {reply}")] if reply and above else []
            above, before, in_item, reply = ITEM.sub("", sentence).strip(), "", False, ""
            outer = outer if item else above
        elif not before and not asks(above) and _LABEL.fullmatch(sentence):  # "Participants. Forty-eight students …"
            above = sentence.rstrip(".")
        elif (asks(above) or not above) and not before and _is_reply(sentence):
            reply = sentence
        elif item or (len(units(sentence)) > 1 and (ends(sentence) or (before and is_field(sentence)))):
            text = without_citations(sentence)  # a number in brackets in a document is not one of our citations
            previous = "" if item and not _POINTS_BACK.match(text) else before
            yield Statement(text, above, before=previous, in_item=in_item, reply=reply)
            before, in_item, reply = text, item or in_item, ""
    yield from [Statement(f"{above} {reply}")] if reply and above else []


def _with_leads(text: str) -> Iterator[tuple[str, bool]]:
    """The sentences of a text, and whether each stands beside the previous one, in the same line or list item. A short
    sentence that opens a list item, or that states a problem before its remedy, stays together with the sentences after
    it."""
    whole, end, led, beside = "", 0, False, False
    for sentence in sentences(text):
        start = text.find(sentence, end)
        leads = led or _is_lead(whole, sentence, opens=end == len(whole))
        fits = len(whole) + len(sentence) < MAX_LED_CHARS and not asks(sentence) and not sentence.endswith(":")
        is_beside = bool(_SAME_ITEM.fullmatch(text, end, start))
        led = leads and fits and is_beside
        if whole and not led:
            yield whole, beside
        beside = beside if led else is_beside
        whole, end = f"{whole} {sentence}" if led else sentence, start + len(sentence)
    yield from [(whole, beside)] if whole else []


def _is_lead(sentence: str, after: str, opens: bool) -> bool:
    """Whether a sentence belongs to the one after it; `opens` says that it is the first of its paragraph."""
    if len(sentence) > MAX_LEAD_CHARS or not ends(sentence) or asks(sentence):
        return False
    return bool(ITEM.match(sentence) or (opens and _PROBLEM.search(sentence) and _REMEDY.match(after)))


def _is_reply(sentence: str) -> bool:
    """Whether a sentence is a reply of one word: "Yes." """
    return len(units(sentence)) == 1 and ends(sentence) and not ITEM.match(sentence)


def _names_and_values(line: str) -> list[tuple[str, str]]:
    """The names and values of a line "name: value; name: value"; a part without a name belongs to the last value."""
    pairs: list[tuple[str, str]] = []
    for part in line.split("; "):
        name, colon, value = part.partition(": ")
        if colon or not pairs:
            pairs.append((name, value))
        else:
            pairs[-1] = (pairs[-1][0], f"{pairs[-1][1]}; {part}")
    return pairs


# --- words --------------------------------------------------------------------------------------------------------


def has_unspaced(text: str) -> bool:
    """Whether a text has characters of a script without spaces between words."""
    return not text.isascii() and bool(UNSPACED.search(text))


def units(text: str) -> list[str]:
    """The words of a text, or its characters in a script without spaces."""
    if not has_unspaced(text):
        return words(text)
    return [unit for word in words(text) for unit in (word if UNSPACED.match(word) else (word,))]


@lru_cache(maxsize=CACHE_SIZE)
def stems_of(text: str) -> frozenset[str]:
    """The stems of a text's words; in a script without spaces, its characters and pairs of characters."""
    if not has_unspaced(text):
        said = frozenset(map(_compared, content_stems(text)))
        return said | {"weekend"} if said & {"saturday", "sunday"} else said
    runs = UNSPACED.findall(text)
    pairs = {first + second for run in runs for first, second in pairwise(run)}
    return frozenset(content_stems(UNSPACED.sub(" ", text))).union("".join(runs), pairs)


@lru_cache(maxsize=CACHE_SIZE)
def asked_stems(question: str) -> frozenset[str]:
    """The stems of what a question asks about, without the small words of its language; in a script without spaces,
    pairs of characters."""
    if not has_unspaced(question):
        return frozenset(map(_compared, content_stems(question) - _small_stems(read_language(question))))
    runs = [run for found in UNSPACED.findall(question) for run in _SMALL.split(found) if run]
    pairs = {first + second for run in runs for first, second in pairwise(run)}
    return frozenset(content_stems(UNSPACED.sub(" ", question)) | pairs | {run for run in runs if len(run) == 1})


@lru_cache(maxsize=8)
def _small_stems(language: str) -> frozenset[str]:
    """The stems of the words that name nothing in a language other than English."""
    return frozenset(map(stem, word_list(language, "function")))


@lru_cache(maxsize=65536)
def _compared(key: str) -> str:
    """A stem as it is compared: irregular forms as their word, and "18" for the "18s" of "under 18s"."""
    key = base_stem(key)
    return key[:-1] if _PLURAL_NUMBER.fullmatch(key) or _PLURAL_ACRONYM.fullmatch(key) else key
