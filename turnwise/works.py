"""Which documents a question names, by their authors, year or file, and what it asks of a whole work: "what did Lund
find?"."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

from turnwise.byline import YEAR, is_byline
from turnwise.types import Passage, Reference

MAX_QUESTION_CHARS = 1000  # at its beginning, in which names are looked for
MAX_NAMED = 3  # documents that a question names

_ANY_YEAR = re.compile(rf"\b{YEAR}\b")
_WORK = r"\b(?:study|paper|article|report|publication|review|experiment|trial|survey|thesis|essay)\b"
_WORKS = r"\b(?:studies|papers|articles|reports|ones)\b"
_NOTHING = re.compile(r"(?!)")
_WHO_IS = re.compile(r"\bwho(?:['’]s| is| was| are| were) $", re.I)
# What is asked of a whole work, "what did Lund find?" or "what is the paper about?", and the headings of the sections
# that tell it.
_ASIDE = r"(?: \([^)]*\))?"  # words from the conversation
_ASKS_FOR_FINDING = re.compile(
    r"\bwhat (?:did|do|does|have|has) .{1,80}\b(?:find|found|discover|show|conclude|report)(?:ed|d|n)?(?: out)?"
    rf"{_ASIDE}\W*$|\bwhat (?:is|are|was|were) .{{0,40}}\b(?:findings?|conclusions?)\b",
    re.I,
)
_ASKS_FOR_GIST = re.compile(
    r"\bwhat(?:['’]?s| is| was| are| were| does| do| did) .{1,80} (?:about|deal with|argue|claim|say)"
    rf"{_ASIDE}\W*$|\bsummar(?:y|i[sz]e)\b|\bgist\b"
    r"|\b(?:main|key|central) (?:points?|ideas?|messages?|arguments?|claims?)\b",
    re.I,
)
ALL_FINDINGS = "What are the findings?"  # what is asked of a work that is only named
# A document is named by its title, or by the kind that its title tells, where its contents are asked for: "summarise
# the minutes".
_KIND = re.compile(
    r"\b(?:minutes|meeting|handbook|manual|guide|lecture|rules|policy|contract|agreement|leaflet|brochure|newsletter|"
    r"letter|notice|plan|agenda|syllabus|menu)\b",
    re.I,
)
_ASKS_FOR_CONTENTS = (  # what stands before and after the name
    (
        r"(?:summari[sz]e|sum up|(?:summary|overview|gist|(?:main|key) points) of)",
        rf"{_ASIDE}(?:\W*$|,| (?:in|as|for|briefly|please)\b)",
    ),
    (r"what(?:['’]?s| is| are| was| were)", rf" about{_ASIDE}\W*$"),
    (r"what (?:do|does|did)", rf" (?:cover|contain|say|deal with|talk about){_ASIDE}\W*$"),
    (r"what(?:['’]?s| is| are) in(?= (?:the|this|these|[“\"]))", rf"{_ASIDE}\W*$"),
)
_MAY_ASK_FOR_CONTENTS = re.compile(  # whatever the document is called, for which patterns are slow to make
    "|".join(rf"\b{before} .*{after}" for before, after in _ASKS_FOR_CONTENTS), re.I | re.S
)
_ASKS_FOR_AUTHORS = re.compile(
    r"\bwho (?:wrote|authored|published)\b|\bauthors?\b|\bwritten by\b|\b(?:which|what) journal\b"
    r"|\b(?:where|when) (?:was|were) .* published\b",
    re.I,
)
_RESULTS = re.compile(
    r"(?:[\dIVX.]+ )?(?:main |key |our )?(?:(?:discussion|summary) (?:and|&) )?"
    r"(?:results?|findings?|(?P<end>conclusions?))"
    r"(?: (?:and|&) (?:discussion|outlook|implications|(?P<last>conclusions?)))?",
    re.I,
)
_ASKS_FOR_METHOD = re.compile(
    r"\bhow (?:did|do|was|were|is|are) .*\b(?:measur|record|collect|assess|test|select|cho[os]|recruit|enroll|assign|"
    r"analy[sz]|weigh|count|observ|sampl)\w*|\b(?:what|which) (?:method|procedure|instrument|device)",
    re.I,
)
_METHODS = re.compile(
    r"(?:[\dIVX.]+ )?(?:(?:study|trial) )?(?:(?:materials?|patients|participants|subjects) (?:and|&) )?"
    r"(?:methods?|methodology|procedures?|design|data collection)(?: (?:and|&) \w+)?",
    re.I,
)
_ABSTRACT = re.compile(r"(?:[\dIVX.]+ )?(?:executive )?(?:abstract|summary|overview)", re.I)


def asks_for_findings(question: str) -> bool:
    return bool(_ASKS_FOR_FINDING.search(question))


def asks_for_gist(question: str) -> bool:
    """Whether a question wants to know what a work is about."""
    return bool(_ASKS_FOR_GIST.search(question) and re.search(_WORK, question, re.I))


def asks_for_contents(question: str, passage: Passage) -> bool:
    """Whether a question wants to know what is in the document of a passage, which it names by its title or kind:
    "summarise the minutes"."""
    return bool(_of_title(passage, _without_accents(question[:MAX_QUESTION_CHARS])))


def asks_for_authors(question: str) -> bool:
    return bool(_ASKS_FOR_AUTHORS.search(question))


def tells(passage: Passage, question: str) -> bool:
    """Whether a passage is in a section that tells what the question asks of a whole work."""
    if asks_for_findings(question) or asks_for_gist(question):
        return is_abstract(passage) or (asks_for_findings(question) and gives_results(passage))
    return asks_for_authors(question) and is_byline(passage.text)


def is_abstract(passage: Passage) -> bool:
    return bool(_ABSTRACT.fullmatch(passage.heading.rpartition(" > ")[2]))


def gives_results(passage: Passage) -> bool:
    return bool(_RESULTS.fullmatch(passage.heading.rpartition(" > ")[2]))


def tells_method(passage: Passage, question: str) -> bool:
    """Whether a question asks how a study was done, and a passage is in the section that says it."""
    is_method = bool(_METHODS.fullmatch(passage.heading.rpartition(" > ")[2]))
    return is_method and bool(_ASKS_FOR_METHOD.search(question))


def concludes(passage: Passage) -> bool:
    """Whether a passage is in the section that says what its results mean: "5 Conclusions"."""
    found = _RESULTS.fullmatch(passage.heading.rpartition(" > ")[2])
    return found is not None and bool(found["end"] or found["last"])


# --- what a question names ----------------------------------------------------------------------------------------


def named_documents(question: str, passages: Sequence[Passage]) -> dict[int, str]:
    """The documents of some passages that a question names by authors, year or file, by their ids: "Lund and van Dam",
    "the 2021 paper", "lund-2021.pdf". Each comes with the question without that name: "how many birds did the study
    count?"

    The name of an author in lower case does not count if a passage has it as a word: "how long", "what price". What
    fits many documents names none of them."""
    found: dict[int, str] = {}
    plain = _without_accents(question[:MAX_QUESTION_CHARS])
    for passage in {each.document_id: each for each in passages}.values():
        by = passage.reference
        match = _file(passage.source).search(plain)
        if not match and by and _may_name(by, plain.casefold()):
            match = _people(by).search(plain)
            match = match if match and not _is_word(match["people"], passages) else None
        match = match or _of_year(passage, plain) or _of_title(passage, plain)
        if match:
            work = re.search(_WORK, match[0], re.I)
            kept = work[0] if work and work[0].lower() not in ("paper", "article", "publication") else ""
            general = f"the {kept or ('study' if by else 'document')}"
            before, after = question[: match.start()], question[match.end() :]
            unnamed = f"{before}{general}{after}".replace(f" ({general})", "")
            found[passage.document_id] = question if _WHO_IS.search(before) else unnamed
    return found if len(found) <= MAX_NAMED else {}


def named_work(question: str, passage: Passage) -> str:
    """The work that a passage is of, if a question names it like this: "the Lund study"."""
    families = passage.reference.families[:1] if passage.reference else ()
    return next((f"the {each} study" for each in families if f"the {each} study" in question), "")


def best_scores(
    score: Callable[[str, Sequence[Passage]], list[float]],
    question: str,
    passages: Sequence[Passage],
    named: Mapping[int, str],
) -> list[float]:
    """How well a model thinks each passage answers a question. Those of the `named_documents` need not repeat the name:
    they may also answer the question without it."""
    scores = list(score(question, passages))
    for document, unnamed in named.items():
        places = [place for place, passage in enumerate(passages) if passage.document_id == document]
        again = score(unnamed, [passages[place] for place in places]) if places else []
        for place, other in zip(places, again, strict=True):
            scores[place] = max(scores[place], other)
    return scores


def _may_name(reference: Reference, question: str) -> bool:
    """Whether a question, in small letters, has a part of an author's name: cheaper than to look for the whole name."""
    families = (_without_accents(each).partition(",")[0].split() for each in reference.authors)
    return any(family and re.split("-", family[-1])[0].casefold() in question for family in families)


