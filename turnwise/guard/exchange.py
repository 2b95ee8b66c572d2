"""The exchange rail: what a message means after those before it. Risk rises with signs of an attack that is being built
up, decays with every innocent turn, and lowers the score from which a message is stopped. A message that is plainly
innocent is never stopped for what was said earlier."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from turnwise.guard.injection import BY_RULE, INNOCENT, RECENT, by_rule
from turnwise.guard.innocence import is_plainly_innocent
from turnwise.guard.reading import TextReading, View, read
from turnwise.guard.signs import WEIGHTS, fragment, plain_words, planted, puts_together, refuses, signs_in
from turnwise.guard.verdict import Case, Fails, Finding
from turnwise.text import content_stems
from turnwise.types import Message

WINDOW = 20  # user messages that are looked back at
SENT = 60  # the same of a history that is not ours: what stands before them is judged message by message
JOINED = 4  # of them that are also read as one
LONGEST_PART = 400  # characters of each, at the seam, that are joined
LONGEST_SAID = 1000  # characters whose words are compared with what was refused
LONGEST = 100_000  # characters of a message that are scored
COURTESY = 2  # words; what is no longer can be said after anything
CLEARLY = 0.3  # by how much the joined text must outdo its parts
LIKE = 0.3  # share of its words that a message has in common with one that it asks again
MIN_SUSPECT_SCORE = 0.2  # score of an earlier message from which it is read again by what is slow
REMEMBERED = 20_000  # texts whose scores are kept
BUILDING = frozenset({"trust", "claim", "probe", "secrecy", "pretext"})  # what may go before a request
ASKING = frozenset({"extract", "override", "persona", "role token"})
OF_EARLIER = frozenset({"build-up", "probing", "asked again", "rising"})  # what only the messages before it show

Score = Callable[[str], float]
Scores = Callable[[Sequence[str]], Sequence[float]]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Measure:
    """What a message is by itself: how likely an attack, which signs it shows, the stems of its words, and the words
    that it may be meant to hand over as a part of something."""

    score: float
    signs: frozenset[str]
    stems: frozenset[str]
    fragment: str


@dataclass(frozen=True, slots=True)
class Step:
    """What a user's message is in the exchange."""

    own: float  # its score with its signs
    threshold: float  # from which it is stopped, given the risk before it
    risk: float  # after it
    signs: tuple[str, ...]
    stopped: bool
    joined: bool = False  # only with the messages before it


