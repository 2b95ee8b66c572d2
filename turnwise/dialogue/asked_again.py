"""Asks an earlier question again with one thing changed, for a short message such as "and climbing?" after "how much is
swimming?"."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import islice, takewhile

from turnwise.dialogue.adverbials import STATE, TIMES, adverbial, with_adverbial
from turnwise.dialogue.another_thing import HOW_MUCH, about_another, is_one_question, names_another
from turnwise.dialogue.corrections import as_corrected
from turnwise.dialogue.going_on import going_on
from turnwise.dialogue.pronouns import find_pronoun, points_back
from turnwise.dialogue.writing import (
    MAX_QUESTION_CHARS,
    OF_SEVERAL,
    Phrase,
    compared_subjects,
    last_question,
    names_no_side,
    questions_newest_first,
    terms,
    with_phrases,
)
from turnwise.sums.read import scales
from turnwise.text import content_words, is_content, is_specific, phrases, sentences, stem, subject, word_stems, words
from turnwise.types import Condensed, Message, Term

MAX_CHANGES = 40  # short messages that change one question, one after the other
# A comparison that names one side, also in sloppy spelling: "and whats the diff with gpt".
_ONE_SIDED = re.compile(
    r"(?:(?:and|so|but|ok|okay),? ){0,2}(?:what['’]?s|what is|what are|how is|is there)? ?(?:the |an? |any )?"
    r"(?:diffs?|differences?) (?:with|to|from|vs\.?|versus) "
    r"((?!(?:respect|regards?|the|an?|and|without|my|your|our|this|that|these|those|it|its|them)\b)"
    r"[\w.-]{2,30}(?: [\w.-]{2,30}){0,2}?)\s*[?.!]*",
    re.I,
)
_WHEN = re.compile(r"(?:(?:and|but|so) )?(when|where)(?: exactly)?\s*[?.!]*", re.I)
_HOW_MUCH_OF_IT = re.compile(  # after a question whether something can be done
    r"(?:(?:and|but|so|ok|okay),? )?"
    r"(?:how much(?: (?:is|does|would) (?:it|that)(?: be| cost)?)?|what does (?:it|that) cost)\s*[?.!]*",
    re.I,
)
_OF_MYSELF = re.compile(  # "I'm part time", "and I started in March"
    r"(?:(?:and|but|so|also|plus|well|oh|ok|okay),? )*(?:i|we)"
    r"(?:['’]?(?:m|re) | am | are | (?=(?:(?:only|just|also) )*(?:work|live|start|started|joined)\b))"
    r"(?:(?:just|only|also|still|now) )*"
    r"(?P<told>(?!\w+ing\b|(?:not|so|too|very|sorry|sure|fine|ok|okay|done|back|lost|stuck|here|ready|confused|afraid)\b)"
    r"[^?.!,;]{3,60})[.!]*",
    re.I,
)
_ASKS_FOR_MYSELF = re.compile(r"\b(?:i|we|me|us|my|our)\b", re.I)
_ASKING = re.compile(r"(?:(who|what|when|where|how)\b|(?:is|are|was|were|do|does|did|can|will)\b)(?! about\b)", re.I)
_CONTACT = terms([(word, 0.8) for word in ("contact", "service", "help")])  # where it is told whom to turn to
_BEFORE_ASKING = re.compile(  # "the tap drips, what can I do"
    r"[,;:] (?:(?:and|so|but) )?"
    r"(?=(?:who|what|when|where|which|how|why|can|could|should|shall|do|does|is|are|will|must|any)\b)",
    re.I,
)
_TAKES = re.compile(  # the doing, not the last thing that an answer named
    r"(?:(?:and|so|but|ok|okay),? )*how (?:long|much time) (?:does|will|would) "
    r"(?:(?:it|this|that)(?: all)?|everything|the (?:whole|entire) (?:thing|process|procedure)) take\s*[?.!]*",
    re.I,
)
_HOW_TO = re.compile(r"\bhow (?:do|can|could|should|would|must) (?:i|we|you|one)\b", re.I)
_DO_IT = re.compile(r"\bdo (?:it|that|this|so)\b", re.I)
_ACTION = re.compile(  # what a question asks whether or how to do: "swap shifts" in "can I swap shifts?"
    r"\b(?:(?:do|does|can|could|will|would|should|must|may) (?:i|we|you|they|one)"
    r"|what (?:do|would|will) (?:i|we|you|one) need (?:to (?:do|bring|have) )?to) "
    r"((?!have to\b|need to\b)[a-z][^?.!,;]{2,60}?)\s*[?.!]*$",
    re.I,
)
_ARTICLE = re.compile(r"(?:the|an?|my|our|your) ", re.I)
_IT_TO = re.compile(r"it (?:(?:cost|take|possible|allowed|free|ok|okay) )?to [a-z]", re.I)  # "how much is it to join?"
_HAS = re.compile(r"(?:have|need|get|want|pay|know|own)\b", re.I)  # then "it" is the thing


def parallel(message: str, seen: Sequence[Message]) -> Condensed | None:
    """Returns the last question asked again about something else, or None if the message does not do that."""
    text = message.strip()
    if going_on(text):
        return _go_on(text, seen)
    for phrase_in, rewrite in _FORMS:
        if phrase := phrase_in(text):
            return rewrite(phrase, seen)
    if OF_SEVERAL.search(text) and (of_all := _ask_of_all(text, seen)):
        return of_all
    if told := told_before(text, seen):
        return _ask_for_myself(text, told)
    return _ask_of_the_action(text, seen) or _ask_price_of_action(text, seen) or _ask_about_another(text, seen)


def question_so_far(seen: Sequence[Message]) -> str:
    """Returns the user's last full question, changed by the short ones after it, such as "and on Fridays?" or "and the
    gym?"."""
    last = ""
    for text in _newest_in_order(seen):
        if last and scales(text):
            continue
        last = (_changed(last, text) if last else "") or text
    return last


