"""Which sentences of an answer are supported by the passages they cite. Words are checked, not truth."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise

from turnwise.dialogue.citing import parts_of, without_again
from turnwise.dialogue.intent import is_courtesy
from turnwise.dialogue.language import read_language
from turnwise.english import NUMBER_WORDS
from turnwise.text import (
    CITATION,
    UNSPACED,
    content_stems,
    is_content,
    is_specific,
    points,
    stem,
    without_citations,
    words,
)
from turnwise.types import Claim, Embedder, Source

SUPPORTED_SCORE = 0.5  # from here on a sentence counts as supported
SPECIFIC_WEIGHT = 2.0  # of a number or a name; an ordinary word weighs 1
GENERAL_WEIGHT = 0.5  # of a word that says little about the subject of a text
NEAREST_SHARE = 0.6  # of the score rests on the nearest sentences, the rest on the passage as a whole
MISMATCH_FACTOR = 0.4  # for a number or a name that the passage lacks, or a statement it contradicts
DOUBTFUL_SCORES = 0.25, 0.75  # between these word scores the meaning is compared too
UNRELATED_COSINE, EQUAL_COSINE = 0.6, 0.9  # of two sentences with nothing, or everything, in common
MAX_EMBEDDED_CLAIMS = 12  # of later claims in an answer only the words are compared, because embedding takes time
MIN_STATEMENT_WORDS = 4  # a shorter sentence without a citation states nothing
NEGATION_WORDS = 3  # content words that a negation applies to

_CODE = re.compile(r"^(`{3,}|~{3,}).*?(?:^\1|\Z)", re.M | re.S)
_HEADING = re.compile(r"^#{1,6} .*$", re.M)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
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
# What an answer says about itself, its reader or the evidence it was given is not a claim about the documents.
_GIVEN = r"(?:evidence|documents?|passages?|sources?|library|context|texts?|information)"
_OF_ITSELF = re.compile(
    rf"\b(?:I|I['’]\w+|me|we|let['’]s|[Yy]ou (?:asked|said|mentioned|told))\b"
    rf"|\b(?i:{_GIVEN})\b[^.]{{0,60}}(?:\b(?:not|no|nothing|only)\b|n['’]t\b)|\b(?i:no|none|nothing)\b[^.]{{0,40}}\b{_GIVEN}\b"
)


def verify(
    text: str,
    sources: Sequence[Source],
    found: Sequence[str] = (),
    embedder: Embedder | None = None,
    quotes: bool = False,
) -> tuple[Claim, ...]:
    """The claims of an answer in order, each with the numbers it cites and whether those passages support it.

    What tools have `found` supports a claim too, cited or not. A sentence that nothing supports and that cites nothing
    is an unsupported claim, or no claim at all if the answerer only `quotes`.
    """
    cited = {source.number: _Passage(source.text, _above(source)) for source in sources}
    tool_results = [_Passage(each) for each in found]
    claims: list[Claim] = []
    for point in points(_HEADING.sub("", _CODE.sub("", text))):
        numbers = tuple(dict.fromkeys(map(int, CITATION.findall(point))))
        sentence = without_again(without_citations(point)).strip(" “”")
        if not words(sentence) or not (numbers or _is_statement(sentence)):
            continue
        passages = [*(cited[number] for number in numbers if number in cited), *tool_results]
        score = _score(sentence, passages, embedder if len(claims) < MAX_EMBEDDED_CLAIMS else None)
        supported = score >= SUPPORTED_SCORE
        if numbers or supported or not quotes:
            claims.append(Claim(sentence, numbers, supported, round(score, 3)))
    return tuple(claims)


def _is_statement(sentence: str) -> bool:
    """Whether a sentence without a citation states something: a question, an opening or a courtesy does not."""
    if sentence.endswith(("?", "？", ":", "：")):
        return False
    if len(words(sentence)) < MIN_STATEMENT_WORDS and not UNSPACED.search(sentence):
        return False
    return not (_OF_ITSELF.search(sentence) or is_courtesy(sentence))


def _above(source: Source) -> str:
    """Title, heading, authors and year of a passage, which its sentences need not repeat."""
    by = (*source.reference.authors, str(source.reference.year or "")) if source.reference else ()
    return " ".join((source.title, source.heading, *by))


class _Passage:
    """A passage that claims are compared with. Its costly parts are computed once a claim is not a plain quotation."""

    def __init__(self, text: str, above: str = "") -> None:
        self.text = text
        self.above = above
        self.flat = _flat(text)

    @cached_property
    def known(self) -> set[str]:
        """The stems and numbers in the text and above it."""
        return _terms(f"{self.text} {self.above}")

    @cached_property
    def initials(self) -> str:
        """The first letters of its capitalised words, to recognise abbreviations."""
        return "".join(word[0] for word in words(f"{self.above} {self.text}") if word[0].isupper())

    @cached_property
    def excerpts(self) -> list[tuple[str, set[str]]]:
        """Its sentences, each alone and with the next one, and the terms of each."""
        alone = parts_of(self.text)
        pairs = [f"{one} {other}" for one, other in pairwise(alone)]
        above = _terms(self.above)
        return [(text, _terms(text) | above) for text in (*alone, *pairs)]


def _score(sentence: str, passages: Sequence[_Passage], embedder: Embedder | None) -> float:
    """How well the passages support a sentence, from 0 to 1."""
    flat = _flat(sentence)
    if any(flat in passage.flat for passage in passages):
        return 1.0
    known = set[str]().union(*(passage.known for passage in passages))
    if not known:
        return 0.0
    unknown_number = not _numbers(sentence) <= known
    if read_language(sentence) != read_language(passages[0].text):  # then only the numbers can be compared
        return SUPPORTED_SCORE * (MISMATCH_FACTOR if unknown_number else 1)
    weights = _weights(sentence)
    excerpts = (excerpt for passage in passages for excerpt in passage.excerpts)
    nearest, terms = max(excerpts, key=lambda each: (_cover(weights, each[1]), -len(each[0])), default=("", set()))
    score = NEAREST_SHARE * _cover(weights, terms) + (1 - NEAREST_SHARE) * _cover(weights, known)
    if embedder is not None and nearest and DOUBTFUL_SCORES[0] <= score < DOUBTFUL_SCORES[1]:
        one, other = embedder.embed_passages([nearest, sentence])
        likeness = (float(one @ other) - UNRELATED_COSINE) / (EQUAL_COSINE - UNRELATED_COSINE)
        score = (score + min(1.0, max(0.0, likeness))) / 2
    unknown_name = any(
        stem(name) not in known and not any(name in passage.initials for passage in passages)
        for name in _names(sentence)
    )
    return score * MISMATCH_FACTOR ** (unknown_number + unknown_name + _contradicts(sentence, nearest))


def _cover(weights: dict[str, float], known: Iterable[str]) -> float:
    """The share of a sentence's weight that is known."""
    return sum(weight for term, weight in weights.items() if term in known) / (sum(weights.values()) or 1.0)


