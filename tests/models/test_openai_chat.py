from __future__ import annotations

import asyncio
import json
import logging
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import AsyncIterator
from itertools import pairwise

import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fake_openai import (
    Exchange,
    FakeOpenAI,
    Mood,
    cut,
    endless,
    events,
    in_circles,
    listing,
    mute,
    page,
    picky,
    reasoning,
    refusal,
    stalled,
    whole,
    words,
)
from turnwise.errors import ConfigError, ModelError, ModelGarbled, ModelRefused, ModelTimeout, ModelUnavailable
from turnwise.models.breaker import Breaker
from turnwise.models.openai_chat import OpenAIChat, in_turns, retry_after, sampling_extras, waiting_time
from turnwise.types import ChatModel, Cut, Filtered, Message, Prompt, Role

MESSAGES = (Message("system", "Cite."), Message("user", "Where is Zürich? “Quote” 🙂"))
PROMPT = Prompt(MESSAGES, question="Where is Zürich?", asked=(), evidence=(), said=())
KEY = "sk-very-secret-1234"


def chat_with(provider: FakeOpenAI, model: str = "m1", timeout: float = 5.0, key: str | None = None) -> OpenAIChat:
    return OpenAIChat(provider.url, key, model, timeout=timeout)


async def collect(pieces: AsyncIterator[str]) -> list[str]:
    return [piece async for piece in pieces]


def answer(provider: FakeOpenAI, **options: object) -> list[str]:
    return asyncio.run(collect(chat_with(provider, **options).stream(PROMPT)))  # type: ignore[arg-type]


def failure(mood: Mood, **options: object) -> ModelError:
    with FakeOpenAI(mood) as provider, pytest.raises(ModelError) as caught:
        answer(provider, **options)
    return caught.value


def test_the_heavy_import_waits_for_the_first_answer() -> None:
    code = "import sys, turnwise.models.openai_chat as m; m.OpenAIChat('http://localhost/v1', None, '')"
    subprocess.run([sys.executable, "-c", f"{code}; sys.exit('openai' in sys.modules)"], check=True)


# --- what is sent ------------------------------------------------------------------------------------------------


def test_the_messages_and_the_sampling_are_sent_as_they_are() -> None:
    with FakeOpenAI(words("Here.")) as provider:
        answer(provider, key=KEY)
    assert provider.chats == [
        {
            "model": "m1",
            "messages": [
                {"role": "system", "content": "Cite."},
                {"role": "user", "content": "Where is Zürich? “Quote” 🙂"},
            ],
            "stream": True,
            "temperature": 0.35,
            "top_p": 0.9,
            "max_tokens": 2000,
        }
    ]
    assert provider.requests[0].path == "/v1/chat/completions"
    assert provider.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_without_a_key_the_environment_s_key_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with FakeOpenAI(words("Here.")) as provider:
        answer(provider)
    assert KEY not in str(provider.requests[0].headers)


def test_it_is_a_chat_model_with_a_name_before_it_connects() -> None:
    model: ChatModel = OpenAIChat("http://user:password@localhost:11434/v1", KEY, "llama3")
    assert model.name == "llama3 at localhost:11434"


@pytest.mark.parametrize("address", ["localhost:11434/v1", "", "http://", "http://[bad/v1", "http://host:99999/v1"])
def test_an_address_that_is_none_is_said_at_once(address: str) -> None:
    with pytest.raises(ConfigError) as caught:
        OpenAIChat(address, None, "m1")
    assert "http://localhost:11434/v1" in caught.value.hint


def test_a_key_copied_in_part_is_said_at_once_and_not_shown() -> None:
    with pytest.raises(ConfigError) as caught:
        OpenAIChat("http://localhost/v1", "sk-…1234", "m1")
    assert "1234" not in str(caught.value)


def test_a_newline_after_the_key_is_forgiven() -> None:
    with FakeOpenAI(words("Here.")) as provider:
        answer(provider, key=KEY + "\n")
    assert provider.requests[0].headers["authorization"] == f"Bearer {KEY}"


# --- what comes back ---------------------------------------------------------------------------------------------


