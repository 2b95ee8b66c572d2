"""The state of a conversation: the scenarios of SPEC A as conversations, and the faults it warns of."""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from patience import within

from turnwise.dialogue import cues
from turnwise.dialogue.presets import load_preset
from turnwise.dialogue.tracker import MAX_TOPICS, ConversationTracker
from turnwise.types import ConversationState, FollowUp, Message

LONG = "Gradient descent takes small steps downhill until the slope is flat, and then it stops there. " * 10
HILL = "Picture a hill in the fog. You feel the slope under your feet and take a step down."


def said(*contents: str) -> tuple[Message, ...]:
    """A history in which user and assistant take turns, the user first."""
    return tuple(Message("assistant" if place % 2 else "user", content) for place, content in enumerate(contents))


def state_of(*contents: str, preset: str = "tutor") -> ConversationState:
    """The state at the last message, which is the user's."""
    tracker = ConversationTracker(load_preset(preset))
    return tracker.update(tracker.read(said(*contents[:-1])), contents[-1])


def known(state: ConversationState) -> dict[str, str]:
    return {each.topic: each.level for each in state.knowledge}


# --- A1, A2: turns and topics -------------------------------------------------------------------------------------


def test_the_turn_is_the_number_of_user_messages() -> None:
    assert state_of("Hi").turn == 1
    assert state_of("Hi", "Hello.", "What is regression?").turn == 2
    history = (Message("system", "Be kind."), Message("assistant", "Welcome!"), *said("Hi", "Hello."))
    assert ConversationTracker().read(history).turn == 1


def test_topics_are_in_order_of_first_mention_and_not_of_the_table() -> None:
    state = state_of(
        *("What is overfitting?", "It is memorising."),
        *("And clustering?", "It groups."),
        *("Back to overfitting", "Yes."),
        "What is gradient descent?",
    )
    assert state.topics == ("overfitting", "clustering", "gradient descent")
    assert state.topic == "gradient descent"


def test_a_topic_that_an_answer_names_comes_after_the_users_and_is_not_covered_by_that() -> None:
    state = state_of("What is overfitting?", "It shows in the loss function.", "How do I see it?")
    assert state.topics == ("overfitting", "loss functions")
    assert (state.topic, state.covered) == ("overfitting", ("overfitting",))


@pytest.mark.parametrize("message", ["tell me more", "thanks!", "Why does it work?", "what activities are included"])
def test_a_message_that_names_no_topic_keeps_the_one_in_force(message: str) -> None:
    assert state_of("What is edifest?", "A festival.", message, preset="general").topic == "edifest"


@pytest.mark.parametrize(
    ("message", "topic"),
    [
        ("What is dropout?", "dropout"),
        ("How does dropout work?", "dropout"),
        ("And GPT?", "GPT"),
        ("Tell me about field trips", "field trips"),
        ("no, I meant attachments", "attachments"),
        ("Was ist Dropout?", "Dropout"),
        ("什么是过拟合", "过拟合"),
        ("我喜欢这个节日", "edifest"),
        ("I don't understand field trips. What are field trips?", "field trips"),
    ],
)
def test_without_a_vocabulary_the_message_itself_names_its_topic(message: str, topic: str) -> None:
    assert state_of("What is edifest?", "A festival.", message, preset="general").topic == topic


@pytest.mark.parametrize(
    ("message", "topic"),
    [
        ("i cant book a study room", "study room"),
        ("yo whats edifest", "edifest"),
        ("hey so i was wondering what is bert exactly", "bert"),
        ("How do pupils register a team for the science fair?", "science fair"),
        ("Wie wird ein Modell trainiert?", "Modell"),
        ("et le taux ?", "taux"),
        ("什么是过拟合", "过拟合"),
        ("Wer hat es erfunden?", ""),
        ("Pourquoi ?", ""),
        ("なぜですか?", ""),
    ],
)
def test_a_first_message_names_a_noun_or_nothing(message: str, topic: str) -> None:
    assert state_of(message, preset="general").topic == topic


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("Give me that as a list", "There is no answer to rewrite yet. Ask something first."),
        ("hello", "Hello. Ask me anything about the documents in this library."),
        ("How tall is it?", "I could not find an answer to that in the documents."),
    ],
)
def test_what_the_assistant_says_about_itself_is_not_a_topic(asked: str, answer: str) -> None:
    assert state_of(asked, answer, "tell me more", preset="general").topics == ()


