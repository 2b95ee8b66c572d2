"""Plain functions as tools: the function's name and docstring are all that a plan needs."""

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
from turnwise.text import clean, escape_citations
from turnwise.types import Message, StepResult, Tool

log = logging.getLogger(__name__)

TIMEOUT_SECONDS = 20.0
MAX_RESULT_CHARS = 20_000
MAX_QUESTION_CHARS = 2000  # searched for a pattern
RESERVED_NAMES = frozenset({"rag", "calculator", "database", "say", "reform", "library", "answer"})  # used by plans


class FunctionTool:
    """A function that a plan may call. `when` is a regular expression: without a language model, the function is called
    for questions that match it, with the named groups as arguments. The tool itself can still be called like the
    function."""

    takes_any = True  # a language model may pass any text

    def __init__(self, function: Callable[..., Any], when: str = "", timeout: float = TIMEOUT_SECONDS) -> None:
        self.name = _name_of(function)
        self.about = _description_of(function, self.name)
        self._function, self._timeout = function, timeout
        self._when = _compile_pattern(when, function, self.name) if when else None

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self._function(*arguments, **named)

    async def read(self, question: str, history: Sequence[Message]) -> str:  # noqa: ARG002
        return question if self._when and self._when.search(question[:MAX_QUESTION_CHARS]) else ""

    async def run(self, given: str) -> StepResult:
        """Call the function and return its result as text, or an error if it raises or takes too long."""
        try:
            arguments, named = self._arguments(given)
            work = self._call(arguments, named)
            try:
                done, _ = await asyncio.wait({work}, timeout=self._timeout)
            finally:
                work.cancel()  # no effect if it is done; a thread runs on, but is not waited for
            if not done:
                return StepResult(error=f"{self.name} took longer than {self._timeout:g} seconds.")
            result = work.result()
            if inspect.isawaitable(result):  # a plain function that returned a coroutine
                result = await asyncio.wait_for(result, self._timeout)
            text = "" if result is None else escape_citations(clean(str(result))[:MAX_RESULT_CHARS])
        except (Exception, SystemExit) as error:
            log.warning("the tool %s failed", self.name, exc_info=True)
            kind = str(error) if isinstance(error, ToolError) else type(error).__name__
            return StepResult(error=f"{self.name} broke ({kind}).")  # the message of an error may contain a secret
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) and task.cancelling():
                raise  # the whole turn was cancelled
            return StepResult(error=f"{self.name} was cancelled.")
        return StepResult(text) if text else StepResult(error=f"{self.name} gave nothing.")

    def _arguments(self, question: str) -> tuple[tuple[str, ...], dict[str, str]]:
        """The pattern's named groups, and the question if the function takes another argument."""
        match = self._when.search(question[:MAX_QUESTION_CHARS]) if self._when else None
        named = {name: value for name, value in match.groupdict().items() if value is not None} if match else {}
        signature = inspect.signature(self._function)
        first = next((each for each in signature.parameters.values() if each.kind in _POSITIONAL), None)
        takes_question = first is not None and first.name not in named and (first.default is first.empty or not named)
        return ((question,) if takes_question else ()), named

    def _call(self, arguments: tuple[str, ...], named: dict[str, str]) -> asyncio.Future[Any]:
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


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@overload
def tool(function: Callable[..., Any], *, when: str = "") -> FunctionTool: ...
@overload
def tool(*, when: str = "") -> Callable[[Callable[..., Any]], FunctionTool]: ...
def tool(function: Callable[..., Any] | None = None, *, when: str = "") -> Any:
    """Make a function a tool, as a decorator or by a call: `@turnwise.tool(when=r"weather in (?P<place>\\w+)")`.

    Its name and the first line of its docstring tell a language model what it is for. Without a language model, it is
    called for questions that match `when`, with the named groups as arguments. Its result may be used in the answer.
    """
    if function is None:
        return lambda decorated: FunctionTool(decorated, when)
    return FunctionTool(function, when)


def as_tool(given: Tool | Callable[..., Any]) -> Tool:
    """Return a tool unchanged, and wrap a plain function as one."""
    if all(hasattr(given, part) for part in ("name", "about", "read", "run")):
        if (name := getattr(given, "name", "")) in RESERVED_NAMES:
            raise ToolError(f"{name} cannot be the name of a tool.", "Choose another name.")
        return given  # type: ignore[return-value]
    return FunctionTool(given)  # type: ignore[arg-type]


def _name_of(function: Callable[..., Any]) -> str:
    name = str(getattr(function, "__name__", ""))
    if not callable(function) or not name.isidentifier() or name in RESERVED_NAMES:
        raise ToolError(f"{name or function!r} cannot be the name of a tool.", "Define a function with another name.")
    return name


def _description_of(function: Callable[..., Any], name: str) -> str:
    first_line = inspect.cleandoc(function.__doc__ or "").strip().partition("\n")[0]
    if not first_line:
        raise ToolError(
            f"The function {name} does not say what it is for.",
            "Write a docstring: its first line tells the plan when to use it.",
        )
    return first_line


def _compile_pattern(when: str, function: Callable[..., Any], name: str) -> re.Pattern[str]:
    try:
        pattern = re.compile(when, re.I)
    except re.error as error:
        raise ToolError(f"The pattern of {name} is not a regular expression: {error}.", "Fix `when`.") from error
    parameters = inspect.signature(function).parameters
    takes_any_name = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values())
    unknown = [] if takes_any_name else [group for group in pattern.groupindex if group not in parameters]
    if unknown:
        raise ToolError(
            f"The pattern of {name} names “{unknown[0]}”, which is not a parameter of the function.",
            "The group and the parameter must have the same name.",
        )
    return pattern
