"""Splits a message into its questions, each standing alone, and finds the two sides of a comparison."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby

from turnwise.dialogue.asked_again import parallel
from turnwise.dialogue.intent import is_question
from turnwise.dialogue.language import CODES, language, named_subject
from turnwise.dialogue.pronouns import points_back
from turnwise.dialogue.signs import POINTING, signs
from turnwise.dialogue.writing import coordinated_subjects, with_article, with_phrases
from turnwise.text import content_words, phrases, sentences, subject, words
from turnwise.types import Message

MAX_MESSAGE_CHARS = 400  # longer messages are not split
MIN_QUESTION_WORDS = 3  # of the second of two joined questions

_MARKS = ("?", "？", "؟")
_AFTER_MARK = re.compile(r"(?<=[?？؟])\s*(?![\s!?？؟])")
_ITEM = re.compile(r"^(?:[-*•]|\(?\d{1,2}[.)]|\(?[a-h]\))\s+")
_PREPOSITION = r"(?:until|till|since|by|from|with|for|in|at|on|to)"  # before a question word: "until when"
_QUESTION_WORD = rf"(?:{_PREPOSITION} )?(?:what|how|why|who|whom|whose|when|where|which)(?:['’]s)?\b"
_AUXILIARY = r"(?:is|are|was|were|do|does|did|can|could|will|would|should)\b"
_QUESTION_VERB = (
    r"(?:(?:is|are|was|were) (?:(?:it|they|he|she|there)\b|[A-Z])|do (?:(?:they|we|i|you|the|these|those)\b|[A-Z])"
    r"|(?:does|did|can|could|will|would|should) (?:(?:it|they|he|she|we|i|you|this|that|the|an?)\b|[A-Z]))"
)
_BEFORE_QUESTION_WORD = re.compile(rf"^{_PREPOSITION} (?={_QUESTION_WORD})", re.I)
_JOINT = re.compile(
    rf"(?:[,;]? and(?: also| then)?|[,;] (?:also|then|or|but)|;),? (?=(?i:{_QUESTION_WORD})|{_QUESTION_VERB})"
    rf"|, (?=(?:what|how|why) {_AUXILIARY}|(?:where|when) {_AUXILIARY} (?:the\b|[A-Z])|"
    rf"(?:where|when|who) {_AUXILIARY} (?:it|they|he|she|this|that)\b)"
)
_LISTED = re.compile(r"[,;]? and (?:also |then )?|[,;] ", re.I)
_HELD_TOGETHER = re.compile(r"\b(?:between|whether|both|either|depend(?:s|ing)? on)\b", re.I)
_SHORTENED = re.compile(r"^(\w+)['’]s\b")  # "What's"
_CLAUSE = re.compile(r"^(?:when|where|which) (?:it|they|he|she|i|we|you|the)\b", re.I)  # "When I apply, ..."
_ELLIPSIS = re.compile(r"^(?:and|what about|how about) ", re.I)
_OPENS = re.compile(r"^(?:and|also|then|but|so|or|plus),? ", re.I)
_WANTS = re.compile(r"^(?:please,? |i(?: want| would like|['’]d like| need) to know |(?:can|could) you tell me )", re.I)
_EMPTY = frozenset("help ask question questions something anything explain answer".split())  # do not say what is asked
_PASSIVE = re.compile(r"(?:ed|en|wn|ilt|ught)$")
_THAT = re.compile(r"\b(?:can|could|would|will|might|should|does|is)(?:n['’]t)? (?:that|this)\b", re.I)
_SEVERAL = re.compile(r"\b(?:they|them|their|these|those|both)\b", re.I)
_PERSON = re.compile(r"\b(?:he|him|his|she|her)\b", re.I)
_WHO_DID = re.compile(r"^(who (?!is\b|are\b|was\b|were\b)[^?]{3,80}?)\s*\??$", re.I)

_SIDE = r"([^,.?!]{2,60}?)"
_ENDS = rf"\s*(?:[,.?!(]|$|\band (?={_QUESTION_WORD}))"
_COMPARISONS = (
    re.compile(rf"\b(?:compare|between) {_SIDE}, {_SIDE},? and {_SIDE}{_ENDS}", re.I),
    re.compile(rf"\bbetween {_SIDE} and {_SIDE}{_ENDS}", re.I),
    re.compile(rf"\bcompare[ds]? (?!to\b|with\b){_SIDE} (?:and|with|to|against) {_SIDE}{_ENDS}", re.I),
    re.compile(
        rf"\b(?:does|do|is|are|did) {_SIDE} (?:compare[ds]?|differ(?:ent)?) (?:to|with|from) {_SIDE}{_ENDS}",
        re.I,
    ),
    re.compile(
        rf"\b(?:do|does|are|is) {_SIDE} and {_SIDE} "
        r"(?:differ|compare|relate|overlap|similar|connected|have (?:\w+ ){0,3}(?:common|same)|(?:dis)?agree|contradict"
        r"|conflict)",
        re.I,
    ),
    re.compile(rf"^which (?:study|paper) .{{2,100}}, {_SIDE} or {_SIDE}{_ENDS}", re.I),
    re.compile(rf"^(?:how (?:do|does|are) )?{_SIDE} (?:vs\.?|versus) {_SIDE}{_ENDS}", re.I),
)
# The form that the answer should have, which is not part of what is compared.
_FORM = re.compile(
    r",? (?:(?:as|in|into) (?:(?:the )?form of )?(?:an? )?(?:(?:short|small|simple|single|bulleted) )?"
    r"(?:table|list|bullets?|bullet[- ]points?|points|short|brief|detail|nutshell"
    r"|(?:one|two|three|a few) (?:words|sentences?|lines?)|(?:simple|plain|easy) (?:terms|words|language))"
    r"|briefly|please|for me|to me)(?=\s*(?:[,.?!(]|$| please\b| for me\b))",
    re.I,
)
_ARTICLES = ("the", "a", "an")
_ADJECTIVE = re.compile(r"[\w-]+(?:al|ic|ive|ed|ous|ary|ory|less|able|ible|ful|ent|ant|lar|line|-\w+)", re.I)


def compared_sides(question: str) -> tuple[str, ...]:
    """Returns the two or three subjects that a question compares, or () if it compares nothing."""
    question = _FORM.sub("", question)
    for pattern in _COMPARISONS:
        found = pattern.search(question)
        if found:
            *others, last = (side.strip() for side in found.groups())
            return *(f"{side}{_shared_noun(side, last)}" for side in others), last
    return ()


def _shared_noun(first: str, second: str) -> str:
    """Returns the noun after two adjectives, names or numbers, which belongs to the first too: "online and in-person
    courses", "type I and type II errors"."""
    one, (*other, noun) = first.split(), second.split()
    if len(one) != len(other) or noun.lower() == first.lower() or other[0].lower() in _ARTICLES:
        return ""
    names = one[0][:1].isupper() and other[0][:1].isupper() and noun.islower()
    numbered = len(one) > 1 and one[:-1] == other[:-1]
    return f" {noun}" if numbered or (len(one) == 1 and (names or _ADJECTIVE.fullmatch(first))) else ""


