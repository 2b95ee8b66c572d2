"""A language model behind a real server, in good and bad moods: the turn ends in an answer or in a typed error."""

from __future__ import annotations

import asyncio
import socket
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Sequence

import pytest
from fake_openai import FakeOpenAI, Mood, cut, mute, page, refusal, stalled, words
from talking import answered, citations, events_of, of_kind, stage

from turnwise.extractive import ExtractiveAnswerer
from turnwise.models.fake import FakeChat
from turnwise.models.openai_chat import OpenAIChat
from turnwise.turn.parts import Parts
from turnwise.types import Answered, Delta, Failed, Message, Prompt, Reply, TurnRequest

MakeParts = Callable[..., Parts]
WithModel = Callable[..., Parts]
QUESTION = "What is BERT?"


@pytest.fixture
def with_model(make_parts: MakeParts, extractive: ExtractiveAnswerer) -> WithModel:
    """The parts of a turn whose model is at that address, with the documents beneath it."""
    return lambda url, timeout=60: make_parts(OpenAIChat(url, None, "some-model", timeout=timeout), extractive)


def fell_back(parts: Parts, told: str) -> None:
    """The turn was answered from the documents; the reader is told why, and so is the trace."""
    conversation = uuid.uuid4().hex
    reply = answered(TurnRequest(QUESTION, conversation_id=conversation), parts)
    assert reply.text.startswith("BERT is a language model")
    assert reply.sources
    generate = stage(reply, "generate")
    assert generate.decision == "extractive"
    assert generate.reason.startswith("fell back: ")
    assert told in generate.reason
    assert told in reply.notice
    assert "sentences from the documents" in reply.notice
    (turn,) = parts.store.conversation(conversation).turns
    assert (turn.status, turn.response, turn.record["notice"]) == ("answered", reply.text, reply.notice)


@pytest.mark.parametrize(
    ("mood", "told"),
    [
        pytest.param(refusal(429, "Slow down"), "Slow down", id="429"),
        pytest.param(refusal(401, "Bad key"), "401", id="wrong key"),
        pytest.param(page(), "a web page", id="a web page"),
        pytest.param(words(), "empty answer", id="nothing"),
        pytest.param(words(" ", "\n"), "empty answer", id="blanks"),
        pytest.param(words("<think>", "Hm. BERT", "</think>"), "empty answer", id="only thoughts"),
        pytest.param(words("<tool_call>{}", "</tool_call>"), "empty answer", id="only a call of a tool"),
        pytest.param(words(finish_reason="content_filter"), "empty answer", id="filtered"),
        pytest.param(cut(), "broke off", id="cut off before its first word"),
        pytest.param(words("Okay, I ", "understand. I'm ready", " to begin."), "it was ready", id="only ready"),
    ],
)
def test_a_model_that_does_not_speak_makes_room_for_the_documents(with_model: WithModel, mood: Mood, told: str) -> None:
    with FakeOpenAI(mood) as provider:
        fell_back(with_model(provider.url), told)


@pytest.mark.parametrize("mood", [mute, stalled(), stalled(pings=True), words("Late.", pause=2.0)])
def test_a_model_that_keeps_silent_makes_room_for_the_documents(with_model: WithModel, mood: Mood) -> None:
    with FakeOpenAI(mood) as provider:
        fell_back(with_model(provider.url, timeout=0.4), "sent nothing for 0.4 seconds")


def test_a_model_that_is_not_there_makes_room_for_the_documents(with_model: WithModel) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        fell_back(with_model(address), "127.0.0.1")


