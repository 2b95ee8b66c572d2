"""What applies to an amount that is told after an answer: "it's 400 euros", where more than 250 need approval."""

from __future__ import annotations

import re
from collections.abc import Sequence

from turnwise.extractive.statements import Candidate, asked_stems, stems_of
from turnwise.extractive.tables.amounts import Amount, amount_in
from turnwise.types import Prompt

MAX_TOLD = 2

_AMOUNT = r"(?P<amount>[$€£]? ?\d[\d.,]*(?<=\d)(?: ?[a-z%]+)?)"
_TELLS = re.compile(
    r"(?:(?:and|but|so|if|what if|well|ok|okay|no),? )*(?:it|that|mine|this|(?:the|my) [\w-]+)"
    rf"(?:['’]?s| is| was| costs?| would be) (?:(?:about|around|only|just|nearly|roughly) )?{_AMOUNT}[.!?]*",
    re.I,
)
_LIMIT = re.compile(
    r"\b(?:(?P<over>over|above|more than|exceeding)|(?P<from>at least|from)|(?P<under>under|below|less than|fewer than)"
    rf"|(?P<to>up to|at most|not more than)) {_AMOUNT}",
    re.I,
)
_THE_OTHERS = re.compile(
    r"(?:larger|bigger|higher|smaller|lower|greater|longer|shorter|more|less|others?|otherwise|(?:all|any|every)\w* "
    r"(?:others?|else)|above (?:this|that)|below (?:this|that)|beyond (?:this|that))\b",
    re.I,
)


def what_applies(prompt: Prompt, pool: Sequence[Candidate]) -> list[Candidate]:
    """The sentences of the last answer's documents about the same thing whose limit the amount in the message meets;
    where it does not, the next sentence if that is about the others: "Larger claims take three weeks." """
    told = _TELLS.fullmatch(prompt.question.strip())
    value = amount_in(told["amount"].strip()) if told else None
    if value is None or not value.unit:
        return []
    last = "".join(prompt.said[-1:])
    cited = {each.evidence.passage.document_id for each in pool if f"[{each.evidence.number}]" in last}
    about = asked_stems(" ".join((*prompt.asked, prompt.last_question))) - asked_stems(prompt.question)
    found: dict[int, Candidate] = {}
    for each in pool:
        if each.evidence.passage.document_id in cited and not each.statement.is_row and about & stems_of(each.text):
            met = [_is_met(limit, value) for limit in _LIMIT.finditer(each.text)]
            meant = [each] if True in met else _others(each, pool) if False in met else []
            found |= {id(one): one for one in meant}
    return list(found.values())[:MAX_TOLD]


def _is_met(limit: re.Match[str], value: Amount) -> bool | None:
    """Whether an amount meets a limit; None if that has another unit."""
    bound = amount_in(limit["amount"].strip())
    if bound is None or bound.unit != value.unit:
        return None
    if value.value == bound.value:
        return bool(limit["from"] or limit["to"])
    return (value.value > bound.value) is bool(limit["over"] or limit["from"])


def _others(candidate: Candidate, pool: Sequence[Candidate]) -> list[Candidate]:
    after = [each for each in pool if each.evidence is candidate.evidence and each.position == candidate.position + 1]
    return [each for each in after if _THE_OTHERS.match(each.text)]
