"""Resolves "both papers", "the second study" or "they" where the conversation, or the library, has just two works with
authors and years."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from turnwise.dialogue.intent import is_question
from turnwise.dialogue.questions import compared_sides
from turnwise.dialogue.spelling import Slip
from turnwise.types import Message, Reference

_WORK = r"(?:stud(?:y|ies)|(?:paper|publication|essay)s?)"  # an experiment may be one of several in a paper
_BOTH = re.compile(
    rf"\b(?:both(?: of)?(?: the| these| those)?|(?:the|these|those) (?:two|2)|each(?: of the)?) (?P<work>{_WORK})\b",
    re.I,
)
_BARE_BOTH = re.compile(  # means the works only if both were spoken of
    r"\b(?:both|each|either)(?: (?:of (?:them|these|those|the two)|ones?))?(?=\W*$| in (?:one|two|a few) )", re.I
)
_ONE = re.compile(
    rf"\bthe (?:(?P<first>first|1st|original|earlier|older)|(?P<second>second|2nd|later|newer|more recent|new)"
    rf"|(?P<other>other)) (?:(?P<work>{_WORK})|one)\b",
    re.I,
)
_AGE = r"(?:is|was|came|comes) (?:the )?(?:(newer|newest|latest|last|later|more recent)|older|oldest|first|earlier)\b"
_WHICH = re.compile(
    r"^(?:(?:and|so|but|ok|okay),? )?which"
    rf"(?: one| of (?:them|these|those|the two)|(?= {_AGE})|(?P<work>(?: of the (?:two |2 )?)? {_WORK}))"
    r" (?!is better)(?P<rest>[^?.!]{3,})",
    re.I,
)
_HAS_MORE = re.compile(
    r"(?:had|has|have|included|tested|used|recruited|enrolled) (?:the )?(?:more|fewer|most|fewest) (.+)", re.I
)
_IS_NEWER = re.compile(_AGE, re.I)
_THEY = re.compile(r"\b(?:they|them|these|those)\b", re.I)
_VERB = re.compile(r"\b(?:were|are|do|have)(?= $)", re.I)
_SUMMARY = re.compile(r"(?:please |can you |could you )?(?:summari[sz]e|sum up|give (?:me )?a summary of)\b", re.I)
_OF_ONE = {"were": "was", "are": "is", "do": "does", "have": "has"}
RECENT_QUESTIONS = 5  # in which both works may be named
Works = Callable[[], Sequence[Reference]]


def name_works(message: str, history: Sequence[Message], works: Works) -> tuple[str, list[Slip]]:
    """Returns the message with the authors of the works it refers to, and what was replaced. What is asked of both, but
    does not compare them, becomes a question about each. It stays as it is unless there are just two `works`; a bare
    "both" or "they" needs a conversation that has cited one."""
    patterns = (_BOTH, _BARE_BOTH, _ONE, _WHICH, _THEY)
    found = next((found for found in (each.search(message) for each in patterns) if found), None)
    needs_talk = found is not None and not found.groupdict().get("work")
    if not found or (needs_talk and not any(source.reference for each in history for source in each.sources)):
        return message, []
    older, newer = _by_year(works())
    if not older or any(_names(message, each) for each in (older, newer)):
        return message, []
    asked = _last_questions(history)
    in_last = [each for each in (older, newer) if _names(asked[-1:], each)]
    if found.re is _ONE:
        meant = older if found["first"] else newer if found["second"] else _other(older, newer, history)
        if not meant or (needs_talk and not in_last):
            return message, []
        return _with(message, found, _called(meant)), [Slip(found[0], _called(meant))]
    if found.re is _THEY and len(in_last) < 2:  # "what did Lund find?", "how did they measure it?"
        acts = in_last and re.search(rf"\b(?:did|does|do|have|has) (?:the )?{re.escape(in_last[0])}\b", asked[-1], re.I)
        return (_with(message, found, in_last[0]), [Slip(found[0], in_last[0])]) if acts else (message, [])
    if needs_talk and found.re is not _THEY and not _names(asked, older, newer):
        return message, []
    together = f"{older} and {newer}"
    return _of_both(message, found, older, newer), [Slip(found[0], together)]


def _of_both(message: str, found: re.Match[str], older: str, newer: str) -> str:
    """Returns a question about both works: as it is if it compares them, or else one about each."""
    if found.re is _WHICH:
        if age := _IS_NEWER.match(found["rest"]):  # its byline tells
            return f"who wrote {_called(newer if age[1] else older)}?"
        if not (more := _HAS_MORE.match(found["rest"])):
            return f"which study {found['rest'].strip()}, {older} or {newer}?"
        return " ".join(f"how many {more[1].strip()} did {_called(each)} have?" for each in (older, newer))
    compared = _with(message, found, f"{older} and {newer}")
    if compared_sides(compared) or message.lower().startswith("why"):
        return compared
    if _SUMMARY.match(message):
        return f"what is {_called(older)} about? what is {_called(newer)} about?"
    if not is_question(message):  # "limits of both"
        plural = message.split()[0].endswith("s")
        message = f"what {'are the' if plural else 'about'} {message}"
        found = found.re.search(message) or found
    before = _VERB.sub(lambda verb: _OF_ONE[verb[0].lower()], message[: found.start()])
    after = message[found.end() :].rstrip(" ?.!")
    return " ".join(f"{before}{_called(each)}{after}?" for each in (older, newer))


def _by_year(works: Sequence[Reference]) -> tuple[str, str]:
    """Returns the first authors of the older and of the newer of two works; empty if that does not tell them apart."""
    dated = sorted((each.year, each.families[0]) for each in works if each.year and each.families)
    if len(dated) != 2 or len(works) != 2 or len({year for year, _ in dated}) < 2 or dated[0][1] == dated[1][1]:
        return "", ""
    return dated[0][1], dated[1][1]


def _other(older: str, newer: str, history: Sequence[Message]) -> str:
    """Returns the work that was not spoken of last; empty if both were, or neither."""
    for texts in (_last_questions(history)[-1:], [_cited_last(history)]):
        named = [each for each in (older, newer) if _names(texts, each)]
        if named:
            return (newer if named == [older] else older) if len(named) == 1 else ""
    return ""


def _last_questions(history: Sequence[Message]) -> list[str]:
    return [each.content for each in history if each.role == "user"][-RECENT_QUESTIONS:]


def _cited_last(history: Sequence[Message]) -> str:
    """Returns the authors of the works that the last answer with sources cites."""
    sources = next((each.sources for each in reversed(history) if each.sources), ())
    return " ".join(family for each in sources if each.reference for family in each.reference.families[:1])


def _names(texts: str | Sequence[str], *families: str) -> bool:
    """Whether a text, or several together, has all these names."""
    text = (texts if isinstance(texts, str) else " ".join(texts)).lower()
    return all(re.search(rf"\b{re.escape(each.lower())}\b", text) for each in families)


def _called(family: str) -> str:
    return f"the {family} study"


def _with(message: str, found: re.Match[str], name: str) -> str:
    return message[: found.start()] + name + message[found.end() :]