def questions(message: str, code: str = "en") -> tuple[str, ...]:
    """Returns the questions of a standalone message, each standing alone, or the message if it asks only one."""
    whole = complete_questions(split_questions(message, code), code)
    return whole if len(whole) > 1 else (message,)


def split_questions(message: str, code: str = "en") -> tuple[str, ...]:
    """Returns the questions of a message as written, each with the statements before it."""
    readable = code in CODES and len(message) <= MAX_MESSAGE_CHARS
    asked = _with_statements(list(_pieces(message, code)), code) if readable else []
    return tuple(asked) if len(asked) > 1 else (message,)


def complete_questions(asked: Sequence[str], code: str = "en") -> tuple[str, ...]:
    """Returns the questions of one message with their pronouns replaced by what those before them name. A question
    with an unclear pronoun is joined to the one before."""
    whole = [_without_opening(asked[0]) if len(asked) > 1 else asked[0]]
    for question in asked[1:]:
        if complete := _complete(question, whole, code):
            whole.append(complete)
        else:
            whole[-1] += f" {question}"
    return tuple(dict.fromkeys(whole))


def sentence_parts(message: str) -> tuple[str, ...]:
    """Returns the sentences of a message, for tools to read one by one."""
    if len(message) > MAX_MESSAGE_CHARS:
        return (message,)
    return tuple(each for marked in _AFTER_MARK.split(message) for each in sentences(marked))


def listed_parts(sentence: str) -> tuple[str, ...]:
    """Returns the parts of a sentence joined by "and" or commas, for tools to read one by one, or the whole sentence if
    words such as "between" hold it together."""
    held = len(sentence) > MAX_MESSAGE_CHARS or _HELD_TOGETHER.search(sentence)
    return (sentence,) if held else tuple(filter(None, _LISTED.split(sentence)))


def group_parts(parts: Sequence[str], taken: Collection[str], glue: str) -> tuple[str, ...]:
    """Returns the parts that tools take, and what is between them joined into one question each. Returns () if no tool
    takes any, or if what is between them is not a question."""
    whole: list[str] = []
    for is_taken, run in groupby(parts, key=taken.__contains__):
        group = list(run)
        whole += group if is_taken else [glue.join(group)]
        if not is_taken and not _asks(whole[-1]):
            return ()
    return tuple(whole) if taken else ()


