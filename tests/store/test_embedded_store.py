from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from turnwise.errors import (
    ConversationBusy,
    ConversationError,
    ConversationNotFound,
    LibraryDamaged,
    NotText,
)
from turnwise.sqlite import Database
from turnwise.store.embedded import EmbeddedStore, create_conversations
from turnwise.types import ConversationStore, Message, Source

SOURCE = Source(3, 17, "On “Öl” \x00 \ud83d", "papers/öl.pdf", "Methods > Data", 4, "Oil floats.\u2028", "Oil floats.")


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


def exchange(store: ConversationStore, conversation_id: str, prompt: str, response: str = "Yes.") -> int:
    """One whole turn, waiting while another one is being answered; its number."""
    while True:
        try:
            number = store.accept(conversation_id, prompt).turns[-1].number
            break
        except ConversationBusy:
            time.sleep(0.001)
    store.finish(conversation_id, number, "answered", response)
    return number


def run_python(code: str, *arguments: str) -> subprocess.Popen[str]:
    """Another process with a store open on the file named first."""
    opening = (
        "import sys, time; from pathlib import Path; from turnwise.sqlite import Database;"
        "from turnwise.store.embedded import EmbeddedStore; from turnwise.errors import ConversationBusy\n"
        "store = EmbeddedStore(Database(Path(sys.argv[1])))\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", opening + code, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


ACCEPT_AND_WAIT = "store.accept('c', 'Never answered'); print('accepted', flush=True); sys.stdin.read()"


def accept_elsewhere(path: Path) -> subprocess.Popen[str]:
    """A process that has accepted a message of conversation "c" and is at work on it."""
    process = run_python(ACCEPT_AND_WAIT, str(path))
    assert process.stdout is not None
    assert process.stdout.readline() == "accepted\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


# --- one turn after another --------------------------------------------------------------------------------------


def test_a_turn_is_accepted_and_finished(store: EmbeddedStore) -> None:
    start = time.time()
    accepted = store.accept("c", "What floats?")
    assert [(turn.number, turn.prompt, turn.response, turn.status) for turn in accepted.turns] == [
        (1, "What floats?", None, "pending")
    ]
    assert accepted.messages() == ()

    record = {"condensed_query": "What floats?", "trace": [{"stage": "retrieve", "ms": 1.5}]}
    store.finish("c", 1, "answered", "Oil [3].", [SOURCE], record)
    found = store.conversation("c")
    (turn,) = found.turns
    assert (turn.status, turn.response, turn.sources, turn.record, turn.error) == (
        "answered",
        "Oil [3].",
        (SOURCE,),
        record,
        None,
    )
    assert (
        start
        <= found.created_at.timestamp()
        <= turn.timestamp.timestamp()
        <= found.last_activity.timestamp()
        <= time.time()
    )


def test_a_conversation_goes_on_that_began_before_it_was_kept_what_was_shown(database: Database) -> None:
    database.migrate("store", [create_conversations])
    with database.write() as tx:
        tx.execute("INSERT INTO conversations VALUES ('c', 'Old', 1.0, 1.0)")
        turn = "'c', 1, 'Why?', 'So.', 'answered', 1.0"
        tx.execute(f"INSERT INTO turns (conversation_id, number, prompt, response, status, created_at) VALUES ({turn})")
    said = EmbeddedStore(database).accept("c", "And now?").messages()
    assert [(each.content, each.evidence, each.note) for each in said] == [("Why?", (), ""), ("So.", (), "")]


def test_the_history_of_the_next_turn_has_sources_but_no_records(store: EmbeddedStore) -> None:
    store.accept("c", "What floats?")
    store.finish("c", 1, "answered", "Oil [3].", [SOURCE], {"trace": ["long"]})
    accepted = store.accept("c", "Why?")
    assert [turn.number for turn in accepted.turns] == [1, 2]
    assert [turn.record for turn in accepted.turns] == [{}, {}]
    at = accepted.turns[0].timestamp.timestamp()
    asked, answered = accepted.messages()
    assert asked == Message("user", "What floats?", at=at)
    assert answered == Message("assistant", "Oil [3].", (SOURCE,), at)


def test_a_turn_that_failed_keeps_its_error(store: EmbeddedStore) -> None:
    store.accept("c", "Hi")
    error = {"code": "ModelTimeout", "message": "…", "hint": "Ask again."}
    store.finish("c", 1, "failed", error=error)
    (turn,) = store.conversation("c").turns
    assert (turn.status, turn.response, turn.error) == ("failed", None, error)


def test_a_turn_ends_once(store: EmbeddedStore) -> None:
    exchange(store, "c", "Hi", "Hello.")
    with pytest.raises(ConversationError, match="not waiting"):
        store.finish("c", 1, "answered", "Hello again.")
    with pytest.raises(ConversationError, match="not waiting"):
        store.finish("c", 2, "answered", "To what?")
    with pytest.raises(ConversationError, match="not waiting"):
        store.finish("unknown", 1, "answered", "To whom?")
    assert store.conversation("c").turns[0].response == "Hello."


def test_a_conversation_takes_one_message_at_a_time(store: EmbeddedStore) -> None:
    store.accept("c", "First")
    with pytest.raises(ConversationBusy) as caught:
        store.accept("c", "Second")
    assert "Wait" in caught.value.hint
    store.accept("other", "Not in the way")
    store.finish("c", 1, "answered", "Done.")
    assert [turn.prompt for turn in store.accept("c", "Second").turns] == ["First", "Second"]


def test_an_unknown_conversation_is_not_found(store: EmbeddedStore) -> None:
    with pytest.raises(ConversationNotFound):
        store.conversation("never")
    assert store.conversations() == []


def test_conversations_are_listed_newest_first(store: EmbeddedStore) -> None:
    for name in ("a", "b", "c"):
        exchange(store, name, f"  First words\n of\t{name} ")
    exchange(store, "a", "And more")
    listed = store.conversations()
    assert [(entry["id"], entry["title"], entry["turns"]) for entry in listed] == [
        ("a", "First words of a", 2),
        ("c", "First words of c", 1),
        ("b", "First words of b", 1),
    ]
    assert set(listed[0]) == {"id", "title", "user", "turns", "created_at", "last_activity"}
    assert [entry["id"] for entry in store.conversations(limit=2)] == ["a", "c"]


def test_a_long_first_message_makes_a_short_title(store: EmbeddedStore) -> None:
    store.accept("c", "word " * 1000)
    title = store.conversations()[0]["title"]
    assert len(title) == 100
    assert title.endswith("…")


# --- odd input ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "'; DROP TABLE turns; --",
        '" OR 1=1',
        "../../etc/passwd",
        "%",
        "_",
        "",
        "a\x00b",
        "line\nbreak",
        "🙂" * 50,
        "x" * 100_000,
        "{0}{name}%s",
    ],
)
def test_an_id_is_only_a_name(store: EmbeddedStore, tmp_path: Path, name: str) -> None:
    exchange(store, "mine", "Mine")
    exchange(store, name, name, name)
    (turn,) = store.conversation(name).turns
    assert (turn.prompt, turn.response) == (name, name)
    assert [turn.prompt for turn in store.conversation("mine").turns] == ["Mine"]
    assert {file.name.split("-")[0] for file in tmp_path.iterdir()} == {"library.db"}


