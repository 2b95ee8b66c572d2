from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.test_every_store import accept_elsewhere, check_both_are_whole, end, exchange
from turnwise.errors import LibraryDamaged
from turnwise.sqlite import Database
from turnwise.store.embedded import EmbeddedStore, create_conversations
from turnwise.types import Ending


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "library.db"


@pytest.fixture
def database(path: Path) -> Iterator[Database]:
    database = Database(path)
    yield database
    database.close()


@pytest.fixture
def store(database: Database) -> EmbeddedStore:
    return EmbeddedStore(database)


# --- one turn after another --------------------------------------------------------------------------------------


def test_a_conversation_goes_on_that_began_before_it_was_kept_what_was_shown(database: Database) -> None:
    database.migrate("store", [create_conversations])
    with database.write() as tx:
        tx.execute("INSERT INTO conversations VALUES ('c', 'Old', 1.0, 1.0)")
        turn = "'c', 1, 'Why?', 'So.', 'answered', 1.0"
        tx.execute(f"INSERT INTO turns (conversation_id, number, prompt, response, status, created_at) VALUES ({turn})")
    said = EmbeddedStore(database).accept("c", "And now?").messages()
    assert [(each.content, each.evidence, each.note) for each in said] == [("Why?", (), ""), ("So.", (), "")]


# --- odd input ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["../../etc/passwd", "a\x00b"])
def test_an_id_names_no_file_and_may_hold_a_nul(store: EmbeddedStore, tmp_path: Path, name: str) -> None:
    exchange(store, name, name, name)
    (turn,) = store.conversation(name).turns
    assert (turn.prompt, turn.response) == (name, name)
    assert {file.name.split("-")[0] for file in tmp_path.iterdir()} == {"library.db"}


def test_a_record_may_hold_anything(store: EmbeddedStore) -> None:
    store.accept("c", "Hi")
    odd = {"\ud83d": "\x00\x1f\u2028</script>", "infinite": float("inf"), "path": Path("papers"), "pair": (1, 2)}
    store.finish("c", 1, Ending("answered", "Hello.", record=odd))
    expected = {**odd, "path": "papers", "pair": [1, 2]}
    assert store.conversation("c").turns[0].record == expected


# --- restarts and deaths -----------------------------------------------------------------------------------------


def test_a_conversation_goes_on_after_a_restart(path: Path) -> None:
    for number in (1, 2, 3):
        database = Database(path)
        assert exchange(EmbeddedStore(database), "c", f"Message {number}") == number
        database.close()
    database = Database(path)
    turns = EmbeddedStore(database).conversation("c").turns
    database.close()
    assert [turn.prompt for turn in turns] == ["Message 1", "Message 2", "Message 3"]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the system does not tell")
def test_a_killed_process_that_its_parent_has_not_noticed_is_dead(path: Path, store: EmbeddedStore) -> None:
    process = accept_elsewhere(str(path))
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert store.conversation("c").turns[-1].status == "interrupted"
    end(process)


def test_a_process_number_given_to_another_process_does_not_keep_a_turn_alive(
    store: EmbeddedStore, database: Database
) -> None:
    own = str(os.getpid())
    for number in (own, "1") if Path("/proc/1/stat").exists() else (own,):
        store.accept(number, "Asked before the restart")
        with database.write() as tx:
            tx.execute("UPDATE turns SET owner = ? WHERE conversation_id = ?", (f"{number}:before", number))
        assert store.conversation(number).turns[-1].status == "interrupted"


# --- several writers ---------------------------------------------------------------------------------------------


def test_threads_append_without_losing_or_mixing_turns(store: EmbeddedStore) -> None:
    def talk(name: str) -> None:
        for count in range(40):
            exchange(store, "c", f"{name} {count}", f"answer to {name} {count}")

    threads = [threading.Thread(target=talk, args=(name,)) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check_both_are_whole(store, 40)


# --- size, damage ------------------------------------------------------------------------------------------------


def test_a_conversation_of_2000_turns(store: EmbeddedStore, database: Database) -> None:
    exchange(store, "c", "Message 1")
    with database.write() as tx:
        tx.executemany(
            "INSERT INTO turns (conversation_id, number, prompt, response, status, created_at, sources, record)"
            " SELECT conversation_id, ?, ?, response, status, created_at, sources, ? FROM turns WHERE number = 1",
            [(number, f"Message {number}", '{"trace": "%s"}' % ("x" * 5_000)) for number in range(2, 2001)],
        )
    start = time.thread_time()
    accepted = store.accept("c", "Message 2001")
    assert time.thread_time() - start < 1
    assert [turn.prompt for turn in accepted.turns] == [f"Message {number}" for number in range(1, 2002)]
    store.finish("c", 2001, Ending("answered", "Yes."))
    assert store.conversations()[0]["turns"] == 2001
    assert len(store.conversation("c").turns) == 2001


def test_a_damaged_file_is_reported_with_its_name(path: Path) -> None:
    path.write_bytes(b"not a database " * 1000)
    database = Database(path)
    with pytest.raises(LibraryDamaged, match=r"library\.db"):
        EmbeddedStore(database)
    database.close()