@pytest.mark.parametrize(
    ("mood", "code", "status"),
    [
        pytest.param(cut("BERT is ", "a model"), "ModelGarbled", 502, id="the connection drops"),
        pytest.param(stalled("BERT is ", "a model"), "ModelTimeout", 504, id="silence"),
        pytest.param(words("BERT is ", "a model", finish_reason=None, done=False), "ModelGarbled", 502, id="no end"),
    ],
)
def test_an_answer_cut_off_midway_fails_and_what_was_said_is_kept(
    with_model: WithModel, mood: Mood, code: str, status: int
) -> None:
    """The documents do not take over: half of two answers would read as one."""
    conversation = uuid.uuid4().hex
    with FakeOpenAI(mood, words("Fine.")) as provider:
        parts = with_model(provider.url, timeout=2 if code == "ModelTimeout" else 60)
        events = events_of(TurnRequest(QUESTION, conversation_id=conversation), parts)
        end = events[-1]
        assert isinstance(end, Failed)
        assert (end.error["code"], end.status) == (code, status)
        assert end.error["hint"]
        shown = "".join(delta.text for delta in of_kind(events, Delta))
        assert shown in ("BERT is ", "BERT is a ", "BERT is a model")  # the last words may still be held back
        (turn,) = parts.store.conversation(conversation).turns
        assert (turn.status, turn.response, turn.error) == ("failed", shown, end.error)

        again = answered(TurnRequest("How does it work?", conversation_id=conversation), parts)
    assert (again.text, again.turn) == ("Fine.", 2)
    assert again.condensed_query == "How does BERT work?"
    assert [each for each in provider.chats[-1]["messages"] if each["role"] == "assistant"] == []


def test_thoughts_are_no_part_of_the_answer(with_model: WithModel) -> None:
    with FakeOpenAI(words("<thi", "nk>Is it [1]?", "</think>\n\n", "It is ", "a model [1].")) as provider:
        reply = answered(TurnRequest(QUESTION), with_model(provider.url))
    assert reply.text == "It is a model [1]."
    assert reply.notice == ""
    assert "some-model" in stage(reply, "generate").decision


@pytest.mark.parametrize(
    "pieces",
    [
        ["BERT is ", "a model [", "1", "] and [9", "9] more."],
        ["BERT", " is ", "a model.", "\n\n", "- one [1]\n", "- two [2]\n"],
        ["BERT is a model. ", "\n"],
        ["BERT ![x", "](https://evil.example/?q=", "secret) is."],
    ],
)
def test_the_streamed_pieces_joined_are_the_final_text(make_parts: MakeParts, pieces: list[str]) -> None:
    events = events_of(TurnRequest(QUESTION), make_parts(FakeChat(lambda _: pieces)))
    end = events[-1]
    assert isinstance(end, Answered)
    assert "".join(delta.text for delta in of_kind(events, Delta)) == end.reply.text
    assert citations(end.reply.text) == {source.number for source in end.reply.sources}


def test_a_model_cannot_cite_what_it_was_not_given(make_parts: MakeParts) -> None:
    reply = answered(TurnRequest(QUESTION), make_parts(FakeChat(lambda _: "It is a model [1][77], they say [2024].")))
    assert reply.text == "It is a model [1], they say."
    assert [source.number for source in reply.sources] == [1]
    assert "[77]" in stage(reply, "guard out").decision


def test_an_answer_of_which_nothing_may_be_shown_is_not_an_empty_success(make_parts: MakeParts) -> None:
    end = events_of(TurnRequest(QUESTION), make_parts(FakeChat(lambda _: "[99]")))[-1]
    assert isinstance(end, Failed) or end.reply.text


LAST = "BERT is a language model. [1] It reads text in both directions at once. [1]"


def reformed(parts: Parts, message: str) -> Reply:
    history = (Message("user", QUESTION), Message("assistant", LAST))
    return answered(TurnRequest(message, history), parts)


def test_a_model_that_shortens_and_keeps_a_citation_is_quoted(
    make_parts: MakeParts, extractive: ExtractiveAnswerer
) -> None:
    reply = reformed(make_parts(FakeChat(lambda _: ["A model ", "of language [1]."]), extractive), "make it shorter")
    assert (reply.text, reply.notice) == ("A model of language [1].", "")