class ExchangeRail:
    """Judges a message by the exchange it belongs to. Needs a history; without one it is skipped."""

    name = "exchange"
    reads_history = True

    def __init__(
        self,
        options: Mapping[str, Any],
        quick: Scores | None = None,
        refused: Callable[[str, float, Sequence[Message]], bool] | None = None,
        full: Score | None = None,
    ) -> None:
        self.fails: Fails = options.get("fails", "open")
        self._action = options.get("action", "block")
        self._threshold = float(options.get("threshold", 0.8))
        self._lowered = float(options.get("lowered", 0.45))
        self._innocent = float(options.get("innocent", 0.35))
        self._decay = float(options.get("decay", 0.75))
        self._gain = float(options.get("gain", 0.7))
        self._blocked = float(options.get("blocked", 0.6))
        self._warn = float(options.get("warn", 0.6))
        self._quick = quick or rule_scores
        self._full = full  # a slower and better score, for the present message and what it may be a part of
        self._refused = refused  # whether the other rails stop a text of this score after these messages
        self._measures: Remembered[Measure] = Remembered(REMEMBERED)
        self._scores: Remembered[float] = Remembered(REMEMBERED)
        self._read_before: Remembered[float] = Remembered(REMEMBERED)
        self._planted: Remembered[bool] = Remembered(REMEMBERED)
        self._stopped: Remembered[bool] = Remembered(REMEMBERED)

    def check(self, case: Case) -> Finding:
        if not case.history and not case.blocked:
            return Finding(self.name, state="skipped", reason="there is no conversation yet")
        steps, left_out = self._walk(case)
        last = steps[-1]
        facts = {
            "scores": [round(step.own, 3) for step in steps],
            "risks": [round(step.risk, 3) for step in steps],
            "trend": _trend([step.risk for step in steps]),
            "signs": {place - len(steps): list(step.signs) for place, step in enumerate(steps, 1) if step.signs},
            **({"left_out": left_out} if left_out else {}),
        }
        stopped, told = last.stopped, ", ".join(last.signs)
        if stopped and last.joined:
            reason = "with the messages before it, this one makes up an attack that was split over turns"
        elif stopped and last.own >= self._threshold and not OF_EARLIER.intersection(last.signs):
            reason = f"this is taken for an attack by itself ({told or 'its wording'})"
        elif stopped:
            reason = f"after what was said before, this is taken for an attack ({told or 'its wording'})"
        elif last.risk >= self._warn and last.own >= self._innocent:
            reason = f"the conversation has been leading up to an attack ({told or 'its wording'})"
            return Finding(self.name, "warn", last.own, last.threshold, reason, state="found", facts=facts)
        else:
            return Finding(self.name, "allow", last.own, last.threshold, "nothing found", facts=facts)
        return Finding(self.name, self._action, last.own, last.threshold, reason, state="found", facts=facts)

    def _walk(self, case: Case) -> tuple[list[Step], list[int]]:
        """The exchange message by message to the present one, and the places in a history that is not ours of what must
        not be read: attacks with the answers to them, and answers that we would not have given."""
        steps: list[Step] = []
        left_out: list[int] = []
        earlier: list[Measure] = []  # that were let through
        asked: list[frozenset[str]] = []  # and refused, by us or in words
        risk, stopped = 0.0, False
        told = _told(case, WINDOW if case.trusted else SENT)
        if not case.trusted:
            left_out += self._attacks(case.history[: min(place for place, *_ in told if place >= 0)])
        measures = self._measures.of_all([text for _, role, text, _ in told if role == "user"], self._measured)
        for place, role, text, known in told:
            if role == "user":
                present = place == len(case.history)
                measure = measures[text]
                if present:
                    again = self._read_again(case.reading.plain, measure)
                    step = self._judged(again, earlier, asked, steps, risk, False, False)
                else:
                    stopped = known or (
                        not case.trusted
                        and self._would_stop(text, measure, earlier, asked, steps, risk, case.history[:place])
                    )
                    step = self._judged(measure, earlier, asked, steps, risk, stopped, True)
                steps.append(step)
                risk, stopped = step.risk, step.stopped
                if stopped:
                    asked.append(measure.stems)
                else:
                    earlier.append(measure)
                if stopped and not (present or known):
                    left_out.append(place)
            elif not case.trusted and self._planted.of(text, planted):
                risk = self._risen(risk, WEIGHTS["planted"])
                left_out.append(place)
            elif not case.trusted and stopped:
                left_out.append(place)
            elif role == "assistant" and not stopped and steps and steps[-1].own >= WEIGHTS["probe"] and refuses(text):
                asked.append(earlier[-1].stems)
        return steps, left_out

    def _attacks(self, history: Sequence[Message]) -> list[int]:
        """The places in a history that is not ours of messages that are attacks by themselves with the answers to them,
        and of answers that we would not have given."""
        measures = self._measures.of_all([each.content for each in history if each.role == "user"], self._measured)
        left_out, stopped = [], False
        for place, message in enumerate(history):
            if message.role == "user":
                measure = measures[message.content]
                stopped = self._would_stop(message.content, measure, (), (), (), 0.0, history[:place])
            if stopped or (message.role != "user" and self._planted.of(message.content, planted)):
                left_out.append(place)
        return left_out

    def _judged(
        self,
        measure: Measure,
        earlier: Sequence[Measure],
        asked: Sequence[frozenset[str]],
        steps: Sequence[Step],
        risk: float,
        known: bool,
        alone: bool,
    ) -> Step:
        """One message after these; `known` where it was blocked at its time, `alone` where it was let through then."""
        signs = set(measure.signs)
        shown = {sign for step in steps[-6:] for sign in step.signs}
        if signs & ASKING and len(shown & (BUILDING | ASKING)) > 1:
            signs.add("build-up")
        if "probe" in signs and sum("probe" in step.signs for step in steps[-8:]) > 1:
            signs.add("probing")
        if signs - {"trust"} and any(_alike(measure.stems, stems) for stems in asked):
            signs.add("asked again")
        if _rising([step.own for step in steps[-2:]], measure.score):
            signs.add("rising")
        own = 1 - measure.score
        for sign in signs:
            own *= 1 - WEIGHTS[sign]
        own = 1 - own
        threshold = max(self._innocent, self._threshold - self._lowered * risk)
        joined = 0.0 if alone and not known else self._joined(measure, earlier)
        if joined < self._threshold:  # it holds what raised the risk already, which is not held against it twice
            joined = 0.0
        stopped = known or (not alone and (own >= threshold or joined > 0))
        weight = max(own, joined, self._blocked) if stopped else own
        after = self._risen(self._decay * risk, weight)
        only_joined = not known and joined > 0 and own < threshold
        threshold = self._threshold if only_joined else threshold
        return Step(max(own, joined), threshold, after, tuple(sorted(signs)), stopped, only_joined)

    def _would_stop(
        self,
        text: str,
        measure: Measure,
        earlier: Sequence[Measure],
        asked: Sequence[frozenset[str]],
        steps: Sequence[Step],
        risk: float,
        before: Sequence[Message],
    ) -> bool:
        """Whether a message of a history that is not ours would have been stopped when it was said."""
        then = measure if measure.score < MIN_SUSPECT_SCORE else self._read_again(text, measure)
        judged = self._judged(then, earlier, asked, steps, risk, False, False)
        return judged.stopped or self._refuses(text, measure, before)

    def _read_again(self, text: str, measure: Measure) -> Measure:
        """The same by the better score, where there is one."""
        if self._full is None:
            return measure
        return dataclasses.replace(measure, score=max(rule_score(text), self._read(text)))

    def _risen(self, risk: float, weight: float) -> float:
        return risk + (1 - risk) * self._gain * weight

    def _joined(self, present: Measure, earlier: Sequence[Measure]) -> float:
        """The score of this message read as one with those before it, where none of them has it alone, nor they have it
        without this one. A quotation that has it alone is talked about."""
        before = earlier[-JOINED + 1 :]
        parts = [each.fragment[-LONGEST_PART:] for each in before if each.fragment]
        own = present.fragment[:LONGEST_PART]
        tries = _joinings([*parts, own], whole=False) if own else _joinings(parts)
        without = _joinings(parts) if own else set()
        score = self._scored({*tries, *without, *parts, own} - {""})
        best = max((score[each] for each in tries), default=0.0)
        alone = max((present.score, *(each.score for each in before), *(score[each] for each in parts)))
        if own:  # else it only says: now put them together
            alone = max(alone, score[own], *(score[each] for each in without))
            part = len(own.split()) > COURTESY and len(present.fragment) <= LONGEST_PART
            if self._full is not None and parts and part and goes_on(parts[-1], own):
                best = max(best, *(self._read(" ".join([*parts[-count:], own])) for count in (1, 2)))
                alone = max(alone, self._read(own), self._read(parts[-1]))
        return best if best - alone >= CLEARLY else 0.0

    def _read(self, text: str) -> float:
        """The better score of a text."""
        return self._read_before.of(text, self._full) if self._full is not None else 0.0

    def _scored(self, texts: Iterable[str]) -> dict[str, float]:
        return self._scores.of_all(list(texts), self._quick)

    def _measured(self, texts: Sequence[str]) -> list[Measure]:
        cut = [text if len(text) <= LONGEST else f"{text[: LONGEST // 2]}\n{text[-LONGEST // 2 :]}" for text in texts]
        score = self._scored(cut)
        found = []
        for text, scored in zip(texts, cut, strict=True):
            words = plain_words(text)
            part = "" if puts_together(words) else fragment(scored)
            stems = frozenset(content_stems(words[:LONGEST_SAID]))
            if is_plainly_innocent(text):
                found.append(Measure(min(score[scored], INNOCENT), frozenset(), stems, part))
            else:
                found.append(Measure(score[scored], signs_in(words), stems, part))
        return found

    def _refuses(self, text: str, measure: Measure, before: Sequence[Message]) -> bool:
        """Whether the other rails stop this text after these messages, of which they look at the last."""
        refused, last = self._refused, before[-RECENT:]
        if refused is None:
            return False
        key = json.dumps([text, *((each.role, each.content) for each in last)])
        return self._stopped.of(key, lambda _: refused(text, measure.score, last))


