"""`turnwise guard`: checks a text with the rails and shows what each found; lists the presets."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from turnwise.cli.place import Place, json_option, library_options
from turnwise.cli.screen import say, say_json
from turnwise.errors import BadRequest
from turnwise.types import Message, Role

if TYPE_CHECKING:
    from turnwise.guard.preset import GuardPreset
    from turnwise.guard.verdict import Finding, GuardResult

BLOCKED_STATUS = 3  # exit status of `check` if the text is blocked
MAX_QUOTE_CHARS = 120
TEXT_KINDS = {"input": "message", "output": "answer", "document": "passage"}
HISTORY_FORMAT = 'It should contain [{"role": "user", "content": "..."}, ...], oldest first.'


class Ordered(click.Group):
    """A group that lists its commands in the order they are defined."""

    def list_commands(self, _: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=Ordered)
def guard() -> None:
    """Check what the guard would block, and why."""


@guard.command()
@click.argument("text", nargs=-1, required=True)
@click.option("--output", is_flag=True, help="Check it as an answer of the assistant.")
@click.option("--passage", is_flag=True, help="Check it as a passage of a document.")
@click.option("--said", metavar="TEXT", multiple=True, help="An earlier user message; may be repeated, oldest first.")
@click.option(
    "--history",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help='Earlier messages as a JSON file: [{"role": "user", "content": "..."}, ...].',
)
@click.option("--conversation", metavar="ID", help="Check it as the next message of this stored conversation.")
@click.option("--preset", metavar="NAME", help="Guard preset or .toml file [default: the setting `guard`].")
@json_option
@library_options(sample=True)
def check(
    place: Place,
    text: tuple[str, ...],
    output: bool,
    passage: bool,
    said: tuple[str, ...],
    history: Path | None,
    conversation: str | None,
    preset: str | None,
    as_json: bool,
) -> None:
    """Check a text and explain the result; "-" reads it from stdin.

    The text is checked as a user's message, and nothing is stored. Each rail shows its score (0 to 1), the threshold
    from which it acts, what it found and how long it took.

    The exit status is 0 if the text is allowed (also with a warning, or with parts removed), 3 if it is blocked, and 1
    if it cannot be checked.
    """
    if sum(map(bool, (said, history, conversation))) > 1:
        raise click.UsageError("--said, --history and --conversation all give earlier messages; choose one.")
    if output and passage:
        raise click.UsageError("A text is checked as an answer (--output) or as a passage (--passage); choose one.")
    side = "output" if output else "document" if passage else None
    if side and (said or history or conversation):
        raise click.UsageError("Earlier messages apply only to a message, not to an answer or a passage.")
    joined = " ".join(text)
    checked = sys.stdin.read().rstrip("\n") if joined == "-" else joined
    earlier = tuple(Message("user", each) for each in said) or (read_history(history) if history else ())
    result, rails = _check(place, checked, side, earlier, conversation, preset)
    if as_json:
        say_json(result.to_dict())
    else:
        say("\n".join(result_lines(result, checked, rails)))
    sys.exit(BLOCKED_STATUS if result.blocked else 0)


def _check(
    place: Place,
    text: str,
    side: str | None,
    earlier: tuple[Message, ...],
    conversation: str | None,
    preset: str | None,
) -> tuple[GuardResult, GuardPreset]:
    if conversation is not None:
        with place.open_without_model(guard=preset) as engine:
            return engine.guard.check_input(text, engine.store.conversation(conversation)), engine.guard.preset
    from turnwise.app import guard_of, pinned_embedder
    from turnwise.guard.shape import check_shape

    settings, _ = place.settings(guard=preset)
    rails = guard_of(settings, pinned_embedder(settings))
    check_shape(text, settings.max_message)
    if side == "output":
        return rails.check_output(text), rails.preset
    if side == "document":
        return rails.check_passage(text), rails.preset
    return rails.judge_input(text, earlier, trusted=False), rails.preset


def read_history(path: Path) -> tuple[Message, ...]:
    """The messages in a JSON file: an array of them, or an object with such an array under `messages`."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadRequest(f"{path} cannot be read: {error.strerror}.", "Check its name.") from error
    except ValueError as error:
        raise BadRequest(f"{path} is not JSON: {error}.", HISTORY_FORMAT) from error
    messages = content.get("messages") if isinstance(content, dict) else content
    if not isinstance(messages, list):
        raise BadRequest(f"{path} contains no messages.", HISTORY_FORMAT)
    return tuple(_message(path, each) for each in messages)


