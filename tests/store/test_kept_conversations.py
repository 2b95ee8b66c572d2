"""What people do with conversations that are kept: list, find, name, branch, bring in, rate, count and delete them."""

from __future__ import annotations

import dataclasses
import random
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.store.conftest import Open
from turnwise import facts as counting
from turnwise.conversation import Conversation, Turn
from turnwise.errors import BadRequest, ConversationBusy, ConversationError, ConversationNotFound, NotText
from turnwise.types import ConversationStore, Ending, Source

SOURCE = Source(3, 17, "On “Öl”", "papers/öl.pdf", "Methods > Data", 4, "Oil floats.", "Oil floats.")
NO_ONE = "nobody"  # an id that is never given


def exchange(store: ConversationStore, conversation_id: str, prompt: str, response: str = "Yes.", **more: Any) -> int:
    number = store.accept(conversation_id, prompt, more.pop("user", "")).turns[-1].number
    store.finish(conversation_id, number, Ending("answered", response, **more))
    return number


def ids(store: ConversationStore, **asked: Any) -> list[str]:
    return [entry["id"] for entry in store.conversations(**asked)]


# --- tenants ------------------------------------------------------------------------------------------------------


OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["", "acme", "acme.b"]),
        st.sampled_from(["ask", "ask", "delete", "branch", "rename", "put", "rate"]),
        st.sampled_from(["c", "acme\x1fc", "\x1fc", "b\x1fc"]),
    ),
    max_size=14,
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(operations=OPERATIONS)
def test_each_tenant_has_conversations_of_its_own_whatever_the_others_do(
    store: ConversationStore, operations: list[tuple[str, str, str]]
) -> None:
    tenants = {name: store.of(name) for name in ("", "acme", "acme.b")}
    for view in tenants.values():
        for each in ids(view):
            view.delete(each)
    model: dict[str, dict[str, list[str]]] = {name: {} for name in tenants}
    for count, (tenant, operation, name) in enumerate(operations):
        view, mine, said = tenants[tenant], model[tenant], f"{tenant or 'own'} {count}"
        try:
            match operation:
                case "ask":
                    exchange(view, name, said)
                    mine.setdefault(name, []).append(said)
                case "delete":
                    view.delete(name)
                    del mine[name]
                case "branch":
                    view.branch(name, 2, f"{name} {count}")
                    mine[f"{name} {count}"] = mine[name][:1]
                case "rename":
                    view.rename(name, said)
                    assert view.conversation(name).metadata["title"] == said
                case "put":
                    view.put(Conversation(name, turns=[Turn(said, "Yes.")]))
                    mine[name] = [said]
                case "rate":
                    view.rate(name, 1, {"rating": "up"})
        except ConversationNotFound:
            assert name not in mine
        except ConversationError:
            assert operation == "put"
            assert name in mine
    for tenant, view in tenants.items():
        kept = {each: [turn.prompt for turn in view.conversation(each).turns] for each in ids(view)}
        assert kept == model[tenant]
        standings = store.standings((tenant, name) for name in ("c", "acme\x1fc", "\x1fc", "b\x1fc"))
        assert {name for _, name in standings} <= set(model[tenant])
        own = f"{tenant or 'own'} "
        assert all(prompt.startswith(own) for prompts in kept.values() for prompt in prompts)


def test_nothing_of_a_tenant_can_be_told_from_what_there_is_not(store: ConversationStore) -> None:
    mine, other = store.of("mine"), store.of("other")
    exchange(mine, "c", "A secret of mine", facts={"intent": "secret"}, user="me")
    attempts = (
        lambda view, name: view.conversation(name),
        lambda view, name: view.turn(name, 1),
        lambda view, name: view.rename(name, "Taken"),
        lambda view, name: view.delete(name),
        lambda view, name: view.branch(name, 2, "new"),
        lambda view, name: view.rate(name, 1, {"rating": "up"}),
        lambda view, name: view.finish(name, 1, Ending("answered", "Mine now.")),
    )
    for view in (other, store):
        for attempt in attempts:
            told = []
            for name in ("c", NO_ONE):
                with pytest.raises(ConversationError) as caught:
                    attempt(view, name)
                told.append((type(caught.value), str(caught.value).replace(repr(name), "…"), caught.value.hint))
            assert told[0] == told[1]
        assert view.conversations(search="secret") == view.conversations() == []
        assert list(view.facts()) == []
    assert store.standings([("other", "c"), ("", "c")]) == {}
    assert exchange(other, "c", "My own") == 1
    assert [turn.prompt for turn in mine.conversation("c").turns] == ["A secret of mine"]
    assert mine.conversation("c").id == other.conversation("c").id == "c"