def test_half_a_character_is_refused_as_not_text(store: EmbeddedStore) -> None:
    for conversation_id, prompt in (("\ud83d", "Hi"), ("c", "Hi \ud83d")):
        with pytest.raises(NotText):
            store.accept(conversation_id, prompt)
    with pytest.raises(NotText):
        store.conversation("\ud83d")
    assert store.conversations() == []


def test_a_record_may_hold_anything(store: EmbeddedStore) -> None:
    store.accept("c", "Hi")
    odd = {"\ud83d": "\x00\x1f\u2028</script>", "infinite": float("inf"), "path": Path("papers"), "pair": (1, 2)}
    store.finish("c", 1, "answered", "Hello.", record=odd)
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


def test_a_killed_process_leaves_an_interrupted_turn_and_a_usable_conversation(
    path: Path, store: EmbeddedStore
) -> None:
    exchange(store, "c", "Before")
    end(accept_elsewhere(path))
    turn = store.conversation("c").turns[-1]
    assert (turn.prompt, turn.response, turn.status) == ("Never answered", None, "interrupted")
    assert turn.error is not None
    assert turn.error["hint"] == "Ask again."
    with pytest.raises(ConversationError):
        store.finish("c", 2, "answered", "Too late.")
    assert exchange(store, "c", "After") == 3
    assert [turn.status for turn in store.conversation("c").turns] == ["answered", "interrupted", "answered"]


