"""What goes on from the last answer: the next step of its list, another remedy, or whom to turn to."""

from __future__ import annotations

import re
from collections.abc import Sequence

from turnwise.dialogue.citing import abstains, has_no_more, without_unknown
from turnwise.dialogue.going_on import going_on
from turnwise.dialogue.language import courtesies
from turnwise.dialogue.language import language as phrases_of
from turnwise.dialogue.pronouns import PERSON
from turnwise.extractive.cells import row_in_words
from turnwise.extractive.foreign import is_foreign
from turnwise.extractive.statements import (
    Candidate,
    Statement,
    asked_stems,
    neighbours,
    section_of,
    stems_of,
    stems_with_headings,
)
from turnwise.extractive.writing import (
    is_quoted,
    is_told,
    item_number,
    list_around,
    quote,
    shown_as_nearest,
    tidy,
    told_further,
)
from turnwise.text import CITATION, sentences
from turnwise.types import Prompt

_REACHED_AT = re.compile(r"\d[\d ()/-]{4,}\d|\bext\w*\.? ?\d|@", re.I)
_TURNS_TO = re.compile(
    r"\b(?:call|ring|phone|contact|ask|tell|inform|notify|e-?mail)(?:ed)? (?:the|your|our|an?|us|reception|[A-Z])"
    r"|\b(?:report|complain|appeal|write|speak|talk|questions|responsible)\w*\b[^.;]{0,60}? (?:to|with|at|is)\b"
    r"|\b(?:turn(?= to\b)|goe?s?|sen[dt]|apply|address(?:ed)?|directed|hand(?:ed)?)\b(?: \w+){0,3}? to "
    r"(?:the|your|our|us|reception|[A-Z])"
)
_VERB = re.compile(
    r"\b(?:tell|ask|call|ring|phone|contact|inform|notify|report|complain|appeal|speak|talk|write|e-?mail)\b", re.I
)
_HOW_REACHED = re.compile(r"\b(?:number|address|details|reach|get hold)\b", re.I)
_IN_GENERAL = re.compile(
    r"(?:(?:any|all|further|for) )?(?:questions?|queries|[ei]nquiries|contact|help|"
    r"(?:customer )?(?:service|support))\b",
    re.I,
)
# What was done, and words that say it was among what was told, however that was put: "wiped it already".
_DID = re.compile(r"\b(?:[a-z]{2,}ed|put|(?:re)?set|shut|cut|took)\b", re.I)
_AMONG_IT = re.compile(r"\b(?:already|also|too|both|all|everything|again|twice|as well|tried|did|done|checked)\b", re.I)
_EVERYTHING = re.compile(r"\b(?:all|everything|nothing|none)\b", re.I)
# The first column of a table whose rows are all about one problem.
_CAUSES = re.compile(
    r"\b(?:causes?|reasons?|checks?|steps?|try|remed(?:y|ies)|solutions?|fix(?:es)?|what to do)\b", re.I
)
# "What's the second step?", with what it says: see `name_listed_items`.
_NTH_ITEM = re.compile(
    r"(?:(?:and|so|ok(?:ay)?|no),? )*(?:what(?:['’]?s| is| are| was|s) )?the [\w ]{3,20}, “(.+)”\W*", re.I
)


def goes_on(prompt: Prompt, pool: Sequence[Candidate]) -> str | None:
    """What a message that goes on from the last answer asks for, with citations: nothing if the documents tell no more;
    None if it is no such message, or the last answer told nothing that it can go on from. That something failed is
    never searched for: the search would find again what failed."""
    if item := _NTH_ITEM.fullmatch(prompt.question):
        starts = [each.rstrip(" ….") for each in item[1].split("” and “")]
        found = ([each for each in pool if each.said and tidy(each.text).startswith(start)][:1] for start in starts)
        return told_further([each for one in found for each in one], prompt) or None
    kind = going_on(prompt.question)
    told = _told(prompt, pool) if kind else []
    if not told:
        return "" if kind == "failed" and CITATION.search("".join(prompt.said[-1:])) else None
    if kind == "whom":
        unknown = abstains(prompt.said[-1]) and not has_no_more(prompt.said[-1])
        contact = _contact(prompt, pool, told)
        known = contact is not None and (contact.said or contact in told or not unknown)
        return told_further([contact], prompt) if contact and known else None
    steps = [each for each in told if _has_step(each)]
    if not steps and kind in ("next", "tried"):
        return None
    if kind == "tried" and not _was_told(prompt.question, steps):
        return None
    if rows := [each for each in steps if _remedies(each)]:
        further = _other_in_table(rows[0], prompt, pool)
    elif kind == "next":
        further = told_further(_after(steps[-1], pool), prompt)
    else:
        further = told_further(_other_remedy(steps, pool) if steps else [], prompt)
    if further or kind == "next":
        return further
    contact = _contact(prompt, pool, told)
    if contact and not steps and not _is_in_general(contact):
        return ""  # a person whom a fact is about
    return told_further([contact] if contact and not (len(told) == 1 and contact is told[0]) else [], prompt)