def _weights(sentence: str) -> dict[str, float]:
    specific = _numbers(sentence) | {stem(name) for name in _names(sentence)}
    general = {stem(word) for word in words(sentence) if not is_specific(word)}
    return {
        term: SPECIFIC_WEIGHT if term in specific else GENERAL_WEIGHT if term in general else 1.0
        for term in _terms(sentence)
    }


def _terms(text: str) -> set[str]:
    """The stems of content words, and the numbers; in a script without spaces, also pairs of characters."""
    terms = {term for term in content_stems(text) if not term.isdigit()} | _numbers(text)
    if UNSPACED.search(text):
        terms |= {one + other for one, other in pairwise(text) if UNSPACED.match(one) and UNSPACED.match(other)}
        terms = {term for term in terms if len(term) <= 2 or not UNSPACED.search(term)}
    return terms


def _numbers(text: str) -> set[str]:
    """The numbers in one notation: "30,000" and "30000" are the same, and so are "seven" and "7"."""
    digits = {re.sub(r",(?=\d{3}\b)", "", found).replace(",", ".") for found in _NUMBER.findall(text)}
    return digits | {_NUMBER_WORDS[word] for word in words(text.lower()) if word in _NUMBER_WORDS}


def _names(sentence: str) -> set[str]:
    """The capitalised words; the first only if it has more capitals, as in "BERT". None in German, which capitalises
    all nouns."""
    if read_language(sentence) == "de":
        return set()
    first, *rest = [re.split("['’]", word)[0] for word in words(sentence)]
    names = {word for word in rest if word[0].isupper() and is_content(word)}
    return names | ({first} if any(map(str.isupper, first[1:])) else set())


def _contradicts(sentence: str, excerpt: str) -> bool:
    """Whether one denies what the other says, or uses the opposite word."""
    denied, denied_there = _denied(sentence), _denied(excerpt)
    one_denies = bool(denied) != bool(denied_there)
    if one_denies and (denied & content_stems(excerpt) or denied_there & content_stems(sentence)):
        return True
    own, there = set(words(sentence.lower())), set(words(excerpt.lower()))
    return any(
        (own & one and there & other and not there & one and not own & other)
        or (own & other and there & one and not there & other and not own & one)
        for one, other in _OPPOSITES
    )


def _denied(text: str) -> set[str]:
    """The stems of the words that a negation applies to."""
    return {
        stem(word)
        for found in _NEGATION.finditer(text)
        for word in [each for each in words(found[1]) if is_content(each)][:NEGATION_WORDS]
    }


def _flat(text: str) -> str:
    """The words in lower case, with a space around each, so that whole sentences can be looked up in it."""
    return f" {' '.join(words(text)).lower()} "
