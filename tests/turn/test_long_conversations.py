"""A model's window over a whole conversation: it fits, it opens as the last one did, and nothing vital is lost."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from talking import answered, stage, understood

from turnwise.dialogue.tokens import CUT, Budget, tokens
from turnwise.models.fake import FakeChat
from turnwise.postgres import Database
from turnwise.store.postgres import PostgresStore
from turnwise.turn.compose import compose, system_prompt
from turnwise.turn.examine import messages_sent_in
from turnwise.turn.parts import Parts
from turnwise.types import Hit, Message, Passage, Prompt, QueryPlan, Reply, SearchQuery, Step, TurnRequest

MakeParts = Callable[..., Parts]

ASKED = (
    *("What is BERT?", "How does it compare to GPT?", "thanks!", "Go deeper", "What is edifest?"),
    *("when is it?", "Give me that as a list", "What is gradient descent?", "Why does it work?", "I don't understand"),
    *("What about the learning rate?", "What did I ask first?", "What is overfitting?", "How do I prevent it?"),
    *("Tell me about edicenter", "who can access it", "What is attention?", "Is there an overlap with BERT?"),
    *("What is causal inference?", "and few-shot learning?", "Back to edifest: who may come?", "tell me more"),
)


def long_answer(prompt: Prompt) -> str:
    """Cites two pieces of its evidence, at length."""
    return " ".join(f"This rests on {each.passage.title} [{each.number}]." for each in prompt.evidence[:2]) * 12


class Recorded:
    """A model that answers at length, and the prompts it got."""

    def __init__(self, window: int = 0) -> None:
        self.prompts: list[Prompt] = []
        self.model = FakeChat(self._answer, window)

    def _answer(self, prompt: Prompt) -> str:
        self.prompts.append(prompt)
        return long_answer(prompt) or "Nothing was found."


@pytest.fixture(params=["embedded", "postgres"])
def parts_of(request: pytest.FixtureRequest, make_parts: MakeParts) -> Iterator[MakeParts]:
    """Parts whose conversations are kept in the library's file, or in PostgreSQL."""
    if request.param == "embedded":
        yield make_parts
        return
    database = Database(request.getfixturevalue("postgres_url"))
    store = PostgresStore(database)
    yield lambda *models, **chosen: replace(make_parts(*models, **chosen), store=store)
    database.close()


# --- what was sent is sent again ----------------------------------------------------------------------------------


def test_what_was_sent_is_sent_again_to_the_byte_until_it_is_put_in_short(parts_of: MakeParts) -> None:
    model = Recorded()
    parts, conversation = parts_of(model.model, history_messages=16), uuid.uuid4().hex
    replies = [answered(TurnRequest(message, conversation_id=conversation), parts) for message in ASKED]
    spoken = [reply for reply in replies if stage(reply, "generate").decision == "fake"]
    assert len(spoken) == len(model.prompts) == len(ASKED) - 2
    compacted = 0
    for (earlier, _), (later, reply) in pairwise(zip(model.prompts, spoken, strict=True)):
        if earlier.messages == later.messages[: len(earlier.messages)]:
            assert later.messages[len(earlier.messages)].role == "assistant"
        else:
            compacted += 1
            assert any(stage(each, "compose").details["compacted"] for each in replies[: reply.turn])
    assert 1 <= compacted <= 5


def test_what_was_sent_can_be_read_afterwards(parts_of: MakeParts) -> None:
    model = Recorded()
    parts, conversation = parts_of(model.model, history_messages=8, context_tokens=3000), uuid.uuid4().hex
    for message in ASKED:
        answered(TurnRequest(message, conversation_id=conversation), parts)
    kept = parts.store.conversation(conversation)
    sent = [messages_sent_in(kept, turn.number, parts) for turn in kept.turns]
    assert [each for each in sent if each] == [prompt.messages for prompt in model.prompts]
    assert messages_sent_in(kept, 99, parts) == ()


def test_a_failed_turn_changes_nothing_of_what_was_sent(make_parts: MakeParts) -> None:
    prompts: list[Prompt] = []

    def spoken(prompt: Prompt) -> str:
        prompts.append(prompt)
        return long_answer(prompt) if len(prompts) != 2 else " "

    parts, conversation = make_parts(FakeChat(spoken)), uuid.uuid4().hex
    answered(TurnRequest("What is BERT?", conversation_id=conversation), parts)
    with pytest.raises(AssertionError, match="Failed"):
        answered(TurnRequest("What is edifest?", conversation_id=conversation), parts)
    answered(TurnRequest("What is dropout?", conversation_id=conversation), parts)
    assert prompts[2].messages[: len(prompts[1].messages)] == prompts[1].messages
    numbers = [source.number for prompt in prompts for source in prompt.shown]
    assert numbers == list(range(1, len(numbers) + 1))


