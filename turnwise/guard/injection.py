"""The injection rail: commands to drop the instructions, to play without rules, or to give away what is hidden. Rules
for the plain ones, and a trained classifier for the rest. Quoting an attack or asking about one passes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from turnwise.dialogue.follow_up import closeness
from turnwise.dialogue.intent import asks_documents
from turnwise.dialogue.wishes import read_wishes
from turnwise.guard.innocence import is_plainly_innocent, without_mentions
from turnwise.guard.reading import Reading, View, read
from turnwise.guard.verdict import Action, Case, Fails, Finding, Span
from turnwise.text import positions_of
from turnwise.types import Embedder, Message

VIEWS = 6  # forms of a message that the classifier reads: as it is, and with what hides words undone
EVASION = 0.5  # power of the chance of what was disguised: honest messages have no need to hide their words
BY_RULE = 0.99
INNOCENT = 0.2  # the most that is said of a text which cannot be an attack: no rail acts on it
THRESHOLD = 0.5
RECENT = 20  # messages of the conversation that a message may belong to
FAR = 0.5  # closeness below which it does not: 90 % of those that do are above
KIND = "an attack on the assistant"

# Begins with what is rare, so that a long text is soon looked through.
_QUOTED = re.compile(
    r"[\"“«„'‘`](?:(?<=[\"“«„])[^\"”»“]{0,400}[\"”»“]|(?<=['‘])(?<!\w.)[^'’]{0,400}['’](?!\w)|(?<=`)[^`]{0,400}`)"
)
_BEGINS = r"(?:^|[.!?:;,\n] ?|\b(?:please|now|just|then|you (?:must|should|will|can)|you to|let['’]s) )"
_EARLIER = r"(?:previous|prior|above|earlier|preceding)"
_OWN = (
    r"your (?:(?:own|safety|content|system|internal|ethical|moral|usual) ){0,2}"
    r"(?:instructions|guidelines|rules|programming|training|filters?|restrictions|safeguards|guardrails|polic(?:y|ies))"
)
_ELSEWHERE = r"(?! (?:on|for|about|regarding|of|in|at|from|to)\b)"  # rules for something are not the assistant's own
# One message that was sent is not meant: "please ignore the previous message" is said after a slip.
_COMMAND = re.compile(
    rf"{_BEGINS}(?:ignore|disregard|forget|override|bypass) (?:(?:all |any |every |the |your |of |these |those )*"
    rf"(?:(?:{_EARLIER}|existing|original|initial|system) (?:instructions?|prompts?|rules?|directions?|guidelines?)"
    rf"|system messages?)|all (?:of )?(?:the |your )?{_EARLIER} messages|(?:all )?(?:of )?{_OWN}\b{_ELSEWHERE})",
    re.I,
)
_LEAK = re.compile(
    rf"(?:{_BEGINS}(?:reveal|print|show|output|repeat|tell|give) (?:me |us )?(?:your |the )"
    r"|(?:^|[.!?:;,\n] ?)what(?:['’]s| is| are| was| were) your )(?:(?:full|entire|exact|hidden|secret|original) )*"
    r"(?:system prompt|system message|initial instructions|hidden instructions)"
    # of a paper, of a machine: not of this assistant
    r"(?! (?:that|which|of|from|in|for|about|on|when|used|shown|described|quoted)\b)",
    re.I,
)
_FREED = re.compile(
    r"\byou(?:['’]re| are) (?:no longer|not) bound by (?:your|any|the|these|those) (?:\w+ )?"
    r"(?:rules|instructions|guidelines|programming|restrictions|filters|policies|laws)\b"
    r"|\byou (?:no longer|do not|don['’]t) (?:have|need) to (?:follow|obey) (?:your|these|those|any) (?:\w+ )?"
    r"(?:rules|instructions|guidelines|programming|restrictions|policies)\b"
    rf"|{_BEGINS}(?:enter|enable|activate|switch to|turn on|go into|start) (?:the |your )?"
    r"(?:jailbreak|dan|god|unrestricted|unfiltered|uncensored) mode\b",
    re.I,
)

# Honest within a conversation. Where nothing was said yet, the assistant's first words are those that are hidden.
_FIRST_WORDS = re.compile(
    r"(?:please )?(?:repeat|print|show|output|tell|give|say) (?:me |us )?(?:your|the) (?:very )?first "
    r"(?:message|words|line|sentence)(?:,? (?:again|please|word for word|verbatim|exactly))*[.!]?",
    re.I,
)


class _Rule(NamedTuple):
    """A pattern, what it means, words of which it needs one, and how far from these it may begin and end."""

    pattern: re.Pattern[str]
    meaning: str
    needs: tuple[str, ...]
    before: int
    after: int

    def search(self, text: str, lower: str) -> re.Match[str] | None:
        """The first match: only around those words is looked, which are rare."""
        places = sorted({place for word in self.needs for place in positions_of(lower, word)})
        if len(lower) != len(text):  # a letter whose small form is longer: places would be wrong
            return self.pattern.search(text) if places else None
        start = end = -1
        for place in places:
            if place - self.before > end:
                if end > 0 and (found := self.pattern.search(text, start, end)):
                    return found
                start = max(0, place - self.before)
            end = place + self.after
        return self.pattern.search(text, start, end) if end > 0 else None


_RULES = (
    _Rule(
        _COMMAND,
        "asks to drop the instructions",
        ("ignore", "disregard", "forget", "override", "bypass"),
        before=20,
        after=200,
    ),
    _Rule(
        _LEAK,
        "asks for the hidden instructions",
        ("system prompt", "system message", "initial instructions", "hidden instructions"),
        before=200,
        after=40,
    ),
    _Rule(
        _FREED,
        "says that no rules hold",
        (" bound by", "to follow", "to obey", "jailbreak mode", "dan mode", "god mode", "ed mode"),
        before=60,
        after=80,
    ),
)


class Classifier(Protocol):
    """What judges a text by training: how likely it is an attack, from 0 to 1, and which stretch speaks for it. It may
    also have an `opening(text)`: the same of one that opens a conversation, leans on nothing, and is taken at its
    word."""

    def attack(self, text: str) -> tuple[float, tuple[int, int]]: ...


class InjectionRail:
    """Judges a message by itself, in every form that it can be read in. In a conversation it must be surer: there
    people ask for names, numbers and changes in a few words that mean what was said before. A message that has nothing
    to do with that, by its meaning, is taken as the first of a conversation is."""

    name = "injection"

    def __init__(
        self, options: Mapping[str, Any], classifier: Classifier | None = None, embedder: Embedder | None = None
    ) -> None:
        self.fails: Fails = options.get("fails", "open")
        self._action = options.get("action", "block")
        self.reads_history = self._action != "redact"  # what is redacted must be known before anything is kept
        self._threshold = float(options.get("threshold", THRESHOLD))
        self._warn = float(options.get("warn", self._threshold))
        self._classifier = classifier
        self._embedder = embedder

    def check(self, case: Case) -> Finding:
        reading = case.reading
        told = by_rule(reading)
        if told is None and self.reads_history and not case.history and _FIRST_WORDS.fullmatch(reading.plain.strip()):
            told = (0, len(case.text)), "asks for what stood before the conversation"
        if told is not None:
            span, meaning = told
            reason = f"“{_words(case.text, span)}” {meaning}"
            return self._found(BY_RULE, reason, span, {"by": "rule"})
        if self._classifier is None or is_wish_to_be_forgotten(case.text):
            return Finding(self.name, "allow", 0.0, self._threshold, "nothing found")
        best, view, span = self._most(reading)
        if best < self._threshold:
            opening = self._most(reading, opens=True)
            if opening[0] >= self._threshold and (self._opens(case) or self._leaves(case)):
                best, view, span = opening
        if best < self._warn:
            return Finding(self.name, "allow", best, self._threshold, "nothing found")
        hidden = "" if view.kind == "plain" else f", {view.kind} undone"
        reason = f"it reads like an attack on the assistant (“{_words(case.text, span)}”{hidden})"
        return self._found(best, reason, span, {"by": "classifier", "view": view.kind})

    def _most(self, reading: Reading, opens: bool = False) -> tuple[float, View, tuple[int, int]]:
        """The most suspicious form of the message, and the stretch of the original that it means."""
        assert self._classifier is not None
        found = []
        for view in reading.views[:VIEWS]:
            chance, (start, end) = suspicion(self._classifier, view.text, opens)
            chance = chance**EVASION if view.hidden else chance
            found.append((chance, view, reading.place(view, start, end)))
        return max(found, key=lambda each: each[0])

    def _opens(self, case: Case) -> bool:
        """Whether nothing was asked before, but for what was stopped; a caller may send that along."""
        if not self.reads_history:  # it was not given any
            return False
        asked = asked_in(case.history)
        return not asked or (not case.trusted and all(self._stops(text) for text in asked))

    def _stops(self, first: str) -> bool:
        reading = read(first)
        return by_rule(reading) is not None or self._most(reading, opens=True)[0] >= self._threshold

    def _leaves(self, case: Case) -> bool:
        """Whether a message has nothing to do with what was asked before."""
        if self._embedder is None:
            return False
        near = closeness(case.text, case.history[-RECENT:], self._embedder.embed_query)
        return near is not None and near < FAR

    def _found(self, score: float, reason: str, span: tuple[int, int], facts: Mapping[str, Any]) -> Finding:
        action: Action = self._action if score >= self._threshold else "warn"
        return Finding(self.name, action, score, self._threshold, reason, (Span(*span, KIND),), "found", facts=facts)


def asked_in(history: Sequence[Message]) -> list[str]:
    """What a message after these may lean on: "hi" is nothing."""
    return [each.content for each in history[-RECENT:] if each.role == "user" and asks_documents(each.content)]


def suspicion(classifier: Classifier, text: str, opens: bool = False) -> tuple[float, tuple[int, int]]:
    """What the classifier says of a text, unless it is plainly innocent by what it says."""
    attack = getattr(classifier, "opening", classifier.attack) if opens else classifier.attack
    chance, span = attack(text)
    if chance < INNOCENT:
        return chance, span
    rest = without_mentions(text)
    if is_plainly_innocent(text if rest is None else rest):
        return INNOCENT, span
    return (chance if rest is None else min(chance, attack(rest)[0])), span


def is_wish_to_be_forgotten(text: str) -> bool:
    """Whether a message says nothing but that what is remembered of the user is to be erased, in set words: that is
    theirs to ask, however much it sounds like an attack."""
    wishes = read_wishes(text)
    return wishes.only and wishes.any_forgetting and not wishes.forgets and not wishes.preferences


def by_rule(reading: Reading) -> tuple[tuple[int, int], str] | None:
    """A plain command in any form of the message, outside of quotation marks: where it stands, and what it wants."""
    for view in reading.views:
        lower = view.text.lower().replace("\n", " ")
        if not any(word in lower for rule in _RULES for word in rule.needs):
            continue
        # Quoted words are blanked out, and white space is one blank, so that places stay what they are.
        own = _QUOTED.sub(lambda quoted: " " * len(quoted[0]), view.text)
        lower = own.lower().replace("\n", " ")
        # A command may begin on a new line, or be broken over lines.
        for text in dict.fromkeys((own, own.replace("\n", " "))):
            for rule in _RULES:
                if found := rule.search(text, lower):
                    return reading.place(view, *found.span()), rule.meaning
    return None


def _words(text: str, span: tuple[int, int]) -> str:
    shown = " ".join(text[span[0] : span[1]].split()).strip(" .,:;!?")
    return shown if len(shown) <= 120 else f"{shown[:119]}…"
