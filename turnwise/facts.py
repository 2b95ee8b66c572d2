"""The facts of a turn: small values stored beside it for analytics, so that whole traces need not be read again."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from turnwise.dialogue.citing import abstains
from turnwise.dialogue.tokens import tokens
from turnwise.text import one_line, without_citations, words
from turnwise.types import Reply, Trace

FORMAT_VERSION = 1  # stored with the facts
MAX_LISTED = 8  # documents or topics per turn
MAX_QUESTION_CHARS = 200
NGRAM_WORDS = 5
MAX_EARLIER_ANSWERS = 50  # compared with for repetition
WITHOUT_MODEL = ("", "no model", "extractive")  # values of "model" for which no prompt was sent
MEANT_TO_REPEAT = ("reform", "recall", "refer_back", "social")  # intents that ask for something said before
SEVERITY = ("allow", "warn", "redact", "block")


def of_reply(reply: Reply, told: Mapping[str, Any], said: Iterable[str] = ()) -> dict[str, Any]:
    """The facts of an answered turn. `told` is its reply as `to_dict` gives it, which is costly; `said` are the earlier
    answers in its conversation, oldest first."""
    facts = of_record(told, told["sources"], "answered", reply.text)
    if reply.plan:
        where = [step.query.where.collections for step in reply.plan.steps if step.query]
        facts["collections"] = list(dict.fromkeys(name for names in where for name in names))
    if facts["intent"] not in MEANT_TO_REPEAT:
        facts["repeated"] = repeated(reply.text, list(said))
    return facts


def of_failure(error: Mapping[str, Any], trace: Trace = ()) -> dict[str, Any]:
    """The facts of a turn that ended in an error, from what its stages had decided by then."""
    record = {"trace": [dataclasses.asdict(stage) for stage in trace]}
    return of_record(record, (), "failed", error=error)


def of_record(
    record: Mapping[str, Any],
    sources: Iterable[Mapping[str, Any] | Any] = (),
    status: str = "answered",
    text: str = "",
    error: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The facts of a stored turn: its record, its sources (as values or as JSON), how it ended, its answer. What an
    earlier version did not store is left empty."""
    stages = {stage["stage"]: stage for stage in record.get("trace") or ()}
    state, follow_up = record.get("state") or {}, record.get("follow_up") or {}
    understood, condensed, retrieved = (_details(stages, name) for name in ("understand", "condense", "retrieve"))
    cited = _cited_documents(sources)
    searched = bool(retrieved.get("searches"))
    method = _decision(stages, "condense")
    model = _decision(stages, "generate")
    rails = _rails(stages)
    claims = record.get("claims") or ()
    answered = status == "answered"
    prompted = model not in WITHOUT_MODEL and "compose" in stages
    return {
        "form": FORMAT_VERSION,
        "topic": one_line(str(state.get("topic") or ""), 80),
        "topic_changed": bool(follow_up.get("topic_changed", understood.get("topic_changed", False))),
        "phase": str(state.get("phase") or ""),
        "intent": _decision(stages, "understand"),
        "language": str(understood.get("language") or ""),
        "mood": str(state.get("mood") or ""),
        "follow_up": bool(follow_up.get("is_follow_up", False)),
        "follow_up_type": str(follow_up.get("type") or ""),
        "confidence": round(float(follow_up.get("confidence", understood.get("confidence", 0.0))), 3),
        "condensed": method,
        "edited": method == "caller",
        "query": one_line(str(record.get("condensed_query") or condensed.get("query") or ""), MAX_QUESTION_CHARS),
        "searched": searched,
        "found": len(retrieved.get("found") or ()),
        "abstained": answered and searched and (abstains(text) if text else not cited),
        "cited": cited,
        "collections": [],
        "levels": _levels(state.get("knowledge") or ()),
        "repeated": None,
        "claims": len(claims),
        "borne_out": sum(bool(claim.get("supported")) for claim in claims),
        "guard": max(rails.values(), key=SEVERITY.index, default="allow"),
        "rails": rails,
        "blocked": one_line(str((error or {}).get("message") or ""), 120) if "block" in rails.values() else "",
        "error": str((error or {}).get("code") or ""),
        "ms": {name: round(float(stage.get("ms") or 0.0), 1) for name, stage in stages.items()},
        "model": model,
        "prompt_tokens": int(_details(stages, "compose").get("tokens") or 0) if prompted else 0,
        "answer_tokens": tokens(text) if text and prompted else 0,
    }


def repeated(answer: str, said: Sequence[str]) -> float | None:
    """The share of an answer's 5-grams that earlier answers contain (0 to 1), or None if there is nothing to
    compare."""
    own = _ngrams(answer)
    if not own or not said:
        return None
    before = {ngram for each in said[-MAX_EARLIER_ANSWERS:] for ngram in _ngrams(each)}
    return round(sum(ngram in before for ngram in own) / len(own), 3)


def _ngrams(text: str) -> list[tuple[str, ...]]:
    """The 5-grams of a text: of words, or of characters if its script has no spaces between words."""
    units = [word.lower() for word in words(without_citations(text))]
    if sum(map(len, units)) > 15 * len(units):
        units = [character for word in units for character in word]
    return list(zip(*(units[start:] for start in range(NGRAM_WORDS)), strict=False))


def _details(stages: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return stages.get(name, {}).get("details") or {}


def _decision(stages: Mapping[str, Any], name: str) -> str:
    decision = str(stages.get(name, {}).get("decision") or "")
    return "" if decision == "stopped" else decision


def _cited_documents(sources: Iterable[Mapping[str, Any] | Any]) -> list[list[str]]:
    """The documents behind an answer, each once: source and title."""
    found: dict[str, str] = {}
    for each in sources:
        values = each if isinstance(each, Mapping) else {"source": each.source, "title": each.title}
        found.setdefault(str(values.get("source") or ""), one_line(str(values.get("title") or ""), 80))
    return [[source, title] for source, title in found.items() if source][:MAX_LISTED]


def _levels(knowledge: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """What the user seems to know, by topic; if there are many topics, the most recent ones."""
    known = [each for each in knowledge if each.get("level") not in (None, "unknown")]
    known.sort(key=lambda each: int(each.get("turn") or 0))
    return {one_line(str(each.get("topic") or ""), 80): str(each["level"]) for each in known[-MAX_LISTED:]}


def _rails(stages: Mapping[str, Any]) -> dict[str, str]:
    """The actions of the rails that found something; the stronger one if a rail acted on both message and answer."""
    actions: dict[str, str] = {}
    for stage in ("guard in", "guard out"):
        for rail, finding in (_details(stages, stage).get("rails") or {}).items():
            action = str(finding.get("action") or "allow")
            if action in SEVERITY[1:] and SEVERITY.index(action) > SEVERITY.index(actions.get(rail, "allow")):
                actions[rail] = action
    return actions
