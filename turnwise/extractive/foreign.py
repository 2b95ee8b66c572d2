"""The words of a question and a sentence in the languages that the judge cannot read."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import lru_cache

import Stemmer

from turnwise.dialogue.function_words import FUNCTION_WORDS, PRICE_WORDS
from turnwise.extractive.kinds import MAX_QUESTION_CHARS, has_money
from turnwise.extractive.statements import CACHE_SIZE, Candidate
from turnwise.text import words

MIN_COMPOUND_CHARS = 5  # of a word that is found at either end of a longer one: "Versand" in "Versandkosten"

_STEMMERS = {
    code: Stemmer.Stemmer(name)
    for code, name in (("de", "german"), ("fr", "french"), ("es", "spanish"), ("pt", "portuguese"))
}
_APOSTROPHE = re.compile(r"['’]")
_CLOCK_WORDS = {"de": ["uhr", "uhrzeit"], "fr": ["heure"], "es": ["hora"], "pt": ["hora"]}
_OPENING_WORDS = {
    "de": "offen geöffnet öffnet schließt öffnungszeiten".split(),
    "fr": "ouvert ouverts ouvre ouvrez ferme fermez horaires ouverture".split(),
    "es": "abre abren abrís abierto abiertos cierra cerráis horario horarios".split(),
    "pt": "abre abrem aberto abertos fecha horário horários".split(),
}
_TIME = re.compile(r"\d ?(?:[:h.]\d\d\b|h\b|uhr\b)", re.I)
# A question for a price, and a sentence that says there is none; one for whom to turn to, and a sentence that tells it.
_PRICES = {
    "de": (r"\b(?:was|wie ?viel)\b.*\b(?:koste[tn]|zahl(?:t|en?))\b|\bwie teuer\b|\bpreise?\b", r"\w*frei\b|\w+los\b"),
    "fr": (r"\bcombien\b.*\b(?:co[uû]t(?:e|ent)|payer)\b|\b(?:prix|tarifs?)\b", r"\bgratuit|\bcompris|\binclus"),
    "es": (r"\bcu[aá]nto\b.*\b(?:cuestan?|valen?|pagar)\b|\bprecios?\b", r"\bgratis|\bgratuit|\binclui"),
    "pt": (r"\bquanto\b.*\b(?:custam?|pagar)\b|\bpreços?\b", r"\bgrátis|\bgratuit|\binclu"),
}
_ASKS_WHEN = re.compile(
    r"^\W*(?:\w+ )?(?:wann|quand|cu[aá]ndo|quando)\b|\b(?:wie ?viel uhr|quelle heure|qu[eé] horas?)\b", re.I
)
_TELLS_WHEN = re.compile(  # a number that is no price, or a word for a time in one of these languages
    r"\b\d+(?![\d,.]* ?(?:€|eur))"
    r"|\b(?:jan|f[eé][bv]|m[aä]r[sz]|a[pbv]r|ma[iy]|ju[nil]|a[ug]o|aug|aoû|sep|o[kc]t|out|nov|d[eéi][cz])"
    r"|tage?s?\b|\bmittwoch|woche|monat|jahr|stunde|\b(?:wenn|bei|nach|vor|bis|während|sobald|immer|täglich|sofort)\b"
    r"|(?:morgens?|mittags?|abends?|nachts?)\b|di\b|\bdimanche|\b(?:jour|mois|an|semaine|heure|matin|soir)s?\b"
    r"|\b(?:avant|après|pendant|dès|toujours|chaque|antes|despu[eé]s|depois|durante|siempre|sempre|cada)\b"
    r"|\b(?:lunes|martes|mi[eé]rcoles|jueves|viernes|s[aá]bado|domingo|\w+-feira|d[ií]a|m[eê]s|a[nñ]o|semana|hora|mañana"
    r"|manhã|tarde|noche|noite)",
    re.I,
)
_WHOM = {
    "de": (r"\b(?:wem|an wen)\b", r"\b(?:ge)?meld(?:e|en|et)\b|\bwend|\banruf|\bverständig|\binformier|\bsprech"),
    "fr": (r"\b[àa] qui\b", r"\bsignal|\bcontact|\badress|\bappel|\bprév(?:en|ien)|\binform"),
    "es": (r"\b(?:a|con) qui[eé]n\b", r"\bavis|\bllam|\bcontact|\bcomuni|\binform|\bdir[ií][gj]"),
    "pt": (r"\b(?:a|com) quem\b", r"\bavis|\blig(?:ue|ar)|\bcontact|\bcomuni|\binform|\bdirij"),
}


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
    """The stems of a sentence, with those of the question that it has as a part of a longer word."""
    own = foreign_stems(candidate.statement.row or candidate.text, language)
    whole = [key for key in wanted - own if len(key) >= MIN_COMPOUND_CHARS]
    return own | {key for key in whole if any(each.startswith(key) or each.endswith(key) for each in own)}


def measures_in(candidate: Candidate, wanted: Set[str], language: str) -> Set[str]:
    """The stems of the question that ask for a price or a time, if a sentence has one."""
    prices = _stems(PRICE_WORDS, language) if has_money(candidate) else frozenset[str]()
    times = _stems(_CLOCK_WORDS, language) | _stems(_OPENING_WORDS, language)
    return wanted & (prices | times if _TIME.search(candidate.text) else prices)


def named_in(stems: Set[str], language: str) -> frozenset[str]:
    """The stems that say of what something is asked: not those for a price or the time of day."""
    return frozenset(stems) - _stems(PRICE_WORDS, language) - _stems(_CLOCK_WORDS, language)


def lacks(candidate: Candidate, question: str, language: str) -> bool:
    """Whether a question asks for a price or a time, and a sentence says nothing of one."""
    (asks_price, free), asked, told = _PRICES[language], question[:MAX_QUESTION_CHARS], candidate.text
    if _ASKS_WHEN.search(asked):
        return not _TELLS_WHEN.search(told)
    if has_money(candidate) or not re.search(asks_price, asked, re.I) or re.search(free, told, re.I):
        return False
    return foreign_stems(told, language).isdisjoint(_stems(PRICE_WORDS, language))


def says_whom(candidate: Candidate, question: str, language: str) -> bool | None:
    """Whether a sentence says whom to turn to; None if the question does not ask that."""
    asks, turns = _WHOM[language]
    asked = re.search(asks, question[:MAX_QUESTION_CHARS], re.I)
    return bool(re.search(turns, candidate.text, re.I)) if asked else None


def headings_of(candidate: Candidate, wanted: Set[str], language: str) -> Set[str]:
    """The stems of the headings of a sentence, and those of the question for when something is open, if a heading has
    another word for that."""
    passage = candidate.evidence.passage
    own = foreign_stems(f"{passage.called} {passage.heading} {candidate.statement.above}", language)
    opening = _stems(_OPENING_WORDS, language)
    return own if own.isdisjoint(opening) else own | (wanted & opening)


def mark_foreign_rows(pool: Sequence[Candidate], question: str, language: str) -> None:
    """Mark the rows as meant that have a word that is asked for in another form, in passages where no row is meant."""
    wanted = foreign_stems(question, language) - _stems(PRICE_WORDS, language)
    rows = [each for each in pool if each.statement.is_row]
    told = {each.evidence.number for each in rows if each.meant}
    for each in rows:
        each.meant = each.meant or (
            each.evidence.number not in told
            and not wanted.isdisjoint(words_in(each, wanted, language) | measures_in(each, wanted, language))
        )


@lru_cache(maxsize=len(_STEMMERS))
def _small_words(language: str) -> frozenset[str]:
    return frozenset(map(_without_accents, FUNCTION_WORDS[language]))


def _stems(listed: Mapping[str, Iterable[str]], language: str) -> frozenset[str]:
    """The stems of what is listed for a language."""
    return foreign_stems(" ".join(listed[language]), language)


def _without_accents(word: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", word.casefold()) if not unicodedata.combining(c))
