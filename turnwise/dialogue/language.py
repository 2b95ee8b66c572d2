"""Detects the language of a message and holds the phrases of each language (see languages/*.toml)."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from turnwise.text import HAN, KANA, subject
from turnwise.types import Message

FOLDER = Path(__file__).parent / "languages"
CODES = ("en", "de", "fr", "es", "pt", "zh", "ja")  # languages with patterns
MAX_MESSAGE_CHARS = 400  # only the start of a longer message is read
MIN_LANGUAGE_SCORE = 1.5  # enough even if fewer than half of the words are known in the language

_FAMILIES = ("social", "reform", "recall", "clarify", "refer_back", "data")
_SCRIPTS = (
    ("ja", re.compile(f"[{KANA}]")),
    ("zh", re.compile(f"[{HAN}]")),
    # Hangul, Cyrillic, Greek, Hebrew, Arabic, the scripts of India and its neighbours, Thai, Georgian, Ethiopic
    ("", re.compile("[\u0370-\u1fff\uac00-\ud7af]")),
)
_CODE = re.compile(r"\b(?:\d+[a-z]|[a-z]+\d)\w*", re.I)  # "3f2b1c4d", "E10": the letters are not words
_LATIN = re.compile("[a-zA-Z\u00c0-\u024f\u1e00-\u1eff]+(?:’[a-zA-Z]+)?")
_MORE = re.compile(
    r"\b(?:mehr|weiter|genauer|näher|details|noch|sonst|plus|davantage|détails?|continuez?|développez?|autre|más|"
    r"detalles?|sigue|continúa|profundiza|amplía|mais(?! (?:pourquoi|comment|où|quand|qui|combien))|"
    r"detalhes?|continu[ea]|prossiga|aprofunde)\b"
    r"|更多|继续|繼續|接着|接著|多[说說讲講]|详细|詳細|展开|展開|还有|還有|もっと|もう少し|さらに|詳し|くわし|続け|続き|他には|ほかには",
    re.I,
)
_NAME_GAP = re.compile(r"\.\{|\[\^")  # the part of a pattern that matches a name
_FUNCTION = re.compile(r"\b(?:sin|cos|tan|log|ln|exp|sqrt)(?=\s?[(\d])", re.I)  # part of a sum, not of a language
_ENDS = ' \t\n?!.,;:¿¡。？！、，…～~"“”„«»()'


@dataclass(frozen=True, slots=True)
class Language:
    """The phrases of one language. `patterns` (family, operation, pattern) are tried in order on a tidied message."""

    code: str
    patterns: tuple[tuple[str, str, re.Pattern[str]], ...]
    continues: tuple[re.Pattern[str], ...]
    pronouns: re.Pattern[str] | None
    going_on: dict[str, re.Pattern[str]]  # "next" and "failed"; see `turnwise.dialogue.going_on` for English
    says: dict[str, str]
    suggests: dict[str, str]
    answers: dict[str, re.Pattern[str]]  # of questions for a price, a time or a person, and of what answers them
    ordinals: dict[str, int]  # empty for English: see `place_of` in listed.py


def tidy(message: str) -> str:
    """Returns a message as patterns expect it: on one line, with one kind of apostrophe, without marks at its ends."""
    return " ".join(message.split()).replace("'", "’").strip(_ENDS)


@lru_cache(maxsize=len(CODES))
def language(code: str) -> Language:
    """Returns the phrases of one of `CODES`."""
    table = _table(code)
    ordinals = {
        word: number for number, words in enumerate(table.get("ordinals", "").split(), 1) for word in words.split("/")
    }
    parts: dict[str, str] = {"ordinal": f"(?:{'|'.join(ordinals)})", **table["parts"]}

    def pattern(text: str) -> re.Pattern[str]:
        for name, part in parts.items():
            text = text.replace(f"{{{name}}}", part)
        return re.compile(text, re.I)

    follow_up = table.get("follow_up", {})
    return Language(
        code,
        tuple(
            (family, operation, pattern(text))
            for family in _FAMILIES
            for operation, texts in table.get(family, {}).items()
            for text in texts
        ),
        tuple(map(pattern, follow_up.get("continues", ()))),
        pattern(follow_up["pronouns"]) if follow_up else None,
        {name: pattern(text) for name, text in table.get("going_on", {}).items()},
        table["says"],
        table["suggests"],
        {name: pattern(text) for name, text in table.get("answers", {}).items()},
        ordinals,
    )


def read_language(message: str, before: Iterable[str] = (), default: str = "en") -> str:
    """Returns the ISO code of a message's language, or "" if we do not know it.

    If the message does not show its language, that of the user's earlier messages (`before`, newest first) is used, or
    else the default.
    """
    previous = next((found for text in before if (found := _detected(text[:MAX_MESSAGE_CHARS])) is not None), default)
    found = _detected(message[:MAX_MESSAGE_CHARS], previous)
    return previous if found is None else found


def conversation_language(history: Sequence[Message]) -> str:
    """Returns the language of the latest of the user's messages that shows one, or else English."""
    return read_language("", (each.content for each in reversed(history) if each.role == "user"))


def read_languages(messages: Iterable[str]) -> list[str]:
    """Returns the language of each of a user's messages, oldest first. One that does not show its language is in that
    of the message before it."""
    codes: list[str] = []
    for message in messages:
        codes.append(read_language(message, default=codes[-1] if codes else "en"))
    return codes