@pytest.mark.parametrize("said", ["A model of language.", "A model of language [7].", "A model [9] of language."])
def test_a_model_that_shortens_and_loses_the_citations_is_not(
    make_parts: MakeParts, extractive: ExtractiveAnswerer, said: str
) -> None:
    reply = reformed(make_parts(FakeChat(lambda _: said), extractive), "make it shorter")
    assert reply.text == "BERT is a language model. [1]"
    assert "left out the sources of the answer" in reply.notice
    assert stage(reply, "generate").decision == "extractive"


@pytest.mark.parametrize("message", ["Give me that as a list", "as a table please", "say that again"])
def test_what_stays_word_for_word_is_not_left_to_a_model(
    make_parts: MakeParts, extractive: ExtractiveAnswerer, message: str
) -> None:
    reply = reformed(make_parts(FakeChat(lambda _: "Something else."), extractive), message)
    assert "BERT is a language model." in reply.text
    assert citations(reply.text) == {1}
    assert (reply.notice, stage(reply, "generate").reason) == ("", "the last answer, word for word")


def test_a_model_may_rewrite_the_last_answer_without_a_citation(
    make_parts: MakeParts, extractive: ExtractiveAnswerer
) -> None:
    """The documents' sentences cannot do that in its place."""
    reply = reformed(make_parts(FakeChat(lambda _: "Un modèle de langue."), extractive), "rephrase it in French")
    assert reply.text == "Un modèle de langue."


def test_a_bug_in_a_model_is_reported_without_its_inside(make_parts: MakeParts) -> None:
    def broken(_: object) -> str:
        raise ZeroDivisionError("secret detail")

    conversation = uuid.uuid4().hex
    parts = make_parts(FakeChat(broken))
    end = events_of(TurnRequest(QUESTION, conversation_id=conversation), parts)[-1]
    assert isinstance(end, Failed)
    assert "secret" not in str(end.error)
    assert parts.store.conversation(conversation).turns[0].status == "failed"


def test_an_answer_that_was_cut_is_kept_and_its_reader_is_told(with_model: WithModel) -> None:
    with FakeOpenAI(words("BERT is a language", finish_reason="length")) as provider:
        parts, conversation = with_model(provider.url), uuid.uuid4().hex
        reply = answered(TurnRequest(QUESTION, conversation_id=conversation), parts)
    assert reply.text == "BERT is a language"
    assert reply.notice == "The answer was cut at max_tokens. Raise TURNWISE_MAX_TOKENS for longer ones."
    (turn,) = parts.store.conversation(conversation).turns
    assert (turn.status, turn.record["notice"]) == ("answered", reply.notice)


def test_an_answer_begins_with_the_answer(with_model: WithModel) -> None:
    with FakeOpenAI(words("Okay, I und", "erstand. BERT", " is a model [1].")) as provider:
        reply = answered(TurnRequest(QUESTION), with_model(provider.url))
    assert (reply.text, reply.notice) == ("BERT is a model [1].", "")


def test_a_short_answer_that_begins_like_an_acknowledgement_is_an_answer(with_model: WithModel) -> None:
    with FakeOpenAI(words("Yes", finish_reason="length")) as provider:
        reply = answered(TurnRequest(QUESTION), with_model(provider.url))
    assert reply.text == "Yes"
    assert reply.notice.startswith("The answer was cut")


def test_an_answer_that_a_filter_cut_is_not_presented_as_whole(with_model: WithModel) -> None:
    with FakeOpenAI(words("BERT is a language", finish_reason="content_filter")) as provider:
        reply = answered(TurnRequest(QUESTION), with_model(provider.url))
    assert (reply.text, reply.cut) == ("BERT is a language", "content_filter")
    assert "content filter" in reply.notice
    assert stage(reply, "generate").details == {"cut": "content_filter"}


