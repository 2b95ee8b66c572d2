"""The conversations of SPEC D7 and E with every kind of answerer: no model, the real local one, a server in all moods.

What must hold for each of them is asserted once. The replies of one answerer to the whole talk are made once.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import pytest
from fake_openai import (
    FakeOpenAI,
    Mood,
    cut,
    events,
    in_circles,
    mute,
    page,
    picky,
    reasoning,
    refusal,
    stalled,
    whole,
    words,
)
from talking import citations, collected, of_kind

from turnwise.app import build
from turnwise.config import Settings
from turnwise.conversation import Turn
from turnwise.engine import Engine
from turnwise.models.local import LocalChat
from turnwise.models.openai_chat import OpenAIChat, sampling_extras
from turnwise.turn.compose import system_prompt
from turnwise.turn.run import run_turn
from turnwise.types import (
    Answered,
    ChatModel,
    Delta,
    Failed,
    Message,
    Prompt,
    StageTrace,
    Trace,
    TurnEvent,
    TurnRequest,
)

DOCUMENTS = {
    "edicenter": "The Edicenter is the media centre of the school. Teachers and pupils can access the Edicenter with "
    "their school card. The Edicenter opens at eight in the morning.",
    "edifest": "Edifest is the festival of the school. It takes place in June, with music and a science fair.",
    "heron": "The grey heron is a wading bird. It eats fish and frogs, which it takes from shallow water.",
}
TALK = (
    "What is the Edicenter?",
    "Who can access it?",
    "Give me that as a list",
    "Tell me more about that",
    "What did I ask first?",
    "thanks!",
    "What does the grey heron eat?",
    "make it shorter",
)
ASKED, FOLLOWED, LISTED, MORE, RECALLED, THANKED, NEW, SHORTER = range(len(TALK))
SAID = ("It is the media ", "centre [", "1", "], open from ", "eight [1].")  # a citation falls into pieces

SPEAKING: dict[str, Mood] = {
    "streams": words(*SAID),
    "thinks": words("<thi", "nk>Is it [2]?", "</think>\n\n", *SAID),
    "thinks apart": reasoning("Is it", " [2]?", answer=SAID),
    "ends without a reason": words(*SAID, finish_reason=None),
    "does not stream": whole("".join(SAID)),
    "answers after a 429": refusal(429),  # see `serving`
}
SILENT: dict[str, tuple[Mood, str]] = {
    "429": (refusal(429, "Slow down"), "Slow down"),
    "500": (refusal(500), "(500)"),
    "wrong key": (refusal(401, "Bad key"), "Bad key"),
    "a web page": (page(), "a web page"),
    "stalls": (stalled(), "sent nothing"),
    "stalls with pings": (stalled(pings=True), "sent nothing"),
    "never answers": (mute, "sent nothing"),
    "empty": (words(), "empty answer"),
    "only thinks": (words("<think>Hm, BERT", finish_reason="length"), "empty answer"),
    "an error in the stream": (events('{"error": {"message": "Overloaded"}}'), "Overloaded"),
    "cut before a word": (cut(), "broke off"),
    "broken JSON": (events('{"choices": ['), "unreadable"),
    "in circles": (in_circles, "cannot be reached"),
}
BREAKING: dict[str, tuple[Mood, str]] = {
    "cut mid-token": (cut("It is the media cen"), "ModelGarbled"),
    "stalls midway": (stalled("It is the media"), "ModelTimeout"),
    "an error midway": (
        events('{"choices": [{"delta": {"content": "It is"}}]}', '{"error": {"message": "Overloaded"}}'),
        "ModelUnavailable",
    ),
}
EVERY = ["no model", "the local model", *SPEAKING, *SILENT, *BREAKING]


class Recorded:
    """A chat model that remembers what it was told."""

    def __init__(self, model: ChatModel) -> None:
        self.name = model.name
        self.told: list[tuple[Message, ...]] = []
        self._model = model

    async def stream(self, prompt: Prompt) -> AsyncIterator[str]:
        self.told.append(prompt.messages)
        async for piece in self._model.stream(prompt):
            self.name = self._model.name
            yield piece


@dataclass
class Held:
    """A whole talk with one answerer: the events of each turn, what the store has of it, what its model was told."""

    name: str
    model: str
    turns: list[list[TurnEvent]] = field(default_factory=list)
    told: list[list[tuple[Message, ...]]] = field(default_factory=list)
    stored: tuple[Turn, ...] = ()

    def end(self, place: int) -> Answered | Failed:
        end = self.turns[place][-1]
        assert isinstance(end, Answered | Failed)
        return end

    def text(self, place: int) -> str:
        end = self.end(place)
        return end.reply.text if isinstance(end, Answered) else ""

    def trace(self, place: int) -> Trace:
        end = self.end(place)
        return end.reply.trace if isinstance(end, Answered) else end.trace

    def stage(self, place: int, name: str) -> StageTrace:
        return next(stage for stage in self.trace(place) if stage.stage == name)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("small")
    for name, text in DOCUMENTS.items():
        (folder / f"{name}.md").write_text(f"# {name.title()}\n\n{text}\n")
    with build(Settings(library=str(folder / "library"), evidence=2), create=True) as engine:
        engine.add(*folder.glob("*.md"))
        yield engine


@pytest.fixture(scope="module")
def held(engine: Engine, local_chat: LocalChat) -> Iterator[Callable[[str], Held]]:
    """The talk, held once with each answerer."""
    with ExitStack() as servers:

        @cache
        def held(name: str) -> Held:
            match name:
                case "no model":
                    model = None
                case "the local model":
                    model = Recorded(local_chat)
                case _:
                    provider = servers.enter_context(serving(name))
                    extras = sampling_extras(50, 1.15)
                    patience = 0.5 if "stalls" in name or name == "never answers" else 20.0
                    model = Recorded(OpenAIChat(provider.url, None, "some-model", timeout=patience, extras=extras))
            return asyncio.run(hold(engine, name, model))

        yield held


def serving(name: str) -> FakeOpenAI:
    if name == "answers after a 429":
        return FakeOpenAI(refusal(429), words(*SAID), refusal(503), words(*SAID), words(*SAID))
    return FakeOpenAI(SPEAKING.get(name) or {**SILENT, **BREAKING}[name][0])


async def hold(engine: Engine, name: str, model: Recorded | None) -> Held:
    extractive = engine._parts.models[-1]
    parts = replace(engine._parts, models=(model, extractive) if model else (extractive,))
    conversation = re.sub(r"\W", "-", name)
    talk = Held(name, model.name if model else "extractive")
    for message in TALK:
        before = len(model.told) if model else 0
        talk.turns.append(await collected(run_turn(TurnRequest(message, conversation_id=conversation), parts)))
        talk.told.append(model.told[before:] if model else [])
    talk.stored = engine.store.conversation(conversation).turns
    return talk


@pytest.fixture(params=EVERY)
def talk(request: pytest.FixtureRequest, held: Callable[[str], Held]) -> Held:
    return held(request.param)


# --- every answerer -----------------------------------------------------------------------------------------------


def test_every_turn_ends_in_an_answer_or_a_typed_error_and_is_stored(talk: Held) -> None:
    assert len(talk.stored) == len(TALK)
    for place, turn in enumerate(talk.stored):
        end = talk.end(place)
        streamed = "".join(delta.text for delta in of_kind(talk.turns[place], Delta))
        assert (turn.prompt, turn.number, turn.response or "") == (TALK[place], place + 1, streamed)
        if isinstance(end, Answered):
            assert end.reply.text == streamed
            assert end.reply.text.strip()
            assert (turn.status, turn.sources, turn.error) == ("answered", end.reply.sources, None)
        else:
            assert turn.status == "failed"
            assert turn.error == end.error
            assert end.error["code"].startswith("Model")
            assert end.error["hint"]
            assert end.status in (502, 504)


def test_only_a_model_that_breaks_off_midway_fails_a_turn(talk: Held) -> None:
    failed = [place for place in range(len(TALK)) if isinstance(talk.end(place), Failed)]
    if talk.name not in BREAKING:
        assert failed == []
    else:
        assert failed[:3] == [ASKED, FOLLOWED, MORE]
        assert {talk.end(place).error["code"] for place in failed} == {BREAKING[talk.name][1]}  # type: ignore[union-attr]
        assert "It is the media cen".startswith(talk.stored[ASKED].response or "")  # the last words may be held back


def test_what_is_cited_exists_and_is_shown(talk: Held) -> None:
    for place in range(len(TALK)):
        end = talk.end(place)
        if isinstance(end, Answered):
            shown = {source.number: source for source in end.reply.sources}
            assert citations(end.reply.text) == shown.keys()
            assert all(source.text in DOCUMENTS[source.title.lower()] for source in shown.values())


def test_a_citation_is_never_cut_in_two_as_it_streams(talk: Held) -> None:
    for place in range(len(TALK)):
        for delta in of_kind(talk.turns[place], Delta):
            assert not re.search(r"\[\d*$", delta.text)


def test_follow_ups_are_searched_as_what_they_mean(talk: Held) -> None:
    """E1, E8: the same question reaches the library whoever answers; where the last answer failed, too."""
    asked = [talk.stage(place, "condense").details["query"] for place in range(len(TALK))]
    assert asked[ASKED] == TALK[ASKED]
    assert asked[FOLLOWED].startswith("Who can access")
    assert "Edicenter" in asked[FOLLOWED]
    assert "edicenter" in asked[MORE].lower()
    assert asked[NEW] == TALK[NEW]


def test_the_first_question_and_a_courtesy_need_no_model(talk: Held) -> None:
    for place in (RECALLED, THANKED):
        assert talk.told[place] == []
        assert talk.stage(place, "generate").decision == "no model"
        assert talk.stage(place, "retrieve").details["searches"] == []
    assert "“What is the Edicenter?”" in talk.text(RECALLED)


def test_a_list_of_that_is_the_last_answer_with_its_citations_and_no_model_is_asked(talk: Held) -> None:
    assert talk.told[LISTED] == []
    assert talk.stage(LISTED, "retrieve").details["searches"] == []
    if talk.name in BREAKING:
        assert talk.text(LISTED) == "There is no answer to rewrite yet. Ask something first."
        return
    assert all(line.startswith("- ") for line in talk.text(LISTED).split("\n"))
    assert talk.stage(LISTED, "generate").decision == "extractive"
    before, listed = talk.end(FOLLOWED), talk.end(LISTED)
    assert isinstance(before, Answered)
    assert isinstance(listed, Answered)
    assert citations(listed.reply.text) == citations(before.reply.text)
    assert [source.passage_id for source in listed.reply.sources] == [
        source.passage_id for source in before.reply.sources
    ]
    assert listed.reply.notice == ""


def test_a_shorter_answer_keeps_a_citation(talk: Held) -> None:
    end = talk.end(SHORTER)
    if isinstance(end, Answered) and citations(talk.text(NEW)):
        assert citations(end.reply.text)
        assert citations(end.reply.text) <= citations(talk.text(NEW))


def test_instructions_are_sent_once_and_no_answer_acknowledges_them(talk: Held) -> None:
    """E4, E12: the system message stands first and alone, also after seven turns."""
    for told in (messages for turn in talk.told for messages in turn):
        assert [message.role for message in told].count("system") == 1
        assert (told[0].role, told[0].content) == ("system", system_prompt())
        assert sum(system_prompt()[:60] in message.content for message in told) == 1
        assert told[-1].role == "user"
    for place in range(len(TALK)):
        assert not re.search(r"ready to begin|okay, i understand|how can i (?:help|assist)", talk.text(place), re.I)


def test_the_trace_names_who_spoke(talk: Held) -> None:
    for place in (ASKED, FOLLOWED, NEW):
        end, generate = talk.end(place), talk.stage(place, "generate")
        if isinstance(end, Failed):
            assert (generate.decision, generate.reason) == ("stopped", end.error["message"])
        elif talk.name in (*SILENT, *BREAKING):
            assert generate.decision == "extractive"
            assert re.match(r"fell back: .*127\.0\.0\.1", generate.reason)
            assert "sentences from the documents" in end.reply.notice
        else:
            assert generate.decision == talk.model
            assert generate.reason == "the model in use"
            cut = end.reply.notice.startswith("The answer was cut at max_tokens")
            assert end.reply.notice == "" or (talk.name == "the local model" and cut)


# --- each kind ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SPEAKING)
def test_a_server_that_speaks_is_quoted(held: Callable[[str], Held], name: str) -> None:
    assert held(name).text(ASKED) == "It is the media centre [1], open from eight [1]."


@pytest.mark.parametrize("name", SILENT)
def test_a_server_that_does_not_speak_makes_room_and_the_reader_is_told_why(
    held: Callable[[str], Held], name: str
) -> None:
    talk, end = held(name), held(name).end(ASKED)
    assert isinstance(end, Answered)
    assert "media centre" in end.reply.text
    assert SILENT[name][1] in end.reply.notice
    assert SILENT[name][1] in talk.stored[ASKED].record["notice"]


@pytest.mark.parametrize("name", [name for name in SILENT if name != "wrong key"])
def test_after_three_failures_it_is_no_longer_waited_for(held: Callable[[str], Held], name: str) -> None:
    """The turns before it were the question, the follow-up and "tell me more"."""
    end = held(name).end(NEW)
    assert isinstance(end, Answered)
    assert "after 3 failures in a row" in end.reply.notice
    assert SILENT[name][1] in end.reply.notice


def test_a_wrong_key_is_told_every_time(held: Callable[[str], Held]) -> None:
    end = held("wrong key").end(NEW)
    assert isinstance(end, Answered)
    assert "Bad key" in end.reply.notice
    assert "in a row" not in end.reply.notice


def test_the_local_model_writes_words_of_its_own(held: Callable[[str], Held]) -> None:
    talk = held("the local model")
    assert len(of_kind(talk.turns[ASKED], Delta)) > 1
    assert talk.stage(ASKED, "generate").decision == "SmolLM2-135M-Instruct.Q4_1 on this machine"
    assert talk.text(ASKED) != held("no model").text(ASKED)


def test_a_server_that_takes_few_parameters_answers_all_the_same(engine: Engine) -> None:
    with FakeOpenAI(picky("top_k", "repeat_penalty", "repetition_penalty", "max_tokens")) as provider:
        model = OpenAIChat(provider.url, None, "some-model", extras=sampling_extras(50, 1.15))
        talk = asyncio.run(hold(engine, "picky", Recorded(model)))
    assert talk.text(ASKED) == "fine"
    assert len(provider.chats) == 4 + sum(map(len, talk.told))
