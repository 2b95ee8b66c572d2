"""Irregular forms of English words, which no stemmer joins: "why does it sink?" is answered by "it sank because"."""

from __future__ import annotations

from collections.abc import Iterable

from turnwise.text import stem

_FORMS = """arise arose arisen, become became, begin began begun, bind bound, break broke broken, bring brought, build
built, buy bought, catch caught, choose chose chosen, come came, draw drew drawn, drink drank drunk, drive
drove driven, eat ate eaten, fall fell fallen, feed fed, feel felt, fight fought, fly flew flown, forbid
forbade forbidden, forget forgot forgotten, freeze froze frozen, get got gotten, give gave given, go went
gone, grow grew grown, hide hid hidden, hold held, keep kept, know knew known, lead led, lend lent, lose
lost, make made, meet met, pay paid, ride rode ridden, run ran, say said, seek sought, sell sold, send sent,
shake shook shaken, shrink shrank shrunk, sing sang sung, sink sank sunk, sit sat, sleep slept, speak spoke
spoken, spend spent, stand stood, steal stole stolen, stick stuck, strike struck, swim swam swum, take took
taken, teach taught, tell told, think thought, throw threw thrown, understand understood, wear wore worn,
win won, write wrote written, child children, foot feet, loaf loaves, man men, mouse mice, tooth teeth, woman
women"""

# Maps the stem of a form to that of its word. Forms that are also other words are left out: rose, saw, left, found.
_BASE = {stem(form): stem(word) for word, *forms in map(str.split, _FORMS.split(",")) for form in forms}


def base_stems(stems: Iterable[str]) -> set[str]:
    """Returns the stems, with those of irregular forms replaced by those of their words."""
    return set(map(base_stem, stems))


def base_stem(key: str) -> str:
    """The stem of its word for that of an irregular form; any other as it is."""
    return _BASE.get(key, key)