def _newest_in_order(seen: Sequence[Message]) -> list[str]:
    """Returns the user's newest messages: as many as may change one question."""
    return [text.strip() for text in islice(questions_newest_first(seen), MAX_CHANGES)][::-1]


def things_asked(seen: Sequence[Message]) -> list[str]:
    """Returns what the last question was asked of, one after the other: "ticket", "card" and "key" after "how much is
    a ticket?", "and a card?" and "and a key?". [] if it was asked of one thing only."""
    last, things = "", list[str]()
    for text in _newest_in_order(seen):
        if last and scales(text):
            continue
        changed = about_another(text, last) if last else None
        if changed:
            things = [*(things or [changed.replaced]), changed.thing]
        elif not adverbial(text):
            things = []
        last = changed.query if changed else (_changed(last, text) if last else "") or text
    bare = [_ARTICLE.sub("", each) for each in things]
    bare = [f"the {each}" if each.isdigit() else each for each in bare]  # "the 300" is no number to reckon with
    return bare if all(any(map(is_specific, words(each))) for each in bare) else []


def compared(message: str, seen: Sequence[Message]) -> list[Phrase]:
    """Returns the two subjects of a comparison that names neither: the last two that a question was asked of ("and the
    500?"), or else what was compared or asked about last."""
    pair = things_asked(seen)[-2:] if names_no_side(message) else []
    return [(each, 0.8) for each in pair] or compared_subjects(message, seen)


def _changed(last: str, message: str) -> str:
    """Returns the question as a short message changes it, or "" if it does not."""
    if phrase := adverbial(message):
        return with_adverbial(last, phrase)
    changed = about_another(message, last)
    return changed.query if changed else as_corrected(last, message)


def asks_again(message: str, question: str) -> bool:
    """Whether a message only changes what the last question is about, "what about a hamster?" or "I'm a student", and
    this is that question. Another time does not make it another question."""
    text = message.strip()
    changes = adverbial(text) or names_another(text)
    return bool(changes) and not TIMES.search(text) and question.split()[:2] != text.split()[:2]


