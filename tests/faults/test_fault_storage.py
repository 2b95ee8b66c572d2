"""Disks, files, locks, databases and clocks that fail: nothing acknowledged is lost, and what is wrong is said."""

from __future__ import annotations

import logging
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from tests.faults.talking_to import Patient, started
from tests.patience import ended_within, until
from tests.server.scripted import Following
from tests.services import PostgresServer
from turnwise.app import build
from turnwise.config import Settings
from turnwise.errors import LibraryDamaged, TurnwiseError
from turnwise.sqlite import Database
from turnwise.store.embedded import EmbeddedStore
from turnwise.types import Ending

SCHEMAS = sorted((Path(__file__).parent / "schemas").glob("*.sql"))
ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty library."""
    with build(Settings(library=str(tmp_path / "library")), create=True):
        return tmp_path / "library"


def ask(server: Patient, message: str, conversation: str) -> Any:
    return server.post("/api/chat", {"message": message, "conversation_id": conversation, "stream": False})


def kept(folder: Path, conversation: str) -> list[tuple[int, str, str]]:
    with closing(Database(folder / "library.db")) as database:
        turns = EmbeddedStore(database).conversation(conversation).turns
        return [(turn.number or 0, turn.prompt or "", turn.status) for turn in turns]


# --- 31: the disk --------------------------------------------------------------------------------------------------


def test_fault_31_disk_full(folder: Path) -> None:
    """Files of the server may not grow for a while: turns are refused with a reason, and then go on."""
    with started(folder) as server:
        assert ask(server, "What is 1 + 1?", "c").status == 200
        largest = max(file.stat().st_size for file in folder.iterdir() if file.is_file())
        unlimited = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (largest // 4096 * 4096 // 2, unlimited[1]))
        refused = [ask(server, f"What is {n} + 2?", "c") for n in range(3)]
        streamed = server.post("/api/chat", {"message": "What is 9 + 9?", "conversation_id": "c"})
        assert server.get("/api/conversations/c").status == 200
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, unlimited)
        after = ask(server, "What is 3 + 3?", "c")
    for answer in refused:
        assert (answer.status, answer.json["code"]) == (503, "LibraryDamaged"), answer.body
        assert "disk" in answer.json["hint"]
    assert streamed.status == 503 or streamed.events[-1][0] == "error"
    assert after.status == 200
    turns = kept(folder, "c")
    assert [turn for turn in turns if turn[2] == "answered"] == [
        (1, "What is 1 + 1?", "answered"),
        (after.json["turn"], "What is 3 + 3?", "answered"),
    ]
    assert [number for number, *_ in turns] == list(range(1, len(turns) + 1))


READ_ONLY = """
import os, sys
import turnwise.app, turnwise.server.run
from turnwise.cli import main
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
sys.argv = ["turnwise", *sys.argv[1:]]
main()
"""


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """An empty library that other users of this machine can read: the folders of tests are their owner's alone."""
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        with build(Settings(library=f"{place}/library"), create=True):
            pass
        yield Path(place) / "library"


def test_fault_31_read_only_database(open_to_all: Path) -> None:
    with closing(Database(open_to_all / "library.db")) as database:
        store = EmbeddedStore(database)
        store.accept("c", "Hi")
        store.finish("c", 1, Ending("answered", "Hello."))
    files = (open_to_all, *open_to_all.rglob("*"))
    for path in files:
        path.chmod(0o555 if path.is_dir() else 0o444)
    ran = subprocess.run(
        [sys.executable, "-c", READ_ONLY, "serve", "--port", "0", "--library", str(open_to_all)],
        capture_output=True, text=True, timeout=120, check=False, cwd=ROOT,
    )  # fmt: skip
    for path in files:
        path.chmod(0o755)
    assert ran.returncode == 1, ran.stdout
    assert "library.db" in ran.stderr
    assert "you may write to the file" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert kept(open_to_all, "c") == [(1, "Hi", "answered")]


# --- 32: locks -----------------------------------------------------------------------------------------------------

STORM = """
import random, sys, time
from pathlib import Path
from turnwise.sqlite import Database
from turnwise.store.embedded import EmbeddedStore
from turnwise.types import Ending
store = EmbeddedStore(Database(Path(sys.argv[1])))
for number in range(1, 26):
    name = f"{sys.argv[2]}-{number % 3}"
    turn = store.accept(name, f"Message {number}").turns[-1].number
    store.finish(name, turn, Ending("answered", f"Answer {number}"))
"""