def test_what_is_known_is_not_what_is_asked_about() -> None:
    state = state_of("I know about overfitting, but what is dropout?")
    assert (state.topics, state.topic) == (("overfitting", "dropout"), "dropout")
    assert (known(state), state.skip_introduction) == ({"overfitting": "knows_basics"}, False)
    assert state_of("I know about overfitting, but how does it come about?").topic == "overfitting"


@pytest.mark.parametrize(
    ("message", "topic"),
    [
        ("How does it compare to GPT?", "BERT"),
        ("is that different from GPT?", "BERT"),
        ("is it smaller than GPT?", "BERT"),
        ("is that what GPT does?", "GPT"),
        ("in what way is that different from GPT?", "BERT"),
        ("is it much smaller than GPT?", "BERT"),
        ("How does GPT compare to it?", "GPT"),
        ("Is it true that GPT is larger than a mouse?", "GPT"),
        ("They say that GPT is larger than a mouse", "GPT"),
        ("how long is it open, and is GPT larger than a mouse?", "GPT"),
    ],
)
def test_what_is_compared_with_something_else_stays_the_topic(message: str, topic: str) -> None:
    tracker = ConversationTracker(terms=lambda: (("BERT", "GPT"), ()))
    state = tracker.update(tracker.read(said("What is BERT?", "A language model.")), message)
    assert (state.topic, state.topics) == (topic, ("BERT", "GPT"))


def test_an_answer_to_the_assistant_is_no_new_topic() -> None:
    state = state_of(
        "What is edifest?", "A festival. What would you like to see?", "The puppet theatre", preset="general"
    )
    assert state.topic == "edifest"


def test_a_topic_keeps_the_form_of_its_first_mention() -> None:
    state = state_of("What are neural implants?", "Devices.", "Who makes a Neural Implant?", preset="general")
    assert state.topics == ("neural implants",)


def test_a_lower_case_subject_of_the_library_is_a_topic() -> None:
    tracker = ConversationTracker(terms=lambda: (("Handbook",), ("Refund policy",)))
    history = said("What is Acme?", "A shop.")
    assert tracker.update(tracker.read(history), "and does the refund policy cover it").topic == "refund policy"
    plain = ConversationTracker()
    assert plain.update(plain.read(history), "and does the refund policy cover it").topic == "Acme"


def test_when_the_library_changes_what_was_read_before_is_read_anew() -> None:
    headings: list[str] = []
    tracker = ConversationTracker(terms=lambda: ((), tuple(headings)))
    history = said("What is Acme?", "A shop.", "does the refund policy cover it", "Yes.")
    assert tracker.read(history).topics == ("Acme",)
    headings.append("Refund policy")
    assert tracker.read(history).topics == ("Acme", "refund policy")


# --- A3: phase ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "phase"),
    [
        ("What is gradient descent?", "exploring"),
        ("Explain gradient descent", "exploring"),
        ("Can you explain why the loss falls?", "understanding"),
        ("can you explain how it works", "understanding"),
        ("What is the difference between L1 and L2?", "understanding"),
        ("How do I choose a learning rate?", "applying"),
        ("show me some code", "applying"),
        ("I'm stuck, my loss is NaN", "debugging"),
        ("it throws an error", "debugging"),
        ("the upload is not working", "debugging"),
        ("What is an error function?", "exploring"),
        ("Back to gradient descent", "reviewing"),
        ("earlier you mentioned momentum", "reviewing"),
        ("Was ist Überanpassung?", "exploring"),
        ("Warum fällt der Verlust?", "understanding"),
        ("Pourquoi la perte baisse ?", "understanding"),
        ("¿Qué es el sobreajuste?", "exploring"),
        ("não funciona", "debugging"),
        ("为什么会过拟合", "understanding"),
        ("過学習とは何ですか", "exploring"),
    ],
)
def test_the_phase_is_read_from_the_message(message: str, phase: str) -> None:
    """“explain” does not win over “can you explain why”."""
    assert state_of(message).phase == phase


