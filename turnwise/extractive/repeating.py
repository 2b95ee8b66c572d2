"""Which sentences that were said before are said again, and for which of them something new steps back."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set

from turnwise.dialogue.asked_again import asks_again
from turnwise.dialogue.going_on import going_on
from turnwise.dialogue.language import word_list
from turnwise.extractive.asking import PRONOUN, defined_topic, wants_only_more
from turnwise.extractive.foreign import is_foreign, question_stems
from turnwise.extractive.kinds import (
    MEASURE_WORDS,
    PRICE_WORDS,
    QUANTITIES,
    SURE_KINDS,
    asks_price,
    gives,
    has_money,
    has_span,
    without_measures,
)
from turnwise.extractive.scoring import COMPARED, REPEATED_PENALTY, defines_in_passing
from turnwise.extractive.sides import side_stems
from turnwise.extractive.statements import (
    Candidate,
    asked_stems,
    cited_last,
    same_document,
    stems_of,
    stems_with_headings,
)
from turnwise.text import content_stems, is_specific, words
from turnwise.types import Prompt

_YES_OR_NO = re.compile(r"(?:(?:and|so|but),? )?(?:is|are|was|were|do|does|did|can|could|will|would|may|must)\b", re.I)
SURE_SCORE = 0.55  # of a sentence that is told again without a word of the message


def answered_before(prompt: Prompt) -> str:
    """The answer to the same message if it was sent before, word for word, and means the same again: it names what it
    is about, or was the last one. "" if it was not. It is answered alike then, and not with what is left."""
    asked = words(prompt.question.lower())
    if not content_stems(prompt.question) or wants_only_more(prompt) or going_on(prompt.question):
        return ""
    before = () if PRONOUN.search(prompt.question) else prompt.before_last
    answered = zip((prompt.last_question, *before), reversed(prompt.said), strict=False)
    return next((answer for message, answer in answered if words(message.lower()) == asked), "")


def said_again(
    question: str, good: Sequence[Candidate], pool: Sequence[Candidate], prompt: Prompt, nothing_new: bool
) -> list[Candidate]:
    """What was said before and this message asks for, best first.

    It always has the amount or price that is asked for, and one of these brings it back: the last question is asked of
    another thing, and it tells of that; the message names what it is about, or nothing at all; it says in passing what
    the message wants defined; or there is nothing new, and the judge is sure.
    """
    said = [each for each in good if each.said and gives(each, question, QUANTITIES)]
    if asks_price(question):
        said = [each for each in said if has_money(each)]
    if asks_again(prompt.question, question):
        return _about_the_other(said, question, pool, prompt)
    asked_for = _asked_for(said, question, prompt)
    return asked_for or (_surely_meant(said, question, prompt) if nothing_new else [])


def lead_to_repeat(old: Candidate, new: Candidate, question: str, pool: Sequence[Candidate], prompt: Prompt) -> float:
    """How much better than something new a sentence must be to be said again: nothing if the last question is asked of
    another thing, which was not answered yet, or if just the old one is about what "it" means, or has what the message
    itself names: "when was it built?" after "It was built in 1787."."""
    named = without_measures(asked_stems(prompt.question))
    if named and named <= stems_of(old.text) and named.isdisjoint(stems_of(new.text)):
        return 0.0
    meant = asked_stems(question) - asked_stems(prompt.question) if PRONOUN.search(prompt.question) else set()
    only_old = meant and meant <= stems_of(old.text) and meant.isdisjoint(stems_with_headings(new))
    free = only_old or asks_again(prompt.question, question) or _leaves_document(new, question, pool, prompt)
    return 0.0 if free else REPEATED_PENALTY


def _about_the_other(
    said: Sequence[Candidate], question: str, pool: Sequence[Candidate], prompt: Prompt
) -> list[Candidate]:
    """What tells of the thing asked about now: "what about a cat?" is not answered by what was said of dogs alone."""
    typed, before, now = map(asked_stems, (prompt.question, prompt.last_question, question))
    dropped, added, named = before - now, now - before, typed & now
    own = [(each, stems_of(each.text)) for each in said]
    told = [each for each, stems in own if stems.isdisjoint(dropped) or (added and added <= stems)]
    if named and any(named <= stems_of(each.text) for each in pool):
        return [each for each in told if named <= stems_with_headings(each)]
    return told


def _asked_for(said: Sequence[Candidate], question: str, prompt: Prompt) -> list[Candidate]:
    """What is about the words of this message, not just of the conversation, or says what it wants defined."""
    pointing = bool(PRONOUN.search(prompt.question))
    named = without_measures(asked_stems(prompt.question)) - COMPARED.union(*side_stems(prompt.sides))
    if is_foreign(prompt.language):
        if not question_stems(prompt.question, prompt.language):  # "und wie oft?" names nothing
            return []
        named -= content_stems(" ".join(word_list(prompt.language, "price")))
    if pointing:  # "when did that come out?"
        named = set(filter(is_specific, named))
    whether = pointing and bool(_YES_OR_NO.match(prompt.question))
    topic = defined_topic(question)
    return [
        each
        for each in said
        if _has_words(each, named - MEASURE_WORDS if has_span(each) else named, whether)
        or (topic and defines_in_passing(topic, each.text))
    ]


def _has_words(candidate: Candidate, named: Set[str], whether: bool) -> bool:
    """Whether a sentence, or the line above the list it is in, has a word that is asked for now, and together with its
    headings half of those words. A row, which has few words, only has to be meant, unless the question is whether
    something is so of it: "is that cheaper for groups?" asks what the row does not say."""
    if not named or candidate.under_asked:
        return True
    held = stems_with_headings(candidate)
    if candidate.statement.is_row and candidate.meant:
        return not whether or bool(named & (held | PRICE_WORDS if has_money(candidate) else held))
    led = candidate.is_item and candidate.statement.above.endswith(":")
    own = stems_of(candidate.statement.whole if led else candidate.text)
    return bool(named & own) and 2 * len(named & held) >= len(named)


def _surely_meant(said: Sequence[Candidate], question: str, prompt: Prompt) -> list[Candidate]:
    """The best that the judge is sure of, although it has other words: "the day ends at three" for "when does it
    finish?". It must not be about what the last message asked instead: "how high?" is not "how wide?"."""
    before = asked_stems(prompt.last_question)
    if prompt.sides or not without_measures(asked_stems(prompt.question)) - before:
        return []
    dropped = before - asked_stems(question)
    sure = (each for each in said if each.score >= SURE_SCORE and not each.statement.is_row)
    return [each for each in sure if dropped.isdisjoint(stems_of(each.text)) and gives(each, question, SURE_KINDS)][:1]


def _leaves_document(best: Candidate, question: str, pool: Sequence[Candidate], prompt: Prompt) -> bool:
    """Whether a sentence is from another document than the last answer, although the message was completed with what
    was said: "how much is it?" after a house's dinner does not mean what another document says of dinners."""
    cited = cited_last(pool, prompt)
    return question != prompt.question and bool(cited) and not any(same_document(best, each) for each in cited)
