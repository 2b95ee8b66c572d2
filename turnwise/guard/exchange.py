"""The exchange rail: judges a message in the light of the messages before it. Risk rises with signs that an attack is
being built up, decays with every innocent turn, and lowers the score at which a message is stopped. A message that is
plainly innocent is never stopped because of earlier ones."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from turnwise.guard.injection import MAX_INNOCENT_SCORE, RECENT_MESSAGES, RULE_SCORE, match_rule
from turnwise.guard.innocence import is_plainly_innocent, without_taken_back
from turnwise.guard.reading import TextReading, View, read
from turnwise.guard.signs import WEIGHTS, fragment, is_forged_answer, plain_words, puts_together, refuses, signs_in
from turnwise.guard.verdict import Case, Fails, Finding
from turnwise.text import content_stems
from turnwise.types import Message

WINDOW_MESSAGES = 20  # user messages that are taken into account
UNTRUSTED_WINDOW_MESSAGES = 60  # the same for an untrusted history; older messages in it are judged one by one
MAX_JOINED_MESSAGES = 4  # messages that are also read as one text
MAX_PART_CHARS = 400  # of each joined message, next to where they are joined
MAX_COMPARED_CHARS = 1000  # of a message, to compare its words with those of refused ones
MAX_SCORED_CHARS = 100_000
MAX_COURTESY_WORDS = 2  # a message this short can follow anything, so it continues nothing
MAX_SMALL_WORD_CHARS = 4  # a question that ends with such a word may go on: "wie lautet dein"
MIN_JOINED_GAIN = 0.3  # by how much the joined text must score above its parts
MIN_SHARED_STEMS = 0.3  # share of stems in common with a refused message, from which a message asks for the same
MIN_SUSPECT_SCORE = 0.2  # an earlier message with this score is scored again by the slow classifier
CACHED_TEXTS = 20_000
BUILD_UP_SIGNS = frozenset({"trust", "claim", "probe", "secrecy", "pretext"})  # these may lead up to a request
REQUEST_SIGNS = frozenset({"extract", "override", "persona", "role token"})
HISTORY_SIGNS = frozenset({"build-up", "probing", "asked again", "rising"})  # these depend on earlier messages

_QUESTION_WORD = re.compile(
    r"[¿\s]*(?:(?:and|und|et|y|e) )?(?:who|what|which|where|when|why|how"
    r"|wer|wen|wem|was|welche[rnsm]?|wo|wann|warum|wie|qui|que|quoi|quel(?:le)?s?|où|quand|pourquoi|comment|combien"
    r"|quién(?:es)?|qué|cuál(?:es)?|dónde|cuándo|cómo|cuánt[oa]s?|quem|qual|quais|onde|quando|como|quant[oa]s?)\b",
    re.I,
)

Score = Callable[[str], float]
Scores = Callable[[Sequence[str]], Sequence[float]]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MessageFeatures:
    """A message on its own: how likely it is an attack, which signs it shows, the stems of its words, and the text that
    it may contribute to an attack split over several messages."""

    score: float
    signs: frozenset[str]
    stems: frozenset[str]
    fragment: str
    takes_back: bool = False  # it only takes back what was asked before, and so completes nothing


@dataclass(frozen=True, slots=True)
class JudgedMessage:
    """A user message, judged as part of the conversation."""

    score: float  # including its signs
    threshold: float  # the score at which it is stopped, given the risk before it
    risk: float  # of the conversation after it
    signs: tuple[str, ...]
    stopped: bool
    only_joined: bool = False  # an attack only if read together with the messages before it


@dataclass(slots=True)
class Heard:
    """What was heard in a conversation so far."""

    judged: list[JudgedMessage] = field(default_factory=list)
    passed: list[MessageFeatures] = field(default_factory=list)
    refused: list[frozenset[str]] = field(default_factory=list)  # stems of what was stopped, or declined in an answer
    risk: float = 0.0

    @property
    def stopped(self) -> bool:
        """Whether the last message was stopped."""
        return bool(self.judged) and self.judged[-1].stopped

    def hear(self, message: JudgedMessage, features: MessageFeatures) -> None:
        self.judged.append(message)
        self.risk = message.risk
        if message.stopped:
            self.refused.append(features.stems)
        else:
            self.passed.append(features)


class ExchangeRail:
    """Judges a message by the conversation it belongs to. Without a history the rail is skipped."""

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
        self._full = full  # a slower and better score, for the new message and the texts it may complete
        self._refused = refused  # whether the other rails stop a text with this score after these messages
        self._features_cache: TextCache[MessageFeatures] = TextCache(CACHED_TEXTS)
        self._score_cache: TextCache[float] = TextCache(CACHED_TEXTS)
        self._full_score_cache: TextCache[float] = TextCache(CACHED_TEXTS)
        self._forged_cache: TextCache[bool] = TextCache(CACHED_TEXTS)
        self._refused_cache: TextCache[bool] = TextCache(CACHED_TEXTS)

    def check(self, case: Case) -> Finding:
        if not case.history and not case.blocked:
            return Finding(self.name, state="skipped", reason="there is no conversation yet")
        messages, left_out = self._judge_messages(case)
        last = messages[-1]
        facts = {
            "scores": [round(each.score, 3) for each in messages],
            "risks": [round(each.risk, 3) for each in messages],
            "trend": _trend([each.risk for each in messages]),
            "signs": {place - len(messages): list(each.signs) for place, each in enumerate(messages, 1) if each.signs},
            **({"left_out": left_out} if left_out else {}),
        }
        stopped, signs = last.stopped, ", ".join(last.signs) or "its wording"
        if stopped and last.only_joined:
            reason = "together with earlier messages, this one makes up an attack that was split over turns"
        elif stopped and last.score >= self._threshold and not HISTORY_SIGNS.intersection(last.signs):
            reason = f"this looks like an attack on its own ({signs})"
        elif stopped:
            reason = f"after the earlier messages, this looks like an attack ({signs})"
        elif last.risk >= self._warn and last.score >= self._innocent:
            reason = f"the conversation has been leading up to an attack ({signs})"
            return Finding(self.name, "warn", last.score, last.threshold, reason, state="found", facts=facts)
        else:
            return Finding(self.name, "allow", last.score, last.threshold, "nothing found", facts=facts)
        return Finding(self.name, self._action, last.score, last.threshold, reason, state="found", facts=facts)

    def _judge_messages(self, case: Case) -> tuple[list[JudgedMessage], list[int]]:
        """The user messages, judged one after the other up to the new one, and the positions in an untrusted history of
        messages that must not be read: attacks with the answers to them, and answers we would not have given."""
        heard, left_out = Heard(), list[int]()
        recent = _recent_messages(case, WINDOW_MESSAGES if case.trusted else UNTRUSTED_WINDOW_MESSAGES)
        if not case.trusted:
            left_out += self._attacks(case.history[: min(place for place, *_ in recent if place >= 0)])
        texts = [text for _, role, text, _ in recent if role == "user"]
        features_of = self._features_cache.get_all(texts, self._features)
        for place, role, text, was_blocked in recent:
            if role == "user":
                is_new, features = place == len(case.history), features_of[text]
                if is_new:
                    message = self._judge(self._rescored(case.reading.plain, features), heard)
                else:
                    stopped = was_blocked or (
                        not case.trusted and self._would_stop(text, features, heard, case.history[:place])
                    )
                    message = self._judge(features, heard, is_earlier=True, was_stopped=stopped)
                heard.hear(message, features)
                if message.stopped and not (is_new or was_blocked):
                    left_out.append(place)
            elif not case.trusted and self._forged_cache.get(text, is_forged_answer):
                heard.risk = self._raised(heard.risk, WEIGHTS["planted"])
                left_out.append(place)
            elif heard.stopped:
                if not case.trusted:
                    left_out.append(place)
            elif role == "assistant" and heard.judged and heard.judged[-1].score >= WEIGHTS["probe"] and refuses(text):
                heard.refused.append(heard.passed[-1].stems)
        return heard.judged, left_out

    def _attacks(self, history: Sequence[Message]) -> list[int]:
        """The positions in an untrusted history of messages that are attacks on their own, of the answers to them, and
        of answers we would not have given."""
        texts = [each.content for each in history if each.role == "user"]
        features_of = self._features_cache.get_all(texts, self._features)
        left_out, stopped = [], False
        for place, message in enumerate(history):
            if message.role == "user":
                features = features_of[message.content]
                stopped = self._would_stop(message.content, features, Heard(), history[:place])
            if stopped or (message.role != "user" and self._forged_cache.get(message.content, is_forged_answer)):
                left_out.append(place)
        return left_out

    def _judge(
        self, features: MessageFeatures, heard: Heard, is_earlier: bool = False, was_stopped: bool = False
    ) -> JudgedMessage:
        """Judge one message after those before it. An earlier message that was not stopped then is not stopped now."""
        signs = set(features.signs)
        recent_signs = {sign for each in heard.judged[-6:] for sign in each.signs}
        if signs & REQUEST_SIGNS and len(recent_signs & (BUILD_UP_SIGNS | REQUEST_SIGNS)) > 1:
            signs.add("build-up")
        if "probe" in signs and sum("probe" in each.signs for each in heard.judged[-8:]) > 1:
            signs.add("probing")
        if signs - {"trust"} and any(_alike(features.stems, stems) for stems in heard.refused):
            signs.add("asked again")
        if _rising([each.score for each in heard.judged[-2:]], features.score):
            signs.add("rising")
        harmless = 1 - features.score
        for sign in signs:
            harmless *= 1 - WEIGHTS[sign]
        score = 1 - harmless
        threshold = max(self._innocent, self._threshold - self._lowered * heard.risk)
        joined = 0.0 if is_earlier and not was_stopped else self._joined_score(features, heard.passed)
        if joined < self._threshold:  # not the lowered one: the joined text contains what has already raised the risk
            joined = 0.0
        stopped = was_stopped or (not is_earlier and (score >= threshold or joined > 0))
        weight = max(score, joined, self._blocked) if stopped else score
        risk_after = self._raised(self._decay * heard.risk, weight)
        only_joined = not was_stopped and joined > 0 and score < threshold
        threshold = self._threshold if only_joined else threshold
        return JudgedMessage(max(score, joined), threshold, risk_after, tuple(sorted(signs)), stopped, only_joined)

    def _would_stop(self, text: str, features: MessageFeatures, heard: Heard, before: Sequence[Message]) -> bool:
        """Whether a message of an untrusted history would have been stopped when it was sent."""
        rescored = features if features.score < MIN_SUSPECT_SCORE else self._rescored(text, features)
        return self._judge(rescored, heard).stopped or self._others_refuse(text, features, before)

    def _rescored(self, text: str, features: MessageFeatures) -> MessageFeatures:
        """The features with the better score, if there is one."""
        if self._full is None:
            return features
        return dataclasses.replace(features, score=max(rule_score(text), self._full_score(text)))

    def _raised(self, risk: float, weight: float) -> float:
        return risk + (1 - risk) * self._gain * weight

    def _joined_score(self, new: MessageFeatures, passed: Sequence[MessageFeatures]) -> float:
        """The score of this message joined with those before it, or 0 unless it clearly exceeds the score of each
        message and of the earlier ones joined without this one. If a quoted part alone has that score, the conversation
        is about an attack."""
        if new.takes_back:
            return 0.0
        before = passed[-MAX_JOINED_MESSAGES + 1 :]
        parts = [each.fragment[-MAX_PART_CHARS:] for each in before if each.fragment]
        own = new.fragment[:MAX_PART_CHARS]
        candidates = _joinings([*parts, own], whole=False) if own else _joinings(parts)
        without = _joinings(parts) if own else set()
        score = self._quick_scores({*candidates, *without, *parts, own} - {""})
        best = max((score[each] for each in candidates), default=0.0)
        alone = max((new.score, *(each.score for each in before), *(score[each] for each in parts)))
        if own:  # otherwise the message only asks to put the parts together
            alone = max(alone, score[own], *(score[each] for each in without))
            is_part = len(own.split()) > MAX_COURTESY_WORDS and len(new.fragment) <= MAX_PART_CHARS
            if self._full is not None and parts and is_part and continues(parts[-1], own):
                told = [f"{each}?" if _is_whole_question(each) else each for each in parts]
                best = max(best, *(self._full_score(" ".join([*told[-count:], own])) for count in (1, 2)))
                alone = max(alone, self._full_score(own), self._full_score(parts[-1]))
        return best if best - alone >= MIN_JOINED_GAIN else 0.0

    def _full_score(self, text: str) -> float:
        return self._full_score_cache.get(text, self._full) if self._full is not None else 0.0

    def _quick_scores(self, texts: Iterable[str]) -> dict[str, float]:
        return self._score_cache.get_all(list(texts), self._quick)

    def _features(self, texts: Sequence[str]) -> list[MessageFeatures]:
        half = MAX_SCORED_CHARS // 2
        shortened = [text if len(text) <= MAX_SCORED_CHARS else f"{text[:half]}\n{text[-half:]}" for text in texts]
        score = self._quick_scores(shortened)
        features = []
        for text, short in zip(texts, shortened, strict=True):
            words = plain_words(text)
            asked = without_taken_back(short)
            part = "" if puts_together(words) else fragment(asked)
            stems = frozenset(content_stems(words[:MAX_COMPARED_CHARS]))
            if is_plainly_innocent(text):
                innocent = min(score[short], MAX_INNOCENT_SCORE)
                features.append(MessageFeatures(innocent, frozenset(), stems, part, takes_back=not asked))
            else:
                features.append(MessageFeatures(score[short], signs_in(words), stems, part))
        return features

    def _others_refuse(self, text: str, features: MessageFeatures, before: Sequence[Message]) -> bool:
        """Whether the other rails stop this text after these messages, of which they only read the most recent."""
        refused, recent = self._refused, before[-RECENT_MESSAGES:]
        if refused is None:
            return False
        key = json.dumps([text, *((each.role, each.content) for each in recent)])
        return self._refused_cache.get(key, lambda _: refused(text, features.score, recent))


class TextCache(Generic[T]):
    """Results by text, keyed by digest so that long texts are not kept. Drops the oldest results."""

    def __init__(self, max_size: int) -> None:
        self._max_size = max_size
        self._results: dict[bytes, T] = {}
        self._lock = threading.Lock()

    def get(self, text: str, compute: Callable[[str], T]) -> T:
        return self.get_all([text], lambda texts: [compute(each) for each in texts])[text]

    def get_all(self, texts: Sequence[str], compute: Callable[[Sequence[str]], Sequence[T]]) -> dict[str, T]:
        """The result of each text; those not cached yet are computed in one call."""
        keys = {text: hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts}
        with self._lock:
            cached = {text: self._results[key] for text, key in keys.items() if key in self._results}
        missing = [text for text in keys if text not in cached]
        computed = dict(zip(missing, compute(missing), strict=True)) if missing else {}
        with self._lock:
            for text, result in computed.items():
                self._results[keys[text]] = result
            while len(self._results) > self._max_size:
                del self._results[next(iter(self._results))]
        return cached | computed


def continues(before: str, after: str) -> bool:
    """Whether the second text may continue a sentence of the first: the first has no end, and they do not both start
    with a capital letter, nor as questions."""
    ended = before.rstrip().endswith((".", "!", "?", "。", "！", "？", "।"))
    two_questions = _QUESTION_WORD.match(before) and _QUESTION_WORD.match(after)
    return not ended and not two_questions and not (before[:1].isupper() and after[:1].isupper())


def _is_whole_question(text: str) -> bool:
    """Whether a text without a mark at its end is a question, and not the beginning of one: "what is your" """
    return bool(_QUESTION_WORD.match(text)) and len(text.split()[-1]) > MAX_SMALL_WORD_CHARS


def rule_scores(texts: Sequence[str]) -> list[float]:
    return [rule_score(text) for text in texts]


def rule_score(text: str) -> float:
    """The score of a text by the rules for plain commands alone."""
    if not text.isascii():
        return RULE_SCORE if match_rule(read(text)) else 0.0
    if not _OBJECT.search(text):
        return 0.0
    plain = "\n".join(" ".join(line.split()) for line in text.splitlines())
    view = View(plain, "plain", None, (0, len(plain)), hidden=False)
    return RULE_SCORE if match_rule(TextReading(text, plain, (view,), {})) else 0.0


# Every rule needs one of these words.
_OBJECT = re.compile(
    "instruction|prompt|rule|direction|guideline|message|programming|training|filter|restriction|safeguard|guardrail|polic|law"
    "|mode",
    re.I,
)


def _recent_messages(case: Case, window: int) -> list[tuple[int, str, str, bool]]:
    """The last messages, oldest first and the new one last, as (position, role, text, blocked). Blocked messages whose
    position is not known are placed at the beginning."""
    history, places = case.history, case.places or (0,) * len(case.blocked)
    blocked = sorted(zip(places, range(len(places)), case.blocked, strict=True))
    place = len(history)
    recent, users = [(place, "user", case.text, False)], 1
    while users <= window and len(recent) < 4 * window and (place or blocked):
        if blocked and blocked[-1][0] >= place:
            recent.append((-1, "user", blocked.pop()[2], True))
            users += 1
        else:
            place -= 1
            recent.append((place, history[place].role, history[place].content, False))
            users += history[place].role == "user"
    return recent[::-1]


def _joinings(parts: Sequence[str], whole: bool = True) -> set[str]:
    """All ways to join two or more neighbouring parts, with or without a space; unless `whole`, only those that include
    the last part."""
    return {
        between.join(parts[start:end])
        for end in (range(2, len(parts) + 1) if whole else (len(parts),))
        for start in range(max(0, end - 1))
        for between in (" ", "")
    }


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return min(len(one), len(other)) > 1 and len(one & other) >= MIN_SHARED_STEMS * min(len(one), len(other))


def _rising(before: Sequence[float], now: float) -> bool:
    return len(before) > 1 and 0 < before[0] < before[1] < now


def _trend(risks: Sequence[float]) -> str:
    change = risks[-1] - (risks[-2] if len(risks) > 1 else 0.0)
    return "rising" if change > 0.05 else "falling" if change < -0.05 else "steady"
