"""Words, stems and sentences: the small text tools that several stages share."""

from __future__ import annotations

import re
from functools import lru_cache

import Stemmer

STOP_WORDS = frozenset(
    """a an the this that these those it its itself he him his himself she her hers herself they them their theirs
    themselves i me my mine myself we us our ours you your yours yourself one ones who whom whose which what when where
    why how is am are was were be been being do does did doing done have has had having will would shall should can
    could may might must of in on at by for with about against between into through during before after above below to
    from up down out off over under again further then once here there all any both each few more most other some such
    no nor not only own same so than too very just and but if or because as until while also s t re ve ll d m don didn
    doesn isn aren wasn weren hasn haven hadn won wouldn couldn shouldn get got much many ok okay yes well please tell
    know like want really let hi hello thanks thank sure oh hmm besides else addition""".split()
)

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_stemmer = Stemmer.Stemmer("english")
_SENTENCE_END = re.compile(
    r"(?<=[.!?…])[\"'”’)\]]*(?:\s*\[\d+\])*\s+(?=[\"'“‘(\[]?[A-Z0-9])|\n{2,}|\n(?=\s*(?:[-*•]|\d+[.)])\s)"
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|al|Dr|Mr|Mrs|Ms|Prof|St|Fig|Eq|No|Nos|Sec|pp|approx|Inc|Ltd|Jr|Sr)|\b[A-Z])\.$"
)
CITATION = re.compile(r"\[(\d{1,4})\]")


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    return str(_stemmer.stemWord(word.lower()))


def words(text: str) -> list[str]:
    """The words of a text, as written."""
    return _WORD.findall(text)


def is_content(word: str) -> bool:
    """Whether a word says something by itself: not a stop word, not a single letter."""
    lowered = word.lower()
    return lowered not in STOP_WORDS and (len(word) > 1 or word.isdigit())


def content_words(text: str) -> list[str]:
    return [base for word in words(text) if is_content(base := re.split("['’]", word)[0])]


def content_stems(text: str) -> set[str]:
    return {stem(word) for word in content_words(text)}


def sentences(text: str) -> list[str]:
    """The sentences of a text, stripped, in order; list items and paragraphs end one too."""
    pieces: list[str] = []
    start = 0
    for end in _SENTENCE_END.finditer(text):
        if _ABBREVIATION.search(text[start : end.start()]):
            continue
        pieces.append(text[start : end.end()].strip())
        start = end.end()
    pieces.append(text[start:].strip())
    return [piece for piece in pieces if piece]


def without_citations(text: str) -> str:
    return re.sub(r"[ \t]+([.,;!?])", r"\1", re.sub(r"[ \t]*\[\d{1,4}\]", "", text))


def one_line(text: str, limit: int = 80) -> str:
    """A text on one line, cut at a word with an ellipsis where it is longer than the limit."""
    flat = " ".join(text.split())
    if len(flat) <= limit:
        return flat
    return flat[:limit].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"
