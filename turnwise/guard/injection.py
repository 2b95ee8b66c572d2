"""The injection rail: commands to drop the instructions, to act without rules, or to reveal what is hidden. Rules catch
the plain ones, a trained classifier the rest. Quoting an attack or asking about one passes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from turnwise.dialogue.follow_up import FollowUpContext, closeness, read_follow_up
from turnwise.dialogue.intent import asks_documents
from turnwise.dialogue.language import conversation_language, read_language
from turnwise.dialogue.wishes import read_wishes
from turnwise.english import FEW_WORDS_CHARS, is_foreign
from turnwise.guard.innocence import (
    asks_about_assistant,
    asks_for_rules,
    has_english_words,
    is_plainly_innocent,
    without_mentions,
)
from turnwise.guard.reading import TextReading, View, read
from turnwise.guard.verdict import Action, Case, Fails, Finding, Span
from turnwise.guard.vocabulary import DOTTED_I, lower_ascii
from turnwise.text import positions_of
from turnwise.types import Embedder, Message

MAX_VIEWS = 6  # forms of a message that the classifier reads: as it is, and with disguises undone
DISGUISE_EXPONENT = 0.5  # raises the score of disguised text: honest messages do not need to hide their words
RULE_SCORE = 0.99
# Cap for a text that cannot be an attack. It is below the thresholds of all presets, but in disguised text it is raised
# to 0.45, from which strict (0.35) acts.
MAX_INNOCENT_SCORE = 0.2
DEFAULT_THRESHOLD = 0.5
RECENT_MESSAGES = 20  # a message may refer to this many before it
MIN_CLOSENESS = 0.5  # below this, a message does not refer to them; 90 % of those that do are above it
SPAN_KIND = "an attack on the assistant"

# Starts with the rarest character, so that a long text is scanned quickly.
_QUOTED = re.compile(
    r"[\"“«„'‘`](?:(?<=[\"“«„])[^\"”»“]{0,400}[\"”»“]|(?<=['‘])(?<!\w.)[^'’]{0,400}['’](?!\w)|(?<=`)[^`]{0,400}`)"
)
_BEGINS = r"(?:^|[.!?:;,\n] ?|\b(?:please|now|just|then|you (?:must|should|will|can)|you to|let['’]s) )"
_EARLIER = r"(?:previous|prior|above|earlier|preceding)"
_OWN = (
    r"your (?:(?:own|safety|content|system|internal|ethical|moral|usual) ){0,2}"
    r"(?:instructions|guidelines|rules|programming|training|filters?|restrictions|safeguards|guardrails|polic(?:y|ies))"
)
_ELSEWHERE = r"(?! (?:on|for|about|regarding|of|in|at|from|to)\b)"  # "rules for something" are not the assistant's own
# Not a single message: people write "please ignore the previous message" after a slip.
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
    # the system prompt of a paper or a machine is not this assistant's
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

# Harmless within a conversation. Before one has started, the assistant's first words are the hidden prompt.
_FIRST_WORDS = re.compile(
    r"(?:please )?(?:repeat|print|show|output|tell|give|say) (?:me |us )?(?:your|the) (?:very )?first "
    r"(?:message|words|line|sentence)(?:,? (?:again|please|word for word|verbatim|exactly))*[.!]?",
    re.I,
)

# What no answer tells, in the languages whose phrases we know.
_NEVER_TOLD = re.compile(
    r"\byour\b|prompt|instru|anweis|consigne|r[eè]g[el]|regra|\brule|guid|polic|filter|restrict|s[iy]st[eè]m|jailb"
    r"|hidden|secret|segred|geheim|confiden|提示|指令|指示|规则|規則|ルール|秘密|暗号|合言葉",
    re.I,
)


class _Rule(NamedTuple):
    """A pattern, what it means, words of which every match contains one, a pattern that is in every match too (in lower
    case, on one line), and how far from that word a match may start and end."""

    pattern: re.Pattern[str]
    meaning: str
    needs: tuple[str, ...]
    contains: re.Pattern[str]
    before: int
    after: int

    def stretches(self, lower: str) -> list[tuple[int, int]]:
        """The bounds of the text around the needed words, in which every match is. `lower` is the text in lower case,
        on one line."""
        merged: list[tuple[int, int]] = []
        for place in sorted({place for word in self.needs for place in positions_of(lower, word)}):
            start = max(0, place - self.before)
            if merged and start <= merged[-1][1]:
                start, _ = merged.pop()
            merged.append((start, place + self.after))
        return merged

    def search(self, text: str, lower: str) -> re.Match[str] | None:
        """The first match. For speed, only the text around the needed words is searched."""
        stretches = self.stretches(lower)
        if DOTTED_I in text:
            return self.pattern.search(text) if stretches else None
        return next(filter(None, (self.pattern.search(text, *bounds) for bounds in stretches)), None)


_RULES = (
    _Rule(
        _COMMAND,
        "asks to drop the instructions",
        ("ignore", "disregard", "forget", "override", "bypass"),
        re.compile(
            "instruction|prompt|rule|direction|guideline|message|programming|training|filter|restriction|safeguard"
            "|guardrail|polic"
        ),
        before=20,
        after=200,
    ),
    _Rule(
        _LEAK,
        "asks for the hidden instructions",
        ("system prompt", "system message", "initial instructions", "hidden instructions"),
        re.compile("your|the"),
        before=200,
        after=40,
    ),
    _Rule(
        _FREED,
        "says that no rules apply",
        (" bound by", "to follow", "to obey", "jailbreak mode", "dan mode", "god mode", "ed mode"),
        re.compile(r"bound by|(?:have|need) to |mode\b"),
        before=60,
        after=80,
    ),
)

_TAKEN_FOR_ASCII = f"{DOTTED_I}ıſ"  # by patterns that ignore case


class Classifier(Protocol):
    """Scores a text: how likely it is an attack, from 0 to 1, and the stretch that looks most like one. It may also
    have an `opening(text)`: the same for a text that opens a conversation, so that it refers to nothing before it."""

    def attack(self, text: str) -> tuple[float, tuple[int, int]]: ...


class InjectionRail:
    """Judges a message on its own, in every form it can be read in. Within a conversation the rail must be surer,
    because people ask for names, numbers and changes in a few words that refer to earlier messages. A message that is
    unrelated in meaning to the earlier ones is judged like the first of a conversation."""

    name = "injection"

    def __init__(
        self, options: Mapping[str, Any], classifier: Classifier | None = None, embedder: Embedder | None = None
    ) -> None:
        self.fails: Fails = options.get("fails", "open")
        self._action = options.get("action", "block")
        self.reads_history = self._action != "redact"  # redactions must be known before anything is stored
        self._threshold = float(options.get("threshold", DEFAULT_THRESHOLD))
        self._warn = float(options.get("warn", self._threshold))
        self._classifier = classifier
        self._embedder = embedder

    def check(self, case: Case) -> Finding:
        reading = case.reading
        match = match_rule(reading)
        if match is None and self.reads_history and not case.history and _FIRST_WORDS.fullmatch(reading.plain.strip()):
            match = (0, len(case.text)), "asks for the text before the conversation"
        if match is not None:
            span, meaning = match
            reason = f"“{_excerpt(case.text, span)}” {meaning}"
            return self._finding(RULE_SCORE, reason, span, {"by": "rule"})
        harmless = is_wish_to_be_forgotten(case.text) or _asks_for_house_rules(case) or _is_about_answer(case)
        if self._classifier is None or harmless:
            return Finding(self.name, "allow", 0.0, self._threshold, "nothing found")
        best, view, span = self._most_suspicious(reading)
        if best < self._threshold:
            opening = self._most_suspicious(reading, opens=True)
            if opening[0] >= self._threshold and (self._opens(case) or self._is_unrelated(case)):
                best, view, span = opening
        if best < self._warn:
            return Finding(self.name, "allow", best, self._threshold, "nothing found")
        hidden = "" if view.kind == "plain" else f", {view.kind} undone"
        reason = f"it reads like an attack on the assistant (“{_excerpt(case.text, span)}”{hidden})"
        return self._finding(best, reason, span, {"by": "classifier", "view": view.kind})

    def _most_suspicious(self, reading: TextReading, opens: bool = False) -> tuple[float, View, tuple[int, int]]:
        """The highest score of any form of the message, that form, and the suspicious stretch in the original."""
        assert self._classifier is not None
        scored = []
        for view in reading.views[:MAX_VIEWS]:
            score, (start, end) = suspicion(self._classifier, view.text, opens and _can_open(view.text))
            score = score**DISGUISE_EXPONENT if view.hidden else score
            scored.append((score, view, reading.place(view, start, end)))
        return max(scored, key=lambda each: each[0])

    def _opens(self, case: Case) -> bool:
        """Whether nothing was asked before. A caller's history may include messages that were stopped; those do not
        count."""
        if not self.reads_history:  # no history was passed
            return False
        asked = questions_in(case.history)
        return not asked or (not case.trusted and all(self._stops(text) for text in asked))

    def _stops(self, opening: str) -> bool:
        reading = read(opening)
        return match_rule(reading) is not None or self._most_suspicious(reading, opens=True)[0] >= self._threshold

    def _is_unrelated(self, case: Case) -> bool:
        """Whether a message has nothing to do with what was asked before, by its meaning and, if it has few words, by
        those: "is it secret" says too little to compare."""
        recent = case.history[-RECENT_MESSAGES:]
        if self._embedder is None or (len(case.text) <= FEW_WORDS_CHARS and _points_back(case.text, recent)):
            return False
        near = closeness(case.text, recent, self._embedder.embed_query)
        return near is not None and near < MIN_CLOSENESS

    def _finding(self, score: float, reason: str, span: tuple[int, int], facts: Mapping[str, Any]) -> Finding:
        action: Action = self._action if score >= self._threshold else "warn"
        spans = (Span(*span, SPAN_KIND),)
        return Finding(self.name, action, score, self._threshold, reason, spans, "found", facts=facts)


def questions_in(history: Sequence[Message]) -> list[str]:
    """The recent user messages that a later one may refer to; a greeting is not one."""
    recent = history[-RECENT_MESSAGES:]
    language = conversation_language(recent)
    return [each.content for each in recent if each.role == "user" and asks_documents(each.content, language)]


def suspicion(classifier: Classifier, text: str, opens: bool = False) -> tuple[float, tuple[int, int]]:
    """The classifier's score of a text, capped if the text is plainly innocent."""
    attack = getattr(classifier, "opening", classifier.attack) if opens else classifier.attack
    score, span = attack(text)
    if score < MAX_INNOCENT_SCORE:
        return score, span
    rest = without_mentions(text)
    if is_plainly_innocent(text if rest is None else rest):
        return MAX_INNOCENT_SCORE, span
    return (score if rest is None else min(score, attack(rest)[0])), span


