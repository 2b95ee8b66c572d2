"""What the terminal is told: text that is safe to print, JSON, errors with what to do, progress bars."""

from __future__ import annotations

import json
import logging
import re
import sys
from types import TracebackType
from typing import TYPE_CHECKING, Any

import click

from turnwise.logs import TurnFilter

if TYPE_CHECKING:
    from turnwise.errors import TurnwiseError

# Control characters could make a document or an argument command the terminal; half a character cannot be printed.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def printable(text: str) -> str:
    """The text with a replacement mark for each character that is none, or that would command the terminal."""
    return _UNPRINTABLE.sub("\ufffd", text)


def say(text: str = "", dim: bool = False, end: str = "\n") -> None:
    """Print to stdout; `dim` for what is beside the point."""
    shown = printable(text)
    click.echo(click.style(shown, dim=True) if dim else shown, nl=False)
    click.echo(end, nl=False)


def remark(text: str) -> None:
    """Print to stderr: what is about the work, and no part of its result."""
    click.echo(printable(text), err=True)


def say_json(value: Any) -> None:
    """Print a value as one line of JSON. Half a character is escaped, which JSON can and UTF-8 cannot hold."""
    click.echo(json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace").decode())


def complain(error: TurnwiseError, as_json: bool) -> None:
    """Say on stderr what went wrong and what to do; for programs, print it on stdout too."""
    if as_json:
        say_json({"error": error.to_dict()})
    hint = "".join(f"\n  {line}" for line in error.hint.splitlines())
    remark(f"Error: {error}{hint}")


WORDS = {
    "reading": ("Reading {} files", "files"),
    "embedding": ("Understanding {} passages (searchable by words already)", "passages"),
    "checking": ("Looking for instructions to the assistant in {} passages", "passages"),
    "copying documents": ("Copying {} documents", "documents"),
    "copying vectors": ("Copying {} vectors", "vectors"),
    "copying conversations": ("Copying {} conversations", "conversations"),
    "comparing": ("Comparing both sides", "parts"),
}


class Bars:
    """Progress on stderr, on a terminal only. Called with what is being done, how much is done, and of how much."""

    def __init__(self) -> None:
        self._what = ""  # nothing while no bar is shown
        self._bar: Any

    def __call__(self, what: str, done: int, total: int) -> None:
        if not sys.stderr.isatty():
            return
        if what != self._what:
            self._begin(what, total)
        self._bar.total = total
        self._bar.update(done - self._bar.n)
        if done >= total:
            self._end()

    def _begin(self, what: str, total: int) -> None:
        from tqdm import tqdm

        self._end()
        words, unit = WORDS.get(what) or (what, "passages" if what.endswith("embedding") else "questions")
        remark(words.format(f"{total:,}"))
        form = "  {percentage:3.0f}% |{bar:20}| {n_fmt} of {total_fmt}, {rate_noinv_fmt}, {remaining} left"
        self._bar = tqdm(total=total, file=sys.stderr, leave=False, unit=f" {unit}", bar_format=form)
        self._what = what

    def _end(self) -> None:
        if self._what:
            self._bar.close()
            self._what = ""

    def __enter__(self) -> Bars:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._end()


class _Log(logging.Handler):
    """Log lines on stderr; a traceback is for those who ask for it, others get its last line."""

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
    """Show what the parts of Turnwise log from this level on."""
    log = logging.getLogger("turnwise")
    log.handlers = [_Log(tracebacks)]
    log.setLevel(level)