class Remembered(Generic[T]):
    """What was made of texts, by their digests, so that long ones are not kept. Forgets the oldest."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: dict[bytes, T] = {}
        self._lock = threading.Lock()

    def of(self, text: str, make: Callable[[str], T]) -> T:
        return self.of_all([text], lambda texts: [make(each) for each in texts])[text]

    def of_all(self, texts: Sequence[str], make: Callable[[Sequence[str]], Sequence[T]]) -> dict[str, T]:
        """What was made of each, with what is not known yet made in one go."""
        keys = {text: hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts}
        with self._lock:
            known = {text: self._kept[key] for text, key in keys.items() if key in self._kept}
        new = [text for text in keys if text not in known]
        made = dict(zip(new, make(new), strict=True)) if new else {}
        with self._lock:
            for text, each in made.items():
                self._kept[keys[text]] = each
            while len(self._kept) > self._most:
                del self._kept[next(iter(self._kept))]
        return known | made


def goes_on(before: str, after: str) -> bool:
    """Whether one sentence may be spread over both: the first has no end, and not each begins with a capital letter."""
    ended = before.rstrip().endswith((".", "!", "?", "。", "！", "？", "।"))
    return not ended and not (before[:1].isupper() and after[:1].isupper())


def rule_scores(texts: Sequence[str]) -> list[float]:
    return [rule_score(text) for text in texts]


def rule_score(text: str) -> float:
    """How likely a text is an attack, by the plain commands alone."""
    if not text.isascii():
        return BY_RULE if by_rule(read(text)) else 0.0
    if not _OBJECT.search(text):
        return 0.0
    plain = "\n".join(" ".join(line.split()) for line in text.splitlines())
    view = View(plain, "plain", None, (0, len(plain)), hidden=False)
    return BY_RULE if by_rule(TextReading(text, plain, (view,), {})) else 0.0


# What all of them are about.
_OBJECT = re.compile(
    "instruction|prompt|rule|direction|guideline|message|programming|training|filter|restriction|safeguard|guardrail|polic|law"
    "|mode",
    re.I,
)


def _told(case: Case, window: int) -> list[tuple[int, str, str, bool]]:
    """The last of what was said, oldest first, the present message last: its place, who said it, the text, and whether
    it was blocked. Where one was blocked is taken for the beginning if it is not told."""
    history, places = case.history, case.places or (0,) * len(case.blocked)
    refused = sorted(zip(places, range(len(places)), case.blocked, strict=True))
    place = len(history)
    told, users = [(place, "user", case.text, False)], 1
    while users <= window and len(told) < 4 * window and (place or refused):
        if refused and refused[-1][0] >= place:
            told.append((-1, "user", refused.pop()[2], True))
            users += 1
        else:
            place -= 1
            told.append((place, history[place].role, history[place].content, False))
            users += history[place].role == "user"
    return told[::-1]


def _joinings(parts: Sequence[str], whole: bool = True) -> set[str]:
    """The last two or more of these as one text, in all ways; `whole`: of all beginnings of them too."""
    return {
        between.join(parts[start:end])
        for end in (range(2, len(parts) + 1) if whole else (len(parts),))
        for start in range(max(0, end - 1))
        for between in (" ", "")
    }


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return min(len(one), len(other)) > 1 and len(one & other) >= LIKE * min(len(one), len(other))


def _rising(before: Sequence[float], now: float) -> bool:
    return len(before) > 1 and 0 < before[0] < before[1] < now


def _trend(risks: Sequence[float]) -> str:
    change = risks[-1] - (risks[-2] if len(risks) > 1 else 0.0)
    return "rising" if change > 0.05 else "falling" if change < -0.05 else "steady"
