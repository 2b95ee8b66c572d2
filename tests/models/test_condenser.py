"""The trained condenser: what it reads is bounded, what it names was said, and what it says of plain cases is right."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from turnwise.dialogue.window import window
from turnwise.errors import WeightsError
from turnwise.models import condenser as condensing
from turnwise.models.condenser import (
    JOINTS,
    MAX_MENTIONS,
    MAX_MESSAGE_CHARS,
    MAX_TOKENS,
    RECENT_MESSAGES,
    OnnxCondenser,
    ReadMessage,
    feed,
    lay_out,
    reader,
)
from turnwise.models.weights import OWN, pinned_weights
from turnwise.text import content_stems, stem
from turnwise.types import Message


def said(*texts: str) -> list[Message]:
    return [Message("assistant" if place % 2 else "user", text) for place, text in enumerate(texts)]


@pytest.fixture(scope="session")
def condenser() -> OnnxCondenser:
    return OnnxCondenser()


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(pinned_weights().tokenizer))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


BERT = said("What is BERT?", "BERT is a language model that reads text in both directions. It was made at Google.")


@pytest.mark.parametrize(
    ("message", "history", "first"),
    [
        ("How does it work?", BERT, "bert"),
        ("Who made it?", BERT, "bert"),
        ("What are its first signs?", said("What is throat cancer?", "A disease."), "cancer"),
        ("When was he born?", said("Who painted The Scream?", "Edvard Munch painted it in 1893."), "munch"),
    ],
)
def test_the_word_that_is_meant_comes_first(
    condenser: OnnxCondenser, message: str, history: list[Message], first: str
) -> None:
    found = condenser.predict(message, history)
    assert found.needs_context > 0.5
    assert first in {word.lower() for word, _ in found.terms[:2]}
    assert found.terms[0][1] > 0.3


@pytest.mark.parametrize(
    "message", ["What is the capital of Norway?", "How do I renew a passport?", "Explain how solar panels make power"]
)
def test_a_question_of_its_own_needs_nothing(condenser: OnnxCondenser, message: str) -> None:
    found = condenser.predict(message, BERT)
    assert found.needs_context < 0.5
    assert all(probability < 0.25 for _, probability in found.terms)


def test_it_says_where_the_words_belong(condenser: OnnxCondenser) -> None:
    message = "How does it work?"
    edit = condenser.predict(message, BERT).edit
    assert edit is not None
    assert (message[edit.start : edit.end], edit.joint) == ("it", None)
    assert edit.chance > 0.5


def test_without_words_to_point_at_it_says_nothing(condenser: OnnxCondenser) -> None:
    for message, history in (("What is BERT?", []), ("How?", said("", "...")), ("", BERT), ("???", BERT)):
        found = condenser.predict(message, history)
        assert (found.needs_context, found.terms, found.edit) == (0.0, (), None)


texts = st.text(max_size=300) | st.sampled_from(["\ud800x", "a\x00b", "BERT", "it", "é" * 900, "<|im_start|>system"])


@settings(max_examples=60, deadline=None)
@example(message="When?", contents=["0:0", "It opens at 10:30."])
@given(message=texts, contents=st.lists(texts, max_size=8))
def test_only_words_that_were_said_are_named_whatever_the_text(
    condenser: OnnxCondenser, message: str, contents: list[str]
) -> None:
    found = condenser.predict(message, said(*contents))
    heard = set().union(*(content_stems(text.encode("utf-8", "replace").decode()) for text in contents))
    assert {stem(word) for word, _ in found.terms} <= heard
    assert all(0 <= probability <= 1 for _, probability in found.terms)
    assert 0 <= found.needs_context <= 1
    assert found.edit is None or found.edit.joint in (None, *JOINTS)


def test_a_word_is_mentioned_once_and_the_messages_own_words_never(tokenizer: Tokenizer) -> None:
    history = said("What is gradient descent?", "Gradient descent follows the gradient.", "Is descent slow?", "No.")
    layout = lay_out("How fast is the gradient?", history, reader(tokenizer))
    stems = [mention.word.stem for mention in layout.mentions]
    assert stems.count("descent") == 1
    assert "gradient" not in stems
    inputs = feed(layout)
    assert inputs["kept"].tolist()[1 : 1 + len(stems)] == [mention.token for mention in layout.mentions]
    assert inputs["facts"].shape[1] == len(stems)


def test_several_threads_get_the_same(condenser: OnnxCondenser) -> None:
    questions = ["How does it work?", "Who made it?", "What is BERT used for?"] * 6
    alone = [condenser.predict(question, BERT) for question in questions]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda question: condenser.predict(question, BERT), questions)) == alone


def test_other_weights_than_the_card_names_are_refused(tmp_path: Path) -> None:
    shutil.copytree(OWN, tmp_path / "data")
    card = json.loads((tmp_path / "data" / "condenser.json").read_text())
    (tmp_path / "data" / "condenser.json").write_text(json.dumps(card | {"sha256": "0" * 64}))
    with pytest.raises(WeightsError, match="not the file that its card names"):
        OnnxCondenser(tmp_path / "data").predict("How does it work?", BERT)


def test_missing_weights_are_said_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="cannot be loaded") as error:
        OnnxCondenser(tmp_path).predict("How does it work?", BERT)
    assert "Reinstall turnwise" in error.value.hint


# --- as much at turn 500 as at turn 20, each message read once ------------------------------------------------------

ANSWER = "Rivers carry water to the sea, past Vienna and Basel. Most of them rise in hills. [1] " * 10


def talk(turns: int) -> list[Message]:
    return [
        message
        for turn in range(turns)
        for message in (Message("user", f"How long is river {turn}?"), Message("assistant", f"{turn} miles. {ANSWER}"))
    ]


@pytest.fixture(scope="module")
def model() -> condensing._Model:
    return OnnxCondenser(threads=1)._model()


@pytest.mark.parametrize("turns", [20, 500])
def test_what_is_read_does_not_grow_with_the_conversation(model: condensing._Model, turns: int) -> None:
    read: list[str] = []

    def noted(text: str) -> ReadMessage:
        read.append(text)
        return model._read(text)

    layout = lay_out("Where does it end?", talk(turns), noted)
    assert len(read) == RECENT_MESSAGES + 2, "the first question and the message"
    assert max(map(len, read)) <= MAX_MESSAGE_CHARS
    assert len(layout.ids) <= MAX_TOKENS
    assert len(layout.mentions) == len(layout.facts) == len(layout.places) <= MAX_MENTIONS


def test_all_that_a_window_of_the_dialogue_holds_is_read() -> None:
    """Also the earlier turns that the message calls back to."""
    heron = [Message("user", "What do herons eat?"), Message("assistant", "Frogs.")]
    seen = window("What else is there about frogs?", [Message("user", "What is a river?"), *heron, *talk(500)])
    assert heron[0] in seen
    assert condensing.window(seen) == seen


def test_a_message_is_taken_apart_once(model: condensing._Model) -> None:
    history = talk(500)
    model.predict("Where does it end?", history)
    before = model._read.cache_info().misses
    model.predict("And where does it begin?", [*history, *talk(1)[:1], Message("assistant", "In the hills near Ulm.")])
    assert model._read.cache_info().misses - before == 2, "the message, and the answer before it"


def test_what_is_known_of_a_word(model: condensing._Model) -> None:
    history = [
        Message("user", "What is the Danube?"),
        Message("assistant", "The danube is a river. Ships of the IMO use it."),
        Message("user", "How many ships?"),
        Message("assistant", "About 40 ships."),
    ]
    layout = lay_out("Why is that?", history, model._read)
    known = {mention.word.text: facts for mention, facts in zip(layout.mentions, layout.facts, strict=True)}
    assert known["Danube"] == [1, 0, 1, 0, 1, 0, 0, 0, 1, 1]
    assert known["ships"] == [0, 0, 0, 1, 0, 1, 0, 1, 1, 1]
    assert known["IMO"] == [1, 1, 0, 0, 0, 0, 0, 0, 1, 0]
    assert known["40"] == [0, 1, 0, 0, 0, 1, 0, 0, 1, 0]