def may_answer(prompt: Prompt, pool: Sequence[Candidate]) -> list[Candidate]:
    """What may answer a message from which nothing goes on: after an answer that was not known, whom to tell is said
    only by a sentence that says whom people turn to, in general or with what was asked about."""
    if going_on(prompt.question) != "whom" or not any(map(abstains, prompt.said[-1:])):
        return list(pool)
    topic = asked_stems(" ".join(prompt.asked)) - asked_stems(prompt.question)
    persons = [each for each in pool if _says_whom(each, prompt.language)]
    return [each for each in persons if _is_in_general(each) or topic & stems_with_headings(each)]


def _told(prompt: Prompt, pool: Sequence[Candidate]) -> list[Candidate]:
    """What the last answer told, in the order of its passage, or showed because it came near."""
    if shown := [each for each in pool if prompt.said and shown_as_nearest(each, prompt) in prompt.said[-1]]:
        return shown
    last = next((each for each in reversed(prompt.said) if not abstains(each) and each not in courtesies()), "")
    last = without_unknown(last)
    told = [each for each in pool if is_quoted(each, [last]) or is_told(each, [last])]
    first = told[0].evidence.number if told else 0
    return sorted((each for each in told if each.evidence.number == first), key=lambda each: each.position)


def _was_told(message: str, steps: Sequence[Candidate]) -> bool:
    """Whether a message says that something was done which these steps told to do."""
    verb = _DID.search(message)
    told = frozenset[str]().union(*(stems_of(each.text) for each in steps))
    return bool(_AMONG_IT.search(message) or (verb and stems_of(verb[0]) <= told))


def _is_step(candidate: Candidate) -> bool:
    """Whether a sentence says what to do, or is part of a numbered item."""
    return candidate.statement.is_instruction or candidate.statement.in_item or item_number([candidate]) > 0


def _has_step(candidate: Candidate) -> bool:
    """The same, also where the problem that it helps with comes first: "The lamp is dark. Change the bulb."."""
    return bool(_is_step(candidate) or _remedies(candidate)) or any(
        Statement(each).is_instruction for each in sentences(candidate.text)[1:]
    )


def _other_remedy(steps: Sequence[Candidate], pool: Sequence[Candidate]) -> list[Candidate]:
    """What else to do, not told yet: another item of the list, but not one that opens with another problem."""
    items = [item for item in list_around(steps[0], pool) if _is_step(item[0])]
    if others := [item for item in items if not any(each.said for each in item)]:
        return others[0]
    after = [each for each in _after(steps[-1], pool) if not each.said]
    return after if after and (_is_step(after[0]) or not after[0].is_item) else []


def _remedies(row: Candidate) -> list[str]:
    """The columns of a row that say what to do."""
    cells = row.statement.cells[1:] if row.statement.row else ()
    return [column for column, cell in cells if Statement(cell).is_instruction]


def _table_of(row: Candidate, pool: Sequence[Candidate]) -> list[Candidate]:
    """The rows of its table in their order, with itself."""
    heads = [head for head, _ in row.statement.cells]
    table = [each for each in pool if neighbours(each, row) and [head for head, _ in each.statement.cells] == heads]
    return sorted(table, key=lambda each: each.position)


