"""What a question asks for besides its subject: a definition, steps, an example, or just more."""

from __future__ import annotations

import re

from turnwise.dialogue.asked_again import asks_again
from turnwise.dialogue.citing import abstains
from turnwise.dialogue.intent import is_question, objection
from turnwise.dialogue.language import CODES, wants_more
from turnwise.dialogue.wishes import read_wishes
from turnwise.extractive.kinds import ASIDE, MEASURE_WORDS, QUANTITIES, answer_patterns, without_measures
from turnwise.extractive.periods import PERIOD_STEMS
from turnwise.extractive.statements import Candidate, asked_stems
from turnwise.text import is_specific, sentences, words
from turnwise.types import Prompt
from turnwise.works import asks_for_gist

_DEFINITION = re.compile(
    r"^(?:so |and )?"
    r"(?!who (?:are|were) (?:the|your|our) [a-z-]+s (?:of|at|in|for|on)\b)"
    r"(?!what(?:['’]s| is| are| was| were) (?-i:[a-z]{2,}(?<!e)ed) (?:in|on|at|by|for|with|from|to|during)\b)"
    r"(?:(?:what|who)(?:['’]s| is| are| was| were) |define |what does (?=.* (?:mean|stand for)\b))(?:an? |the )?"
    r"[“\"]?(.+?)[”\"]?(?: about| (?:mean|stand for)(?: (?:in|for) .*)?)?(?: again| exactly)?\??$",
    re.I,
)
ALL_ABOUT = re.compile(  # about a subject of a few words, on which everything is wanted
    r"^(?:please |can you |could you )?(?:tell|show|give|print|write)(?: out| down)?(?: me| us)? "
    r"(?:(?:everything|all|anything|something|what) )?(?:(?:that )?(?:you|we) (?:have|know) )?(?:about|on) "
    r"(?=[\w’'-]+(?: [\w’'-]+){0,3}\W*$)(?!(?:it|this|that|them|how|why|what|when|where|who|which)\b)",
    re.I,
)
_EVERYTHING = re.compile(r"\b(?:everything|all|what) (?:(?:that )?(?:you|we) (?:have|know) )?(?:about|on)\b", re.I)
HOW_IT_WORKS = re.compile(r"\bhow (?:do|does|did) (.+) work\W*$", re.I)
# "What kinds of leave are there?" asks for all that a list names.
KINDS_OF = re.compile(
    r"\b(?:what|which) (?:other |different )?(?:kinds?|types?|sorts?) of "
    r"(?=.*\b(?:there|exist|you (?:have|offer|sell|take))\W*$)",
    re.I,
)
WHAT_ABOUT = re.compile(r"^(?:(?:and|so|but|ok|okay),? )?(?:(?:what|how) about|explain|describe|summari[sz]e)\b", re.I)
HOW_TO = re.compile(
    r"\bhow (?:do|can|could|should|would|must) (?:i|we|you|one)\b|\bhow to\b|\bsteps?\b"
    r"|^(?:und |et |y )?(?:wie \w+ (?:ich|wir|man)|comment (?:je|j|on|faire|puis)|c[óo]mo (?!es|son|est)\w+)\b",
    re.I,
)
# How somebody gets to a place, and the headings under which that is told.
ASKS_THE_WAY = re.compile(
    r"\bhow (?:do|can|could|should|would) (?:i|we|you|one) (?:get|come|travel|drive) (?:to|there|here)\b"
    r"|\bhow to (?:get (?:to|there|here)|find (?:you|it))\b",
    re.I,
)
TELLS_THE_WAY = re.compile(
    r"(?:getting|how to get|finding|how to find|reaching|how to reach) (?:here|there|us|to .+)"
    r"|(?:travel )?directions|travel|arrival|your journey|your way .+|where to find us",
    re.I,
)
_WANTS_TO = re.compile(
    r"(?:(?:hi|hello|hey|ok|okay|so|and),? )*(?:i|we)(?:['’]?d| would)? (?:want|like|love|need|wish) to "
    r"((?!(?:know|ask|hear|see|learn|understand|talk|speak|say|tell|find out|be|have)\b)[a-z][^.!?]{2,80})[.! ]*",
    re.I,
)
_MORE = re.compile(
    r"\b(?:more|deeper|else|continue|keep going|go on|elaborate|further|expand)\b|\bis that (?:all|it|everything)\W*$",
    re.I,
)
# "What do I need for it?", and the headings under which that is listed.
_THINGS = r"(?:materials?|equipment|ingredients|tools|supplies|apparatus)"
NEEDS = re.compile(
    r"\bwhat (?:else )?(?:do|does|will|would|should|must) (?:i|we|you|one) (?:\w+ )?need\b(?! to\b)"
    rf"|\bwhat is needed\b|\b(?:what|which) {_THINGS}\b",
    re.I,
)
MATERIALS = re.compile(
    rf"(?:\d[\d.]* )?(?:{_THINGS}(?: (?:and|&) \w+| needed)?"
    r"|(?:what )?you(?:['’]ll| will)? need|(?:what is|things) needed)",
    re.I,
)
EXAMPLE = re.compile(r"\bexamples?\b|\bfor instance\b|\bshow me\b", re.I)
ANOTHER_EXAMPLE = re.compile(r"\b(?:another|other|further|more|different|second) (?:\w+ )?examples?\b", re.I)
_WHO_TEACHES = re.compile(r"\bwho (?:is |are |will be )?(?:teach|lead|lectur|coach|train|instruct|giv|run)\w*\b", re.I)
_TEACHER = re.compile(r"(?:\w+ )?(?:lecturer|teacher|instructor|tutor|coach|trainer|leader)s?|(?:taught|led) by", re.I)
PRONOUN = re.compile(r"\b(?:it|its|they|them|their|this|that|these|those|he|him|his|she|her|such|both)\b", re.I)