def test_a_caller_that_sends_text_gets_the_same_opening_up_to_its_last_turn(make_parts: MakeParts) -> None:
    model, history = Recorded(), ()
    parts = make_parts(model.model)
    for message in ("What is BERT?", "What is GPT?", "Compare them", "What is edifest?", "when is it?"):
        reply = answered(TurnRequest(message, history), parts)
        history = (*history, Message("user", message), Message("assistant", reply.text))
    for earlier, later in pairwise(model.prompts):
        settled = earlier.messages[: -1 - (earlier.messages[-1].content != earlier.question)]
        assert later.messages[: len(settled)] == settled or len(settled) < 3


def test_a_number_means_the_same_source_in_every_turn(parts_of: MakeParts) -> None:
    model = Recorded()
    parts, conversation = parts_of(model.model, history_messages=8), uuid.uuid4().hex
    replies = [answered(TurnRequest(message, conversation_id=conversation), parts) for message in ASKED]
    meant: dict[int, int] = {}
    seen = [(each.number, each.passage.id) for prompt in model.prompts for each in prompt.evidence]
    seen += [(source.number, source.passage_id) for reply in replies for source in reply.sources]
    for number, passage in seen:
        assert meant.setdefault(number, passage) == passage
    assert len(set(meant.values())) == len(meant)


def test_the_trace_says_how_much_was_sent_and_how_much_of_it_again(make_parts: MakeParts) -> None:
    model = Recorded(window=4096)
    parts, conversation = make_parts(model.model), uuid.uuid4().hex
    replies = [answered(TurnRequest(each, conversation_id=conversation), parts) for each in ("What is BERT?", "Why?")]
    first, second = (stage(reply, "compose").details for reply in replies)
    assert (first["messages"], first["window"], first["reused"], first["compacted"]) == (2, 4096, 0.0, False)
    assert first["snippets_added"] == 5
    before, whole = (Budget().size(prompt.messages) for prompt in model.prompts)
    assert (first["tokens"], second["tokens"]) == (before, whole)
    assert second["reused"] == round(before / whole, 3) > 0.5
    assert not second["compacted"]


# --- it fits ------------------------------------------------------------------------------------------------------