def _message(path: Path, value: Any) -> Message:
    match value:
        case {"role": str(role), "content": str(content)} if role in get_args(Role):
            return Message(role, content)  # type: ignore[arg-type]
    raise BadRequest(f"{path} contains something that is not a message: {json.dumps(value)[:60]}", HISTORY_FORMAT)


def result_lines(result: GuardResult, text: str, preset: GuardPreset) -> Iterator[str]:
    """A result in readable form: the decision, the words that were matched, and what each rail found."""
    yield _decision(result)
    for finding in result.details.values():
        for span in finding.spans:
            yield f"  “{_short(text[span.start : span.end])}”: {span.kind}"
    if result.action == "redact":
        yield f"  It would become: {_short(result.sanitized, 400)}"
    if result.retry_after is not None:
        yield f"  Try again in {result.retry_after:.0f} seconds."
    yield ""
    if not result.details:
        yield f"The preset {preset.name} has no rail for this."
        return
    widest = max(len("rail"), *map(len, result.details))
    yield f"{'rail':{widest}}  {'decision':13}  {'score':>5}  {'threshold':>9}  {'time':>9}"
    for finding in result.details.values():
        yield from _rail_lines(finding, widest)
    yield ""
    yield "Scores go from 0 to 1; a rail acts when its score reaches the threshold."
    yield f"These are the rails of the preset {preset.name}; `turnwise guard presets` shows all presets."


def _decision(result: GuardResult) -> str:
    kind = TEXT_KINDS[result.pipeline_type]
    if result.shadow and result.shadow != "allow":
        return f"Allowed, since this preset only watches. Its rails would {result.shadow} this {kind}: {result.why}."
    match result.action:
        case "block":
            return f"Blocked: this {kind} would not get through. {_sentence(result.why)}"
        case "redact":
            return f"Allowed, with parts removed: {result.why}."
        case "warn":
            return f"Allowed, with a warning: {result.why}."
    return f"Allowed: this {kind} would get through."


def _rail_lines(finding: Finding, widest: int) -> Iterator[str]:
    decision = {"found": finding.action, "clear": "nothing found"}.get(finding.state, finding.state)
    has_score = finding.state in ("found", "clear")
    score, threshold = (f"{finding.score:.2f}", f"{finding.threshold:.2f}") if has_score else ("-", "-")
    elapsed = f"{finding.latency_ms:.1f} ms"
    reason = "" if finding.state == "clear" and finding.reason == "nothing found" else f"  {finding.reason}"
    yield f"{finding.rail:{widest}}  {decision:13}  {score:>5}  {threshold:>9}  {elapsed:>9}{reason}"
    if facts := ", ".join(_facts(finding.facts)):
        yield f"{'':{widest}}  {facts}"


def _facts(facts: Mapping[str, Any]) -> Iterator[str]:
    for name, value in facts.items():
        if shown := _fact(value):
            yield f"{name.replace('_', ' ')} {_short(shown)}"


def _fact(value: Any) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {_fact(each)}" for name, each in value.items())
    return " ".join(map(str, value)) if isinstance(value, list | tuple | set | frozenset) else str(value)


def _short(text: str, max_chars: int = MAX_QUOTE_CHARS) -> str:
    from turnwise.text import one_line

    return one_line(text, max_chars)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


@guard.command()
@json_option
@library_options(sample=False)
def presets(place: Place, as_json: bool) -> None:
    """List the presets: which rails each has, and what they do.

    The active one is marked. Set another with TURNWISE_GUARD=NAME, or set it to the path of your own .toml file.
    """
    from turnwise.guard.preset import load_guard, preset_names

    settings, _ = place.settings()
    names = preset_names() if settings.guard in preset_names() else [*preset_names(), settings.guard]
    for name in names:
        preset = load_guard(name)
        if as_json:
            fields = {"name": name, "about": preset.about, "shadow": preset.shadow, "deadline": preset.deadline}
            say_json({**fields, "in_force": name == settings.guard, "rails": preset.rails})
            continue
        say(f"{name}{' (active)' if name == settings.guard else ''}: {preset.about}")
        if preset.shadow:
            say("  It only watches: nothing is blocked or changed.")
        for side, rails in preset.rails.items():
            for rail, options in rails.items():
                say(f"  {side:9}  {rail:12}  {_options(options)}", dim=True)


def _options(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {_value(value)}" for name, value in options.items())


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "/".join(map(str, value)) or "-"
    return "/".join(map(str, value)) or "-" if isinstance(value, list) else str(value)