def defined_topic(question: str) -> str:
    """What a question wants defined, or an empty string: "what is the price of" does not ask for a definition, nor
    "what is the paper about"."""
    found = _DEFINITION.match(question.strip())
    return found[1] if found and not asks_for_gist(question) and not answer_patterns(question, QUANTITIES) else ""


def wants_only_more(prompt: Prompt) -> bool:
    """Whether the user names nothing and only wants to hear more, or something that was not said before."""
    if objection(prompt.question, prompt.language) == "repeated":
        return True
    if prompt.language == "en" or prompt.language not in CODES:
        return bool(_MORE.search(prompt.question)) and not any(map(is_specific, words(prompt.question)))
    return wants_more(prompt.question, prompt.language)


def wants_several(prompt: Prompt) -> bool:
    """Whether one sentence that answers is not enough: for a comparison, for more, for all about a subject, and for how
    something works."""
    about = any(each.search(prompt.question) for each in (WHAT_ABOUT, ALL_ABOUT, HOW_IT_WORKS))
    return bool(prompt.sides or about) or wants_only_more(prompt)


def wants_all(prompt: Prompt) -> bool:
    """Whether the user wants everything on a subject, also what was said before: "show me all you have about moths"."""
    return bool(ALL_ABOUT.search(prompt.question) and _EVERYTHING.search(prompt.question))


def subject_of(question: str, prompt: Prompt) -> str:
    """The subject of a question that only asks for more, after it was completed from the conversation."""
    if prompt.language == "en" or prompt.language not in CODES:
        return " ".join(filter(is_specific, words(question))) or question
    return question.rpartition(": ")[2]


def as_typed(question: str, prompt: Prompt) -> str:
    """The message as it was typed, if it was completed although it names something itself: the documents may have
    nothing on what the conversation added, least of all where the last question had no answer. Otherwise an empty
    string; also if an amount or a time is asked of another thing, which other sentences about it do not tell."""
    if asks_again(prompt.question, question) and answer_patterns(question, QUANTITIES):
        return ""
    if asked_stems(prompt.question) <= PERIOD_STEMS:  # "and on Sundays?" names nothing that has hours
        return ""
    asked = without_measures(asked_stems(prompt.question)) if any(map(abstains, prompt.said[-1:])) else set()
    named = any(map(is_specific, words(prompt.question))) or (asked and is_question(prompt.question))
    return prompt.question if named and not PRONOUN.search(prompt.question) and _was_completed(question, prompt) else ""


def without_aside(question: str, prompt: Prompt) -> str:
    """A completed question without the words that only might be meant, in brackets at its end; empty if it has none."""
    bare = ASIDE.sub("", question)
    is_new = bare not in (question, prompt.question) and "(" not in prompt.question
    return bare if is_new and _was_completed(question, prompt) else ""


def leans_on_answer(question: str, prompt: Prompt) -> bool:
    """Whether a message was completed that points at something and names what it asks of it: "is that significant?"."""
    named = bool(asked_stems(prompt.question) - MEASURE_WORDS) and bool(PRONOUN.search(prompt.question))
    return named and _was_completed(question, prompt)


def _was_completed(question: str, prompt: Prompt) -> bool:
    alone = prompt.language == "en" and len(prompt.asked) == 1 and not prompt.sides
    return alone and question != prompt.question


def as_question(message: str) -> str:
    """What a user wants to do as a question: "I'd like to return a lamp" is "can I return a lamp?"."""
    found = _WANTS_TO.fullmatch(message.strip())
    return f"can I {found[1]}?" if found else message


def without_wishes(question: str) -> str:
    """A question without the sentences that only say what answers should be like."""
    return " ".join(each for each in sentences(question) if not read_wishes(each).only) or question


def added_weights(prompt: Prompt) -> dict[str, float]:
    """How surely each word that the conversation added is meant, by its stem."""
    own = asked_stems(prompt.question)
    return {key: term.weight for term in prompt.added for key in asked_stems(term.text) if key not in own}


def prefers(prompt: Prompt, wish: str) -> bool:
    return prompt.state is not None and wish in prompt.state.preferences


def is_teacher_asked(candidate: Candidate, question: str) -> bool:
    """Whether a field says who teaches or leads something, "Lecturer: Ida Moe", and the question asks that."""
    (_, name), *_ = candidate.statement.cells or (("", ""),)
    return bool(_TEACHER.fullmatch(name) and _WHO_TEACHES.search(question))
