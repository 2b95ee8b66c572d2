"""What applies to an amount that is told after an answer: "it's 400 euros", where more than 250 need approval."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from turnwise.english import MEN, NUMBER_WORD, OTHERS, WOMEN, number_of
from turnwise.extractive.statements import Candidate, asked_stems, cited_last, section_of, stems_of
from turnwise.extractive.tables.amounts import Amount, amount_in
from turnwise.types import Prompt

MAX_TOLD = 2

_AMOUNT = r"(?P<amount>[$€£]? ?\d[\d.,]*(?<=\d)(?: ?(?!to\b)[a-z%]+)?)"
_TELLS = re.compile(
    r"(?:(?:and|but|so|if|what if|well|ok|okay|no),? )*(?:it|that|mine|this|(?:the|my) [\w-]+)"
    r"(?:(?:['’]?s| is| was| has)(?: been)?| costs?| would be| takes?| weighs) "
    rf"(?:(?:about|around|only|just|nearly|roughly) )?{_AMOUNT}(?: (?:before|ahead|away|to go|old|ago|long))?[.!?]*",
    re.I,
)
_TELLS_AGE = re.compile(
    rf"(?:(?:and|but|so|if|what if|well|ok|okay|no),? )*(?:i|she|he|(?:my|our) (?:{MEN}|{WOMEN}|{OTHERS}))"
    r"(?:['’]?m|['’]?s| am| is) (?:only |just |already )?(?P<amount>\d{1,3})(?: years? old)?[.!?]*",
    re.I,
)
_AHEAD = re.compile(r"\b(?:before|ahead|away|to go)\W*$|\bin \d", re.I)
_LIMIT = re.compile(
    r"\b(?:(?P<over>over|above|more than|exceeding)|(?P<from>at least|from)|(?P<under>under|below|less than|fewer than)"
    rf"|(?P<to>up to|at most|not more than)) {_AMOUNT}(?: to (?P<end>\d+))?"
    r"(?P<before> (?:before|ahead|in advance|beforehand))?",
    re.I,
)
_WORD_NUMBER = re.compile(rf"\b({NUMBER_WORD})(?= [a-z])", re.I)
# After a number that is no age: "up to 10 days", "over 250 euros", "from 3 to 6" is one.
_UNITS = ("day", "week", "month", "hour", "minute", "night", "euro", "pound", "dollar", "kg", "km", "m", "%", "people")
_AGE = re.compile(r"\d{1,3}(?: years?)?", re.I)
_THE_OTHERS = re.compile(
    r"(?:larger|bigger|higher|smaller|lower|greater|longer|shorter|more|less|others?|otherwise|(?:all|any|every)\w* "
    r"(?:others?|else)|above (?:this|that)|below (?:this|that)|beyond (?:this|that)|after (?:this|that))\b",
    re.I,
)


def what_applies(prompt: Prompt, pool: Sequence[Candidate]) -> list[Candidate]:
    """The sentences about the same thing in the last answer's document, or else beside it, whose limit the amount or
    the age in the message meets; where it does not, the next sentence if that is about the others: "Larger claims take
    three weeks." Of limits that lead up to a day, the nearest one applies."""
    value = _told(prompt.question.strip())
    if value is None:
        return []
    cited = cited_last(pool, prompt)
    documents = {each.evidence.passage.document_id for each in cited}
    about = asked_stems(" ".join((*prompt.asked, prompt.last_question))) - asked_stems(prompt.question)
    same = [each for each in pool if each.evidence.passage.document_id in documents]
    alike = [each for each in same if about & stems_of(each.text if value.is_money else _with_section(each))]
    ahead = bool(_AHEAD.search(prompt.question))
    return _whose_limit_is_met(alike, value, ahead, pool) or (
        [] if value.is_money else _whose_limit_is_met(cited, value, ahead, pool)
    )


def _whose_limit_is_met(
    near: Sequence[Candidate], value: Amount, ahead: bool, pool: Sequence[Candidate]
) -> list[Candidate]:
    """The sentences whose limit is met, the closest limit first; `ahead` is whether the amount leads up to a day."""
    met: list[tuple[bool, Decimal, Candidate]] = []
    for each in near:
        limits = () if each.statement.is_row else _LIMIT.finditer(_in_digits(each.text))
        for limit in limits:
            if (bound := _bound(limit, value)) is None or (limit["before"] and not ahead):
                continue
            meant = [each] if _is_met(limit, bound, value) else _others(each, pool)
            met += [(not limit["before"], abs(bound.value - value.value), one) for one in meant]
    met.sort(key=lambda one: one[:2])
    several = 1 if any(not one[0] for one in met) else MAX_TOLD
    return list({id(one[2]): one[2] for one in met}.values())[:several]


def _with_section(candidate: Candidate) -> str:
    return f"{section_of(candidate.evidence.passage)} {candidate.statement.whole}"


def _told(message: str) -> Amount | None:
    """The amount that a message tells, or the age, which has no unit."""
    if age := _TELLS_AGE.fullmatch(message):
        return amount_in(age["amount"])
    told = _TELLS.fullmatch(_in_digits(message))
    amount = amount_in(told["amount"].strip()) if told else None
    return amount if amount and amount.unit else None


def _in_digits(text: str) -> str:
    return _WORD_NUMBER.sub(lambda found: str(number_of(found[1])), text)


def _bound(limit: re.Match[str], value: Amount) -> Amount | None:
    """The amount of a limit, if it has the same unit; an age may have years."""
    text = limit["amount"].strip()
    number = _AGE.match(text)
    if not value.unit:
        is_age = number and not text[number.end() :].strip().startswith(_UNITS)
        return amount_in(number[0].split()[0]) if number and is_age else None
    bound = amount_in(text)
    return bound if bound and bound.unit == value.unit else None


def _is_met(limit: re.Match[str], bound: Amount, value: Amount) -> bool:
    """Whether an amount meets a limit. "Up to eight weeks before" is met by nine weeks."""
    if limit["end"] and value.value > Decimal(limit["end"]):
        return False
    if value.value == bound.value:
        return bool(limit["from"] or limit["to"])
    more = bool(limit["over"] or limit["from"] or (limit["to"] and limit["before"]))
    return (value.value > bound.value) is more


def _others(candidate: Candidate, pool: Sequence[Candidate]) -> list[Candidate]:
    after = [each for each in pool if each.evidence is candidate.evidence and each.position == candidate.position + 1]
    return [each for each in after if _THE_OTHERS.match(each.text)]
