"""Minutes of a meeting: what was decided, who has to do what, and who came or did not, asked in other words than
minutes have for it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from turnwise.dialogue.language import CODES, language, tidy
from turnwise.english import MONTHS
from turnwise.extractive.statements import Candidate, asked_stems, cited_last, same_document, stems_with_headings
from turnwise.text import words
from turnwise.types import Prompt

_MONTHS = frozenset(MONTHS)
_DECIDED = re.compile(r"\bdecided\b", re.I)
# A decision under its label, and what somebody is to do.
_ASKS_DECISION = re.compile(r"\b(?:decided?|agreed|resolved|decisions?|outcome)\b", re.I)
_DECISION = re.compile(r"(?:[-*] )?(?:decisions?|decided|resolved|resolution|agreed|outcome)\b[^:.]{0,20}: ", re.I)
_HAS_TO = r"(?:have|need|agree|promise|offer|supposed|going|asked|got)"
_ASKS_TASK = re.compile(
    r"(?:and |so )?what (?:does|did|must|should|will|is|has|was) "
    rf"(?P<who>\w[\w.’'-]*(?: (?!{_HAS_TO}\b|to\b|do\b)[\w’'-]+)?)"
    rf"(?: {_HAS_TO})?(?: to)? (?:do|look after|organi[sz]e)\W*",
    re.I,
)
_MEETING = (
    r"(?: (?:(?:to|at|from|in|it|the|that|last|our) ){0,3}(?:[\w’]+ ){0,2}(?:meeting|session|assembly|conference|agm)"
    rf"|,? then| (?:in|on) (?:[\d.]+ )?(?:{'|'.join(MONTHS)})(?: \d+)?)?"
)
# Who came and who did not, as it is asked, and as the line that lists them begins: "Apologies for absence: Ann Lund".
_MISSED = (
    r"(?:(?:was|were)(?: not|n’t)(?: there)?|(?:was|were) (?:absent|missing|away)"
    r"|(?:could|did)(?: not|n’?t) (?:come|attend|make it|be there)|missed)",
    r"apolog(?:y|ies)|absent(?:ees)?|absences|excused",
)
_CAME = (
    r"(?:all )?(?:(?:was|were)(?: there| present)?|came|attended|took part)",
    r"(?:(?:also|those|members) )?(?:present|attend(?:ees|ance|ed|ing)|in attendance)",
)
_UP_TO_COLON = r"(?: (?:at|from|for|in|with|were|received|sent)\b[^:]{0,30}| \([^):]{0,30}\))? ?:"


def in_words_of_minutes(question: str) -> tuple[str, ...]:
    """A question what was decided as minutes may tell it, as what was agreed or voted; none if it is another one."""
    return tuple(_DECIDED.sub(word, question) for word in ("agreed", "voted") if _DECIDED.search(question))


def tells_in_minutes(question: str, candidate: Candidate) -> bool:
    """Whether a line says in the way of minutes what was decided on something, "Decision: the fence is mended", or what
    somebody is to do: "Ida will ask", or a row that has only the name."""
    if _DECISION.match(candidate.text) and _ASKS_DECISION.search(question):
        asked = asked_stems(_ASKS_DECISION.sub(" ", question))
        return bool(asked & stems_with_headings(candidate))
    if not (found := _ASKS_TASK.fullmatch(question)):
        return False
    if any(cell.lower() == found["who"].lower() for _, cell in candidate.statement.cells[1:]):
        return True
    is_to = rf"\b{re.escape(found['who'])} (?:will|is to|has to|agreed to|promised to|offered to)\b"
    return bool(re.search(is_to, candidate.text, re.I))


def roll_called(question: str, pool: Sequence[Candidate], prompt: Prompt) -> list[Candidate]:
    """The line of minutes that lists who came to a meeting, or who did not, if a question asks that. Of several minutes
    it is that of those that the question names, or else of those that the last answer told of."""
    asked_now = tidy(question), tidy(prompt.question)  # as it was completed, and as it was typed: "who wasn't there?"
    called = next((line for asked, line in _rolls() if any(map(asked.fullmatch, asked_now))), None)
    if called is None:
        return []
    named, told = set(words(" ".join(asked_now).lower())), cited_last(pool, prompt)

    def nearness(each: Candidate) -> tuple[int, bool]:
        passage = each.evidence.passage
        own = words(f"{passage.title} {passage.heading}".lower())
        return len(named.intersection(own)), any(same_document(each, other) for other in told)

    lists = [each for each in pool if called.match(each.text) and (named & _MONTHS) <= _near(each)]
    return sorted(lists, key=nearness, reverse=True)[:1]


def _near(candidate: Candidate) -> set[str]:
    """The words around a sentence and in what its document is called."""
    passage = candidate.evidence.passage
    return set(words(f"{passage.title} {passage.heading} {passage.text}".lower()))


@lru_cache(maxsize=1)
def _rolls() -> list[tuple[re.Pattern[str], re.Pattern[str]]]:
    """The questions who came or who did not, in all languages, each with how the line begins that answers it."""
    others = [each for each in (language(code).answers for code in CODES) if each]
    rolls = [(rf"(?:(?:and|so) )?who {asked}{_MEETING}", told) for asked, told in (_MISSED, _CAME)]
    for what in ("missed", "came"):
        rolls += [(each[f"asks_who_{what}"].pattern, each[f"tells_who_{what}"].pattern) for each in others]
    return [(re.compile(asked, re.I), re.compile(rf"(?:- )?(?:{told}){_UP_TO_COLON}", re.I)) for asked, told in rolls]
