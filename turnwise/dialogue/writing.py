"""Writes a standalone question from a message and phrases of the conversation, whoever chose them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from turnwise.english import MONTHS, WEEKDAYS
from turnwise.text import is_content, is_specific, phrases, sentences, stem, subject, words
from turnwise.types import Condensed, Edit, Message, Term

Phrase = tuple[str, float]  # as it was written, and the probability that the message leaves it out

RIVAL_SHARE = 0.6  # a phrase with at least this share of the best one's probability is as good a reading
MAX_READINGS = 3
MAX_QUESTION_CHARS = 300  # longer questions are not rewritten for another subject
MAX_ADVERBIAL_WORDS = 7

_LINK = r"(?:about|to|for|with|at|in|on|by|from|if|when|why|how|and|or)"  # after "her" if that is not a possessive
_SINGULAR = r"(?:it|this|that|he|she|him)"
_PRONOUN = re.compile(
    rf"\b(?:about|of|is|was|are|were|does|did|do|like|than|for|with|on|from|to|by|can|could|would|will|should|has|had|"
    rf"have|in|how|why|when|and)\s+({_SINGULAR}|they|them|these|those)\b(?!\s+(?:there|that)\b)"
    r"|\b(it|they|them|him|her)\s*[?.!]?$|^(it|this|that|they|he|she)\b"
    rf"|\b(them|him|her)\s+(?={_LINK}\b)",
    re.I,
)
_LOOKALIKE = re.compile(r"\b(?:IT|US)\b")
_POSSESSIVE = re.compile(rf"\b(its|their|his|her)\b(?=\s+(?!{_LINK}\b)\w)", re.I)
_SEVERAL = ("they", "them", "these", "those", "their")
_SEVERAL_THINGS = re.compile(r"[^suai]s$|people$|children$")
_MORE = re.compile(r".*\b(?:more|deeper|else|further|details?|elaborate|examples?)", re.I)
_PLURAL = re.compile(r"\b(?:they|them|these|those|both|the two)\b", re.I)
_COMPARING = re.compile(
    r"\b(?:(?:an? |any |the )?(overlap|differences?|relationship|relation|similarit(?:y|ies)|comparison)|compare|"
    r"differ|have in common|better|related|relate|connected)\b",
    re.I,
)
_SIDES = re.compile(r"\b(?:between|than|versus|vs|with|to|from)\b", re.I)
_ELLIPSIS = re.compile(
    r"(?:and|or|(?:and )?(?:what|how) about|what of)\s+(?!(?:the|its|his|her|their|this|that|these|those|it|them|in|"
    r"for|on|at|with|to|from|by|of|about|without|under|over|after|before|during|since|until|between|within|through|"
    r"your|my|an?|if|when|why|how|what|who|where|which|whats|hows|"
    r"wheres|whos|is|are|do|does|did|can|could|hers|his|mine|yours|ours|theirs)\b)([^?.!]{2,80}?)\s*[?.!]*",
    re.I,
)
_OWNER = re.compile(  # a name, not the word that a question begins with
    r"(?:(?:Dr|Prof|Mrs?|Ms)\. )?\b(?!(?:Wh\w+|How|It|That|There|Here|Is|Are|Was|Were|Do|Does|Did|Can)\b)"
    r"[A-Z][\w-]*(?: [A-Z][\w-]*)*['’]s\b"
)
_OWNERS = re.compile(r"[\w-]+(?: [\w.-]+){0,3}['’]s", re.I)
_ACTS = "open|close|start|begin|end|finish|stop|arrive|leave|depart"  # "and close?" asks about another act
_OTHER_ACT = re.compile(rf"(?:and|or) ({_ACTS})\s*[?.!]*", re.I)
_ACT = re.compile(rf"\b(?:do|does|did|will|can|must|should) .+ ({_ACTS})\s*[?.!]*$", re.I)
_AND_THE = re.compile(r"(?:and|or) ((?:the|my|our|your|an?) (?!one\b)[\w-]+(?: (?!one\b)[\w-]+)?)\s*[?.!]*", re.I)
_ATTRIBUTE = re.compile(  # "and the price?" asks about the same thing, not about another one
    r"\b(?:prices?|costs?|fees?|fines?|address|hours|times?|phone|number|e-?mail|deadline|limits?|authors?|date|dates|size|"
    r"age|weight|height|length|name|names|rules?|conditions?|terms|requirements?|reasons?|exceptions?|penalty|discounts?|"
    r"deposit|duration|location|place|website|contact|details?|others?|rest|advantages|disadvantages|difference)$",
    re.I,
)
_HOW_MUCH = re.compile(r"how much\b", re.I)
_CHARGE = re.compile(
    r"(?<!the )(?<!\ba )(?<!\bmy )\b(?:fees?|fines?|deposit|penalty)$", re.I
)  # with a word that says which
_CONDITION = re.compile(r"(?:(?:and|but|so|or),? )?(?:(?:what|how about) )?if\b", re.I)  # "and if I'm late?"
_PREDICATE = re.compile(r" (?:open|closed|free|available|due|located|allowed)$", re.I)  # not part of the name
_ONE_THING = re.compile(r"\b(?:the|my|our|your|an?) ", re.I)
_PEOPLE = re.compile(  # can take the place of "I"
    r"\b(?:children|child|kids?|babies|baby|adults?|seniors?|pensioners?|students?|pupils?|people|persons?|groups?|famil\w+|"
    r"friends?|wife|husband|partner|parents?|mother|father|son|daughter|colleagues?|\w+(?:ers|ors|er|or|ees|ists))\b|^(?-i:[A-Z])",
    re.I,
)
_ARTICLE = re.compile(r"\b(?:an?|the|my|our|any)\s$", re.I)
_BEFORE_VERB = re.compile(r"\b(?:do|does|did|can|could|will|would|should|must|may) (?:i|we|you|they|he|she) $", re.I)
# The subject that another can replace: everything "what is ..." asks about, or a name.
_SUBJECT = re.compile(
    r"^(?:[Ww]hat|[Ww]ho)(?: is| are|['’]s) (?:an? |the )?([^?,]{2,60}?)\?$|(?<=[a-z] )([A-Z][\w-]*(?: [A-Z][\w-]*)*)"
)
_PREPOSITION = r"in|on|at|for|with|without|from|by|under|over|after|before|during|since|until|between|within|through"
# What an amount or a time is asked of: "swimming" in "how much is swimming for kids?".
_MEASURED = re.compile(
    r"(?:how (?:much|long|far|often|old|big|high)|what time|when|where) (?:is|are|was|were|does|do|did) "
    rf"((?:(?!\b(?:{_PREPOSITION}|there|i|you|we|he|she|they|one)\b)[a-z][\w’'-]*\s?){{1,4}}?)"
    rf"(?: (?:costs?|open|close|start|begin|end|finish|take|last|run|leave|due|closed|{_PREPOSITION})\b.*)?\s*[?.!]*",
    re.I,
)
_CLAUSE = re.compile(
    r"\b(?:it['’]?s|is|are|isn['’]?t|aren['’]?t|won['’]?t|doesn['’]?t|not|has|have|does|do|can)\b", re.I
)
# A phrase that can extend a question: "and on Sundays?", but not a clause ("before it closes").
_ADVERBIAL = re.compile(
    rf"(?:(?:and|or|but|so),? )?(?:(?:what|how) about )?((?:{_PREPOSITION})\s"
    r"(?:(?!\b(?:wh\w+|how|it|its|they|them|their|this|that|these|those|he|him|his|she|her|i|we|you|is|are|was|were|do|"
    r"does|did|can|could|will|would|should|must|has|have|had|both|all|to|instance|sure)\b)[^?.!,;]|[.,](?=\d)){1,60}?)\s*[?.!]*",
    re.I,
)
_FIRST_PART = re.compile(rf"\s(?:{_PREPOSITION})\s", re.I)
_NEXT_PART = re.compile(
    rf"\s(?:{_PREPOSITION}|to|and|or|that|which|who|is|are|was|were|do|does|did|can|could|will|would|should|must|have|"
    r"costs?|takes?|lasts?|needs?|works?|starts?|begins?|ends?|opens?|closes?|"
    r"has|had|per)\b|\s*[?!,;()]|\.(?!\d)|$",
    re.I,
)
_DO_IT = re.compile(r"\bdo (?:it|that|this|so)\b", re.I)
_ACTION = re.compile(  # what a question asks whether or how to do: "swap shifts" in "can I swap shifts?"
    r"\b(?:do|does|can|could|will|would|should|must|may) (?:i|we|you|they|one) "
    r"((?!have to\b|need to\b)[a-z][^?.!,;]{2,60}?)\s*[?.!]*$",
    re.I,
)
_TIMES = re.compile(  # marks a phrase as one of time
    rf"\b(?:(?:{'|'.join(WEEKDAYS)}|weekday|birthday|holiday)s?|weekends?|{'|'.join(MONTHS)}|"
    r"spring|summer|autumn|fall|winter|mornings?|afternoons?|evenings?|"
    r"nights?|noon|midnight|easter|christmas|today|tomorrow|(?:1[5-9]|20)\d\d|\d{1,2}[:.]\d\d|\d{1,2} ?[ap]\.?m)\b"
    r"|\b(?:minute|hour|day|week|month|year)s?\b",
    re.I,
)
_WHICH = re.compile(r"(?:(?:and|so|but|then),? )?which (?:one )?is (?:the )?better(?: one)?\s*[?.!]*", re.I)
# A comparison that names one side, also in sloppy spelling: "and whats the diff with gpt".
_ONE_SIDED = re.compile(
    r"(?:(?:and|so|but|ok|okay),? ){0,2}(?:what['’]?s|what is|what are|how is|is there)? ?(?:the |an? |any )?"
    r"(?:diffs?|differences?) (?:with|to|from|vs\.?|versus) "
    r"((?!(?:respect|regards?|the|an?|and|without|my|your|our|this|that|these|those|it|its|them)\b)"
    r"[\w.-]{2,30}(?: [\w.-]{2,30}){0,2}?)\s*[?.!]*",
    re.I,
)
_WHEN = re.compile(r"(?:(?:and|but|so) )?(when|where)(?: exactly)?\s*[?.!]*", re.I)
_ASKING = re.compile(r"(?:(who|what|when|where|how)\b|(?:is|are|was|were|do|does|did|can|will)\b)(?! about\b)", re.I)
_ASKING_WORD = re.compile(
    r"^(?:(?:and|so|but|ok|okay),? )?(?:wh\w+|how|is|are|was|were|do|does|did|can|could|will|would|should|may|must)\b",
    re.I,
)
_GOING = re.compile(
    r"\b(?:go|goes|going|went|gone|get|gets|got|getting|come|comes|came|travel\w*|fly|drive|walk)\s+$", re.I
)
_BEFORE_PLACE = re.compile(r"\b(?:from|in|to|near|around|over|of)\s+$|^\s*$", re.I)
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
    first, *others = _readings(message, seen, chosen)
    quoted = ", ".join(f"“{phrase}”" for phrase, _ in first)
    reason = f"{why}; added {quoted} from the conversation"
    if others:
        reason += f"; it may also mean {' or '.join(f'“{other[0][0]}”' for other in others)}"
    query, *candidates = (with_phrases(message, _spans(message, seen, reading), edit) for reading in (first, *others))
    return Condensed(query, terms(first), method, reason, tuple(candidates))


def terms(chosen: Sequence[Phrase]) -> tuple[Term, ...]:
    """Returns the content words of the phrases, each with the probability of its phrase."""
    return tuple(
        Term(word, round(probability, 2))
        for phrase, probability in chosen
        for word in words(phrase)
        if is_content(word)
    )


def points_back(message: str) -> bool:
    """Whether the message has a pronoun that a phrase can replace."""
    return bool(_pronoun(message))


def last_question(history: Sequence[Message]) -> str:
    """Returns the text of the last user message, or "" if there is none."""
    return next(questions_newest_first(history), "")


def questions_newest_first(history: Sequence[Message]) -> Iterator[str]:
    return (message.content for message in reversed(history) if message.role == "user")


def agrees_in_number(message: str, phrase: str) -> bool:
    """Whether a phrase agrees in number with the message's pronoun, judged by its ending. A name ending in "s" may
    still be singular."""
    last = phrase.split()[-1:]
    several = bool(last and _SEVERAL_THINGS.search(last[0]))
    if _pronoun(message) in _SEVERAL:
        return several
    return not several or last[0][0].isupper()


def with_phrases(message: str, spans: Sequence[str], edit: Edit | None = None) -> str:
    """Returns the message with its pronoun replaced by the first span, or with that span placed where `edit` says. The
    remaining spans are added in parentheses at the end."""
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
    if pronoun := _pronoun_match(message):
        start, end = pronoun.span(pronoun.lastindex or 0)
        antecedent = rest.pop(0)
        ending = "" if pronoun.re is not _POSSESSIVE else "’" if antecedent.endswith("s") else "’s"
        body = body[:start] + antecedent + ending + body[end:]
    elif _MORE.fullmatch(body.strip()):
        return f"{body} about {' and '.join(rest)}{end_mark}"
    elif not edit or not _covers_whole_words(edit, body):
        pass
    elif edit.joint is None:
        body = body[: edit.start] + _place_preposition(body, edit) + rest.pop(0) + body[edit.end :]
    else:
        body = " ".join(filter(None, (body[: edit.end], edit.joint, rest.pop(0)))) + body[edit.end :]
    return f"{body} ({', '.join(rest)}){end_mark}" if rest else f"{body}{end_mark}"


def _place_preposition(body: str, edit: Edit) -> str:
    """Returns the preposition needed when a place replaces "there": "go there" becomes "go to Rome"."""
    if body[edit.start : edit.end].lower() not in ("there", "here") or _BEFORE_PLACE.search(body, 0, edit.start):
        return ""
    return "to " if _GOING.search(body, 0, edit.start) else "in "


def _covers_whole_words(edit: Edit, body: str) -> bool:
    beside = body[edit.start - 1 : edit.start] + body[edit.end : edit.end + 1]
    return edit.start < edit.end <= len(body) and not any(map(str.isalnum, beside))


# --- messages whose form determines the missing words -------------------------------------------------------------


def compared_subjects(message: str, seen: Sequence[Message]) -> list[Phrase]:
    """Returns the two subjects of a comparison that names neither: those compared last, or else the last two."""
    if not _COMPARING.search(message) or (_SIDES.search(message) and not _PLURAL.search(message)):
        return []
    own = {stem(word) for word in words(message)}
    last = last_question(seen)
    if _COMPARING.search(last):
        for pair in itertools.pairwise(phrases(last[:MAX_QUESTION_CHARS])):
            if _side_by_side(*pair, last):
                return [(each, 0.8) for each in pair]
    subjects: list[str] = []
    for found in map(subject, questions_newest_first(seen)):
        stems = {stem(word) for word in words(found)}
        if found and not stems <= own and all(stems != {stem(word) for word in words(kept)} for kept in subjects):
            subjects.append(found)
        if len(subjects) == 2:
            return [(each, 0.8) for each in reversed(subjects)]
    return []


def parallel(message: str, seen: Sequence[Message]) -> Condensed | None:
    """Returns the last question asked again about something else, or None if the message does not do that."""
    text = message.strip()
    for phrase_in, rewrite in _FORMS:
        if phrase := phrase_in(text):
            return rewrite(phrase, seen)
    return _ask_of_the_action(text, seen) or _of_another_thing(text, seen) or _of_another_subject(text, seen)


def _of_another_thing(message: str, seen: Sequence[Message]) -> Condensed | None:
    """ "And the fence?" after "How high can the shed be?"."""
    last = question_so_far(seen)
    changed = _with_another_thing(message, last)
    return _asked_again(changed, last, 0.5) if changed else None


def _of_another_subject(message: str, seen: Sequence[Message]) -> Condensed | None:
    """ "And GPT?" after "How is BERT trained?"."""
    last = question_so_far(seen)
    changed = _with_another_subject(message, last)
    return _asked_again(changed, last, 0.5) if changed else None


class _Changed(NamedTuple):
    """A question asked again about another thing."""

    query: str
    thing: str
    replaced: str


def _asked_again(changed: _Changed, last: str, weight: float) -> Condensed:
    reason = f"it asks the last question again, about “{changed.thing}” instead of “{changed.replaced}”"
    kept = _content_terms(last, weight, without=f"{changed.thing} {changed.replaced}")
    return Condensed(changed.query, kept, "rules", reason)


def _is_attribute(thing: str, last: str) -> bool:
    """Whether "and the price?" asks about the same thing. "And the late fee?" after "how much is ..." does not."""
    return bool(_ATTRIBUTE.search(thing)) and not (_HOW_MUCH.match(last) and _CHARGE.search(thing))


def _with_another_thing(message: str, last: str) -> _Changed | None:
    found = _AND_THE.fullmatch(message)
    things = list(_ONE_THING.finditer(last))
    if not found or len(things) != 1 or len(last) > MAX_QUESTION_CHARS:
        return None
    if not _ASKING_WORD.search(last) or len(sentences(last)) > 1:
        return None
    thing = found[1]
    start, end = things[0].span()
    replaced = _PREDICATE.sub("", next((phrase for phrase in phrases(last) if last.startswith(phrase, end)), ""))
    if not replaced or points_back(last) or _is_attribute(thing, last):
        return None
    return _Changed(last[:start] + thing + last[end + len(replaced) :], thing, replaced)


def _with_another_subject(message: str, last: str) -> _Changed | None:
    bare, with_article = _ELLIPSIS.fullmatch(message), _AND_THE.fullmatch(message)
    found = bare or with_article
    if not found or _ELLIPSIS.fullmatch(last) or _CONDITION.match(last) or len(last) > MAX_QUESTION_CHARS:
        return None
    ellipsis = _Ellipsis(message, found[1], last)
    for rule in _REPLACEMENT_RULES if bare else (_replace_measured,):
        if replacement := rule(ellipsis):
            replaced, query = replacement
            return _Changed(query, ellipsis.thing, replaced)
    return None


def _content_terms(text: str, weight: float, without: str) -> tuple[Term, ...]:
    excluded = {stem(word) for word in words(without)}
    return tuple(Term(word, weight) for word in words(text) if is_content(word) and stem(word) not in excluded)


class _Ellipsis(NamedTuple):
    """A message such as "and GPT?", the thing it names, and the question before it."""

    message: str
    thing: str
    last: str

    def replacing(self, start: int, end: int) -> tuple[str, str]:
        """Returns the part of the last question that the thing replaces, and the new question."""
        return self.last[start:end], self.last[:start] + self.thing + self.last[end:]


def _replace_act(ellipsis: _Ellipsis) -> tuple[str, str] | None:
    """ "And close?" after "When does the museum open?"."""
    act = _ACT.search(ellipsis.last) if _OTHER_ACT.fullmatch(ellipsis.message) else None
    return ellipsis.replacing(*act.span(1)) if act else None


def _replace_owner(ellipsis: _Ellipsis) -> tuple[str, str] | None:
    """ "And Lee's?" after "What is Blum's address?"."""
    owner = _OWNER.search(ellipsis.last) if _OWNERS.fullmatch(ellipsis.thing) else None
    return ellipsis.replacing(*owner.span()) if owner else None


def _replace_pronoun(ellipsis: _Ellipsis) -> tuple[str, str] | None:
    """ "And GPT?" after "How was it trained?"."""
    asked = _SUBJECT.search(ellipsis.last)
    names_something = asked is not None and bool(asked[2])
    if names_something or not points_back(ellipsis.last):
        return None
    return _pronoun(ellipsis.last), with_phrases(ellipsis.last, [ellipsis.thing])


def _replace_object(ellipsis: _Ellipsis) -> tuple[str, str] | None:
    """ "What about cats?" after "Can I have a dog?"."""
    last, asked = ellipsis.last, _SUBJECT.search(ellipsis.last)
    if not asked or asked[asked.lastindex or 0] != "I" or not subject(last) or _PEOPLE.search(ellipsis.thing):
        return None
    things = phrases(_FIRST_PART.split(last)[0])
    if not things:
        return None
    start = last.rindex(things[-1])
    if _BEFORE_VERB.search(last[:start]):  # "what should I wear"
        return None
    article = _ARTICLE.search(last[:start])
    return ellipsis.replacing(article.start() if article else start, start + len(things[-1]))


def _extend_attribute(ellipsis: _Ellipsis) -> tuple[str, str] | None:
    """ "What about shoes?" after "What are the pool rules?"."""
    asked = _SUBJECT.search(ellipsis.last)
    if not asked or not asked[1] or not _ATTRIBUTE.search(asked[1]):
        return None
    if _ATTRIBUTE.search(ellipsis.thing) or ellipsis.thing[0].isupper():
        return None
    return "everything", f"{ellipsis.last[: asked.end(1)]} for {ellipsis.thing}{ellipsis.last[asked.end(1) :]}"


def _replace_measured(ellipsis: _Ellipsis) -> tuple[str, str] | None:
    """ "And climbing?" after "How much is swimming?"."""
    asked = _MEASURED.fullmatch(ellipsis.last)
    own_clause = _CLAUSE.search(ellipsis.thing) or len(ellipsis.thing.split()) > 4
    if not asked or own_clause or points_back(ellipsis.last) or _is_attribute(ellipsis.thing, ellipsis.last):
        return None
    return ellipsis.replacing(*asked.span(1))


def _replace_subject(ellipsis: _Ellipsis) -> tuple[str, str] | None:
    """ "And GPT?" after "What is BERT?"."""
    asked = _SUBJECT.search(ellipsis.last)
    if not asked or not subject(ellipsis.last):
        return None
    replaced = asked[asked.lastindex or 0]
    if replaced == "I" and not _PEOPLE.search(ellipsis.thing):
        return None
    return ellipsis.replacing(*asked.span(asked.lastindex or 0))


# The first rule that applies is used.
_REPLACEMENT_RULES: tuple[Callable[[_Ellipsis], tuple[str, str] | None], ...] = (
    _replace_act,
    _replace_owner,
    _replace_pronoun,
    _replace_object,
    _extend_attribute,
    _replace_measured,
    _replace_subject,
)


def adverbial(message: str) -> str:
    """Returns the phrase that is all of a message ("on Sundays" for "and on Sundays?"), or ""."""
    found = _ADVERBIAL.fullmatch(message.strip())
    short = found and len(found[1].split()) <= MAX_ADVERBIAL_WORDS and any(map(is_specific, words(found[1])))
    return found[1] if found and short else ""


def with_adverbial(question: str, phrase: str) -> str:
    """Returns the question with the phrase in place of its own phrase with that preposition, if both or neither are
    times, and otherwise at its end: "When is it open on Fridays?" becomes "When is it open on Sundays?"."""
    preposition = phrase.split()[0]
    body = question.rstrip(" ?.!")
    for found in reversed(list(re.finditer(rf"\b{preposition}\b", body, re.I))):
        end = _NEXT_PART.search(body, found.end())
        own = body[found.start() : end.start() if end else len(body)]
        if own != found[0] and bool(_TIMES.search(own)) == bool(_TIMES.search(phrase)):
            return question[: found.start()] + phrase + question[found.start() + len(own) :]
    return f"{body} {phrase}{question[len(body) :].strip()}"


def question_so_far(seen: Sequence[Message]) -> str:
    """Returns the user's last full question, changed by the short ones after it, such as "and on Fridays?" or "and the
    gym?"."""
    last = ""
    for text in (each.content.strip() for each in seen if each.role == "user"):
        last = (_changed(last, text) if last else "") or text
    return last


