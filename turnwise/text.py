"""Text helpers shared by several stages: words, stems, sentences, citations."""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

import Stemmer

# Ranges for a character class in a regular expression: Japanese syllables, and the characters of Chinese and Japanese.
# Neither language puts spaces between words.
KANA = "\u3040-\u30ff"
HAN = "\u3400-\u4dbf\u4e00-\u9fff"
KANA_AND_HAN = KANA + HAN
UNSPACED = re.compile(f"[{KANA_AND_HAN}]+")  # scripts without spaces between words

CONTEXT_BAR = " | "  # between what is read with a sentence and the sentence itself

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

# Words too general to be a topic; like stop words, they never make one by themselves.
_GENERAL_WORDS = """\
    able about actually advantage advice affect allow allows always amount answer anyone anything appear applied apply
    arrive article ask asked aspect available back bad base based basic basically became become becomes began begin
    belong benefit best better big biggest bit briefly bring brought call called cause certain change characteristic
    choose chosen collect come common compare compared comparison cons consider considered consist consists contain
    contains continue cost create created current currently deal decide deeper define defined depend depends describe
    described detail determine develop developed die died diff differ difference different difficult discuss earlier
    early easier effect elaborate enjoy enter especially ever everyone everything exactly example exist exists expand
    expect explain explanation explore fact fall famous feel felt final finally find first follow form found gain gave
    generally give given go going gone good got great group grow handle happen heard held help hey high hold idea
    important improve include included increase information instead interested interesting invent invented involve
    issue join keep kept kind kinds large last later lead leave left less life list little live lived long look lose
    lot lots low made main maintain major make manage maybe mean meant measure meet mention met more most move must
    name need never new next nice notable note nothing notice now number occur offer offers often old option other
    overlap overview own part people perform person place play point popular possible prevent previously probably
    problem process produce produced pros provide publish put question quite reach read real really reason receive
    recent recently recommend reduce refer regard relate relation relationship release released remain remains remove
    replace represent require required requires result right role routine run said save say second see seek seem
    select send sense serve set shorter show shown sign signed significant similar similarities similarity simpler
    simply small solve someone something sometimes sort sorts sound source speak special specific spend split stand
    start stay step still stop stuff suffer suggest suitable summary take taken talk tell tend term thing things think
    third thought three time today together told took top try turn two type typical unique use usually vary wait way
    well went whether will win wonder work worst write written wrote year diff hey yo um uh pls plz abt im ive whats
    wanna gonna cant dont doesnt didnt isnt arent wasnt werent wont wouldnt couldnt shouldnt
    havent hasnt hadnt""".split()

