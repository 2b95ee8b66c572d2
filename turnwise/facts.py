"""What is counted of a turn: small values that are kept beside it, so that nobody has to read whole traces again."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from turnwise.dialogue.citing import abstains
from turnwise.dialogue.tokens import tokens
from turnwise.text import one_line, without_citations, words
from turnwise.types import Reply, Trace

FORM = 1  # of these values; kept with them
MOST = 8  # documents and topics that are kept of a turn
LONGEST = 200  # characters of a question
RUN = 5  # words in a row that tell whether something was said before
RECENT = 50  # earlier answers that are looked at
QUOTING = ("", "no model", "extractive")  # speakers that are sent nothing
ON_PURPOSE = ("reform", "recall", "refer_back", "social")  # what is asked for again is no repetition
SEVERITY = ("allow", "warn", "redact", "block")


def of_reply(reply: Reply, said: Iterable[str] = ()) -> dict[str, Any]:
    """What is counted of an answered turn. `said` are the earlier answers of its conversation, oldest first."""
    record = {**reply.to_dict(), "text": "", "sources": ()}
    facts = of_record(record, [dataclasses.asdict(each) for each in reply.sources], "answered", reply.text)
    if reply.plan:
        where = [step.query.where.collections for step in reply.plan.steps if step.query]
        facts["collections"] = list(dict.fromkeys(name for names in where for name in names))
    if facts["intent"] not in ON_PURPOSE:
        facts["repeated"] = repeated(reply.text, list(said))
    return facts


def of_failure(error: Mapping[str, Any], trace: Trace = ()) -> dict[str, Any]:
    """What is counted of a turn that ended in an error, from what its stages had decided by then."""
    record = {"trace": [dataclasses.asdict(stage) for stage in trace]}
    return of_record(record, (), "failed", error=error)


def of_record(
    record: Mapping[str, Any],
    sources: Iterable[Mapping[str, Any] | Any] = (),
    status: str = "answered",
    text: str = "",
    error: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The same of a turn that was kept: its record, its sources (as values or as JSON), how it ended, its answer. What
    an earlier version did not keep is left empty."""
    stages = {stage["stage"]: stage for stage in record.get("trace") or ()}
    state, follow_up = record.get("state") or {}, record.get("follow_up") or {}
    understood, condensed, retrieved = (_details(stages, name) for name in ("understand", "condense", "retrieve"))
    cited = _cited(sources)
    searched = bool(retrieved.get("searches"))
    method = _decision(stages, "condense")
    model = _decision(stages, "generate")
    rails = _rails(stages)
    claims = record.get("claims") or ()
    answered = status == "answered"
    prompted = model not in QUOTING and "compose" in stages
    return {
        "form": FORM,
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
        "query": one_line(str(record.get("condensed_query") or condensed.get("query") or ""), LONGEST),
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
    """How much of an answer was said before (0 to 1), by its runs of five words; None where there is nothing to
    compare."""
    own = _runs(answer)
    if not own or not said:
        return None
    before = {run for each in said[-RECENT:] for run in _runs(each)}
    return round(sum(run in before for run in own) / len(own), 3)


def _runs(text: str) -> list[tuple[str, ...]]:
    """Five words in a row, from each word on; characters, where a text puts no spaces between words."""
    told = [word.lower() for word in words(without_citations(text))]
    if sum(map(len, told)) > 15 * len(told):
        told = [character for word in told for character in word]
    return list(zip(*(told[start:] for start in range(RUN)), strict=False))


def _details(stages: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return stages.get(name, {}).get("details") or {}


def _decision(stages: Mapping[str, Any], name: str) -> str:
    decision = str(stages.get(name, {}).get("decision") or "")
    return "" if decision == "stopped" else decision


def _cited(sources: Iterable[Mapping[str, Any] | Any]) -> list[list[str]]:
    """The documents behind an answer, each once: source and title."""
    found: dict[str, str] = {}
    for each in sources:
        values = each if isinstance(each, Mapping) else {"source": each.source, "title": each.title}
        found.setdefault(str(values.get("source") or ""), one_line(str(values.get("title") or ""), 80))
    return [[source, title] for source, title in found.items() if source][:MOST]


def _levels(knowledge: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """What the user seems to know, by topic; the topics last spoken of, where there are many."""
    known = [each for each in knowledge if each.get("level") not in (None, "unknown")]
    known.sort(key=lambda each: int(each.get("turn") or 0))
    return {one_line(str(each.get("topic") or ""), 80): str(each["level"]) for each in known[-MOST:]}


def _rails(stages: Mapping[str, Any]) -> dict[str, str]:
    """What the rails did that found something, the stronger action where one judged both message and answer."""
    done: dict[str, str] = {}
    for stage in ("guard in", "guard out"):
        for rail, finding in (_details(stages, stage).get("rails") or {}).items():
            action = str(finding.get("action") or "allow")
            if action in SEVERITY[1:] and SEVERITY.index(action) > SEVERITY.index(done.get(rail, "allow")):
                done[rail] = action
    return done
