"""What a text is about, by a vocabulary of topics or by its own words, ignoring markup."""

from __future__ import annotations

import html
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from turnwise.dialogue.naming import language_of, longest_name
from turnwise.text import (
    CITATION,
    UNSPACED,
    is_specific,
    one_line,
    phrases,
    sentences,
    stem,
    stem_or_beginning,
    subject,
    words,
)

MAX_TEXT_CHARS = 6000  # only the start of a longer text is read
MAX_PHRASE_WORDS = 6  # in a title or heading that becomes a topic
MAX_TOPIC_CHARS = 60  # of a topic taken from the text itself


Entry = tuple[tuple[str, ...], str]  # the words of a phrase, and its topic


# --- a vocabulary -------------------------------------------------------------------------------------------------


class Vocabulary:
    """Topics and the phrases for each. A topic with an empty name is named as in the text.

    Words of a phrase match in all inflections, and a word with a final * matches any ending. A phrase in a script
    without spaces matches anywhere.
    """

    def __init__(self, named: Iterable[tuple[str, Sequence[str]]] = ()) -> None:
        self._by_first: dict[str, list[Entry]] = defaultdict(list)
        self._by_prefix: dict[str, list[Entry]] = defaultdict(list)  # by the first two letters
        self._anywhere: list[tuple[str, str]] = []
        for topic, topic_phrases in named:
            for phrase in topic_phrases:
                parts = tuple(stem_or_beginning(word) for word in re.findall(r"[^\W_]+\*?", phrase))
                if UNSPACED.search(phrase):
                    self._anywhere.append((phrase.casefold(), topic or phrase))
                elif parts and parts[0].endswith("*"):
                    self._by_prefix[parts[0].rstrip("*")[:2]].append((parts, topic))
                elif parts:
                    self._by_first[parts[0]].append((parts, topic))
        for entries in (*self._by_first.values(), *self._by_prefix.values()):
            entries.sort(key=lambda entry: -len(entry[0]))  # the longest phrase that fits wins

    def find(self, text: str) -> tuple[str, ...]:
        """Returns the topics that a text names, without duplicates, in order of mention."""
        if not (self._by_first or self._by_prefix or self._anywhere):
            return ()
        said = list(_WORD.finditer(text))
        forms = [(word[0].casefold(), stem(word[0])) for word in said]
        found: dict[str, None] = {}
        place = 0
        while place < len(said):
            length, topic = self._at(forms, place)
            if length:
                found.setdefault(topic or text[said[place].start() : said[place + length - 1].end()])
            place += length or 1
        folded = text.casefold() if self._anywhere else ""
        return tuple(found | dict.fromkeys(topic for phrase, topic in self._anywhere if phrase in folded))

    def _at(self, forms: Sequence[tuple[str, str]], place: int) -> tuple[int, str]:
        """Returns the word count and topic of the longest phrase that starts here, or 0 if none does."""
        word, its_stem = forms[place]
        for parts, topic in (*self._by_first.get(its_stem, ()), *self._by_prefix.get(word[:2], ())):
            here = forms[place : place + len(parts)]
            if len(here) == len(parts) and all(map(_fits, parts, here)):
                return len(parts), topic
        return 0, ""


_WORD = re.compile(r"[^\W_]+")


def _fits(part: str, said: tuple[str, str]) -> bool:
    return said[0].startswith(part[:-1]) if part.endswith("*") else said[1] == part


def library_vocabulary(titles: Iterable[str], headings: Iterable[str]) -> Vocabulary:
    """Returns the subjects of a library: what its titles name, and headings that are a name of several words.

    A heading of one word ("Uses", "Training") or such as "How it works" says nothing without its document.
    """
    named: dict[str, None] = {}
    for title in titles:
        for phrase in phrases(title):
            named.setdefault(phrase)
    for heading in headings:
        for part in heading.split(" > "):
            found = phrases(part)
            if found == [part.strip()] and len(part.split()) > 1:
                named.setdefault(found[0])
    short = (phrase for phrase in named if len(phrase.split()) <= MAX_PHRASE_WORDS and _meaningful(phrase))
    return Vocabulary([("", tuple(short))])


# --- the text itself ----------------------------------------------------------------------------------------------


