"""Letters of other scripts that look like Latin ones, brought into the script of the word that they stand in. Words
that are wholly of another script stay as they are."""

from __future__ import annotations

import re
from collections.abc import Iterator

from turnwise.guard.vocabulary import WORDS

# The Latin letter, and what passes for it, after Unicode's table of confusable characters.
_ALIKE = {
    "A": "АΑᎪꓮᗅ", "B": "ВΒᏴꓐᗷ", "C": "СᏟꓚⲤ", "D": "Ꭰꓓᗞᗪ", "E": "ЕΕᎬꓰ", "F": "Ϝꓝᖴ", "G": "ԌᏀᏳꓖ", "H": "НΗᎻꓧⲎᕼ",
    "I": "ІΙӀꓲⲒ", "J": "ЈͿᎫꓙᒍ", "K": "КΚᏦꓗⲔᛕ", "L": "Ꮮꓡᒪ", "M": "МΜϺᎷꓟⲘᗰ", "N": "ΝꓠⲚ", "O": "ОΟՕꓳⲞ", "P": "РΡᏢꓑⲢᑭ",
    "Q": "ԚⵕႳ", "R": "ᎡᏒꓣᖇ", "S": "ЅՏᏕᏚꓢ", "T": "ТΤᎢꓔⲦ", "U": "ՍꓴᑌႮ", "V": "ѴᏙꓦᐯ", "W": "ԜᎳᏔꓪ", "X": "ХΧꓫⲬ",
    "Y": "УҮΥᎩᎽꓬⲨ", "Z": "ΖᏃꓜ", "a": "аα", "b": "ЬᏏᑲᖯ", "c": "сⲥꮯ", "d": "ԁᏧꓒᑯ", "e": "еҽєε", "f": "ք", "g": "ցԍ",
    "h": "һհᏂ", "i": "іιꙇᎥꭵ", "j": "јϳ", "k": "κ", "l": "ӏ", "n": "ոռη", "o": "оοσօⲟ", "p": "рρⲣ", "q": "ԛգզ",
    "r": "гᴦⲅꮁ", "s": "ѕꮪ", "t": "τ", "u": "υսμ", "v": "νѵꮩ", "w": "ѡԝաꮃω", "x": "хχᕁᕽ", "y": "уүγყ", "z": "ꮓ",
}  # fmt: skip
# Small letters of Russian and Greek that pass for Latin ones only beside them.
_WEAKLY_ALIKE = {"k": "к", "m": "м", "t": "т", "h": "н", "b": "в", "n": "п"}

_STRONG = {other: latin for latin, others in _ALIKE.items() for other in others}
_STRONGLY = str.maketrans(_STRONG)
_TO_LATIN = str.maketrans({other: latin for latin, others in _WEAKLY_ALIKE.items() for other in others} | _STRONG)
_TO_CYRILLIC = str.maketrans("AaBEeKkMmHOoPpCcTXxyYiIjsS", "АаВЕеКкМмНОоРрСсТХхуУіІјѕЅ")
_TO_GREEK = str.maketrans("ABEZHIKMNOoTXYPpvu", "ΑΒΕΖΗΙΚΜΝΟοΤΧΥΡρνυ")

_LATIN = "A-Za-z\u00c0-\u024f\u1e00-\u1eff"
_OTHER = "".join(sorted(_STRONG)) + "".join(_WEAKLY_ALIKE.values())
_ALONE = "".join(sorted(_STRONG))
_ONE = re.compile(f"[{_OTHER}]")
# Both begin with what is rare, so that a long text is soon looked through.
_MEETING = re.compile(rf"[{_OTHER}](?:(?=[{_LATIN}])|(?<=[{_LATIN}].))", re.S)
_WHOLLY = re.compile(rf"[{_ALONE}](?<!\w.)[{_ALONE}]*(?!\w)", re.S)
_LETTERS = re.compile(r"[^\W\d_]+")
_GREEK = re.compile("[\u0370-\u03ff]")
_IS_LATIN = re.compile(f"[{_LATIN}]")
_BEFORE = re.compile(r"(?:[A-Za-z]|^)\W{0,8}$")
_AFTER = re.compile(r"\W{0,8}(?:[A-Za-z]|$)")
_SET = frozenset(_OTHER)
REACH = 9  # characters to either side in which the neighbouring word is looked for


def in_one_script(text: str, characters: set[str]) -> tuple[str, int]:
    """The text, of these characters, with each word in one script, and how many letters were changed. It keeps its
    length."""
    if not characters & _SET or not any("A" <= each <= "z" for each in characters):
        return text, 0
    changed = 0

    def alone(found: re.Match[str]) -> str:
        nonlocal changed
        start, end = found.span()
        before, after = text[max(0, start - REACH) : start], text[end : end + REACH]
        latin = found[0].translate(_TO_LATIN)
        among = _IS_LATIN.search(before + after) and _BEFORE.search(before) and _AFTER.match(after)
        if not among or not (changed or (len(latin) > 1 and latin.lower() in WORDS)):
            return found[0]
        changed += len(latin)
        return latin

    pieces: list[str] = []
    last, known = 0, dict[str, str]()
    mostly_latin = 2 * len(text.encode("ascii", "ignore")) > len(text)
    for start, end in _mixed(text):
        old = text[start:end]
        new = known[old] = known.get(old) or _unmixed(old, mostly_latin)
        changed += sum(map(str.__ne__, old, new))
        pieces += (text[last:start], new)
        last = end
    text = "".join([*pieces, text[last:]])
    if not characters.isdisjoint(_STRONG):
        text = _WHOLLY.sub(alone, text)
    return text, changed


def _mixed(text: str) -> Iterator[tuple[int, int]]:
    """Where the words with such letters stand, in a text in which they meet Latin ones."""
    end = 0
    for other in _ONE.finditer(text) if _MEETING.search(text) else ():
        start = other.start()
        if start < end:
            continue
        while start > end and (text[start - 1].isalpha() or _LETTERS.match(text, start - 1, start)):
            start -= 1
        found = _LETTERS.match(text, other.start())
        end = found.end() if found else other.end()
        yield start, end


def _unmixed(word: str, mostly_latin: bool) -> str:
    """A word in one script. Two letters may be a measure, as μm, or a short word of a Russian text."""
    latin = len(_IS_LATIN.findall(word))
    if not latin or latin == len(word):
        return word
    folded = word.translate(_STRONGLY)
    if not folded.isascii() and len(word) > 2 * latin:  # more of it is of the other script, and not all looks Latin
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
