"""Turns on the terminal: the answer as it streams, what was searched for and why, and the sources."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from collections.abc import Callable, Iterator

from turnwise.cli.screen import complain, say, say_json
from turnwise.engine import Chat, TurnFailed
from turnwise.errors import TurnwiseError
from turnwise.text import one_line
from turnwise.types import (
    Answered,
    ConversationState,
    Delta,
    Failed,
    Passage,
    Planned,
    QueryPlan,
    Reply,
    Source,
    StageDone,
    StageTrace,
    Step,
    StepDone,
    StepResult,
    TurnEvent,
)

PROMPT = "> "
SHOWN = 3  # topics whose knowledge is shown, the latest
HELP = "/why  how the last answer came about\n/quit  leave (so does Ctrl-D)"


class Talk:
    """One conversation on the terminal. Each turn is printed as it happens, or as a line of JSON when it is done."""

    def __init__(self, chat: Chat, as_json: bool = False) -> None:
        self.chat = chat
        self.last: Reply | None = None
        self._as_json = as_json
        for stage in ("generate", "retrieve"):
            logging.getLogger(f"turnwise.turn.{stage}").setLevel(logging.ERROR)  # the reply's notice says it already
        self._runner = asyncio.Runner()  # one event loop for all turns: a model's client belongs to its loop

    def turn(self, message: str, query: str | None = None) -> None:
        """Hold one turn. Raises TurnFailed where it ends in an error, KeyboardInterrupt where Ctrl-C stops it."""
        self.last = self._runner.run(self._turn(message, query))
        if self._as_json:
            say_json(self.last.to_dict())

    async def _turn(self, message: str, query: str | None) -> Reply:
        show: Callable[[TurnEvent], None] = (lambda _: None) if self._as_json else _Shown().show
        async with contextlib.aclosing(self.chat.stream(message, query)) as events:
            async for event in events:
                show(event)
                if isinstance(event, Answered):
                    return event.reply
                if isinstance(event, Failed):
                    raise TurnFailed(event)
        raise AssertionError("a turn ends in Answered or Failed")

    def converse(self) -> None:
        """Talk until /quit or the end of the input. A turn that fails is told, and the conversation goes on."""
        for message in _messages(echo=not self._as_json):
            if message == "/quit":
                break
            if message == "/why":
                say(why(self.last))
                if self.last:
                    say(stands(self.last.state), dim=True)
            elif message.startswith("/") and message[1:].isalpha():
                say(HELP)
            else:
                self._try(message)

    def _try(self, message: str) -> None:
        try:
            self.turn(message)
        except TurnwiseError as error:
            complain(error, self._as_json)
        except KeyboardInterrupt:
            say("\nStopped.", dim=True)
        if not self._as_json:
            say()

    def __enter__(self) -> Talk:
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.close()


class _Shown:
    """One turn as it is printed."""

    def __init__(self) -> None:
        self._condensed: StageTrace | None = None
        self._planned: QueryPlan | None = None
        self._begun = False

    def show(self, event: TurnEvent) -> None:
        match event:
            case StageDone(StageTrace(stage="condense") as stage):
                self._condensed = stage
            case Planned(plan):
                self._planned = plan
            case StepDone(_, step, result) if self._several:
                say(came_of(step, result), dim=True)
            case StageDone(StageTrace(stage="retrieve", details=details)):
                say(self._searched(details["searches"]), dim=True)
            case Delta(text):
                say(text if self._begun else text.lstrip(), end="")
                self._begun = True
            case Answered(reply):
                self._close(reply)
            case Failed() if self._begun:
                say()

    @property
    def _several(self) -> bool:
        """Whether the plan does more than one search: then each step is told by itself."""
        work = [step for step in self._planned.steps if step.tool != "answer"] if self._planned else []
        return len(work) > 1 or any(step.tool not in ("rag", "say", "reform") for step in work)

    def _searched(self, searches: list[str]) -> str:
        if self._several and self._planned and self._condensed:
            return f"because {self._condensed.reason}; {self._planned.reason}"
        if searches and self._condensed:
            listed = ", ".join(f"“{search}”" for search in searches)
            return f"searched for {listed} — because {self._condensed.reason}"
        return f"searched nothing — {self._planned.reason}" if self._planned else "searched nothing"

    def _close(self, reply: Reply) -> None:
        say()
        for source in sorted(reply.sources, key=lambda source: source.number):
            say(f"  {cited_as(source)}", dim=True)
        if reply.notice:
            say(f"  Note: {reply.notice}", dim=True)
        for question in reply.suggestions:
            say(f"  → {question}", dim=True)


def came_of(step: Step, result: StepResult) -> str:
    """A step of a plan on one line: who did what, and what came of it."""
    did = "searched for" if step.tool == "rag" else f"asked the {step.tool} for"
    found = f"{len(result.hits)} passage{'' if len(result.hits) == 1 else 's'}"
    came = f"failed: {result.error}" if result.error else result.text or found
    return f"{did} “{one_line(step.input)}” — {one_line(came, 120)}"


def cited_as(source: Source) -> str:
    """A source on one line: its number, title, and place in the document."""
    return f"[{source.number}] {standing(source)}"


def standing(where: Source | Passage) -> str:
    """Where a passage stands: "BERT (Devlin et al. 2019) — Training, page 3"."""
    by = str(where.reference or "")
    title = f"{where.title} ({by})" if by else where.title
    place = f"{title} — {where.heading}" if where.heading else title
    return place if where.page is None else f"{place}, page {where.page}"


def why(reply: Reply | None) -> str:
    """What each stage of a turn decided, why, and how long it took."""
    if reply is None:
        return "Nothing has been answered yet."
    widest = max(len(stage.stage) for stage in reply.trace)
    return "\n".join(
        f"{stage.stage:{widest}} {stage.ms:8.1f} ms  {stage.decision}" + (f" — {stage.reason}" if stage.reason else "")
        for stage in reply.trace
    )


def stands(state: ConversationState) -> str:
    """Where the conversation stands, on a line, and on a second one the advice that the next answer is given."""
    parts = [
        f"turn {state.turn}",
        f"topic “{state.topic}”" if state.topic else "no topic yet",
        f"phase {state.phase}",
        f"mood {state.mood} (“{state.mood_evidence}”)" if state.mood != "neutral" else "",
        *(f"{each.topic}: {each.level.replace('_', ' ')}" for each in state.knowledge[-SHOWN:]),
        *(f"still asked: “{one_line(each)}”" for each in state.open_questions),
    ]
    where = " · ".join(filter(None, parts))
    return "\n".join([where, *([f"advice: {' '.join(state.guidance)}"] if state.guidance else [])])


def _messages(echo: bool) -> Iterator[str]:
    """What the user types, a line a message, or what a pipe holds; `echo` shows the latter, so that it reads well."""
    typing = sys.stdin.isatty()
    while (line := _typed() if typing else sys.stdin.readline() or None) is not None:
        message = line.strip()
        if message and echo and not typing:
            say(f"{PROMPT}{message}")
        if message:
            yield message


def _typed() -> str | None:
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 -- gives input() its line editing and history
    try:
        return input(PROMPT)
    except (EOFError, KeyboardInterrupt):
        say()
        return None