def test_asking_to_explain_again_is_the_understanding_phase() -> None:
    assert state_of("What is clustering?", "It groups.", "Explain clustering").phase == "understanding"


def test_a_message_that_shows_no_phase_keeps_the_one_in_force() -> None:
    assert state_of("My code throws an error", "Which one?", "ValueError, on line 3").phase == "debugging"
    assert state_of("My code throws an error", "Which one?", "thanks!").phase == "debugging"
    assert state_of("Why does clustering work?", "So.", "And regression?").phase == "understanding"


def test_a_plain_question_on_another_topic_explores_it() -> None:
    assert state_of("Why does clustering work?", "So.", "Who invented regression?").phase == "exploring"


# --- A4, A5: scaffolding and open questions -----------------------------------------------------------------------


def test_scaffolding_is_read_from_what_was_noted_about_the_answers() -> None:
    history = (
        Message("user", "What is overfitting?"),
        Message("assistant", "Think of memorising.", metadata={"scaffolding": "hint"}),
        Message("user", "Hm."),
        Message("assistant", "Like this.", metadata={"scaffolding": "example", "other": 1}),
        Message("user", "And?"),
        Message("assistant", "So.", metadata={"scaffolding": ["no", "text"]}),
    )
    assert ConversationTracker().read(history).scaffolding == ("hint", "example")


ASKED = "It steps downhill. What do you think happens if the learning rate is too large?"
QUESTION = ("What do you think happens if the learning rate is too large?",)


@pytest.mark.parametrize(
    ("message", "still_open"),
    [
        ("It overshoots the minimum", ()),
        ("Because it overshoots?", ()),
        ("maybe it diverges?", ()),
        ("yes", ()),
        ("thanks!", ()),
        ("How is the slope found?", QUESTION),
        ("tell me more", QUESTION),
        ("I don't know", QUESTION),
        ("I'm lost", QUESTION),
        ("What is clustering?", ()),
    ],
)
def test_a_question_is_open_until_it_is_answered_or_left_behind(message: str, still_open: tuple[str, ...]) -> None:
    assert state_of("What is gradient descent?", ASKED, message).open_questions == still_open


@pytest.mark.parametrize(
    ("answer", "questions"),
    [
        ("Why does this work? Because the gradient points uphill.", []),
        ("Is it slow? Yes [1]. It takes hours.", []),
        ("It is quick. Shall I show you an example?", ["Shall I show you an example?"]),
        ("It is quick. Shall I go on? Let me know!", ["Shall I go on?"]),
        ("1. What is a slope?\n2. Which way is down?", ["What is a slope?", "Which way is down?"]),
        ("The nearest passages are:\n\n- “What is BERT?” [3]", []),
        ("It says so. What is BERT? [1]", []),
        ("```\nx = y ? 1 : 2; // why?\n```", []),
        ("坡度是什么？", ["坡度是什么？"]),
    ],
)
def test_only_what_is_put_to_the_user_is_a_question(answer: str, questions: list[str]) -> None:
    assert cues.questions_asked(answer) == questions


# --- A6: knowledge ------------------------------------------------------------------------------------------------


def test_one_confusion_marks_only_the_topic_in_force_with_its_evidence() -> None:
    state = state_of("What is regression?", "A fit.", "What is clustering?", "Groups.", "Sorry, I don't understand")
    (only,) = state.knowledge
    assert (only.topic, only.level, only.evidence, only.turn) == ("clustering", "confused", "I don't understand", 3)


def test_confusion_outranks_competence_until_the_user_has_got_it() -> None:
    talk = ["What is clustering?", "Groups.", "I don't get it", HILL, "I know what clustering is for", "Good."]
    assert known(state_of(*talk[:3])) == {"clustering": "confused"}
    assert known(state_of(*talk[:5])) == {"clustering": "confused"}
    assert known(state_of(*talk, "Ah, now I get it")) == {"clustering": "knows_basics"}