def test_pieces_come_one_by_one_while_the_model_writes() -> None:
    async def first_piece_at() -> tuple[float, list[str]]:
        start, at = time.monotonic(), []
        pieces = []
        async for piece in chat_with(provider).stream(PROMPT):
            at.append(time.monotonic() - start)
            pieces.append(piece)
        return at[-1] - at[0], pieces

    with FakeOpenAI(words("b", "c", "d", "e", pause=0.05)) as provider:
        spread, pieces = asyncio.run(first_piece_at())
    assert pieces == ["b", "c", "d", "e"]
    assert spread > 0.1


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        (["<think>hm, let me see</think>\n\nParis."], "Paris."),
        (["<th", "ink>hm", " </thi", "nk>", "\n\n", "Par", "is."], "Paris."),
        (list("<think>a < b </thin </think> Paris."), "Paris."),
        (["<think>one</think>\n<think>two</think>Paris."], "Paris."),
        ([" \n", "<think>", "x" * 100, "</think>Paris."], "Paris."),
        (["<thi", "s> is no thought"], "<this> is no thought"),
        (["2 <", "think> and </think> tags."], "2 <think> and </think> tags."),
        (["<"], "<"),
        (["<thin"], "<thin"),
    ],
)
def test_thoughts_before_the_answer_are_left_out(pieces: list[str], text: str) -> None:
    with FakeOpenAI(words(*pieces)) as provider:
        assert "".join(answer(provider)) == text


def test_a_character_cut_in_half_is_joined_again() -> None:
    with FakeOpenAI(words("Hi \ud83d", "\ude42!", "\ud83d")) as provider:
        text = "".join(answer(provider))
    assert text.startswith("Hi 🙂!")
    text.encode()


def test_an_answer_that_reaches_its_longest_length_is_an_answer() -> None:
    with FakeOpenAI(words("Paris is", finish_reason="length")) as provider:
        assert "".join(answer(provider)) == "Paris is"


@pytest.mark.parametrize(
    "mood",
    [
        words("Paris", ".", finish_reason=None),
        whole("Paris."),
        whole("Paris.", kind="text/plain"),
        reasoning("Hm, ", "France", answer=("Paris", ".")),
        events('{"choices": [{"delta": {"content": "Paris."}, "finish_reason": "stop"}]}'),
        events('{"choices": []}', '{"choices": [{"delta": {"content": "Paris."}}]}', "{}", "[DONE]"),
        events('{"choices": [{"delta": {"content": [{"type": "text", "text": "Paris."}]}}]}', "[DONE]"),
    ],
)
def test_the_forms_in_which_servers_send_an_answer(mood: Mood) -> None:
    """Done without a reason, not streamed at all, thoughts in a field of their own, no end but a reason."""
    with FakeOpenAI(mood) as provider:
        assert "".join(answer(provider)) == "Paris."


def test_the_next_question_goes_over_the_same_connection() -> None:
    async def thrice() -> None:
        model = chat_with(provider)
        for _ in range(3):
            await collect(model.stream(PROMPT))

    with FakeOpenAI(words("Hi"), words("Hi", finish_reason=None), words("Hi")) as provider:
        asyncio.run(thrice())
    assert len({request.port for request in provider.requests}) == 1


def test_preparing_makes_the_client_that_asks_first() -> None:
    async def ask() -> list[str]:
        model.prepare()
        return await collect(model.stream(PROMPT))

    with FakeOpenAI(words("Hi")) as provider:
        model = chat_with(provider)
        model.prepare()
        assert asyncio.run(ask()) == asyncio.run(ask()) == ["Hi"]


# --- parameters that a model does not take -----------------------------------------------------------------------


def test_parameters_a_model_rejects_are_dropped_or_renamed_and_stay_so() -> None:
    async def twice() -> list[list[str]]:
        model = chat_with(provider)
        return [await collect(model.stream(PROMPT)), await collect(model.stream(PROMPT))]

    with FakeOpenAI(picky("max_tokens", "temperature", "top_p")) as provider:
        assert asyncio.run(twice()) == [["fine"], ["fine"]]
    assert len(provider.chats) == 5
    for body in provider.chats[-2:]:
        assert body["max_completion_tokens"] == 2000
        assert not {"max_tokens", "temperature", "top_p"} & set(body)


def test_a_parameter_named_only_in_words_is_dropped() -> None:
    rejection = refusal(422, "temperature and top_p cannot both be given")
    with FakeOpenAI(rejection, words("fine")) as provider:
        assert answer(provider) == ["fine"]
    assert "temperature" not in provider.chats[1]
    assert provider.chats[1]["top_p"] == 0.9


