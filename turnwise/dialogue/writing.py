"""Writing: a question that stands alone, made from the message and phrases that were said, whoever chose them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Literal

from turnwise.english import MONTHS, WEEKDAYS
from turnwise.text import is_content, is_specific, phrases, sentences, stem, subject, words
from turnwise.types import Condensed, Edit, Message, Term

Phrase = tuple[str, float]  # as it was said, and the probability that the message leaves it out

NEARLY = 0.6  # share of the likeliest phrase's probability from which another is as good a reading
MOST_READINGS = 3
LONGEST_QUESTION = 300  # characters of a question that is asked again of another subject

_LINK = r"(?:about|to|for|with|at|in|on|by|from|if|when|why|how|and|or)"  # behind "her" where that is no possessive
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
_ACTS = "open|close|start|begin|end|finish|stop|arrive|leave|depart"  # of which the last question may be asked again
_OTHER_ACT = re.compile(rf"(?:and|or) ({_ACTS})\s*[?.!]*", re.I)
_ACT = re.compile(rf"\b(?:do|does|did|will|can|must|should) .+ ({_ACTS})\s*[?.!]*$", re.I)
_AND_THE = re.compile(r"(?:and|or) ((?:the|my|our|your|an?) (?!one\b)[\w-]+(?: (?!one\b)[\w-]+)?)\s*[?.!]*", re.I)
_OF_A_THING = re.compile(  # what a thing has: it is asked for besides, not in its place
    r"\b(?:prices?|costs?|fees?|fines?|address|hours|times?|phone|number|e-?mail|deadline|limits?|authors?|date|dates|size|"
    r"age|weight|height|length|name|names|rules?|conditions?|terms|requirements?|reasons?|exceptions?|penalty|discounts?|"
    r"deposit|duration|location|place|website|contact|details?|others?|rest|advantages|disadvantages|difference)$",
    re.I,
)
_SAID_OF_IT = re.compile(r" (?:open|closed|free|available|due|located|allowed)$", re.I)  # no part of its name
_ONE_THING = re.compile(r"\b(?:the|my|our|your|an?) ", re.I)
_PEOPLE = re.compile(  # who may do what "I" may
    r"\b(?:children|child|kids?|babies|baby|adults?|seniors?|pensioners?|students?|pupils?|people|persons?|groups?|famil\w+|"
    r"friends?|wife|husband|partner|parents?|mother|father|son|daughter|colleagues?|\w+(?:ers|ors|er|or|ees|ists))\b|^(?-i:[A-Z])",
    re.I,
)
_ARTICLE = re.compile(r"\b(?:an?|the|my|our|any)\s$", re.I)
# The subject of a question that another can take the place of: all that "what is ..." asks about, or a name.
_SUBJECT = re.compile(
    r"^(?:[Ww]hat|[Ww]ho)(?: is| are|['’]s) (?:an? |the )?([^?,]{2,60}?)\?$|(?<=[a-z] )([A-Z][\w-]*(?: [A-Z][\w-]*)*)"
)
# What a question may go on with: "and on Sundays?". A clause ("before it closes") is no such phrase.
_PREPOSITION = r"in|on|at|for|with|without|from|by|under|over|after|before|during|since|until|between|within|through"
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
_TIMES = re.compile(  # what tells a phrase of time from one of anything else
    rf"\b(?:(?:{'|'.join(WEEKDAYS)}|weekday|birthday|holiday)s?|weekends?|{'|'.join(MONTHS)}|"
    r"spring|summer|autumn|fall|winter|mornings?|afternoons?|evenings?|"
    r"nights?|noon|midnight|easter|christmas|today|tomorrow|(?:1[5-9]|20)\d\d|\d{1,2}[:.]\d\d|\d{1,2} ?[ap]\.?m)\b"
    r"|\b(?:minute|hour|day|week|month|year)s?\b",
    re.I,
)
LONGEST_ADVERBIAL = 7  # words
_WHICH = re.compile(r"(?:(?:and|so|but|then),? )?which (?:one )?is (?:the )?better(?: one)?\s*[?.!]*", re.I)
# One side of a comparison, in whatever spelling: "and whats the diff with gpt".
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
    """The question written with these phrases, the antecedent of its pronoun first, and its other readings. `edit` says
    where the first phrase belongs, for a message without a pronoun."""
    first, *others = _readings(message, seen, chosen)
    quoted = ", ".join(f"“{phrase}”" for phrase, _ in first)
    reason = f"{why}; added {quoted} from the conversation"
    if others:
        reason += f"; it may also mean {' or '.join(f'“{other[0][0]}”' for other in others)}"
    query, *candidates = (written(message, _spans(message, seen, reading), edit) for reading in (first, *others))
    return Condensed(query, terms(first), method, reason, tuple(candidates))


def terms(chosen: Sequence[Phrase]) -> tuple[Term, ...]:
    """The content words of phrases, each with its phrase's probability."""
    return tuple(
        Term(word, round(probability, 2))
        for phrase, probability in chosen
        for word in words(phrase)
        if is_content(word)
    )


