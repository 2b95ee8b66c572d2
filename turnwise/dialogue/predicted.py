"""Condensing by the trained model: its words as phrases that were said, each decision behind a gate."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from turnwise.dialogue.rewriting import fault
from turnwise.dialogue.window import LONGEST
from turnwise.dialogue.writing import Phrase, compared, parallel, points_back, standalone
from turnwise.text import content_stems, is_content, one_line, stem
from turnwise.types import Condensed, Message, Prediction, Term

NEEDED = 0.5  # likelihood that the message needs its context from which it is changed
ADDED = 0.5  # probability from which a word is written into the question
COUNTED = 0.1  # probability from which a word counts in the search
FLUENT = 0.8  # how sure the model must be of its own wording for that to be shown
MOST_WORDS = 8  # words added at most

_TOKEN = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_PART = re.compile(r"[^\W_]+")
_BETWEEN = re.compile(r"\s{1,2}|['’]s\s|\s(?:of|for|in|de|von|van)\s(?:the\s)?")  # inside one phrase


def by_model(message: str, seen: Sequence[Message], prediction: Prediction, why: str, ruled: Condensed) -> Condensed:
    """The standalone question as the model reads it. `ruled` is the rules' reading: where it is another, both are
    searched."""
    own = content_stems(message)
    said = {key for each in seen for *_, stems in _tokens(each.content[:LONGEST]) for key in stems}
    likely = [(word, chance) for word, chance in prediction.terms if _new(word, said, own) and chance >= COUNTED]
    counted = tuple(Term(word, round(min(1.0, chance), 2)) for word, chance in likely)
    kept = {stem(part): chance for word, chance in likely if chance >= ADDED for part in _PART.findall(word)}
    chosen = _in_order(message, joined(dict(list(kept.items())[:MOST_WORDS]), seen))
    if prediction.needs_context < NEEDED:
        reason = f"{why}, but not surely: it is searched as it stands, with a light weight on the likely words"
        return _beside(message, Condensed(message, counted, "literal", reason), ruled)
    if prediction.fluency >= FLUENT and not fault(message, seen, prediction.rewrite):
        return Condensed(prediction.rewrite, counted, "model", f"{why}; the model wrote it out")
    if instead := parallel(message, seen):
        return instead
    if not chosen:
        return dataclasses.replace(ruled, added=_merged(ruled.added, counted))
    pair = compared(message, seen)
    if pair and any(content_stems(phrase) & kept.keys() for phrase, _ in pair):
        chosen = pair
    found = standalone(message, seen, chosen, "model", why)
    return _beside(message, dataclasses.replace(found, added=_merged(found.added, counted)), ruled)


def joined(kept: dict[str, float], seen: Sequence[Message]) -> list[Phrase]:
    """Words, by stem with their probabilities, as the phrases in which they were said, in the order they were said."""
    runs = [run for place, each in enumerate(seen) for run in _runs(kept, each, place)]
    covered: set[str] = set()
    chosen: list[_Run] = []
    while runs:
        best = max(runs, key=lambda run: (len(run.stems - covered), -len(run.stems & covered), run.asked, run.place))
        if not best.stems - covered:
            break
        chosen.append(best)
        covered |= best.stems
    return [
        (run.text, sum(kept[key] for key in run.stems) / len(run.stems))
        for run in sorted(chosen, key=lambda r: r.place)
    ]


@dataclasses.dataclass(frozen=True, slots=True)
class _Run:
    """Words that stand side by side in a message."""

    text: str
    stems: frozenset[str]
    asked: bool  # by the user
    place: tuple[int, int]


def _runs(kept: dict[str, float], message: Message, place: int) -> Iterable[_Run]:
    text = message.content[:LONGEST]
    start, end, stems = 0, 0, frozenset[str]()
    for token_start, token_end, parts in _tokens(text):
        found = parts & kept.keys()
        if not found:
            continue
        if stems and not _BETWEEN.fullmatch(text, end, token_start):
            yield _Run(text[start:end], stems, message.role == "user", (place, start))
            stems = frozenset()
        start, end, stems = (start if stems else token_start), token_end, stems | found
    if stems:
        yield _Run(text[start:end], stems, message.role == "user", (place, start))


@lru_cache(maxsize=512)  # the next turn reads all but the last of these messages again
def _tokens(text: str) -> tuple[tuple[int, int, frozenset[str]], ...]:
    """The words of a text that say something: where each stands, and its stems, several where it has a hyphen."""
    found = (
        (token.start(), token.end(), frozenset(stem(part) for part in _PART.findall(token[0]) if is_content(part)))
        for token in _TOKEN.finditer(text)
    )
    return tuple(token for token in found if token[2])


def _in_order(message: str, phrases: list[Phrase]) -> list[Phrase]:
    """Where a pronoun points back, the likeliest phrase first: it takes the pronoun's place."""
    if not phrases or not points_back(message):
        return phrases
    likeliest = max(phrases, key=lambda phrase: phrase[1])
    return [likeliest, *(phrase for phrase in phrases if phrase is not likeliest)]


def _new(word: str, said: set[str], own: set[str]) -> bool:
    stems = content_stems(word)
    return bool(stems) and stems <= said and not stems <= own


def _merged(written: Sequence[Term], counted: Sequence[Term]) -> tuple[Term, ...]:
    """All words that count, each once: those of the model at their own probability."""
    known = {stem(term.text) for term in counted}
    return (*counted, *(term for term in written if stem(term.text) not in known))


def _beside(message: str, found: Condensed, ruled: Condensed) -> Condensed:
    """What was found, with the rules' reading beside it where that adds none of the same words."""
    theirs, ours = (content_stems(each.query) - content_stems(message) for each in (ruled, found))
    if not theirs or theirs & ours or len(found.candidates) > 1:
        return found
    reason = f"{found.reason}; the rules read “{one_line(ruled.query)}”, which is searched too"
    return dataclasses.replace(found, candidates=(*found.candidates, ruled.query), reason=reason)
