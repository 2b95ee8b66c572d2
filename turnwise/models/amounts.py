"""Questions for an amount, a time, a person or a place: what gives it, and the rows of tables that do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache

from turnwise.dialogue.apart import ONE_OF, rivals
from turnwise.dialogue.irregular import base_stems
from turnwise.models.statements import (
    ANSWERS,
    CONTINUES,
    NEAR,
    Candidate,
    asked_stems,
    neighbours,
    stems_of,
    units,
)
from turnwise.text import asks, content_stems, ends, words

LONGEST_QUESTION = 1000  # characters that are looked at for what kind of thing is asked for
MOST_ROWS = 8  # of a table that is told whole

_AMOUNT = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|fifty|hundreds?|thousands?|"
    r"millions?|billions?|dozens?|half|third|quarter|once|twice|none|nothing|free|every|daily|weekly|monthly|yearly|"
    r"annual\w*|hourly)\b",
    re.I,
)
_MOMENT = (
    r"\b(?:january|february|march|april|(?-i:May)|june|july|august|september|october|november|december|weekends?|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|spring|summer|autumn|winter|century|mornings?|afternoons?|evenings?|"
    r"nights?|noon|midnight|dawn|dusk|sunrise|sunset|today|tomorrow|always|before|after|when|while|until|once|during|"
    r"every|daily|weekly)\b"
)
_TIME = re.compile(rf"\d|{_MOMENT}|\b(?:years?|months?|weeks?|days?|hours?|annual\w*)\b", re.I)
_MOMENTS = re.compile(rf"{_MOMENT}|\b[12]\d{{3}}\b|\d[:.]\d\d|\d ?(?:[ap]\.?m|st|nd|rd|th)\b", re.I)  # no "three days"
_NAME = re.compile(
    r"(?<=\w )[A-Z]|^(?!(?:An?|The|It|They|This|That|These|Those|In|On|At|For|If|When|Some|Many|Most|All|There)\b)[A-Z]"
    r"|\b(?:people|person|men|women|students?|pupils?|staff|\w+ers?|\w+ors?)\b"
)
_PLACE = re.compile(  # where something is; not when, nor "at its heart"
    r"\b(?:in|at|on|near|under|behind|beside|opposite|inside|outside|between|among|along|next to) (?!(?:the )?(?:its|"
    r"their|his|her|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|(?:jan|febr)uary|march|april|may|june|july|august|\w+ember|october|"
    r"\d|spring|summer|autumn|winter|morning|evening|end|start|beginning|year|advance|general|writing|time|order|case|full|"
    r"total|fact|addition|average)\b)\w|\b(?:rooms? \w?\d|located|address|online|upstairs|downstairs)\b"
    r"|\b(?:place|location|venue|room|office|hall|building|floor|street|town|city):? (?-i:[A-Z\d])",  # of a row
    re.I,
)
_HOURS = re.compile(
    r"\d[:.]\d\d|\d ?[ap]\.?m\b|\d ?(?:to|–|-) ?\d|\b(?:noon|midnight|closed|daily|hours|\w*days?)\b", re.I
)
_MONEY = re.compile(
    r"[$€£¥₹]|\b(?:euros?|dollars?|pounds?|cents?|eur|usd|gbp|chf|free|(?:price|cost|fee|charge|fare|rate)s?)\b", re.I
)
# Words of asking for a price, and for any amount or time: they do not say of what.
_PRICE = base_stems(content_stems("cost price fee charge fare pay expensive"))
_MEASURES = _PRICE | base_stems(content_stems("open opening close closing hours times last take start end leave"))
_HOW = _PRICE | base_stems(content_stems("long often far last take hours times"))
# Two things that a question joins, in some words each, and words with which it compares some.
_JOINED = re.compile(r"(?<![\w’'-])((?:[\w’'-]+ ){0,3}[\w’'-]+),? (?:and|or) ((?:[\w’'-]+ ){0,3}[\w’'-]+)", re.I)
_COMPARES = re.compile(r"\b(?:than|between|versus|vs)\b", re.I)
_WHAT = r"^(?!.*\b(?:how (?:do|does|can|to)|why|when|where|can i|may i)\b).*"  # which one, not how to use it
# What a question asks for, and what a sentence that gives it holds.
QUANTITIES = (
    (
        re.compile(
            r"\bwhat (?:do|does|did|will|would)\b.*\b(?<!the )(?<!a )(?:cost|charge)\b(?! functions?)|\bexpensive\b"
            r"|\b(?:price|cost|fee|fare)s? (?:of|for)\b"
            r"|^(?!(?:\w+ )?(?:why|who|when|where|how (?!much))\b).*\bthe (?:\w+ ){0,2}(?:price|cost|fee|fare)s?\W*$"
            r"|^(?:(?!what|who|why|explain|define|describe|tell|is|are)[\w-]+ ){0,2}(?:price|cost|fee|fare)s?\W*$",
            re.I,
        ),
        _AMOUNT,
    ),
    (re.compile(r"\b(?:opening|closing|visiting|office) (?:hours|times?)\b", re.I), _HOURS),
    (re.compile(r"\bhow (?:many|much|long|old|far|often|tall|big|high|large|fast|deep|wide|heavy)\b", re.I), _AMOUNT),
    (re.compile(r"^(?:\W*\w+,? ){0,2}when\b|\b(?:what|which) (?:year|date|day|month|times?)\b", re.I), _TIME),
    (re.compile(rf"{_WHAT}\be-?mail(?: address(?:es)?)?(?: (?:of|for|to)\b.*)?\W*$", re.I), re.compile("@")),
    (
        re.compile(
            rf"{_WHAT}\b(?:(?:tele)?phone|mobile|fax)(?: numbers?)?(?: (?:of|for|to)\b.*)?\W*$"
            r"|\b(?:what|which) number (?:do|can|should|must) (?:i|we) (?:call|ring|dial|phone)",
            re.I,
        ),
        re.compile(r"\d[\d ()/-]{4,}\d|\b(?:999|112|911|111)\b|\bext\w*\.? ?\d", re.I),
    ),
)
_ONE_OF = re.compile(rf"{ONE_OF.pattern} ([a-z]{{3,}})", re.I)  # with what it is said of
Kinds = tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]
WANTS = (*QUANTITIES[2:], (re.compile(r"^(?:\W*\w+,? ){0,2}who(?:se|m)?\b", re.I), _NAME))
ROUGHLY = (*QUANTITIES[:2], (re.compile(r"^(?:\W*\w+,? ){0,2}where\b", re.I), _PLACE))  # told less surely
# Of two sentences that give a time, "when is the fair?" rather wants "in June" than "for three days".
_WHEN_IS = re.compile(r"^(?:and |so )?when(?:['’]s| is| are| was| were) [\w’'-]+(?: [\w’'-]+){0,5}\W*$", re.I)
BETTER = (*ROUGHLY, (_WHEN_IS, _MOMENTS))


def without_measures(asked: Set[str]) -> Set[str]:
    """Words that are asked for, but for those that only say which amount or time of something is meant."""
    return asked - _HOW


def gives(candidate: Candidate, question: str, kinds: Kinds) -> bool:
    """Whether a sentence holds what a question asks for, such as an amount; any does where it asks for none."""
    return all(given.search(candidate.text) for given in sought(question, kinds))


def is_of_another(candidate: Candidate, question: str) -> bool:
    """Whether a sentence is on another thing of the kind that is asked for, and on none of those."""
    return any(
        other.search(candidate.text)
        and not own.search(f"{candidate.stated.whole} {candidate.evidence.passage.heading}")
        for own, other in _told_apart(question[:LONGEST_QUESTION])
    )


@lru_cache(maxsize=256)
def _told_apart(question: str) -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    """By each thing of a kind that a question names: the word that tells it, and the same things of other kinds."""
    found = []
    asked = set(words(question.lower()))
    for word, noun in _ONE_OF.findall(question.lower()):
        if others := "|".join(sorted(rivals(word) - asked)):
            thing = rf"\b(?:{others}) {noun.removesuffix('s')}s?\b"
            found.append((re.compile(rf"\b{word}", re.I), re.compile(thing, re.I)))
    return tuple(found)


@lru_cache(maxsize=256)
def sought(question: str, kinds: Kinds) -> tuple[re.Pattern[str], ...]:
    """What a sentence holds that gives what a question asks for."""
    return tuple(given for wants, given in kinds if wants.search(question[:LONGEST_QUESTION]))


# --- rows of tables -----------------------------------------------------------------------------------------------


def mark_rows(
    pool: Sequence[Candidate],
    question: str,
    chances: Mapping[str, float],
    asked: Set[str],
    typed: Set[str],
    pointing: bool,
) -> None:
    """Mark the rows that are meant: named by a word that is asked for; told in the last answer and asked for again by
    words of theirs, such as "which room?"; or telling the amount that is asked for, where no row of their passage is
    named.

    Of what is asked for, the words of this message are `typed`, and `pointing` is whether it has a pronoun.
    """
    rows = [each for each in pool if each.stated.is_row]
    named = {each.evidence.number for each in rows if each.stated.named_by(asked)}
    for each in rows:
        has_price = _MONEY.search(f"{each.stated.whole} {each.evidence.passage.heading}")
        held = stems_of(each.text) | (_PRICE if has_price else set())
        missing = typed - _MEASURES - held
        again = each.just_said and not typed.isdisjoint(held) and (not missing or pointing)
        each.meant = each.stated.named_by(asked) or again
        if each.evidence.number not in named:
            each.meant = each.meant or _tells(each, question, chances)
        if each.said and typed & _PRICE and not has_price:
            each.meant = False  # a day of the month is no price
    _tell_apart(rows, asked - _MEASURES, set() if pointing else typed, question)
    items = [each for each in pool if each.stated.item and ": " in each.text]
    _leave_to_its_name([*rows, *items], (asked if pointing else typed) - _MEASURES, question)
    if pointing:
        _leave_to_the_last(rows, typed)


def _tells(row: Candidate, question: str, chances: Mapping[str, float]) -> bool:
    """Whether a row gives the amount or the time that the question asks for, and it or what stands above it names most
    of what the question is about: "adult: 5 euros" under "Tickets" of the document that was talked about."""
    if not any(given.search(row.text) for given in sought(question, QUANTITIES)):
        return False
    named = {key: chances.get(key, 1.0) for key in asked_stems(question) - _MEASURES}
    stated, passage = row.stated, row.evidence.passage
    place = stems_of(f"{stated.above} {passage.called} {passage.heading}")
    near = stems_of(stated.values or stated.row) | (place - stems_of(row.text))  # the names of its fields say nothing
    return bool(named) and 2 * sum(named[key] for key in named.keys() & near) >= sum(named.values())


def _tell_apart(rows: Sequence[Candidate], asked: Set[str], typed: Set[str], question: str) -> None:
    """Mark the rows that are not asked for by a word of their own, for one that all rows of a table have tells nothing,
    and unless several are asked for, leave out those of which another names all that is asked for and more: "vaccinate
    a dog" means no cat, and "and a cat?" after it no dog."""
    for table in _tables(rows):
        own = [stems_of(each.text) & asked for each in table]
        shared = frozenset.intersection(*own) if len(own) > 1 else frozenset()
        for each, said in zip(table, own, strict=True):
            each.by_place = said <= shared
        names = [] if _wants_several(question, table) else [stems_of(each.stated.name) & asked for each in table]
        for each, named in zip(table, names, strict=False):
            less = any(named < other or named & typed < other & typed for other in names)
            each.meant = each.meant and not less


