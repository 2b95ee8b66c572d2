"""Reading data folders: any subset, plain or gzipped; and what is said about rows that are not as they should be."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from turnwise.errors import BadRequest, InputError
from turnwise.evaluation import data
from turnwise.types import Message

Write = Callable[..., Path]
Asked = Callable[..., dict[str, Any]]


def test_files_are_found_by_their_form_whatever_they_are_called(write: Write, folder: Path, asked: Asked) -> None:
    row = asked(2, "Why?", "What is rain?", needs_context=True, rewrite="Why does it rain?")
    write("rewrite/mine.jsonl.gz", row)
    write("followup/yours.jsonl", asked(1, "What is rain?", needs_context=False))
    write("followup/chat.jsonl", {"turns": ["hi", "hello"], "shift": [False, False]})
    write("rewrite/conversations.jsonl", {"turns": [{"question": "Why?", "rewrite": "Why?"}]})  # for training
    write("guard/other.jsonl", {"prompt": "x", "label": 1})
    write("rewrite/notes.txt", "not data")
    assert set(data.followup_files(folder)) == {"followup/yours", "followup/chat", "rewrite/mine"}
    assert set(data.rewrite_files(folder)) == {"rewrite/mine"}


def test_a_subfolder_given_by_itself_keeps_its_name(write: Write, folder: Path, asked: Asked) -> None:
    write("rewrite/mine.jsonl", asked(2, "Why?", rewrite="Why rain?", needs_context=True))
    assert set(data.rewrite_files(folder / "rewrite")) == {"rewrite/mine"}
    assert set(data.followup_files(folder / "rewrite")) == {"rewrite/mine"}


def test_files_may_lie_in_the_folder_itself(write: Write, folder: Path, asked: Asked) -> None:
    write("mine.jsonl", asked(2, "Why?", rewrite="Why rain?"))
    assert set(data.rewrite_files(folder)) == {"mine"}


def test_a_plain_file_comes_before_its_gzipped_twin(write: Write, folder: Path, asked: Asked) -> None:
    write("rewrite/mine.jsonl.gz", asked(2, "Why?", rewrite="gzipped"))
    write("rewrite/mine.jsonl", asked(2, "Why?", rewrite="plain"))
    (path,) = data.rewrite_files(folder).values()
    assert data.later_questions(path)[0].rewrite == "plain"


def test_an_unknown_file_is_left_out_and_said_so(
    write: Write, folder: Path, asked: Asked, caplog: pytest.LogCaptureFixture
) -> None:
    write("rewrite/mine.jsonl", asked(2, "Why?", rewrite="Why rain?"))
    write("rewrite/strange.jsonl", {"query": "Why?"})
    write("rewrite/empty.jsonl")
    with caplog.at_level(logging.WARNING):
        assert set(data.rewrite_files(folder)) == {"rewrite/mine"}
    assert "strange.jsonl is left out: its rows do not have 'question' and 'rewrite'" in caplog.text
    assert "empty.jsonl is left out" in caplog.text


@pytest.mark.parametrize("find", [data.followup_files, data.rewrite_files, data.collections])
def test_a_folder_without_data_says_what_was_looked_for(folder: Path, find: Callable[[Path], Any]) -> None:
    with pytest.raises(BadRequest, match="contains nothing that this suite evaluates") as raised:
        find(folder)
    assert ".jsonl" in raised.value.hint
    with pytest.raises(InputError, match="is not a folder"):
        find(folder / "absent")


def test_later_questions_leave_the_first_out_and_take_any_history(write: Write) -> None:
    said = [{"role": role, "content": "x"} for role in ("user", "user", "assistant", "assistant")]
    row = {"turn": 3, "history": said, "question": "Why?", "needs_context": True}
    path = write("a.jsonl", row | {"turn": 1, "history": []}, "", row)
    (asked,) = data.later_questions(path, "needs_context")
    assert asked.history == tuple(Message(message["role"], "x") for message in said)  # type: ignore[arg-type]
    assert (asked.turn, asked.needs_context, asked.rewrite) == (3, True, None)


GOOD = {"turn": 2, "history": [{"role": "user", "content": "x"}], "question": "Why?", "rewrite": "Why x?"}


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ("{broken", "Expecting property name"),
        ("[1]", "not an object"),
        ({**GOOD, "turn": "2"}, "'turn' should hold int, not '2'"),
        ({**GOOD, "turn": True}, "'turn' should hold int, not True"),
        ({**GOOD, "question": None}, "'question' should hold str, not None"),
        ({**GOOD, "question": " "}, "'question' is empty"),
        ({**GOOD, "question": "\ud800"}, "'question' contains a lone surrogate"),
        ({**GOOD, "history": "x"}, "'history' should hold list, not 'x'"),
        ({**GOOD, "history": ["x"]}, "'history' should hold dict, not 'x'"),
        ({**GOOD, "history": [{"role": "robot", "content": "x"}]}, "unknown role 'robot' in 'history'"),
        ({**GOOD, "history": [{"role": "user"}]}, "no field 'content'"),
        ({key: value for key, value in GOOD.items() if key != "rewrite"}, "no field 'rewrite'"),
        ({**GOOD, "needs_context": "yes"}, "'needs_context' should hold bool, not 'yes'"),
    ],
)
def test_a_malformed_row_is_reported_with_file_and_line(write: Write, row: Any, complaint: str) -> None:
    path = write("rewrite/mine.jsonl", GOOD, "", row)
    with pytest.raises(BadRequest) as raised:
        data.later_questions(path, "rewrite")
    assert str(raised.value).startswith(f"{path}, line 3: ")
    assert complaint in str(raised.value)


def test_a_file_cut_short_is_reported(write: Write) -> None:
    path = write("rewrite/mine.jsonl.gz", *[GOOD] * 50)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(BadRequest, match=r"mine\.jsonl\.gz, line \d+: "):
        data.later_questions(path)
    path.write_bytes(b"not gzip")
    with pytest.raises(BadRequest, match="Not a gzipped file"):
        data.later_questions(path)


def test_talks_have_a_label_for_every_turn(write: Write) -> None:
    path = write("a.jsonl", {"turns": ["hi", "hello"], "shift": [False, True]})
    assert list(data.talks(path)) == [data.Talk(("hi", "hello"), (False, True))]
    path = write("b.jsonl", {"turns": ["hi", "hello"], "shift": [False]})
    with pytest.raises(BadRequest, match="line 1: 2 turns but 1 labels"):
        list(data.talks(path))


def test_collections_are_folders_of_turns_and_texts(write: Write, folder: Path) -> None:
    write("mtrag/turns.jsonl")
    write("mtrag/corpus/sea.jsonl.gz")
    write("mtrag/corpus/sky.jsonl")
    write("doc2dial/turns.jsonl.gz")
    write("doc2dial/documents.jsonl")
    write("lonely/turns.jsonl")
    found = {collection.name: collection for collection in data.collections(folder)}
    assert set(found) == {"mtrag", "doc2dial"}
    assert set(found["mtrag"].corpora) == {"sea", "sky"}
    assert found["doc2dial"].documents == folder / "doc2dial" / "documents.jsonl"
    (alone,) = data.collections(folder / "mtrag")
    assert alone.name == "mtrag"


def test_entries_are_passages_or_documents_with_ids_of_their_own(write: Write) -> None:
    path = write("a.jsonl", {"_id": "1", "title": "T", "text": "x"}, {"_id": "2", "text": "y"})
    assert data.entries(path) == [data.Entry("1", "T", "x"), data.Entry("2", "", "y")]
    path = write("b.jsonl", {"_id": "1", "text": "x"}, {"_id": "1", "text": "y"})
    with pytest.raises(BadRequest, match="line 2: a second text with the _id '1'"):
        data.entries(path)


def test_passage_queries_are_the_turns_with_relevant_passages(write: Write, asked: Asked) -> None:
    path = write(
        "turns.jsonl",
        asked(1, "What?", domain="sea", qrels={"a": 1, "b": 0}, mixtral_rewrite=None),
        asked(2, "Why?", "What?", "That.", domain="sea", qrels={"b": 1}, mixtral_rewrite="Why the sea?"),
        asked(2, "Thanks!", "What?", "That.", domain="sea", qrels={}),
    )
    first, second = data.passage_queries(path)
    assert (first.relevant, first.asked.rewrite) == (frozenset({"a"}), None)
    assert (second.relevant, second.asked.rewrite, second.domain) == (frozenset({"b"}), "Why the sea?", "sea")
    path = write("turns.jsonl", asked(1, "What?", domain="sea", qrels={"a": "1"}))
    with pytest.raises(BadRequest, match="line 1: 'qrels' should give a number for each passage"):
        data.passage_queries(path)


def test_span_queries_leave_out_the_space_around_a_span(write: Write, asked: Asked) -> None:
    path = write("turns.jsonl", asked(1, "What?", gold_doc="d", gold_start=[10, 30], gold_text=[" the sea \n", "sky"]))
    (query,) = data.span_queries(path)
    assert (query.document, query.spans) == ("d", ((11, 18), (30, 33)))
    path = write("turns.jsonl", asked(1, "What?", gold_doc="d", gold_start=[10], gold_text=[]))
    with pytest.raises(BadRequest, match="line 1: 1 starts but 0 texts"):
        data.span_queries(path)
