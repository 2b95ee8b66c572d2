"""Topics: what a text is about, by a vocabulary of named topics, else by its own words, without traces of markup."""

from __future__ import annotations

import html
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from turnwise.dialogue.naming import language_of, names
from turnwise.text import CITATION, KANA_AND_HAN, is_specific, one_line, phrases, sentences, stem, subject, words

LONGEST = 6000  # characters of a text that are looked at
LONGEST_PHRASE = 6  # words in the name of a topic
LONGEST_TOPIC = 60  # characters of a topic taken from a text itself
_UNSPACED = re.compile(f"[{KANA_AND_HAN}]")


Entry = tuple[tuple[str, ...], str]  # the words of a phrase and the topic that it stands for


# --- a vocabulary -------------------------------------------------------------------------------------------------


class Vocabulary:
    """Named topics and the phrases that stand for each; a topic without a name is called as the text writes it.

    A word of a phrase matches in all its inflections, and one that ends in * whatever goes on from there. A phrase in a
    script without spaces matches anywhere.
    """

    def __init__(self, named: Iterable[tuple[str, Sequence[str]]] = ()) -> None:
        self._by_first: dict[str, list[Entry]] = defaultdict(list)
        self._by_prefix: dict[str, list[Entry]] = defaultdict(list)  # by its first two letters
        self._anywhere: list[tuple[str, str]] = []
        for topic, stand_for in named:
            for phrase in stand_for:
                parts = tuple(_part(word) for word in re.findall(r"[^\W_]+\*?", phrase))
                if _UNSPACED.search(phrase):
                    self._anywhere.append((phrase.casefold(), topic or phrase))
                elif parts and parts[0].endswith("*"):
                    self._by_prefix[parts[0].rstrip("*")[:2]].append((parts, topic))
                elif parts:
                    self._by_first[parts[0]].append((parts, topic))
        for entries in (*self._by_first.values(), *self._by_prefix.values()):
            entries.sort(key=lambda entry: -len(entry[0]))  # the longest phrase that fits is meant

    def find(self, text: str) -> tuple[str, ...]:
        """The topics that a text names, each once, in order of mention."""
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
        """How many words the longest phrase that begins here has, and its topic; 0 where none begins."""
        word, its_stem = forms[place]
        for parts, topic in (*self._by_first.get(its_stem, ()), *self._by_prefix.get(word[:2], ())):
            here = forms[place : place + len(parts)]
            if len(here) == len(parts) and all(map(_fits, parts, here)):
                return len(parts), topic
        return 0, ""


_WORD = re.compile(r"[^\W_]+")


def _part(word: str) -> str:
    return word.casefold() if word.endswith("*") else stem(word)


def _fits(part: str, said: tuple[str, str]) -> bool:
    return said[0].startswith(part[:-1]) if part.endswith("*") else said[1] == part


def library_vocabulary(titles: Iterable[str], headings: Iterable[str]) -> Vocabulary:
    """The subjects of a library: what its titles name, and the headings that are a name of more than one word.

    A heading of one word ("Uses", "Training") says nothing without its document, one such as "How it works" nothing.
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
    short = (phrase for phrase in named if len(phrase.split()) <= LONGEST_PHRASE and _meaningful(phrase))
    return Vocabulary([("", tuple(short))])


# --- the text itself ----------------------------------------------------------------------------------------------


def subject_of(text: str) -> str:
    """What a question is about by its own words; empty where they name nothing, or only what was said before."""
    text = plain(text)
    code = language_of(text)
    found = subject(text) if code == "en" else names(text, code)
    return one_line(found, LONGEST_TOPIC) if _meaningful(found) else ""


def subject_of_answer(answer: str) -> str:
    """What an answer is about by its own words: the first thing that it names."""
    text = plain(answer)
    code = language_of(text)
    for sentence in sentences(text)[:3]:
        for phrase in phrases(sentence) if code == "en" else [names(sentence, code)]:
            if _meaningful(phrase) and not all(map(_of_markup, words(phrase))):
                return one_line(phrase, LONGEST_TOPIC)
    return ""


def _of_markup(word: str) -> bool:
    return word.lower() in _MARKUP or bool(_UNIT.fullmatch(word))


def _meaningful(phrase: str) -> bool:
    telling = (word for word in words(phrase) if is_specific(word) and not _UNIT.fullmatch(word))
    return any(any(map(str.isalpha, word)) for word in telling)


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


def plain(text: str) -> str:
    """The prose of a text that may hold HTML, style sheets, Markdown and code: what a reader would read aloud."""
    text = _FENCE.sub("\n\n", text[:LONGEST])
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