def test_a_view_waits_for_the_turns_of_the_same_tenant_only(store: ConversationStore) -> None:
    store.of("a").accept("c", "First")
    store.of("b").accept("c", "Not in the way")
    with pytest.raises(ConversationBusy):
        store.of("a").accept("c", "Second")
    store.of("a").finish("c", 1, Ending("answered", "Done."))
    assert store.of("a").conversation("c").turns[0].response == "Done."


@pytest.mark.parametrize("name", ["a\x1fb", "a b", "ä", "x" * 65, "a/b", "a\n"])
def test_what_cannot_be_a_tenant_is_refused(store: ConversationStore, name: str) -> None:
    with pytest.raises(BadRequest, match="tenant"):
        store.of(name)
    with pytest.raises(BadRequest, match="tenant"):
        store.keys.create("laptop", name)


# --- lists and search ---------------------------------------------------------------------------------------------


def test_a_conversation_is_of_the_user_who_began_it(store: ConversationStore) -> None:
    exchange(store, "a", "One", user="ann")
    exchange(store, "a", "Two", user="ben")
    exchange(store, "b", "Three")
    assert store.conversation("a").user_id == "ann"
    assert store.accept("b", "Four").user_id is None
    assert [entry["user"] for entry in store.conversations()] == ["", "ann"]
    assert ids(store, user="ann") == ["a"]
    assert ids(store, user="") == ["b"]
    assert ids(store, user="ben") == []


def test_a_long_list_is_read_a_page_at_a_time(store: ConversationStore) -> None:
    for number in range(7):
        exchange(store, str(number), "Hi")
    pages, before = [], None
    while page := store.conversations(limit=3, before=before):
        pages.append([entry["id"] for entry in page])
        before = page[-1]["last_activity"]
    assert pages == [["6", "5", "4"], ["3", "2", "1"], ["0"]]


def test_a_search_finds_all_its_words_in_any_letters(store: ConversationStore) -> None:
    exchange(store, "oil", "Was ist ÖL?", "ÉMULSION is 100% oil_and_water.")
    exchange(store, "water", "What is water?", "Not oil!and wax.")
    store.rename("water", "Über Wasser")
    for words, found in {
        "öl": ["oil"],
        "Öl émulsion": ["oil"],
        "OIL": ["water", "oil"],
        "water oil": ["water", "oil"],
        "100%": ["oil"],
        "1%": [],
        "oil_and": ["oil"],
        "l!a": ["water"],
        "über wasser": ["water"],
        "über öl": [],
        "'; DROP TABLE turns; --": [],
        "\x00": [],
        "\ud83d": [],
        "x" * 10_000: [],
        "what " * 500: ["water"],
    }.items():
        assert ids(store, search=words) == found, words
    assert ids(store, search="  ") == ["water", "oil"]
    assert "snippet" not in store.conversations()[0]


def test_a_snippet_is_a_line_around_the_first_word_found(store: ConversationStore) -> None:
    before, after = "Before that. " * 30, "and what came after it. " * 30
    exchange(store, "c", "Tell me", f"{before}\n\n* The **Needle**  is <b>here</b>,\n{after}")
    (entry,) = store.conversations(search="needle")
    snippet = entry["snippet"]
    assert "The **Needle** is <b>here</b>, and" in snippet
    assert snippet.startswith("…")
    assert snippet.endswith("…")
    assert 80 <= len(snippet) <= 130
    store.rename("c", "A haystack")
    assert store.conversations(search="haystack")[0]["snippet"] == "A haystack"
    exchange(store, "d", "Where is the needle?", "In the haystack.")
    assert store.conversations(search="needle haystack")[0]["snippet"] == "Where is the needle?"