def test_an_endpoint_whose_template_wants_turns_gets_them_from_then_on() -> None:
    """As vLLM and llama.cpp say it for Mistral and Gemma."""
    complaint = "Conversation roles must alternate user/assistant/user/assistant/..."
    asked = (*MESSAGES, Message("user", "New evidence: [1]"))

    async def twice() -> list[list[str]]:
        model = chat_with(provider)
        prompt = Prompt(asked, "", (), (), ())
        return [await collect(model.stream(prompt)), await collect(model.stream(prompt))]

    with FakeOpenAI(refusal(400, complaint), words("fine")) as provider:
        assert asyncio.run(twice()) == [["fine"], ["fine"]]
    told = [[message["role"] for message in body["messages"]] for body in provider.chats]
    assert told == [["system", "user", "user"], ["system", "user"], ["system", "user"]]
    assert provider.chats[1]["messages"][1]["content"] == f"{MESSAGES[1].content}\n\nNew evidence: [1]"


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.text("ab c", max_size=3))))
def test_in_turns_nothing_is_lost_and_no_role_follows_itself(said: list[tuple[Role, str]]) -> None:
    taken = in_turns([Message(role, content) for role, content in said])
    assert all(one.role != other.role for one, other in pairwise(taken))
    for role in ("user", "assistant"):
        before = "".join(content for each, content in said if each == role)
        assert "".join(each.content for each in taken if each.role == role).replace("\n\n", "") == before


EXTRAS = sampling_extras(top_k=50, repeat_penalty=1.15)


def with_extras(url: str) -> list[str]:
    return asyncio.run(collect(OpenAIChat(url, None, "m1", extras=EXTRAS).stream(PROMPT)))


def test_what_only_some_providers_have_is_sent_and_dropped_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with FakeOpenAI(picky("repetition_penalty", "top_k")) as provider:
        assert with_extras(provider.url) == ["fine"]
    first, _, last = provider.chats
    assert (first["top_k"], first["repeat_penalty"], first["repetition_penalty"]) == (50, 1.15, 1.15)
    assert "repeat_penalty" in last
    assert not {"top_k", "repetition_penalty"} & last.keys()
    told = [record.message for record in caplog.records if "does not take" in record.message]
    assert [message.split("take ")[1] for message in told] == [
        "repetition_penalty: from now on it is asked without.",
        "top_k: from now on it is asked without.",
    ]


def test_a_rejection_of_unknown_parameters_without_their_names_drops_all_that_are_not_openai_s() -> None:
    with FakeOpenAI(refusal(422, "Extra inputs are not permitted"), words("fine")) as provider:
        assert with_extras(provider.url) == ["fine"]
    assert not EXTRAS.keys() & provider.chats[1].keys()
    assert provider.chats[1]["temperature"] == 0.35


@pytest.mark.parametrize("address", ["https://api.openai.com/v1", "https://me.openai.azure.com/openai/v1"])
def test_openai_itself_is_not_asked_for_what_it_does_not_have(address: str) -> None:
    assert not EXTRAS.keys() & OpenAIChat(address, KEY, "m1", extras=EXTRAS)._parameters.keys()


def test_what_is_set_to_nothing_is_not_sent() -> None:
    assert sampling_extras(0, 0.0) == {}


def test_a_rejection_that_names_no_parameter_is_reported_once() -> None:
    with FakeOpenAI(refusal(400, "The context is too long")) as provider, pytest.raises(ModelUnavailable) as caught:
        answer(provider)
    assert "The context is too long" in str(caught.value)
    assert len(provider.chats) == 1


# --- which model -------------------------------------------------------------------------------------------------


def test_with_no_model_named_the_first_one_offered_is_asked_for_once() -> None:
    async def twice() -> str:
        model = chat_with(provider, model="")
        assert model.name.startswith("the first model at 127.0.0.1:")
        await collect(model.stream(PROMPT))
        await collect(model.stream(PROMPT))
        return model.name

    with FakeOpenAI(words("Hi"), models=["qwen3", "llama3"]) as provider:
        assert asyncio.run(twice()).startswith("qwen3 at 127.0.0.1:")
    assert [request.method for request in provider.requests] == ["GET", "POST", "POST"]
    assert provider.chats[0]["model"] == "qwen3"


