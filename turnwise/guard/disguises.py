"""Undoes disguises that a reader sees through: spaced letters, digits for letters, symbols inside words, accents."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from itertools import islice, product

from turnwise.guard.folding import Spread, Tape, characters_of, lone_characters
from turnwise.guard.letters import bare, base_letter, fluency, follow_odds, known_small_words
from turnwise.guard.vocabulary import (
    LATIN,
    MAX_TOKEN_CHARS,
    MAX_WORD_CHARS,
    WORDS,
    Tokens,
    ascii_words,
    reveals_words,
    segment,
)

_Repair = Callable[[re.Match[str]], str | Spread | None]

MAX_VARIANTS = 16  # readings tried for one word in leetspeak
MIN_RUN_TOGETHER_LETTERS = 14  # a shorter word is not several words without spaces
MIN_SPELLED_LETTERS = 6  # nobody spells out a word this long without a reason
MIN_WORD_LETTERS = 4  # shorter ones may be initials
MIN_WORDS = 3  # this many words of that length are not initials
MAX_RUN_LETTERS = 10_000  # spaced letters that are split into words
FIRST_LETTER_LOG_ODDS = 2.0  # prior that a digit stands for the first of its two letters
MIN_FLUENCY = -0.1  # average of leetspeak words once they are read as letters; codes have less

MAX_GAP_CHARS = 6  # between spaced letters

_GAPS = " .,-_*|/·•~\n'’\"“”?!:;()"
_GAP = f"[{re.escape(_GAPS)}]"
_SPACED = re.compile(rf"(?<![^\W_])[^\W_](?:{_GAP}{{1,{MAX_GAP_CHARS}}}[^\W_](?![^\W_])){{3,}}")
_SPACED_TIGHTLY = re.compile(r"(?<![^\W_])[^\W_][.,\-_*|/·•~]{1,4}[^\W_][.,\-_*|/·•~]{1,4}[^\W_](?![^\W_])")
_GAP_OF_LETTERS = re.compile(rf"{_GAP}+")
_ONE = r"(?>\.{3}|\S)"  # one character; an ellipsis has become three dots
_SPELLED = re.compile(rf"[\"'“„«(\[]{{0,3}}{_ONE}([-._,*|/~+·•])(?:{_ONE}\1)*+{_ONE}?[.,;:!?)\]\"'”»]{{0,3}}")
_MAYBE_SPELLED = re.compile(rf"^[\"'“„«(\[]{{0,3}}{_ONE}[-._,*|/~+·•].*$", re.M)  # lines of Tokens.odd_text
_SPELLED_BY = {sign: re.compile(rf"({_ONE})(?:{re.escape(sign)}|$)") for sign in "-._,*|/~+·•"}
_SEPARATED = re.compile(
    r"(?<![A-Za-z])[A-Za-z]+(?:[_+~|*.]{1,2}[A-Za-z]+){2,}|(?<![A-Za-z-])[A-Za-z]+(?:-[A-Za-z]+){4,}"
)
_SIGN_INSIDE = re.compile(r"[A-Za-z][^A-Za-z\s]+[A-Za-z]")
_TOKEN = re.compile(r"\S+")
_SEPARATOR = re.compile(r"[_+~|*.-]+")
_RUN_TOGETHER = re.compile(rf"(?<![A-Za-z])[A-Za-z]{{{MIN_RUN_TOGETHER_LETTERS},80}}(?![A-Za-z])")
_BROKEN = re.compile(r"(?<![A-Za-z])[A-Za-z]+(?:[^\w\s'’@$!&]{1,3}[A-Za-z]+)+")
_NO_LETTER = re.compile(r"[^A-Za-z]+")
_INLINE = (
    r"<(?:/?(?:a|abbr|b|big|cite|code|del|em|font|i|ins|kbd|mark|q|s|samp|small|span|strike|strong|sub|sup|tt|u|var|wbr)"
    r"(?:\s[^<>]{0,200})?/?|!--[^<>]{0,200}--)>"
)
_MARKUP_INSIDE = re.compile(rf"(?<=[^\W_])(?:{_INLINE}|[*~`_]{{1,3}}(?=[^\W_])|\[\])", re.I)
_MARKED = re.compile(r"[^\W_](?:<[a-z/!]|(?:[*~`]{1,3}|__)[^\W_]|\[\])", re.I)
# Letters and marks of scripts with spaces between words, and of scripts in which words run on.
_SPACED_SCRIPTS = "A-Za-z\u00aa-\u0dff\u0f00-\u0fff\u10a0-\u10ff\u1200-\u177f\u1800-\u1fff"
_UNSPACED_SCRIPTS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"
_MARKUP_BETWEEN = re.compile(rf"(?<=[{_SPACED_SCRIPTS}]{{2}})(?:{_INLINE}|\*\*|~~|`)(?=[{_SPACED_SCRIPTS}])", re.I)
_MARKED_RUNNING_ON = re.compile(  # starts with the rarest character, so that a long text is scanned quickly
    rf"[<*~`](?<=[{_UNSPACED_SCRIPTS}].)(?:(?<=<)/?[a-z]|(?<=[*~`])[*~`]{{0,2}}[{_UNSPACED_SCRIPTS}])", re.I
)
_MARKUP = re.compile(rf"{_INLINE}|[*~`]{{1,3}}|(?<=[^\W_])_{{1,3}}(?=[^\W_])|\[\]", re.I)

_LEET_LETTERS = {
    "0": "o", "1": "il", "2": "z", "3": "e", "4": "a", "5": "s", "6": "g", "7": "t", "8": "b", "9": "g", "@": "a",
    "$": "s", "!": "i", "|": "il", "+": "t", "€": "e", "£": "l",
}  # fmt: skip
_FIRST_LETTERS = str.maketrans({digit: letters[0] for digit, letters in _LEET_LETTERS.items()})
_WITH_LATIN = re.compile(f"[{LATIN}]")
_LEET = re.compile(rf"[{LATIN}][0-9@$|€£]|[0-9@$!|+€£][{LATIN}]")
_LEET_WORD = re.compile(rf"(?<![{LATIN}0-9@$!|+€£])[{LATIN}0-9@$!|+€£]{{1,40}}(?![{LATIN}0-9@$|€£])")
_DIGIT_INSIDE = re.compile(rf"[{LATIN}][0-9$!]+[{LATIN}]")  # the other symbols are common in URLs and tables
_DIGITS_APART = re.compile(rf"[0-9$!][{LATIN}]+[0-9$!]")


def undo_disguises(tape: Tape, tokens: Tokens, signs: Counter[str]) -> tuple[list[str], Tape, Tokens]:
    """Apply all steps in turn. Returns the names of those that revealed words, and the final text with its tokens."""
    names: list[str] = []
    for name, step in (
        ("markup", _remove_markup),
        ("joined letters", _join_spaced),
        ("unbroken", _repair_broken),
        ("unaccented", _remove_accents),
        ("leet", _read_leetspeak),
    ):
        new, count = step(tape, tokens)
        if count:
            tape, tokens = new, Tokens(new.text)
            signs[{"joined letters": "spacing", "unbroken": "spacing"}.get(name, name)] += count
            names.append(name)
    return names, tape, tokens


def _remove_markup(tape: Tape, tokens: Tokens) -> tuple[Tape, int]:
    """Remove formatting inside words."""
    if not _MARKED.search(tokens.odd_text):
        return tape, 0
    new = tape.sub(_MARKUP, lambda _: "")
    count = sum(1 for _ in _MARKUP_INSIDE.finditer(tape.text))
    if sum(1 for _ in _MARKUP_BETWEEN.finditer(tape.text)) > 2:
        return new, count
    return _keep_if_revealing(tape, new, count)


def strip_formatting(tape: Tape) -> Tape:
    """The text without formatting between letters of scripts in which words run on, such as Chinese, Thai or Korean.
    There it is usually honest, but it can hide words."""
    if tape.text.isascii() or not _MARKED_RUNNING_ON.search(tape.text):
        return tape
    return tape.sub(_MARKUP, lambda _: "")


def _join_spaced(tape: Tape, tokens: Tokens) -> tuple[Tape, int]:
    """Join spaced letters into words if one of the runs in the text contains a known word. Initials and lists of
    letters do not."""
    tape, spelled = _join_spelled(tape, tokens)
    if spelled:
        tokens = Tokens(tape.text)
    short = (each for each in tokens.all if len(each) == 1 or (len(each) < 6 and not each.isalpha()))
    stripped = (each.strip(_GAPS) for each in short)
    alone = {each for each in stripped if len(each) == 1 and each.isalpha() and each not in "aAiI"}
    if len(alone) < 2 and not tokens.any_like(_SPACED_TIGHTLY):
        return tape, spelled
    runs = {found.start(): _join_run(found) for found in _spaced_runs(tape.text)}
    plain = [start for start, run in runs.items() if run and _has_words(run.text)]
    if not plain:
        return tape, spelled
    return tape.sub(_SPACED, lambda found: runs[found.start()]), spelled + len(plain)


def _spaced_runs(text: str) -> Iterator[re.Match[str]]:
    """Runs of spaced letters. For speed, they are only looked for around letters with gaps on both sides; the first
    letter of a run is at most one gap before these."""
    place = 0
    for start, end in lone_characters(text, _GAPS, MAX_GAP_CHARS):
        place = max(place, start)
        while place < end:
            found = _SPACED.match(text, place)
            if found:
                yield found
            place = found.end() if found else place + 1


def _join_spelled(tape: Tape, tokens: Tokens) -> tuple[Tape, int]:
    """Join words of any language that have the same symbol after each letter, if one of them is long or several cannot
    be initials. Other punctuation is kept. Runs of several known words are left to a later step, which splits them."""
    likely = (*_MAYBE_SPELLED.findall(tokens.odd_text), *tokens.long)
    found = {token: match[1] for token in likely if (match := _SPELLED.fullmatch(token))}
    if all(sum(map(_is_letter, token.lower())) < MIN_WORD_LETTERS for token in found):
        return tape, 0
    new = {token: Tape(token).sub(_SPELLED_BY[sign], lambda one: one[1]) for token, sign in found.items()}
    words = ["".join(filter(_is_letter, after.text.lower())) for after in new.values()]
    sizes = [len(word) for word in words if list(word) != sorted(word)]  # letters in alphabetical order are a list
    if max(sizes, default=0) < MIN_SPELLED_LETTERS and sum(size >= MIN_WORD_LETTERS for size in sizes) < MIN_WORDS:
        return tape, 0
    new = {token: after for token, after in new.items() if not _is_several_words(after.text)}
    return _replace_tokens(tape, new), len(new)


def _is_letter(each: str) -> bool:
    """Whether this is a letter, or a vowel sign as in Hindi and Thai."""
    return each.isalpha() or (not each.isascii() and unicodedata.category(each)[0] == "M")


def _is_several_words(letters: str) -> bool:
    if not MIN_RUN_TOGETHER_LETTERS <= len(letters) <= MAX_RUN_LETTERS or letters.lower() in WORDS:
        return False
    return len(segment(letters) or ()) > 2


def _join_run(found: re.Match[str]) -> Spread | None:
    """Join a run of spaced letters. A gap unlike the others separates words; if there is none, the run is split into
    known words."""
    run, start = found[0], found.start()
    letters = [at for at, each in enumerate(run) if each.isalnum()]
    if 2 * sum(run[at].isalpha() for at in letters) < len(letters):
        return None
    gaps = _GAP_OF_LETTERS.findall(run)
    usual = Counter(gaps).most_common(1)[0][0]
    between = {place + 1 for place, gap in enumerate(gaps) if gap != usual}
    if not between and len(letters) <= MAX_RUN_LETTERS:
        cut = segment("".join(run[at] for at in letters).translate(_FIRST_LETTERS))
        between = {place for place in cut or () if place}
    text: list[str] = []
    places: list[int] = []
    for place, at in enumerate(letters):
        if place in between:
            text.append("\n" if "\n" in gaps[place - 1] else " ")
            places.append(start + letters[place - 1] + 1)
        text.append(run[at])
        places.append(start + at)
    return Spread("".join(text), places)


def _has_words(text: str) -> bool:
    foreign = sum(not each.isascii() and each.isalpha() for each in text)
    if sum(len(word) >= MIN_WORD_LETTERS for word in text.split()) >= MIN_WORDS:
        return True
    return foreign > 4 or any(len(word) > 2 for word in ascii_words(text.translate(_FIRST_LETTERS)) & WORDS)


def _repair_broken(tape: Tape, tokens: Tokens) -> tuple[Tape, int]:
    """Repair words with symbols inside them, words with symbols instead of spaces, and words without spaces."""
    count = 0

    def counted(repair: _Repair) -> _Repair:
        def replace(found: re.Match[str]) -> str | Spread | None:
            nonlocal count
            after = repair(found)
            count += after is not None
            return after

        return replace

    def repaired(token: str) -> Tape:
        tape = Tape(token)
        for pattern, repair in _REPAIRS:
            tape = tape.sub(pattern, counted(repair))
        return tape

    odd = [each for each in tokens.odd if _SIGN_INSIDE.search(each)]
    long = (
        each
        for each in tokens.all
        if len(each) >= MIN_RUN_TOGETHER_LETTERS and len(each) <= MAX_TOKEN_CHARS and each.lower() not in WORDS
    )
    together = [each for each in long if _RUN_TOGETHER.search(each)]
    new = {each: after for each in {*odd, *together} if (after := repaired(each)).text != each}
    return _replace_tokens(tape, new), count


def _join_broken(found: re.Match[str]) -> Spread | None:
    word = _NO_LETTER.sub("", found[0])
    if not 5 <= len(word) <= MAX_WORD_CHARS or word.lower() not in WORDS:
        return None
    parts = [part.lower() for part in _NO_LETTER.split(found[0])]
    if len(parts[0]) == 1 or all(part in WORDS for part in parts):  # such as e-mail, or with-in
        return None
    letters = (at for at, each in enumerate(found[0]) if each.isascii() and each.isalpha())
    return Spread(word, [found.start() + at for at in letters])


def _split_separated(found: re.Match[str]) -> str | None:
    parts = [part.lower() for part in _SEPARATOR.split(found[0])]
    known = sum(part in WORDS for part in parts)
    if known < 3 or 3 * known < 2 * len(parts):
        return None
    return _SEPARATOR.sub(lambda gap: " " * len(gap[0]), found[0])


def _split_run_together(found: re.Match[str]) -> Spread | None:
    word = found[0]
    starts = None if word.lower() in WORDS else _word_starts(word)
    if starts is None or len(starts) < 3 or len(word) < 3.5 * len(starts):
        return None
    text, places = [], []
    for at, letter in enumerate(word):
        if at and at in starts:
            text.append(" ")
            places.append(found.start() + at)
        text.append(letter)
        places.append(found.start() + at)
    return Spread("".join(text), places)


@lru_cache(maxsize=4096)
def _word_starts(letters: str) -> list[int] | None:
    """Where the words start in letters that are little but known words. Most are one long word of many texts."""
    return segment(letters, 0.95)


# What is looked for, and what replaces it (None: it stays). Each repair reads what the one before it left.
_REPAIRS: tuple[tuple[re.Pattern[str], _Repair], ...] = (
    (_BROKEN, _join_broken),
    (_SEPARATED, _split_separated),
    (_RUN_TOGETHER, _split_run_together),
)


def _replace_tokens(tape: Tape, new: Mapping[str, Tape]) -> Tape:
    """The text with these tokens replaced."""

    def replace(found: re.Match[str]) -> str | Spread | None:
        after = new.get(found[0])
        if after is None:
            return None
        if after.places is None:
            return after.text
        return Spread(after.text, [found.start() + at for at in after.origin()])

    return tape.sub(_TOKEN, replace) if new else tape


def _remove_accents(tape: Tape, _: Tokens) -> tuple[Tape, int]:
    """Remove accents from Latin letters if that reveals English words, so that other languages are left alone."""
    if tape.text.isascii():
        return tape, 0
    table = {ord(each): base for each in characters_of(tape.text) if (base := base_letter(each)) != each}
    if not table:
        return tape, 0
    new = tape.derive(tape.text.translate(table), None)
    return _keep_if_revealing(tape, new, sum(map(str.__ne__, tape.text, new.text)))


def _read_leetspeak(tape: Tape, tokens: Tokens) -> tuple[Tape, int]:
    """Read digits and symbols in words as letters (leetspeak). At least one result must clearly be a word. If many
    words, of any language, are written like that, all words and numbers are read so."""
    if not _LEET.search(tokens.odd_text):
        return tape, 0
    leet_words = {each for each in _LEET_WORD.findall(tokens.odd_text) if not each.isalpha() and not each.isdigit()}
    found = {each: word for each in leet_words if (word := _as_known_word(each))}
    plain = [word for word in found.values() if len(word) > 3]
    many = _is_leetspeak(leet_words, tokens)
    if not many and not any(len(word) > 4 for word in plain) and len(plain) < 2:
        return tape, 0
    count = 0

    def read_as_letters(match: re.Match[str]) -> str | None:
        nonlocal count
        new = _as_letters(match[0]) if many else found.get(match[0])
        if many and len(match[0]) == 1 and match.string.startswith(("'", "’"), match.end()):  # such as "s'il"
            new = match[0].translate(_FIRST_LETTERS)
        count += new not in (None, match[0])
        return new

    new = {each: after for each in tokens.odd if (after := Tape(each).sub(_LEET_WORD, read_as_letters)).text != each}
    return _replace_tokens(tape, new), count


def _is_leetspeak(leet_words: Collection[str], tokens: Tokens) -> bool:
    """Whether a third of the words have digits, some inside the word, as in no language, and read like words of some
    language once these are letters. Abbreviations such as i18n have digits in one place only."""
    inside = [each for each in leet_words if len(each) >= MIN_WORD_LETTERS and _DIGIT_INSIDE.search(each)]
    if len(inside) < 2 or len(leet_words) < MIN_WORDS or not any(map(_DIGITS_APART.search, inside)):
        return False
    more = 3 * len(leet_words) + 1
    if sum(1 for _ in islice(filter(_WITH_LATIN.search, tokens.all), more)) == more:
        return False
    return fluency(" ".join(map(_as_letters, leet_words))) > MIN_FLUENCY


def _is_known(word: str) -> bool:
    return word.lower() in WORDS or bare(word) in known_small_words()


@lru_cache(maxsize=4096)
def _as_known_word(word: str) -> str:
    """A word with its digits read as letters if that is a known word, otherwise "". The length does not change."""
    body = word.rstrip("!+|")
    choices = [_LEET_LETTERS.get(each, each) for each in body]
    variants = 2 ** sum(len(each) > 1 for each in choices)
    if body.isalpha() or not 2 <= len(body) <= MAX_WORD_CHARS or variants > MAX_VARIANTS:
        return ""
    for letters in product(*choices):
        if _is_known(candidate := "".join(letters)):
            return _match_case(candidate, body) + word[len(body) :]
    return ""


@lru_cache(maxsize=4096)
def _as_letters(word: str) -> str:
    """A word with its digits read as letters. If that is not a known word, the neighbouring letters decide which; a
    number is only changed if it becomes a function word."""
    body = word.rstrip("!+|")
    if not body or body.isalpha():
        return word
    if known := _as_known_word(word):
        return known
    letters = body.translate(_FIRST_LETTERS)
    for at, choices in enumerate(map(_LEET_LETTERS.get, body)):
        if choices and len(choices) > 1:
            before, after = letters[at - 1 : at] or " ", letters[at + 1 : at + 2] or " "
            odds = [follow_odds(before, each) + follow_odds(each, after) for each in choices]
            if odds[1] > odds[0] + FIRST_LETTER_LOG_ODDS:
                letters = letters[:at] + choices[1] + letters[at + 1 :]
    if not any(map(str.isalpha, body)) and letters not in known_small_words():
        return word
    return _match_case(letters, body) + word[len(body) :]


def _match_case(letters: str, word: str) -> str:
    """The letters in capitals if the word is in capitals."""
    capitals = sum(map(str.isupper, word)) > 1 and not any(map(str.islower, word))
    return letters.upper() if capitals else letters


def _keep_if_revealing(old: Tape, new: Tape, count: int) -> tuple[Tape, int]:
    return (new, count) if reveals_words(ascii_words(old.text), ascii_words(new.text)) else (old, 0)