_LINE_ENDS = re.compile("\r\n?|[\v\f\x85\u2028\u2029]")
# Control characters, lone surrogates and non-characters cannot be stored or shown; invisible characters (soft hyphens,
# zero-width spaces, direction overrides, tags) would hide words from the search or from the reader.
_UNWANTED = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u200b\u2060\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff\ud800-\udfff\U000e0000-\U000e007f]"
)
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")  # NUL and lone surrogates
_LIGATURES = str.maketrans({"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"})
_NUMBER_TAIL = r"(?:[.,:]\d+)+(?![^\W_])"
NUMBER = rf"\d+{_NUMBER_TAIL}"  # a version, a decimal, a time: one word, because its parts mean nothing
_WORD = re.compile(rf"{NUMBER}|[^\W_]+(?:['’][^\W_]+)?")
WORD_PART = re.compile(rf"{NUMBER}|[^\W_]+")  # a word, or what stands on one side of its apostrophe
_COMPOUND = re.compile(rf"(?:{NUMBER}|[^\W_]+)(?:-[^\W_]+)*")
_NAME_LETTER = re.compile(r"[B-HJ-Z]")  # may be part of a name: R squared, vitamin C
_ELIDED = re.compile(r"[cdjlmnst]|qu", re.I)  # of a French word before a vowel
_stemmer = Stemmer.Stemmer("english")
_SENTENCE_END = re.compile(
    r"(?<=[.!?…])[\"'”’)\]]{0,3}(?:\s{0,3}\[\d{1,4}\]){0,9}\s+(?!\[\d{1,4}\])"
    r"|(?<=[。！？])[”’」』）)]{0,3}(?:\s{0,3}\[\d{1,4}\]){0,9}\s*(?!\[\d{1,4}\]|[。！？”’」』）)])"
    r"|\n{2,}|\n(?=[ \t]{0,8}(?:[-*•]|\d{1,3}[.)])\s)"
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|al|Dr|Mr|Mrs|Ms|Prof|St|Fig|Eq|No|Nos|Sec|Ch|Vol|pp|approx|Inc|Ltd|Jr|Sr|z|bzw|ca|Nr)|(?<![°º])\b[A-Z]"
    r"|(?:^|\n)\s{0,8}\d{1,3})[.)]$"
)
_BEFORE_NUMBER = re.compile(r"\b(?:extn?|tel|mob|rm|art|para|vol)\.$", re.I)  # "ext. 610"
_DAY = re.compile(r"(?<!\d)\d{1,2}\.$")  # "am 24. Juli"
_GERMAN_MONTH = re.compile(r"(?:J[aä]n|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez)\w{0,6}\b")
_ORDINAL = re.compile(  # "die 4. Klasse", "in der 3. und 4. Klasse"
    r"(?:^|(?<!\bI) )(?i:am|im|vom|zum|zur|der|die|das|dem|den|des) \d{1,2}\.$|\d\. (?:und|oder|bis|sowie) \d{1,2}\.$"
)
_FIELD_LINE = re.compile(r"[^\W_][\w ()/.,&+%’'–-]{0,60}: \S")
_INITIAL = re.compile(r"\w[ .][A-Z]\.$")  # only after a word: "A. The tenant" is a list item
_LETTERS = re.compile(r"\b[A-Z],? (?:and|or|to) [A-Z]\.$")  # "sectors A and B.": the last one is no initial either
_SENTENCE_OPENER = re.compile(  # begins a sentence and is not a name, so the letter before it is not an initial
    r"(?:The|They|This|These|Those|That|There|It|He|She|We|You|If|In|On|At|For|When|While|After|Before|Each|All|Both|But|And"
    r"|An?|No|Only|Please|Other|Its|Their|Your|Our|To)\b"
)
_AUXILIARY = re.compile(r"\b(?:do|does|did|can|could|will|would|should|must) (?:(?:the|an?|my|your) )?$", re.I)
_AFTER_VERB = re.compile(
    r" (?:an?|the|my|your|our|their|its|this|these|some|any|it|them|me|us|you)\b|\s?(?:\?|$)", re.I
)
_PHRASE_BREAK = re.compile(r"[^\s\-'’]")
IN_BRACKETS = re.compile(r"\([^()]*\)")
SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{4,}")  # invisible: each may hide a byte
ITEM = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+")
_TABLE_RULE = re.compile(r"\|?(?:\s*:?-+:?\s*\|)+(?:\s*:?-+:?\s*)?")  # between the header of a table and its rows
MAX_CACHED_CHARS = 4000  # longer messages are not cached
CITATION = re.compile(r"\[(\d{1,4})\]")
_WITH_SPACE = re.compile(r"[ \t]{0,3}\[\d{1,4}\](?:[ \t]{1,3}(?=[.,;!?](?:[\s\"'”’)]|$)))?")  # a citation to take out
_CITED_END = re.compile(r"([.!?](?:\s?\[\d{1,4}\])+) (?=[a-z])")  # a point ends here though the next begins small
_CITATIONS_ALONE = re.compile(r"(?:\s*\[\d{1,4}\])+\s*")