@pytest.mark.parametrize("models", [listing([]), page(), page(404), refusal(404), refusal(200)])
def test_an_endpoint_that_lists_no_models_is_a_hint_to_name_one(models: Mood) -> None:
    with FakeOpenAI(words("Hi"), models=models) as provider, pytest.raises(ModelUnavailable) as caught:
        answer(provider, model="")
    assert "TURNWISE_MODEL" in caught.value.hint


# --- when it goes wrong ------------------------------------------------------------------------------------------


def test_429_is_tried_again_and_then_answered() -> None:
    with FakeOpenAI(refusal(429), refusal(503), words("Hi")) as provider:
        assert answer(provider) == ["Hi"]
    assert len(provider.chats) == 3


@pytest.mark.parametrize(
    ("mood", "words_of_hint"),
    [
        (refusal(429, "Slow down"), "Wait"),
        (refusal(401, "Bad key"), "OPENAI_API_KEY"),
        (refusal(403), "key"),
        (refusal(404, "No model m1"), "TURNWISE_MODEL"),
        (page(404), "OPENAI_BASE_URL"),
        (refusal(500), "again"),
        (page(502), "again"),
    ],
)
def test_a_refusal_says_what_to_do(mood: Mood, words_of_hint: str) -> None:
    error = failure(mood)
    assert isinstance(error, ModelUnavailable)
    assert words_of_hint in error.hint
    assert "<" not in str(error)


@pytest.mark.parametrize("mood", [cut(), refusal(500), refusal(408), page(502)])
def test_what_fails_in_passing_before_the_first_word_is_tried_again(mood: Mood) -> None:
    with FakeOpenAI(mood, words("Hi")) as provider:
        assert answer(provider) == ["Hi"]


@pytest.mark.parametrize(
    "mood", [refusal(401), refusal(404), refusal(400), page(), refusal(429, x_should_retry="false")]
)
def test_what_will_not_pass_is_not_tried_again(mood: Mood) -> None:
    with FakeOpenAI(mood, words("Hi")) as provider, pytest.raises(ModelError):
        answer(provider)
    assert len(provider.chats) == 1


@pytest.mark.parametrize("mood", [cut("Par"), stalled("Par"), cut("<think>Par")])
def test_nothing_is_asked_again_once_words_or_thoughts_have_come(mood: Mood) -> None:
    with FakeOpenAI(mood, words("Hi")) as provider, pytest.raises(ModelError):
        answer(provider, timeout=1)
    assert len(provider.chats) == 1


def test_a_wait_that_the_time_limit_does_not_allow_is_not_begun() -> None:
    with FakeOpenAI(refusal(429, "Slow down", Retry_After="30"), words("Hi")) as provider:
        with pytest.raises(ModelUnavailable, match="Slow down"):
            answer(provider, timeout=5)
        assert len(provider.chats) == 1


def test_the_wait_is_what_the_endpoint_asks_for_or_a_random_share_of_a_doubling_time() -> None:
    def error(status: int, **headers: str) -> openai.APIStatusError:
        request = FakeOpenAI(words(), models=refusal(status, **headers))
        with request as provider, openai.OpenAI(base_url=provider.url, api_key="x", max_retries=0) as client:
            with pytest.raises(openai.APIStatusError) as caught:
                client.models.list()
            return caught.value

    asked = error(429, Retry_After="4")
    assert all(4 <= (waiting_time(asked, tried) or 0) <= 4.4 for tried in (1, 2))
    unsaid = error(503, X="y")
    for tried, longest in ((1, 0.5), (2, 1.0), (9, 8.0)):
        waits = [waiting_time(unsaid, tried) for _ in range(50)]
        assert all(wait is not None and 0 <= wait <= longest for wait in waits)
        assert len(set(waits)) > 1
    assert waiting_time(error(400, X="y"), 1) is None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({}, None),
    ],
)
def test_how_long_an_endpoint_asks_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_an_endpoint_that_fails_again_and_again_is_left_alone_by_all_who_share_its_breaker() -> None:
    breaker = Breaker(failures=2)
    with FakeOpenAI(refusal(500)) as provider:
        models = [OpenAIChat(provider.url, None, "m1", breaker=breaker) for _ in range(2)]
        for _ in range(2):
            with pytest.raises(ModelUnavailable, match="500"):
                asyncio.run(collect(models[0].stream(PROMPT)))
        asked = len(provider.chats)
        with pytest.raises(ModelUnavailable, match="not asked for 30 more seconds"):
            asyncio.run(models[1].rewrite(MESSAGES, 100))
        assert len(provider.chats) == asked