def _changed(last: str, message: str) -> str:
    """Returns the question as a short message changes it, or "" if it does not."""
    if phrase := adverbial(message):
        return with_adverbial(last, phrase)
    changed = _with_another_thing(message, last) or _with_another_subject(message, last)
    return changed.query if changed else ""


def _ask_with_adverbial(phrase: str, seen: Sequence[Message]) -> Condensed | None:
    """ "And on Sundays?" after "When is the mill open on Fridays?"."""
    last = question_so_far(seen)
    if not _ASKING_WORD.search(last) or not subject(last) or len(last) > MAX_QUESTION_CHARS or len(sentences(last)) > 1:
        return None
    query = with_adverbial(last, phrase)
    added = _content_terms(query, 0.5, without=phrase)
    return Condensed(query, added, "rules", f"it asks the last question again, “{phrase}”")


def _time_or_place_word(message: str) -> str:
    found = _WHEN.fullmatch(message)
    return found[1] if found else ""


def _ask_when_or_where(word: str, seen: Sequence[Message]) -> Condensed | None:
    """ "When?" after "Who wrote the Skerry Song?" asks when somebody wrote it, not when the song is."""
    asked_before = (text.strip() for text in questions_newest_first(seen))
    last = next((text for text in asked_before if not _WHEN.fullmatch(text)), "")
    asked = _ASKING.match(last)
    if not asked or not subject(last) or len(last) > MAX_QUESTION_CHARS:
        return None
    rest = last[asked.end(1) :].strip() if asked[1] else last[:1].lower() + last[1:]
    added = tuple(Term(each, 0.6) for each in words(rest) if is_content(each))
    return Condensed(f"{word} {rest}", added, "rules", f"it asks “{word.lower()}” of the last question")