def _can_open(text: str) -> bool:
    """Whether a message may be judged as one that opens a conversation: not a few words that are neither English nor
    clearly of another language, since the network for English reads those."""
    if len(text) > FEW_WORDS_CHARS or is_foreign(text):
        return True
    return read_language(text, default="") == "en" or has_english_words(text)


def _points_back(text: str, recent: Sequence[Message]) -> bool:
    return read_follow_up(text, recent, FollowUpContext(language=conversation_language(recent))).type == "pattern"


def _is_about_answer(case: Case) -> bool:
    """Whether a message only asks for the last answer in another form, or goes on from it: "once more, shorter", "still
    no key". What it asks for was said already, unless it names what nobody is told or hides some of its words."""
    answered = any(each.role == "assistant" for each in case.history)
    if not answered or _NEVER_TOLD.search(case.text) or any(view.hidden for view in case.reading.views):
        return False
    return not asks_documents(case.text, conversation_language(case.history))


def _asks_for_house_rules(case: Case) -> bool:
    """Whether a message asks "what are your rules?" and may mean those of a place: not after a question about the
    assistant, and only as it was typed, not in disguise."""
    earlier = [each.content for each in case.history if each.role == "user"]
    return asks_for_rules(case.text) and not any(map(asks_about_assistant, earlier))