def test_a_wrong_key_does_not_make_others_wait() -> None:
    with FakeOpenAI(refusal(401), refusal(401), words("Hi")) as provider:
        model = OpenAIChat(provider.url, None, "m1", breaker=Breaker(failures=1))
        for _ in range(2):
            with pytest.raises(ModelRefused):
                asyncio.run(collect(model.stream(PROMPT)))
        assert asyncio.run(collect(model.stream(PROMPT))) == ["Hi"]


def test_thoughts_that_took_all_the_words_of_small_work_do_not_make_answers_wait() -> None:
    thinking = words("<think>on and on", finish_reason="length")
    with FakeOpenAI(thinking, thinking, words("Hi")) as provider:
        breaker = Breaker(failures=1)
        for _ in range(2):
            with pytest.raises(ModelGarbled):
                asyncio.run(OpenAIChat(provider.url, None, "m1", breaker=breaker).rewrite(MESSAGES, 100))
        assert asyncio.run(collect(OpenAIChat(provider.url, None, "m1", breaker=breaker).stream(PROMPT))) == ["Hi"]


def test_going_in_circles_ends() -> None:
    assert isinstance(failure(in_circles), ModelUnavailable)


def test_429_forever_is_tried_three_times() -> None:
    with FakeOpenAI(refusal(429)) as provider, pytest.raises(ModelUnavailable):
        answer(provider)
    assert len(provider.chats) == 3


def test_nobody_listening_is_unavailable() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        model = OpenAIChat(f"http://127.0.0.1:{unused.getsockname()[1]}/v1", None, "m1")
        with pytest.raises(ModelUnavailable) as caught:
            asyncio.run(collect(model.stream(PROMPT)))
    assert "OPENAI_BASE_URL" in caught.value.hint


@pytest.mark.parametrize("mood", [mute, stalled(), stalled("Paris"), stalled("Paris", pings=True)])
def test_silence_ends_in_a_timeout(mood: Mood) -> None:
    error = failure(mood, timeout=0.2)
    assert isinstance(error, ModelTimeout)
    assert "0.2 seconds" in str(error)


def drips(**delta: object) -> Mood:
    """A stream of events without words, that only the client can end."""

    def mood(exchange: Exchange) -> None:
        exchange.start_stream()
        exchange.close_connection = True
        while not exchange.provider.stopping.wait(0.02):
            exchange.send_event({"choices": [{"index": 0, "delta": delta}]})

    return mood


@pytest.mark.parametrize("mood", [drips(), drips(role="assistant", content=""), drips(content=None, refusal=None)])
def test_events_that_hold_nothing_are_silence(mood: Mood) -> None:
    error = failure(mood, timeout=0.3)
    assert isinstance(error, ModelTimeout)


def test_a_model_that_thinks_or_reads_is_waited_for() -> None:
    def thinking(exchange: Exchange) -> None:
        exchange.start_stream()
        for event in [
            {"choices": [{"delta": {"reasoning_content": "Hm."}}]},
            {"choices": [], "prompt_progress": {"n": 1}},
        ]:
            for _ in range(4):
                exchange.provider.stopping.wait(0.3)
                exchange.send_event(event)
        exchange.send_delta("Paris.", "stop")
        exchange.end_stream()

    with FakeOpenAI(thinking) as provider:
        assert "".join(answer(provider, timeout=1.0)) == "Paris."


def left_open(*pieces: str, finish_reason: str | None) -> Mood:
    """The words and how they ended, then silence on an open connection."""

    def mood(exchange: Exchange) -> None:
        exchange.start_stream()
        exchange.close_connection = True
        for piece in pieces:
            exchange.send_delta(piece)
        exchange.send_delta("", finish_reason)
        exchange.provider.stopping.wait()

    return mood