def test_got_it_is_about_the_topic_before_and_not_the_next_one() -> None:
    state = state_of("What is clustering?", "Groups.", "I'm lost", HILL, "Got it. What is regression?")
    assert known(state) == {"clustering": "knows_basics"}
    assert (state.topic, state.skip_introduction) == ("regression", False)


def test_each_clause_speaks_of_its_own_topic() -> None:
    state = state_of("Hi", "Hello.", "I know gradient descent, but I'm confused about backpropagation")
    assert known(state) == {"gradient descent": "knows_basics", "backpropagation": "confused"}
    assert state.topic == "backpropagation"
    assert known(state_of("I didn't understand clustering at first, but now I get it")) == {
        "clustering": "knows_basics"
    }


@pytest.mark.parametrize(
    ("message", "level"),
    [
        ("I've implemented clustering before", "advanced"),
        ("Does clustering have a convergence rate?", "advanced"),
        ("I'm familiar with clustering", "knows_basics"),
        ("clustering makes no sense", "confused"),
        ("Ich verstehe das nicht", "confused"),
        ("je ne comprends pas", "confused"),
        ("no entiendo", "confused"),
        ("não entendi", "confused"),
        ("我不懂", "confused"),
        ("分かりません", "confused"),
        ("明白了", "knows_basics"),
        ("How do I know what a good clustering is?", None),
        ("If I understand clustering, what then?", None),
        ("I don't know what clustering is", None),
        ("I can't see the button", None),
        ("Why do people not understand clustering?", None),
    ],
)
def test_what_the_user_shows_to_know(message: str, level: str | None) -> None:
    assert known(state_of("What is clustering?", "Groups.", message)).get("clustering") == level


# --- A7, A8: the last answer, and introductions -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("What is a slope? Which way is down?", "socratic"),
        ("Do you mean the loss on the training set?", "clarification"),
        ("For example, a ball rolls downhill. " + LONG, "example"),
        ("Like this:\n\n```python\nx -= rate * slope\n```\n" + LONG, "code"),
        ("The update is $$w = w - r g$$ where $r$ is the rate. " + LONG, "math"),
        ("It steps downhill [1].", "brief"),
        (LONG, "explanation"),
        (LONG + "Why is that? Because it is. Does that help?", "explanation"),
    ],
)
def test_the_kind_and_length_of_the_last_answer(answer: str, kind: str) -> None:
    state = state_of("What is gradient descent?", answer, "ok")
    assert (state.last_response, state.last_response_length, state.response_types) == (kind, len(answer), (kind,))


def follow_up(is_follow_up: bool) -> FollowUp:
    return FollowUp(is_follow_up, "pattern" if is_follow_up else "none", 0.85, "", (), "")


def test_the_introduction_is_left_out_where_the_topic_was_covered_or_is_known_or_was_just_explained_at_length() -> None:
    assert not state_of("What is clustering?").skip_introduction
    assert state_of("What is clustering?", "Groups.", "How is clustering done?").skip_introduction
    assert not state_of("What is clustering?", "Groups.", "What is regression?").skip_introduction
    assert state_of("I know what regression is. How is regression done?").skip_introduction
    tracker = ConversationTracker(load_preset("tutor"))
    for answer, follows, skips in ((LONG, True, True), (LONG, False, False), ("Short.", True, False)):
        before = tracker.read(said("What is gradient descent?", answer))
        state = tracker.update(before, "How does regression use it?", follow_up(follows))
        assert (state.topic, state.skip_introduction) == ("regression", skips)


@pytest.mark.parametrize("answer", ["I don’t know: nothing in the library is about it.", "Do you mean k-means?"])
def test_an_answer_that_gives_none_covers_nothing(answer: str) -> None:
    state = state_of("What is clustering?", answer, "What is clustering?")
    assert (state.covered, state.skip_introduction) == ((), False)