class WholeCharacters:
    """Text that comes in pieces, with whole characters only: the halves of an emoji (surrogates) that were sent in two
    pieces are joined, and one whose other half never comes becomes "�"."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-16-le")("replace")

    def add(self, piece: str) -> str:
        return self._decoder.decode(piece.encode("utf-16-le", "surrogatepass"))

    def end(self) -> str:
        """What stands for a half that is still alone."""
        return self._decoder.decode(b"", final=True)


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """The stem of a word; a full hour has the same stem with and without its minutes: 11:00, 11."""
    return str(_stemmer.stemWord(word.lower().removesuffix(":00")))


def stems(words: list[str]) -> list[str]:
    """The stems of many lower-case words at once."""
    return list(_stemmer.stemWords(words))


def words(text: str) -> list[str]:
    """The words of a text, as written."""
    return _WORD.findall(text)


def word_stems(text: str) -> set[str]:
    """The stems of all words of a text, small ones too."""
    return set(map(stem, words(text)))


def specific_stems(text: str) -> set[str]:
    """The stems of the words of a text that say what it is about; see `is_specific`."""
    return {stem(word) for word in words(text) if is_specific(word)}


def words_like(key: str, text: str) -> list[str]:
    """The words of a lower-case text that may have this stem: cheaper than stemming all words."""
    start = key[: 2 if len(key) > 3 else 1].rstrip(
        "'’.,:"
    )  # a stem keeps at least this much of a word; that of "dying" is "die"
    return [start + rest for rest in _rest_of_word(start).findall(text)]


@lru_cache(maxsize=1024)
def _rest_of_word(start: str) -> re.Pattern[str]:
    """The rest of a word after its start, as a lookahead, because in "b'ad'add" the word "add" counts too."""
    number = rf"\d*{_NUMBER_TAIL}|" if start.isdigit() else ""
    start = re.escape(start)
    return re.compile(rf"{start}(?<![^\W_]{start})(?=({number}[^\W_]*(?:['’][^\W_]+)?))")


def is_content(word: str) -> bool:
    """Whether a word carries meaning: not a stop word (but "US" and "IT" are names), not a single letter."""
    if len(word) == 1:
        return word.isdigit()
    return word.lower() not in STOP_WORDS or word.isupper()


def content_words(text: str) -> list[str]:
    return [base for word in words(text) if is_content(base := _without_ending(word))]


def content_stems(text: str) -> set[str]:
    return {key for key in map(_content_stem, words(text)) if key}


@lru_cache(maxsize=65536)
def _content_stem(word: str) -> str:
    """The stem of a word, or an empty string if it carries no meaning."""
    base = _without_ending(word)
    return stem(base) if is_content(base) else ""


def _without_ending(word: str) -> str:
    """A word without "'s" and the like, and without what stands before a French one: "l'eau"."""
    first, _, rest = word.replace("’", "'").partition("'")
    return rest if len(rest) > 2 and _ELIDED.fullmatch(first) else first


def message_stems(text: str) -> frozenset[str]:
    """The content stems of a message, cached, because every turn needs them for the whole conversation."""
    return _cached_stems(text) if len(text) <= MAX_CACHED_CHARS else frozenset(content_stems(text))


@lru_cache(maxsize=1024)
def _cached_stems(text: str) -> frozenset[str]:
    return frozenset(content_stems(text))


@lru_cache(maxsize=65536)
def is_specific(word: str) -> bool:
    """Whether a word can be a topic: a content word that is not too general."""
    return is_content(word) and stem(word) not in _general_stems()


@lru_cache(maxsize=1)
def _general_stems() -> frozenset[str]:
    return frozenset(map(stem, _GENERAL_WORDS))


def phrases(text: str) -> list[str]:
    """The noun-like phrases of a text, in order: runs of specific words, without the verb of "does X eat (a Y)?"."""
    found: list[str] = []
    run: list[re.Match[str]] = []
    end = 0
    for word in [*_COMPOUND.finditer(text), None]:
        specific = word is not None and (is_specific(word[0]) or bool(_NAME_LETTER.fullmatch(word[0])))
        if run and (word is None or not specific or _PHRASE_BREAK.search(text[end : word.start()])):
            start, named = run[0].start(), any(is_specific(each[0]) for each in run)
            asked = _AFTER_VERB.match(text, end) and _AUXILIARY.search(text[max(0, start - 16) : start])
            last = run[-2] if asked and len(run) > 1 and run[-1][0].islower() else run[-1]
            found += [text[start : last.end()]] if named else []
            run = []
        if word is not None:
            end = word.end()
            if specific:
                run.append(word)
    return found


_POINTS_BACK = re.compile(
    r"\b(?:it|its|they|them|their|theirs|he|him|his|she|her|hers|this|these|those)\b|\bthat(?=\s*(?:[?.!,]|$))", re.I
)


def subject(text: str) -> str:
    """What a question is about: its first longest phrase, or "" if it refers back to an earlier message."""
    return "" if _POINTS_BACK.search(text) else max(phrases(text), key=lambda phrase: len(phrase.split()), default="")


def sentences(text: str) -> list[str]:
    """The sentences of a text, stripped, in order; list items and paragraphs also end a sentence."""
    pieces: list[str] = []
    start = 0
    for end in _SENTENCE_END.finditer(text):
        before = text[max(start, end.start() - 12) : end.start()]
        after = text[end.end() : end.end() + 2].lstrip("\"'“‘([")
        ends = end[0].startswith("\n") or before.endswith(("。", "！", "？"))
        ends = ends or ("\n" in end[0] and bool(ITEM.match(text[end.end() : end.end() + 8])))
        ends = ends or bool(_INITIAL.search(before) and _SENTENCE_OPENER.match(text, end.end()))
        ends = ends or bool(_LETTERS.search(before))
        goes_on = after[:1].islower() or (after[:1].isdigit() and _BEFORE_NUMBER.search(before))
        before_month = _DAY.search(before) and _GERMAN_MONTH.match(text, end.end())
        goes_on = goes_on or before_month or _ORDINAL.search(before)
        if ends or not (goes_on or _ABBREVIATION.search(before)):
            pieces.append(text[start : end.end()].strip())
            start = end.end()
    pieces.append(text[start:].strip())
    return [piece for piece in pieces if piece]


def ends(sentence: str) -> bool:
    """Whether a sentence ends with a full stop, exclamation or question mark, unlike a heading or an item."""
    return sentence.rstrip("\"'”’)」』） ").endswith((".", "!", "?", "。", "！", "？"))


def asks(sentence: str) -> bool:
    """Whether a sentence ends with a question mark."""
    return sentence.rstrip("\"'”’)」』） ").endswith(("?", "？"))


def is_field(line: str) -> bool:
    """Whether a line begins like "name: value"."""
    return bool(_FIELD_LINE.match(line))


def points(answer: str) -> list[str]:
    """The points of an answer, each with its citations: its sentences, list items and table rows.

    Citations alone after a table belong to all its rows.
    """
    found: list[str] = []
    prose: list[str] = []
    heads: list[str] = []
    rows = 0  # points in the last table and after it
    lines = answer.splitlines()
    for line, below in zip(lines, [*lines[1:], ""], strict=False):
        if not line.startswith("|"):
            prose.append(line)
            continue
        if any(each.strip() for each in prose):
            rows = 0
        found += _cited_sentences(prose)
        prose.clear()
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if _TABLE_RULE.fullmatch(below.strip()):
            heads, rows = cells, 0
        elif not set("".join(cells)) <= set("-: |") and cells[-1] != "Source":
            found.append(_row_as_point(heads, cells))
            rows += 1
    for sentence in _cited_sentences(prose):
        if not (found and _CITATIONS_ALONE.fullmatch(sentence)):
            found.append(sentence)
            rows += bool(rows)
            continue
        last = max(1, rows)
        found[-last:] = [point if CITATION.search(point) else f"{point} {sentence}" for point in found[-last:]]
    return [" ".join(ITEM.sub("", point).split()) for point in found]


def _cited_sentences(lines: Sequence[str]) -> list[str]:
    """The sentences of an answer's lines: "child: 2 euros. [4] family: 12 euros. [4]" are two."""
    found = sentences("\n".join(lines))
    return [part for each in found for part in _CITED_END.sub("\\1\0", each).split("\0")]