@pytest.mark.parametrize("timeout", [3.0, 60.0])
def test_an_answer_that_has_ended_is_whole_although_nobody_says_it_is_done(timeout: float) -> None:
    with FakeOpenAI(left_open("Par", "is.", finish_reason="stop")) as provider:
        begun = time.monotonic()
        assert "".join(answer(provider, timeout=timeout)) == "Paris."
        assert time.monotonic() - begun < 40


def test_an_answer_that_has_ended_is_whole_although_the_connection_drops() -> None:
    def drops(exchange: Exchange) -> None:
        exchange.start_stream()
        exchange.close_connection = True
        exchange.send_delta("Paris.", "stop")

    with FakeOpenAI(drops) as provider:
        assert answer(provider) == ["Paris."]


def test_words_after_an_end_are_read_too() -> None:
    """Some servers give a reason with every piece."""
    ends = [
        json.dumps({"choices": [{"delta": {"content": piece}, "finish_reason": "stop"}]}) for piece in ("Par", "is.")
    ]
    with FakeOpenAI(events(*ends, "[DONE]")) as provider:
        assert "".join(answer(provider)) == "Paris."


def test_a_model_that_thinks_without_saying_so_is_known_after_its_first_answer() -> None:
    first = words("Paris? It may be.\n", "</think>\n\n", "Paris.")
    with FakeOpenAI(
        first, first, words("Hm, that's ", "all I thought", finish_reason="length"), words("Hi.")
    ) as provider:
        model = chat_with(provider)
        assert "It may be" in "".join(asyncio.run(collect(model.stream(PROMPT))))
        assert "".join(asyncio.run(collect(model.stream(PROMPT)))) == "Paris."
        with pytest.raises(ModelGarbled, match="empty answer"):
            asyncio.run(collect(model.stream(PROMPT)))
        assert asyncio.run(collect(model.stream(PROMPT))) == ["Hi."]


def test_an_answer_that_is_but_a_call_of_a_tool_is_none() -> None:
    error = failure(words('<tool_call>{"name": "search"}', "</tool_call>"))
    assert isinstance(error, ModelGarbled)


def test_a_slow_answer_may_take_longer_than_the_timeout_as_a_whole() -> None:
    with FakeOpenAI(words(*"abcdefgh", pause=0.4)) as provider:
        assert "".join(answer(provider, timeout=2)) == "abcdefgh"


def test_the_reader_s_own_time_does_not_count() -> None:
    async def read_slowly() -> list[str]:
        pieces = []
        async for piece in chat_with(provider, timeout=2).stream(PROMPT):
            pieces.append(piece)
            await asyncio.sleep(2.1)
        return pieces

    with FakeOpenAI(words("b", "c")) as provider:
        assert asyncio.run(read_slowly()) == ["b", "c"]


@pytest.mark.parametrize(
    "mood",
    [
        words(),
        words("", " "),
        words("<think>on and on", finish_reason="length"),
        events(),
        events("[DONE]"),
        page(),
        listing([]),
        events("{"),
        events('"hello"'),
        events("[1]"),
        events('{"choices": "abc"}'),
        events('{"choices": [{"delta": {"content": 5}}]}'),
    ],
)
def test_nonsense_is_garbled(mood: Mood) -> None:
    error = failure(mood)
    assert isinstance(error, ModelGarbled)
    assert error.hint


def test_a_web_page_is_a_hint_to_check_the_address() -> None:
    assert "OPENAI_BASE_URL" in failure(page()).hint


def test_tokens_spent_on_thinking_are_a_hint_to_allow_more() -> None:
    assert "TURNWISE_MAX_TOKENS" in failure(words("<think>on and on", finish_reason="length")).hint


@pytest.mark.parametrize("mood", [cut("Par", "is"), words("Par", "is", finish_reason=None, done=False)])
def test_an_answer_cut_off_gives_its_words_and_then_the_error(mood: Mood) -> None:
    async def read() -> None:
        pieces = chat_with(provider).stream(PROMPT)
        assert [await anext(pieces), await anext(pieces)] == ["Par", "is"]
        with pytest.raises(ModelGarbled, match="broke off"):
            await anext(pieces)

    with FakeOpenAI(mood) as provider:
        asyncio.run(read())


def test_an_error_inside_the_stream_is_reported_in_the_provider_s_words() -> None:
    error = failure(events(json.dumps({"error": {"message": "Overloaded"}})))
    assert isinstance(error, ModelUnavailable)
    assert "Overloaded" in str(error)


