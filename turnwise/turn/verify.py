"""Verify: which sentences of an answer the passages they cite bear out. It is a check of words, not of truth."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

from turnwise.dialogue.citing import AGAIN, parts_of
from turnwise.dialogue.intent import is_courtesy
from turnwise.dialogue.language import read_language
from turnwise.english import NUMBER_WORDS
from turnwise.text import (
    CITATION,
    KANA_AND_HAN,
    content_stems,
    is_content,
    is_specific,
    points,
    stem,
    without_citations,
    words,
)
from turnwise.types import Claim, Embedder, Source

log = logging.getLogger(__name__)

SUPPORTED = 0.5  # score from which a sentence counts as borne out
PARTICULAR = 2.0  # what a number or a name counts beside another word
GENERAL = 0.5  # what a word counts that says little of what a text is about
LOCAL = 0.6  # share of the score that rests on the nearest sentences; the rest is on the passage as a whole
STRANGE = 0.4  # what is left of the score where a number or a name is not in the passage, or a sense is turned round
DOUBTFUL = 0.25, 0.75  # scores by words between which the meaning is looked at too
UNLIKE, ALIKE = 0.6, 0.9  # cosines at which two sentences have nothing, and everything, in common
CLOSELY = 12  # claims of an answer whose meaning is looked at, for the time it takes; of later ones, the words
FEW = 4  # words from which a sentence without a citation can state something
REACH = 3  # words that a negation turns round

_CODE = re.compile(r"^(`{3,}|~{3,}).*?(?:^\1|\Z)", re.M | re.S)
_HEADING = re.compile(r"^#{1,6} .*$", re.M)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_UNSPACED = re.compile(f"[{KANA_AND_HAN}]")
_NUMBER_WORDS = {word: str(number) for number, word in enumerate(NUMBER_WORDS, 1) if number > 1}
_NUMBER_WORDS |= {"twenty": "20", "thirty": "30", "forty": "40", "fifty": "50", "hundred": "100"}
_NEGATION = re.compile(
    r"\b(?:not(?! (?:only|just|merely)\b)|no(?! (?:more|less|fewer|later) than\b)|never|neither|nor|cannot|without|none"
    r"|nothing|unable|impossible|lack\w*|fail\w*|avoid\w*|\w+n['’]t)\b([^,;:.!?]*)",
    re.I,
)
_OPPOSITES = [
    (frozenset(one.split()), frozenset(other.split()))
    for one, other in (
        ("increase increases increased increasing", "decrease decreases decreased decreasing"),
        ("more most", "less least fewer fewest"),
        ("higher highest", "lower lowest"),
        ("larger largest bigger biggest", "smaller smallest"),
        ("faster fastest", "slower slowest"),
        ("better best", "worse worst"),
        ("before earlier", "after later"),
        ("always", "never"),
    )
]
# What an answer says of itself, of its reader or of what it was given is no claim about the documents.
_GIVEN = r"(?:evidence|documents?|passages?|sources?|library|context|texts?|information)"
_OF_ITSELF = re.compile(
    rf"\b(?:I|I['’]\w+|me|we|let['’]s|[Yy]ou (?:asked|said|mentioned|told))\b"
    rf"|\b(?i:{_GIVEN})\b[^.]{{0,60}}(?:\b(?:not|no|nothing|only)\b|n['’]t\b)|\b(?i:no|none|nothing)\b[^.]{{0,40}}\b{_GIVEN}\b"
)


def checked(text: str, *arguments: Any) -> tuple[Claim, ...]:
    """The same as `verify`, and no claims where it breaks: the answer has been read by then."""
    try:
        return verify(text, *arguments)
    except Exception:
        log.exception("an answer could not be checked")
        return ()


def verify(
    text: str,
    sources: Sequence[Source],
    found: Sequence[str] = (),
    embedder: Embedder | None = None,
    quotes: bool = False,
) -> tuple[Claim, ...]:
    """The claims of an answer in order, each with the numbers it cites and whether those passages bear it out.

    What tools have `found` bears a claim out too, cited or not. Any other that cites nothing is not borne out; of an
    answerer that only `quotes`, it is no claim.
    """
    cited = {source.number: _Passage(source.text, _above(source)) for source in sources}
    told = [_Passage(each) for each in found]
    claims: list[Claim] = []
    for point in points(_HEADING.sub("", _CODE.sub("", text))):
        numbers = tuple(dict.fromkeys(map(int, CITATION.findall(point))))
        said = without_citations(point).removeprefix(AGAIN).strip(" “”")
        if not words(said) or not (numbers or _states(said)):
            continue
        passages = [*(cited[number] for number in numbers if number in cited), *told]
        score = _score(said, passages, embedder if len(claims) < CLOSELY else None)
        if numbers or score >= SUPPORTED or not quotes:
            claims.append(Claim(said, numbers, score >= SUPPORTED, round(score, 3)))
    return tuple(claims)


def grounds(claims: Sequence[Claim], found: Sequence[str] = ()) -> str:
    """What the claims were held against, in words."""
    if not claims:
        return "the answer states nothing"
    cites = any(claim.numbers for claim in claims)
    against = [*(["the words of the passages they cite"] if cites else []), *(["what the tools gave"] if found else [])]
    return f"by {' and '.join(against)}" if against else "they cite nothing"


def _states(said: str) -> bool:
    """Whether a sentence without a citation states something: a question, an opening or a courtesy does not."""
    if said.endswith(("?", "？", ":", "：")) or (len(words(said)) < FEW and not _UNSPACED.search(said)):
        return False
    return not (_OF_ITSELF.search(said) or is_courtesy(said))


def _above(source: Source) -> str:
    """What stands above a passage, so that its sentences need not say it."""
    by = (*source.reference.authors, str(source.reference.year or "")) if source.reference else ()
    return " ".join((source.title, source.heading, *by))


class _Passage:
    """A passage as claims are compared with it; what is costly is worked out where a claim is no quotation."""

    def __init__(self, text: str, above: str = "") -> None:
        self.text = text
        self.above = above
        self.flat = _flat(text)

    @cached_property
    def known(self) -> set[str]:
        """The stems and the numbers of all of it."""
        return _terms(f"{self.text} {self.above}")

    @cached_property
    def initials(self) -> str:
        """The first letters of its capitalised words, by which an abbreviation is known."""
        return "".join(word[0] for word in words(f"{self.above} {self.text}") if word[0].isupper())

    @cached_property
    def places(self) -> list[tuple[str, set[str]]]:
        """Its sentences, each alone and with the next, and what is known there."""
        alone = parts_of(self.text)
        pairs = [f"{one} {other}" for one, other in pairwise(alone)]
        above = _terms(self.above)
        return [(text, _terms(text) | above) for text in (*alone, *pairs)]


def _score(said: str, passages: Sequence[_Passage], embedder: Embedder | None) -> float:
    """How well the passages bear out a sentence, from 0 to 1."""
    flat = _flat(said)
    if any(flat in passage.flat for passage in passages):
        return 1.0
    known = set[str]().union(*(passage.known for passage in passages))
    if not known:
        return 0.0
    strange_number = not _numbers(said) <= known
    if read_language(said) != read_language(passages[0].text):  # then the numbers are all that can be compared
        return SUPPORTED * (STRANGE if strange_number else 1)
    weights = _weights(said)
    places = (place for passage in passages for place in passage.places)
    near, there = max(places, key=lambda place: (_cover(weights, place[1]), -len(place[0])), default=("", set()))
    score = LOCAL * _cover(weights, there) + (1 - LOCAL) * _cover(weights, known)
    if embedder is not None and near and DOUBTFUL[0] <= score < DOUBTFUL[1]:
        one, other = embedder.embed_passages([near, said])
        cosine = float(one @ other)
        score = (score + min(1.0, max(0.0, (cosine - UNLIKE) / (ALIKE - UNLIKE)))) / 2
    strange_name = any(
        stem(name) not in known and not any(name in passage.initials for passage in passages) for name in _names(said)
    )
    return score * STRANGE ** (strange_number + strange_name + _turned_round(said, near))


def _cover(weights: dict[str, float], known: Iterable[str]) -> float:
    """The share of a sentence's weight that is known."""
    return sum(weight for term, weight in weights.items() if term in known) / (sum(weights.values()) or 1.0)


