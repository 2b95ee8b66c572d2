"""Finds what a text in another language than English names. Function words and verbs name nothing."""

from __future__ import annotations

import re

from turnwise.dialogue.language import named_subject, read_language, word_list

MAX_TEXT_CHARS = 400  # only the start of a longer text is read
_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_BREAK = re.compile(r"[^\s'’\-«»„“”\"]")
# A noun follows these. German "das" and "die" may be pronouns ("warum ist das wichtig"), so they need a capital.
_ARTICLES = {
    language: frozenset(text.split())
    for language, text in {
        "de": "der den dem des ein eine einen einem einer eines im zum zur vom beim",
        "fr": "le la les l un une des du au aux d de",
        "es": "el la los las un una unos unas del al de",
        "pt": "o a os as um uma uns umas do da dos das no na nos nas ao à aos às de",
    }.items()
}
_JOINED = re.compile(r" (?:de la |de l['’]|de |du |des |d['’]|del |da |do |dos |das )([^\W_]+)", re.I)
_DEFINES = re.compile(
    r"(?:was|wer) (?:ist|sind|war|waren)|qu['’]est-ce que?|c['’]est quoi|qui (?:est|était)|(?:qué|que) (?:es|son)"
    r"|(?:quién|quien) (?:es|era|fue)|(?:o )?que (?:é|são)|quem (?:é|era|foi)",
    re.I,
)
_ASKING = {  # the first word of a question, if it is not an English word
    word: language
    for language, text in {
        "de": "wann wie wer wen wem warum wieso weshalb wo welche welcher welches wofür wozu",
        "fr": "pourquoi quand où combien quel quelle quels quelles qui",
        "es": "cómo cuándo dónde qué quién cuál cuáles cuánto cuánta cuántos",
        "pt": "quando onde quem quais quanto quantos",
    }.items()
    for word in text.split()
}
_TAKES_PRONOUN = frozenset(("quem", "qui"))  # "quem o inventou": "o" is a pronoun here, not an article

# Characters that name nothing in scripts without spaces. Hiragana name nothing either.
FUNCTION_CHARACTERS = frozenset(
    "的是了吗呢么什麼怎样樣如何为為哪些个個它他她们們这這那和与與或及在有以对對于於之可不被把会會能请請问問吧啊也都就还還"
)
_REQUESTS = re.compile("告诉|告訴|解释|解釋|介绍|介紹|说说|說說|讲讲|講講|一下|教えて|説明")
_UNSPACED = re.compile(  # without hiragana, which join and inflect
    f"(?:(?![{''.join(sorted(FUNCTION_CHARACTERS))}谁誰何几幾])[a-zA-Z0-9\u30a0-\u30ff\u3400-\u4dbf\u4e00-\u9fff])+"
)
_INFLECTED = tuple("しすさせ了")  # endings of verbs


def language_of(text: str) -> str:
    """Returns the language of a question, even if only its first word shows it: "Wann findet Edifest statt?"."""
    first = _WORD.search(text)
    code = read_language(text)
    return _ASKING.get(first[0].lower(), code) if first and code == "en" else code


def longest_name(text: str, code: str) -> str:
    """Returns the longest thing that a text names in a language, or "" if it has only function words and verbs."""
    start = text[:MAX_TEXT_CHARS]
    if code in ("zh", "ja"):
        return _longest_unspaced(start)
    return _longest_spaced(start, code) if code in _ARTICLES else named_subject(start)


def _longest_spaced(text: str, code: str) -> str:
    """Returns the longest run of words that has a name or follows an article or a phrase such as "was ist"."""
    found: list[str] = []
    run: list[re.Match[str]] = []
    before: list[str] = []  # function words before the run
    end = 0
    for word in [*_WORD.finditer(text), None]:
        broken = word is None or bool(_BREAK.search(text[end : word.start()]))
        small = word is not None and word[0].lower() in word_list(code, "function")
        if run and (broken or small):
            if nouns := _nouns(text, run, before, code):
                found.append(nouns)
            run, before = [], []
        if word is not None:
            before = [] if broken and not run else before
            end = word.end()
            if small:
                before.append(word[0].lower())
            else:
                run.append(word)
    return max(found, key=lambda phrase: len(phrase.split()), default="")


def _nouns(text: str, run: list[re.Match[str]], before: list[str], code: str) -> str:
    """Returns the part of a run that names something; in German up to its last capital ("Modell trainiert")."""
    capitals = [word for word in run if word[0][0].isupper() and (word.start() or word[0].isupper())]
    articles = _ARTICLES[code] | ({"das", "die"} if capitals and code == "de" else set())
    pronoun = len(before) > 1 and before[-2] in _TAKES_PRONOUN
    introduced = bool(before) and before[-1] in articles and not pronoun
    if not introduced and not _DEFINES.fullmatch(_text_before(text, run[0])):
        return text[capitals[0].start() : capitals[-1].end()] if capitals else ""
    last = capitals[-1] if capitals and code == "de" else run[-1]
    joined = None if code == "de" else _JOINED.match(text, last.end())  # "descente de gradient"
    whole = joined is not None and joined[1].lower() not in word_list(code, "function")
    return text[run[0].start() : joined.end() if joined and whole else last.end()]


def _text_before(text: str, word: re.Match[str]) -> str:
    return " ".join(text[max(0, word.start() - 40) : word.start()].replace("¿", "").split())


def _longest_unspaced(text: str) -> str:
    """Returns the longest run without characters that ask, join or inflect, unless it is a verb."""
    text = _REQUESTS.sub(" ", text)
    found = [run[0] for run in _UNSPACED.finditer(text) if not text.startswith(_INFLECTED, run.end())]
    return max((each for each in found if len(each) > 1), key=len, default="")
