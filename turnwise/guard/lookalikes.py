"""Letters of other scripts that look like Latin ones, converted to the script of the rest of the word. Words that are
entirely in another script are left as they are."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Set

from turnwise.guard.vocabulary import LATIN, WORDS
from turnwise.text import positions_of

# Latin letters and what passes for each, from Unicode's table of confusable characters.
_ALIKE = {
    "A": "АΑᎪꓮᗅ", "B": "ВΒᏴꓐᗷ", "C": "СᏟꓚⲤ", "D": "Ꭰꓓᗞᗪ", "E": "ЕΕᎬꓰ", "F": "Ϝꓝᖴ", "G": "ԌᏀᏳꓖ", "H": "НΗᎻꓧⲎᕼ",
    "I": "ІΙӀꓲⲒ", "J": "ЈͿᎫꓙᒍ", "K": "КΚᏦꓗⲔᛕ", "L": "Ꮮꓡᒪ", "M": "МΜϺᎷꓟⲘᗰ", "N": "ΝꓠⲚ", "O": "ОΟՕꓳⲞ", "P": "РΡᏢꓑⲢᑭ",
    "Q": "ԚⵕႳ", "R": "ᎡᏒꓣᖇ", "S": "ЅՏᏕᏚꓢ", "T": "ТΤᎢꓔⲦ", "U": "ՍꓴᑌႮ", "V": "ѴᏙꓦᐯ", "W": "ԜᎳᏔꓪ", "X": "ХΧꓫⲬ",
    "Y": "УҮΥᎩᎽꓬⲨ", "Z": "ΖᏃꓜ", "a": "аα", "b": "ЬᏏᑲᖯ", "c": "сⲥꮯ", "d": "ԁᏧꓒᑯ", "e": "еҽєε", "f": "ք", "g": "ցԍ",
    "h": "һհᏂ", "i": "іιꙇᎥꭵ", "j": "јϳ", "k": "κ", "l": "ӏ", "n": "ոռη", "o": "оοσօⲟ", "p": "рρⲣ", "q": "ԛգզ",
    "r": "гᴦⲅꮁ", "s": "ѕꮪ", "t": "τ", "u": "υսμ", "v": "νѵꮩ", "w": "ѡԝաꮃω", "x": "хχᕁᕽ", "y": "уүγყ", "z": "ꮓ",
}  # fmt: skip
# Lower-case Cyrillic letters that pass for Latin ones only next to them.
_WEAKLY_ALIKE = {"k": "к", "m": "м", "t": "т", "h": "н", "b": "в", "n": "п"}

_STRONG = {other: latin for latin, others in _ALIKE.items() for other in others}
_STRONG_TO_LATIN = str.maketrans(_STRONG)
_TO_LATIN = str.maketrans({other: latin for latin, others in _WEAKLY_ALIKE.items() for other in others} | _STRONG)
_TO_CYRILLIC = str.maketrans("AaBEeKkMmHOoPpCcTXxyYiIjsS", "АаВЕеКкМмНОоРрСсТХхуУіІјѕЅ")
_TO_GREEK = str.maketrans("ABEZHIKMNOoTXYPpvu", "ΑΒΕΖΗΙΚΜΝΟοΤΧΥΡρνυ")

_STRONG_LETTERS = "".join(sorted(_STRONG))
_LOOKALIKES = _STRONG_LETTERS + "".join(_WEAKLY_ALIKE.values())
_LOOKALIKE = re.compile(f"[{_LOOKALIKES}]")
# Both start with the rarest character, so that a long text is scanned quickly.
_NEXT_TO_LATIN = re.compile(rf"[{_LOOKALIKES}](?:(?=[{LATIN}])|(?<=[{LATIN}].))", re.S)
_ONLY_LOOKALIKES = re.compile(rf"[{_STRONG_LETTERS}](?<!\w.)[{_STRONG_LETTERS}]*(?!\w)", re.S)
_LETTERS = re.compile(r"[^\W\d_]+")
_GREEK = re.compile("[\u0370-\u03ff]")
_IS_LATIN = re.compile(f"[{LATIN}]")
_LATIN_BEFORE = re.compile(r"(?:[A-Za-z]|^)\W{0,8}$")
_LATIN_AFTER = re.compile(r"\W{0,8}(?:[A-Za-z]|$)")
_LOOKALIKE_SET = frozenset(_LOOKALIKES)
NEIGHBOUR_CHARS = 9  # text on either side that is searched for the neighbouring word
MAX_SEARCHES, MAX_PLACES = 8, 1_000  # up to this many different lookalikes and occurrences are searched for one by one


def in_one_script(text: str, characters: Set[str]) -> tuple[str, int]:
    """The text with each word in one script, and the number of changed letters. The length does not change;
    `characters` are the distinct characters of the text."""
    if not characters & _LOOKALIKE_SET or not any("A" <= each <= "z" for each in characters):
        return text, 0
    changed = 0

    def to_latin(found: re.Match[str]) -> str:
        """A word of lookalikes alone, in Latin letters if it is a known word between Latin words."""
        nonlocal changed
        start, end = found.span()
        before, after = text[max(0, start - NEIGHBOUR_CHARS) : start], text[end : end + NEIGHBOUR_CHARS]
        latin = found[0].translate(_TO_LATIN)
        between = _IS_LATIN.search(before + after) and _LATIN_BEFORE.search(before) and _LATIN_AFTER.match(after)
        if not between or not (changed or (len(latin) > 1 and latin.lower() in WORDS)):
            return found[0]
        changed += len(latin)
        return latin

    places = _few_places(text, characters & _LOOKALIKE_SET)
    if any(_matches(_NEXT_TO_LATIN, text, places)):
        pieces: list[str] = []
        last, converted = 0, dict[str, str]()
        mostly_latin = 2 * len(text.encode("ascii", "ignore")) > len(text)
        for start, end in _words_at(text, _matches(_LOOKALIKE, text, places)):
            old = text[start:end]
            new = converted[old] = converted.get(old) or _unmixed(old, mostly_latin)
            changed += sum(map(str.__ne__, old, new))
            pieces += (text[last:start], new)
            last = end
        text = "".join([*pieces, text[last:]])
    if not characters.isdisjoint(_STRONG):
        pieces, last = [], 0
        for found in _matches(_ONLY_LOOKALIKES, text, None if changed else places):
            pieces += (text[last : found.start()], to_latin(found))
            last = found.end()
        text = "".join([*pieces, text[last:]])
    return text, changed


def _few_places(text: str, lookalikes: Collection[str]) -> list[int] | None:
    """The positions of these lookalikes, or None if there are many. A few are found faster one by one than by a
    pattern."""
    if len(lookalikes) > MAX_SEARCHES or sum(map(text.count, lookalikes)) > MAX_PLACES:
        return None
    return sorted(place for each in lookalikes for place in positions_of(text, each))


def _matches(pattern: re.Pattern[str], text: str, places: Iterable[int] | None) -> Iterator[re.Match[str]]:
    """The matches of a pattern. They only start at these places; None means that they may start anywhere."""
    if places is None:
        yield from pattern.finditer(text)
        return
    end = 0
    for place in places:
        if place >= end and (found := pattern.match(text, place)):
            yield found
            end = found.end()


def _words_at(text: str, lookalikes: Iterable[re.Match[str]]) -> Iterator[tuple[int, int]]:
    """The bounds of the words that contain these lookalikes."""
    end = 0
    for other in lookalikes:
        start = other.start()
        if start < end:
            continue
        while start > end and (text[start - 1].isalpha() or _LETTERS.match(text, start - 1, start)):
            start -= 1
        found = _LETTERS.match(text, other.start())
        end = found.end() if found else other.end()
        yield start, end


def _unmixed(word: str, mostly_latin: bool) -> str:
    """A word in one script. A word of two letters may be a unit such as μm, or a short Russian word."""
    latin = len(_IS_LATIN.findall(word))
    if not latin or latin == len(word):
        return word
    folded = word.translate(_STRONG_TO_LATIN)
    if not folded.isascii() and len(word) > 2 * latin:  # mostly in the other script, and not all of it looks Latin
        for table in (_TO_CYRILLIC, _TO_GREEK):
            whole = word.translate(table)
            if _same_script(whole):
                return whole
    if len(word) == 2 and mostly_latin and not _GREEK.search(word):
        return folded
    folded = word.translate(_TO_LATIN)
    return folded if len(word) > 2 or folded.lower() in WORDS else word


def _same_script(word: str) -> bool:
    return all("\u0400" <= letter <= "\u052f" for letter in word) or all(
        "\u0370" <= letter <= "\u03ff" for letter in word
    )