class Own:
    """A model of somebody's own: says these pieces, then, if it `hangs`, nothing more without ending."""

    def __init__(self, *pieces: str, name: str = "own", hangs: bool = False, pause: float = 0.0) -> None:
        self.name = name
        self._pieces: Sequence[str] = pieces
        self._hangs = hangs
        self._pause = pause

    async def stream(self, prompt: Prompt) -> AsyncIterator[str]:  # noqa: ARG002
        for piece in self._pieces:
            await asyncio.sleep(self._pause)
            yield piece
        if self._hangs:
            await asyncio.Event().wait()


class Blanks(Own):
    """Sends blanks for ever."""

    async def stream(self, prompt: Prompt) -> AsyncIterator[str]:  # noqa: ARG002
        while True:
            await asyncio.sleep(0.05)
            yield " "


@pytest.mark.parametrize("model", [Own(hangs=True), Own("", "\n", hangs=True), Blanks()])
def test_a_model_of_one_s_own_that_keeps_silent_makes_room_for_the_documents(
    make_parts: MakeParts, extractive: ExtractiveAnswerer, model: Own
) -> None:
    fell_back(make_parts(model, extractive, model_timeout=0.4), "own sent nothing for 0.4 seconds")


def test_a_model_of_one_s_own_that_keeps_silent_and_has_nobody_beneath_it_fails(make_parts: MakeParts) -> None:
    end = events_of(TurnRequest(QUESTION), make_parts(Own("BERT is. ", hangs=True), model_timeout=0.4))[-1]
    assert isinstance(end, Failed)
    assert (end.error["code"], end.status) == ("ModelTimeout", 504)


def test_a_slow_model_of_one_s_own_may_take_longer_as_a_whole(make_parts: MakeParts) -> None:
    model = Own(*"BERT is", pause=0.2)
    assert answered(TurnRequest(QUESTION), make_parts(model, model_timeout=0.9)).text == "BERT is"


def test_the_notice_names_who_answered(make_parts: MakeParts, extractive: ExtractiveAnswerer) -> None:
    parts = make_parts(Own(name="first"), Own("Fine [1].", name="second"), extractive)
    reply = answered(TurnRequest(QUESTION), parts)
    assert reply.text == "Fine [1]."
    assert reply.notice == "first sent an empty answer. second answered instead. Ask again, or try another model."


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        (("Fine \ud83d.",), "Fine �."),
        (("Fine \ud83d", "\ude42."), "Fine 🙂."),
        (("Fine. \ud83d",), "Fine. �"),
        (("\ude42 Fine.",), "� Fine."),
    ],
)
def test_half_a_character_does_not_cost_the_conversation(
    make_parts: MakeParts, extractive: ExtractiveAnswerer, pieces: tuple[str, ...], text: str
) -> None:
    conversation = uuid.uuid4().hex
    for models in ((Own(*pieces),), (Own(*pieces), extractive)):
        parts = make_parts(*models)
        for _ in range(2):
            assert answered(TurnRequest(QUESTION, conversation_id=conversation), parts).text == text
    assert {turn.status for turn in parts.store.conversation(conversation).turns} == {"answered"}


def test_a_model_of_one_s_own_that_raises_midway_breaks_off(make_parts: MakeParts) -> None:
    def breaks_off(_: Prompt) -> Iterator[str]:
        yield "BERT is.\n\n"
        raise ZeroDivisionError("secret detail")

    conversation = uuid.uuid4().hex
    parts = make_parts(FakeChat(breaks_off))
    end = events_of(TurnRequest(QUESTION, conversation_id=conversation), parts)[-1]
    assert isinstance(end, Failed)
    assert (end.error["code"], end.status) == ("ModelGarbled", 502)
    assert "broke off" in end.error["message"]
    assert "secret" not in str(end.error)
    assert parts.store.conversation(conversation).turns[0].status == "failed"
