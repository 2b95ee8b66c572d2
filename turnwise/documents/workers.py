"""Reading in processes of their own, so that no file can take the library down: each has a limit of time and memory."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import IO, Any, TypeVar

import turnwise.errors
from turnwise.documents.chunk import chunk
from turnwise.documents.parse import is_pure, parse_bytes
from turnwise.errors import DocumentError, UnreadableDocument
from turnwise.types import Chunk, Hidden

SECONDS = 120  # of computing, for one document
LONGEST = 360.0  # seconds on the clock: the machine may have other work
MEMORY = 2 * 1024**3  # bytes
MOST_WORKERS = 4
SMALL = 64 * 1024  # bytes of a file that is read in our own process, if its reader is Python code
FEW = 512 * 1024  # bytes of such files altogether: from there on it pays to start a worker

LONGEST_MESSAGE = 1 << 30  # bytes
_HINT = "It may be damaged or made to do harm. All others were read."

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """A document that was read and cut into passages."""

    title: str
    date: str
    chunks: tuple[Chunk, ...]
    hidden: tuple[Hidden, ...] = ()  # what its readers do not see


def read_document(name: str, data: bytes) -> ReadDocument:
    """Read a document and cut it into passages, here and now."""
    parsed = parse_bytes(name, data)
    return ReadDocument(parsed.title, parsed.date, tuple(chunk(parsed)), parsed.hidden)


class Workers:
    """A few processes that read documents, started when there is work for them."""

    def __init__(
        self, seconds: int = SECONDS, longest: float = LONGEST, memory: int = MEMORY, prelude: str = ""
    ) -> None:
        self._seconds = seconds
        self._longest = longest
        self._memory = memory
        self._prelude = prelude  # code that a worker runs first
        self._threads = ThreadPoolExecutor(min(os.cpu_count() or 1, MOST_WORKERS), "turnwise-reading")
        self._local = threading.local()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._read_here = 0
        self._closed = False

    def read(self, name: str, data: bytes) -> Future[ReadDocument]:
        """A document to be. A small one of a harmless kind is read at once: a worker takes longer to start."""
        if is_pure(name) and len(data) <= SMALL and self._read_here + len(data) <= FEW:
            self._read_here += len(data)
            return done(lambda: read_document(name, data))
        return self._threads.submit(self._ask, name, data)

    def close(self) -> None:
        self._closed = True
        for process in self._processes:
            process.kill()
        self._threads.shutdown(cancel_futures=True)
        for process in self._processes:
            _end(process)

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, name: str, data: bytes) -> ReadDocument:
        """Have the worker of this thread read a document. One that runs over its time is killed, and replaced."""
        try:
            process = self._process()
        except OSError as error:
            raise UnreadableDocument(
                f"{name} cannot be read: no process can be started: {error}", "Try again."
            ) from error
        late = threading.Event()
        timer = threading.Timer(self._longest, _stop, (process, late))
        timer.daemon = True
        timer.start()
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            _send(process.stdin, json.dumps(name).encode(), data)
            return _told(json.loads(_receive(process.stdout)))
        except (OSError, EOFError, ValueError, LookupError, TypeError, AttributeError) as error:
            process.kill()
            raise self._died(name, process.wait(), late.is_set()) from error
        finally:
            timer.cancel()

    def _process(self) -> subprocess.Popen[bytes]:
        process: subprocess.Popen[bytes] | None = getattr(self._local, "process", None)
        if process is None or process.poll() is not None:
            if process is not None:
                self._processes.remove(process)
                _end(process)
            process = self._local.process = _start(self._seconds, self._memory, self._prelude)
            self._processes.append(process)
            if self._closed:  # while it was starting
                process.kill()
        return process

    def _died(self, name: str, status: int, late: bool) -> DocumentError:
        if late or status == -getattr(signal, "SIGXCPU", 0):
            seconds = self._longest if late else self._seconds
            return UnreadableDocument(f"{name} takes longer than {seconds:g} seconds to read.", _HINT)
        return UnreadableDocument(f"{name} broke the program that reads it (status {status}).", _HINT)


def done(work: Callable[[], T]) -> Future[T]:
    """The outcome of some work, done here and now, as a future."""
    future: Future[T] = Future()
    try:
        future.set_result(work())
    except DocumentError as error:
        future.set_exception(error)
    return future


# --- the two ends of the pipe ----------------------------------------------------------------------------------------


def _start(seconds: int, memory: int, prelude: str) -> subprocess.Popen[bytes]:
    """Start a worker with our paths of modules, and with nothing else of ours: neither the main module, which may be a
    script that would run again, nor the folder we are in, where a document may be named like a module."""
    paths = [os.path.abspath(path) for path in sys.path if path]
    code = (
        f"import sys; sys.path[:] = {paths!r}; {prelude}\n"
        f"from turnwise.documents.workers import work; work({seconds!r}, {memory!r})"
    )
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-P", "-c", code], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)


def work(seconds: int, memory: int) -> None:
    """What a worker does: read what it is given, one document after the other, until the pipe is closed. It answers in
    JSON, which cannot make our process run anything, whatever has become of the worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started us
    inlet, outlet = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    _limit_memory(memory)
    while True:
        try:
            name, data = json.loads(_receive(inlet)), _receive(inlet)
        except EOFError:
            return
        _limit_time(seconds)
        _send(outlet, json.dumps(_answer(name, data, memory)).encode())
        del data


