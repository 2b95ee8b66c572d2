"""What a test can expect of a turn, what was observed, and how the two are compared."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from turnwise.dialogue.citing import abstains
from turnwise.evaluation.metrics import repeats
from turnwise.types import Failed, Reply, Trace

TITLES = "titles"  # the cited titles: observed, and written by `--update` as `cites`
_NUMBER = re.compile(r"\s*(<=|>=|<|>|=)?\s*(\d*\.?\d+)\s*(ms|s|%)?\s*")
_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
}
_UNITS = {"": 1.0, "ms": 1.0, "s": 1000.0, "%": 0.01}


@dataclass(frozen=True, slots=True)
class Check:
    """One expectation of a turn: its name and the expected value, both as written in the file."""

    name: str
    value: Any

    def holds(self, seen: Mapping[str, Any]) -> bool:
        return KINDS[self.name].holds(seen[self.name], self.value)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of expectation: which values are valid for it, and when what was seen meets them."""

    is_valid: Callable[[Any], bool]
    holds: Callable[[Any, Any], bool]
    form: str  # describes valid values, for error messages


def check_of(name: str, value: Any) -> Check:
    """An expectation as a check. Raises ValueError if there is none of that name, or its value is not valid."""
    if name not in KINDS:
        raise ValueError(f"there is no expectation `{name}`; use one of {', '.join(KINDS)}")
    if not KINDS[name].is_valid(value):
        raise ValueError(f"`{name}` should be {KINDS[name].form}, not {value!r}")
    return Check(name, value)


def observed(end: Reply | Failed, earlier: Iterable[str]) -> dict[str, Any]:
    """What was seen of a turn, by the names used in expectations."""
    trace = end.trace
    blocked = _blocking(trace) if isinstance(end, Failed) and end.error["code"].endswith("Blocked") else []
    seen: dict[str, Any] = dict.fromkeys(KINDS)
    seen |= {"latency": sum(stage.ms for stage in trace), "blocked": blocked}
    if isinstance(end, Failed):
        return {
            **seen,
            "error": end.error["code"],
            "answer": "",
            "searched": [],
            "cites": [],
            TITLES: [],
            "suggests": [],
        }
    return {
        **seen,
        "error": "",
        "follow_up": end.follow_up.is_follow_up,
        "follow_up_type": end.follow_up.type,
        "confidence": end.follow_up.confidence,
        "topic_changed": end.follow_up.topic_changed,
        "condensed": end.condensed_query,
        "searched": _details(trace, "retrieve").get("searches", []),
        "cites": list(dict.fromkeys(name for each in end.sources for name in (each.title, each.source))),
        TITLES: list(dict.fromkeys(each.title for each in end.sources)),
        "answer": end.text,
        "answers": not abstains(end.text),
        "repeats": repeats(end.text, earlier),
        "phase": str(end.state.phase),
        "topic": end.state.topic,
        "topics": list(end.state.topics),
        "knowledge": {each.topic: each.level for each in end.state.knowledge},
        "mood": end.state.mood,
        "intent": _decision(trace, "understand"),
        "tools": [step.tool for step in end.plan.steps if step.tool not in ("answer", "say")] if end.plan else [],
        "suggests": list(end.suggestions),
        "notice": end.notice,
    }


def _details(trace: Trace, name: str) -> dict[str, Any]:
    return next((stage.details for stage in trace if stage.stage == name), {})


def _decision(trace: Trace, name: str) -> str:
    return next((stage.decision for stage in trace if stage.stage == name), "")


def _blocking(trace: Trace) -> list[str]:
    """The rails that blocked a turn."""
    findings = [_details(trace, stage).get("rails", {}) for stage in ("guard in", "guard out")]
    rails = [name for found in findings for name, finding in found.items() if finding["action"] == "block"]
    return rails or ["a rail"]


# --- comparing what was seen with what is expected -----------------------------------------------------------------


def _text(seen: str | None, wanted: Any, default_way: str) -> bool:
    """Compare a text with a plain value, or in named ways: {contains: …, matches: …, not_contains: …}."""
    if not isinstance(wanted, Mapping):
        wanted = {default_way: wanted}
    text = seen or ""
    return seen is not None and all(_WAYS[way](text, each) for way, each in wanted.items())


