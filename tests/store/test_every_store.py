"""What holds for conversations wherever they are kept: the same tests on SQLite and on PostgreSQL."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.store.conftest import Open
from turnwise.errors import ConversationBusy, ConversationError, ConversationNotFound, NotText
from turnwise.types import ConversationStore, Ending, Message, Source

SOURCE = Source(3, 17, "On “Öl” \x00 \ud83d", "papers/öl.pdf", "Methods > Data", 4, "Oil floats.\u2028", "Oil floats.")


def exchange(store: ConversationStore, conversation_id: str, prompt: str, response: str = "Yes.") -> int:
    """One whole turn, waiting while another one is being answered; its number."""
    while True:
        try:
            number = store.accept(conversation_id, prompt).turns[-1].number
            break
        except ConversationBusy:
            time.sleep(0.001)
    store.finish(conversation_id, number, Ending("answered", response))
    return number


def run_python(code: str, *arguments: str) -> subprocess.Popen[str]:
    """Another process with a store open at the place named first."""
    opening = """
import sys, time
from pathlib import Path
from turnwise import postgres, sqlite
from turnwise.errors import ConversationBusy
from turnwise.store.embedded import EmbeddedStore
from turnwise.store.postgres import PostgresStore
from turnwise.types import Ending
place = sys.argv[1]
if place.startswith("postgres:"):
    store = PostgresStore(postgres.Database(place))
else:
    store = EmbeddedStore(sqlite.Database(Path(place)))
"""
    return subprocess.Popen(
        [sys.executable, "-c", opening + code, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )


ACCEPT_AND_WAIT = "store.accept('c', 'Never answered'); print('accepted', flush=True); sys.stdin.read()"


def accept_elsewhere(place: str) -> subprocess.Popen[str]:
    """A process that has accepted a message of conversation "c" and is at work on it."""
    process = run_python(ACCEPT_AND_WAIT, place)
    assert process.stdout is not None
    assert process.stdout.readline() == "accepted\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def test_what_a_model_was_shown_comes_back_with_the_message(store: ConversationStore) -> None:
    """Also of a turn that failed: its numbers were given."""
    store.accept("c", "What floats?")
    store.finish(
        "c", 1, Ending("answered", "Oil [3].", [SOURCE], {"odd": "\x00"}, shown=[SOURCE], note="Be kind. \x00\ud83d")
    )
    store.accept("c", "Why?")
    store.finish("c", 2, Ending("failed", error={"message": "no"}, shown=[SOURCE]))
    store.accept("c", "How?")
    store.finish("c", 3, Ending("answered", "So."))
    for found in (store.accept("c", "And then?"), store.conversation("c")):
        shown = [(each.evidence, each.note) for each in found.messages() if each.role == "user"]
        assert shown == [((SOURCE,), "Be kind. \x00\ud83d"), ((SOURCE,), ""), ((), "")]
        assert "shown" not in found.turns[0].record


def test_a_turn_is_accepted_and_finished(store: ConversationStore) -> None:
    start = time.time()
    accepted = store.accept("c", "What floats?")
    assert [(turn.number, turn.prompt, turn.response, turn.status) for turn in accepted.turns] == [
        (1, "What floats?", None, "pending")
    ]
    assert accepted.messages() == ()
    record = {"condensed_query": "What floats?", "trace": [{"stage": "retrieve", "ms": 1.5}], "odd": "\x00\ud83d"}
    store.finish("c", 1, Ending("answered", "Oil [3].", [SOURCE], record))
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


def test_the_history_of_the_next_turn_has_sources_but_no_records(store: ConversationStore) -> None:
    store.accept("c", "What floats?")
    store.finish("c", 1, Ending("answered", "Oil [3].", [SOURCE], {"trace": ["long"]}))
    accepted = store.accept("c", "Why?")
    assert [(turn.number, turn.record) for turn in accepted.turns] == [(1, {}), (2, {})]
    at = accepted.turns[0].timestamp.timestamp()
    assert accepted.messages() == (
        Message("user", "What floats?", at=at),
        Message("assistant", "Oil [3].", (SOURCE,), at),
    )


def test_a_turn_that_failed_keeps_its_error(store: ConversationStore) -> None:
    store.accept("c", "Hi")
    error = {"code": "ModelTimeout", "message": "…", "hint": "Ask again."}
    store.finish("c", 1, Ending("failed", error=error))
    (turn,) = store.conversation("c").turns
    assert (turn.status, turn.response, turn.error) == ("failed", None, error)


def test_a_turn_ends_once(store: ConversationStore) -> None:
    exchange(store, "c", "Hi", "Hello.")
    for conversation_id, number in (("c", 1), ("c", 2), ("unknown", 1)):
        with pytest.raises(ConversationError, match="not waiting"):
            store.finish(conversation_id, number, Ending("answered", "Again."))
    assert store.conversation("c").turns[0].response == "Hello."


def test_a_conversation_takes_one_message_at_a_time(store: ConversationStore) -> None:
    store.accept("c", "First")
    with pytest.raises(ConversationBusy) as caught:
        store.accept("c", "Second")
    assert "Wait" in caught.value.hint
    store.accept("other", "Not in the way")
    store.finish("c", 1, Ending("answered", "Done."))
    assert [turn.prompt for turn in store.accept("c", "Second").turns] == ["First", "Second"]


def test_conversations_are_listed_newest_first(store: ConversationStore) -> None:
    assert store.conversations() == []
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


def test_a_long_first_message_makes_a_short_title(store: ConversationStore) -> None:
    store.accept("c", "word " * 1000)
    title = store.conversations()[0]["title"]
    assert len(title) == 100
    assert title.endswith("…")


def test_every_field_of_a_source_survives(store: ConversationStore) -> None:
    store.accept("c", "Hi")
    bare = dataclasses.replace(SOURCE, page=None, quote="", heading="")
    store.finish("c", 1, Ending("answered", "Hello.", (source for source in (SOURCE, bare))))
    assert store.conversation("c").turns[0].sources == (SOURCE, bare)


@pytest.mark.parametrize(
    "name",
    [
        "'; DROP TABLE turns; --",
        '" OR 1=1',
        "../../etc/passwd",
        "%",
        "_",
        "",
        "line\nbreak",
        "🙂" * 50,
        "x" * 100_000,
        "{0}{name}%s",
    ],
)
def test_an_id_is_only_a_name(store: ConversationStore, name: str) -> None:
    exchange(store, "mine", "Mine")
    exchange(store, name, name, name)
    (turn,) = store.conversation(name).turns
    assert (turn.prompt, turn.response) == (name, name)
    assert {entry["id"] for entry in store.conversations()} == {"mine", name}
    assert [turn.prompt for turn in store.conversation("mine").turns] == ["Mine"]


def test_half_a_character_is_refused_as_not_text(store: ConversationStore) -> None:
    for conversation_id, prompt in (("\ud83d", "Hi"), ("c", "Hi \ud83d")):
        with pytest.raises(NotText):
            store.accept(conversation_id, prompt)
    with pytest.raises(NotText):
        store.conversation("\ud83d")
    with pytest.raises(ConversationNotFound):
        store.conversation("c")
    assert store.conversations() == []


def test_a_killed_process_leaves_an_interrupted_turn_and_a_usable_conversation(
    place: str, store: ConversationStore
) -> None:
    exchange(store, "c", "Before")
    end(accept_elsewhere(place))
    turn = store.conversation("c").turns[-1]
    assert (turn.prompt, turn.response, turn.status) == ("Never answered", None, "interrupted")
    assert turn.error is not None
    assert turn.error["hint"] == "Ask again."
    with pytest.raises(ConversationError):
        store.finish("c", 2, Ending("answered", "Too late."))
    end(accept_elsewhere(place))
    accepted = store.accept("c", "After")
    assert [turn.status for turn in accepted.turns] == ["answered", "interrupted", "interrupted", "pending"]
    assert [each.content for each in accepted.messages()] == ["Before", "Yes.", *["Never answered"] * 2]


def test_a_turn_of_a_process_at_work_is_pending_and_makes_others_wait(place: str, store: ConversationStore) -> None:
    process = accept_elsewhere(place)
    try:
        assert store.conversation("c").turns[-1].status == "pending"
        with pytest.raises(ConversationBusy):
            store.accept("c", "Me too")
    finally:
        end(process)


def test_processes_append_without_losing_or_mixing_turns(place: str, store: ConversationStore) -> None:
    code = """
