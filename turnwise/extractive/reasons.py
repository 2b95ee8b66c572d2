"""A bare "why?" after an answer: the reason that stands in what was told."""

from __future__ import annotations

import re
from collections.abc import Sequence

from turnwise.extractive.statements import Candidate, asked_stems, cited_last, stems_with_headings
from turnwise.extractive.writing import is_quoted
from turnwise.types import Prompt

_BARE_WHY = re.compile(
    r"(?:(?:and|but|so|oh|ok|okay|hm+),? )*(?:why|how come|what for)"
    r"(?:,? (?:not|so|then|though|exactly|please|(?:is|was) (?:that|this|it)(?: so)?))*\W*",
    re.I,
)
_REASON = re.compile(
    r"\b(?:because|since(?! (?:\d|then\b|version|last\b))|due to|so that|so (?!far\b)[a-z]+ that"
    r"|therefore|otherwise|that is why|in order to|to (?:avoid|prevent|protect|make sure|ensure)"
    r"|causes?|reasons?)\b|, so (?!that\b)",
    re.I,
)


def asks_only_why(prompt: Prompt) -> bool:
    """Whether a message asks for the reason of the last answer and names nothing: "why not?"."""
    return prompt.language == "en" and bool(prompt.said) and _BARE_WHY.fullmatch(prompt.question.strip()) is not None


def may_give_reasons(pool: Sequence[Candidate], prompt: Prompt) -> list[Candidate]:
    """The sentences that may be why something is so: those of the passages that the last answer cites, and elsewhere
    and in tables those that say that they give a reason, of something that the message was completed with."""
    near = {id(each) for each in cited_last(pool, prompt) if not each.statement.is_row}
    meant = asked_stems(" ".join(prompt.asked))

    def may_give(each: Candidate) -> bool:
        return bool(_REASON.search(each.statement.whole)) and not meant.isdisjoint(stems_with_headings(each))

    return [each for each in pool if id(each) in near or may_give(each)]


def reason_told(prompt: Prompt, pool: Sequence[Candidate]) -> list[Candidate]:
    """The sentence of the last answer that has a reason in it, if a bare "why?" asks for one and no other sentence of
    that answer has more of the question before."""
    if not asks_only_why(prompt):
        return []
    asked = asked_stems(prompt.last_question)
    told = [each for each in pool if not each.statement.is_row and is_quoted(each, prompt.said[-1:])]
    shares = [len(asked & stems_with_headings(each)) for each in told]
    best = max(shares, default=0)
    return [each for each, share in zip(told, shares, strict=True) if share == best and _REASON.search(each.text)][:1]
