"""`turnwise guard`: a text judged by the rails, with what each of them found, and the presets there are."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from turnwise.cli.place import Place, as_json, placed
from turnwise.cli.screen import say, say_json
from turnwise.errors import BadRequest
from turnwise.types import Message, Role

if TYPE_CHECKING:
    from turnwise.guard.preset import GuardPreset
    from turnwise.guard.verdict import Finding, GuardResult

BLOCKED = 3  # the exit status of a check that blocks
QUOTED = 120  # characters of what was matched that are shown
SIDES = {"input": "message", "output": "answer", "document": "passage"}
FORM = 'It should hold [{"role": "user", "content": "..."}, ...], oldest first.'


class Ordered(click.Group):
    def list_commands(self, _: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=Ordered)
def guard() -> None:
    """Ask the rails: what would be blocked, and why."""


@guard.command()
@click.argument("text", nargs=-1, required=True)
@click.option("--output", is_flag=True, help="Judge it as an answer of the assistant.")
@click.option("--passage", is_flag=True, help="Judge it as a passage of a document.")
@click.option("--said", metavar="TEXT", multiple=True, help="What the user said before; may be repeated, oldest first.")
@click.option(
    "--history",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help='What was said before, as JSON: [{"role": "user", "content": "..."}, ...].',
)
@click.option("--conversation", metavar="ID", help="Judge it as the next message of this conversation in the library.")
@click.option("--preset", metavar="NAME", help="The rails of this preset, or of a .toml file [default: the setting].")
@as_json
@placed(sample=True)
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
    """Judge a text and say why; "-" reads it from stdin.

    It is judged as a message of a user, and nothing is kept. Each rail says how sure it is (0 to 1), from where on it
    acts, what it found and how long it took.

    The exit status is 0 where the text may go on (also with a warning, or with parts taken out), 3 where it is blocked,
    and 1 where it cannot be judged.
    """
    if sum(map(bool, (said, history, conversation))) > 1:
        raise click.UsageError("--said, --history and --conversation all say what came before; choose one.")
    if output and passage:
        raise click.UsageError("A text is judged as an answer (--output) or as a passage (--passage); choose one.")
    side = "output" if output else "document" if passage else None
    if side and (said or history or conversation):
        raise click.UsageError("What was said before is for messages, not for answers or passages.")
    whole = " ".join(text)
    whole = sys.stdin.read().rstrip("\n") if whole == "-" else whole
    earlier = tuple(Message("user", each) for each in said) or (read_history(history) if history else ())
    result, rails = _judge(place, whole, side, earlier, conversation, preset)
    if as_json:
        say_json(result.to_dict())
    else:
        say("\n".join(told(result, whole, rails)))
    sys.exit(BLOCKED if result.blocked else 0)


def _judge(
    place: Place,
    text: str,
    side: str | None,
    earlier: tuple[Message, ...],
    conversation: str | None,
    preset: str | None,
) -> tuple[GuardResult, GuardPreset]:
    if conversation is not None:
        with place.open(guard=preset) as engine:
            return engine.guard.check_input(text, engine.store.conversation(conversation)), engine.guard.preset
    from turnwise.app import embedder_of, guard_of
    from turnwise.guard.shape import check_shape

    settings, _ = place.settings(guard=preset)
    rails = guard_of(settings, embedder_of(settings))
    check_shape(text, settings.max_message)
    if side == "output":
        return rails.check_output(text), rails.preset
    if side == "document":
        return rails.check_passage(text), rails.preset
    return rails.judge_input(text, earlier, trusted=False), rails.preset


def read_history(path: Path) -> tuple[Message, ...]:
    """The messages of a JSON file: an array of them, or an object that has one as `messages`."""
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadRequest(f"{path} cannot be read: {error.strerror}.", "Check its name.") from error
    except ValueError as error:
        raise BadRequest(f"{path} is not JSON: {error}.", FORM) from error
    found = read.get("messages") if isinstance(read, dict) else read
    if not isinstance(found, list):
        raise BadRequest(f"{path} holds no messages.", FORM)
    return tuple(_message(path, each) for each in found)


def _message(path: Path, each: Any) -> Message:
    match each:
        case {"role": str(role), "content": str(content)} if role in get_args(Role):
            return Message(role, content)  # type: ignore[arg-type]
    raise BadRequest(f"{path} holds something that is no message: {json.dumps(each)[:60]}", FORM)


def told(result: GuardResult, text: str, preset: GuardPreset) -> Iterator[str]:
    """A result for people: the decision, the words that were matched, what each rail found, and how to read it."""
    yield _decision(result)
    for finding in result.details.values():
        for span in finding.spans:
            yield f"  “{_short(text[span.start : span.end])}”: {span.kind}"
    if result.action == "redact":
        yield f"  It would go on as: {_short(result.sanitized, 400)}"
    if result.retry_after is not None:
        yield f"  It can be tried again in {result.retry_after:.0f} seconds."
    yield ""
    if not result.details:
        yield f"The preset {preset.name} has no rail for this."
        return
    widest = max(len("rail"), *map(len, result.details))
    yield f"{'rail':{widest}}  {'decision':13}  {'sure':>5}  {'acts from':>9}  {'took':>9}"
    for finding in result.details.values():
        yield from _line(finding, widest)
    yield ""
    yield "“sure” goes from 0 to 1; a rail acts from its “acts from” on."
    yield f"The rails are those of the preset {preset.name}; `turnwise guard presets` shows all."


def _decision(result: GuardResult) -> str:
    what = SIDES[result.pipeline_type]
    if result.shadow and result.shadow != "allow":
        return f"Allowed, since this preset only watches. Its rails would {result.shadow} this {what}: {result.why}."
    match result.action:
        case "block":
            return f"Blocked: this {what} would not go on. {_sentence(result.why)}"
        case "redact":
            return f"Allowed, with parts taken out: {result.why}."
        case "warn":
            return f"Allowed, with a warning: {result.why}."
    return f"Allowed: this {what} may go on."


def _line(finding: Finding, widest: int) -> Iterator[str]:
    decision = {"found": finding.action, "clear": "nothing found"}.get(finding.state, finding.state)
    judged = finding.state in ("found", "clear")
    sure, acts = (f"{finding.score:.2f}", f"{finding.threshold:.2f}") if judged else ("-", "-")
    took = f"{finding.latency_ms:.1f} ms"
    reason = "" if finding.state == "clear" and finding.reason == "nothing found" else f"  {finding.reason}"
    yield f"{finding.rail:{widest}}  {decision:13}  {sure:>5}  {acts:>9}  {took:>9}{reason}"
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


def _short(text: str, longest: int = QUOTED) -> str:
    from turnwise.text import one_line

    return one_line(text, longest)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


@guard.command()
@as_json
@placed(sample=False)
def presets(place: Place, as_json: bool) -> None:
    """Show the presets: which rails each has, and what they do.

    The one in force is marked. Set another with TURNWISE_GUARD=NAME, or copy one to a .toml file and set its path.
    """
    from turnwise.guard.preset import load_guard, preset_names

    settings, _ = place.settings()
    names = preset_names() if settings.guard in preset_names() else [*preset_names(), settings.guard]
    for name in names:
        preset = load_guard(name)
        if as_json:
            told = {"name": name, "about": preset.about, "shadow": preset.shadow, "deadline": preset.deadline}
            say_json({**told, "in_force": name == settings.guard, "rails": preset.rails})
            continue
        say(f"{name}{' (in force)' if name == settings.guard else ''}: {preset.about}")
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