def _answer(name: str, data: bytes, memory: int) -> dict[str, Any]:
    try:
        read = read_document(name, data)
    except DocumentError as error:
        return {"error": error.to_dict()}
    except MemoryError:
        message = f"{name} takes more than {memory >> 20:,} MB of memory to read."
        return {"error": UnreadableDocument(message, _HINT).to_dict()}
    chunks = [[each.text, each.heading, each.page, each.start, each.end] for each in read.chunks]
    hidden = [[each.where, each.text] for each in read.hidden]
    return {"title": read.title, "date": read.date, "chunks": chunks, "hidden": hidden}


def _told(answer: dict[str, Any]) -> ReadDocument:
    if "error" in answer:
        told = answer["error"]
        kind = getattr(turnwise.errors, told["code"], UnreadableDocument)
        raise (kind if issubclass(kind, DocumentError) else UnreadableDocument)(told["message"], told["hint"])
    chunks = tuple(_chunk(*each) for each in answer["chunks"])
    hidden = tuple(Hidden(str(where), str(text)) for where, text in answer["hidden"])
    return ReadDocument(str(answer["title"]), str(answer["date"]), chunks, hidden)


def _chunk(text: str, heading: str, page: int | None, start: int, end: int) -> Chunk:
    """A passage of an answer, of which nothing is taken for granted."""
    return Chunk(str(text), str(heading), None if page is None else int(page), int(start), int(end))


def _send(pipe: IO[bytes], *messages: bytes) -> None:
    for message in messages:
        pipe.write(len(message).to_bytes(8, "big"))
        pipe.write(message)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> bytes:
    length = pipe.read(8)
    if len(length) < 8:
        raise EOFError
    size = int.from_bytes(length, "big")
    message = pipe.read(size) if size <= LONGEST_MESSAGE else b""
    if len(message) < size:
        raise EOFError
    return message


def _stop(process: subprocess.Popen[bytes], late: threading.Event) -> None:
    late.set()
    process.kill()


def _end(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except OSError:
                continue  # it had left before all was written
    process.wait()


# --- limits, where the system has them -------------------------------------------------------------------------------


def _limit_memory(memory: int) -> None:
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    except (ImportError, ValueError, OSError):
        return


def _limit_time(seconds: int) -> None:
    """So many seconds of computing from now on; then the system ends us."""
    try:
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        soft = int(used.ru_utime + used.ru_stime + seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    except (ImportError, ValueError, OSError):
        return
