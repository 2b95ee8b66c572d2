"""What a message is to the conversation: intent, follow-up, state. Pure functions of message and history."""

from __future__ import annotations

import pytest
from patience import within
from talking import said

from turnwise.config import Settings
from turnwise.turn.condense import condense
from turnwise.turn.understand import understand
from turnwise.types import Message

BERT = said("What is BERT?", "BERT is a language model that reads text in both directions at once. [1]")


@pytest.mark.parametrize(
    ("message", "operation"),
    [
        ("thanks!", "thanks"),
        ("Thank you so much", "thanks"),
        ("Great, thanks!", "thanks"),
        ("ok thanks", "thanks"),
        ("thanks, that helps a lot", "thanks"),
        ("No, thanks", "thanks"),
        ("hello", "hello"),
        ("Good morning", "hello"),
        ("ok", "acknowledged"),
        ("Got it.", "acknowledged"),
        ("bye", "goodbye"),
    ],
)
def test_a_courtesy_is_no_question(message: str, operation: str) -> None:
    understood = understand(message, BERT)
    assert (understood.intent, understood.operation) == ("social", operation)
    assert not understood.follow_up.is_follow_up


@pytest.mark.parametrize("message", ["Thanks, what about GPT?", "ok, and how does it work?", "Great. Who made it?"])
def test_a_question_behind_a_courtesy_is_still_a_follow_up(message: str) -> None:
    assert understand(message, BERT).intent == "follow_up"


@pytest.mark.parametrize(
    ("message", "form"),
    [
        ("Give me that as a list", "list"),
        ("Can you put that in bullet points?", "list"),
        ("as a numbered list please", "list"),
        ("Give that to me as a list", "list"),
        ("List it", "list"),
        ("Show that as a table please", "table"),
        ("now as a table", "table"),
        ("make it shorter", "shorter"),
        ("Summarise your last answer", "shorter"),
        ("tl;dr", "shorter"),
        ("Translate that into French", "translate"),
    ],
)
def test_another_form_of_the_last_answer_is_recognised(message: str, form: str) -> None:
    understood = understand(message, BERT)
    assert (understood.intent, understood.operation) == ("reform", form)
    assert understood.follow_up.is_follow_up


@pytest.mark.parametrize(
    "message",
    [
        "Give me a list of BERT models",
        "What is a linked list?",
        "Summarise the field-trip policy",
        "Make a table of GPT sizes",
    ],
)
def test_a_question_about_lists_and_tables_is_searched(message: str) -> None:
    assert understand(message, BERT).intent in ("new_question", "follow_up")


@pytest.mark.parametrize(
    ("message", "which"),
    [
        ("What did I ask first?", "first"),
        ("what was my first question?", "first"),
        ("What was the first thing I asked?", "first"),
        ("What did I just ask?", "last"),
        ("What was my last question", "last"),
        ("what have we talked about", "all"),
        ("What did I ask?", "all"),
    ],
)
def test_questions_about_the_conversation_are_recognised(message: str, which: str) -> None:
    understood = understand(message, BERT)
    assert (understood.intent, understood.operation) == ("recall", which)


@pytest.mark.parametrize(
    "message",
    [
        "What did the first transformer look like?",
        "What questions did I miss in the COMP 237 exam?",
        "What was the first question that Turing asked?",
    ],
)
def test_a_question_that_only_sounds_like_one_about_the_conversation_is_searched(message: str) -> None:
    assert understand(message, BERT).intent in ("new_question", "follow_up")


@pytest.mark.parametrize(
    "message",
    [
        "How does it compare to GPT?",
        "who can access it",
        "What are its limits?",
        "Who invented them?",
        "What about GPT?",
        "And GPT?",
        "Is there an overlap?",
        "Why?",
        "tell me more",
        "Go deeper",
        "elaborate",
        "continue",
        "What else?",
        "How does that work?",
        "Which one is better?",
        "yes",
    ],
)
def test_messages_that_lean_on_the_conversation_are_follow_ups(message: str) -> None:
    follow_up = understand(message, BERT).follow_up
    assert follow_up.is_follow_up
    assert follow_up.confidence >= 0.5
    assert follow_up.previous_topic == "BERT"
    assert "bert" in follow_up.keywords
    assert follow_up.reason


@pytest.mark.parametrize("message", ["How does it compare to GPT?", "who can access it", "Who invented them?"])
def test_a_pronoun_is_a_pattern(message: str) -> None:
    assert understand(message, BERT).follow_up.type == "pattern"


@pytest.mark.parametrize("message", ["tell me more", "what about GPT", "elaborate", "continue", "how about GPT?"])
def test_the_patterns_of_spec_b2_have_confidence_085(message: str) -> None:
    follow_up = understand(message, BERT).follow_up
    assert (follow_up.type, follow_up.confidence) == ("pattern", 0.85)


def test_the_semantic_scenarios_of_spec_b8() -> None:
    edifest = said("What is edifest?", "Edifest is our annual festival with various activities and field trips.")
    activities = understand("what activities are included", edifest).follow_up
    assert (activities.is_follow_up, activities.type) == (True, "semantic")
    assert 0.5 <= activities.confidence <= 0.9
    assert understand("tell me more about field trips", edifest).follow_up.is_follow_up