def compared_with(message: str) -> str:
    """Returns the only side that a comparison names ("GPT" in "what's the difference to GPT?"), or ""."""
    found = _ONE_SIDED.fullmatch(message.strip())
    return found[1] if found else ""


# --- forms of the whole message -----------------------------------------------------------------------------------


def _compare_with_last_subject(other: str, seen: Sequence[Message]) -> Condensed | None:
    """ "And the difference to GPT?" after "What is BERT?"."""
    own = word_stems(other)
    subjects = map(subject, questions_newest_first(seen))
    side = next((found for found in subjects if found and not word_stems(found) <= own), "")
    if not side:
        return None
    reason = f"it compares “{other}” with “{side}”, which was asked about last"
    return Condensed(f"What is the difference between {side} and {other}?", terms([(side, 0.8)]), "rules", reason)


def _time_or_place_word(message: str) -> str:
    found = _WHEN.fullmatch(message)
    return found[1] if found else ""


def _ask_when_or_where(word: str, seen: Sequence[Message]) -> Condensed | None:
    """ "When?" after "Who wrote the Skerry Song?" asks when somebody wrote it, not when the song is."""
    asked_before = (text.strip() for text in questions_newest_first(seen))
    last = _with_its_subject(next((text for text in asked_before if not _WHEN.fullmatch(text)), ""), seen)
    asked = _ASKING.match(last)
    if not asked or not subject(last) or len(last) > MAX_QUESTION_CHARS:
        return None
    rest = last[asked.end(1) :].strip() if asked[1] else last[:1].lower() + last[1:]
    reason = f"it asks “{word.lower()}” of the last question"
    return Condensed(f"{word} {rest}", _content_terms(rest, 0.6), "rules", reason)


def _ask_with_adverbial(phrase: str, seen: Sequence[Message]) -> Condensed | None:
    """ "And on Sundays?" after "When is the mill open on Fridays?"."""
    last = _with_its_subject(question_so_far(seen), seen)
    query = with_adverbial(last, phrase)
    has_such_phrase = not query.startswith(last.rstrip(" ?.!"))
    pronoun = find_pronoun(last)
    points_nowhere = pronoun and (pronoun.personal or _IT_TO.match(last, pronoun.start))
    is_whole = bool(points_nowhere) if pronoun else len(content_words(last)) > 1 or bool(_ACTION.search(last))
    if not is_one_question(last) or not (subject(last) or has_such_phrase or is_whole):
        return None
    added = _content_terms(query, 0.5, without=phrase)
    return Condensed(query, added, "rules", f"it asks the last question again, “{phrase}”")


def _with_its_subject(question: str, seen: Sequence[Message]) -> str:
    """Returns a question with what "it" means in it, if an earlier question names that: "What does the fair cost?" for
    "What does it cost?" after "What is the fair?"."""
    pronoun = find_pronoun(question)
    if not pronoun or pronoun.personal or pronoun.plural or _IT_TO.match(question, pronoun.start):
        return question
    naming = (each for each in questions_newest_first(seen) if not (adverbial(each) or points_back(each)))
    subjects = map(subject, naming)
    asked = next(filter(None, subjects), "")
    return with_phrases(question, [asked]) if asked else question


# How to read a phrase from the message, and how to write the question with it. The first form that matches decides,
# even if no question can be written.
_FORMS: tuple[tuple[Callable[[str], str], Callable[[str, Sequence[Message]], Condensed | None]], ...] = (
    (compared_with, _compare_with_last_subject),
    (_time_or_place_word, _ask_when_or_where),
    (adverbial, _ask_with_adverbial),
)


def _ask_of_all(message: str, seen: Sequence[Message]) -> Condensed | None:
    """ "Which of these is cheaper?" after "How much is a card?" and "and a key?"."""
    *others, last = things_asked(seen) or [""]
    if not others:
        return None
    things = f"{', '.join(others)} and {last}"
    query = OF_SEVERAL.sub(f"of {things}", message, count=1)
    return Condensed(query, _content_terms(things, 0.8, without=message), "rules", f"it asks of “{things}”")


