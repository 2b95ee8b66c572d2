"""Plain functions as tools: what a function is called and what its docstring says is all that a plan needs to know."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
import re
import threading
from collections.abc import Callable, Sequence
from typing import Any, overload

from turnwise.errors import ToolError
from turnwise.text import clean, uncited
from turnwise.types import Message, StepResult, Tool

log = logging.getLogger(__name__)

PATIENCE = 20.0  # seconds that a function may take
LONGEST = 20_000  # characters of what it gives
LOOKED_AT = 2000  # characters of a question that a pattern is looked for in
TAKEN = frozenset({"rag", "calculator", "database", "say", "reform", "library", "answer"})  # names that a plan knows


class FunctionTool:
    """A function that a plan may call. `when` is a regular expression: without a language model the function is called
    for the questions that it is found in, with its named groups as arguments. It can still be called as itself."""

    takes_any = True  # what a language model plans for it

    def __init__(self, function: Callable[..., Any], when: str = "", patience: float = PATIENCE) -> None:
        self.name = _name_of(function)
        self.about = _about(function, self.name)
        self._function, self._patience = function, patience
        self._when = _pattern(when, function, self.name) if when else None

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self._function(*arguments, **named)

    async def read(self, question: str, history: Sequence[Message]) -> str:  # noqa: ARG002
        return question if self._when and self._when.search(question[:LOOKED_AT]) else ""

    async def run(self, given: str) -> StepResult:
        """What the function gives, as words. One that raises or takes too long says so."""
        try:
            arguments, named = self._arguments(given)
            work = self._called(arguments, named)
            try:
                done, _ = await asyncio.wait({work}, timeout=self._patience)
            finally:
                work.cancel()  # unless it is done; a thread goes on by itself, and nobody waits for it
            if not done:
                return StepResult(error=f"{self.name} took longer than {self._patience:g} seconds.")
            result = work.result()
            if inspect.isawaitable(result):  # of an async function behind a plain one
                result = await asyncio.wait_for(result, self._patience)
            said = "" if result is None else uncited(clean(str(result))[:LONGEST])
        except (Exception, SystemExit) as error:
            log.warning("the tool %s broke", self.name, exc_info=True)
            kind = str(error) if isinstance(error, ToolError) else type(error).__name__
            return StepResult(error=f"{self.name} broke ({kind}).")  # the words of an error may hold a secret
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) and task.cancelling():
                raise  # it is the turn that was broken off
            return StepResult(error=f"{self.name} was cancelled.")
        return StepResult(said) if said else StepResult(error=f"{self.name} gave nothing.")

    def _arguments(self, given: str) -> tuple[tuple[str, ...], dict[str, str]]:
        """The named groups of the pattern, and the question where the function takes something else too."""
        found = self._when.search(given[:LOOKED_AT]) if self._when else None
        named = {name: value for name, value in found.groupdict().items() if value is not None} if found else {}
        signature = inspect.signature(self._function)
        asks = next((each for each in signature.parameters.values() if each.kind in _BY_PLACE), None)
        takes = asks is not None and asks.name not in named and (asks.default is asks.empty or not named)
        return ((given,) if takes else ()), named

    def _called(self, arguments: tuple[str, ...], named: dict[str, str]) -> asyncio.Future[Any]:
        if inspect.iscoroutinefunction(self._function):
            task: asyncio.Future[Any] = asyncio.ensure_future(self._function(*arguments, **named))
            return task
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        context = contextvars.copy_context()

        def settle(result: Any, error: BaseException | None) -> None:
            if not future.done():
                future.set_exception(error) if error else future.set_result(result)

        def work() -> None:
            try:
                result, error = context.run(self._function, *arguments, **named), None
            except BaseException as raised:
                result, error = None, raised if isinstance(raised, Exception) else ToolError(type(raised).__name__)
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, result, error)

        threading.Thread(target=work, name=f"turnwise tool {self.name}", daemon=True).start()
        return future


_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@overload
def tool(function: Callable[..., Any], *, when: str = "") -> FunctionTool: ...
@overload
def tool(*, when: str = "") -> Callable[[Callable[..., Any]], FunctionTool]: ...
def tool(function: Callable[..., Any] | None = None, *, when: str = "") -> Any:
    """Make a function a tool, as a decorator or by a call: `@turnwise.tool(when=r"weather in (?P<place>\\w+)")`.

    Its name and the first line of its docstring tell a language model what it is for; without one it is called where
    `when` is found in the question, and the named groups are its arguments. It gives what may stand in the answer.
    """
    if function is None:
        return lambda given: FunctionTool(given, when)
    return FunctionTool(function, when)


def as_tool(given: Tool | Callable[..., Any]) -> Tool:
    """A tool as it is, and a plain function as one."""
    if all(hasattr(given, part) for part in ("name", "about", "read", "run")):
        if (name := getattr(given, "name", "")) in TAKEN:
            raise ToolError(f"{name} cannot be the name of a tool.", "Give it a name of its own.")
        return given  # type: ignore[return-value]
    return FunctionTool(given)  # type: ignore[arg-type]


def _name_of(function: Callable[..., Any]) -> str:
    name = str(getattr(function, "__name__", ""))
    if not callable(function) or not name.isidentifier() or name in TAKEN:
        raise ToolError(
            f"{name or function!r} cannot be the name of a tool.", "Define a function with a name of its own."
        )
    return name


def _about(function: Callable[..., Any], name: str) -> str:
    said = inspect.cleandoc(function.__doc__ or "").strip().partition("\n")[0]
    if not said:
        raise ToolError(
            f"The function {name} does not say what it is for.",
            "Write a docstring: its first line is read by the plan.",
        )
    return said


def _pattern(when: str, function: Callable[..., Any], name: str) -> re.Pattern[str]:
    try:
        pattern = re.compile(when, re.I)
    except re.error as error:
        raise ToolError(f"The pattern of {name} is no regular expression: {error}.", "Mend `when`.") from error
    parameters = inspect.signature(function).parameters
    every = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values())
    unknown = [] if every else [group for group in pattern.groupindex if group not in parameters]
    if unknown:
        raise ToolError(
            f"The pattern of {name} names “{unknown[0]}”, which is no parameter of the function.",
            "Call the group and the parameter the same.",
        )
    return pattern
