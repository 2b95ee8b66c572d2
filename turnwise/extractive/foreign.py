"""The words of a question and a sentence in the languages that the judge cannot read."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence, Set
from functools import lru_cache

import Stemmer

from turnwise.dialogue.function_words import FUNCTION_WORDS
from turnwise.extractive.kinds import has_money
from turnwise.extractive.statements import CACHE_SIZE, Candidate
from turnwise.text import words

MIN_COMPOUND_CHARS = 5  # of a word that is found at either end of a longer one: "Versand" in "Versandkosten"

_STEMMERS = {
    code: Stemmer.Stemmer(name)
    for code, name in (("de", "german"), ("fr", "french"), ("es", "spanish"), ("pt", "portuguese"))
}
_APOSTROPHE = re.compile(r"['’]")
_PRICE_WORDS = {
    "de": "kostet kosten preis preise teuer zahlen bezahlen",
    "fr": "coûte coûtent coût prix tarif tarifs cher payer",
    "es": "cuesta cuestan cuánto precio precios vale valen caro pagar",
    "pt": "custa custam quanto preço preços vale caro pagar",
}
_TIME_WORDS = {
    "de": "uhr uhrzeit offen geöffnet öffnet schließt",
    "fr": "heure heures ouvert ouverts ouvre ouvrez ferme fermez",
    "es": "hora horas abre abren abrís abierto abiertos cierra cerráis",
    "pt": "hora horas abre abrem aberto abertos fecha",
}
_TIME = re.compile(r"\d ?(?:[:h.]\d\d\b|h\b|uhr\b)", re.I)


@lru_cache(maxsize=CACHE_SIZE)
def foreign_stems(text: str, language: str) -> frozenset[str]:
    """The stems of a text's words in this language without accents, apart from those that only join others."""
    small = _small_words(language)
    parts = (_without_accents(part) for word in words(text) for part in _APOSTROPHE.split(word))
    kept = [part for part in parts if (len(part) > 1 or part.isdigit()) and part not in small]
    return frozenset(_STEMMERS[language].stemWords(kept))


def is_foreign(language: str) -> bool:
    """Whether it is a language that the judge cannot read, but whose words we can compare."""
    return language in _STEMMERS


def words_in(candidate: Candidate, wanted: Set[str], language: str) -> frozenset[str]:
    """The stems of a sentence, with those of the question that it has as a part of a longer word, as a price
    or as a time."""
    own = foreign_stems(candidate.statement.row or candidate.text, language)
    whole = [key for key in wanted - own if len(key) >= MIN_COMPOUND_CHARS]
    parts = {key for key in whole if any(each.startswith(key) or each.endswith(key) for each in own)}
    prices = foreign_stems(_PRICE_WORDS[language], language) if has_money(candidate) else frozenset[str]()
    times = foreign_stems(_TIME_WORDS[language], language) if _TIME.search(candidate.text) else frozenset[str]()
    return own | parts | wanted & (prices | times)


def mark_foreign_rows(pool: Sequence[Candidate], question: str, language: str) -> None:
    """Mark the rows as meant that have a word that is asked for in another form, in passages where no row is meant."""
    wanted = foreign_stems(question, language) - foreign_stems(_PRICE_WORDS[language], language)
    rows = [each for each in pool if each.statement.is_row]
    told = {each.evidence.number for each in rows if each.meant}
    for each in rows:
        each.meant = each.meant or (
            each.evidence.number not in told and not wanted.isdisjoint(words_in(each, wanted, language))
        )


@lru_cache(maxsize=len(_STEMMERS))
def _small_words(language: str) -> frozenset[str]:
    return frozenset(map(_without_accents, FUNCTION_WORDS[language]))


def _without_accents(word: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", word.casefold()) if not unicodedata.combining(c))
