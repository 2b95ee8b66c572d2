"""Kill a server with SIGKILL while several people talk to it, again and again, and look at what it kept.

    python tests/faults/kill_server.py FOLDER [--kills 200] [--seed 0]

Every server is `turnwise serve` in a process of its own, forked from one that has imported what it needs: it starts in
a fraction of a second. After each kill, all that was acknowledged is there: every turn of which a reader saw `accepted`
or got the answer, once, in the order in which it was asked, the numbers without gaps, answered turns with the text that
was read; and a request that is sent again with its Idempotency-Key gets the answer it got before. It ends with status 1
at the first fault.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

WRITERS = 5  # of whom the last two share a conversation
LIVES = 10  # of the server, after which new conversations are begun
SETTINGS = {"guard": "off", "rerank": "off", "suggestions": "0", "follow_up": "false", "logs": "json"}
CUT = (ConnectionError, http.client.HTTPException, TimeoutError, ValueError, AttributeError)  # what a kill looks like


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--mother", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.mother:
        _be_mother(options.folder)
        return
    began, hit = time.monotonic(), Counter[str]()
    people = [Person(f"writer{n}", "shared" if n >= WRITERS - 2 else "") for n in range(WRITERS)]
    asked: dict[str, list[Asked]] = {}
    _make_library(options.folder)
    with _mother(options.folder) as (orders, answers):
        for kill in range(options.kills):
            rng = random.Random(options.seed * 100_000 + kill)
            writers = [Writer(each, each.conversation(kill)) for each in people]
            _one_life(orders, answers, writers, rng.uniform(0.0, 0.5))
            for writer in writers:
                asked.setdefault(writer.conversation, []).extend(writer.asked)
                hit.update(f"{each.state} when it was killed" for each in writer.asked[-1:])
            faults = [fault for writer in writers for fault in writer.faults]
            faults += _look(options.folder, {writer.conversation: asked[writer.conversation] for writer in writers})
            if faults:
                _end(f"after kill {kill + 1} of seed {options.seed}", faults)
    if faults := _look(options.folder, asked):
        _end("at the end", faults)
    turns = Counter(each.state for several in asked.values() for each in several)
    seconds = time.monotonic() - began
    print(f"{options.kills} kills, nothing lost: {dict(turns)} in {seconds:.0f} s; {dict(hit)}")


def _end(when: str, faults: list[str]) -> None:
    print(f"{when}: " + "\n  ".join(faults))
    sys.exit(1)


# --- those who write ----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Asked:
    """A message, and what came back before the server was killed."""

    message: str
    sum: int
    key: str
    streamed: bool
    state: str = "sent"  # then accepted, then answered
    turn: int = 0
    answer: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Person:
    """Somebody who goes on where the last server left them."""

    name: str
    shares: str = ""
    count: int = 0
    last: Asked | None = None  # the last message that was answered, and where

    def conversation(self, kill: int) -> str:
        return f"{self.shares or self.name}-{kill // LIVES}"


class Writer:
    """A person during one life of the server: asks, reads, asks again, until the connection breaks."""

    def __init__(self, person: Person, conversation: str) -> None:
        self.person = person
        self.conversation = conversation
        self.asked: list[Asked] = []
        self.faults: list[str] = []
        self.answered = threading.Event()  # at least once

    def write(self, port: int) -> None:
        try:
            self._repeat(port)
            while True:
                self._ask(port)
                self.answered.set()
        except CUT:
            return

    def _repeat(self, port: int) -> None:
        """What was answered before is answered the same, and is no second turn."""
        last = self.person.last
        if last is None:
            return
        connection, response = self._send(port, last, last.answer["conversation_id"])
        with closing(connection):
            again = self._read(response, Asked(last.message, last.sum, last.key, last.streamed))
        if again.answer and again.answer != last.answer:
            self.faults.append(f"{last.message!r} is answered otherwise when it is sent again: {again.answer}")
        if again.state == "answered" and response.getheader("Idempotent-Replayed") != "true":
            self.faults.append(f"{last.message!r} is answered twice")

    def _ask(self, port: int) -> None:
        self.person.count += 1
        number = self.person.count * 10 + WRITERS
        added = int(re.sub(r"\D", "", self.person.name)) * 1_000_000
        key = f"{self.person.name} {self.person.count}"
        asked = Asked(f"What is {added} + {number}?", added + number, key, self.person.count % 2 == 0)
        self.asked.append(asked)
        connection, response = self._send(port, asked, self.conversation)
        with closing(connection):
            self._read(response, asked)
        if asked.state == "answered":
            self.person.last = asked

    def _send(self, port: int, asked: Asked, conversation: str) -> tuple[Any, http.client.HTTPResponse]:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        body = {"message": asked.message, "conversation_id": conversation, "stream": asked.streamed}
        headers = {"content-type": "application/json", "idempotency-key": asked.key}
        connection.request("POST", "/api/chat", json.dumps(body), headers)
        return connection, connection.getresponse()

    def _read(self, response: http.client.HTTPResponse, asked: Asked) -> Asked:
        if response.status != 200:
            self.faults.append(f"{asked.message!r} ended in {response.status}: {response.read()[:300]!r}")
            raise ConnectionError
        if not asked.streamed:
            _note_answer(asked, json.loads(response.read()))
            return asked
        event = ""
        while line := response.readline():
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name == "event":
                event = value
            elif name == "data" and line.endswith(b"\n"):
                self._note(asked, event, json.loads(value))
        if asked.state != "answered":
            raise ConnectionError
        return asked

    def _note(self, asked: Asked, event: str, told: dict[str, Any]) -> None:
        if event == "accepted":
            asked.state, asked.turn = "accepted", told["turn"]
        elif event == "answer":
            _note_answer(asked, told)
        elif event == "error":
            self.faults.append(f"{asked.message!r} ended in {told}")


def _note_answer(asked: Asked, told: dict[str, Any]) -> None:
    asked.state, asked.turn, asked.answer = "answered", told["turn"], told


def _one_life(orders: IO[str], answers: IO[str], writers: list[Writer], seconds: float) -> None:
    """Start a server, let all write, and kill it so long after everybody was answered once."""
    orders.write("start\n")
    orders.flush()
    pid = int(answers.readline())
    found = re.search(r"at http://127\.0\.0\.1:(\d+)", answers.readline())
    if not found:
        _end("at its start", ["the server did not come up"])
        return
    threads = [threading.Thread(target=each.write, args=(int(found[1]),), daemon=True) for each in writers]
    for thread in threads:
        thread.start()
    for writer in writers:
        if not writer.answered.wait(60) and not writer.faults:
            writer.faults.append(f"{writer.person.name} got no answer within a minute")
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    for thread in threads:
        thread.join(60)
    if answers.readline() != f"ended by {int(signal.SIGKILL)}\n":
        _end("while it was talked to", ["the server ended before it was killed"])


# --- what is left -------------------------------------------------------------------------------------------------


def _look(folder: Path, asked: dict[str, list[Asked]]) -> list[str]:
    """What is wrong with these conversations."""
    from turnwise.sqlite import Database
    from turnwise.store.embedded import EmbeddedStore

    with closing(Database(folder / "library.db")) as database:
        (whole,) = database.connection().execute("PRAGMA integrity_check").fetchone()
        store = EmbeddedStore(database)
        kept = {name: store.conversation(name).turns for name in asked if store.standings([("", name)])}
    faults = [] if whole == "ok" else [f"the file is damaged: {whole}"]
    for name, several in asked.items():
        turns = kept.get(name, [])
        if [turn.number for turn in turns] != list(range(1, len(turns) + 1)):
            faults.append(f"{name} has the turns {[turn.number for turn in turns]}")
        times = Counter(turn.prompt for turn in turns)
        faults += [f"{name}: {prompt!r} is there {n} times" for prompt, n in times.items() if n > 1]
        by_prompt = {turn.prompt: turn for turn in turns}
        for each in several:
            turn = by_prompt.get(each.message)
            if turn is None:
                faults += [f"{name}: {each.message!r} was {each.state}, and is lost"] if each.state != "sent" else []
            elif turn.status not in ("answered", "interrupted"):
                faults.append(f"{name}: {each.message!r} is {turn.status}")
            elif turn.status == "answered" and f"{each.sum:,}" not in (turn.response or "").replace("\u2009", ","):
                faults.append(f"{name}: {each.message!r} is answered {turn.response!r}")
            elif each.turn and turn.number != each.turn:
                faults.append(f"{name}: {each.message!r} was turn {each.turn}, and is {turn.number}")
            elif each.state == "answered" and (turn.status, turn.response) != ("answered", each.answer["text"]):
                faults.append(f"{name}: {each.message!r} was answered, and is {turn.status}: {turn.response!r}")
        for person in {each.message.split()[2] for each in several}:
            order = [each.message for each in several if each.message.split()[2] == person]
            there = [turn.prompt for turn in turns if turn.prompt in set(order)]
            if there != [message for message in order if message in by_prompt]:
                faults.append(f"{name}: the messages of one writer are out of order")
    return faults


# --- the process that servers are forked from ---------------------------------------------------------------------


def _make_library(folder: Path) -> None:
    from turnwise.app import build
    from turnwise.config import Settings

    with build(Settings(library=str(folder)), create=True):
        pass


@contextmanager
def _mother(folder: Path) -> Iterator[tuple[IO[str], IO[str]]]:
    """Orders to it, and what it and its children say."""
    settings = {f"TURNWISE_{name.upper()}": value for name, value in SETTINGS.items()}
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", **settings}  # what forks must have no threads
    with (
        (folder / "server.log").open("ab") as log,
        subprocess.Popen(
            [sys.executable, __file__, str(folder), "--mother"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, env=environment,
        ) as process,
    ):  # fmt: skip
        assert process.stdin
        assert process.stdout
        try:
            yield process.stdin, process.stdout
        finally:
            process.stdin.close()
            process.wait(60)


def _be_mother(folder: Path) -> None:
    import turnwise.app
    import turnwise.server.run  # what takes long
    from turnwise.cli import main as turnwise

    while os.read(0, 100):
        if pid := os.fork():
            _, status = os.waitpid(pid, 0)
            print(f"ended by {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"ended with {status}", flush=True)
            continue
        print(os.getpid(), flush=True)
        sys.argv = ["turnwise", "serve", "--port", "0", "--library", str(folder)]
        turnwise()
        os._exit(0)


if __name__ == "__main__":
    main()
