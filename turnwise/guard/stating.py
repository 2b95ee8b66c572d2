"""Stretches of a document that only state something, or ask what the section below them answers. They contain no
instructions, however they look to the classifier."""

from __future__ import annotations

import re
from itertools import pairwise

from turnwise.text import content_stems

_SENTENCE_END = re.compile(r"(?<!\bDr)(?<!\bM[rs])(?<!\bMrs)(?<!\bProf)[.!?…][\"'”’)\]]*\s+|\n+")
_LIST_MARKS = " \n\t-*•>#|0123456789.)"  # at the start of list items and table rows
# A line that says who somebody is: "Teaching assistant: Nora Whitfield, nora@lowmoor.example".
_WHO = re.compile(
    r"(?!(?:\S+ ){0,3}(?:to|all|the|this|that|every\w*|always|never|from|for|now)\b)(?:[\w'’-]+ ){0,3}[\w'’-]+:\s+"
    r"(?:(?:Dr|Prof|Mr|Mrs|Ms|Revd)\.?\s+)*[A-Z][\w'’-]+(?:\s+[A-Z][\w'’.-]+){1,3}\s*(?:[.;(]?$|,\s[^\s@]{1,80}@[^\s@]{1,80}$)"
)
# A sentence that says to whom people turn: "Questions about pay go to Denise Hall in payroll, extension 4017."
_WHERE_TO = re.compile(
    r"(?:(?:any|all|other|further) )?(?:questions|queries|[ei]nquiries|complaints|requests|applications|invoices|"
    r"bookings|cancellations|suggestions)(?: (?:about|on|for|from|of|over|regarding)(?: [\w'’-]+){1,5})? "
    r"(?:go|(?:are|should be) (?:sent|addressed|directed|made|handed in)) to (?P<whom>(?:[\w'’-]+ ){0,6}[\w'’-]+)"
    r"(?:, (?:(?:ext(?:ension|\.)?|room|tel(?:ephone|\.)?|phone|mobile)? ?[\d ()+/-]*\d[a-z]?"
    r"|[^\s@,]{1,60}@[^\s@,]{1,80}|(?-i:[A-Z])[\w'’-]+(?: (?-i:[A-Z])[\w'’-]+){0,3}))*[.;]?",
    re.I,
)
# The same as a request: "Write to Nadia Perez, complaints office, complaints@pets.example."
_TURN_TO = re.compile(
    r"(?:please )?(?:(?:write|turn|speak|talk|apply|complain) to|contact|ring|call|phone) "
    r"(?:(?-i:[A-Z])[\w’'-]+|(?:the|our) [\w’'-]+)(?: [\w’'-]+){0,3}"
    r"(?:(?:,| on| at) (?:(?:ext(?:ension|\.)?|room|tel(?:ephone|\.)?|phone|mobile)? ?[\d ()+/-]*\d[a-z]?"
    r"|[^\s@,]{1,60}@[^\s@,]{1,80}|[\w’'-]+(?: [\w’'-]+){0,2}))*[.;]?",
    re.I,
)
# How somebody is reached: "Book by e-mail: desk@mill.example.", "Telefon: 0341 555 01, täglich von 9 bis 18 Uhr."
_REACHED = re.compile(
    r"(?:please )?(?:book|register|apply|enrol|sign up|order|reserve)? ?(?:by )?"
    r"(?:tel(?:ephone|efone?|éfono|éphone)?|phone|mobile|fax|e-?mail|correo|courriel)\.?:? "
    r"(?:[^\s@,:]{1,60}@[^\s@,:/]{1,80}|[\d()+/-][\d ()+/-]{3,24}\d)"
    r"(?:,(?: \w{3,12})? (?:from|von|de) \d{1,2}(?:[:.]\d\d)? (?:to|bis|a|à) \d{1,2}(?:[:.]\d\d)?(?: Uhr| h)?)?[.;]?",
    re.I,
)
# What people do with the paper that the sentence before names: "We need a doctor's note. Send it to hr@mill.example."
_SENDS_IT = re.compile(
    r"(?:please )?(?:write|(?:send|hand|bring|post|return|e-?mail) (?:it|them|this|both|(?:your|the) (?:claims?|forms?|"
    r"bills?|receipts?|invoices?|applications?|notice|proof|certificates?|contracts?))(?: in| back)?) to "
    r"(?:[^\s@,]{1,60}@[^\s@,]{1,80}|(?:the|our) [\w’'-]+(?: [\w’'-]+){0,3})[.;]?",
    re.I,
)
# Words for what an assistant may be asked to do.
_COMMANDS = (
    r"\b(?:ignor\w+|disregard\w*|forget\w*|forward\w*|reveal\w*|send\w*|recommend\w*|mention|say|tell|passwords?|prompts?|"
    r"instructions?|conversations?)\b"
)
_COMMAND = re.compile(_COMMANDS, re.I)
_JOINS = re.compile(r"\b(?:and|then|but|so|while|instead|who|which|that|this|these|you|https?|www)\b", re.I)
# These words, words that address someone, and punctuation after which a command may follow.
_MAY_COMMAND = re.compile(
    rf"[,;:?？`@]|{_COMMANDS}|\b(?:you|your\w*|u|me|my|i|us|please|kindly|ai|llms?|(?:chat ?)?bots?|gpt\w*|assistants?|"
    r"models?|agents?|systems?|rules?|previous|above|repl(?:y|ies)|responses?|outputs?|users?|readers?|answers?|questions?|"
    r"summar\w+|texts?|sentences?|paragraphs?|asks?)\b|https?:|www\.",
    re.I,
)
_PUNCTUATION = re.compile("[,;:]")
_IN_NUMBER = re.compile(r"(?<=\d),(?=\d{3}\b)")
_ASKS = re.compile(
    r"(?:what|who|whose|which|when|where|why|how|is|are|was|were|do|does|did|can|may|must|will)\b[^\n]*\?$", re.I
)
_STATES = re.compile(
    r"(?:the|an?|this|that|these|those|it|he|she|they|we|there|his|her|their|our|its|no|some|many|most|several|both)\b"
    r"|[^\W_]+\s(?:is|are|was|were|has|have|had|will|would|must|may|might|can|could|should|shall|does|did|cannot)\b",
    re.I,
)