def test_the_key_is_never_shown(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    error = failure(refusal(401, f"Incorrect API key provided: {KEY}"), key=KEY)
    shown = "".join(traceback.format_exception(error)) + repr(error.to_dict()) + caplog.text
    assert "Incorrect API key provided" in str(error)
    assert KEY not in shown


# --- loops, closing ----------------------------------------------------------------------------------------------


def test_closing_the_stream_hangs_up() -> None:
    async def read_one() -> None:
        pieces = chat_with(provider).stream(PROMPT)
        assert await anext(pieces) == "and on "
        await pieces.aclose()  # type: ignore[attr-defined]
        assert await asyncio.to_thread(provider.hung_up.wait, 20)

    with FakeOpenAI(endless) as provider:
        asyncio.run(read_one())


def test_cancelling_the_reader_hangs_up() -> None:
    async def cancel() -> None:
        task = asyncio.create_task(collect(chat_with(provider).stream(PROMPT)))
        while not provider.chats:
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(provider.hung_up.wait, 20)

    with FakeOpenAI(endless) as provider:
        asyncio.run(cancel())


def test_one_model_serves_several_event_loops_at_once() -> None:
    def ask() -> None:
        answers.extend(asyncio.run(collect(model.stream(PROMPT))) for _ in range(3))

    answers: list[list[str]] = []
    with FakeOpenAI(words("b", "c", pause=0.01)) as provider:
        model = chat_with(provider)
        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert answers == [["b", "c"]] * 9


def test_many_answers_stream_at_once_over_one_client() -> None:
    async def ask_all() -> list[list[str]]:
        model = chat_with(provider)
        return await asyncio.gather(*(collect(model.stream(PROMPT)) for _ in range(20)))

    with FakeOpenAI(words("b", "c", pause=0.05)) as provider:
        assert asyncio.run(ask_all()) == [["b", "c"]] * 20


# --- models that do not stop --------------------------------------------------------------------------------------


def without_end(text: str, **other: str) -> Mood:
    """A stream of this text, again and again, that only the client can end."""

    def mood(exchange: Exchange) -> None:
        exchange.start_stream()
        exchange.close_connection = True
        event = {"choices": [{"index": 0, "delta": {"content": text, **other}}]}
        while not exchange.provider.stopping.is_set():
            exchange.send_event(event)

    return mood


def test_of_an_answer_without_end_a_few_times_its_tokens_are_read_and_it_is_called_cut() -> None:
    with FakeOpenAI(without_end("and on ")) as provider:
        pieces = asyncio.run(collect(OpenAIChat(provider.url, None, "m1", max_tokens=100).stream(PROMPT)))
        assert provider.hung_up.wait(60)
    assert len("".join(pieces)) == 8 * 100 + 400
    assert isinstance(pieces[-1], Cut)


def test_one_huge_piece_is_cut_too() -> None:
    with FakeOpenAI(whole("x" * 100_000)) as provider:
        pieces = asyncio.run(collect(OpenAIChat(provider.url, None, "m1", max_tokens=10).stream(PROMPT)))
    assert (len("".join(pieces)), isinstance(pieces[-1], Cut)) == (480, True)


@pytest.mark.parametrize(
    "mood",
    [
        pytest.param(without_end("<think>Hm, "), id="in the answer"),
        pytest.param(without_end("", reasoning_content="Hm, "), id="apart"),
    ],
)
def test_thoughts_without_end_are_no_answer(mood: Mood) -> None:
    with FakeOpenAI(mood) as provider, pytest.raises(ModelGarbled) as caught:
        asyncio.run(collect(OpenAIChat(provider.url, None, "m1", max_tokens=10).stream(PROMPT)))
    assert "TURNWISE_MAX_TOKENS" in caught.value.hint


def test_an_answer_that_had_no_more_tokens_ends_in_a_cut() -> None:
    with FakeOpenAI(words("It is so", finish_reason="length")) as provider:
        pieces = answer(provider)
    assert ("".join(pieces), isinstance(pieces[-1], Cut)) == ("It is so", True)
    with FakeOpenAI(words("It is so.")) as provider:
        assert not any(isinstance(piece, Cut) for piece in answer(provider))
    with FakeOpenAI(words("It is so", finish_reason="content_filter")) as provider:
        assert isinstance(answer(provider)[-1], Filtered)
