"""Prices of several, asked of a sentence that tells the price of one: "how much for 3 washes?"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from turnwise.english import NUMBER_WORD, number_of
from turnwise.extractive.kinds import MAX_QUESTION_CHARS
from turnwise.extractive.statements import Candidate
from turnwise.extractive.tables.amounts import amount_in
from turnwise.extractive.tables.totals import price_depends, working

_ASKS = re.compile(
    rf"\b(?:how much|what|price|cost)\b.*?\b(?P<count>[2-9]|[1-9]\d|(?!one\b){NUMBER_WORD}) "
    r"(?:of (?:the|those|these|your) )?(?!(?:or|to|and|more|of|%|per)\b)(?P<noun>[a-z][a-z-]+(?: [a-z-]+)?)\b",
    re.I,
)
_ASKS_PRICE = re.compile(r"\b(?:how much|costs?|price)\b", re.I)
_TIMES = re.compile(r"(?:minute|hour|day|night|week|month|year)s?\b", re.I)
_SEVERAL = re.compile(r"(?<!s)s\b(?<!\bcosts)|\b(?:people|children|men|women)\b", re.I)  # "level 5" is none
_OF_MANY = re.compile(rf"\b(?:book|card|pack|set|box|bundle)s? of (?:\d|{NUMBER_WORD})", re.I)
_PRICE = r"(?P<price>[$€£¥] ?\d+(?:\.\d\d)?)(?![\d.,]*\d)(?! ?(?:per|an?|to|or|–|-)\b)"


def asked_of_one(question: str, pool: Sequence[Candidate]) -> str:
    """A question for the price of several without their number, which a sentence about one does not have; empty if it
    asks for nothing like that, or if a sentence speaks of as many: "a book of 10 tickets"."""
    found = _counted(question)
    if not found:
        return ""
    as_many = re.compile(rf"\b(?:{found['count']}|{number_of(found['count'])})\b(?![.,:]\d)", re.I)
    if any(as_many.search(each.text) and _noun(found).search(each.text) for each in pool):
        return ""
    return question[: found.start("count")] + question[found.start("noun") :]


def total_of_several(question: str, chosen: Sequence[Candidate], pool: Sequence[Candidate]) -> str:
    """The price of several with its working, if the best sentence says what one of them costs: "3 × £4 is £12."; empty
    if the document has discounts."""
    found = _counted(question)
    if not found or chosen[0].statement.is_row:
        return ""
    one = rf"(?<!\d )(?<!\d\d ){_noun(found).pattern} (?:costs?|is|are) {_PRICE}"  # not "a book of 10 washes costs"
    told = None if _OF_MANY.search(chosen[0].text) else re.search(one, chosen[0].text, re.I)
    price = amount_in(told["price"]) if told else None
    if price is None or price_depends(chosen[0].evidence.passage.document_id, pool):
        return ""
    return working([number_of(found["count"])], [price])


def _counted(question: str) -> re.Match[str] | None:
    question = question[:MAX_QUESTION_CHARS]
    found = _ASKS.search(question) if _ASKS_PRICE.search(question) else None
    return None if found is None or _TIMES.match(found["noun"]) or not _SEVERAL.search(found["noun"]) else found


def _noun(found: re.Match[str]) -> re.Pattern[str]:
    """The thing that is counted, one or several: "wash" or "washes"."""
    one = re.sub(r"(?<=s|x|z|h)es$|(?<=[^s])s$", "", found["noun"].lower())
    return re.compile(rf"\b{re.escape(one)}(?:e?s)?\b", re.I)