def test_a_topic_was_discussed_before_by_time_and_not_by_its_place_in_the_table() -> None:
    """Overfitting stands last in the preset; asked about again it is covered all the same."""
    state = state_of("What is overfitting?", "Memorising.", "What is regression?", "A fit.", "And overfitting again?")
    assert (state.topic, state.skip_introduction) == ("overfitting", True)


# --- A9: guidance -------------------------------------------------------------------------------------------------

TUTOR = load_preset("tutor").guidance


def advised(state: ConversationState, kind: str, value: str) -> bool:
    return TUTOR[kind][value].replace("{topic}", state.topic) in state.guidance


def test_guidance_goes_by_turn_phase_and_continuity() -> None:
    talk = ["What is clustering?", "Groups.", "Why does clustering work?", "So.", "What is regression?", "A fit."]
    first, second = state_of(*talk[:1]), state_of(*talk[:3])
    assert advised(first, "turn", "first")
    assert advised(first, "phase", "exploring")
    assert not any(advised(first, "topic", each) for each in TUTOR["topic"])
    assert advised(second, "turn", "early")
    assert advised(second, "phase", "understanding")
    assert advised(second, "topic", "same")
    assert advised(state_of(*talk[:5]), "topic", "new")
    fourth = state_of(*talk, "How do I use clustering?")
    assert advised(fourth, "turn", "later")
    assert advised(fourth, "phase", "applying")
    assert advised(fourth, "topic", "returning")


def test_after_two_explanations_something_else_is_offered() -> None:
    talk = ["What is gradient descent?", LONG, "Go deeper", LONG]
    assert advised(state_of(*talk, "and then?"), "other", "variation")
    assert not advised(state_of(*talk[:2], "and then?"), "other", "variation")
    assert not advised(state_of(*talk, "and then?", "Short.", "Why?"), "other", "variation")


@pytest.mark.parametrize(
    "message", ["Derive the update", "what is the equation", "why is $w^2$ there", "die Formel bitte"]
)
def test_mathematics_is_asked_for_in_latex(message: str) -> None:
    assert advised(state_of(message), "other", "mathematics")
    assert not advised(state_of("What is clustering?"), "other", "mathematics")


def test_a_confused_learner_is_mentioned_once() -> None:
    state = state_of("What is clustering?", "Groups.", "I don't understand")
    assert advised(state, "knowledge", "confused")
    assert not advised(state, "mood", "confused")
    assert not advised(state, "topic", "same")


# --- mood ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "mood", "evidence"),
    [
        ("this is useless, I asked this twice already", "frustrated", "this is useless"),
        ("I asked this twice already", "frustrated", "I asked this twice already"),
        ("That's not what I asked", "frustrated", "not what I asked"),
        ("I already told you it is a laptop", "frustrated", "I already told"),
        ("ugh, still wrong", "frustrated", "ugh"),
        ("c'est inutile", "frustrated", "c'est inutile"),
        ("没用", "frustrated", "没用"),
        ("??", "confused", "??"),
        ("what??", "confused", "??"),
        ("I'm lost", "confused", "I'm lost"),
        ("that doesn't make any sense", "confused", "doesn't make any sense"),
        ("What is a useless machine?", "neutral", ""),
        ("Why do people get frustrated?", "neutral", ""),
        ("Who wrote Paradise Lost?", "neutral", ""),
        ("What did I ask first?", "neutral", ""),
        ("no, I meant attachments", "neutral", ""),
        ("thanks!", "neutral", ""),
    ],
)
def test_frustration_and_confusion_are_sensed_with_the_words_that_show_them(
    message: str, mood: str, evidence: str
) -> None:
    state = state_of("What is clustering?", "Groups.", message)
    assert (state.mood, state.mood_evidence) == (mood, evidence)


def test_a_mood_passes() -> None:
    assert state_of("I'm lost", HILL, "What is clustering?").mood == "neutral"


# --- the fold -----------------------------------------------------------------------------------------------------