def test_fault_32_lock_storm(tmp_path: Path) -> None:
    """Many processes write at once, and one more holds the lock again and again."""
    path = tmp_path / "library.db"
    database = Database(path)
    store = EmbeddedStore(database)
    processes = [
        subprocess.Popen([sys.executable, "-c", STORM, str(path), f"p{n}"], stderr=subprocess.PIPE, text=True, cwd=ROOT)
        for n in range(8)
    ]
    while any(process.poll() is None for process in processes):
        with database.write():
            time.sleep(0.05)
        time.sleep(0.02)
    for process in processes:
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said
    for n in range(8):
        for part in range(3):
            turns = store.conversation(f"p{n}-{part}").turns
            expected = [number for number in range(1, 26) if number % 3 == part]
            assert [turn.prompt for turn in turns] == [f"Message {number}" for number in expected]
            assert [turn.response for turn in turns] == [f"Answer {number}" for number in expected]
            assert [turn.number for turn in turns] == list(range(1, len(expected) + 1))
    database.close()


def test_fault_32_a_lock_that_is_never_given_back(tmp_path: Path) -> None:
    holder = Database(tmp_path / "library.db")
    EmbeddedStore(holder).accept("c", "Hi")
    hasty = Database(tmp_path / "library.db", patience=0.2)
    with ended_within(60), holder.write():
        with pytest.raises(LibraryDamaged, match="locked") as raised:
            EmbeddedStore(hasty).accept("d", "Hi")
        assert "Another process is writing" in raised.value.hint
    store = EmbeddedStore(hasty)
    assert store.accept("d", "Hi").turns[-1].number == 1
    for database in (holder, hasty):
        database.close()


# --- 33: PostgreSQL --------------------------------------------------------------------------------------------------


def test_fault_33_postgres_restarted_while_people_talk(postgres_server: PostgresServer, postgres_url: str) -> None:
    """Each turn ends in an answer or a typed error, and what was answered is there; then all goes on."""
    with build(Settings(database=postgres_url, guard="off", suggestions=0, rerank="off"), create=True) as engine:
        from turnwise.server.run import running

        with running(engine) as address:
            server = Patient(address, engine)
            assert ask(server, "What is 1 + 1?", "c").status == 200
            seen: list[tuple[str, int, Any]] = []
            stop = threading.Event()

            def talk(name: str) -> None:
                number = 0
                while not stop.is_set():
                    number += 1
                    message = f"What is {number} + 100?"
                    answer = ask(server, message, name)
                    seen.append((name, answer.status, (message, answer.json)))

            talkers = [threading.Thread(target=talk, args=(f"talk{n}",)) for n in range(3)]
            for talker in talkers:
                talker.start()
            until(lambda: sum(status == 200 for _, status, _ in seen) >= 3, 60)
            postgres_server.stop()
            failed = len(seen)
            until(lambda: any(status == 503 for _, status, _ in seen[failed:]), 60)
            postgres_server.start()
            back = len(seen)
            until(lambda: len({name for name, status, _ in seen[back:] if status == 200}) == 3, 120)
            stop.set()
            for talker in talkers:
                talker.join(60)
            assert {status for _, status, _ in seen} == {200, 503}
            assert all(told["hint"] for _, status, (_, told) in seen if status == 503)
            for name in ("talk0", "talk1", "talk2"):
                turns = engine.store.conversation(name).turns
                assert [turn.number for turn in turns] == list(range(1, len(turns) + 1))
                answered = {turn.prompt: turn.response for turn in turns if turn.status == "answered"}
                for who, status, (message, told) in seen:
                    if who == name and status == 200:
                        assert answered[message] == told["text"]


# --- 35: the clock -------------------------------------------------------------------------------------------------