def _ask_of_the_action(message: str, seen: Sequence[Message]) -> Condensed | None:
    """ "How late can I do it?" after "Can I swap shifts?", "how long does it take?" after "how do I swap shifts?"."""
    if _TAKES.fullmatch(message):
        naming = (each for each in questions_newest_first(seen) if phrases(each) and not points_back(each))
        how = next(naming, "")
        done = _ACTION.search(how) if _HOW_TO.search(how) else None
        if done and not points_back(done[1]):
            query = f"{message.rstrip(' ?.!')} to {done[1]}"
            return Condensed(query, _content_terms(done[1], 0.8), "rules", f"“it” is to “{done[1]}”")
    asked = _ACTION.search(last_question(seen))
    if not asked or not _DO_IT.search(message) or points_back(asked[1]):
        return None
    action = asked[1]
    query = _DO_IT.sub(action, message, count=1)
    return Condensed(query, _content_terms(action, 0.8, without=message), "rules", f"“do it” means “{action}”")


def told_before(message: str, seen: Sequence[Message]) -> str:
    """Returns what the user told of themselves right before a question for themselves: "part time, started in March"
    for "How much leave do I get?" after "I'm part time" and "I started in March"."""
    if not is_one_question(message) or not _ASKS_FOR_MYSELF.search(message) or points_back(message):
        return ""
    before = map(_OF_MYSELF.fullmatch, map(str.strip, questions_newest_first(seen)))
    told = [found["told"] for found in takewhile(bool, before) if found and not STATE.search(found["told"])]
    return ", ".join(reversed(told))


def _ask_for_myself(message: str, told: str) -> Condensed:
    body = message.rstrip(" ?.!")
    query = f"{body} ({told}){message[len(body) :]}"
    return Condensed(query, _content_terms(told, 0.6, without=message), "rules", f"the user has said: “{told}”")


def _ask_price_of_action(message: str, seen: Sequence[Message]) -> Condensed | None:
    """ "How much?" after "Can I hire the hall?"."""
    asked = _ACTION.search(last_question(seen)) if _HOW_MUCH_OF_IT.fullmatch(message) else None
    if not asked or points_back(asked[1]) or _HAS.match(asked[1]) or HOW_MUCH.search(last_question(seen)):
        return None
    query = f"how much is it to {asked[1]}"
    return Condensed(query, _content_terms(asked[1], 0.8), "rules", f"it asks what it costs to “{asked[1]}”")


def _go_on(message: str, seen: Sequence[Message]) -> Condensed | None:
    """ "Who do I tell?" after "I lost my badge"."""
    asked = list(questions_newest_first(seen))
    naming = (each for each in asked if content_words(each) and not going_on(each))  # "how much is that" names nothing
    last = next(naming, asked[0] if asked else "")
    if not last or len(last) > MAX_QUESTION_CHARS:
        return None
    parts = (each for sentence in sentences(last) for each in _BEFORE_ASKING.split(sentence))
    topic = max(parts, key=lambda each: len(content_words(each))).rstrip(" ?.!")
    body = message.rstrip(" ?.!")
    reason = f"it goes on from the answer to “{topic}”"
    query = f"{body} ({topic}){message[len(body) :]}"
    asked_for = _CONTACT if going_on(message) in ("failed", "tried", "whom") else ()
    return Condensed(query, (*_content_terms(topic, 0.9, without=message), *asked_for), "rules", reason)


def _content_terms(text: str, weight: float, without: str = "") -> tuple[Term, ...]:
    excluded = word_stems(without)
    return tuple(Term(word, weight) for word in words(text) if is_content(word) and stem(word) not in excluded)


def _ask_about_another(message: str, seen: Sequence[Message]) -> Condensed | None:
    last = question_so_far(seen)
    changed = about_another(message, last)
    if not changed:
        return None
    reason = f"it asks the last question again, about “{changed.thing}” instead of “{changed.replaced}”"
    kept = _content_terms(last, 0.5, without=f"{changed.thing} {changed.replaced}")
    return Condensed(changed.query, kept, "rules", reason)