def _fold(text: str) -> str:
    return " ".join(text.casefold().split())


def _contains(text: str, wanted: Any) -> bool:
    return all(_fold(each) in _fold(text) for each in _as_list(wanted))


_WAYS: dict[str, Callable[[str, Any], bool]] = {
    "equals": lambda text, wanted: text == wanted,
    "contains": _contains,
    "not_contains": lambda text, wanted: not any(_contains(text, each) for each in _as_list(wanted)),
    "any_of": lambda text, wanted: any(_contains(text, each) for each in _as_list(wanted)),
    "matches": lambda text, wanted: re.search(wanted, text) is not None,
}


def _is_text(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return isinstance(value, str) or _is_texts(value)
    if not value or not all(way in _WAYS and (isinstance(each, str) or _is_texts(each)) for way, each in value.items()):
        return False
    try:
        re.compile(value.get("matches", ""))
    except (re.error, TypeError):
        return False
    return True


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else [value]


def _searched(seen: list[str], wanted: Any) -> bool:
    """Whether there was any search, or whether each of these was searched for."""
    if isinstance(wanted, bool):
        return bool(seen) == wanted
    return all(any(_contains(search, each) for search in seen) for each in _as_list(wanted))


def _cites(seen: list[str], wanted: Any) -> bool:
    """Whether each of these documents is cited, by title, path or end of path; or whether any is cited at all."""
    if isinstance(wanted, bool):
        return bool(seen) == wanted
    names = {_fold(name) for each in seen for name in (each, PurePath(each).name, PurePath(each).stem)}
    return all(_fold(each) in names or any(path.endswith(f"/{each}") for path in seen) for each in _as_list(wanted))


def _contains_names(seen: list[str], wanted: Any) -> bool:
    """Whether all of these names were seen, or whether any was seen at all."""
    if isinstance(wanted, bool):
        return bool(seen) == wanted
    names = {_fold(each) for each in seen}
    return all(_fold(each) in names for each in _as_list(wanted))


def _number(seen: float | None, wanted: Any) -> bool:
    match = _NUMBER.fullmatch(str(wanted))
    if seen is None or match is None:
        return False
    sign, value, unit = match[1] or "=", float(match[2]), match[3] or ""
    return _COMPARISONS[sign](round(seen, 6), value * _UNITS[unit])


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_names(value: Any) -> bool:
    return isinstance(value, str | bool) or _is_texts(value)


def _is_number(value: Any) -> bool:
    return not isinstance(value, bool) and _NUMBER.fullmatch(str(value)) is not None


def _same(seen: Any, wanted: Any) -> bool:
    return bool(seen == wanted)


def _includes(seen: dict[str, str] | None, wanted: Mapping[str, str]) -> bool:
    return seen is not None and all(seen.get(topic) == level for topic, level in wanted.items())


_FLAG = Kind(_is_flag, _same, "true or false")
_WORD = Kind(_is_text, lambda seen, wanted: _text(seen, wanted, "equals"), "a text, or {contains: …, matches: …}")
_WORDS = Kind(_is_text, lambda seen, wanted: _text(seen, wanted, "contains"), "words in it, or {not_contains: …}")
_NAMES = Kind(_is_names, _contains_names, "a name, a list of them, or true or false")
_COUNT = Kind(_is_number, _number, "a number, or a bound such as “>= 0.8” or “< 500 ms”")

KINDS: dict[str, Kind] = {
    "follow_up": _FLAG,
    "follow_up_type": _WORD,
    "confidence": _COUNT,
    "topic_changed": _FLAG,
    "condensed": _WORD,
    "searched": Kind(_is_names, _searched, "true or false, or words of a search"),
    "cites": Kind(_is_names, _cites, "a title or file name, a list of them, or true or false"),
    "answer": _WORDS,
    "answers": _FLAG,
    "repeats": _FLAG,
    "blocked": _NAMES,
    "error": _WORD,
    "phase": _WORD,
    "topic": _WORD,
    "topics": _NAMES,
    "knowledge": Kind(lambda value: isinstance(value, Mapping), _includes, "levels by topic"),
    "mood": _WORD,
    "intent": _WORD,
    "tools": _NAMES,
    "suggests": _NAMES,
    "notice": _WORDS,
    "latency": _COUNT,
}