def _leave_to_its_name(lines: Sequence[Candidate], asked: Set[str], question: str) -> None:
    """Where the whole name of a row or an item is asked for, leave out what names less of the question, or no more and
    begins alike: "a child under 5" is no "child aged 5 to 17"."""
    for table in _tables(lines):
        names = {id(each): stems_of(each.stated.name) & asked for each in table}
        spelled = [each for each in table if names[id(each)] and _spells(question, each)]
        for each in table:
            each.spelled = each in spelled and len(names[id(each)]) > 1
        for each in table if spelled and not _wants_several(question, table) else ():
            named, first = names[id(each)], _first_word(each)
            for other in spelled:
                alike = named == names[id(other)] and first == _first_word(other) and each not in spelled
                each.meant = each.meant and not (named < names[id(other)] or alike)


def _leave_to_the_last(rows: Sequence[Candidate], typed: Set[str]) -> None:
    """After "the full one", "how long does it take?" means no row that begins alike and was not told just now."""
    for table in _tables(rows):
        told = {_first_word(each) for each in table if each.just_said}
        for each in table:
            again = each.just_said or _first_word(each) not in told or typed & stems_of(each.stated.name)
            each.meant = each.meant and bool(again)


def _tables(rows: Sequence[Candidate]) -> Iterable[list[Candidate]]:
    """The rows or items under the same heading of a passage."""
    found: dict[tuple[int, str], list[Candidate]] = {}
    for each in rows:
        found.setdefault((each.evidence.number, each.stated.above), []).append(each)
    return found.values()