LINES = (
    *("What is gradient descent?", "I don't understand", "thanks!", "Ah, now I get it", "tell me more", "And GPT?"),
    *("Why does overfitting happen?", "I know regression but I'm lost", "give me that as a list", "??", "yes"),
    *("Back to clustering", "Explain clustering", "it overshoots", "x" * 5000, "", "什么是过拟合", LONG, HILL, ASKED),
)
MESSAGES = st.builds(
    Message,
    st.sampled_from(("user", "user", "assistant", "system")),
    st.sampled_from(LINES),
    metadata=st.sampled_from(({}, {"scaffolding": "hint"})),
)


def without_advice(state: ConversationState) -> ConversationState:
    return dataclasses.replace(state, skip_introduction=False, guidance=())


@given(st.lists(MESSAGES, max_size=24), st.lists(st.integers(1, 12), max_size=8))
def test_reading_at_once_or_turn_by_turn_gives_the_same_state(history: list[Message], steps: list[int]) -> None:
    tutor = load_preset("tutor")
    kept, place = ConversationTracker(tutor), 0
    for step in steps:
        place += step
        kept.read(history[:place])
    assert kept.read(history) == ConversationTracker(tutor).read(history)


@given(st.lists(MESSAGES, max_size=12), st.sampled_from(LINES))
def test_a_message_leaves_the_state_that_the_next_turn_reads(history: list[Message], message: str) -> None:
    tracker = ConversationTracker(load_preset("tutor"))
    now = tracker.update(tracker.read(history), message)
    assert without_advice(now) == tracker.read([*history, Message("user", message)])


def test_a_further_turn_reads_only_what_is_new_however_long_the_conversation_is() -> None:
    tracker = ConversationTracker(load_preset("tutor"))
    history: tuple[Message, ...] = ()
    for turn in range(1, 501):
        before = tracker.folded
        state = tracker.update(tracker.read(history), f"How is island{turn} Island{turn} clustered?")
        assert tracker.folded - before == (2 if turn > 1 else 0)
        history = (*history, *said(f"What is Island{turn}?", f"An island. {LONG}"))
    assert state.turn == 500
    assert state.topic == "clustering"
    assert len(state.topics) == MAX_TOPICS
    assert state.topics[-2:] == ("Island499", "clustering")
    assert len(state.covered) <= MAX_TOPICS
    assert len(json.dumps(dataclasses.asdict(state))) < 8000


def test_a_history_that_differs_anywhere_never_gets_anothers_state() -> None:
    tracker = ConversationTracker(load_preset("tutor"))
    talk = list(said("What is clustering?", "Groups.", "What is regression?", "A fit.", "Why?", "So."))
    tracker.read(talk)
    for place, content in ((0, "What is overfitting?"), (2, "What is overfitting?"), (4, "I'm lost")):
        other = [*talk]
        other[place] = Message("user", content)
        assert tracker.read(other) == ConversationTracker(load_preset("tutor")).read(other)
        assert tracker.read(other) != tracker.read(talk)
    noted = [*talk[:-1], dataclasses.replace(talk[-1], metadata={"scaffolding": "hint"})]
    assert tracker.read(noted).scaffolding == ("hint",)
    assert tracker.read(talk).scaffolding == ()


def test_many_conversations_at_once() -> None:
    tracker = ConversationTracker(load_preset("tutor"))
    talks = [said(*(f"What is Place{talk}x{turn}?" for turn in range(30))) for talk in range(20)]
    work = [talk[:length] for talk in talks for length in range(2, 31, 2)]
    random.Random(7).shuffle(work)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(tracker.read, work))
    alone = ConversationTracker(load_preset("tutor"))
    assert found == [alone.read(talk) for talk in work]


@pytest.mark.parametrize(
    "piece",
    [
        "i don't ",
        "I asked this ",
        "because ",
        "a,",
        "? ",
        "??",
        "not what i ",
        "my error ",
        "you have ",
        "how ",
        "'’",
        "do not ",
    ],
)
def test_hostile_messages_take_time_in_proportion(piece: str) -> None:
    tracker = ConversationTracker(load_preset("tutor"))
    history: Sequence[Message] = said(piece * 20_000, piece * 20_000)
    with within(3):
        tracker.update(tracker.read(history), piece * 20_000)
