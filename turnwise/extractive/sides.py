"""The sides of a comparison: which of them a sentence is about."""

from __future__ import annotations

from collections.abc import Sequence, Set
from itertools import islice

from turnwise.dialogue.irregular import base_stems
from turnwise.extractive.statements import MAX_GAP, Candidate, neighbours, section_of, stems_of
from turnwise.text import content_stems, specific_stems, words

SIDE_SENTENCES = 2  # for each side, and for both together
WORK = stems_of("study paper article report document")  # what a document may be called


def best_of_each_side(
    ranked: Sequence[Candidate], sides: Sequence[str], pool: Sequence[Candidate] = ()
) -> list[Candidate]:
    """The best sentences about both sides of a comparison, and the best about each side alone. A side without any gets
    one from the pool: "Granite cools slowly", next to "Basalt cools quickly"."""
    own = side_stems(sides)
    best = _of_several_documents([each for each in ranked if is_about_all(each, own)])
    alone = [each for each in ranked if not is_about_all(each, own)]
    by_side = [[each for each in alone if side_of(each, own) == place][:SIDE_SENTENCES] for place in range(len(own))]
    found = [each for sentences in by_side for each in sentences]
    for place, sentences in enumerate(by_side):
        best += sentences or _opening_beside(place, own, found, pool)
    return best


def _of_several_documents(ranked: Sequence[Candidate]) -> list[Candidate]:
    """The best sentences, and the best of another document if it is nearly as good."""
    best = list(ranked[:SIDE_SENTENCES])
    documents = {each.evidence.passage.document_id for each in best}
    elsewhere = (
        each
        for each in ranked[SIDE_SENTENCES:]
        if each.evidence.passage.document_id not in documents and each.score >= best[0].score - MAX_GAP
    )
    return best + list(islice(elsewhere, 1))


def _opening_beside(
    place: int, own: Sequence[set[str]], found: Sequence[Candidate], pool: Sequence[Candidate]
) -> list[Candidate]:
    """The best new sentence that begins with a side, in the same section as a sentence about another side."""
    beside = [
        each
        for each in pool
        if not each.said
        and not each.statement.is_row
        and side_of(each, own) == place
        and opens_with(each, own[place])
        and any(neighbours(each, other) for other in found)
    ]
    return [max(beside, key=lambda each: each.score)] if beside else []


def side_stems(sides: Sequence[str]) -> list[set[str]]:
    """The stems of each side of a comparison, without those that all sides share or that say what kind of document it
    is, unless it has no others."""
    named = (specific_stems(side) or content_stems(side) for side in sides)
    stems = [base_stems(each) - WORK or base_stems(each) for each in named]
    shared = set.intersection(*stems) if stems else set()
    return [each - shared or each for each in stems]


def is_about_all(candidate: Candidate, own: Sequence[Set[str]]) -> bool:
    said = stems_of(candidate.text)
    return all(stems <= said for stems in own)


def opens_with(candidate: Candidate, side: Set[str]) -> bool:
    """Whether a sentence begins with a side, or an article and the side."""
    return side <= stems_of(" ".join(words(candidate.text)[: len(side) + 1]))


def side_of(candidate: Candidate, own: Sequence[set[str]]) -> int | None:
    """The side that a sentence is about: the work it is in, or by its own words or the nearest heading that tells; None
    if none does."""
    passage = candidate.evidence.passage
    authors = stems_of(" ".join(passage.reference.families)) if passage.reference else frozenset[str]()
    if wrote := [place for place, stems in enumerate(own) if stems and stems <= authors]:
        return wrote[0]
    headings = candidate.statement.above, section_of(passage), passage.heading, passage.called
    for text in (candidate.text, *headings):
        named = [place for place, stems in enumerate(own) if stems and stems <= stems_of(text)]
        if len(named) == 1:
            return named[0]
    return None
