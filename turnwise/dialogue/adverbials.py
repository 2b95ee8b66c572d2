"""Messages that are only a phrase to add to a question, such as "and on Sundays?"."""

from __future__ import annotations

import re

from turnwise.english import MEN, MONTHS, OTHERS, WEEKDAYS, WOMEN
from turnwise.text import is_content, is_specific, words

MAX_ADVERBIAL_WORDS = 7
ADULT_AGE = 18

PREPOSITION = r"in|on|at|for|with|without|from|by|under|over|after|before|during|since|until|between|within|through"
# A phrase that can extend a question: "and on Sundays?", but not a clause ("before it closes").
_ADVERBIAL = re.compile(
    rf"(?:(?:and|or|but|so),? )?(?:(?:what|how) about )?((?:{PREPOSITION}|(?:to|of)(?= (?:the|my|our|your|an?)\b)|"
    r"(?:more|less|longer|later|earlier|older|younger) than)\s"
    r"(?:(?!\b(?:wh\w+|how|it|its|they|them|their|this|that|these|those|he|him|his|she|her|i|we|you|is|are|was|were|do|"
    r"does|did|can|could|will|would|should|must|has|have|had|both|all|to|instance|sure)\b)[^?.!,;]|[.,](?=\d)){1,60}?)\s*[?.!]*",
    re.I,
)
_NEXT_PART = re.compile(
    rf"\s(?:{PREPOSITION}|to|and|or|that|which|who|is|are|was|were|do|does|did|can|could|will|would|should|must|have|"
    r"costs?|takes?|lasts?|needs?|works?|starts?|begins?|ends?|opens?|closes?|"
    r"has|had|per)\b|\s*[?!,;()]|\.(?!\d)|$",
    re.I,
)
_TO_THE = re.compile(r"(?:to|of|for) the ", re.I)
_NUMBERED = re.compile(rf"\b(?!(?:{PREPOSITION})\b)([a-z]+) \d+$", re.I)
_MINE = rf"(?:my|our) (?:other )?(?:{MEN}|{WOMEN}|{OTHERS})s?"
# Whom the question is about: "I'm a student", "we're over 65", "what about my other son, he's in year 4".
_TOLD = re.compile(
    r"(?:(?:and|but|so|well|ok|okay|oh),? )?(?:(?:what|how) about )?"
    rf"(?:i(?:['’]?m| am)|(?:we|they)(?:['’]re| are)|theyre|(?:{_MINE},? )?(?:he|she)(?:['’]?s| is)"
    rf"|(?:for )?{_MINE}(?:['’]s| is| are| who(?:['’]?s| is)))"
    r" (?:(?:just|only|actually|already|now|still) )?(?:(?P<phrase>(?:in|on|from|over|under|between) .+)"
    r"|(?P<age>\d{1,3})(?: years? old)?|(?P<kind>(?:an? (?!bit\b|little\b|lot\b)|\d|two |three |four ).+))",
    re.I,
)
STATE = re.compile(  # what somebody feels, has or wants, and a price
    r"\b(?:hurry|rush|doubt|trouble|pain|luck|(?<!part[ -])(?<!full[ -])time|way|phone|minutes?|hours?|late|early|fan|"
    r"idiot|fool|no|you|euros?|pounds?|"
    r"dollars?)\b|[$€£]",
    re.I,
)
_GOES_ON = re.compile(
    r"[.?!,;]\s|\b(?:can|could|do|does|will|what|how|when|who|where|why|but|because|it|this|that)\b", re.I
)
_BACK = re.compile(r" (?:it|that|this|them|these|those)\b", re.I)
_ONE = re.compile(r"\bones?$", re.I)
TIMES = re.compile(  # marks a phrase as one of time
    rf"\b(?:(?:{'|'.join(WEEKDAYS)}|weekday|birthday|holiday)s?|weekends?|{'|'.join(MONTHS)}|"
    r"spring|summer|autumn|fall|winter|mornings?|afternoons?|evenings?|"
    r"nights?|noon|midnight|easter|christmas|today|tomorrow|(?:1[5-9]|20)\d\d|\d{1,2}[:.]\d\d|\d{1,2} ?[ap]\.?m)\b"
    r"|\b(?:minute|hour|day|week|month|year)s?\b(?! \d{1,2}\b)",  # "year 9" is a class
    re.I,
)
_DAY = rf"(?:{'|'.join(WEEKDAYS)})s?|weekdays?|(?:bank |public |school )?holidays?"
_DAYTIME = "mornings?|afternoons?|evenings?|nights?"
_SEASON = "spring|summer|autumn|winter"
_CLOCK = r"\d{1,2}(?:[:.]\d\d)? ?[ap]\.?m\.?|\d{1,2}:\d\d"
# A time without its preposition: "what about sundays?", "and Saturday mornings?", "the weekend?". Each kind with the
# preposition that it needs.
_BARE_TIME = re.compile(
    r"(?:(?:and|or|but|so),? )?(?:(?:what|how) about )?(?:"
    rf"(?P<on>(?:the |a )?(?:{_DAY})(?: (?:and|or|to) (?:{_DAY}))*(?: (?:{_DAYTIME}))?)"
    rf"|(?P<at>(?:the )?(?:weekends?|christmas|easter|noon|midnight)|{_CLOCK})"
    rf"|(?P<in>(?:the )?(?:mornings?|afternoons?|evenings?|{_SEASON})|(?!may\b)(?:{'|'.join(MONTHS)}))"
    rf"|(?P<none>(?:next |this |every )(?:\w+day|week|weekend|month|year|{_SEASON})|today|tomorrow|tonight))"
    r"(?: (?:too|then|instead|as well))?\s*[?.!]*",
    re.I,
)
_RELATIVE = re.compile(r"\b(?:today|tomorrow|tonight|(?:next|this|every) (?:week|weekend|month|year|\w+day))\b", re.I)
_CODE = re.compile(r"([a-z]{1,5}-?)\d{1,5}", re.I)
_BEFORE_TIME = "in|on|at|during|over"
_PLACE = re.compile(r"(?:in|at|on) (?:the|my|our|your) (?=\w)", re.I)  # "at the pool" is not "in the library" too
_PERIODS = tuple(  # "at weekends" takes the place of "on Fridays", but not of "in winter"
    re.compile(rf"\b(?:{each})s?\b", re.I)
    for each in (
        rf"{'|'.join(WEEKDAYS)}|weekday|weekend|holiday|today|tomorrow|christmas|easter",
        rf"{'|'.join(MONTHS)}|spring|summer|autumn|fall|winter",
        r"morning|afternoon|evening|night|noon|midnight",
    )
)