def join_questions(asked: Sequence[str]) -> str:
    """Returns the questions as one message, which `questions` can split again."""
    *before, last = asked
    return " ".join([*(each if each.endswith((*_MARKS, ".", "!")) else f"{each};" for each in before), last])


def _pieces(message: str, code: str) -> Iterator[str]:
    """Yields the sentences of a message, and in English also the questions joined in one sentence."""
    for marked in _AFTER_MARK.split(message):
        for sentence in sentences(marked):
            sentence = _ITEM.sub("", sentence.lstrip(" .,"))
            yield from _joined_questions(sentence) if code == "en" else (sentence,)


def _joined_questions(sentence: str) -> Iterator[str]:
    """Splits "What is BERT, and who made GPT?" where both sides ask something."""
    end = "?" if sentence.endswith("?") else ""
    start = 0
    for joint in _JOINT.finditer(sentence):
        left, right = sentence[start : joint.start()], sentence[joint.end() :]
        if _asks(left) and len(words(right)) >= MIN_QUESTION_WORDS and not _HELD_TOGETHER.search(left):
            yield left + end
            start = joint.end()
    yield sentence[start:]


def _asks(piece: str) -> bool:
    bare = _BEFORE_QUESTION_WORD.sub("", _WANTS.sub("", _OPENS.sub("", piece)))
    return is_question(_SHORTENED.sub(r"\1 is", bare)) and not _CLAUSE.match(bare)


def _without_opening(piece: str) -> str:
    """Returns a question without its leading "and", keeping the capital letter."""
    if not _asks(piece):
        return piece
    rest = _OPENS.sub("", piece)
    return rest[:1].upper() + rest[1:] if piece[:1].isupper() else rest


def _with_statements(pieces: Sequence[str], code: str) -> list[str]:
    """Returns the questions among some pieces, each with the statements before it, the last also with those after."""
    marked = code != "en" or any(piece.endswith(_MARKS) for piece in pieces)
    asked: list[str] = []
    before: list[str] = []
    for piece in pieces:
        before.append(piece)
        may_ask = piece.endswith(_MARKS) or not marked
        if may_ask and (code != "en" or _ELLIPSIS.match(piece) or (_asks(piece) and _says_something(piece))):
            asked.append(" ".join(before))
            before = []
    if before and asked:
        asked[-1] = " ".join([asked[-1], *before])
    return asked


def _says_something(piece: str) -> bool:
    """Whether a question names or refers to something, unlike "Can you help me?"."""
    return points_back(piece) or any(word.lower() not in _EMPTY for word in content_words(piece))


# --- standing alone -----------------------------------------------------------------------------------------------


def _complete(question: str, before: Sequence[str], code: str) -> str:
    """Returns a question with its pronoun replaced by the subject of the questions before it, or "" if it still refers
    to something."""
    if code != "en":
        pronouns = language(code).pronouns
        meant = next(filter(None, map(named_subject, reversed(before))), "")
        return f"{question} ({meant})" if meant and pronouns and pronouns.search(question) else question
    if again := parallel(question, [Message("user", before[-1])]):
        return again.query
    question = _without_opening(question)
    if (points_back(question) or not phrases(question)) and (meant := _antecedent(question, before)):
        question = with_phrases(question, [meant])
    seen = signs(question, set(), set()).keys() - ({"comparison"} if compared_sides(question) else set())
    return "" if seen & POINTING or _THAT.search(question) else question


def _antecedent(question: str, before: Sequence[str]) -> str:
    for asked in (sentence for each in reversed(before) for sentence in reversed(sentences(each))):
        did = _WHO_DID.match(asked) if _PERSON.search(question) else None
        if did:
            return f"the person {did[1][0].lower()}{did[1][1:]}"
        if _SEVERAL.search(question) and len(group := coordinated_subjects(asked)) > 1:
            return " and ".join(group)
        if found := subject(asked):
            return with_article(_whole_subject(asked, found), (asked,))
    return ""


def _whole_subject(asked: str, found: str) -> str:
    """Returns a subject with its owner ("the fee of Edicenter") and without the verb of "How is X trained?"."""
    first, _, last = found.rpartition(" ")
    asks_how = re.search(rf"\b(?:is|are|was|were) (?:the |an? )?{re.escape(found)}\b", asked)
    if first and asks_how and _PASSIVE.search(last):
        return first
    for other in phrases(asked):
        if joint := re.search(rf"{re.escape(found)} of (?:the |an? )?{re.escape(other)}", asked):
            return joint[0]
    return found