def test_the_next_message_does_not_wait_for_a_dead_process(path: Path, store: EmbeddedStore) -> None:
    end(accept_elsewhere(path))
    accepted = store.accept("c", "After")
    assert [turn.status for turn in accepted.turns] == ["interrupted", "pending"]
    assert [(each.role, each.content) for each in accepted.messages()] == [("user", "Never answered")]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the system does not tell")
def test_a_killed_process_that_its_parent_has_not_noticed_is_dead(path: Path, store: EmbeddedStore) -> None:
    process = accept_elsewhere(path)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert store.conversation("c").turns[-1].status == "interrupted"
    end(process)


def test_a_turn_of_a_process_at_work_is_pending_and_makes_others_wait(path: Path, store: EmbeddedStore) -> None:
    process = accept_elsewhere(path)
    try:
        assert store.conversation("c").turns[-1].status == "pending"
        with pytest.raises(ConversationBusy):
            store.accept("c", "Me too")
    finally:
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


def test_processes_append_without_losing_or_mixing_turns(path: Path, store: EmbeddedStore) -> None:
    code = """
print("ready", flush=True)
sys.stdin.readline()
waits = 0
for count in range(40):
    prompt = f"{sys.argv[2]} {count}"
    while True:
        try:
            number = store.accept("c", prompt).turns[-1].number
            break
        except ConversationBusy:
            waits += 1
            time.sleep(0.001)
    time.sleep(0.002)
    store.finish("c", number, "answered", f"answer to {prompt}")
    time.sleep(0.002)
print(waits)
"""
    processes = [run_python(code, str(path), name) for name in ("a", "b")]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    waits = [int(process.communicate(timeout=30)[0]) for process in processes]
    assert any(waits), "the two never met"
    check_both_are_whole(store, 40)


def check_both_are_whole(store: EmbeddedStore, count: int) -> None:
    turns = store.conversation("c").turns
    assert [turn.number for turn in turns] == list(range(1, 2 * count + 1))
    assert all(turn.response == f"answer to {turn.prompt}" for turn in turns)
    for name in ("a", "b"):
        said = [turn.prompt for turn in turns if turn.prompt.startswith(name)]
        assert said == [f"{name} {number}" for number in range(count)]


def test_of_many_messages_at_once_one_is_taken(store: EmbeddedStore) -> None:
    def send() -> None:
        together.wait()
        try:
            store.accept("c", "Me first")
            outcomes.append("taken")
        except ConversationBusy:
            outcomes.append("busy")

    together = threading.Barrier(8)
    outcomes: list[str] = []
    threads = [threading.Thread(target=send) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["busy"] * 7 + ["taken"]


# --- size, damage ------------------------------------------------------------------------------------------------


def test_a_conversation_of_2000_turns(store: EmbeddedStore, database: Database) -> None:
    exchange(store, "c", "Message 1")
    with database.write() as tx:
        tx.executemany(
            "INSERT INTO turns (conversation_id, number, prompt, response, status, created_at, sources, record)"
            " SELECT conversation_id, ?, ?, response, status, created_at, sources, ? FROM turns WHERE number = 1",
            [(number, f"Message {number}", '{"trace": "%s"}' % ("x" * 5_000)) for number in range(2, 2001)],
        )
    start = time.perf_counter()
    accepted = store.accept("c", "Message 2001")
    assert time.perf_counter() - start < 1
    assert [turn.prompt for turn in accepted.turns] == [f"Message {number}" for number in range(1, 2002)]
    store.finish("c", 2001, "answered", "Yes.")
    assert store.conversations()[0]["turns"] == 2001
    assert len(store.conversation("c").turns) == 2001


def test_a_damaged_file_is_reported_with_its_name(path: Path) -> None:
    path.write_bytes(b"not a database " * 1000)
    database = Database(path)
    with pytest.raises(LibraryDamaged, match=r"library\.db"):
        EmbeddedStore(database)
    database.close()


def test_every_field_of_a_source_survives(store: EmbeddedStore) -> None:
    store.accept("c", "Hi")
    bare = dataclasses.replace(SOURCE, page=None, quote="", heading="")
    store.finish("c", 1, "answered", "Hello.", (source for source in (SOURCE, bare)))
    assert store.conversation("c").turns[0].sources == (SOURCE, bare)
