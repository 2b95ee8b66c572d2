"""Models, embedders and re-rankers of the user's own, given to turnwise.open."""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import turnwise
from turnwise.errors import ConfigError, LibraryError, ModelUnavailable
from turnwise.server.library import describe_library
from turnwise.types import Message, Passage, Prompt

HERON = "# Grey heron\n\nThe grey heron is a tall wading bird. It builds its nest in tall trees near water.\n"
STORK = "# White stork\n\nThe white stork is a bird of open fields. It builds its nest on chimneys.\n"


@pytest.fixture
def birds(tmp_path: Path) -> Path:
    folder = tmp_path / "birds"
    folder.mkdir()
    (folder / "heron.md").write_text(HERON)
    (folder / "stork.md").write_text(STORK)
    return folder


class Parrot:
    """Repeats the question; with `rewrite` it could do more."""

    name = "parrot"

    def __init__(self) -> None:
        self.prompts: list[Prompt] = []

    async def stream(self, prompt: Prompt) -> AsyncIterator[str]:
        self.prompts.append(prompt)
        yield "You asked about "
        yield f"{prompt.evidence[0].passage.title} [1]."


class Down:
    name = "down"

    async def stream(self, prompt: Prompt) -> AsyncIterator[str]:
        raise ModelUnavailable(f"Nobody answers “{prompt.question}”.", "Wait.")
        yield ""


class Letters:
    """Counts letters. Its vectors are lists, and not of length 1."""

    name = "letters"
    dimension = 26

    def __init__(self) -> None:
        self.queries: list[str] = []

    def embed_query(self, text: str) -> Any:
        self.queries.append(text)
        return self._counted(text)

    def embed_passages(self, texts: Sequence[str]) -> Any:
        return [self._counted(text) for text in texts]

    def _counted(self, text: str) -> list[int]:
        return [text.lower().count(chr(ord("a") + place)) for place in range(26)]


class Storks:
    """Puts what is about storks first."""

    name, reads, trust = "storks", 10, 1.0

    def scores(self, question: str, passages: Sequence[Passage]) -> list[float]:  # noqa: ARG002
        return [float("stork" in passage.text) for passage in passages]


def test_a_model_of_ones_own_answers_from_the_evidence(tmp_path: Path, birds: Path) -> None:
    model = Parrot()
    with turnwise.open(tmp_path / "library", model=model) as engine:
        engine.add(birds)
        reply = engine.chat().ask("Where does the grey heron build its nest?")
        assert engine.model_name == "parrot"
    assert (reply.text, reply.notice) == ("You asked about Grey heron [1].", "")
    assert reply.sources[0].title == "Grey heron"
    assert model.prompts[0].messages[0].role == "system"


def test_several_models_are_tried_in_order_and_then_the_documents(tmp_path: Path, birds: Path) -> None:
    with turnwise.open(tmp_path / "library", model=[Down(), Parrot()]) as engine:
        engine.add(birds)
        assert [model.name for model in engine.models] == ["down", "parrot", "extractive"]
        reply = engine.chat().ask("Where does the grey heron build its nest?")
        assert reply.text == "You asked about Grey heron [1]."
    with turnwise.open(tmp_path / "library", model=Down()) as engine:
        reply = engine.chat().ask("Where does the grey heron build its nest?")
    assert "tall trees" in reply.text
    assert reply.notice.startswith("Nobody answers")


def test_with_a_model_of_ones_own_no_endpoint_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:9/v1")
    with turnwise.open(tmp_path, model=Parrot()) as engine:
        assert engine.settings.endpoint == ""
    with turnwise.open(tmp_path, model="some-model") as engine:
        assert engine.model_name == "some-model at localhost:9"


def test_a_model_that_rewrites_condenses_and_plans_too(tmp_path: Path, birds: Path) -> None:
    class Rewriting(Parrot):
        async def rewrite(self, messages: Sequence[Message], limit: int) -> str:
            asked.append(messages[-1].content[:limit])
            return "Where does the grey heron build its nest?"

    asked: list[str] = []
    with turnwise.open(tmp_path / "library", model=Rewriting(), condense_with_model=True) as engine:
        engine.add(birds)
        chat = engine.chat()
        chat.ask("What is the grey heron?")
        assert chat.ask("Where does it build its nest?").condensed_query == "Where does the grey heron build its nest?"
        before = len(asked)
        assert before > 0
        chat.ask("What is the grey heron, and where do white storks build their nests, and who feeds them?")
        assert len(asked) > before