def points_back(message: str) -> bool:
    """Whether the message has a pronoun that a phrase can take the place of."""
    return bool(_pronoun(message))


def agrees(message: str, phrase: str) -> bool:
    """Whether a phrase has the number of the message's pronoun, by its ending; of a name that tells less."""
    last = phrase.split()[-1:]
    several = bool(last and _SEVERAL_THINGS.search(last[0]))
    if _pronoun(message) in _SEVERAL:
        return several
    return not several or last[0][0].isupper()


def written(message: str, spans: Sequence[str], edit: Edit | None = None) -> str:
    """The question with its pronoun replaced by the first span, or that put where the edit says; what finds no place
    stands in brackets at the end."""
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
    if pointing := _pointing(message):
        start, end = pointing.span(pointing.lastindex or 0)
        named = rest.pop(0)
        ending = "" if pointing.re is not _POSSESSIVE else "’" if named.endswith("s") else "’s"
        body = body[:start] + named + ending + body[end:]
    elif _MORE.fullmatch(body.strip()):
        return f"{body} about {' and '.join(rest)}{end_mark}"
    elif not edit or not _of_words(edit, body):
        pass
    elif edit.joint is None:
        body = body[: edit.start] + _to_there(body, edit) + rest.pop(0) + body[edit.end :]
    else:
        body = " ".join(filter(None, (body[: edit.end], edit.joint, rest.pop(0)))) + body[edit.end :]
    return f"{body} ({', '.join(rest)}){end_mark}" if rest else f"{body}{end_mark}"


def _to_there(body: str, edit: Edit) -> str:
    """What must stand before the name of a place that is written for "there": "go there", "go to Rome"."""
    if body[edit.start : edit.end].lower() not in ("there", "here") or _BEFORE_PLACE.search(body, 0, edit.start):
        return ""
    return "to " if _GOING.search(body, 0, edit.start) else "in "


def _of_words(edit: Edit, body: str) -> bool:
    """Whether an edit is of whole words, so that what is put there does not run into another."""
    beside = body[edit.start - 1 : edit.start] + body[edit.end : edit.end + 1]
    return edit.start < edit.end <= len(body) and not any(map(str.isalnum, beside))


# --- forms that choose their own words ----------------------------------------------------------------------------


def compared(message: str, seen: Sequence[Message]) -> list[Phrase]:
    """The two subjects of a comparison that names neither: those that were compared last, else the last two."""
    if not _COMPARING.search(message) or (_SIDES.search(message) and not _PLURAL.search(message)):
        return []
    own = {stem(word) for word in words(message)}
    last = next((each.content for each in reversed(seen) if each.role == "user"), "")
    if _COMPARING.search(last):
        for pair in itertools.pairwise(phrases(last[:LONGEST_QUESTION])):
            if _side_by_side(*pair, last):
                return [(each, 0.8) for each in pair]
    subjects: list[str] = []
    for each in reversed(seen):
        found = subject(each.content) if each.role == "user" else ""
        stems = {stem(word) for word in words(found)}
        if found and not stems <= own and all(stems != {stem(word) for word in words(kept)} for kept in subjects):
            subjects.append(found)
        if len(subjects) == 2:
            return [(each, 0.8) for each in reversed(subjects)]
    return []