def test_fault_35_the_clock_jumps(server: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    name, real = "clock-" + uuid.uuid4().hex, time.time
    jumps = (0.0, -86_400.0, 86_400.0 * 365, -86_400.0 * 3650, 0.0)
    for number, jump in enumerate(jumps, 1):
        monkeypatch.setattr(time, "time", lambda jump=jump: real() + jump)
        answer = ask(server, "What is BERT?" if number == 1 else "Who made it?", name)
        assert (answer.status, answer.json["turn"]) == (200, number)
    monkeypatch.undo()
    turns = server.get(f"/api/conversations/{name}").json["turns"]
    assert [turn["number"] for turn in turns] == [1, 2, 3, 4, 5]
    assert {turn["status"] for turn in turns} == {"answered"}
    assert name in [each["id"] for each in server.get("/api/conversations?limit=100").json["conversations"]]


# --- 38: damaged files ---------------------------------------------------------------------------------------------


KILLED = """
import os, signal, sys
from pathlib import Path
from turnwise.sqlite import Database
from turnwise.store.embedded import EmbeddedStore
from turnwise.types import Ending
store = EmbeddedStore(Database(Path(sys.argv[1])))
for number in range(1, 41):
    store.accept("c", f"Message {number}")
    store.finish("c", number, Ending("answered", "Answer " * 50))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """A database and its WAL with forty turns, as a killed process leaves them."""
    path = tmp_path / "library.db"
    subprocess.run([sys.executable, "-c", KILLED, path], check=False, timeout=120, cwd=ROOT)
    return path


@pytest.mark.parametrize("how", ["cut", "garbled", "gone", "zeros at its end", "half a page"])
def test_fault_38_a_damaged_wal(killed: Path, how: str) -> None:
    """What came before the damage is there, in order; the conversation goes on."""
    prompts = [f"Message {number}" for number in range(1, 41)]
    wal = killed.with_name("library.db-wal")
    data = wal.read_bytes()
    middle = len(data) * 2 // 3
    if how == "gone":
        wal.unlink()
    else:
        damaged = {
            "cut": data[:middle],
            "half a page": data[: middle // 4096 * 4096 + 2000],
            "garbled": data[:middle] + os.urandom(len(data) - middle),
            "zeros at its end": data[:middle] + bytes(len(data) - middle),
        }
        wal.write_bytes(damaged[how])
    with closing(Database(killed)) as database:
        store = EmbeddedStore(database)
        turns = store.conversation("c").turns if store.standings([("", "c")]) else []
        assert [turn.prompt for turn in turns] == prompts[: len(turns)]
        assert {turn.status for turn in turns[:-1]} <= {"answered"}
        assert how == "gone" or len(turns) > 10
        number = store.accept("c", "And now?").turns[-1].number
        store.finish("c", number or 0, Ending("answered", "Now."))
        assert number == len(turns) + 1
        assert database.connection().execute("PRAGMA integrity_check").fetchone()[0] == "ok"


@pytest.mark.parametrize("size", [0.3, 0.7])
def test_fault_38_a_truncated_database_is_said(folder: Path, size: float) -> None:
    for each in ("c", "d"):
        with closing(Database(folder / "library.db")) as database:
            store = EmbeddedStore(database)
            for number in range(1, 21):
                store.accept(each, f"Message {number}")
                store.finish(each, number, Ending("answered", "Answer " * 500))
    file = folder / "library.db"
    file.write_bytes(file.read_bytes()[: int(file.stat().st_size * size)])

    def read() -> None:
        with closing(Database(file)) as database:
            store = EmbeddedStore(database)
            for each in ("c", "d"):
                store.conversation(each)

    with pytest.raises(TurnwiseError) as raised:
        read()
    assert "library.db" in str(raised.value)
    assert raised.value.hint


@pytest.mark.parametrize("which", ["lexical-*/*.term", "lexical-*/meta.json"])
def test_fault_38_a_damaged_index_file_is_made_again_and_said(
    tmp_path: Path, closed_library: Path, caplog: pytest.LogCaptureFixture, which: str
) -> None:
    folder = tmp_path / "library"
    shutil.copytree(closed_library, folder)
    with build(Settings(library=str(folder))) as engine:
        engine.search("How is BERT trained?")
        engine.index.settle()
        before = [hit.passage.id for hit in engine.search("How is BERT trained?")]
    files = list((folder / "library.index").glob(which))
    assert files
    for file in files:
        data = file.read_bytes()
        file.unlink()
        file.write_bytes(data[: len(data) // 2])
    with caplog.at_level(logging.WARNING), running_on(folder) as server:
        answer = ask(server, "How is BERT trained?", "c")
        assert answer.status == 200
        assert answer.json["sources"]
        server.engine.index.settle()
        assert [hit.passage.id for hit in server.engine.search("How is BERT trained?")] == before
        assert cast(Any, server.engine.index).check() == []
    assert any("made again" in message and "library.db" in message for message in caplog.messages)


@contextmanager
def running_on(folder: Path, **settings: Any) -> Iterator[Patient]:
    from turnwise.server.run import running

    with build(Settings(library=str(folder), suggestions=0, **settings)) as engine, running(engine) as address:
        yield Patient(address, engine)


# --- 39: versions --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dump", SCHEMAS, ids=lambda path: path.stem)
def test_fault_39_every_schema_there_was_is_taken_over(tmp_path: Path, dump: Path) -> None:
    """What the code of its time wrote is there: a document that answers, and conversations that go on."""
    with closing(sqlite3.connect(tmp_path / "library.db")) as old:
        old.executescript(dump.read_text())
    for number in (3, 4) if dump == SCHEMAS[0] else (3,):  # and opened again as it is then
        with build(Settings(library=str(tmp_path), guard="off", suggestions=0, rerank="off")) as engine:
            assert [(each.source, each.passages) for each in engine.index.documents()] == [("/zebras.md", 2)]
            engine.embed()
            reply = engine.chat("talk").ask("What do zebras do in herds?")
            assert reply.turn == number
            assert "Zebras graze in herds" in reply.text
            turns = engine.store.conversation("talk").turns
            assert [turn.response for turn in turns[:2]] == ["Answer 1.", "Answer 2."]
            assert [turn.status for turn in engine.store.conversation("cut").turns] == ["interrupted"]
            assert cast(Any, engine.index).check() == []


OLD_WRITER = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], timeout=30, isolation_level=None)
print("ready", flush=True)
for number in range(1, 201):
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("INSERT OR IGNORE INTO conversations (id, title, created_at, last_activity) VALUES (?, ?, 1, 1)", ("old", "Old"))
    connection.execute("INSERT INTO turns (conversation_id, number, prompt, status, created_at, owner) VALUES (?, ?, ?, 'pending', 1, '1:2')", ("old", number, f"Message {number}"))
    connection.execute("COMMIT")
    connection.execute("UPDATE turns SET status = 'answered', response = ?, answered_at = 2, sources = '[]', record = '{}', error = NULL WHERE conversation_id = 'old' AND number = ?", (f"Answer {number}", number))
    time.sleep(0.002)
"""  # noqa: E501  (the statements of the first version)


def test_fault_39_a_migration_during_traffic(tmp_path: Path) -> None:
    """A process of the first version writes on while this one takes the library over."""
    path = tmp_path / "library.db"
    with closing(sqlite3.connect(path)) as old:
        old.execute("PRAGMA journal_mode = WAL")
        old.executescript(SCHEMAS[0].read_text())
    with subprocess.Popen(
        [sys.executable, "-c", OLD_WRITER, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout
        assert writer.stdout.readline() == "ready\n"
        with build(Settings(library=str(tmp_path), guard="off", suggestions=0, rerank="off")) as engine:
            for number in range(3, 8):
                assert engine.chat("talk").ask("What is 2 + 2?").turn == number
            _, said = writer.communicate(timeout=120)
            assert writer.returncode == 0, said
            turns = engine.store.conversation("old").turns
            assert [turn.number for turn in turns] == list(range(1, 201))
            assert [turn.response for turn in turns] == [f"Answer {number}" for number in range(1, 201)]
            assert engine.chat("old").ask("What is 3 + 3?").turn == 201


# --- 42: what is deleted while it is read ---------------------------------------------------------------------------


def test_fault_42_a_collection_deleted_while_it_is_searched(server: Patient) -> None:
    """Whoever asks meanwhile gets an answer, and none that cites what was gone before it was asked."""
    stop, statuses = threading.Event(), []

    def talk(n: int) -> None:
        while not stop.is_set():
            body = {"message": "What do quokkas eat?", "conversation_id": f"quokka-{n}-{uuid.uuid4().hex}"}
            filter_ = {"filter": {"collections": ["quokkas"]}} if n else {}
            answer = server.post("/api/chat", {**body, **filter_, "stream": False})
            statuses.append(answer.status)
            if answer.status != 200:
                statuses.append(answer.body)

    talkers = [threading.Thread(target=talk, args=(n,)) for n in range(3)]
    for talker in talkers:
        talker.start()
    for round_ in range(5):
        for n in range(3):
            text = f"# Quokkas {n}\n\nQuokkas eat grasses, stems and bark in round {round_}.\n".encode()
            assert server.upload(f"/api/documents/quokka-{n}.md?collection=quokkas", text).status in (200, 201)
        count = len(statuses)
        until(lambda count=count: len(statuses) > count, 60)
        assert server.send("DELETE", "/api/collections/quokkas").status == 204
    stop.set()
    for talker in talkers:
        talker.join(60)
    assert set(statuses) == {200}
    gone = server.post("/api/chat", {"message": "What do quokkas eat?", "stream": False}).json
    assert not [source for source in gone["sources"] if "quokka" in source["name"].lower()]


# --- 40: the end of a process, on a real library ---------------------------------------------------------------------


def test_fault_40_sigterm_with_open_streams(folder: Path) -> None:
    with started(folder) as server:
        with Following(server, "POST", "/api/chat", {"message": "What is 1 + 1?", "conversation_id": "c"}) as reader:
            reader.until("accepted")
            server.process.terminate()
            rest = [name for name, _ in iter(reader.next, ("", None))]
        assert rest[-1] in ("answer", "error")
        assert server.process.wait(60) == 0
    assert [(number, prompt) for number, prompt, _ in kept(folder, "c")] == [(1, "What is 1 + 1?")]