def test_the_next_question_does_not_wait_for_one_that_ctrl_c_stopped(tmp_path: Path, birds: Path) -> None:
    class Hanging:
        name = "hanging"

        async def stream(self, prompt: Prompt) -> AsyncIterator[str]:
            if prompt.question == "What is a grey heron?":
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
                await asyncio.Event().wait()
            yield "I am here."

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with turnwise.open(tmp_path / "library", model=Hanging()) as engine:
            engine.add(birds)
            chat = engine.chat()
            with pytest.raises(KeyboardInterrupt):
                chat.ask("What is a grey heron?")
            assert chat.ask("What is a white stork?").text == "I am here."
            assert [turn.status for turn in chat.history.turns] == ["interrupted", "answered"]
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_embedder_of_ones_own_makes_the_vectors_and_reads_the_questions(tmp_path: Path, birds: Path) -> None:
    embedder = Letters()
    with turnwise.open(tmp_path / "library", embedder=embedder, rerank="off") as engine:
        engine.add(birds)
        assert engine.index.embedder.name == "letters"
        hits = engine.search("stork chimneys")
        assert hits[0].passage.title == "White stork"
        assert hits[0].similarity is not None
        assert 0 < hits[0].similarity <= 1.001, "vectors are made as long as they should be"
        assert embedder.queries == ["stork chimneys"]
        assert "chimneys" in engine.chat().ask("Where does the white stork build its nest?").text


class Apart(Letters):
    """Every question is at a right angle to every passage."""

    name, dimension = "apart", 52

    def embed_query(self, text: str) -> Any:
        return [*super().embed_query(text), *[0] * 26]

    def embed_passages(self, texts: Sequence[str]) -> Any:
        return [[*[0] * 26, *counted] for counted in super().embed_passages(texts)]


def test_an_embedder_of_ones_own_does_not_change_how_messages_are_understood_and_what_is_suggested(
    tmp_path: Path,
) -> None:
    sample = Path(turnwise.__file__).parent / "sample"
    seen = []
    for name, given in (("apart", Apart()), ("ours", None)):
        with turnwise.open(tmp_path / name, embedder=given) as engine:
            engine.add(sample / "bert.md")
            chat = engine.chat()
            first = chat.ask("What is BERT?")
            later = [chat.ask(message) for message in ("how was it trained?", "tell me about language models")]
            seen.append((first.suggestions, [each.trace[1].details["signals"]["semantic"] for each in later]))
    assert seen[0] == seen[1]
    assert seen[0][0] == ("How does BERT work?", "How is BERT pre-trained?", "What are the sizes of BERT?")


def test_a_library_is_not_searched_with_another_embedder(tmp_path: Path, birds: Path) -> None:
    with turnwise.open(tmp_path / "library", embedder=Letters()) as engine:
        engine.add(birds)
    with (
        turnwise.open(tmp_path / "library") as engine,
        pytest.raises(LibraryError, match="was built with the embedder letters, and the one set is bge-small"),
    ):
        engine.search("stork")

    class Others(Letters):
        name = "others"

    with (
        turnwise.open(tmp_path / "library", embedder=Others()) as engine,
        pytest.raises(LibraryError, match="was built with the embedder letters, and the one set is others"),
    ):
        engine.chat().ask("What is a white stork?")


@pytest.mark.parametrize("given", [np.ones(25), np.full(26, np.nan), "words", [[1.0] * 26, [1.0] * 26]])
def test_vectors_that_cannot_be_used_are_refused(tmp_path: Path, birds: Path, given: Any) -> None:
    class Wrong(Letters):
        def embed_passages(self, texts: Sequence[str]) -> Any:
            return [given for _ in texts]

    with turnwise.open(tmp_path / "library", embedder=Wrong()) as engine:
        with pytest.raises(ConfigError, match="The embedder letters") as raised:
            engine.add(birds)
        assert "26" in str(raised.value)
        assert engine.index.counts().vectors == 0


def test_an_empty_text_has_a_vector_of_zeros(tmp_path: Path) -> None:
    (tmp_path / "digits.md").write_text("# 1\n\n2 3 5 7 11\n")
    with turnwise.open(tmp_path / "library", embedder=Letters()) as engine:
        engine.add(tmp_path / "digits.md")
        assert engine.pending() == 0


def test_a_reranker_of_ones_own_orders_what_is_found(tmp_path: Path, birds: Path) -> None:
    with turnwise.open(tmp_path / "library", reranker=Storks()) as engine:
        engine.add(birds)
        assert engine.search("Where does the grey heron build its nest?")[0].passage.title == "White stork"


def gives(result: Any) -> Any:
    """A method of one argument or two that returns this, or raises it."""

    def method(*_: Any) -> Any:
        if isinstance(result, Exception):
            raise result
        return result

    return method


NONSENSE = [RuntimeError("secret"), None, [], [float("nan")] * 30, "words", [None, None]]


@pytest.mark.parametrize("result", NONSENSE)
def test_a_reranker_that_fails_leaves_the_order_of_the_search(
    tmp_path: Path, birds: Path, caplog: pytest.LogCaptureFixture, result: Any
) -> None:
    caplog.set_level(logging.WARNING, "turnwise.turn.retrieve")  # which the command line silences in its process
    reranker = Storks()
    reranker.scores = gives(result)  # type: ignore[method-assign]
    with turnwise.open(tmp_path / "library", reranker=reranker) as engine:
        engine.add(birds)
        assert engine.search("Where does the grey heron build its nest?")[0].passage.title == "Grey heron"
        reply = engine.chat().ask("Where does the grey heron build its nest?")
    assert "tall trees" in reply.text
    (retrieve,) = (stage for stage in reply.trace if stage.stage == "retrieve")
    assert "the re-ranker storks failed" in retrieve.reason
    assert "secret" not in retrieve.reason
    assert "the re-ranker storks failed" in caplog.text


