"""Writes a standalone question from a message and phrases of the conversation, whoever chose them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from turnwise.dialogue.pronouns import Pronoun, agrees_in_number, find_pronoun, means_child, names_person, person_meant
from turnwise.text import is_content, is_specific, phrases, stem, subject, word_stems, words
from turnwise.types import Condensed, Edit, Message, Term

Phrase = tuple[str, float]  # as it was written, and the probability that the message leaves it out

RIVAL_SHARE = 0.6  # a phrase with at least this share of the best one's probability is as good a reading
MAX_READINGS = 3
MAX_QUESTION_CHARS = 300  # longer questions are not rewritten for another subject

PREDICATE = re.compile(  # not part of a name before it
    r" (?:open|closed|free|available|due|located|allowed|worth|late|early|online|dark|warm|hot|cold|full|empty|busy|"
    r"quiet|safe|clean|dirty|accessible|necessary|mandatory|"
    r"(?!united|(?:un)?limited|squared|cubed)[a-z]{3,}[^\Wed_]ed)$",  # "heated"
    re.I,
)

_MORE = re.compile(r".*\b(?:more|deeper|else|further|details?|elaborate|examples?)", re.I)
_PLURAL = re.compile(r"\b(?:they|them|these|those|both|the two)\b", re.I)
OF_SEVERAL = re.compile(r"\bof (?:these|those|them)\b", re.I)  # not of a single thing
_COMPARING = re.compile(
    r"\b(?:(?:an? |any |the )?(overlap|differences?|relationship|relation|similarit(?:y|ies)|comparison)|compare|"
    r"differ|have in common|better|related|relate|connected)\b",
    re.I,
)
_SIDES = re.compile(r"\b(?:between|than|versus|vs|with|to|from)\b", re.I)
_ONE_SIDE = re.compile(r"\b(?:differ(?:s|ent)?|differences?|compares?|compared) (?:from|to|with|than)\b", re.I)
_WHICH = re.compile(
    r"(?:(?:and|so|but|then),? )?which (?:one )?is (?:the )?better(?: (?:one|choice))?"
    r"(?: (?:for|at|in|with|when) [^,?.!]+?)?\s*[?.!]*",
    re.I,
)
_GOING = re.compile(
    r"\b(?:go|goes|going|went|gone|get|gets|got|getting|come|comes|came|travel\w*|fly|drive|walk)\s+$", re.I
)
_BEFORE_PLACE = re.compile(r"\b(?:from|in|to|near|around|over|of)\s+$|^\s*$", re.I)
_NO_ANTECEDENT = re.compile(r"\d+|(?:mr|mrs|ms|miss|dr|prof)\.?", re.I)
_BEST_ROW = re.compile(r"[^\n:]+ of (?:the|these) \d+[^\n:]*:\s+(?:- )?([^:\n]{2,60}): [^\n]*\s*\Z")  # as we tell it
_NAME = re.compile(r"[A-Z][\w’'-]+(?: [A-Z][\w’'-]+)?")
_WITH_ARTICLE = re.compile(r"(?:the|an?|my|our|your) (?!person )", re.I)
_COORDINATED = re.compile(r",?\s(?:and|or|versus|vs\.?)\s(?:the |an? )?|,\s", re.I)


def standalone(
    message: str,
    seen: Sequence[Message],
    chosen: Sequence[Phrase],
    method: Literal["rules", "model"],
    why: str,
    edit: Edit | None = None,
) -> Condensed:
    """Returns the question written with these phrases, and its other readings. The first phrase replaces the pronoun;
    in a message without one, `edit` says where it goes."""
    chosen = _with_best(message, seen, _with_person(message, seen, chosen))
    first, *others = _readings(message, seen, chosen)
    quoted = ", ".join(f"“{phrase}”" for phrase, _ in first)
    reason = f"{why}; added {quoted} from the conversation"
    if others:
        reason += f"; it may also mean {' or '.join(f'“{other[0][0]}”' for other in others)}"
    pronoun = find_pronoun(message)
    keeps = bool(pronoun and means_child(pronoun, seen))
    readings = (_spans(message, seen, reading) for reading in (first, *others))
    query, *candidates = (with_phrases(message, spans, edit, keeps) for spans in readings)
    return Condensed(query, terms(first), method, reason, tuple(candidates))


def _with_best(message: str, seen: Sequence[Message], chosen: Sequence[Phrase]) -> Sequence[Phrase]:
    """Returns the phrases with the row first that the last answer told as the best: after "which tent is the lightest?"
    "it" is that tent, and not a tent."""
    told = _BEST_ROW.match(seen[-1].content) if seen and seen[-1].role == "assistant" else None
    pronoun = find_pronoun(message) if told else None
    if not told or not pronoun or pronoun.plural or pronoun.personal:
        return chosen
    named = set(words(told[1].lower()))
    asked = {stem(word.lower()) for word in words(last_question(seen))}
    others = [each for each in chosen if not (named | asked) & {*words(each[0].lower()), stem(each[0].lower())}]
    return [(told[1], max(probability for _, probability in chosen)), *others]


def _with_person(message: str, seen: Sequence[Message], chosen: Sequence[Phrase]) -> Sequence[Phrase]:
    """Returns the phrases with the person first that "he" or "she" in the message means."""
    pronoun = find_pronoun(message)
    if not pronoun or not pronoun.personal:
        return chosen
    if means_child(pronoun, seen):
        return [each for each in chosen if not names_person(each[0])] or chosen[:1]
    if _NAME.fullmatch(chosen[0][0]):
        return chosen
    person = next((phrase for phrase, _ in chosen if names_person(phrase)), "")
    person = person or person_meant(pronoun, seen)
    named = set(words(person.lower()))
    others = [each for each in chosen if not named & set(words(each[0].lower()))]
    return [(person, chosen[0][1]), *others] if person else chosen


def terms(chosen: Sequence[Phrase]) -> tuple[Term, ...]:
    """Returns the content words of the phrases, each with the probability of its phrase."""
    return tuple(
        Term(word, round(probability, 2))
        for phrase, probability in chosen
        for word in words(phrase)
        if is_content(word)
    )


def last_question(history: Sequence[Message]) -> str:
    """Returns the text of the last user message, or "" if there is none."""
    return next(questions_newest_first(history), "")


def questions_newest_first(history: Sequence[Message]) -> Iterator[str]:
    return (message.content for message in reversed(history) if message.role == "user")


def with_phrases(message: str, spans: Sequence[str], edit: Edit | None = None, keeps_pronoun: bool = False) -> str:
    """Returns the message with its pronoun replaced by the first span, or with that span placed where `edit` says. The
    remaining spans are added in parentheses at the end, and all of them if it keeps its pronoun."""
    if len(spans) == 2 and _COMPARING.search(message):
        both = f"{spans[0]} and {spans[1]}"
        if plural := _PLURAL.search(message):
            return message[: plural.start()] + both + message[plural.end() :]
        message = re.sub(r"\btheir\b", "the", message, count=1, flags=re.I)
        noun = _COMPARING.search(message)
        if noun and noun[1]:
            return f"{message[: noun.end()]} between {both}{message[noun.end() :]}"
        if _WHICH.fullmatch(message.strip()):
            return f"{message.strip().rstrip('?.!')}, {spans[0]} or {spans[1]}?"
    body = message.rstrip().rstrip("?.!").rstrip()
    end_mark = message[len(body) :].strip()
    rest = list(spans)
    if keeps_pronoun:
        pass
    elif (pronoun := find_pronoun(message)) and _can_replace(message, pronoun, rest[0]):
        antecedent = PREDICATE.sub("", rest.pop(0))
        ending = "" if not pronoun.possessive else "’" if antecedent.endswith("s") else "’s"
        body = body[: pronoun.start] + antecedent + ending + body[pronoun.end :]
    elif _MORE.fullmatch(body.strip()):
        return f"{body} about {' and '.join(rest)}{end_mark}"
    elif not edit or not _covers_whole_words(edit, body):
        pass
    elif edit.joint is None:
        body = body[: edit.start] + _place_preposition(body, edit) + rest.pop(0) + body[edit.end :]
    else:
        body = " ".join(filter(None, (body[: edit.end], edit.joint, rest.pop(0)))) + body[edit.end :]
    return f"{body} ({', '.join(rest)}){end_mark}" if rest else f"{body}{end_mark}"


def _can_replace(message: str, pronoun: Pronoun, phrase: str) -> bool:
    """Whether a phrase can be what a pronoun means: no number, no thing for "he", and no single thing for "these" in
    "which of these"."""
    if OF_SEVERAL.search(message) and not (agrees_in_number(message, phrase) or _COORDINATED.search(phrase)):
        return False
    is_thing = _WITH_ARTICLE.match(phrase) and not names_person(phrase)
    return not _NO_ANTECEDENT.fullmatch(phrase) and not (pronoun.personal and is_thing)


def _place_preposition(body: str, edit: Edit) -> str:
    """Returns the preposition needed when a place replaces "there": "go there" becomes "go to Rome"."""
    if body[edit.start : edit.end].lower() not in ("there", "here") or _BEFORE_PLACE.search(body, 0, edit.start):
        return ""
    return "to " if _GOING.search(body, 0, edit.start) else "in "


def _covers_whole_words(edit: Edit, body: str) -> bool:
    beside = body[edit.start - 1 : edit.start] + body[edit.end : edit.end + 1]
    return edit.start < edit.end <= len(body) and not any(map(str.isalnum, beside))


# --- comparisons --------------------------------------------------------------------------------------------------


def compared_subjects(message: str, seen: Sequence[Message]) -> list[Phrase]:
    """Returns the two subjects of a comparison that names neither: those compared last, or else the last two."""
    if not names_no_side(message):
        return []
    own = word_stems(message)
    last = last_question(seen)
    if _COMPARING.search(last):
        for pair in itertools.pairwise(phrases(last[:MAX_QUESTION_CHARS])):
            if _side_by_side(*pair, last):
                return [(each, 0.8) for each in pair]
    subjects: list[str] = []
    for found in map(_subject_or_side, questions_newest_first(seen)):
        stems = word_stems(found)
        if found and not stems <= own and all(stems != word_stems(kept) for kept in subjects):
            subjects.append(found)
        if len(subjects) == 2:
            return [(each, 0.8) for each in reversed(subjects)]
    return []


def names_no_side(message: str) -> bool:
    """Whether a message compares two things without naming one: "which is better?", "the difference between them?"."""
    return bool(_COMPARING.search(message)) and not (_SIDES.search(message) and not _PLURAL.search(message))


def _subject_or_side(question: str) -> str:
    """What a question is about, or the side that it names: GPT in "how does it differ from GPT?". What something is
    better for is no side."""
    if _WHICH.fullmatch(question.strip()):
        return ""
    named = phrases(question[:MAX_QUESTION_CHARS]) if _ONE_SIDE.search(question) else []
    return subject(question) or next(iter(named), "")


# --- readings -----------------------------------------------------------------------------------------------------


def _readings(message: str, seen: Sequence[Message], chosen: Sequence[Phrase]) -> list[list[Phrase]]:
    """Returns the phrases as one reading, or as several if more than one of them can replace a singular pronoun."""
    first, *rest = chosen
    rivals, pronoun = [first], find_pronoun(message)
    if pronoun and not pronoun.plural:
        for other in rest:
            if other[1] >= RIVAL_SHARE * first[1] and any(_coordinated(other[0], rival[0], seen) for rival in rivals):
                rivals.append(other)
    others = [each for each in rest if each not in rivals]
    return [[antecedent, *others] for antecedent in rivals][:MAX_READINGS]


def _spans(message: str, seen: Sequence[Message], reading: Sequence[Phrase]) -> list[str]:
    """Returns the phrases to write. For a plural pronoun, two that were written as "X and Y" become one."""
    spans = [phrase for phrase, _ in reading]
    pronoun = find_pronoun(message)
    if not pronoun or _COMPARING.search(message):
        return spans
    spans[0] = with_article(spans[0], questions_newest_first(seen))
    if len(spans) > 1 and pronoun.plural:
        for one, other in ((spans[0], spans[1]), (spans[1], spans[0])):
            if any(_side_by_side(one, other, each.content) for each in seen):
                return [f"{one} and {other}", *spans[2:]]
    return spans


def with_article(phrase: str, texts: Iterable[str]) -> str:
    """Returns a phrase with the article that the first of the texts with it gives it, "the" for "a": "the exam"."""
    for text in texts:
        if found := re.search(rf"\b(?:(the|my|our|your|an?) )?{re.escape(phrase)}\b(?=(.{{0,20}}))", text, re.I | re.S):
            goes_on = re.match(r"[ -]?(\w+)", found[2])
            whole = not goes_on or not is_specific(goes_on[1])
            article = (found[1] or "").lower() if whole else ""
            return f"{'the' if article in ('a', 'an') else article} {phrase}".strip()
    return phrase


def _coordinated(one: str, other: str, seen: Sequence[Message]) -> bool:
    """Whether two phrases were written side by side, as in "X and Y", which makes them alike."""
    return any(_side_by_side(one, other, each.content) or _side_by_side(other, one, each.content) for each in seen)


def _side_by_side(one: str, other: str, text: str) -> bool:
    start = text.find(one)
    while start >= 0:
        end = start + len(one)
        between = _COORDINATED.match(text, end)
        if between and text.startswith(other, between.end()):
            return True
        start = text.find(one, end)
    return False


def coordinated_subjects(question: str) -> list[str]:
    """Returns the subject of a question and what it is joined with: BERT and GPT in "How do BERT and GPT differ?"."""
    group: list[str] = []
    end = 0
    for phrase in phrases(question):
        start = question.index(phrase, end)
        if group and not _COORDINATED.fullmatch(question[end:start]):
            if subject(question) in group:
                break
            group = []
        group.append(phrase)
        end = start + len(phrase)
    return group if subject(question) in group else []
