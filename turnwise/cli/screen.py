"""Output on the terminal: text that is safe to print, JSON, errors with hints, progress bars."""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import sys
from types import TracebackType
from typing import TYPE_CHECKING, Any

import click

from turnwise.logs import TurnFilter

if TYPE_CHECKING:
    from turnwise.errors import TurnwiseError

MAX_TEXT_COLUMNS = 100  # longer lines are hard to read, even on a wide terminal
INDENT = "    "

# Control characters would let a document or an argument control the terminal; lone surrogates cannot be printed.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def printable(text: str) -> str:
    """The text with control characters and lone surrogates replaced."""
    return _UNPRINTABLE.sub("\ufffd", text)


def indented(text: str) -> str:
    """The text indented and wrapped to the width of the terminal."""
    width = shutil.get_terminal_size().columns
    return click.wrap_text(text, min(width, MAX_TEXT_COLUMNS), INDENT, INDENT)


def named(name: str) -> str:
    """The name of a document on one line: a file name may have line breaks, which could pass for another document."""
    return re.sub(r"[\t\n]", "\ufffd", name)


def counted(number: int, name: str) -> str:
    """A number of things: "1 turn", "2,000 turns"."""
    return f"{number:,} {name}{'' if number == 1 else 's'}"


def say(text: str = "", dim: bool = False, end: str = "\n") -> None:
    """Print to stdout; use `dim` for side information."""
    shown = printable(text)
    click.echo(click.style(shown, dim=True) if dim and not os.environ.get("NO_COLOR") else shown, nl=False)
    click.echo(end, nl=False)


def remark(text: str) -> None:
    """Print to stderr: messages that are not part of the result."""
    click.echo(printable(text), err=True)


def say_json(value: Any) -> None:
    """Print a value as one line of JSON. Lone surrogates are escaped: JSON can hold them, UTF-8 cannot."""
    click.echo(json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace").decode())


def complain(error: TurnwiseError, as_json: bool) -> None:
    """Print an error and its hint to stderr, and with `as_json` also as JSON to stdout."""
    if as_json:
        say_json({"error": error.to_dict()})
    hint = "".join(f"\n  {line}" for line in error.hint.splitlines())
    remark(f"Error: {error}{hint}")


PROGRESS_MESSAGES = {  # task: message, unit
    "reading": ("Reading {} files", "files"),
    "embedding": ("Embedding {} passages (already searchable by words)", "passages"),
    "checking": ("Checking {} passages for instructions to the assistant", "passages"),
    "copying documents": ("Copying {} documents", "documents"),
    "copying vectors": ("Copying {} vectors", "vectors"),
    "copying conversations": ("Copying {} conversations", "conversations"),
    "comparing": ("Comparing both sides", "parts"),
}


class Bars:
    """Progress bars on stderr, on a terminal only. Call it with the task, how much is done, and the total."""

    def __init__(self) -> None:
        self._task = ""  # empty while no bar is shown
        self._bar: Any

    def __call__(self, task: str, done: int, total: int) -> None:
        if not sys.stderr.isatty():
            return
        if task != self._task:
            self._begin(task, total)
        self._bar.total = total
        self._bar.update(done - self._bar.n)
        if done >= total:
            self._end()

    def _begin(self, task: str, total: int) -> None:
        from tqdm import tqdm

        self._end()
        message, unit = PROGRESS_MESSAGES.get(task) or (
            task,
            "passages" if task.endswith("embedding") else "questions",
        )
        remark(message.format(f"{total:,}"))
        bar_format = "  {percentage:3.0f}% |{bar:20}| {n_fmt} of {total_fmt}, {rate_noinv_fmt}, {remaining} left"
        self._bar = tqdm(total=total, file=sys.stderr, leave=False, unit=f" {unit}", bar_format=bar_format)
        self._task = task

    def _end(self) -> None:
        if self._task:
            self._bar.close()
            self._task = ""

    def __enter__(self) -> Bars:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._end()


class _StderrHandler(logging.Handler):
    """Log lines on stderr. Without `tracebacks`, an exception is shown on one line."""

    def __init__(self, tracebacks: bool) -> None:
        super().__init__()
        self._tracebacks = tracebacks
        self.addFilter(TurnFilter())
        self.setFormatter(logging.Formatter("%(message)s%(of_turn)s"))

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and not self._tracebacks:
            remark(f"{record.getMessage()}: {record.exc_info[1]!r}{record.__dict__['of_turn']}")
        else:
            remark(self.format(record))


def log_to_stderr(level: int, tracebacks: bool) -> None:
    """Show Turnwise's log messages from this level up."""
    logger = logging.getLogger("turnwise")
    logger.handlers = [_StderrHandler(tracebacks)]
    logger.setLevel(level)