@lru_cache(maxsize=1024)
def _detected(text: str, previous: str = "") -> str | None:
    """Returns the language that a text shows by its script or its words, or None if it shows none.

    The previous language is preferred if any word of the text is in it.
    """
    scripts = Counter({code: len(script.findall(text)) for code, script in _SCRIPTS})
    found = _LATIN.findall(_CODE.sub(" ", _FUNCTION.sub(" ", text)).replace("'", "’"))
    if scripts.total() and scripts.total() >= sum(map(len, found)) / 3:  # product names are often in Latin script
        return "ja" if scripts["ja"] else scripts.most_common(1)[0][0]
    return _by_words(found, previous)


def _by_words(found: list[str], previous: str) -> str | None:
    """Returns English unless more of the function words belong to another language. A word of both counts half for
    each, and a single letter shows nothing."""
    if len(found) == 1 and len(found[0]) == 1:
        return None
    known, marks = _function_words()
    scores: dict[str, float] = {}
    for place, word in enumerate(found):
        if (place and word[0].isupper()) or (len(word) > 1 and word.isupper()):  # a name: "Los Angeles", "MIT"
            continue
        codes = known.get(word.lower(), ())
        for code in codes:
            scores[code] = scores.get(code, 0.0) + (0.5 if "en" in codes and len(codes) > 1 else 1.0)
        for code, letters in marks.items():
            if not letters.isdisjoint(word.lower()):
                scores[code] = scores.get(code, 0.0) + 0.25
    if previous in scores:
        scores[previous] += 0.5
    english = scores.pop("en", 0.0)
    best = max(scores, key=lambda code: scores[code], default="")
    if best and scores[best] > english and scores[best] >= min(MIN_LANGUAGE_SCORE, len(found) / 2):
        return best
    return "en" if english else None


@lru_cache(maxsize=len(CODES) * 4)
def word_list(code: str, kind: Literal["function", "price", "clock", "opening"]) -> frozenset[str]:
    """Returns a language's words that name nothing, or that ask for a price, the time of day or opening hours; none
    where we have no such list."""
    return frozenset(_table(code).get("lists", {}).get(kind, "").split()) if code in CODES else frozenset()


def same_words(code: str) -> tuple[str, ...]:
    """Groups of words of a language that ask for the same, with spaces between them."""
    return tuple(_table(code).get("lists", {}).get("same", ())) if code in CODES else ()


def small_words() -> Iterable[str]:
    """Returns the function words of all languages that we recognize."""
    return _function_words()[0]


@lru_cache(maxsize=1)
def _function_words() -> tuple[dict[str, tuple[str, ...]], dict[str, frozenset[str]]]:
    """Returns the languages of each function word, and the letters that are typical of a language."""
    lists: dict[str, str] = {code: _table(code)["words"] for code in CODES} | _table("others")
    words: dict[str, list[str]] = {}
    for code, text in lists.items():
        for word in dict.fromkeys(text.split()):
            words.setdefault(word, []).append(code)
    marks = {code: frozenset(_table(code).get("marks", "")) for code in CODES}
    return {word: tuple(codes) for word, codes in words.items()}, {code: own for code, own in marks.items() if own}


@lru_cache(maxsize=len(CODES) + 1)
def _table(name: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


def named_subject(text: str) -> str:
    """Returns the subject of a question; in another language with spaces, its longest run without function words."""
    code = read_language(text)
    if code == "en":
        return subject(text)
    runs: list[list[str]] = [[]]
    for word in _LATIN.findall(text[:MAX_MESSAGE_CHARS].replace("'", "’")):
        if code in _function_words()[0].get(word.lower(), ()):
            runs.append([])
        else:
            runs[-1].append(word)
    longest: list[str] = max(runs, key=len)
    return " ".join(longest)


def matches(message: str, code: str) -> Iterator[tuple[str, str, re.Match[str]]]:
    """Yields the families and operations whose phrases match the whole message, in the order of the file."""
    text = tidy(message)
    if code not in CODES or not text or len(text) > MAX_MESSAGE_CHARS:
        return
    for family, operation, pattern in language(code).patterns:
        found = pattern.fullmatch(text)
        if found:
            yield family, operation, found


def wants_more(message: str, code: str) -> bool:
    """Whether a message in another language than English names nothing and only asks for more."""
    text = tidy(message)
    patterns = language(code).continues if code in CODES and len(text) <= MAX_MESSAGE_CHARS else ()
    nameless = (each for each in patterns if not _NAME_GAP.search(each.pattern))
    return bool(_MORE.search(text)) and any(pattern.fullmatch(text) for pattern in nameless)


def says(code: str, what: str, **values: str) -> str:
    """Returns one of Turnwise's own texts in the user's language if we have it, or else in English."""
    return language(code if code in CODES else "en").says[what].format(**values)


@lru_cache(maxsize=1)
def courtesies() -> frozenset[str]:
    """Returns the texts of Turnwise's own that do not depend on the question."""
    return frozenset(text for code in CODES for text in language(code).says.values() if "{" not in text)


def suggests(code: str) -> dict[str, str]:
    """Returns the forms of suggested questions in a language, empty if we do not know it."""
    return language(code).suggests if code in CODES else {}
