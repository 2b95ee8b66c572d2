"""Whole conversations on the sample library, without a language model: what SPEC promises a person who asks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from talking import abstains, citations, searches, stage

from turnwise.app import build
from turnwise.config import Settings
from turnwise.engine import Engine
from turnwise.text import sentences, without_citations
from turnwise.types import Reply

Talk = Callable[..., tuple[Reply, ...]]

BERT_GPT = ("What is BERT?", "How does it compare to GPT?")
LIST = (*BERT_GPT, "thanks!", "Give me that as a list", "What did I ask first?")
EDIFEST = ("What is edifest?", "what activities are included", "tell me more about field trips")
EDICENTER = ("Tell me about edicenter", "who can access it")
OVERLAP = ("What is multi-task learning?", "What is causal inference?", "Is there an overlap?")
MORE = ("What is edifest?", *["tell me more"] * 4)
DEEPER = ("What is gradient descent?", "Go deeper", "Go deeper", "What about the learning rate?")
TWELVE = (
    *("What is BERT?", "What is edifest?", "What is gradient descent?", "What is causal inference?"),
    *("What is overfitting?", "What is backpropagation?", "What is dropout?", "What is few-shot learning?"),
    *("What is attention?", "What is momentum?", "What is Edicenter?", "What is BERT?"),
)
UNANSWERABLE = (
    "Who is the president of France?",
    "How do I bake sourdough bread?",
    "What is the salary of the director of Edicenter?",
    "Does Edicenter have a swimming pool?",
    "How many layers does LLaMA have?",
    "What is a support vector machine?",
    "asdf qwer zxcv",
    "???",
)
CONVERSATIONS = [LIST, EDIFEST, EDICENTER, OVERLAP, MORE, DEEPER, TWELVE]


def titles(reply: Reply) -> set[str]:
    return {source.title for source in reply.sources}


# --- follow-ups ---------------------------------------------------------------------------------------------------


def test_a_comparison_with_it_names_the_earlier_subject_and_cites_both_documents(talk: Talk) -> None:
    _, reply = talk(*BERT_GPT)
    assert reply.condensed_query == "How does BERT compare to GPT?"
    assert reply.follow_up.is_follow_up
    assert titles(reply) == {"BERT", "GPT"}


def test_a_correction_of_a_question_with_a_pronoun_names_what_it_meant(talk: Talk) -> None:
    *_, reply = talk("What is overfitting?", "How do I prevent it?", "no, I meant in neural networks")
    assert reply.condensed_query == "How do I prevent overfitting in neural networks?"


@pytest.mark.parametrize("question", ["What is dropout?", "How does dropout work?"])
def test_what_a_section_begins_with_explains_what_it_is_called(talk: Talk, question: str) -> None:
    (reply,) = talk(question)
    assert reply.text.startswith("Dropout switches off a random share of the neurons")


def test_a_comparison_that_names_neither_side_is_asked_of_the_last_two_subjects(talk: Talk) -> None:
    *_, reply = talk(*OVERLAP)
    assert reply.condensed_query == "Is there an overlap between multi-task learning and causal inference?"
    assert titles(reply) == {"Multi-task learning", "Causal inference"}
    assert "overlap" in reply.text


def test_who_can_access_it_is_a_follow_up_and_searched_as_such(talk: Talk) -> None:
    _, reply = talk(*EDICENTER)
    assert reply.follow_up.is_follow_up
    assert reply.condensed_query.lower().startswith("who can access edicenter")
    assert "Who can access Edicenter" in {source.heading for source in reply.sources}


def test_a_question_of_few_words_is_a_semantic_follow_up(talk: Talk) -> None:
    _, activities, trips = talk(*EDIFEST)
    assert (activities.follow_up.is_follow_up, activities.follow_up.type) == (True, "semantic")
    assert activities.follow_up.previous_topic == "edifest"
    assert "science fair" in activities.text
    assert trips.follow_up.is_follow_up
    assert "field trips" in trips.text.lower()


def test_tell_me_more_is_a_pattern_follow_up_at_085(talk: Talk) -> None:
    reply = talk(*MORE)[1]
    assert (reply.follow_up.type, reply.follow_up.confidence) == ("pattern", 0.85)
    assert reply.condensed_query == "tell me more about edifest"


def test_an_elliptic_question_is_the_last_question_asked_of_another_subject(talk: Talk) -> None:
    _, reply = talk("How is BERT pre-trained?", "What about GPT?")
    assert "next token" in reply.text or "next word" in reply.text
    assert "pre-trained" in reply.condensed_query
    assert "GPT" in reply.condensed_query
    assert "BERT" not in reply.condensed_query


def test_a_pronoun_after_a_change_of_subject_means_the_new_one(talk: Talk) -> None:
    reply = talk(*DEEPER, "How do I choose it?")[-1]
    assert "choose the learning rate" in reply.condensed_query or "choose learning rate" in reply.condensed_query


def test_a_pronoun_question_of_general_words_is_answered_from_the_subjects_document(talk: Talk) -> None:
    """ "Open" and "choose" say nothing by themselves; the subject that was added must carry the search."""
    *_, hours = talk("Tell me about edicenter", "when does it open?")
    assert hours.condensed_query.startswith("when does edicenter open")
    assert "Edicenter" in titles(hours)
    *_, rate = talk("What is the learning rate?", "How do I choose it?")
    assert "factor of ten" in rate.text


def test_an_ambiguous_pronoun_is_searched_in_both_readings(talk: Talk) -> None:
    *_, reply = talk("What is the difference between BERT and GPT?", "When was it published?")
    assert reply.condensed_query == "When was BERT published?"
    assert searches(reply) == ["When was BERT published?", "When was GPT published?"]
    assert stage(reply, "condense").details["candidates"] == ("When was GPT published?",)
    assert "2018" in reply.text


# --- questions that stand alone -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "messages",
    [
        ("What is edifest?", "Explain gradient descent"),
        ("What is edifest?", "When is it?", "Who can come?", "What is BERT?"),
    ],
)
def test_a_fresh_topic_is_not_a_follow_up_and_comes_out_unchanged(talk: Talk, messages: tuple[str, ...]) -> None:
    reply = talk(*messages)[-1]
    assert not reply.follow_up.is_follow_up
    assert reply.condensed_query == messages[-1]
    assert searches(reply) == [messages[-1]]
    assert stage(reply, "condense").details["added"] == {}


def test_a_new_question_after_ten_turns_is_searched_as_it_stands(talk: Talk) -> None:
    reply = talk(*TWELVE)[10]
    assert reply.turn == reply.state.turn == 11
    assert reply.condensed_query == "What is Edicenter?"
    assert searches(reply) == ["What is Edicenter?"]
    assert stage(reply, "condense").details["added"] == {}
    assert titles(reply) == {"Edicenter"}


def test_the_callers_condensed_query_wins(sample_engine: Engine) -> None:
    chat = sample_engine.chat()
    chat.ask("What is BERT?")
    reply = chat.ask("How does it compare to GPT?", condensed_query="Who may take part in Edifest?")
    assert reply.condensed_query == "Who may take part in Edifest?"
    assert searches(reply) == ["Who may take part in Edifest?"]
    assert titles(reply) == {"Edifest"}


def test_the_callers_condensed_query_is_searched_even_where_the_message_needs_no_search(sample_engine: Engine) -> None:
    reply = sample_engine.chat().ask("thanks!", condensed_query="What is BERT?")
    assert searches(reply) == ["What is BERT?"]
    assert "BERT is a language model" in reply.text


# --- messages that need no search ---------------------------------------------------------------------------------


def test_thanks_triggers_no_search(talk: Talk) -> None:
    reply = talk(*LIST)[2]
    assert searches(reply) == []
    assert reply.sources == ()
    assert "welcome" in reply.text


def test_a_list_reforms_the_last_answer_also_after_a_thanks(talk: Talk) -> None:
    _, answer, _, listed, _ = talk(*LIST)
    assert searches(listed) == []
    items = [line.removeprefix("- ") for line in listed.text.splitlines()]
    assert items == [sentence for paragraph in answer.text.split("\n\n") for sentence in sentences(paragraph)]
    assert listed.sources == answer.sources


def test_a_list_after_what_is_not_known_reforms_the_last_answer_that_was_one(talk: Talk) -> None:
    answer, unknown, listed = talk("What is BERT?", "What is a zebra?", "Give me that as a list")
    assert unknown.sources == ()
    assert listed.text.partition("\n\n")[2].startswith("- BERT is")
    assert listed.sources == answer.sources


def test_a_table_can_be_made_a_list_again(talk: Talk) -> None:
    _, table, listed = talk("What is BERT?", "Give me that as a table", "Give me that as a list")
    assert "|---|---|" in table.text
    assert "|" not in listed.text
    assert {each.number for each in listed.sources} == {each.number for each in table.sources}


def test_shorter_keeps_the_first_point_with_its_citation(talk: Talk) -> None:
    answer, shorter = talk("What is BERT?", "make it shorter")
    assert shorter.text == sentences(answer.text)[0]
    assert citations(shorter.text) == {shorter.sources[0].number}


def test_what_was_asked_first_is_answered_from_memory(talk: Talk) -> None:
    reply = talk(*LIST)[-1]
    assert searches(reply) == []
    assert "“What is BERT?”" in reply.text


def test_a_form_asked_for_before_any_answer_is_explained(talk: Talk) -> None:
    (reply,) = talk("Give me that as a list")
    assert "Ask something first" in reply.text


# --- going on -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("messages", [MORE, DEEPER])
def test_going_on_repeats_no_sentence(talk: Talk, messages: tuple[str, ...]) -> None:
    told = [
        sentence
        for reply in talk(*messages)
        if not abstains(reply)
        for sentence in sentences(without_citations(reply.text))
    ]
    assert len(told) > 8
    assert len(told) == len(set(told))


def test_going_deeper_brings_new_material_on_the_same_topic(talk: Talk) -> None:
    _, deeper, *_ = talk(*DEEPER)
    assert not abstains(deeper)
    assert "Gradient descent" in titles(deeper)
    assert not deeper.text.startswith("Gradient descent is an optimisation method")


def test_more_is_admitted_to_be_impossible_when_all_was_said(talk: Talk) -> None:
    told = talk("What is edifest?", *["tell me more"] * 14)
    assert any(reply.text.startswith("The passages I found for this hold no more") for reply in told)


# --- not knowing --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("question", UNANSWERABLE)
def test_the_answer_says_so_if_the_library_does_not_know(talk: Talk, question: str) -> None:
    (reply,) = talk(question)
    assert abstains(reply)
    assert len(reply.text) < 600


def test_the_nearest_is_named_and_not_cited_where_it_does_not_know(talk: Talk) -> None:
    (reply,) = talk("Does Edicenter have a swimming pool?")
    assert abstains(reply)
    assert "The nearest is Edicenter" in reply.text
    assert reply.sources == ()


# --- citations ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("messages", CONVERSATIONS, ids=lambda messages: messages[-1])
def test_every_citation_is_a_source_and_every_source_is_cited(talk: Talk, messages: tuple[str, ...]) -> None:
    for reply in talk(*messages):
        assert citations(reply.text) == {source.number for source in reply.sources}
        for source in reply.sources:
            assert source.text
            assert source.quote
            assert source.quote in " ".join(source.text.split())


@pytest.mark.parametrize("messages", CONVERSATIONS, ids=lambda messages: messages[-1])
def test_what_is_quoted_is_borne_out(talk: Talk, messages: tuple[str, ...]) -> None:
    for reply in talk(*messages):
        assert {number for claim in reply.claims for number in claim.numbers} == citations(reply.text)
        assert [claim for claim in reply.claims if not claim.supported] == []


@pytest.mark.parametrize("messages", CONVERSATIONS, ids=lambda messages: messages[-1])
def test_a_source_keeps_its_number_and_no_number_means_two_sources(talk: Talk, messages: tuple[str, ...]) -> None:
    """Also where its last mention lies more than twenty messages back, as in the longest of these."""
    numbers: dict[int, int] = {}
    passages: dict[int, int] = {}
    for reply in talk(*messages):
        for source in reply.sources:
            assert numbers.setdefault(source.passage_id, source.number) == source.number
            assert passages.setdefault(source.number, source.passage_id) == source.passage_id


def test_an_extracted_sentence_stands_in_the_passage_it_cites(talk: Talk) -> None:
    for reply in talk(*BERT_GPT):
        for sentence in sentences(reply.text):
            (number,) = citations(sentence)
            (source,) = (each for each in reply.sources if each.number == number)
            assert without_citations(sentence).removeprefix("**BERT**: ").removeprefix("**GPT**: ") in source.text


# --- where the conversation stands --------------------------------------------------------------------------------


def test_the_state_counts_turns_and_keeps_topics_in_order_of_first_mention(talk: Talk) -> None:
    replies = talk(*OVERLAP)
    assert [reply.state.turn for reply in replies] == [1, 2, 3]
    assert replies[-1].state.topics == ("multi-task learning", "causal inference")
    assert replies[-1].state.topic == "causal inference"


def test_the_preset_of_the_settings_names_the_topics_and_a_reply_says_where_it_stands(sample_library: Path) -> None:
    with build(Settings(library=str(sample_library), preset="tutor")) as engine:
        chat = engine.chat()
        first, second = chat.ask("What does a ReLU do?"), chat.ask("I don't understand")
        kept = chat.history.turns[-1].record["state"]
    assert first.state.topics == ("activations",)
    assert second.state.topic == "activations"
    assert (second.state.mood, second.state.skip_introduction) == ("confused", True)
    assert second.state.guidance
    assert kept == json.loads(json.dumps(second.to_dict()))["state"]
    assert kept["knowledge"] == [
        {"topic": "activations", "level": "confused", "evidence": "I don't understand", "turn": 2}
    ]


def test_a_form_is_no_topic(talk: Talk) -> None:
    reply = talk("What is BERT?", "Give me that as a table")[-1]
    assert reply.state.topics == ("BERT",)
    assert reply.state.topic == "BERT"


def test_a_pronoun_means_the_last_subject_however_the_answer_spelled_it(talk: Talk) -> None:
    reply = talk("What is BERT?", "How does it compare to GPT?", "What is causal inference?", "Why is it hard?")[-1]
    assert reply.condensed_query.startswith("Why is causal inference hard")


def test_two_subjects_that_share_a_word_can_be_compared(talk: Talk) -> None:
    reply = talk("What is few-shot learning?", "What is multi-task learning?", "What's the difference between them?")[
        -1
    ]
    assert reply.condensed_query == "What's the difference between few-shot learning and multi-task learning?"


@pytest.mark.parametrize("message", ["Who works in IT?", "Who leads the IT department?", "Is IT important in the US?"])
def test_it_in_capitals_is_no_pronoun(talk: Talk, message: str) -> None:
    assert talk("What is BERT?", message)[-1].condensed_query == message


def test_it_in_capitals_is_a_pronoun_where_all_is_in_capitals(talk: Talk) -> None:
    assert talk("What is BERT?", "WHO MADE IT?")[-1].condensed_query == "WHO MADE BERT?"
    assert talk("What is BERT?", "How is it used in IT?")[-1].condensed_query == "How is BERT used in IT?"


def test_it_in_a_later_sentence_means_what_that_message_names(talk: Talk) -> None:
    message = "Define overfitting. Then give 3 ways to prevent it."
    reply = talk("What is BERT?", "How is it trained?", message)[-1]
    assert reply.condensed_query == "Define overfitting. Give 3 ways to prevent overfitting."
    assert {source.title for source in reply.sources} == {"Overfitting and regularisation"}