@lru_cache(maxsize=1024)
def _people(reference: Reference) -> re.Pattern[str]:
    """Finds the authors of a reference in a question, perhaps with its year, but not with another one: "van Dam
    (2021)", "the study by Ada Lund", "Lund et al.’s paper"."""
    names = []
    for author in map(_without_accents, reference.authors):
        family, _, given = author.partition(",")
        if len(family.strip()) > 1:
            last = family.split()[-1]  # without "van"
            names.append(rf"(?:{_pattern(given)} )?(?:{_pattern(family)}|{_pattern(last)})")
    if not names:
        return _NOTHING
    one = f"(?:{'|'.join(names)})"
    year = rf"(?:,? \(?{reference.year}\)?)?" if reference.year else ""
    return re.compile(
        rf"\b(?:(?:(?:the|an?) )?{_WORK} (?:by|of|from) |the )?"
        rf"(?P<people>(?>{one}(?:(?:,? and |,? & |, ){one})*))(?:,? et al\b\.?)?(?!\w)"
        rf"(?:['’]s?\b)?{year}(?!,? \(?{YEAR}\b)(?: {_WORK})?",
        re.I,
    )


def _pattern(name: str) -> str:
    return re.escape(name.strip()).replace(r"\-", "[- ]")


def _is_word(name: str, passages: Iterable[Passage]) -> bool:
    word = re.compile(rf"\b{re.escape(name)}\b")
    return name.islower() and any(word.search(each.text) for each in passages)