def subject_of(text: str) -> str:
    """Returns what a question is about by its own words, or "" if they name nothing."""
    text = plain_text(text)
    code = language_of(text)
    found = subject(text) if code == "en" else longest_name(text, code)
    return one_line(found, MAX_TOPIC_CHARS) if _meaningful(found) else ""


def subject_of_answer(answer: str) -> str:
    """Returns the first thing that an answer names, or ""."""
    text = plain_text(answer)
    code = language_of(text)
    for sentence in sentences(text)[:3]:
        for phrase in phrases(sentence) if code == "en" else [longest_name(sentence, code)]:
            if _meaningful(phrase) and not all(map(_is_markup, words(phrase))):
                return one_line(phrase, MAX_TOPIC_CHARS)
    return ""


def _is_markup(word: str) -> bool:
    return word.lower() in _MARKUP or bool(_UNIT.fullmatch(word))


def _meaningful(phrase: str) -> bool:
    specific = (word for word in words(phrase) if is_specific(word) and not _UNIT.fullmatch(word))
    return any(any(map(str.isalpha, word)) for word in specific)


_UNIT = re.compile(r"\d+(?:px|em|rem|pt|vh|vw|ms|fr|deg)", re.I)
_MARKUP = frozenset(
    """align alt auto background block body bold border bottom br button center class classname color colour column css
    display div em fff flex float font footer grid h1 h2 h3 h4 head header height hidden hover href html id important
    img inline input italic justify left li line link margin max media meta min none ol opacity overflow p padding
    position px radius rel rem rgb rgba right script section shadow size solid span src strong style table tbody td
    text th thead top tr ul underline url var visible weight width wrap""".split()
)

_FENCE = re.compile(r"(?:```|~~~).*?(?:```|~~~|\Z)", re.S)
_UNSEEN = re.compile(
    r"<(style|script|head|svg|template)\b[^<>]{0,500}>.*?(?:</\1\s{0,9}>|\Z)|<!--.*?(?:-->|\Z)", re.S | re.I
)
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,1000}>")
_RULE = re.compile(r"(?:^|(?<=[};]))[^\n{};<>]{0,100}\{[^{}:]{0,200}:[^{}]{0,1000}\}", re.M)
_DECLARATION = re.compile(
    r"(?<![\w-])(?:align|background|border|bottom|color|display|flex|float|font|grid|height|justify|left|line-height|"
    r"margin|max-width|min-width|opacity|overflow|padding|position|right|text-align|text-decoration|top|width|z-index)"
    r"(?:-[a-z]{2,12}){0,3}\s{0,3}:\s{0,3}[^;\n{}]{1,80};"
)
_LINK = re.compile(r"!?\[([^\[\]\n]{0,200})\]\([^()\s]{0,500}\)")
_ADDRESS = re.compile(r"\b(?:https?://|www\.)\S{1,500}|#[0-9a-fA-F]{3,8}\b")
_CODE = re.compile(r"`([^`\n]{1,200})`")
_MARKS = re.compile(
    r"^[ \t]{0,8}(?:#{1,6}|>|[-*+])[ \t]{1,8}|^[-=|:\s]{3,200}$|\*{1,3}|(?<!\w)_{1,3}|_{1,3}(?!\w)", re.M
)
_BREAKS = re.compile(r"(?i)</(?:p|div|li|h[1-6]|tr|td|th)\s{0,9}>|<br\b[^<>]{0,100}>")


def plain_text(text: str) -> str:
    """Returns the prose of a text that may contain HTML, CSS, Markdown and code: what one would read aloud."""
    text = _FENCE.sub("\n\n", text[:MAX_TEXT_CHARS])
    if "<" in text:
        text = _TAG.sub(" ", _BREAKS.sub("\n\n", _UNSEEN.sub(" ", text)))
    text = html.unescape(text)
    if "{" in text:
        text = _RULE.sub(" ", text)
    if ";" in text:
        text = _DECLARATION.sub(" ", text)
    if "[" in text:
        text = _LINK.sub(r"\1", CITATION.sub("", text))
    text = _CODE.sub(lambda code: code[1] if re.fullmatch(r"[\w -]+", code[1]) else " ", text)
    return _MARKS.sub("", _ADDRESS.sub(" ", text)).replace("|", "\n")