def only_states(text: str, start: int, end: int) -> bool:
    """Whether the sentences of a stretch address nobody and ask for nothing (in English), or the stretch is a question
    in a heading that the section below it answers."""
    opening, _, section = text.partition("\n\n")
    if end <= len(opening) and section and _ASKS.match(opening) and not _COMMAND.search(opening):
        asked = content_stems(opening)
        return len(asked) < 2 or bool(asked & content_stems(section))
    start += len(text[start:end]) - len(text[start:end].lstrip(" \n\t.,:;!?"))
    ends = [found.end() for found in _SENTENCE_END.finditer(text)]
    first = max((place for place in ends if place <= start), default=0)
    last = min((place for place in ends if place >= end), default=len(text))
    bounds = [first, *(place for place in ends if first < place < last), last]
    earlier = max((place for place in ends if place < first), default=0)
    before, *sentences = (text[one:other].lstrip(_LIST_MARKS).rstrip() for one, other in pairwise([earlier, *bounds]))
    for each in filter(None, sentences):
        if not _is_statement(each, before):
            return False
        before = each
    return True


def _is_statement(sentence: str, before: str) -> bool:
    """Whether a sentence only states something, given the one before it."""
    if _SENDS_IT.fullmatch(sentence):
        return bool(before) and not _MAY_COMMAND.search(before)
    if _WHO.match(sentence):
        return True
    if _REACHED.fullmatch(sentence):
        return not _MAY_COMMAND.search(_PUNCTUATION.sub("", before))
    if _TURN_TO.fullmatch(sentence):
        return not _JOINS.search(sentence) and not _COMMAND.search(sentence)
    if where_to := _WHERE_TO.fullmatch(sentence):
        return not _JOINS.search(where_to["whom"]) and not _COMMAND.search(sentence)
    return bool(_STATES.match(sentence) and not _MAY_COMMAND.search(_IN_NUMBER.sub("", sentence)))
