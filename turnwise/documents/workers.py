"""Reads documents in separate processes with time and memory limits, so that no file can crash the library."""

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

CPU_SECONDS = 120  # for one document
TIMEOUT_SECONDS = 360.0  # wall clock; longer, because the machine may be busy
MEMORY_BYTES = 2 * 1024**3
MAX_WORKERS = 4
SMALL_FILE_BYTES = 64 * 1024  # a smaller file is read in our own process if its reader is pure Python
MAX_LOCAL_BYTES = 512 * 1024  # of such files in total: beyond that, starting a worker pays off

MAX_MESSAGE_BYTES = 1 << 30
_HINT = "It may be damaged or malicious. The other documents were read."

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """A document that was read and split into passages."""

    title: str
    date: str
    chunks: tuple[Chunk, ...]
    hidden: tuple[Hidden, ...] = ()  # text that people do not see


def read_document(name: str, data: bytes) -> ReadDocument:
    """Read a document and split it into passages, in this process."""
    parsed = parse_bytes(name, data)
    return ReadDocument(parsed.title, parsed.date, tuple(chunk(parsed)), parsed.hidden)


class Workers:
    """A few processes that read documents, started when needed."""

    def __init__(
        self,
        seconds: int = CPU_SECONDS,
        timeout: float = TIMEOUT_SECONDS,
        memory: int = MEMORY_BYTES,
        prelude: str = "",
    ) -> None:
        self._seconds = seconds
        self._timeout = timeout
        self._memory = memory
        self._prelude = prelude  # code that a worker runs first
        self._threads = ThreadPoolExecutor(min(os.cpu_count() or 1, MAX_WORKERS), "turnwise-reading")
        self._local = threading.local()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._local_bytes = 0
        self._closed = False

    def read(self, name: str, data: bytes) -> Future[ReadDocument]:
        """Read a document. A small one of a harmless kind is read here, because starting a worker takes longer."""
        if is_pure(name) and len(data) <= SMALL_FILE_BYTES and self._local_bytes + len(data) <= MAX_LOCAL_BYTES:
            self._local_bytes += len(data)
            return run_now(lambda: read_document(name, data))
        return self._threads.submit(self._ask, name, data)

    def close(self) -> None:
        self._closed = True
        for process in self._processes:
            process.kill()
        self._threads.shutdown(cancel_futures=True)
        for process in self._processes:
            _reap(process)

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, name: str, data: bytes) -> ReadDocument:
        """Let this thread's worker read a document. A worker that takes too long is killed and replaced."""
        try:
            process = self._process()
        except OSError as error:
            raise UnreadableDocument(
                f"{name} cannot be read, because no process can be started: {error}", "Try again."
            ) from error
        late = threading.Event()
        timer = threading.Timer(self._timeout, _kill_late, (process, late))
        timer.daemon = True
        timer.start()
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            _send(process.stdin, json.dumps(name).encode(), data)
            return _parse_result(json.loads(_receive(process.stdout)))
        except (OSError, EOFError, ValueError, LookupError, TypeError, AttributeError) as error:
            process.kill()
            raise self._failure(name, process.wait(), late.is_set()) from error
        finally:
            timer.cancel()

    def _process(self) -> subprocess.Popen[bytes]:
        process: subprocess.Popen[bytes] | None = getattr(self._local, "process", None)
        if process is None or process.poll() is not None:
            if process is not None:
                self._processes.remove(process)
                _reap(process)
            process = self._local.process = _start(self._seconds, self._memory, self._prelude)
            self._processes.append(process)
            if self._closed:  # while it was starting
                process.kill()
        return process

    def _failure(self, name: str, status: int, late: bool) -> DocumentError:
        if late or status == -getattr(signal, "SIGXCPU", 0):
            seconds = self._timeout if late else self._seconds
            return UnreadableDocument(f"{name} takes longer than {seconds:g} seconds to read.", _HINT)
        return UnreadableDocument(f"{name} crashed the process that reads it (status {status}).", _HINT)


def run_now(work: Callable[[], T]) -> Future[T]:
    """Run some work right away and return its outcome as a future."""
    future: Future[T] = Future()
    try:
        future.set_result(work())
    except DocumentError as error:
        future.set_exception(error)
    return future


# --- the two ends of the pipe ----------------------------------------------------------------------------------------


def _start(seconds: int, memory: int, prelude: str) -> subprocess.Popen[bytes]:
    """Start a worker with our module path and nothing else: not the main module, which may be a script that would run
    again, nor the current folder, where a document may be named like a module."""
    paths = [os.path.abspath(path) for path in sys.path if path]
    code = (
        f"import sys; sys.path[:] = {paths!r}; {prelude}\n"
        f"from turnwise.documents.workers import work; work({seconds!r}, {memory!r})"
    )
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-P", "-c", code], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)


def work(seconds: int, memory: int) -> None:
    """The main loop of a worker: read documents one by one until the pipe is closed. It replies in JSON, which cannot
    make the parent run anything, even if the worker is compromised."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started us
    inlet, outlet = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # keep what a library prints out of the replies
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


def _parse_result(answer: dict[str, Any]) -> ReadDocument:
    if "error" in answer:
        details = answer["error"]
        kind = getattr(turnwise.errors, details["code"], UnreadableDocument)
        raise (kind if issubclass(kind, DocumentError) else UnreadableDocument)(details["message"], details["hint"])
    chunks = tuple(_chunk(*each) for each in answer["chunks"])
    hidden = tuple(Hidden(str(where), str(text)) for where, text in answer["hidden"])
    return ReadDocument(str(answer["title"]), str(answer["date"]), chunks, hidden)


def _chunk(text: str, heading: str, page: int | None, start: int, end: int) -> Chunk:
    """A passage from a worker's reply, whose types are not trusted."""
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
    message = pipe.read(size) if size <= MAX_MESSAGE_BYTES else b""
    if len(message) < size:
        raise EOFError
    return message


def _kill_late(process: subprocess.Popen[bytes], late: threading.Event) -> None:
    late.set()
    process.kill()


def _reap(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except OSError:
                continue  # the worker exited before everything was written
    process.wait()


# --- limits, if the system supports them -----------------------------------------------------------------------------


def _limit_memory(memory: int) -> None:
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    except (ImportError, ValueError, OSError):
        return


def _limit_time(seconds: int) -> None:
    """Limit the CPU time from now on; after that the system ends this process."""
    try:
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        soft = int(used.ru_utime + used.ru_stime + seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    except (ImportError, ValueError, OSError):
        return