def _weights(said: str) -> dict[str, float]:
    particular = _numbers(said) | {stem(name) for name in _names(said)}
    general = {stem(word) for word in words(said) if not is_specific(word)}
    return {term: PARTICULAR if term in particular else GENERAL if term in general else 1.0 for term in _terms(said)}


def _terms(text: str) -> set[str]:
    """The stems of the words of content, the numbers; of a text without spaces, its pairs of characters."""
    terms = {term for term in content_stems(text) if not term.isdigit()} | _numbers(text)
    if _UNSPACED.search(text):
        terms |= {one + other for one, other in pairwise(text) if _UNSPACED.match(one) and _UNSPACED.match(other)}
        terms = {term for term in terms if len(term) <= 2 or not _UNSPACED.search(term)}
    return terms


def _numbers(text: str) -> set[str]:
    """The numbers, written alike: "30,000" and "30000", "seven" and "7"."""
    digits = {re.sub(r",(?=\d{3}\b)", "", found).replace(",", ".") for found in _NUMBER.findall(text)}
    return digits | {_NUMBER_WORDS[word] for word in words(text.lower()) if word in _NUMBER_WORDS}


def _names(said: str) -> set[str]:
    """The capitalised words but the first, unless that is written as no other word is; none in German, where all
    nouns are."""
    if read_language(said) == "de":
        return set()
    first, *rest = [re.split("['’]", word)[0] for word in words(said)]
    names = {word for word in rest if word[0].isupper() and is_content(word)}
    return names | ({first} if any(map(str.isupper, first[1:])) else set())


def _turned_round(said: str, place: str) -> bool:
    """Whether one denies what the other says, or says the opposite word."""
    denied, denied_there = _denied(said), _denied(place)
    if bool(denied) != bool(denied_there) and (denied & content_stems(place) or denied_there & content_stems(said)):
        return True
    own, there = set(words(said.lower())), set(words(place.lower()))
    return any(
        (own & one and there & other and not there & one and not own & other)
        or (own & other and there & one and not there & other and not own & one)
        for one, other in _OPPOSITES
    )


def _denied(text: str) -> set[str]:
    return {
        stem(word)
        for found in _NEGATION.finditer(text)
        for word in [each for each in words(found[1]) if is_content(each)][:REACH]
    }


def _flat(text: str) -> str:
    return f" {' '.join(words(text)).lower()} "
