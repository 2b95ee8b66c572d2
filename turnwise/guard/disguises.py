"""Disguises that a reader sees through: spaced letters, figures for letters, signs inside of words, accents."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from itertools import product

from turnwise.guard.folding import Spread, Tape, characters_of
from turnwise.guard.letters import bare, base_letter, fluency, following, known_small_words
from turnwise.guard.vocabulary import LONGEST, LONGEST_TOKEN, WORDS, Tokens, ascii_words, gained, segmented

MOST_VARIANTS = 16  # readings tried of one word with figures
SHORTEST_TOGETHER = 14  # letters that may be several words without blanks
LONG_WORD = 6  # letters of a word that nobody takes apart without reason
NO_INITIALS = 4  # letters that are hardly initials
SEVERAL = 3  # words of so many
LONGEST_RUN = 10_000  # spaced letters without double gaps that are cut into words
RARER = 2.0  # log-odds that a figure means the first of two letters
FLUENT = -0.1  # fluency, on the average, of words with figures for letters; codes have less

_GAP = r"[ .,\-_*|/·•~\n'’\"“”?!:;()]"
_SPACED = re.compile(rf"(?<![^\W_])[^\W_](?:{_GAP}{{1,6}}[^\W_](?![^\W_])){{3,}}")
_SPACED_INSIDE = re.compile(rf"{_GAP}[^\W_]{_GAP}{{1,6}}[^\W_]{_GAP}")  # what each of them holds, and is soon found
_SPACED_TIGHTLY = re.compile(r"(?<![^\W_])[^\W_][.,\-_*|/·•~]{1,4}[^\W_][.,\-_*|/·•~]{1,4}[^\W_](?![^\W_])")
_GAP_OF_LETTERS = re.compile(rf"{_GAP}+")
_ONE = r"(?>\.{3}|\S)"  # a character; one of them is now three
_SPELLED = re.compile(rf"[\"'“„«(\[]{{0,3}}{_ONE}([-._,*|/~+·•])(?:{_ONE}\1)*+{_ONE}?[.,;:!?)\]\"'”»]{{0,3}}")
_SPELLED_BY = {sign: re.compile(rf"({_ONE})(?:{re.escape(sign)}|$)") for sign in "-._,*|/~+·•"}
_SEPARATED = re.compile(
    r"(?<![A-Za-z])[A-Za-z]+(?:[_+~|*.]{1,2}[A-Za-z]+){2,}|(?<![A-Za-z-])[A-Za-z]+(?:-[A-Za-z]+){4,}"
)
_SIGN_INSIDE = re.compile(r"[A-Za-z][^A-Za-z\s]+[A-Za-z]")
_TOKEN = re.compile(r"\S+")
_SEPARATOR = re.compile(r"[_+~|*.-]+")
_RUN_TOGETHER = re.compile(rf"(?<![A-Za-z])[A-Za-z]{{{SHORTEST_TOGETHER},80}}(?![A-Za-z])")
_BROKEN = re.compile(r"(?<![A-Za-z])[A-Za-z]+(?:[^\w\s'’@$!&]{1,3}[A-Za-z]+)+")
_NO_LETTER = re.compile(r"[^A-Za-z]+")
_INLINE = (
    r"<(?:/?(?:a|abbr|b|big|cite|code|del|em|font|i|ins|kbd|mark|q|s|samp|small|span|strike|strong|sub|sup|tt|u|var|wbr)"
    r"(?:\s[^<>]{0,200})?/?|!--[^<>]{0,200}--)>"
)
_MARKUP_INSIDE = re.compile(rf"(?<=[^\W_])(?:{_INLINE}|[*~`_]{{1,3}}(?=[^\W_])|\[\])", re.I)
_MARKED = re.compile(r"[^\W_](?:<[a-z/!]|(?:[*~`]{1,3}|__)[^\W_]|\[\])", re.I)
# Letters and their marks: of scripts in which a word stands by itself, and of those in which more may be joined to it.
_APART = "A-Za-z\u00aa-\u0dff\u0f00-\u0fff\u10a0-\u10ff\u1200-\u177f\u1800-\u1fff"
_RUNNING_ON = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"
_MARKUP_BETWEEN = re.compile(rf"(?<=[{_APART}]{{2}})(?:{_INLINE}|\*\*|~~|`)(?=[{_APART}])", re.I)
_MARKED_RUNNING_ON = re.compile(  # begins with what is rare, so that a long text is soon looked through
    rf"[<*~`](?<=[{_RUNNING_ON}].)(?:(?<=<)/?[a-z]|(?<=[*~`])[*~`]{{0,2}}[{_RUNNING_ON}])", re.I
)
_MARKUP = re.compile(rf"{_INLINE}|[*~`]{{1,3}}|(?<=[^\W_])_{{1,3}}(?=[^\W_])|\[\]", re.I)

_FIGURES = {
    "0": "o", "1": "il", "2": "z", "3": "e", "4": "a", "5": "s", "6": "g", "7": "t", "8": "b", "9": "g", "@": "a",
    "$": "s", "!": "i", "|": "il", "+": "t", "€": "e", "£": "l",
}  # fmt: skip
_FIRST = str.maketrans({figure: letters[0] for figure, letters in _FIGURES.items()})
_LATIN = "A-Za-z\u00c0-\u024f\u1e00-\u1eff"
_WITH_LATIN = re.compile(f"[{_LATIN}]")
_FIGURED = re.compile(rf"[{_LATIN}][0-9@$|€£]|[0-9@$!|+€£][{_LATIN}]")
_FIGURED_WORD = re.compile(rf"(?<![{_LATIN}0-9@$!|+€£])[{_LATIN}0-9@$!|+€£]{{1,40}}(?![{_LATIN}0-9@$|€£])")
_FIGURE_INSIDE = re.compile(rf"[{_LATIN}][0-9$!]+[{_LATIN}]")  # the other signs stand in addresses and tables too
_FIGURES_APART = re.compile(rf"[0-9$!][{_LATIN}]+[0-9$!]")


def undisguised(tape: Tape, tokens: Tokens, signs: Counter[str]) -> tuple[list[str], Tape, Tokens]:
    """The steps that gave words, one on top of the other, and the text after them all with its tokens."""
    names: list[str] = []
    for name, step in (
        ("markup", _without_markup),
        ("joined letters", _joined),
        ("unbroken", _unbroken),
        ("unaccented", _unaccented),
        ("leet", _in_letters),
    ):
        new, count = step(tape, tokens)
        if count:
            tape, tokens = new, Tokens(new.text)
            signs[{"joined letters": "spacing", "unbroken": "spacing"}.get(name, name)] += count
            names.append(name)
    return names, tape, tokens


def _without_markup(tape: Tape, tokens: Tokens) -> tuple[Tape, int]:
    """Formatting that stands inside of words."""
    if not _MARKED.search(tokens.some):
        return tape, 0
    new = tape.sub(_MARKUP, lambda _: "")
    count = sum(1 for _ in _MARKUP_INSIDE.finditer(tape.text))
    if sum(1 for _ in _MARKUP_BETWEEN.finditer(tape.text)) > 2:
        return new, count
    return _if_gained(tape, new, count)


def unformatted(tape: Tape) -> Tape:
    """Without formatting between letters where words run on, as in Chinese, Thai or Korean: it is honest there, and
    yet it hides words."""
    if tape.text.isascii() or not _MARKED_RUNNING_ON.search(tape.text):
        return tape
    return tape.sub(_MARKUP, lambda _: "")


def _joined(tape: Tape, tokens: Tokens) -> tuple[Tape, int]:
    """Letters with gaps between them as words, where one of the runs in the text holds a known word; initials and
    lists of letters do not."""
    tape, spelled = _spelled(tape, tokens)
    if spelled:
        tokens = Tokens(tape.text)
    short = (each.strip(".,-_*|/·•~'’\"“”?!:;()") for each in tokens.all if len(each) < 6)
    alone = {each for each in short if len(each) == 1 and each.isalpha() and each not in "aAiI"}
    if len(alone) < 2 and not tokens.any_like(_SPACED_TIGHTLY):
        return tape, spelled
    runs = {found.start(): _run(found) for found in _spaced(tape.text)}
    plain = [start for start, run in runs.items() if run and _has_words(run.text)]
    if not plain:
        return tape, spelled
    return tape.sub(_SPACED, lambda found: runs[found.start()]), spelled + len(plain)


def _spaced(text: str) -> Iterator[re.Match[str]]:
    """Letters with gaps between them, looked for only around two that have gaps on both sides: the first stands at most
    a gap before these."""
    end = 0
    for inside in _SPACED_INSIDE.finditer(text):
        for place in range(max(end, inside.start() - 6), inside.end()):
            if place >= end and (found := _SPACED.match(text, place)):
                yield found
                end = found.end()


def _spelled(tape: Tape, tokens: Tokens) -> tuple[Tape, int]:
    """Words of any language with one and the same sign after each letter, where one is long or several are no initials:
    they keep their own signs. What holds several known words is left to be cut apart."""
    found = {token: match[1] for token in (*tokens.odd, *tokens.long) if (match := _SPELLED.fullmatch(token))}
    new = {token: Tape(token).sub(_SPELLED_BY[sign], lambda one: one[1]) for token, sign in found.items()}
    words = ["".join(filter(_is_letter, after.text.lower())) for after in new.values()]
    sizes = [len(word) for word in words if list(word) != sorted(word)]  # in the order of the alphabet it is a list
    if max(sizes, default=0) < LONG_WORD and sum(size >= NO_INITIALS for size in sizes) < SEVERAL:
        return tape, 0
    new = {token: after for token, after in new.items() if not _several_words(after.text)}
    return _by_token(tape, new), len(new)


def _is_letter(each: str) -> bool:
    """Also a vowel sign, as those of Hindi and Thai."""
    return each.isalpha() or (not each.isascii() and unicodedata.category(each)[0] == "M")


def _several_words(letters: str) -> bool:
    if not SHORTEST_TOGETHER <= len(letters) <= LONGEST_RUN or letters.lower() in WORDS:
        return False
    return len(segmented(letters) or ()) > 2


def _run(found: re.Match[str]) -> Spread | None:
    """Spaced letters joined: a gap unlike the others is one between words; without one, known words are cut out."""
    run, start = found[0], found.start()
    letters = [at for at, each in enumerate(run) if each.isalnum()]
    if 2 * sum(run[at].isalpha() for at in letters) < len(letters):
        return None
    gaps = _GAP_OF_LETTERS.findall(run)
    usual = Counter(gaps).most_common(1)[0][0]
    between = {place + 1 for place, gap in enumerate(gaps) if gap != usual}
    if not between and len(letters) <= LONGEST_RUN:
        cut = segmented("".join(run[at] for at in letters).translate(_FIRST))
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
    if sum(len(word) >= NO_INITIALS for word in text.split()) >= SEVERAL:
        return True
    return foreign > 4 or any(len(word) > 2 for word in ascii_words(text.translate(_FIRST)) & WORDS)


def _unbroken(tape: Tape, tokens: Tokens) -> tuple[Tape, int]:
    """Words with signs inside of them, words with signs for blanks, and words without blanks."""
    count = 0

    def whole(found: re.Match[str]) -> Spread | None:
        nonlocal count
        word = _NO_LETTER.sub("", found[0])
        if not 5 <= len(word) <= LONGEST or word.lower() not in WORDS:
            return None
        parts = [part.lower() for part in _NO_LETTER.split(found[0])]
        if len(parts[0]) == 1 or all(part in WORDS for part in parts):  # as in e-mail, or in with-in
            return None
        count += 1
        letters = (at for at, each in enumerate(found[0]) if each.isascii() and each.isalpha())
        return Spread(word, [found.start() + at for at in letters])

    def apart(found: re.Match[str]) -> str | None:
        nonlocal count
        parts = [part.lower() for part in _SEPARATOR.split(found[0])]
        known = sum(part in WORDS for part in parts)
        if known < 3 or 3 * known < 2 * len(parts):
            return None
        count += 1
        return _SEPARATOR.sub(lambda gap: " " * len(gap[0]), found[0])

    def cut(found: re.Match[str]) -> Spread | None:
        nonlocal count
        word = found[0]
        starts = None if word.lower() in WORDS else segmented(word, 0.95)
        if starts is None or len(starts) < 3 or len(word) < 3.5 * len(starts):
            return None
        count += 1
        text, places = [], []
        for at, letter in enumerate(word):
            if at and at in starts:
                text.append(" ")
                places.append(found.start() + at)
            text.append(letter)
            places.append(found.start() + at)
        return Spread("".join(text), places)

    def changed(token: str) -> Tape:
        return Tape(token).sub(_BROKEN, whole).sub(_SEPARATED, apart).sub(_RUN_TOGETHER, cut)

    odd = [each for each in tokens.odd if _SIGN_INSIDE.search(each)]
    long = (
        each
        for each in tokens.all
        if len(each) >= SHORTEST_TOGETHER and len(each) <= LONGEST_TOKEN and each.lower() not in WORDS
    )
    together = [each for each in long if _RUN_TOGETHER.search(each)]
    new = {each: after for each in {*odd, *together} if (after := changed(each)).text != each}
    return _by_token(tape, new), count


def _by_token(tape: Tape, new: Mapping[str, Tape]) -> Tape:
    """With these tokens replaced wherever they stand."""

    def replaced(found: re.Match[str]) -> str | Spread | None:
        after = new.get(found[0])
        if after is None:
            return None
        if after.places is None:
            return after.text
        return Spread(after.text, [found.start() + at for at in after.origin()])

    return tape.sub(_TOKEN, replaced) if new else tape


def _unaccented(tape: Tape, _: Tokens) -> tuple[Tape, int]:
    """Latin letters without their accents, where that gives English words; so in no text of another language."""
    if tape.text.isascii():
        return tape, 0
    table = {ord(each): base for each in characters_of(tape.text) if (base := base_letter(each)) != each}
    if not table:
        return tape, 0
    new = tape.taken(tape.text.translate(table), None)
    return _if_gained(tape, new, sum(map(str.__ne__, tape.text, new.text)))


def _in_letters(tape: Tape, tokens: Tokens) -> tuple[Tape, int]:
    """Words written with figures and signs for letters. One must be plain; where many are, of any language, all words
    and numbers are read so."""
    if not _FIGURED.search(tokens.some):
        return tape, 0
    figured = {each for each in _FIGURED_WORD.findall(tokens.some) if not each.isalpha() and not each.isdigit()}
    found = {each: word for each in figured if (word := _lettered(each))}
    plain = [word for word in found.values() if len(word) > 3]
    many = _is_in_figures(figured, tokens)
    if not many and not any(len(word) > 4 for word in plain) and len(plain) < 2:
        return tape, 0
    count = 0

    def read(match: re.Match[str]) -> str | None:
        nonlocal count
        new = _likeliest(match[0]) if many else found.get(match[0])
        if many and len(match[0]) == 1 and match.string.startswith(("'", "’"), match.end()):  # as in "s'il"
            new = match[0].translate(_FIRST)
        count += new not in (None, match[0])
        return new

    new = {each: after for each in tokens.odd if (after := Tape(each).sub(_FIGURED_WORD, read)).text != each}
    return _by_token(tape, new), count


def _is_in_figures(figured: Collection[str], tokens: Tokens) -> bool:
    """Whether a third of the words have figures, some of them inside, as no language has them, and are words of some
    language without. Abbreviations such as i18n have figures in one place alone."""
    inside = [each for each in figured if len(each) >= NO_INITIALS and _FIGURE_INSIDE.search(each)]
    if len(inside) < 2 or len(figured) < SEVERAL or not any(map(_FIGURES_APART.search, inside)):
        return False
    if 3 * len(figured) < sum(1 for each in tokens.all if _WITH_LATIN.search(each)):
        return False
    return fluency(" ".join(map(_likeliest, figured))) > FLUENT


def _is_known(word: str) -> bool:
    return word.lower() in WORDS or bare(word) in known_small_words()


@lru_cache(maxsize=4096)
def _lettered(word: str) -> str:
    """A word with its figures read as letters, where that is a known one; else nothing. It keeps its length."""
    body = word.rstrip("!+|")
    choices = [_FIGURES.get(each, each) for each in body]
    if body.isalpha() or not 2 <= len(body) <= LONGEST or 2 ** sum(len(each) > 1 for each in choices) > MOST_VARIANTS:
        return ""
    for letters in product(*choices):
        if _is_known(read := "".join(letters)):
            return _cased(read, body) + word[len(body) :]
    return ""


@lru_cache(maxsize=4096)
def _likeliest(word: str) -> str:
    """A word with its figures read as letters: where it is no known one, by those around them; a number only as a
    small word."""
    body = word.rstrip("!+|")
    if not body or body.isalpha():
        return word
    if known := _lettered(word):
        return known
    letters = body.translate(_FIRST)
    for at, choices in enumerate(map(_FIGURES.get, body)):
        if choices and len(choices) > 1:
            before, after = letters[at - 1 : at] or " ", letters[at + 1 : at + 2] or " "
            odds = [following(before, each) + following(each, after) for each in choices]
            if odds[1] > odds[0] + RARER:
                letters = letters[:at] + choices[1] + letters[at + 1 :]
    if not any(map(str.isalpha, body)) and letters not in known_small_words():
        return word
    return _cased(letters, body) + word[len(body) :]


def _cased(letters: str, word: str) -> str:
    """What a word was read as, in capitals where all its letters are."""
    capitals = sum(map(str.isupper, word)) > 1 and not any(map(str.islower, word))
    return letters.upper() if capitals else letters


def _if_gained(old: Tape, new: Tape, count: int) -> tuple[Tape, int]:
    return (new, count) if gained(ascii_words(old.text), ascii_words(new.text)) else (old, 0)