def _other_in_table(row: Candidate, prompt: Prompt, pool: Sequence[Candidate]) -> str:
    """What else a table says to do about a problem, with its citation: the next cell of a row with several remedies, or
    a row with another cause of the problem, not told yet. Of the remedies in a row that was told whole, the one that
    the message names was tried, or else the first."""
    columns = _remedies(row)
    if len(columns) > 1:
        if _EVERYTHING.search(prompt.question) and any(is_quoted(row, [each]) for each in prompt.said[-1:]):
            return ""
        cells, asked = dict(row.statement.cells), asked_stems(prompt.question)
        named = [each for each in columns if asked & stems_of(cells[each])]
        tried = columns[:1] + [each for each in columns if any(row_in_words(row, each) in said for said in prompt.said)]
        tried += named if len(named) == 1 else []
        left = columns[max(map(columns.index, tried)) + 1 :]
        return quote(row, left[0]) if left else ""
    problem, problems = "", {}
    table = _table_of(row, pool)
    for each in table:
        head, first = each.statement.cells[0]
        problem = head if _CAUSES.search(head) else first or problem
        problems[each.position] = problem
    others = [each for each in table if problems[each.position] == problems[row.position] and not each.said]
    other = min(others, key=lambda each: (each.position < row.position, each.position), default=None)
    return quote(other) if other else ""


def _after(step: Candidate, pool: Sequence[Candidate]) -> list[Candidate]:
    """The next item of the list with all its sentences, or else the sentence after it if that says what follows."""
    items = list_around(step, pool)
    place = next((number for number, item in enumerate(items) if any(each is step for each in item)), len(items))
    if place + 1 < len(items):
        return items[place + 1]
    last = items[-1][-1] if items else step
    near = [each for each in pool if each.evidence is last.evidence and each.position == last.position + 1]
    return [each for each in near if _says_what_follows(each.statement)]


def _says_what_follows(statement: Statement) -> bool:
    """Whether it goes on from the sentence before it. At the start of a paragraph "It is noisy." opens another problem,
    but "If that fails, use the plunger." does not."""
    if not statement.before:
        return statement.refers_back and statement.is_instruction
    return statement.refers_back or statement.is_instruction


def _contact(prompt: Prompt, pool: Sequence[Candidate], told: Sequence[Candidate]) -> Candidate | None:
    """The sentence that says whom to turn to: in what was told, near to it, or about the same in the same document."""
    asked = asked_stems(prompt.asked[0] if prompt.asked else prompt.question)
    places = {each.position for each in told}
    verb = _VERB.search(prompt.question)
    way = rf"\b{verb[0]}" if verb else _REACHED_AT.pattern if _HOW_REACHED.search(prompt.question) else ""
    way = "@" if verb and "mail" in verb[0].lower() else way

    def nearness(each: Candidate) -> float:
        own, others = stems_of(each.text), (stems_of(one.text) for one in told if one is not each)
        shared = len(own & asked) + 0.5 * len(own & frozenset().union(*others) - asked)
        beside = each.evidence is told[0].evidence and any(abs(each.position - place) < 2 for place in places)
        does = bool(way and re.search(way, each.text, re.I))
        return shared + 2.0 * beside + _is_in_general(each) + does + 0.5 * bool(_REACHED_AT.search(each.text))

    document = told[0].evidence.passage.document_id
    near = [
        each for each in pool if each.evidence.passage.document_id == document and _says_whom(each, prompt.language)
    ]
    others = [each for row in told if _remedies(row) for each in _table_of(row, near)]  # about other problems
    near = [each for each in near if each not in others]
    near = [each for each in near if way == "@" and way in each.text] or near
    best = max(near, key=nearness, default=None)
    return best if best and nearness(best) >= 1 else None


def _is_in_general(candidate: Candidate) -> bool:
    """Whether a sentence that says whom to turn to, or its section, begins with "Questions", "Support" or the like."""
    return any(map(_IN_GENERAL.match, (candidate.text, section_of(candidate.evidence.passage))))


def _says_whom(candidate: Candidate, language: str) -> bool:
    """Whether a sentence says to whom people turn: it has a name, a number or an address, or the verb for it."""
    cells = [cell for _, cell in candidate.statement.cells]
    text = ". ".join(cells) or candidate.text  # the head of a column and its cell are no name
    if is_foreign(language):
        return bool(_REACHED_AT.search(text) or phrases_of(language).answers["tells_whom"].search(text))
    named = any(not found["kin"] for found in PERSON.finditer(text))
    return named or bool(_REACHED_AT.search(text) or _TURNS_TO.search(text[:1].lower() + text[1:]))