@pytest.mark.parametrize("result", NONSENSE)
def test_an_embedder_that_fails_leaves_the_words(
    tmp_path: Path, birds: Path, caplog: pytest.LogCaptureFixture, result: Any
) -> None:
    embedder = Letters()
    embedder.embed_query = gives(result)  # type: ignore[method-assign]
    with turnwise.open(tmp_path / "library", embedder=embedder) as engine:
        engine.add(birds)
        assert engine.search("Where does the grey heron build its nest?")[0].passage.title == "Grey heron"
        reply = engine.chat().ask("Where does the grey heron build its nest?")
    assert "tall trees" in reply.text
    (retrieve,) = (stage for stage in reply.trace if stage.stage == "retrieve")
    assert "the embedder letters failed, so only words were searched for" in retrieve.reason
    assert "the embedder letters failed" in caplog.text


def test_an_embedder_that_breaks_while_documents_are_added_says_so(tmp_path: Path, birds: Path) -> None:
    embedder = Letters()
    embedder.embed_passages = gives(RuntimeError("secret"))  # type: ignore[method-assign]
    with turnwise.open(tmp_path / "library", embedder=embedder) as engine:
        with pytest.raises(LibraryError, match=r"The embedder letters broke \(RuntimeError\)"):
            engine.add(birds)
        assert engine.search("grey heron")[0].passage.title == "Grey heron"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"model": 7}, "'model' cannot be 7: it has no `name`."),
        ({"model": [Parrot(), None]}, "'model' cannot be None: it has no `name`."),
        ({"model": Parrot}, "'model' cannot be the class Parrot."),
        ({"model": []}, "'model' cannot be an empty list."),
        ({"embedder": Storks()}, "it has no `dimension`."),
        ({"reranker": "quality"}, "'reranker' cannot be 'quality': it has no `name`."),
        ({"model": "gpt-foo"}, "There is no endpoint to ask for the model 'gpt-foo'."),
        ({"style": "nonsense"}, "There is no citation style 'nonsense'."),
        ({"style": "nowhere/mine.csl"}, "There is no citation style at nowhere/mine.csl."),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path: Path, given: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        turnwise.open(tmp_path / "library", **given)
    assert said in str(raised.value)
    assert raised.value.hint
    assert not (tmp_path / "library").exists()


def test_a_model_by_name_needs_an_endpoint_and_the_hint_says_how_to_set_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        turnwise.open(tmp_path, model="gpt-foo")
    assert "OPENAI_BASE_URL" in raised.value.hint
    assert ".gguf" in raised.value.hint
    with turnwise.open(tmp_path, model="gpt-foo", base_url="http://localhost:9/v1") as engine:
        assert engine.model_name == "gpt-foo at localhost:9"
    with turnwise.open(tmp_path, model="") as engine:
        assert engine.settings.endpoint == ""


def test_nobody_is_told_that_nothing_leaves_the_machine_while_a_model_of_ones_own_answers(tmp_path: Path) -> None:
    with turnwise.open(tmp_path / "library") as engine:
        assert describe_library(engine)["offline"]
    with turnwise.open(tmp_path / "library", model=Parrot()) as engine:
        described = describe_library(engine)
        assert (described["offline"], described["model"]) == (False, "parrot")


def test_a_model_of_ones_own_that_breaks_makes_room_for_the_documents(tmp_path: Path, birds: Path) -> None:
    class Broken:
        name = "broken"

        async def stream(self, prompt: Prompt) -> AsyncIterator[str]:  # noqa: ARG002
            raise ConnectionError("no route")
            yield ""

    with turnwise.open(tmp_path / "library", model=Broken()) as engine:
        engine.add(birds)
        reply = engine.chat().ask("Where does the grey heron build its nest?")
        assert "tall trees near water" in reply.text
        assert reply.notice.startswith("broken broke (ConnectionError).")


def test_a_stream_that_is_no_generator_is_closed_too(tmp_path: Path, birds: Path) -> None:
    class Stream:
        closed = False

        def __aiter__(self) -> Stream:
            return self

        async def __anext__(self) -> str:
            return "On and on. "

        async def aclose(self) -> None:
            self.closed = True

    class Endless:
        name = "endless"

        def __init__(self) -> None:
            self.made = Stream()

        def stream(self, prompt: Prompt) -> Stream:  # noqa: ARG002
            return self.made

    model = Endless()
    with turnwise.open(tmp_path / "library", model=model) as engine:
        engine.add(birds)

        async def leave() -> None:
            turn = engine.chat().stream("Where does the grey heron build its nest?")
            async for event in turn:
                if isinstance(event, turnwise.Delta):
                    break
            await turn.aclose()

        asyncio.run(leave())
        assert model.made.closed