def _spells(question: str, row: Candidate) -> bool:
    """Whether a question has the name of a row as it is written, or of a row of fields the first or one of several
    words."""
    first, *others = [field.partition(": ")[2] for field in row.text.split("; ")] if "; " in row.text else [""]
    names = (row.stated.name, first, *(each for each in others if " " in each))
    asked = f" {' '.join(words(question.lower()))} "
    return any(f" {' '.join(words(name.lower()))} " in asked for name in names if name)


def _wants_several(question: str, table: Sequence[Candidate]) -> bool:
    return bool(_COMPARES.search(question) or _joined(question, table))


def _joined(question: str, table: Sequence[Candidate]) -> list[Candidate]:
    """The rows that a question joins: those that each side of an "and" names best, where both name some."""
    found: set[int] = set()
    for sides in _JOINED.findall(question[:LONGEST_QUESTION]):
        one, other = (_best_named(side, table) for side in sides)
        found |= one | other if one and other else set()
    return [each for place, each in enumerate(table) if place in found]


def _best_named(side: str, table: Sequence[Candidate]) -> set[int]:
    """The places of the rows whose names have most words of it, or stand in it as they are."""
    named = stems_of(side)
    worth = [len(named & stems_of(each.stated.name)) + _spells(side, each) for each in table]
    best = max(worth, default=0)
    return {place for place, much in enumerate(worth) if much and much == best}


