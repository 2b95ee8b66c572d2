"""Turns on the terminal: the answer as it streams, what was searched for and why, and the sources."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from turnwise.citations import bibliography, by_document, find_style
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
    """One conversation on the terminal. Each turn is printed as it happens, or as a line of JSON when it is done; the
    documents that it cites in a citation style, where one is named."""

    def __init__(self, chat: Chat, as_json: bool = False, style: str = "") -> None:
        self.chat = chat
        self.last: Reply | None = None
        self._as_json = as_json
        for stage in ("generate", "retrieve"):
            logging.getLogger(f"turnwise.turn.{stage}").setLevel(logging.ERROR)  # the reply's notice says it already
        self._style = find_style(style) if style else None
        self._runner = asyncio.Runner()  # one event loop for all turns: a model's client belongs to its loop

    def turn(self, message: str, query: str | None = None) -> None:
        """Hold one turn. Raises TurnFailed where it ends in an error, KeyboardInterrupt where Ctrl-C stops it."""
        self.last = self._runner.run(self._turn(message, query))
        if self._as_json:
            cited = bibliography(self.last.sources, self._style) if self._style else None
            styled = {} if cited is None else {"bibliography": [dataclasses.asdict(each) for each in cited]}
            say_json({**self.last.to_dict(), **styled})

    async def _turn(self, message: str, query: str | None) -> Reply:
        show: Callable[[TurnEvent], None] = (lambda _: None) if self._as_json else _Shown(self._style).show
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
            if message in ("/quit", "/exit", "quit", "exit"):
                break
            if message == "/why":
                say(why(self.last))
                if self.last:
                    say(stands(self.last.state), dim=True)
            elif message.startswith("/") and message[1:].isalpha():
                say(f"There is no {message}.\n{HELP}" if message != "/help" else HELP)
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

    def __init__(self, style: Path | None) -> None:
        self._style = style
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
        return len(work) > 1 or any(step.tool not in ("rag", "say", "reform", "library") for step in work)

    def _searched(self, searches: list[str]) -> str:
        if self._several and self._planned and self._condensed:
            return f"because {self._condensed.reason}; {self._planned.reason}"
        if searches and self._condensed:
            listed = ", ".join(f"“{search}”" for search in searches)
            return f"searched for {listed} — because {self._condensed.reason}"
        return f"searched nothing — {self._planned.reason}" if self._planned else "searched nothing"

    def _close(self, reply: Reply) -> None:
        say()
        for line in (*listed(reply, self._style), *doubts(reply)):
            say(f"  {line}", dim=True)
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


def listed(reply: Reply, style: Path | None = None) -> Iterator[str]:
    """The sources of a reply, those of one document together. The sentence that an answer rests on is given where the
    answer says it in other words."""
    documents = by_document(reply.sources)
    texts = (
        [cited.text for cited in bibliography(reply.sources, style)]
        if style
        else [title(each[0]) for each in documents]
    )
    for text, sources in zip(texts, documents, strict=True):
        alone = len(sources) == 1
        if not alone:
            yield text
        for source in sources:
            standing = f"[{source.number}] {_joined(text, place(source)) if alone else place(source)}".rstrip()
            yield standing if alone else f"  {standing}"
            if source.quote and source.quote not in reply.text:
                yield f"{'' if alone else '  '}    “{one_line(source.quote, 200)}”"


def doubts(reply: Reply) -> Iterator[str]:
    """The sentences of a reply that its sources do not bear out."""
    for claim in reply.claims:
        if not claim.supported:
            why = "The cited passage does not say this" if claim.numbers else "No passage is cited for this"
            marks = "".join(f"[{number}]" for number in claim.numbers)
            yield f"{why}: “{one_line(claim.text, 120)}” {marks}".rstrip()
    if not all(claim.supported for claim in reply.claims):
        yield "(A check of words, not of truth.)"


def standing(where: Source | Passage) -> str:
    """Where a passage stands: "BERT (Devlin et al. 2019) — Training, page 3"."""
    return _joined(title(where), place(where))


def title(where: Source | Passage) -> str:
    by = str(where.reference or "")
    return f"{where.title} ({by})" if by else where.title


def place(where: Source | Passage) -> str:
    """Where in its document a passage stands: "Training, page 3"."""
    return ", ".join(filter(None, (where.heading, f"page {where.page}" if where.page is not None else "")))


def _joined(document: str, place: str) -> str:
    return f"{document} — {place}" if place else document


def why(reply: Reply | None) -> str:
    """What each stage of a turn decided, why, and how long it took."""
    if reply is None:
        return "Nothing has been answered yet."
    widest = max(len(stage.stage) for stage in reply.trace)
    lines: list[str] = []
    for stage in reply.trace:
        reason = f" — {stage.reason}" if stage.reason else ""
        lines.append(f"{stage.stage:{widest}} {stage.ms:8.1f} ms  {stage.decision}{reason}")
        lines += (f"{'':{widest}}              {line}" for line in judged(stage))
    queries = [
        result.details["sql"]
        for result in (reply.plan.results if reply.plan else ())
        if result and "sql" in result.details
    ]
    return "\n".join([*lines, *(f"query: {sql}" for sql in queries)])


def judged(stage: StageTrace) -> Iterator[str]:
    """The rails of a stage, each with how sure it is against from where on it acts."""
    for rail, finding in stage.details.get("rails", {}).items():
        clear = finding["state"] in ("found", "clear")
        sure = f"{finding['score']:.2f} of {finding['threshold']:.2f}" if clear else finding["state"]
        yield f"{rail}: {sure}{'' if finding['action'] == 'allow' else ', ' + finding['action']}"


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