def adverbial(message: str) -> str:
    """Returns the phrase that is all of a message ("on Sundays" for "and on Sundays?" and "what about Sundays?"), or
    ""."""
    if told := circumstance(message):
        return told
    if time := _BARE_TIME.fullmatch(message.strip()):
        preposition = time.lastgroup or ""
        return time["none"] or f"{preposition} {time[preposition]}"
    found = _ADVERBIAL.fullmatch(message.strip())
    if not found or len(found[1].split()) > MAX_ADVERBIAL_WORDS:
        return ""
    names = is_content if _TO_THE.match(found[1]) else is_specific
    return found[1] if any(map(names, words(found[1]))) else ""


def circumstance(message: str) -> str:
    """Returns what a message tells of whom a question is about as a phrase to add to that question ("for a student" for
    "I'm a student"), or ""."""
    found = _TOLD.fullmatch(message.strip().rstrip(" .!"))
    if not found:
        return ""
    person = "a child" if int(found["age"] or 0) < ADULT_AGE else "an adult"
    told = found["phrase"] or f"for {found['kind'] or f'{person} aged ' + found['age']}"
    fits = len(told.split()) <= MAX_ADVERBIAL_WORDS and not STATE.search(told) and not _GOES_ON.search(told)
    return told if fits else ""


def same_with_number(phrase: str, question: str) -> re.Match[str] | None:
    """Returns what a phrase such as "for year 9" or "E5" replaces in a question: the same word with another number."""
    if code := _CODE.fullmatch(phrase):
        return re.search(rf"\b{code[1]}\d+\b", question, re.I)
    numbered = _NUMBERED.search(phrase)
    return re.search(rf"\b{numbered[1]} \d+\b", question, re.I) if numbered else None


def with_adverbial(question: str, phrase: str) -> str:
    """Returns the question with the phrase in place of its own phrase with that preposition, if both or neither are
    times, or of one about the same period, or of the only other place, and otherwise at its end: "When is it open on
    Fridays?" becomes "When is it open at weekends?"."""
    preposition = phrase.split()[0]
    body = question.rstrip(" ?.!")
    if other := same_with_number(phrase, body):
        return question[: other.start()] + " ".join(phrase.split()[-2:]) + question[other.end() :]
    relative = _RELATIVE.search(body)
    if relative and (_RELATIVE.fullmatch(phrase) or _of_same_period(relative[0], phrase)):
        return question[: relative.start()] + phrase + question[relative.end() :]
    for found in reversed(list(re.finditer(rf"\b(?:{preposition}|{_BEFORE_TIME})\b", body, re.I))):
        back = _BACK.match(body, found.end())
        end = _NEXT_PART.search(body, back.end() if back else found.end())
        own = body[found.start() : end.start() if end else len(body)]
        same = found[0].lower() == preposition.lower() and bool(TIMES.search(own)) == bool(TIMES.search(phrase))
        if own != found[0] and (same or _of_same_period(own, phrase)):
            named = _ONE.sub(own.split()[-1], phrase)
            return question[: found.start()] + named + question[found.start() + len(own) :]
    if place := _other_place(body, phrase):
        return body[: place.start] + phrase + question[place.stop :]
    return f"{body} {phrase}{question[len(body) :].strip()}"


def _other_place(question: str, phrase: str) -> slice | None:
    """Returns the only place that a question names ("in the museum"), if a phrase is a place too."""
    if not _is_place(phrase):
        return None
    starts = [found.start() for found in _PLACE.finditer(question)]
    ends = [found.start() if (found := _NEXT_PART.search(question, start + 3)) else len(question) for start in starts]
    places = [slice(*each) for each in zip(starts, ends, strict=True) if _is_place(question[slice(*each)])]
    return places[0] if len(places) == 1 else None


def _is_place(phrase: str) -> bool:
    return bool(_PLACE.match(phrase)) and not TIMES.search(phrase)


def _of_same_period(one: str, other: str) -> bool:
    return any(period.search(one) and period.search(other) for period in _PERIODS)
