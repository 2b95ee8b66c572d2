"""Turns the heading of a passage into a question that a reader might ask, if it is sure to be well-formed."""

from __future__ import annotations

import re

from turnwise.dialogue.language import read_language, suggests
from turnwise.text import content_words, words

MAX_HEADING_WORDS = 10  # longer headings do not become a question
MAX_ACRONYM_LETTERS = 4  # longer words in capitals are acronyms only if the text writes them so
MAX_SUBJECT_WORDS = 4  # between a question word and its verb
# Words of headings that say what a part of a document is for, not what it is about
_STRUCTURE_WORDS = frozenset(
    """abstract about acknowledgements acknowledgments additional appendix background bibliography conclusion
    conclusions contents data discussion example examples faq findings further funding general glossary introduction
    index license limitations links materials methods more notes overview preface questions reading references remarks
    results see also setup summary toc worked a an the of and to in
    einleitung einführung zusammenfassung fazit inhalt inhaltsverzeichnis literatur anhang beispiel
    überblick résumé sommaire annexe bibliographie exemple aperçu introducción resumen conclusión índice
    bibliografía ejemplo introdução resumo conclusão exemplo""".split()
)
_NUMBERED = re.compile(r"^(?:\d+(?:\.\d+)*\.?|[IVX]+\.|[A-Z]\.|§\s?\d+)\s+")
_PUNCTUATED = re.compile(r"[:;()/]")  # more than one phrase
_ASIDE = re.compile(r"\s*\([^()]*\)$")
_CLAUSE = re.compile(r"(?P<word>how|why|when|where|what|who)\b(?P<rest>.*)", re.I)
_VERB = re.compile(r"(?P<subject>.+?) (?P<verb>is|are|was|were|can)(?: (?P<rest>.+))?", re.I)
_COMPARED = re.compile(r"(?P<one>.+?) (?:compared (?:with|to)|vs\.?|versus) (?P<other>.+)", re.I)
_PART_OF = re.compile(r"(?P<what>[^\W\d_-]+) (?:of|at|with|for|during) .+", re.I)
_DOING = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*ing (?:(?:an?|the|what|how|your|our|its) .+|[A-Z].*)")


def question_about(heading: str, text: str, code: str = "en") -> str:
    """Returns a question that a passage under this heading answers, in the language `code`, or "" if the heading has no
    known form. `text`, the passage, shows how the words of the heading are used."""
    heading = _subject_heading(heading)
    if heading.endswith(("?", "？")):
        return heading if suggests(code) and read_language(heading) == code else ""
    known = heading and code == "en" and not _PUNCTUATED.search(heading)
    return _in_english(heading, text) if known else ""


def question_on(heading: str, text: str, code: str = "en") -> str:
    """Returns the question what one should know about the subject of a heading, or "" if it is a sentence."""
    heading = _subject_heading(_ASIDE.sub("", heading))
    if code == "en" and _VERB.fullmatch(heading):
        return ""
    form = suggests(code).get("about", "")
    if code == "en" and heading:
        heading = _with_article(_lower(heading, text), text)
    return form.format(heading=heading) if heading else ""


def _subject_heading(heading: str) -> str:
    """Returns a heading without its number, or "" if it names no subject or is too long for a question."""
    heading = _NUMBERED.sub("", " ".join(heading.split())).strip(" .:–-")
    own = any(word.lower() not in _STRUCTURE_WORDS for word in words(heading))
    return heading if own and content_words(heading) and len(words(heading)) <= MAX_HEADING_WORDS else ""


def what_is(name: str, text: str, code: str = "en") -> str:
    """Returns the question what something is, spelled as in the text, or "" if the text does not name it."""
    found = re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text, re.I)
    form = suggests(code).get("are" if _is_plural(name) else "is")
    return form.format(what=_lower(found[0], text)) if found and form and not _PUNCTUATED.search(name) else ""


def _in_english(heading: str, text: str) -> str:
    forms = suggests("en")
    if heading.lower().startswith("how to "):
        return forms["how_to"].format(what=heading[7:])
    if clause := _CLAUSE.fullmatch(heading):
        return _clause_question(clause["word"].capitalize(), clause["rest"].strip(), heading)
    if compared := _COMPARED.fullmatch(heading):
        one = _lower(compared["one"], text)
        form = forms["compare_many" if _is_plural(one) else "compare"]
        return form.format(one=one, other=compared["other"])
    if _DOING.fullmatch(heading):
        return forms["involve"].format(what=_lower(heading, text))
    bare = re.sub(r"^(?:the|an?) ", "", heading, flags=re.I)
    if part := _PART_OF.fullmatch(bare):
        return forms["are" if _is_plural(part["what"]) else "is"].format(what="the " + _lower(bare, text))
    return _definition_question(bare, text)


def _clause_question(word: str, rest: str, heading: str) -> str:
    forms = suggests("en")
    if word == "Who":
        return f"{heading}?" if re.match(r"(?:can|may|should|must|is|are|was|were|will)\b", rest) else ""
    works = re.fullmatch(r"(?P<subject>.+) works?", rest)
    if word == "How" and works:
        return f"How {'does' if rest.endswith('s') else 'do'} {works['subject']} work?"
    turned = _VERB.fullmatch(rest)
    if turned and len(words(turned["subject"])) <= MAX_SUBJECT_WORDS and (turned["rest"] or word == "What"):
        return " ".join(filter(None, (word, turned["verb"], turned["subject"], turned["rest"]))) + "?"
    return forms["tell"].format(clause=heading[0].lower() + heading[1:]) if rest else ""


def _definition_question(phrase: str, text: str) -> str:
    """Returns the question what something is if the passage defines it, with the article used there."""
    found = re.search(
        rf"(?P<article>\b(?:the|an?) )?(?P<what>(?<![\w-]){re.escape(phrase)}) "
        r"(?:(?P<verb>is|are|was|were) (?:an?|the|one|any|when|how|what)|means?)\b",
        text,
        re.I,
    )
    if not found:
        return ""
    form = suggests("en")["are" if found["verb"] in ("are", "were") else "is"]
    return form.format(what=(found["article"] or "").lower() + _lower(found["what"], text))


def _is_plural(phrase: str) -> bool:
    last = phrase.rsplit(" ", 1)[-1].lower()
    return " and " in phrase or (last.endswith("s") and not last.endswith(("ss", "us", "is", "ics")) and len(last) > 3)


def _lower(phrase: str, text: str) -> str:
    """Returns a phrase as it is written inside a sentence: a name keeps its capital."""
    if phrase.isupper():
        return re.sub(r"[^\W\d_]+", lambda word: _lower_capitals(word[0], text), phrase)
    first = re.split(r"[\s-]", phrase)[0]
    named = any(map(str.isupper, first[1:])) or re.search(rf"[a-z,] {re.escape(first)}\b", text)
    return phrase if named else phrase[0].lower() + phrase[1:]


def _lower_capitals(word: str, text: str) -> str:
    """Returns a word of a heading in capitals in small letters, unless it is probably an acronym: the text has it in
    capitals, or it is short and the text does not have it at all."""
    in_text = set(words(text))
    in_small = word.lower() in map(str.lower, in_text - {word})
    acronym = word in in_text or (len(word) <= MAX_ACRONYM_LETTERS and not in_small)
    return word if acronym else word.lower()


def _with_article(phrase: str, text: str) -> str:
    """Returns a phrase with "the" if the text uses it with that: "the gym"."""
    return f"the {phrase}" if re.search(rf"\bthe {re.escape(phrase)}\b(?! \w+ing\b)", text, re.I) else phrase