def _ask_of_the_action(message: str, seen: Sequence[Message]) -> Condensed | None:
    """ "How late can I do it?" after "Can I swap shifts?"."""
    asked = _ACTION.search(last_question(seen))
    if not asked or not _DO_IT.search(message) or points_back(asked[1]):
        return None
    action = asked[1]
    return Condensed(
        _DO_IT.sub(action, message, count=1),
        _content_terms(action, 0.8, without=message),
        "rules",
        f"“do it” means “{action}”",
    )


def compared_with(message: str) -> str:
    """Returns the only side that a comparison names ("GPT" in "what's the difference to GPT?"), or ""."""
    found = _ONE_SIDED.fullmatch(message.strip())
    return found[1] if found else ""


def _compare_with_last_subject(other: str, seen: Sequence[Message]) -> Condensed | None:
    """ "And the difference to GPT?" after "What is BERT?"."""
    own = {stem(word) for word in words(other)}
    subjects = map(subject, questions_newest_first(seen))
    side = next((found for found in subjects if found and not {stem(word) for word in words(found)} <= own), "")
    if not side:
        return None
    reason = f"it compares “{other}” with “{side}”, which was asked about last"
    return Condensed(f"What is the difference between {side} and {other}?", terms([(side, 0.8)]), "rules", reason)