def parallel(message: str, seen: Sequence[Message]) -> Condensed | None:
    """ "And GPT?" after "How is BERT trained?": the last question asked again of another subject. "And the difference
    to GPT?": the subject of the last question compared with another. "And on Sundays?": the last question so."""
    if other := one_sided(message):
        return _both_sides(other, seen)
    if bare := _WHEN.fullmatch(message.strip()):
        return _asked_anew(bare[1], seen)
    if phrase := adverbial(message):
        return _asked_so(phrase, seen)
    if (thing := _AND_THE.fullmatch(message.strip())) and (whole := _of_another(thing[1], seen)):
        return whole
    found = _ELLIPSIS.fullmatch(message.strip())
    last = next((each.content.strip() for each in reversed(seen) if each.role == "user"), "")
    if not found or _ELLIPSIS.fullmatch(last) or len(last) > LONGEST_QUESTION:
        return None
    asked = _SUBJECT.search(last)
    if (act := _OTHER_ACT.fullmatch(message.strip())) and (asked_act := _ACT.search(last)):
        replaced, query = asked_act[1], last[: asked_act.start(1)] + act[1] + last[asked_act.end(1) :]
    elif _OWNERS.fullmatch(found[1]) and (owner := _OWNER.search(last)):
        replaced, query = owner[0], last[: owner.start()] + found[1] + last[owner.end() :]
    elif points_back(last) and not (asked and asked[2]):  # "How was it trained?" names nothing
        replaced, query = _pronoun(last), written(last, [found[1]])
    elif asked and subject(last):
        start, end = asked.span(asked.lastindex or 0)
        if last[start:end] == "I" and not _PEOPLE.search(found[1]) and (things := phrases(_FIRST_PART.split(last)[0])):
            end = last.rindex(things[-1]) + len(things[-1])  # "can I have a dog?", "what about cats"
            article = _ARTICLE.search(last[: end - len(things[-1])])
            start = article.start() if article else end - len(things[-1])
        replaced, query = last[start:end], last[:start] + found[1] + last[end:]
    else:
        return None
    own = {stem(word) for word in words(f"{message} {replaced}")}
    added = tuple(Term(word, 0.5) for word in words(last) if is_content(word) and stem(word) not in own)
    return Condensed(query, added, "rules", f"it asks the last question again, of “{found[1]}” instead of “{replaced}”")


def _of_another(thing: str, seen: Sequence[Message]) -> Condensed | None:
    """The last question asked of another thing, where it asked how, when or who of one: "how high can the shed be?"."""
    last = next((each.content.strip() for each in reversed(seen) if each.role == "user"), "")
    places = list(_ONE_THING.finditer(last))
    if len(places) != 1 or len(last) > LONGEST_QUESTION or not _ASKING_WORD.search(last) or len(sentences(last)) > 1:
        return None
    start, end = places[0].span()
    named = _SAID_OF_IT.sub("", next((phrase for phrase in phrases(last) if last.startswith(phrase, end)), ""))
    if not named or points_back(last) or _OF_A_THING.search(thing):
        return None
    own = {stem(word) for word in words(thing)}
    added = tuple(Term(word, 0.3) for word in words(last) if is_content(word) and stem(word) not in own)
    query = last[:start] + thing + last[end + len(named) :]
    return Condensed(query, added, "rules", f"it asks the last question again, of “{thing}” instead of “{named}”")


def adverbial(message: str) -> str:
    """The phrase that a message consists of, where it has no more to ask with: "on Sundays" of "and on Sundays?"."""
    found = _ADVERBIAL.fullmatch(message.strip())
    short = found and len(found[1].split()) <= LONGEST_ADVERBIAL and any(map(is_specific, words(found[1])))
    return found[1] if found and short else ""


def said_so(question: str, phrase: str) -> str:
    """A question with a phrase in place of its own with that preposition, where both tell a time or neither does, else
    after it: "When is it open on Sundays?" of "When is it open on Fridays?"."""
    preposition = phrase.split()[0]
    body = question.rstrip(" ?.!")
    for found in reversed(list(re.finditer(rf"\b{preposition}\b", body, re.I))):
        end = _NEXT_PART.search(body, found.end())
        own = body[found.start() : end.start() if end else len(body)]
        if own != found[0] and bool(_TIMES.search(own)) == bool(_TIMES.search(phrase)):
            return question[: found.start()] + phrase + question[found.start() + len(own) :]
    return f"{body} {phrase}{question[len(body) :].strip()}"


def so_far(seen: Sequence[Message]) -> str:
    """The last question of a user with what was said of it in shorter ones after it: "and on Fridays?"."""
    last = ""
    for each in (each.content.strip() for each in seen if each.role == "user"):
        own = adverbial(each)
        last = said_so(last, own) if last and own else each
    return last


def _asked_so(phrase: str, seen: Sequence[Message]) -> Condensed | None:
    last = so_far(seen)
    if not _ASKING_WORD.search(last) or not subject(last) or len(last) > LONGEST_QUESTION or len(sentences(last)) > 1:
        return None
    query = said_so(last, phrase)
    own_stems = {stem(word) for word in words(phrase)}
    added = tuple(Term(word, 0.5) for word in words(query) if is_content(word) and stem(word) not in own_stems)
    return Condensed(query, added, "rules", f"it asks the last question again, “{phrase}”")