def found(turn: int, size: int = 900) -> list[Hit]:
    """Passages of a turn; every third turn finds those of an earlier one again."""
    turn = turn // 2 if turn % 3 == 0 else turn
    text = "Gradient descent lowers a loss, step by step, along the slope that the data give. " * (size // 80)
    return [Hit(Passage(turn * 6 + n, turn, f"Paper {turn}", "p.md", f"{n}: {text}"), 1.0) for n in range(6)]


def composed(message: str, history: tuple[Message, ...], hits: list[Hit], budget: Budget) -> Prompt:
    plan = QueryPlan("", message, (Step("rag", message, SearchQuery(message)),))
    return compose(message, history, plan, hits, lambda _: None, budget, understood=understood())


def held(turns: int, budget: Budget, answer: str) -> Iterator[tuple[str, Prompt]]:
    """The prompts of a conversation whose turns are kept, composed one by one."""
    history: tuple[Message, ...] = ()
    for turn in range(turns):
        message = f"Question {turn}: how is it with the step size of method {turn}?"
        prompt = composed(message, history, found(turn), budget)
        yield message, prompt
        sources = tuple(replace(source, quote="So.") for source in prompt.shown[:2])
        cited = "".join(f"[{source.number}]" for source in sources)
        said = Message("assistant", f"It is so with {turn} {cited}. {answer}", sources)
        history = (*history, Message("user", message, evidence=prompt.shown, note=prompt.note), said)


@pytest.mark.parametrize("window", [2048, 8192])
def test_three_hundred_turns_with_long_answers_fit_and_lose_nothing_vital(window: int) -> None:
    budget = Budget(window)
    prompts = list(held(300, budget, "Because the slope says so, and the step is small enough. " * 40))
    broken = 0
    for (_, earlier), (message, later) in pairwise(prompts):
        assert later.messages[0] == Message("system", system_prompt())
        assert message in [each.content for each in later.messages]
        assert budget.size(later.messages) <= window - min(2000, window // 4)
        assert later.shown
        same = later.messages[: len(earlier.messages)] == earlier.messages
        assert later.details["compacted"] is not same
        broken += not same
    assert window == 2048 or broken < 200  # of the smaller window, an answer fills the half
    summary = prompts[-1][1].messages[1].content
    assert summary.startswith("Earlier in this conversation, in short:\n- Before that the user asked: Question 2")
    assert re.search(r"^- Question 29\d: .* → It is so with 29\d\. (?:\[\d+\])+$", summary, re.M)


sizes = st.sampled_from(["", "short. ", "A sentence of some words. " * 30, "好" * 700, "x" * 5000, "9" * 900])


@settings(max_examples=60)
@given(
    window=st.integers(0, 9000),
    answer=st.integers(0, 5000),
    messages=st.integers(0, 30),
    said=st.lists(st.tuples(sizes, sizes, st.integers(0, 3)), max_size=12),
    question=sizes,
    passage=st.sampled_from([10, 900, 40_000]),
    count=st.sampled_from([tokens, lambda text: len(text.encode()) // 2]),
    kept=st.booleans(),
)
def test_whatever_was_said_it_fits(
    window: int,
    answer: int,
    messages: int,
    said: list[tuple[str, str, int]],
    question: str,
    passage: int,
    count: Callable[[str], int],
    kept: bool,
) -> None:
    budget = Budget(window, answer, messages, count)
    history: tuple[Message, ...] = ()
    for turn, (user, assistant, cited) in enumerate(said):
        prompt = composed(user, history, found(turn, passage), budget)
        sources = prompt.shown[:cited]
        text = assistant + "".join(f"[{source.number}]" for source in sources)
        shown = (prompt.shown, prompt.note) if kept else ((), "")
        said_now = Message("user", user, evidence=shown[0], note=shown[1]), Message("assistant", text, sources)
        history = (*history, *said_now)
    prompt = composed(question, history, found(99, passage), budget)
    assert budget.size(prompt.messages) <= budget.room
    assert prompt.messages[0] == Message("system", system_prompt())
    contents = [each.content for each in prompt.messages if each.role == "user"]
    head = question[:20].strip()
    assert any(each.startswith(head) and (question in each or CUT in each) for each in contents)


def test_a_question_that_is_longer_than_the_window_loses_its_middle() -> None:
    question = "Why does this fail? " + "line of a log " * 3000 + "What should I do?"
    prompt = composed(question, (), found(1), Budget(2048))
    (content,) = (each.content for each in prompt.messages if each.role == "user")
    assert content.startswith("Why does this fail? line of a log")
    assert "line of a log What should I do?\n\nEvidence:\n\n[1] " in content
    assert CUT in content
    assert prompt.question == question
    assert prompt.details["question_cut"]
    assert not composed("Why?", (), found(1), Budget(2048)).details["question_cut"]


def test_a_reader_is_told_that_the_middle_of_a_message_was_left_out(make_parts: MakeParts) -> None:
    question = "What is BERT? " + "Line of a log. " * 500 + "Is it a model?"
    reply = answered(TurnRequest(question), make_parts(Recorded(window=1024).model))
    assert "the middle of the question was left out" in stage(reply, "compose").reason
    assert "without its middle" in reply.notice
    short = answered(TurnRequest("What is BERT?"), make_parts(Recorded(window=1024).model))
    assert short.notice == ""


def test_the_evidence_of_one_turn_leaves_room_for_several() -> None:
    for window in (2048, 4096):
        budget = Budget(window)
        space = budget.room - budget.size([Message("system", system_prompt())])
        prompt = composed("Why?", (), found(1, 3000), budget)
        assert prompt.shown
        assert budget.size(prompt.messages[1:]) <= space // 4 + 20


def test_in_a_small_window_half_the_turns_open_as_the_last_one_did() -> None:
    prompts = [prompt for _, prompt in held(60, Budget(4096), "Because the slope says so. " * 10)]
    assert sum(not prompt.details["compacted"] for prompt in prompts) > 30


def test_the_least_fitting_passages_are_left_out_first() -> None:
    prompt = composed("Why?", (), found(1, 3000), Budget(4096))
    numbers = [source.number for source in prompt.shown]
    assert numbers == list(range(1, len(numbers) + 1))
    assert 1 <= len(numbers) < 6
    assert [each.number for each in prompt.evidence] == [1, 2, 3, 4, 5, 6]


def test_a_number_that_was_not_shown_is_free_again_and_one_that_was_is_not() -> None:
    first = composed("Why?", (), found(1, 3000), Budget(4096))
    history = (Message("user", "Why?", evidence=first.shown), Message("assistant", "I do not know."))
    later = composed("How?", history, found(4), Budget(4096))
    assert later.evidence[0].number == len(first.shown) + 1


def test_the_same_prompt_comes_of_the_same_conversation() -> None:
    budget = Budget(2048)
    one, other = ([prompt.messages for _, prompt in held(40, budget, "Long. " * 200)] for _ in range(2))
    assert one == other


def test_a_reply_does_not_grow_by_what_the_model_was_shown(make_parts: MakeParts) -> None:
    parts, conversation = make_parts(Recorded().model), uuid.uuid4().hex
    reply: Reply = answered(TurnRequest("What is BERT?", conversation_id=conversation), parts)
    (turn,) = parts.store.conversation(conversation).turns
    assert len(turn.evidence) == 6
    assert "shown" not in {*turn.record, *reply.to_dict()}
    assert "evidence" not in {*turn.record, *reply.to_dict()}