def _row_as_point(heads: list[str], cells: list[str]) -> str:
    """A table row as a point: "North: 400.50", with the column names if there are several values."""
    first, *rest = cells
    if not rest or len(heads) != len(cells) or heads[-1] == "Source":
        return " ".join(cells).strip()
    if len(rest) == 1:
        return f"{first}: {rest[0]}"
    return f"{first}: " + ", ".join(f"{head} {cell}" for head, cell in zip(heads[1:], rest, strict=True))


def escape_citations(text: str) -> str:
    """Rewrite what looks like one of our citations in a text from elsewhere: [1] becomes (1)."""
    return CITATION.sub(r"(\1)", text)


def without_citations(text: str) -> str:
    return _WITH_SPACE.sub("", text)


def with_heading(heading: str, text: str) -> str:
    """A passage with its heading in a paragraph of its own, so that it is not read as part of a sentence."""
    return f"{heading}\n\n{text}"


def letters_and_digits(text: str) -> str:
    """The letters and digits of a text, case-folded."""
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def folded(text: str) -> str:
    """The text without case and accents."""
    if text.isascii():
        return text.lower()
    return "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c))


def stem_or_beginning(word: str) -> str:
    """How a word of a phrase in the settings is compared: by its stem, or as a beginning if it ends in *."""
    return word.casefold() if word.endswith("*") else stem(word)


def hidden_bytes(selectors: str) -> bytes:
    """The bytes that a run of SELECTORS hides."""
    return bytes(ord(each) - (0xFE00 if each < "\uff00" else 0xE00F0) for each in selectors)


def positions_of(text: str, part: str) -> Iterator[int]:
    """The positions of a part in a text, including overlapping ones."""
    place = text.find(part)
    while place >= 0:
        yield place
        place = text.find(part, place + 1)


def one_line(text: str, limit: int = 80) -> str:
    """A text on one line, cut at a word with an ellipsis if it is longer than the limit."""
    flat = " ".join(text.split())
    if len(flat) <= limit:
        return flat
    return flat[:limit].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"


def clean(text: str) -> str:
    """The text without characters that cannot be stored, shown or searched, with plain newlines."""
    return _UNWANTED.sub("", _LINE_ENDS.sub("\n", text)).translate(_LIGATURES).strip()


def storable(text: str) -> str:
    """The text with a replacement character for each NUL and each lone surrogate. PostgreSQL can store neither; SQLite
    cannot store the latter, and its patterns end at a NUL."""
    return UNSTORABLE.sub("\ufffd", text)