@pytest.mark.parametrize(
    "message",
    [
        "Explain gradient descent",
        "What is GPT?",
        "Tell me about causal inference",
        "Show me the opening hours of Edicenter",
        "Who invented the transformer architecture in 2017?",
        "What is the difference between L1 and L2 regularisation?",
    ],
)
def test_questions_that_stand_by_themselves_are_no_follow_ups(message: str) -> None:
    understood = understand(message, BERT)
    assert understood.intent == "new_question"
    assert understood.follow_up.type == "none"
    assert understood.follow_up.confidence < 0.5


SELF_CONTAINED = (
    *("How does dropout reduce overfitting?", "How is BERT pre-trained?", "Why does attention cost so much?"),
    *("Who can visit Edicenter?", "When does Edifest take place?", "What does a field trip cost?"),
    *("How do I fine-tune BERT?", "What is the learning rate?", "How does backpropagation compute gradients?"),
    *("Which optimiser needs the least tuning?", "How many pupils take part in Edifest?", "What causes overfitting?"),
    *("What should pupils bring on a field trip?", "Where is Edifest held?", "How do neural networks learn?"),
    *("Does a field trip need a consent form?", "What are the opening hours of Edicenter?", "Who published BERT?"),
    *("How much does a ticket for Edifest cost?", "How is causal inference different from prediction?"),
    *("Can BERT write long texts?", "How many layers does GPT-3 have?", "What is negative transfer?"),
    *("What does RLHF stand for?", "How do L1 and L2 regularisation differ?", "How do I choose a learning rate?"),
)


def test_under_a_quarter_of_the_questions_that_name_their_subject_are_taken_for_follow_ups() -> None:
    """Each one that is lets words of another topic count a little in its search; none of them is rewritten."""
    taken = [message for message in SELF_CONTAINED if understand(message, BERT).follow_up.is_follow_up]
    assert len(taken) < 0.25 * len(SELF_CONTAINED), taken


@pytest.mark.parametrize("message", SELF_CONTAINED)
def test_no_question_that_names_its_subject_is_rewritten(message: str) -> None:
    assert condense(message, BERT, understand(message, BERT)).query == message


@pytest.mark.parametrize("message", ["How does it work?", "tell me more", "And GPT?", "Is there an overlap?"])
def test_nothing_is_a_follow_up_where_the_conversation_begins(message: str) -> None:
    assert not understand(message, ()).follow_up.is_follow_up


def test_the_threshold_decides() -> None:
    message = "what activities are included"
    confidence = understand(message, BERT).follow_up.confidence
    assert understand(message, BERT, Settings(follow_up_threshold=confidence)).follow_up.is_follow_up
    assert not understand(message, BERT, Settings(follow_up_threshold=confidence + 0.01)).follow_up.is_follow_up


@pytest.mark.parametrize(
    ("message", "phase"),
    [
        ("What is BERT?", "exploring"),
        ("Tell me about edicenter", "exploring"),
        ("How does attention work?", "understanding"),
        ("Can you explain why the loss falls?", "understanding"),
        ("How do I fine-tune BERT?", "applying"),
        ("Show me code for dropout", "applying"),
        ("Give me an example", "applying"),
        ("I get an error when training it", "debugging"),
        ("My loss is NaN and I am stuck", "debugging"),
        ("You said earlier that BERT is bidirectional", "reviewing"),
        ("Let us go back to gradient descent", "reviewing"),
    ],
)
def test_the_phase_is_read_from_the_message(message: str, phase: str) -> None:
    assert understand(message, ()).state.phase == phase


def test_topics_are_kept_in_order_of_first_mention_without_courtesies() -> None:
    history = said("What is BERT?", "A model.", "thanks!", "Welcome.", "What is gradient descent?", "A method.")
    state = understand("How does it compare to few-shot learning?", history).state
    assert (state.turn, state.topics) == (4, ("BERT", "gradient descent"))
    assert understand("What is few-shot learning?", history).state.topic == "few-shot learning"


@pytest.mark.parametrize(
    "message",
    [
        "What is " + "." * 64_000 + "~",
        "the " * 16_000,
        "what " * 13_000,
        "it " * 20_000,
        "Aa " * 20_000,
        "((((" * 16_000,
    ],
    ids=lambda message: message[:12],
)
def test_reading_a_hostile_message_takes_time_in_proportion_to_its_length(message: str) -> None:
    with within(5):
        understand(message, (*BERT, Message("user", message)))


def test_a_sum_that_names_nothing_goes_on_from_a_number_or_is_a_follow_up() -> None:
    trail = said("How long is the trail?", "The trail is 12 km long. [1]")
    assert understand("in miles?", trail).operation == "of the last answer"
    assert understand("and times 3?", trail).intent == "arithmetic"
    assert understand("in days?", BERT).intent == "follow_up"
    assert understand("what is 15 % of that?", BERT).intent == "arithmetic"
