"""The chosen sentences as a text with citations: steps, side by side, or paragraphs."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from itertools import takewhile

from turnwise.dialogue.citing import AGAIN, abstains
from turnwise.dialogue.language import says
from turnwise.dialogue.wishes import LISTS, SHORT
from turnwise.extractive.asking import ANOTHER_EXAMPLE, HOW_TO, defined_topic, prefers, wants_only_more
from turnwise.extractive.reform import TABLE, reform
from turnwise.extractive.rows import leads, with_tables
from turnwise.extractive.sides import of_all, own_stems, side_of
from turnwise.extractive.statements import ITEM, LEADING_PRONOUN, Candidate, about, neighbours, stems_of
from turnwise.text import one_line, points
from turnwise.types import Prompt

MAX_STEPS = 8

_SAYS_WHAT = re.compile(
    r"(?:an? |the )?([\w’'-]+(?: [\w’'-]+){0,5}) (?:is|are|was|were|means?|refers? to) (?:an?|the|one|that)\b", re.I
)


def tool_results(prompt: Prompt) -> str:
    """What tools gave, with the number of what they read."""
    read = "".join(f"[{each.number}]" for each in prompt.evidence if each.passage.id < 0)
    text = "\n\n".join(prompt.found)
    return f"{text} {read}" if text and read and "\n" not in text else "\n\n".join(filter(None, (text, read)))


def write(question: str, chosen: Sequence[Candidate], pool: Sequence[Candidate], prompt: Prompt) -> str:
    """The sentences in a readable form: steps, side by side, or paragraphs."""
    if prompt.sides:
        return _side_by_side(chosen, pool, prompt)
    steps = _steps(chosen[0], pool) if HOW_TO.search(question) else []
    if len(steps) > 1:
        return "\n".join(f"{number}. {quoted(each)}" for number, each in enumerate(steps, 1))
    whole = chosen if prefers(prompt, SHORT) else with_tables(question, chosen, pool)
    if all(each.said for each in whole):
        return AGAIN + _paragraphs(whole)
    defined = defined_topic(question)
    if not defined:
        return _paragraphs(_with_antecedents(whole, pool))
    alone = len(chosen) == 1 and not prefers(prompt, SHORT)
    topic = stems_of(defined)
    goes_on = [each for each in pool if _continues(each, chosen[0], topic)] if alone else []
    return _paragraphs(_with_antecedents([*chosen, *goes_on], pool), first=chosen[0])


def in_preferred_form(text: str, prompt: Prompt) -> str:
    """The text as a list where the user prefers one, and there is more than one thing to list."""
    formed = prompt.sides or any(map(ITEM.match, text.splitlines())) or TABLE.search(text)
    if formed or not prefers(prompt, LISTS) or len(points(text)) < 2:
        return text
    return reform(text, "list")


def _continues(candidate: Candidate, other: Candidate, topic: Set[str]) -> bool:
    """Whether it is the sentence after a definition of the topic, was not said, and defines nothing else."""
    next_one = neighbours(candidate, other) and candidate.position == other.position + 1
    if not next_one or candidate.said or candidate.item or candidate.stated.is_row:
        return False
    defined = _SAYS_WHAT.match(candidate.text)
    return not defined or bool(stems_of(defined[1]) & topic) or bool(LEADING_PRONOUN.match(candidate.text))


def _paragraphs(chosen: Sequence[Candidate], first: Candidate | None = None) -> str:
    """Passages by their best sentence, and each passage in its own order; a definition stands first."""
    paragraphs = []
    for number in dict.fromkeys(each.evidence.number for each in chosen):
        mine = sorted(
            (each for each in chosen if each.evidence.number == number),
            key=lambda each: (each is not first, each.position),
        )
        paragraphs.append(" ".join(f"{lead}{quoted(each)}" for lead, each in zip(leads(mine), mine, strict=True)))
    return "\n\n".join(paragraphs)


def _side_by_side(chosen: Sequence[Candidate], pool: Sequence[Candidate], prompt: Prompt) -> str:
    """What is said of both sides, or of neither by name; then what is said of each under its name, or that nothing
    was found about it."""
    own = own_stems(prompt.sides)
    placed = [(None if of_all(each, own) else side_of(each, own), each) for each in chosen]
    both = [each for place, each in placed if place is None]
    parts = [_paragraphs(both)] if both else []
    for side, name in enumerate(prompt.sides):
        if mine := [each for place, each in placed if place == side]:
            parts.append(f"**{name[:1].upper()}{name[1:]}**: {_paragraphs(mine)}")
        elif not any(own[side] <= about(each) for each in pool):
            parts.append(says(prompt.language, "no_side", about=one_line(name, 80)))
    return "\n\n".join(parts)


def _steps(best: Candidate, pool: Sequence[Candidate]) -> list[Candidate]:
    """The list that holds the best sentence or follows it, as far as it was not said yet."""
    near = [each for each in pool if each.evidence is best.evidence]
    after = [each for each in near if each.position > best.position]
    before = [each for each in near if each.position < best.position and neighbours(each, best)]

    def follows(each: Candidate) -> bool:
        return each.item and (neighbours(each, best) or each.stated.above.endswith(":"))

    items = list(takewhile(follows, after))
    if best.item:
        items = [*reversed(list(takewhile(lambda each: each.item, reversed(before)))), best, *items]
    return [each for each in items if each is best or not each.said][:MAX_STEPS]


def _with_antecedents(chosen: Sequence[Candidate], pool: Sequence[Candidate]) -> list[Candidate]:
    """The sentences, each that points back after the one that says what it means."""
    places = {(each.evidence.number, each.position): each for each in pool}
    found: dict[int, Candidate] = {}
    for each in chosen:
        before = places.get((each.evidence.number, each.position - 1))
        leans = each.leans or LEADING_PRONOUN.match(each.text)
        if before is not None and leans and neighbours(before, each) and not before.said:
            found[id(before)] = before
        found[id(each)] = each
    return list(found.values())


def quoted(candidate: Candidate) -> str:
    return f"{_tidy(candidate.text)} [{candidate.evidence.number}]"


def _tidy(sentence: str) -> str:
    return " ".join(ITEM.sub("", sentence).split())


def dont_know(question: str, prompt: Prompt) -> str:
    """That the documents do not answer, what the user asked, in their own words, and what came nearest."""
    asked = one_line(question if len(prompt.asked) > 1 else prompt.question, 120)
    if not prompt.evidence:
        return says(prompt.language, "nothing_found", question=asked)
    if prompt.said and (wants_only_more(prompt) or ANOTHER_EXAMPLE.search(prompt.question)):
        opening = says(prompt.language, "no_more")
    else:
        again = any(map(abstains, prompt.said[-1:]))
        opening = says(prompt.language, "unknown_again" if again else "unknown", question=asked)
    nearest = prompt.evidence[0].passage
    place = " – ".join(filter(None, (nearest.title, nearest.heading)))
    return f"{opening} {says(prompt.language, 'nearest', place=one_line(place, 100))}" if place else opening
