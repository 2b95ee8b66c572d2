"""`turnwise ask` and `turnwise chat`: prints the answer as it streams, what was searched for and why, and sources."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import sys
from collections.abc import Iterator
from pathlib import Path

from turnwise.citations import bibliography, by_document, find_style
from turnwise.cli.screen import complain, counted, remark, say, say_json
from turnwise.engine import Chat, TurnFailed, end_of
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
MAX_KNOWLEDGE_SHOWN = 3  # the most recent topics
HELP = "/why   explain the last answer\n/quit  leave (or press Ctrl-D)"


class Talk:
    """One conversation on the terminal. Each turn is printed as it happens, or as a line of JSON when it is done.
    `style` is the citation style for its sources, if any."""

    def __init__(self, chat: Chat, as_json: bool = False, style: str = "") -> None:
        self.chat = chat
        self.last: Reply | None = None
        self._as_json = as_json
        for stage in ("generate", "retrieve"):
            logging.getLogger(f"turnwise.turn.{stage}").setLevel(logging.ERROR)  # the reply's notice has the warnings
        self._style = find_style(style) if style else None
        self._runner = asyncio.Runner()  # one event loop for all turns: a model's client belongs to its loop

    def turn(self, message: str, query: str | None = None) -> None:
        """Run one turn. Raises TurnFailed if it ends in an error, KeyboardInterrupt if Ctrl-C stops it."""
        self.last = self._runner.run(self._turn(message, query))
        if self._as_json:
            cited = bibliography(self.last.sources, self._style) if self._style else None
            styled = {} if cited is None else {"bibliography": [dataclasses.asdict(each) for each in cited]}
            say_json({**self.last.to_dict(), **styled})

    async def _turn(self, message: str, query: str | None) -> Reply:
        show = None if self._as_json else _TurnPrinter(self._style).show
        end = await end_of(self.chat.stream(message, query), show)
        if isinstance(end, Failed):
            raise TurnFailed(end)
        return end

    def converse(self) -> None:
        """Talk until /quit or the end of the input. The error of a failed turn is printed, and the talk continues."""
        for message in _messages(echo=not self._as_json):
            if message in ("/quit", "/exit", "quit", "exit"):
                break
            if message == "/why":
                self._aside(why(self.last))
                if self.last:
                    self._aside(state_lines(self.last.state), dim=True)
            elif message.startswith("/") and message[1:].isalpha():
                self._aside(f"Unknown command {message}.\n{HELP}" if message != "/help" else HELP)
            else:
                self._try(message)

    def _try(self, message: str) -> None:
        try:
            self.turn(message)
        except TurnwiseError as error:
            complain(error, self._as_json)
        except KeyboardInterrupt:
            self._aside("\nStopped.", dim=True)
        if not self._as_json:
            say()

    def _aside(self, text: str, dim: bool = False) -> None:
        """Print what is no answer; beside JSON, to stderr."""
        if self._as_json:
            remark(text)
        else:
            say(text, dim)

    def __enter__(self) -> Talk:
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.close()


class _TurnPrinter:
    """Prints one turn, event by event."""

    def __init__(self, style: Path | None) -> None:
        self._style = style
        self._condensed: StageTrace | None = None
        self._planned: QueryPlan | None = None
        self._begun = False
        self._waiting: dict[int, str] = {}  # lines of steps that are done, by their place in the plan
        self._shown = 0  # steps whose lines are printed

    def show(self, event: TurnEvent) -> None:
        match event:
            case StageDone(StageTrace(stage="condense") as stage):
                self._condensed = stage
            case Planned(plan):
                self._planned = plan
            case StepDone(place, step, result) if self._shows_steps:
                self._waiting[place] = step_line(step, result)
                while self._shown in self._waiting:  # in the order of the plan, however they end
                    say(self._waiting.pop(self._shown), dim=True)
                    self._shown += 1
            case StageDone(StageTrace(stage="retrieve", details=details)):
                for _, line in sorted(self._waiting.items()):
                    say(line, dim=True)
                say(self._search_line(details["searches"]), dim=True)
            case Delta(text):
                say(text if self._begun else text.lstrip(), end="")
                self._begun = True
            case Answered(reply):
                self._print_end(reply)
            case Failed() if self._begun:
                say()

    @property
    def _shows_steps(self) -> bool:
        """Whether the plan is more than a single search, so that each step is printed."""
        work = [step for step in self._planned.steps if step.tool != "answer"] if self._planned else []
        return len(work) > 1 or any(step.tool not in ("rag", "say", "reform", "library") for step in work)

    def _search_line(self, searches: list[str]) -> str:
        if self._shows_steps and self._planned and self._condensed:
            return f"because {self._condensed.reason}; {self._planned.reason}"
        if searches and self._condensed:
            queries = ", ".join(f"“{search}”" for search in searches)
            return f"searched for {queries} — because {self._condensed.reason}"
        return f"searched nothing — {self._planned.reason}" if self._planned else "searched nothing"

    def _print_end(self, reply: Reply) -> None:
        say()
        for line in (*source_lines(reply, self._style), *unsupported_lines(reply)):
            say(f"  {line}", dim=True)
        if reply.notice:
            say(f"  Note: {reply.notice}", dim=True)
        for question in reply.suggestions:
            say(f"  → {question}", dim=True)


def step_line(step: Step, result: StepResult) -> str:
    """One step of a plan on one line: the tool, its input and the outcome."""
    action = "searched for" if step.tool == "rag" else f"asked the {step.tool} for"
    rows = [line for line in result.text.splitlines() if line.startswith("|")][2:]  # below the names and the rule
    count = counted(len(rows), "row") if rows else counted(len(result.hits), "passage")
    outcome = f"failed: {result.error}" if result.error else count if rows else result.text or count
    return f"{action} “{one_line(step.input)}” — {one_line(outcome, 120)}"


def source_lines(reply: Reply, style: Path | None) -> Iterator[str]:
    """The sources of a reply, grouped by document. The sentence behind a citation is shown if the answer says it in
    other words."""
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
            line = f"[{source.number}] {_join(text, place(source)) if alone else place(source)}".rstrip()
            yield line if alone else f"  {line}"
            if source.quote and source.quote not in reply.text:
                yield f"{'' if alone else '  '}    “{one_line(source.quote, 200)}”"


def unsupported_lines(reply: Reply) -> Iterator[str]:
    """The sentences of a reply that its sources do not support."""
    for claim in reply.claims:
        if not claim.supported:
            why = "The cited passage does not say this" if claim.numbers else "No passage is cited for this"
            marks = "".join(f"[{number}]" for number in claim.numbers)
            yield f"{why}: “{one_line(claim.text, 120)}” {marks}".rstrip()
    if not all(claim.supported for claim in reply.claims):
        yield "(This check compares words; it does not judge truth.)"


def citation(passage: Source | Passage) -> str:
    """The document and place of a passage: "BERT (Devlin et al. 2019) — Training, page 3"."""
    return _join(title(passage), place(passage))


def title(passage: Source | Passage) -> str:
    """The title of its document, with the reference: "BERT (Devlin et al. 2019)"."""
    reference = str(passage.reference or "")
    return f"{passage.title} ({reference})" if reference else passage.title


def place(passage: Source | Passage) -> str:
    """Where a passage is in its document: "Training, page 3"."""
    return ", ".join(filter(None, (passage.heading, f"page {passage.page}" if passage.page is not None else "")))


def _join(document: str, place: str) -> str:
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
        lines += (f"{'':{widest}}              {line}" for line in rail_lines(stage))
    queries = [
        result.details["sql"]
        for result in (reply.plan.results if reply.plan else ())
        if result and "sql" in result.details
    ]
    return "\n".join([*lines, *(f"query: {sql}" for sql in queries)])


def rail_lines(stage: StageTrace) -> Iterator[str]:
    """The rails of a stage, each with its score, its threshold and its action."""
    for rail, finding in stage.details.get("rails", {}).items():
        has_score = finding["state"] in ("found", "clear")
        score = f"{finding['score']:.2f} of {finding['threshold']:.2f}" if has_score else finding["state"]
        yield f"{rail}: {score}{'' if finding['action'] == 'allow' else ', ' + finding['action']}"


def state_lines(state: ConversationState) -> str:
    """The state of the conversation on one line, and on a second one the guidance for the next answer, if any."""
    parts = [
        f"turn {state.turn}",
        f"topic “{state.topic}”" if state.topic else "no topic yet",
        f"phase {state.phase}",
        f"mood {state.mood} (“{state.mood_evidence}”)" if state.mood != "neutral" else "",
        *(f"{each.topic}: {each.level.replace('_', ' ')}" for each in state.knowledge[-MAX_KNOWLEDGE_SHOWN:]),
        *(f"still asked: “{one_line(each)}”" for each in state.open_questions),
    ]
    summary = " · ".join(filter(None, parts))
    return "\n".join([summary, *([f"advice: {' '.join(state.guidance)}"] if state.guidance else [])])


def _messages(echo: bool) -> Iterator[str]:
    """The user's messages, one per line, typed or from a pipe. `echo` prints those from a pipe."""
    interactive = sys.stdin.isatty()
    while (line := _read_line() if interactive else sys.stdin.readline() or None) is not None:
        message = line.strip()
        if message and echo and not interactive:
            say(f"{PROMPT}{message}")
        if message:
            yield message


def _read_line() -> str | None:
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 -- gives input() its line editing and history
    try:
        return input(PROMPT)
    except (EOFError, KeyboardInterrupt):
        say()
        return None
