"""How well the rails tell attacks from what people ask: in one message, over a conversation, in documents, in answers.

Everything is judged through the pipeline's public calls at the thresholds of its preset; a text counts as caught where
the pipeline would act on it."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from turnwise.conversation import Conversation
from turnwise.errors import InputError
from turnwise.evaluation import data
from turnwise.evaluation.data import Dialogue, Judged
from turnwise.evaluation.metrics import Tally, auc, mean, percentile
from turnwise.evaluation.obfuscate import OBFUSCATIONS
from turnwise.evaluation.suites import Progress, chosen, watched
from turnwise.guard.pipeline import GuardrailPipeline
from turnwise.text import sentences
from turnwise.turn.verify import verify
from turnwise.types import Embedder, Source

FALSE_ALARMS = 0.01  # of each benign family, at the threshold that families are compared at
OBFUSCATED = 160  # attacks that are tried in every disguise
DISGUISES = "obfuscation"
STRUCTURED = {
    "EMAIL_ADDRESS": "e-mail",
    "PHONE_NUMBER": "phone",
    "CREDIT_CARD": "card",
    "IBAN_CODE": "IBAN",
    "IP_ADDRESS": "IP",
    "US_SSN": "SSN",
}

T = TypeVar("T")
Key = TypeVar("Key", bound=Hashable)
Figures = dict[str, Any]


def guard(
    folder: Path, only: tuple[str, ...], progress: Progress, pipeline: GuardrailPipeline, embedder: Embedder | None
) -> dict[str, Figures]:
    """The figures by file, and beside them what each disguise of an attack costs in recall."""
    files = data.guarded(folder)
    measures: dict[str, Callable[[Iterable[Any]], Figures]] = {
        "message": lambda rows: messages(rows, pipeline),
        "composed": lambda rows: composed(rows, pipeline),
        "dialogue": lambda rows: dialogues(rows, pipeline),
        "passage": lambda rows: passages(rows, pipeline),
        "leak": lambda rows: leaks(rows, pipeline),
        "pii": lambda rows: private(rows, pipeline),
        "grounding": lambda rows: grounded(rows, embedder),
    }

    def measured(name: str) -> Figures:
        path, kind = files[name]
        rows: Sequence[Any] = data.dialogues(path) if kind in ("composed", "dialogue") else data.judged(path)
        return measures[kind](watched(rows, name, progress))

    runs: dict[str, Callable[[], Figures]] = {name: partial(measured, name) for name in files}
    attacks = next((path for path, kind in files.values() if kind == "message"), None)
    if attacks:
        runs[DISGUISES] = lambda: disguised(data.judged(attacks), pipeline, progress)
    return {name: run() for name, run in chosen(runs, only).items()}


# --- one message -------------------------------------------------------------------------------------------------


def messages(rows: Iterable[Judged], pipeline: GuardrailPipeline) -> Figures:
    """Recall by family of attack, false alarms by family of benign messages, and the time a check takes."""
    seen: list[tuple[Judged, bool, float]] = []
    milliseconds = []
    for row in rows:
        started = time.perf_counter()
        stopped, score = _judged(pipeline, row.text)
        milliseconds.append(1000 * (time.perf_counter() - started))
        seen.append((row, stopped, score))
    attacks = [(row, stopped) for row, stopped, _ in seen if row.label]
    benign = [(row, stopped) for row, stopped, _ in seen if not row.label]
    threshold = _threshold([(row.source, score) for row, _, score in seen if not row.label])
    above = [(row, score > threshold) for row, _, score in seen if row.label]
    return {
        "n": len(seen),
        **_recalls(attacks),
        "false_positive_rate": _shares((row.source, stopped) for row, stopped in benign),
        "recall_by_language": _shares((row.language, stopped) for row, stopped in attacks if row.language),
        "at_1_percent": {"threshold": threshold, **_recalls(above)},
        "p50_ms": percentile(milliseconds, 50),
        "p95_ms": percentile(milliseconds, 95),
    }


def _judged(pipeline: GuardrailPipeline, text: str) -> tuple[bool, float]:
    """Whether a message is stopped, and how sure the injection rail is; one that is refused unread is stopped too."""
    try:
        result = pipeline.check_input(text)
    except InputError:
        return True, 1.0
    found = result.details.get("injection")
    return result.blocked, found.score if found else 0.0


def _threshold(scores: Iterable[tuple[str, float]]) -> float:
    """The lowest score above which no benign family has more than its share of false alarms."""
    ranked = {family: sorted(each, reverse=True) for family, each in _grouped(scores).items()}
    return max((each[int(FALSE_ALARMS * len(each))] for each in ranked.values()), default=0.0)


def _recalls(attacks: Sequence[tuple[Judged, bool]]) -> Figures:
    """Recall by family and its mean over families; those with a language named are the multilingual ones."""
    families = _shares((row.source, stopped) for row, stopped in attacks)
    multilingual = {row.source for row, _ in attacks if row.language}
    return {
        "recall": families,
        "macro_recall": mean(families.values()),
        "macro_recall_english": mean(share for family, share in families.items() if family not in multilingual),
        "macro_recall_multilingual": mean(share for family, share in families.items() if family in multilingual),
    }


def disguised(rows: Sequence[Judged], pipeline: GuardrailPipeline, progress: Progress) -> Figures:
    """Of attacks that are stopped as they stand, the points of recall lost in each disguise. They are taken evenly from
    the whole file."""
    attacks = [row.text for row in rows if row.label]
    tried = attacks[:: max(1, len(attacks) // OBFUSCATED)]
    plain = [text for text in watched(tried, f"{DISGUISES}: none", progress) if _judged(pipeline, text)[0]]
    lost: Figures = {}
    for name, hide in OBFUSCATIONS.items():
        stopped = [_judged(pipeline, hide(text))[0] for text in watched(plain, f"{DISGUISES}: {name}", progress)]
        lost[name] = 100 * (1 - mean(map(float, stopped))) if stopped else 0.0
    return {"n": len(plain), "points_lost": lost, "most_points_lost": max(lost.values(), default=0.0)}


# --- conversations -----------------------------------------------------------------------------------------------


def composed(rows: Iterable[Dialogue], pipeline: GuardrailPipeline) -> Figures:
    """Attacks spread over a conversation: stopped where the attack comes or later, and the same message alone."""
    together, alone, early = [], [], []
    for row in rows:
        at = min(row.attack_turn, row.last)
        stopped = stopped_at(row, pipeline)
        together.append((row.source, any(place >= at for place in stopped)))
        early.append(any(place < at for place in stopped))
        alone.append((row.source, _judged(pipeline, row.turns[row.last].content)[0]))
    return {
        "n": len(together),
        "recall": mean(float(caught) for _, caught in together),
        "recall_last_message_only": mean(float(caught) for _, caught in alone),
        "blocked_before_the_attack": mean(map(float, early)),
        "by_source": {
            source: {"recall": share, "recall_last_message_only": _shares(alone)[source]}
            for source, share in _shares(together).items()
        },
    }


def dialogues(rows: Iterable[Dialogue], pipeline: GuardrailPipeline) -> Figures:
    """The share of conversations in which a message is blocked. Where some ask for harm, also by label and source, and
    with every message judged as if it were the first."""
    together, alone = [], []
    for row in rows:
        together.append((row, bool(stopped_at(row, pipeline))))
        if row.label:
            said = (turn.content for turn in row.turns if turn.role == "user")
            alone.append((row, any(_judged(pipeline, text)[0] for text in said)))
    harmful = [(row, blocked) for row, blocked in together if row.label]
    benign = [(row, blocked) for row, blocked in together if not row.label]
    figures: Figures = {"n": len(together)}
    if benign:
        figures["blocked_rate"] = mean(float(blocked) for _, blocked in benign)
        figures["blocked_rate_by_source"] = _shares((row.source, blocked) for row, blocked in benign)
    if harmful:
        without = _shares((row.source, blocked) for row, blocked in alone)
        figures["harmful_blocked_with_history"] = mean(float(blocked) for _, blocked in harmful)
        figures["harmful_blocked_without_history"] = mean(float(blocked) for _, blocked in alone)
        figures["by_source"] = {
            source: {"with_history": share, "without_history": without[source]}
            for source, share in _shares((row.source, blocked) for row, blocked in harmful).items()
        }
    return figures


def stopped_at(row: Dialogue, pipeline: GuardrailPipeline) -> list[int]:
    """The places of the messages that are blocked when a conversation is held turn by turn, its replies recorded."""
    conversation, stopped = Conversation(), []
    for place, turn in enumerate(row.turns):
        waits = bool(conversation.turns) and conversation.turns[-1].status == "pending"
        if turn.role == "user":
            if waits:
                conversation.add_response("")  # nobody answered, but it was said
            if _blocked(pipeline, turn.content, conversation):
                stopped.append(place)
        elif waits:
            conversation.add_response(turn.content)
    return stopped


def _blocked(pipeline: GuardrailPipeline, text: str, conversation: Conversation) -> bool:
    try:
        return pipeline.check_input(text, conversation).blocked
    except InputError:
        return True


# --- documents and answers ---------------------------------------------------------------------------------------


def passages(rows: Iterable[Judged], pipeline: GuardrailPipeline) -> Figures:
    """Passages with an instruction to the assistant hidden in them that are flagged, and clean ones that are."""
    seen = [(row, pipeline.check_passage(row.text).action != "allow") for row in rows]
    planted = [(row, flagged) for row, flagged in seen if row.label]
    clean = [(row, flagged) for row, flagged in seen if not row.label]
    return {
        "n": len(seen),
        "recall": mean(float(flagged) for _, flagged in planted),
        "false_positive_rate": mean(float(flagged) for _, flagged in clean),
        "recall_by_source": _shares((row.source, flagged) for row, flagged in planted),
        "recall_by_position": _shares((row.position, flagged) for row, flagged in planted if row.position),
        "false_positive_rate_by_source": _shares((row.source, flagged) for row, flagged in clean),
    }


def leaks(rows: Iterable[Judged], pipeline: GuardrailPipeline) -> Figures:
    """Answers that give a secret away and are acted on, and answers that do not and are: by what the pipeline does
    where it knows the secret and does not where it knows of none."""
    seen = []
    for row in rows:
        told, untold = pipeline.check_output(row.text, canaries=(row.secret,)), pipeline.check_output(row.text)
        seen.append((row, (told.action, told.sanitized) != (untold.action, untold.sanitized)))
    return {
        "n": len(seen),
        "recall": mean(float(found) for row, found in seen if row.label),
        "false_positive_rate": mean(float(found) for row, found in seen if not row.label),
    }


def private(rows: Iterable[Judged], pipeline: GuardrailPipeline) -> Figures:
    """Recall of structured personal data by kind, a hit being any overlap, and how much of what is found is labelled as
    something personal."""
    hits: dict[str, list[bool]] = defaultdict(list)
    found = Tally()
    count = 0
    for row in rows:
        count += 1
        details = pipeline.check_output(row.text).details
        spans = [(span.start, span.end) for span in details["pii"].spans] if "pii" in details else []
        for kind, start, end in row.spans:
            if kind in STRUCTURED:
                hits[STRUCTURED[kind]].append(_overlaps((start, end), spans))
        labelled = [(start, end) for _, start, end in row.spans]
        found += Tally(sum(_overlaps(span, labelled) for span in spans), len(spans))
    recalls = {kind: mean(map(float, hits[kind])) for kind in STRUCTURED.values() if kind in hits}
    return {"n": count, "recall": recalls, "macro_recall": mean(recalls.values()), "precision": found.precision}


def grounded(rows: Iterable[Judged], embedder: Embedder | None) -> Figures:
    """How well the check of an answer against its passage tells ungrounded answers from grounded ones."""
    seen = []
    for row in rows:
        passage = Source(1, 1, "", "", "", None, row.context, "")
        claims = verify(" ".join(f"{each} [1]" for each in sentences(row.text)), (passage,), (), embedder)
        doubt = 1 - min((claim.score for claim in claims), default=1.0)
        seen.append((row, doubt, not all(claim.supported for claim in claims)))
    return {
        "n": len(seen),
        "auc": auc([doubt for _, doubt, _ in seen], [bool(row.label) for row, _, _ in seen]),
        "ungrounded_marked": mean(float(marked) for row, _, marked in seen if row.label),
        "grounded_marked": mean(float(marked) for row, _, marked in seen if not row.label),
    }


def _overlaps(span: tuple[int, int], others: Iterable[tuple[int, int]]) -> bool:
    return any(start < span[1] and span[0] < end for start, end in others)


def _shares(judged: Iterable[tuple[str, bool]]) -> dict[str, float]:
    """The share of what was acted on, by group."""
    return {group: mean(map(float, each)) for group, each in sorted(_grouped(judged).items())}


def _grouped(pairs: Iterable[tuple[Key, T]]) -> Mapping[Key, list[T]]:
    groups: dict[Key, list[T]] = defaultdict(list)
    for group, value in pairs:
        groups[group].append(value)
    return groups
