"""The words of a question and a sentence in the languages that the judge of English cannot read."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from functools import lru_cache
from typing import Literal

import Stemmer

from turnwise.dialogue.language import language as phrases_of
from turnwise.dialogue.language import same_words, word_list
from turnwise.extractive.kinds import MAX_QUESTION_CHARS, has_money
from turnwise.extractive.rows import by_table
from turnwise.extractive.statements import CACHE_SIZE, Candidate
from turnwise.text import folded, words

MAX_SAID_CHARS = 80  # of a question or an answer before a message, as the judge reads them
MIN_COMPOUND_CHARS = 5  # of a word that is found at either end of a longer one: "Versand" in "Versandkosten"

_STEMMERS = {
    code: Stemmer.Stemmer(name)
    for code, name in (("de", "german"), ("fr", "french"), ("es", "spanish"), ("pt", "portuguese"))
}
WHEN = "?when"  # stands among the stems of a question for a time, and of a sentence that tells one
_APOSTROPHE = re.compile(r"['’]")
_NUMBER = re.compile(r"\d")
_TIME = re.compile(r"\d ?(?:[:h.]\d\d\b|h\b|uhr\b)", re.I)
_NUMBER_OR_MONTH = (  # a number that is no price, or the beginning of a month
    r"\b\d+(?![\d,.]* ?(?:€|eur))"
    r"|\b(?:jan|f[eé][bv]|m[aä]r[sz]|a[pbv]r|ma[iy]|ju[nil]|a[ug]o|aug|aoû|sep|o[kc]t|out|nov|d[eéi][cz])"
)


def in_context(message: str, asked: Sequence[str], answered: str) -> str:
    """A message with what was said before it, as the judge reads it: the message, the last question, how its answer
    began, and the questions before that (`asked` has the newest first)."""
    last, *earlier = map(_cut, asked) if asked else ("",)
    return " | ".join(filter(None, (" ".join(message.split()), last, _cut(answered), *earlier)))


def _cut(text: str) -> str:
    text = " ".join(text.split())
    if len(text) <= MAX_SAID_CHARS:
        return text
    return text[:MAX_SAID_CHARS].rpartition(" ")[0] or text[:MAX_SAID_CHARS]


@lru_cache(maxsize=CACHE_SIZE)
def foreign_stems(text: str, language: str) -> frozenset[str]:
    """The stems of a text's words in this language without accents, apart from those that only join others. Words that
    ask for the same have the stem of one of them."""
    small, same = _small_words(language), _same_words(language)
    parts = (folded(part) for word in words(text) for part in _APOSTROPHE.split(word))
    kept = [part for part in parts if (len(part) > 1 or part.isdigit()) and part not in small]
    return frozenset(same.get(key, key) for key in _STEMMERS[language].stemWords(kept))


def question_stems(question: str, language: str) -> frozenset[str]:
    """The stems of a question, with those that say that it asks when something is, or when it is open."""
    asked = question[:MAX_QUESTION_CHARS]
    opening = phrases_of(language).answers.get("asks_opening")
    added = _stems("opening", language) if opening and opening.search(asked) else frozenset[str]()
    return foreign_stems(question, language) | added | ({WHEN} if _of_time("asks_when").search(asked) else set())


def is_foreign(language: str) -> bool:
    """Whether it is a language that the judge of English cannot read, but whose words we can compare."""
    return language in _STEMMERS


def words_in(candidate: Candidate, wanted: Set[str], language: str) -> frozenset[str]:
    """The stems of a sentence, with those of the question that it has as a part of a longer word."""
    own = foreign_stems(candidate.statement.row or candidate.text, language)
    whole = [key for key in wanted - own if len(key) >= MIN_COMPOUND_CHARS]
    return own | {key for key in whole if any(each.startswith(key) or each.endswith(key) for each in own)}


def measures_in(candidate: Candidate, wanted: Set[str], language: str) -> Set[str]:
    """The stems of the question that ask for a price or a time, if a sentence has one."""
    prices = _stems("price", language) if has_money(candidate) else frozenset[str]()
    times = _stems("clock", language) | _stems("opening", language) if _TIME.search(candidate.text) else frozenset()
    when = {WHEN} if _of_time("tells_when").search(candidate.text) else set()
    return wanted & (prices | times | when)


def named_in(stems: Set[str], language: str) -> frozenset[str]:
    """The stems that say of what something is asked: not those for a price or a time."""
    return frozenset(stems) - _stems("price", language) - _stems("clock", language) - {WHEN}


def lacks(candidate: Candidate, question: str, language: str) -> bool:
    """Whether a question asks for a price or a time, and a sentence says nothing of one."""
    patterns, asked, told = phrases_of(language).answers, question[:MAX_QUESTION_CHARS], candidate.text
    if _of_time("asks_when").search(asked):
        return not _of_time("tells_when").search(told)
    if has_money(candidate) or not patterns["asks_price"].search(asked) or patterns["says_free"].search(told):
        return False
    return not _NUMBER.search(told) or foreign_stems(told, language).isdisjoint(_stems("price", language))


def says_whom(candidate: Candidate, question: str, language: str) -> bool | None:
    """Whether a sentence says whom to turn to; None if the question does not ask that."""
    patterns = phrases_of(language).answers
    asked = patterns["asks_whom"].search(question[:MAX_QUESTION_CHARS])
    return bool(patterns["tells_whom"].search(candidate.text)) if asked else None


def headings_of(candidate: Candidate, wanted: Set[str], language: str) -> Set[str]:
    """The stems of the headings of a sentence, and those of the question for when something is open, if a heading has
    another word for that."""
    passage = candidate.evidence.passage
    own = foreign_stems(f"{passage.called} {passage.heading} {candidate.statement.above}", language)
    opening = _stems("opening", language)
    return own if own.isdisjoint(opening) else own | (wanted & opening)


def mark_foreign_rows(pool: Sequence[Candidate], question: str, added: str, language: str) -> None:
    """Mark the rows as meant that have a word that is asked for in another form, in passages where no row is meant. If
    the question itself names none of the rows of a table, those that were just told are meant."""
    typed = question_stems(question, language)
    wanted = (typed | foreign_stems(added, language)) - _stems("price", language)
    rows = [each for each in pool if each.statement.is_row]
    for table in by_table(rows):
        just_told = [each for each in table if each.just_said]
        own = [words_in(each, typed, language) for each in table]
        if just_told and named_in(typed, language) & frozenset().union(*own) <= frozenset.intersection(*own):
            rows = [each for each in rows if each not in table]
            for each in table:
                each.meant = each.spelled = each in just_told
    told = {each.evidence.number for each in rows if each.meant}
    for each in rows:
        each.meant = each.meant or (
            each.evidence.number not in told
            and not wanted.isdisjoint(words_in(each, wanted, language) | measures_in(each, wanted, language))
        )


@lru_cache(maxsize=len(_STEMMERS))
def _small_words(language: str) -> frozenset[str]:
    return frozenset(map(folded, word_list(language, "function")))


@lru_cache(maxsize=len(_STEMMERS))
def _same_words(language: str) -> dict[str, str]:
    """The stem of the first word of each group of words that ask for the same, by the stems of the others."""
    said = (" ".join(sorted(word_list(language, "opening"))), *same_words(language))
    groups = [_STEMMERS[language].stemWords(folded(group).split()) for group in said]
    return {key: first for first, *others in groups for key in others}


def _stems(kind: Literal["price", "clock", "opening"], language: str) -> frozenset[str]:
    """The stems of the words in one of a language's lists."""
    return foreign_stems(" ".join(word_list(language, kind)), language)


@lru_cache(maxsize=2)
def _of_time(name: Literal["asks_when", "tells_when"]) -> re.Pattern[str]:
    """A pattern for question for a time, or what tells one, in any of these languages."""
    own = [phrases_of(code).answers[name].pattern for code in _STEMMERS]
    return re.compile("|".join([_NUMBER_OR_MONTH, *own] if name == "tells_when" else own), re.I)