def _asked_anew(word: str, seen: Sequence[Message]) -> Condensed | None:
    """ "When?" after "Who wrote the Skerry Song?": when it was that somebody wrote it, not when the song is."""
    users = (each.content.strip() for each in reversed(seen) if each.role == "user")
    last = next((each for each in users if not _WHEN.fullmatch(each)), "")
    asked = _ASKING.match(last)
    if not asked or not subject(last) or len(last) > LONGEST_QUESTION:
        return None
    rest = last[asked.end(1) :].strip() if asked[1] else last[:1].lower() + last[1:]
    added = tuple(Term(each, 0.6) for each in words(rest) if is_content(each))
    return Condensed(f"{word} {rest}", added, "rules", f"it asks “{word.lower()}” of the last question")


def one_sided(message: str) -> str:
    """The one side that a comparison names: "GPT" in "what's the difference to GPT?"; else nothing."""
    found = _ONE_SIDED.fullmatch(message.strip())
    return found[1] if found else ""


def _both_sides(other: str, seen: Sequence[Message]) -> Condensed | None:
    own = {stem(word) for word in words(other)}
    asked = (subject(each.content) for each in reversed(seen) if each.role == "user")
    side = next((found for found in asked if found and not {stem(word) for word in words(found)} <= own), "")
    if not side:
        return None
    reason = f"it compares “{other}” with “{side}”, which was asked about last"
    return Condensed(f"What is the difference between {side} and {other}?", terms([(side, 0.8)]), "rules", reason)


# --- readings -----------------------------------------------------------------------------------------------------


def _readings(message: str, seen: Sequence[Message], chosen: Sequence[Phrase]) -> list[list[Phrase]]:
    """The phrases as one reading; as several where two of them rival for the place of a pronoun that stands for one."""
    first, *rest = chosen
    rivals = [first]
    if _pronoun(message) not in ("", *_SEVERAL):
        for other in rest:
            if other[1] >= NEARLY * first[1] and any(_alike(other[0], rival[0], seen) for rival in rivals):
                rivals.append(other)
    others = [each for each in rest if each not in rivals]
    return [[antecedent, *others] for antecedent in rivals][:MOST_READINGS]


def _spans(message: str, seen: Sequence[Message], reading: Sequence[Phrase]) -> list[str]:
    """The phrases to write; two that were said as "X and Y" as one, where the pronoun stands for several."""
    spans = [phrase for phrase, _ in reading]
    if len(spans) > 1 and _pronoun(message) in _SEVERAL and not _COMPARING.search(message):
        for one, other in ((spans[0], spans[1]), (spans[1], spans[0])):
            if any(_side_by_side(one, other, each.content) for each in seen):
                return [f"{one} and {other}", *spans[2:]]
    return spans


def without_lookalikes(message: str) -> str:
    """The message with words of the same kind for IT and US, which are no pronouns where not all is in capitals."""
    return message if message.isupper() else _LOOKALIKE.sub(lambda found: {"IT": "HR", "US": "UK"}[found[0]], message)


def _pronoun(message: str) -> str:
    """The word that a phrase takes the place of, in lower case; empty where there is none."""
    found = _pointing(message)
    return found[found.lastindex or 0].lower() if found else ""


def _pointing(message: str) -> re.Match[str] | None:
    """The pronoun that a phrase can take the place of: one whose own sentence or clause is not preceded by another that
    names what it may stand for."""
    message = without_lookalikes(message)
    found = _POSSESSIVE.search(message) or _PRONOUN.search(message)
    before = message[: found.start(found.lastindex or 0)] if found else ""
    clause = max(before.rfind(mark) for mark in ".?!;,")
    return None if clause > 0 and phrases(before[:clause]) else found


def _alike(one: str, other: str, seen: Sequence[Message]) -> bool:
    """Whether two phrases are things of a kind: said side by side, as in "X and Y"."""
    return any(_side_by_side(one, other, each.content) or _side_by_side(other, one, each.content) for each in seen)


def _side_by_side(one: str, other: str, text: str) -> bool:
    place = text.find(one)
    while place >= 0:
        end = place + len(one)
        between = _COORDINATED.match(text, end)
        if between and text.startswith(other, between.end()):
            return True
        place = text.find(one, end)
    return False


def coordinated(question: str) -> list[str]:
    """The subject of a question, and what stands beside it: BERT and GPT in "How do BERT and GPT differ?"."""
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