def priced(row: Candidate, asked: Set[str]) -> Set[str]:
    """The words of asking for a price that a row means and does not say: "adult: 5 euros" says what it costs."""
    stated, passage = row.stated, row.evidence.passage
    means = stated.is_row and row.meant and asked & _PRICE and _MONEY.search(f"{stated.whole} {passage.heading}")
    return asked & _PRICE if means and asked.isdisjoint(stems_of(stated.row or row.text)) else frozenset()


def with_tables(question: str, chosen: Sequence[Candidate], pool: Sequence[Candidate]) -> list[Candidate]:
    """The sentences, and beside a row the others of its small table that answer as well as it does."""
    best = next((each for each in chosen if each.by_place), next((each for each in chosen if each.stated.is_row), None))
    if best is None:
        return list(chosen)
    rows = [each for each in pool if each.stated.is_row and each.meant and neighbours(each, best)]
    if len(rows) > MOST_ROWS:
        return list(chosen)
    joined = _joined(question, rows)
    firsts = set(map(_first_word, joined))  # of what begins alike, only what is joined is asked for
    kept = [each for each in chosen if each in joined or each not in rows or _first_word(each) not in firsts]
    more = joined or _named_alike(best, rows) or _of_one_table(best, rows)
    return [*kept, *(each for each in more if each not in kept)]


def _named_alike(best: Candidate, rows: Sequence[Candidate]) -> list[Candidate]:
    """The rows that begin as one does that is named: of children both "child under 5" and "child aged 5 to 17"."""
    first = "" if best.by_place else _first_word(best)
    return [each for each in rows if first and _first_word(each) == first and _allowed(each)]


def _of_one_table(best: Candidate, rows: Sequence[Candidate]) -> list[Candidate]:
    """The rows of the table of one that is not asked for by a word of its own, where another answers as well."""
    table = [each for each in rows if best.by_place and each.said == best.said]
    alike = [each for each in table if each.score >= max(ANSWERS, best.score - NEAR)]
    return [each for each in table if _allowed(each)] if len(alike) > 1 else []


def _allowed(row: Candidate) -> bool:
    """Whether the judge did not turn it down."""
    return not row.score or row.score >= CONTINUES


def _first_word(row: Candidate) -> str:
    """The first word of its name that says something, by its stem."""
    return next((key for word in words(row.stated.name) for key in stems_of(word)), "")


def leads(chosen: Sequence[Candidate]) -> Iterator[str]:
    """What stands before each as it is quoted. An item that is no sentence says little without the heading of its list,
    which may be "What is not covered", nor a row that the question does not name, or that is told beside one of another
    list; once is enough for those under the same."""
    last = ""
    several = len({each.stated.above for each in chosen if each.stated.is_row}) > 1
    for each in chosen:
        row = each.by_place or (several and each.stated.is_row)
        bare = row or (each.item and (not ends(each.text) or len(units(each.text)) < 4))
        heading = (each.stated.above or each.evidence.passage.heading.rpartition(" > ")[2]).rstrip(": ") if bare else ""
        yield "" if heading in ("", last) else f"{heading} " if asks(heading) else f"{heading}{' –' if row else ':'} "
        last = heading