# Forms that need no other check: how to read the phrase from the message, and how to write the question with it. The
# first form that matches decides, even if no question can be written.
_FORMS: tuple[tuple[Callable[[str], str], Callable[[str, Sequence[Message]], Condensed | None]], ...] = (
    (compared_with, _compare_with_last_subject),
    (_time_or_place_word, _ask_when_or_where),
    (adverbial, _ask_with_adverbial),
)


# --- readings -----------------------------------------------------------------------------------------------------


def _readings(message: str, seen: Sequence[Message], chosen: Sequence[Phrase]) -> list[list[Phrase]]:
    """Returns the phrases as one reading, or as several if more than one of them can replace a singular pronoun."""
    first, *rest = chosen
    rivals = [first]
    if _pronoun(message) not in ("", *_SEVERAL):
        for other in rest:
            if other[1] >= RIVAL_SHARE * first[1] and any(_coordinated(other[0], rival[0], seen) for rival in rivals):
                rivals.append(other)
    others = [each for each in rest if each not in rivals]
    return [[antecedent, *others] for antecedent in rivals][:MAX_READINGS]


def _spans(message: str, seen: Sequence[Message], reading: Sequence[Phrase]) -> list[str]:
    """Returns the phrases to write. For a plural pronoun, two that were written as "X and Y" become one."""
    spans = [phrase for phrase, _ in reading]
    if _pronoun(message) and not _COMPARING.search(message):
        spans[0] = with_article(spans[0], questions_newest_first(seen))
    if len(spans) > 1 and _pronoun(message) in _SEVERAL and not _COMPARING.search(message):
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


def without_lookalikes(message: str) -> str:
    """Returns the message with HR and UK in place of IT and US, which are not pronouns unless all is in capitals."""
    return message if message.isupper() else _LOOKALIKE.sub(lambda found: {"IT": "HR", "US": "UK"}[found[0]], message)


def _pronoun(message: str) -> str:
    """Returns the pronoun that a phrase can replace, in lower case, or ""."""
    found = _pronoun_match(message)
    return found[found.lastindex or 0].lower() if found else ""


def _pronoun_match(message: str) -> re.Match[str] | None:
    """Finds the pronoun that a phrase can replace. A pronoun after a sentence or clause that names something refers to
    that instead."""
    message = without_lookalikes(message)
    found = _POSSESSIVE.search(message) or _PRONOUN.search(message)
    before = message[: found.start(found.lastindex or 0)] if found else ""
    clause = max(before.rfind(mark) for mark in ".?!;,")
    return None if clause > 0 and phrases(before[:clause]) else found


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