def _of_year(passage: Passage, question: str) -> re.Match[str] | None:
    """Where a question names a document by its year: "the 2021 paper", "the one from 2021". If only a title or file
    name has the year, it must also have the word "paper"."""
    by = passage.reference
    named = f"{passage.title} {_file_name(passage.source)}"
    for year in dict.fromkeys(_ANY_YEAR.findall(question)):
        dated = by is not None and by.year == int(year)
        if not dated and year not in named:
            continue
        found = re.search(
            rf"(?:\bthe )?(?:\b{year} (?:{_WORK}|{_WORKS})|{_WORK} (?:(?:from|of|in) )?\(?{year}\b\)?"
            rf"|\b{year}(?= (?:and|or|vs\.?|versus|with|to) (?:the )?{YEAR} (?:{_WORK}|{_WORKS}|one\b)))"
            rf"|\bthe (?:{year} one\b|one (?:from|of|in) {year}\b)",
            question,
            re.I,
        )
        work = re.search(_WORK, found[0], re.I) if found else None
        if found and (dated or not work or work[0].lower() in named.lower()):
            return found
    return None


def _of_title(passage: Passage, question: str) -> re.Match[str] | None:
    """Where a question names a document by its title, or by some of its words and the kind that it tells, if it asks
    what is in it."""
    if not _MAY_ASK_FOR_CONTENTS.search(question):
        return None
    name, patterns = _called(_without_accents(passage.title), _without_accents(_file_name(passage.source)))
    found = next(filter(None, (each.search(question) for each in patterns)), None)
    return name.match(question, found.end("before") + 1) if found else None


@lru_cache(maxsize=1024)
def _called(title: str, file: str) -> tuple[re.Pattern[str], list[re.Pattern[str]]]:
    """Finds a title or a file as it is named in a question, and the questions for its contents."""
    some = "|".join(map(re.escape, {*re.findall(r"\w+", title.lower())}))  # once each, or it can be read in many ways
    kinds = [rf"(?:(?:{some}) )*{kind}" for kind in _KIND.findall(title)]
    name = rf"(?:(?:the|this|these) )?[“\"']?(?:{'|'.join([re.escape(title), re.escape(file), *kinds])})[”\"']?(?!\w)"
    return re.compile(name, re.I), [
        re.compile(rf"\b(?P<before>{before}) {name}{after}", re.I) for before, after in _ASKS_FOR_CONTENTS
    ]


@lru_cache(maxsize=1024)
def _file(source: str) -> re.Pattern[str]:
    """Finds the name of a file in a question; without its ending only if it could not be a word: "lund-2021"."""
    name = re.fullmatch(r"(.*[^\W_].*)(\.[a-z]\w{1,7})", _without_accents(_file_name(source)), re.I)
    if name is None:
        return _NOTHING
    optional = "?" if re.search(r"[^\W\d_].*[-_\d]|[-_\d].*[^\W\d_]", name[1]) else ""
    return re.compile(rf"(?<![\w-]){re.escape(name[1])}(?:{re.escape(name[2])}){optional}(?![\w-])", re.I)


def _file_name(source: str) -> str:
    return re.split(r"[/\\]", source)[-1]


def _without_accents(text: str) -> str:
    """The text with as many characters, so that places in it stay the same."""
    return text if text.isascii() else "".join(unicodedata.normalize("NFD", each)[0] for each in text)