@given(
    before=st.text(max_size=300),
    word=st.text(st.characters(whitelist_categories=["L", "N"]), min_size=1, max_size=200),
    after=st.text(max_size=300),
)
def test_a_snippet_is_short_and_of_the_text(before: str, word: str, after: str) -> None:
    from turnwise.store.rows import SNIPPET_CHARS, snippet

    text = f"{before} {word} {after}"
    made = snippet(text, [word.lower()])
    assert made.strip("…") in " ".join(text.split()) or "…" in text
    assert len(made) <= max(SNIPPET_CHARS, SNIPPET_CHARS // 3 + len(word)) + 2


# --- names, deletion ----------------------------------------------------------------------------------------------


def test_a_conversation_can_be_renamed(store: ConversationStore) -> None:
    exchange(store, "c", "First words")
    before = store.conversations()[0]
    store.rename("c", "  A better\ntitle ")
    assert store.conversations() == [{**before, "title": "A better title"}]
    assert store.conversation("c").metadata == {"title": "A better title", "ancestors": []}
    with pytest.raises(BadRequest):
        store.rename("c", " \n")
    with pytest.raises(NotText):
        store.rename("c", "\ud83d")
    with pytest.raises(ConversationNotFound):
        store.rename(NO_ONE, "Title")


def test_a_deleted_conversation_is_gone_and_its_id_free(store: ConversationStore) -> None:
    exchange(store, "c", "Old words", facts={"a": 1})
    store.rate("c", 1, {"rating": "up"})
    exchange(store, "other", "Stays")
    store.delete("c")
    assert ids(store) == ["other"]
    assert store.conversations(search="old") == []
    assert [each["conversation_id"] for each in store.facts()] == ["other"]
    for attempt in (store.conversation, store.delete, lambda name: store.turn(name, 1)):
        with pytest.raises(ConversationNotFound):
            attempt("c")
    assert exchange(store, "c", "New words") == 1
    assert store.conversation("c").turns[0].metadata == {}


def test_an_answer_to_a_deleted_conversation_goes_nowhere(store: ConversationStore, open_store: Open) -> None:
    """Nor into a new conversation of the same id, whichever process begins it."""
    for answering, deleting in ((store, store), (store, open_store())):
        answering.accept("c", "Old")
        deleting.delete("c")
        begun = answering.accept("c", "New").turns
        assert [(turn.prompt, turn.status) for turn in begun] == [("New", "pending")]
        with pytest.raises(ConversationError, match="not waiting"):
            answering.finish("c", 1, Ending("answered", "To the old one."))
        answering.finish("c", begun[-1].number, Ending("answered", "To the new one."))
        assert [turn.response for turn in answering.conversation("c").turns] == ["To the new one."]
        answering.delete("c")


# --- branches and imports -----------------------------------------------------------------------------------------


def test_a_branch_goes_on_from_before_a_turn(store: ConversationStore) -> None:
    shown = {"shown": [SOURCE], "note": "Be kind.", "sources": [SOURCE], "record": {"trace": ["…"]}}
    exchange(store, "c", "One", "1 [3]", user="ann", facts={"n": 1}, **shown)
    exchange(store, "c", "Two", "2", facts={"n": 2})
    store.rate("c", 1, {"rating": "up"})
    store.rename("c", "Counting")
    store.accept("c", "Three")
    store.branch("c", 2, "d")
    store.branch("d", 2, "e")
    store.branch("c", 9, "all")
    assert {each["id"]: each.get("branch_of") for each in store.conversations()} == {
        "c": None,
        "d": "c",
        "e": "d",
        "all": "c",
    }
    copy, origin = store.conversation("e"), store.conversation("c")
    assert copy.turns == origin.turns[:1]
    assert (copy.user_id, copy.metadata) == ("ann", {"title": "Counting", "ancestors": ["d", "c"]})
    assert store.accept("e", "Else").metadata["ancestors"] == ["d", "c"]
    store.finish("e", 2, Ending("answered", "Other", facts={"n": 3}))
    assert [turn.status for turn in store.conversation("all").turns] == ["answered", "answered", "interrupted"]
    assert [turn.prompt for turn in store.conversation("c").turns] == ["One", "Two", "Three"]
    assert [(each["conversation_id"], each.get("n")) for each in store.facts()] == [
        ("c", 1),
        ("c", 2),
        ("c", None),
        ("e", 3),
    ], "what was copied is counted once"
    store.delete("c")
    assert [turn.prompt for turn in store.conversation("e").turns] == ["One", "Else"]


def test_a_branch_before_the_first_turn_is_empty_and_can_be_talked_in(store: ConversationStore) -> None:
    exchange(store, "c", "One")
    store.branch("c", 1, "d")
    assert store.conversation("d").turns == []
    assert store.standings([("", "d")])["", "d"][:2] == (0, "")
    assert exchange(store, "d", "Else") == 1
    assert store.conversation("d").metadata["ancestors"] == ["c"]


def test_a_branch_needs_a_conversation_and_a_new_id(store: ConversationStore) -> None:
    exchange(store, "c", "One")
    exchange(store, "d", "Two")
    with pytest.raises(ConversationNotFound):
        store.branch(NO_ONE, 2, "new")
    with pytest.raises(ConversationError, match="already"):
        store.branch("c", 2, "d")
    assert sorted(ids(store)) == ["c", "d"]
    assert [turn.prompt for turn in store.conversation("d").turns] == ["Two"]


def test_an_exported_conversation_comes_back_the_same(store: ConversationStore) -> None:
    exchange(store, "c", "One", "1 [3]", sources=[SOURCE], shown=[SOURCE], record={"trace": []}, user="ann")
    store.finish("c", store.accept("c", "Bad").turns[-1].number, Ending("blocked", error={"code": "MessageBlocked"}))
    store.rate("c", 1, {"rating": "down", "comment": "No “good” \x00\ud83d"})
    origin = store.conversation("c")
    exported = Conversation.from_dict({**origin.to_dict(), "id": "d"})
    store.put(exported)
    found = store.conversation("d")
    assert found.turns == origin.turns
    assert found.user_id == "ann"
    assert (found.created_at, found.last_activity) == (origin.created_at, origin.last_activity)
    assert found.metadata["title"] == "One"
    assert found.refused() == origin.refused()
    with pytest.raises(ConversationError, match="already"):
        store.put(exported)
    assert exchange(store, "d", "And now?") == 3
    counted = [(each["conversation_id"], each["number"]) for each in store.facts()]
    assert counted == [("c", 1), ("c", 2), ("d", 3)], "what was asked elsewhere is counted there"


def test_an_import_may_be_odd_and_promises_nothing(store: ConversationStore) -> None:
    loop: dict[str, Any] = {"scaffolding": "hint"}
    loop["self"] = loop
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    turns = [
        Turn(None, "Hello \x00\ud83d!", number=9, metadata=loop),
        Turn("Waits", None, number=9, timestamp=tomorrow),
        Turn("Big", "Yes", metadata={"x": "y" * 1_000_000, "object": object()}, record={"at": object()}),
    ]
    noted = {"ancestors": ["not-mine"], "huge": "y" * 1_000_000, "title": "Said elsewhere"}
    store.put(Conversation("odd", metadata=noted, turns=turns, last_activity=tomorrow))
    found = store.conversation("odd")
    assert [(turn.number, turn.status) for turn in found.turns] == [
        (1, "answered"),
        (2, "interrupted"),
        (3, "answered"),
    ]
    assert found.turns[0].prompt is None
    assert (found.turns[0].response or "").startswith("Hello")
    assert found.turns[0].metadata["scaffolding"] == "hint"
    assert found.turns[2].metadata == {}
    assert found.metadata == {"title": "Said elsewhere", "ancestors": [], "imported": True}
    assert found.last_activity.timestamp() <= time.time()
    assert store.accept("odd", "Go on").messages()[0].metadata["scaffolding"] == "hint"
    store.put(Conversation("empty"), "Nothing yet")
    assert store.conversation("empty").metadata["title"] == "Nothing yet"


@pytest.mark.parametrize("wrong", [{"number": "1"}, {"page": "x"}, {"text": None}, {"reference": {"key": 1}}])
def test_an_import_whose_sources_are_none_is_refused(store: ConversationStore, wrong: dict[str, Any]) -> None:
    with pytest.raises(BadRequest):
        store.put(Conversation("c", turns=[Turn("Hi", "Yes [3].", sources=(dataclasses.replace(SOURCE, **wrong),))]))
    assert store.conversations() == []


# --- feedback, facts, versions ------------------------------------------------------------------------------------


def test_feedback_is_kept_with_its_turn_and_is_nothing_that_was_said(store: ConversationStore) -> None:
    exchange(store, "c", "One")
    exchange(store, "c", "Two")
    store.rate("c", 2, {"rating": "up", "comment": ""})
    store.rate("c", 2, {"rating": "down", "comment": "wrong"})
    feedback = {"rating": "down", "comment": "wrong"}
    found = store.conversation("c")
    assert [turn.metadata for turn in found.turns] == [{}, {"feedback": feedback}]
    assert store.turn("c", 2) == found.turns[1]
    assert all(message.metadata == {} for message in found.messages())
    assert all(turn.metadata == {} for turn in store.accept("c", "Three").turns)
    assert [each["feedback"] for each in store.facts()] == [None, feedback, None]
    store.rate("c", 2, None)
    assert store.turn("c", 2).metadata == {}
    for conversation_id, number in (("c", 9), (NO_ONE, 1)):
        with pytest.raises(ConversationNotFound):
            store.rate(conversation_id, number, feedback)
        with pytest.raises(ConversationNotFound):
            store.turn(conversation_id, number)


def test_facts_are_those_given_and_of_old_turns_those_of_their_records(
    store: ConversationStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        counting, "of_record", lambda record, sources, *_: {"read": record["n"], "cited": len(sources)}, raising=False
    )
    exchange(store, "c", "One", facts={"n": 1, "odd": "\x00"}, record={"n": 0}, user="ann")
    exchange(store, "c", "Two", sources=[SOURCE], record={"n": 2})
    exchange(store, "d", "Three", facts={})
    store.accept("d", "Four")
    told = list(store.facts())
    turns = [turn for name in "cd" for turn in store.conversation(name).turns]
    times = [turn.timestamp.timestamp() for turn in turns]
    assert [each["created_at"] for each in told] == pytest.approx(times, abs=1e-5)
    assert [{name: value for name, value in each.items() if name != "created_at"} for each in told] == [
        {**of_turn("c", 1, "answered", "ann"), "n": 1, "odd": "\x00"},
        {**of_turn("c", 2, "answered", "ann"), "read": 2, "cited": 1},
        of_turn("d", 1, "answered"),
        of_turn("d", 2, "pending"),
    ]
    since, until = told[1]["created_at"], told[3]["created_at"]
    assert list(store.facts(since, until)) == told[1:3]
    assert list(store.facts(until + 1)) == []


def of_turn(conversation_id: str, number: int, status: str, user: str = "") -> dict[str, Any]:
    return {"conversation_id": conversation_id, "number": number, "status": status, "user": user, "feedback": None}


def test_facts_of_many_turns_come_in_order_and_once(store: ConversationStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnwise.store.kept.ROWS_AT_ONCE", 3)
    at = datetime(2020, 1, 1, tzinfo=UTC)
    monkeypatch.setattr(time, "time", lambda: at.timestamp())  # all at one moment
    asked = [(name, exchange(store, name, "Hi")) for name in ("a", "b", "c", "a", "b", "a", "d")]
    told = [(each["conversation_id"], each["number"]) for each in store.facts()]
    assert sorted(told) == sorted(asked)


def test_standings_tell_of_many_conversations_at_once(store: ConversationStore) -> None:
    exchange(store, "a", "One")
    store.accept("a", "Two")
    exchange(store, "b", "One")
    wanted = ["a", "b", *(f"{NO_ONE} {number}" for number in range(1200)), "\ud83d"]
    found = store.standings(("", name) for name in wanted)
    assert {name: each[:2] for (_, name), each in found.items()} == {"a": (2, "pending"), "b": (1, "answered")}
    assert found["", "b"].title == store.conversations(1)[0]["title"] == "One"
    assert store.standings([]) == {}


def test_a_turn_of_a_long_conversation_is_read_alone(store: ConversationStore) -> None:
    for number in range(1, 4):
        exchange(store, "c", f"Message {number}", record={"n": number})
    assert store.turn("c", 2) == store.conversation("c").turns[1]


def test_all_of_it_at_once_breaks_nothing(open_store: Open) -> None:
    """Threads answer, rate, branch, rename, bring in and delete the same conversation: each is done, or refused."""
    stores = [open_store() for _ in range(3)]
    refused: list[Exception] = []
    broken: list[Exception] = []

    def change(store: ConversationStore, seed: int) -> None:
        chance = random.Random(seed)
        for count in range(25):
            try:
                match chance.choice(("ask", "ask", "rate", "branch", "rename", "put", "delete", "read")):
                    case "ask":
                        exchange(store, "c", "Hi", facts={"n": 1})
                    case "rate":
                        store.rate("c", chance.randint(1, 3), {"rating": "up"})
                    case "branch":
                        store.branch("c", 3, f"{seed} {count}")
                    case "rename":
                        store.rename("c", f"{seed} {count}")
                    case "put":
                        store.put(Conversation("c", turns=[Turn("Hi", "Yes.")]))
                    case "delete":
                        store.delete("c")
                    case _:
                        store.conversation("c")
            except ConversationError as error:
                refused.append(error)
            except Exception as error:
                broken.append(error)

    threads = [threading.Thread(target=change, args=(stores[seed % 3], seed)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert broken == []
    assert {type(error) for error in refused} <= {ConversationError, ConversationNotFound, ConversationBusy}
    for entry in stores[0].conversations(1000):
        kept = stores[0].conversation(entry["id"]).turns
        assert len(kept) == entry["turns"]
        assert all(turn.status == "answered" for turn in kept if entry["id"] == "c")
