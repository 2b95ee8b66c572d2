"""The last question asked about another thing, for a short message that names one: "and GPT?", "what about shoes?"."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from turnwise.dialogue.adverbials import PREPOSITION, TIMES, adverbial, same_with_number
from turnwise.dialogue.apart import RIVAL_WORD, rivals
from turnwise.dialogue.pronouns import agrees_in_number, find_pronoun, points_back
from turnwise.dialogue.writing import (
    MAX_QUESTION_CHARS,
    PREDICATE,
    questions_newest_first,
    with_phrases,
)
from turnwise.text import is_specific, phrases, sentences, subject, words
from turnwise.types import Message

_SUPERLATIVE = re.compile(r"the (?:\w+est|(?:most|least) \w+|best|worst)", re.I)
# What "and the lowest?" is asked of: "the limit" in "what's the limit for lunch?".
_COMPARABLE = re.compile(r"(?:what|which)(?:['’]?s| is| are) (?:the |my |our )?([a-z][\w-]*(?: [a-z][\w-]*)?)\b", re.I)
_DOER = re.compile(  # who does or gets something: "part-timers" in "do part-timers get leave?"
    r"(?:(?:(?:when|where|what|how(?: \w+)?) )?(?:do|does|did|can|could|may|must|should|will|are|is) )"
    r"((?!(?:i|you|we|they|he|she|it|there)\b)[\w-]+(?: staff| members)?) [a-z]{2,}",
    re.I,
)
_ASKING_WORD = re.compile(
    r"^(?:(?:and|so|but|ok|okay),? ){0,2}(?:wh\w+|how|is|are|was|were|do|does|did|can|could|will|would|should|may|"
    r"must)\b",
    re.I,
)
_ELLIPSIS = re.compile(  # "and GPT?"
    r"(?:and|or|(?:and )?(?:what|how) about|what of)\s+(?!(?:the|its|his|her|their|this|that|these|those|it|them|in|"
    r"for|on|at|with|to|from|by|of|about|without|under|over|after|before|during|since|until|between|within|through|"
    r"your|my|an?|if|when|why|how|what|who|where|which|whats|hows|"
    r"wheres|whos|is|are|do|does|did|can|could|hers|his|mine|yours|ours|theirs)\b)([^?.!]{2,80}?)\s*[?.!]*",
    re.I,
)
_AND_THE = re.compile(
    r"(?:and|or|(?:and )?(?:what|how) about) ((?:the|my|our|your|an?) (?!one\b)[\w-]+(?: [\w-]+)?)\s*[?.!]*", re.I
)
_NUMBER_ALONE = re.compile(  # "and 2?", "what about 60 %?"
    r"(?:and|or|(?:and )?(?:what|how) about) (?:number |no\.? ?)?(\d{1,4}(?:[.,:]\d+)?)"
    r"(?: ?(?:%|percent|per cent))?\s*[?.!]*",
    re.I,
)
_NUMBER = re.compile(r"(?<![\w.,:$€£¥])\d+(?:[.,:]\d+)*(?![\w:]|[.,]\d)")
_NUMBERED = re.compile(rf"\b(?!(?:{PREPOSITION}|to|of|the|is|are|do|does)\b)[a-z]+ $", re.I)  # "assignment" 1
_ONE_OF_A_KIND = re.compile(r"(an? [\w-]+ one)\s*[?.!]*", re.I)  # "a big one"
_OF_A_KIND = re.compile(r"(?:(?:the|my|our|your|an?) )?[\w-]+ ones?", re.I)
_FOR_A_THING = re.compile(r" for (?!it\b)([\w-]+(?: [\w-]+){0,2})\s*[?.!]*$", re.I)
_ONES = re.compile(r" ones?$", re.I)
_CONDITION = re.compile(r"(?:(?:and|but|so|or),? )?(?:(?:what|how about) )?if\b", re.I)  # "and if I'm late?"
_SECOND_PRONOUN = re.compile(r"\b(?:it|him|her|them|he|she|they)\b", re.I)
_ONE_THING = re.compile(r"\b(?:the|my|our|your|an?) ", re.I)
_ATTRIBUTE = re.compile(  # "and the price?" asks about the same thing, not about another one
    r"\b(?:prices?|costs?|fees?|fines?|address|hours|times?|phone|number|e-?mail|deadline|limits?|authors?|date|dates|size|"
    r"age|weight|height|length|name|names|rules?|conditions?|terms|requirements?|reasons?|exceptions?|penalty|discounts?|"
    r"deposit|duration|location|place|website|contact|details?|others?|rest|advantages|disadvantages|difference)$",
    re.I,
)
HOW_MUCH = re.compile(r"how much\b", re.I)
_CHARGE = re.compile(
    r"(?<!the )(?<!\ba )(?<!\bmy )\b(?:fees?|fines?|deposit|penalty)$", re.I
)  # with a word that says which
_ACTS = "open|close|start|begin|end|finish|stop|arrive|leave|depart"  # "and close?" asks about another act
_OTHER_ACT = re.compile(rf"(?:and|or) ({_ACTS})\s*[?.!]*", re.I)
_ACT = re.compile(rf"\b(?:do|does|did|will|can|must|should) .+ ({_ACTS})\s*[?.!]*$", re.I)
_OWNER = re.compile(  # a name, not the word that a question begins with
    r"(?:(?:Dr|Prof|Mrs?|Ms)\. )?\b(?!(?:Wh\w+|How|It|That|There|Here|Is|Are|Was|Were|Do|Does|Did|Can)\b)"
    r"[A-Z][\w-]*(?: [A-Z][\w-]*)*['’]s\b"
)
_OWNERS = re.compile(r"[\w-]+(?: [\w.-]+){0,3}['’]s", re.I)
# The subject that another can replace: everything "what is ..." asks about, or a name.
_SUBJECT = re.compile(
    r"^(?:[Ww]hat|[Ww]ho)(?: is| are|['’]s) (?:an? |the )?(?P<whole>[^?,]{2,60}?)\?$"
    r"|(?<=[a-z] )(?P<name>i\b|[A-Z][\w-]*(?: [A-Z][\w-]*)*)"
)
_COUNTED = re.compile(r"\b(?:[2-9]|\d\d+) [a-z][\w-]+", re.I)
_PEOPLE = re.compile(  # can take the place of "I"
    r"\b(?:children|child|kids?|babies|baby|adults?|seniors?|pensioners?|students?|pupils?|people|persons?|groups?|famil\w+|"
    r"friends?|wife|husband|partner|parents?|mother|father|son|daughter|colleagues?|\w+(?:ers|ors|er|or|ees|ists))\b|^(?-i:[A-Z])",
    re.I,
)
_ARTICLE = re.compile(r"\b(?:an?|the|my|our|any)\s$", re.I)
_ANY = re.compile(r"\b(?:an?|any)\s$", re.I)
_BEFORE_VERB = re.compile(r"\b(?:do|does|did|can|could|will|would|should|must|may) (?:i|we|you|they|he|she) $", re.I)
_HOW_MANY = re.compile(r"\bhow many $", re.I)
_DOING = re.compile(r"[a-z]+ing\b(?! \w+s\b)", re.I)
_FIRST_PART = re.compile(rf"\s(?:{PREPOSITION}|to|into|onto)\s", re.I)
# What an amount or a time is asked of: "swimming" in "how much is swimming for kids?".
_MEASURED = re.compile(
    r"(?:how (?:much|long|far|often|old|big|high)|what time|when|where|what(?=.* costs?\b)) "
    r"(?:is|are|was|were|does|do|did|will|would) "
    rf"((?:(?:\A|(?<=\s)|\s)(?!(?:{PREPOSITION}|there|i|you|we|he|she|they|one)\b)[a-z][\w’'-]*){{1,4}}?)"
    rf"(?: (?:costs?|open|close|start|begin|end|finish|take|last|run|leave|due|closed|{PREPOSITION})\b.*)?\s*[?.!]*",
    re.I,
)
_ASKED_OF = re.compile(  # the single word that "is breakfast included?" asks of
    r"(?:is|are|was|were) "
    r"(?!(?:i|you|we|they|he|she|one|it|this|that|these|those|there|here|not|my|our|your|the|an?|some|all|both|each|no|"
    r"any\w*|every\w*|some\w*)\b)"
    rf"([\w-]+) (?!(?:{PREPOSITION}|an?|the|of|to|and|or)\b)[\w-]+(?=\s*[?.!]*$| (?:{PREPOSITION})\b)",
    re.I,
)
_CLAUSE = re.compile(
    r"\b(?:it['’]?s|is|are|isn['’]?t|aren['’]?t|won['’]?t|doesn['’]?t|not|has|have|does|do|can)\b", re.I
)


class Changed(NamedTuple):
    """The last question asked about another thing, and what that thing replaces in it."""

    query: str
    thing: str
    replaced: str


class _Ellipsis(NamedTuple):
    """A message such as "and GPT?", the thing it names, and the question before it."""

    message: str
    thing: str
    last: str

    @property
    def subject(self) -> re.Match[str] | None:
        return _SUBJECT.search(self.last)

    def replacing(self, start: int, end: int) -> Changed:
        """Returns the last question with the thing in place of this part of it."""
        return Changed(self.last[:start] + self.thing + self.last[end:], self.thing, self.last[start:end])


def names_another(message: str) -> bool:
    """Whether a message only names a thing: "and the fence?", "what about cats?", "a big one"."""
    return any(form.fullmatch(message) for form in (_ELLIPSIS, _AND_THE, _ONE_OF_A_KIND, _NUMBER_ALONE))


def about_another(message: str, last: str) -> Changed | None:
    if number := _NUMBER_ALONE.fullmatch(message):
        return _replace_only_number(number[1], last)
    bare, with_article = _ELLIPSIS.fullmatch(message), _AND_THE.fullmatch(message)
    found = bare or with_article or _ONE_OF_A_KIND.fullmatch(message)
    if not found or len(last) > MAX_QUESTION_CHARS:
        return None
    ellipsis = _Ellipsis(message, found[1], last)
    if with_article and _SUPERLATIVE.fullmatch(ellipsis.thing):
        return _compare_all(ellipsis)
    of_a_kind = _OF_A_KIND.fullmatch(ellipsis.thing) is not None  # "the red one": of the kind asked about
    if with_article and not of_a_kind and (changed := _replace_only_thing(ellipsis)):
        return changed
    if _ELLIPSIS.fullmatch(last) or _CONDITION.match(last):
        return None
    rules = _RULES if bare else _RULES_FOR_A_KIND if of_a_kind else _RULES_WITH_ARTICLE
    return next((changed for rule in rules if (changed := rule(ellipsis))), None)


def focus(message: str, seen: Sequence[Message]) -> str:
    """Returns the thing that "it" means if the user just asked about another one ("and the bridge?"), or "". Questions
    after that which name nothing are still about it. Another time ("and on Sundays?") is no such thing, nor is what
    stands beside "it": "and Windows 10?" after "does it run on Windows 7?"."""
    pronoun = find_pronoun(message)
    if not pronoun or pronoun.plural or pronoun.personal:
        return ""
    asked = list(map(str.strip, questions_newest_first(seen)))
    another_time = False
    for place, text in enumerate(asked):
        if TIMES.search(adverbial(text)):
            another_time = True
            continue
        if _NUMBER_ALONE.fullmatch(text):
            last = next((each for each in asked[place:] if not _NUMBER_ALONE.fullmatch(each)), "")
            changed = about_another(text, last)
            return changed.thing if changed and " " in changed.thing else ""
        if found := _ELLIPSIS.fullmatch(text) or _AND_THE.fullmatch(text):
            if _stands_beside_it(text, asked[place + 1 :]):
                continue
            thing = found[1]
            is_name = not _ATTRIBUTE.search(thing) and not _CLAUSE.search(thing) and any(map(is_specific, words(thing)))
            is_name = is_name and agrees_in_number(message, thing)
            named = _ONES.sub("", _ONE_THING.sub("", thing, count=1))
            return named if is_name and not TIMES.search(thing) else ""
        if phrases(text) and not points_back(text):
            return PREDICATE.sub("", subject(text)) if another_time else ""
    return ""


def _stands_beside_it(text: str, before: Sequence[str]) -> bool:
    """Whether a message asks a question again that still has its pronoun then."""
    last = next((each for each in before if not names_another(each)), "")
    changed = about_another(text, last)
    return changed is not None and points_back(changed.query)


def is_one_question(text: str) -> bool:
    """Whether a text is a single question, and short enough to be rewritten."""
    return bool(_ASKING_WORD.search(text)) and len(text) <= MAX_QUESTION_CHARS and len(sentences(text)) <= 1


def _compare_all(ellipsis: _Ellipsis) -> Changed | None:
    """ "And the lowest?" after "What's the limit for lunch?" asks of all limits."""
    if other := _SUPERLATIVE.search(ellipsis.last):
        return ellipsis.replacing(*other.span())
    asked = _COMPARABLE.match(ellipsis.last)
    if not asked or not any(map(is_specific, words(asked[1]))):
        return None
    noun = asked[1].rpartition(" ")[2] if is_specific(asked[1].rpartition(" ")[2]) else asked[1].partition(" ")[0]
    query = f"what is {ellipsis.thing} {noun}"
    return Changed(query, f"{ellipsis.thing} {noun}", asked[0])


def _replace_doer(ellipsis: _Ellipsis) -> Changed | None:
    """ "And managers?" after "Do part-timers get a bonus?"."""
    asked = _DOER.match(ellipsis.last)
    if not asked or not _PEOPLE.search(asked[1]) or not _PEOPLE.search(ellipsis.thing):
        return None
    return ellipsis.replacing(*asked.span(1))


def _replace_only_thing(ellipsis: _Ellipsis) -> Changed | None:
    """ "And the fence?" after "How high can the shed be?"."""
    last, things = ellipsis.last, list(_ONE_THING.finditer(ellipsis.last))
    if len(things) != 1 or not is_one_question(last):
        return None
    start, end = things[0].span()
    thing = PREDICATE.sub("", next((phrase for phrase in phrases(last) if last.startswith(phrase, end)), ""))
    if not thing or points_back(last) or _is_attribute(ellipsis):
        return None
    query = last[:start] + ellipsis.thing + last[end + len(thing) :]
    return Changed(query, ellipsis.thing, thing)


def _replace_rival(ellipsis: _Ellipsis) -> Changed | None:
    """ "And red?" after "What does the green lamp mean?"."""
    others = rivals(ellipsis.thing)
    found = next((each for each in RIVAL_WORD.finditer(ellipsis.last) if each[0].lower() in others), None)
    return ellipsis.replacing(*found.span()) if found else None


def _replace_number(ellipsis: _Ellipsis) -> Changed | None:
    """ "And year 9?" after "Which clubs are for year 12?", "and E5?" after "What does E3 mean?", and "and 40 forks?"
    after "How much are 30 spoons?"."""
    other = same_with_number(ellipsis.thing, ellipsis.last) if len(ellipsis.thing.split()) <= 2 else None
    counted = list(_COUNTED.finditer(ellipsis.last)) if _COUNTED.fullmatch(ellipsis.thing) else []
    if not other and len(counted) == 1 and not _PEOPLE.search(ellipsis.thing):
        other = counted[0]
    return ellipsis.replacing(*other.span()) if other else None


def _replace_only_number(number: str, last: str) -> Changed | None:
    """ "And 2?" after "When is assignment 1 due?", "and 60?" after "Which grade do I get with 80 percent?"."""
    found = list(_NUMBER.finditer(last))
    named = any(is_specific(word) and not word[0].isdigit() for word in words(last))
    if len(found) != 1 or not named or not is_one_question(last) or points_back(last):
        return None
    start, end = found[0].span()
    noun = _NUMBERED.search(last, 0, start)
    name = noun[0] if noun else ""
    return Changed(last[:start] + number + last[end:], name + number, name + found[0][0])


def _replace_act(ellipsis: _Ellipsis) -> Changed | None:
    """ "And close?" after "When does the museum open?"."""
    act = _ACT.search(ellipsis.last) if _OTHER_ACT.fullmatch(ellipsis.message) else None
    return ellipsis.replacing(*act.span(1)) if act else None


def _replace_owner(ellipsis: _Ellipsis) -> Changed | None:
    """ "And Lee's?" after "What is Blum's address?"."""
    owner = _OWNER.search(ellipsis.last) if _OWNERS.fullmatch(ellipsis.thing) else None
    return ellipsis.replacing(*owner.span()) if owner else None


def _replace_pronoun(ellipsis: _Ellipsis) -> Changed | None:
    """ "And GPT?" after "How was it trained?"."""
    pronoun, asked = find_pronoun(ellipsis.last), ellipsis.subject
    beside = _FOR_A_THING.search(ellipsis.last) if pronoun else None
    if beside and not _PEOPLE.search(beside[1]) and not TIMES.search(beside[1]) and not _is_attribute(ellipsis):
        return ellipsis.replacing(*beside.span(1))  # "is it free for the pool?"
    if (
        not pronoun
        or _SECOND_PRONOUN.search(ellipsis.last, pronoun.end)
        or (asked and asked["name"] and asked["name"] != "i")
        or _ONE_THING.search(ellipsis.last)
        or _is_attribute(ellipsis)
    ):
        return None
    return Changed(with_phrases(ellipsis.last, [ellipsis.thing]), ellipsis.thing, pronoun.text)


def _replace_object(ellipsis: _Ellipsis) -> Changed | None:
    """ "What about cats?" after "Can I have a dog?"."""
    last, asked = ellipsis.last, ellipsis.subject
    if (
        not asked
        or asked[asked.lastindex or 0] not in ("I", "i")
        or not subject(last)
        or _PEOPLE.search(ellipsis.thing)
        or (_ONE_THING.match(ellipsis.thing) and _is_attribute(ellipsis))
    ):
        return None
    things = phrases(_FIRST_PART.split(last)[0])
    if _ONE_THING.match(ellipsis.thing) and len(things) == 1 and _BEFORE_VERB.search(last[: last.rindex(things[0])]):
        things = [each for each in phrases(last)[1:2] if last.rstrip(" ?.!").endswith(each)]  # "hand in homework"
    if not things:
        return None
    thing = PREDICATE.sub("", things[-1])
    start = last.rindex(thing)
    if _BEFORE_VERB.search(last[:start]):  # "what should I wear"
        return None
    if _HOW_MANY.search(last[:start]) and _DOING.match(ellipsis.thing):  # "and moving house?" is no number of days
        return None
    article = _ARTICLE.search(last[:start])
    return ellipsis.replacing(article.start() if article else start, start + len(thing))


def _extend_attribute(ellipsis: _Ellipsis) -> Changed | None:
    """ "What about shoes?" after "What are the pool rules?"."""
    last, thing, asked = ellipsis.last, ellipsis.thing, ellipsis.subject
    if not asked or not asked["whole"] or not _ATTRIBUTE.search(asked["whole"]):
        return None
    if _ATTRIBUTE.search(thing) or thing[0].isupper():
        return None
    end = asked.end("whole")
    return Changed(f"{last[:end]} for {thing}{last[end:]}", thing, "everything")


def _replace_measured(ellipsis: _Ellipsis) -> Changed | None:
    """ "And climbing?" after "How much is swimming?"."""
    asked = _MEASURED.fullmatch(ellipsis.last)
    own_clause = _CLAUSE.search(ellipsis.thing) or len(ellipsis.thing.split()) > 4
    if not asked or own_clause or points_back(ellipsis.last) or _is_attribute(ellipsis):
        return None
    return ellipsis.replacing(*asked.span(1))


def _replace_subject(ellipsis: _Ellipsis) -> Changed | None:
    """ "And GPT?" after "What is BERT?"."""
    asked = ellipsis.subject
    if not asked or not subject(ellipsis.last):
        return None
    group = asked.lastindex or 0
    if asked[group] in ("I", "i") and not _PEOPLE.search(ellipsis.thing):
        return None
    return ellipsis.replacing(*asked.span(group))


def _replace_asked_of(ellipsis: _Ellipsis) -> Changed | None:
    """ "And dinner?" after "Is breakfast included?"."""
    asked = _ASKED_OF.match(ellipsis.last)
    if not asked or points_back(ellipsis.last) or _is_attribute(ellipsis) or _CLAUSE.search(ellipsis.thing):
        return None
    return ellipsis.replacing(*asked.span(1))


def _replace_kind(ellipsis: _Ellipsis) -> Changed | None:
    """ "And the blue one?" after "How much is the red bike?"."""
    last = ellipsis.last
    named = phrases(PREDICATE.sub("", last.rstrip(" ?.!")))
    things = [each for each in named if " " in each] or [
        each for each in named[-1:] if _ANY.search(last[: last.rindex(each)])
    ]
    if not things or find_pronoun(last):
        return None
    noun = things[-1].split()[-1]
    if noun.endswith("s") != ellipsis.thing.endswith("ones"):
        return None
    start = last.rindex(things[-1])
    article = _ARTICLE.search(last[:start])
    replaced = slice(article.start() if article else start, start + len(things[-1]))
    kind = f"{ellipsis.thing.rpartition(' ')[0]} {noun}"
    return Changed(last[: replaced.start] + kind + last[replaced.stop :], kind, last[replaced])


# For things without an article. The first rule that applies is used.
_RULES: tuple[Callable[[_Ellipsis], Changed | None], ...] = (
    _replace_number,
    _replace_rival,
    _replace_act,
    _replace_owner,
    _replace_pronoun,
    _replace_doer,
    _replace_object,
    _extend_attribute,
    _replace_measured,
    _replace_subject,
    _replace_asked_of,
)


_RULES_WITH_ARTICLE = (_replace_measured, _replace_pronoun, _replace_object)
_RULES_FOR_A_KIND = (_replace_kind, _replace_pronoun)


def _is_attribute(ellipsis: _Ellipsis) -> bool:
    """Whether "and the price?" asks about the same thing. "And the late fee?" after "how much is ..." does not."""
    another_charge = HOW_MUCH.match(ellipsis.last) and _CHARGE.search(ellipsis.thing)
    return bool(_ATTRIBUTE.search(ellipsis.thing)) and not another_charge