print("ready", flush=True)
sys.stdin.readline()
waits = 0
for count in range(20):
    prompt = f"{sys.argv[2]} {count}"
    while True:
        try:
            number = store.accept("c", prompt).turns[-1].number
            break
        except ConversationBusy:
            waits += 1
            time.sleep(0.001)
    time.sleep(0.005)
    store.finish("c", number, Ending("answered", f"answer to {prompt}"))
    time.sleep(0.005)
print(waits)
"""
    processes = [run_python(code, place, name) for name in ("a", "b")]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    waits = [int(process.communicate(timeout=60)[0]) for process in processes]
    assert any(waits), "the two never met"
    check_both_are_whole(store, 20)


def check_both_are_whole(store: ConversationStore, count: int) -> None:
    turns = store.conversation("c").turns
    assert [turn.number for turn in turns] == list(range(1, 2 * count + 1))
    assert all(turn.response == f"answer to {turn.prompt}" for turn in turns)
    for name in ("a", "b"):
        said = [turn.prompt for turn in turns if turn.prompt.startswith(name)]
        assert said == [f"{name} {number}" for number in range(count)]


def test_of_many_messages_at_once_one_is_taken(open_store: Open) -> None:
    stores = [open_store() for _ in range(4)]
    together = threading.Barrier(8)
    outcomes: list[str] = []

    def send(store: ConversationStore) -> None:
        together.wait()
        try:
            store.accept("c", "Me first")
            outcomes.append("taken")
        except ConversationBusy:
            outcomes.append("busy")

    threads = [threading.Thread(target=send, args=(store,)) for store in (*stores, *stores)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["busy"] * 7 + ["taken"]


def test_a_turn_whose_end_cannot_be_written_down_is_over_all_the_same(store: ConversationStore) -> None:
    store.accept("c", "Why?")
    with pytest.raises((TypeError, AttributeError)):
        store.finish("c", 1, Ending("answered", 5))  # type: ignore[arg-type]
    assert [turn.status for turn in store.conversation("c").turns] == ["interrupted"]
    assert store.accept("c", "And now?").turns[-1].number == 2