def is_wish_to_be_forgotten(text: str) -> bool:
    """Whether a message only asks, in set phrases, to erase what is remembered about the user. They may ask for that,
    however much it sounds like an attack."""
    wishes = read_wishes(text)
    return wishes.only and wishes.any_forgetting and not wishes.forgets and not wishes.preferences


def match_rule(reading: TextReading) -> tuple[tuple[int, int], str] | None:
    """The first plain command in any form of the message, outside quotation marks: its span in the original, and what
    it asks for."""
    for view in reading.views:
        if not _may_match(view.text):
            continue
        # Quotations become spaces of the same length, so that positions do not change.
        own = _QUOTED.sub(lambda quoted: " " * len(quoted[0]), view.text)
        lower = lower_ascii(own).replace("\n", " ")
        # A command may start on a new line, or be broken across lines.
        for text in dict.fromkeys((own, own.replace("\n", " "))):
            for rule in _RULES:
                if found := rule.search(text, lower):
                    return reading.place(view, *found.span()), rule.meaning
    return None


def _may_match(text: str) -> bool:
    """Whether a rule may match: one of the words that it needs is near what else is in every match."""
    lower = lower_ascii(text).replace("\n", " ")
    near = [(rule, bounds) for rule in _RULES for bounds in rule.stretches(lower)]
    if any(each in text for each in _TAKEN_FOR_ASCII):
        return bool(near)
    return any(rule.contains.search(lower, *bounds) for rule, bounds in near)


def _excerpt(text: str, span: tuple[int, int]) -> str:
    excerpt = " ".join(text[span[0] : span[1]].split()).strip(" .,:;!?")
    return excerpt if len(excerpt) <= 120 else f"{excerpt[:119]}…"
