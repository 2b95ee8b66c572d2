"""The message as a question that stands alone, made only of words that were said."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from talking import said

from turnwise.config import Settings
from turnwise.models.condenser import JOINTS
from turnwise.text import content_stems
from turnwise.turn.condense import TALK_MIN_SHARE, QueryCondenser, condense, search_query
from turnwise.turn.understand import understand
from turnwise.types import Condensed, Edit, Message, Prediction, SearchQuery, Term

BERT = said("What is BERT?", "BERT is a language model that reads text in both directions at once. [1]")
TWO = said(
    "What is multi-task learning?",
    "Multi-task learning is training one model on several related tasks. [1]",
    "What is causal inference?",
    "Causal inference is the study of what would happen if we changed something. [2]",
)


def condensed(message: str, history: tuple[Message, ...]) -> Condensed:
    return condense(message, history, understand(message, history))


@pytest.mark.parametrize(
    ("message", "query"),
    [
        ("How does it compare to GPT?", "How does BERT compare to GPT?"),
        ("Who made it?", "Who made BERT?"),
        ("How does that work?", "How does BERT work?"),
        ("How do I use it?", "How do I use BERT?"),
        ("What are its limits?", "What are BERT’s limits?"),
        ("Its name?", "BERT’s name?"),
        ("tell me more", "tell me more about BERT"),
        ("What else?", "What else about BERT?"),
    ],
)
def test_a_pronoun_a_possessive_or_a_wish_for_more_is_filled_in(message: str, query: str) -> None:
    found = condensed(message, BERT)
    assert found.query == query
    assert found.method == "rules"
    assert [term.text for term in found.added] == ["BERT"]
    assert "BERT" in found.reason


@pytest.mark.parametrize(
    ("message", "query"),
    [
        ("Is there an overlap?", "Is there an overlap between multi-task learning and causal inference?"),
        ("How do they differ?", "How do multi-task learning and causal inference differ?"),
        ("Compare them", "Compare multi-task learning and causal inference"),
        (
            "What is the relationship between the two?",
            "What is the relationship between multi-task learning and causal inference?",
        ),
        ("What is their relationship?", "What is the relationship between multi-task learning and causal inference?"),
    ],
)
def test_a_comparison_that_names_no_side_gets_the_last_two_subjects(message: str, query: str) -> None:
    assert condensed(message, TWO).query == query


def test_they_after_two_subjects_means_both() -> None:
    query = condensed("Are they related?", TWO).query
    assert "multi-task learning" in query
    assert "causal inference" in query


@pytest.mark.parametrize(
    ("question", "message", "query"),
    [
        ("What is BERT?", "What about GPT?", "What is GPT?"),
        ("What is BERT?", "And GPT?", "What is GPT?"),
        ("How is BERT pre-trained?", "What about GPT?", "How is GPT pre-trained?"),
        ("How many layers does BERT have?", "And GPT?", "How many layers does GPT have?"),
        ("Who can visit Edicenter?", "What about Edifest?", "Who can visit Edifest?"),
    ],
)
def test_an_ellipsis_asks_the_last_question_of_another_subject(question: str, message: str, query: str) -> None:
    found = condensed(message, said(question, "It is so. [1]"))
    assert found.query == query
    assert found.method == "rules"


@pytest.mark.parametrize(
    ("question", "query"),
    [
        ("How was it trained?", "How was GPT trained?"),
        ("When is it?", "When is GPT?"),
        ("What are its limits?", "What are GPT’s limits?"),
    ],
)
def test_an_ellipsis_after_a_question_that_leant_itself_takes_the_place_of_its_pronoun(
    question: str, query: str
) -> None:
    found = condensed("And GPT?", said("What is BERT?", "A model. [1]", question, "It is so. [1]"))
    assert (found.query, found.method) == (query, "rules")


@pytest.mark.parametrize(
    ("question", "message", "query"),
    [
        ("Who wrote the Skerry Song?", "when?", "when wrote the Skerry Song?"),
        ("Is the museum open in winter?", "And where exactly?", "where is the museum open in winter?"),
        ("When is Edifest?", "where?", "where is Edifest?"),
    ],
)
def test_a_bare_question_word_is_asked_of_the_last_question(question: str, message: str, query: str) -> None:
    found = condensed(message, said(question, "It is so. [1]"))
    assert (found.query, found.method) == (query, "rules")


def test_an_ellipsis_after_a_pronoun_and_a_name_is_not_written_for_either() -> None:
    history = said("What is BERT?", "A model. [1]", "How does it compare to GPT?", "It reads both ways. [1]")
    assert "How does T5" not in condensed("And T5?", history).query


@pytest.mark.parametrize("message", ["What is GPT?", "Explain gradient descent", "thanks!", "What did I ask first?"])
def test_what_stands_alone_or_asks_nothing_comes_out_unchanged(message: str) -> None:
    found = condensed(message, BERT)
    assert (found.query, found.added, found.method, found.changed) == (message, (), "literal", False)
    assert found.reason


def test_nothing_is_added_where_the_conversation_begins() -> None:
    assert condensed("How does it compare to GPT?", ()).query == "How does it compare to GPT?"


def test_a_doubtful_follow_up_is_left_as_written_and_helped_a_little_in_the_search() -> None:
    found = condensed("what activities are included", said("What is edifest?", "Edifest is a festival. [1]"))
    assert found.query == "what activities are included"
    assert [term.text.lower() for term in found.added] == ["edifest"]
    assert 0 < found.added[0].weight < 0.6


def test_what_the_caller_gives_wins_unless_it_is_blank() -> None:
    message = "How does it work?"
    given = condense(message, BERT, understand(message, BERT), "  How does GPT work?  ")
    assert (given.query, given.added, given.method) == ("How does GPT work?", (), "caller")
    for blank in ("", "  ", None):
        assert condense(message, BERT, understand(message, BERT), blank).query == "How does BERT work?"


def test_the_search_is_the_literal_message_with_the_added_words_at_less_weight() -> None:
    message = "How does it work?"
    understood = understand(message, BERT)
    rewritten = Condensed("How does BERT work?", (Term("BERT", 0.8),), "rules", "")
    query = search_query(message, BERT, understood, rewritten, Settings(added_weight=0.5))
    assert (query.literal, query.added, query.question) == (
        "How does it work?",
        (Term("BERT", 0.4),),
        "How does BERT work?",
    )
    heavy = search_query(message, BERT, understood, rewritten, Settings(added_weight=5.0))
    assert heavy.added[0].weight == 1.0
    given = search_query(message, BERT, understood, Condensed("How does GPT work?", (), "caller", ""), Settings())
    assert (given.literal, given.question, given.talk) == ("How does GPT work?", "How does GPT work?", "")


def test_what_was_asked_before_counts_in_the_search_as_far_as_the_message_leans_on_it() -> None:
    def asked(message: str, history: Sequence[Message], **settings: float) -> SearchQuery:
        understood = understand(message, history)
        return search_query(message, history, understood, condense(message, history, understood), Settings(**settings))

    leaning = asked("How does it work?", BERT)
    assert (leaning.talk, leaning.talk_weight) == ("What is BERT? How does it work?", Settings().talk_weight)
    alone = asked("What is the opening time of the municipal swimming pool in Riverside?", BERT)
    assert alone.talk_weight == pytest.approx(TALK_MIN_SHARE * leaning.talk_weight)
    assert asked("How does it work?", BERT, talk_weight=0.0).talk_weight == 0.0
    assert asked("What is BERT?", ()).talk == ""
    thanked = (*BERT, Message("user", "thanks!"), Message("assistant", "You’re welcome."))
    assert asked("How does it work?", thanked).talk == leaning.talk
    assert asked("No, I meant GPT", BERT).talk_weight == 0.0, "it takes back what was asked before"
    long = tuple(Message("user", f"What is thing number {number}? {'x' * 400}") for number in range(500))
    assert len(asked("How does it work?", long).talk) < 2000


def test_the_last_subject_is_meant_and_not_an_aspect_of_it() -> None:
    history = (*said("What is attention?", "Attention lets a network weigh words. [1]"),)
    history = (*history, *said("What are its limits?", "Its cost grows with the square of the length. [2]"))
    assert condensed("Why is it expensive?", history).query == "Why is attention expensive?"


# --- other intents, other languages -------------------------------------------------------------------------------


def leaning(message: str, history: tuple[Message, ...], **parts: Any) -> Condensed:
    """Condensed as a sure follow-up, whatever the message is, with some parts of the understanding set."""
    understood = understand(message, history)
    follow_up = replace(understood.follow_up, is_follow_up=True, confidence=0.95)
    return condense(message, history, replace(understood, **{"intent": "follow_up", "follow_up": follow_up, **parts}))


@pytest.mark.parametrize("intent", ["follow_up", "clarify", "refer_back"])
def test_every_intent_that_leans_on_what_was_said_is_condensed(intent: str) -> None:
    assert leaning("How does it work?", BERT, intent=intent).query == "How does BERT work?"


def test_a_follow_up_on_what_was_said_hundreds_of_turns_ago_is_resolved_from_there() -> None:
    talk = [text for turn in range(500) for text in (f"How long is river {turn}?", f"{turn} miles. [1]")]
    talk[200:202] = ["Who painted the Heron Pond?", "The Heron Pond was painted by Marianne Werefkin. [2]"]
    prediction = Prediction(0.9, (("Marianne", 0.9), ("Werefkin", 0.9)))
    found = leaning("Which other pond did she paint?", said(*talk), prediction=prediction)
    assert found.query == "Which other pond did Marianne Werefkin paint?"
    assert "Werefkin" not in leaning("What did she do?", said(*talk), prediction=prediction).query


@pytest.mark.parametrize(
    ("language", "question", "message", "word"),
    [
        ("de", "Was ist der Gradientenabstieg?", "Wie schnell ist er?", "Gradientenabstieg"),
        ("fr", "Qu’est-ce que la rétropropagation ?", "Comment fonctionne-t-elle ?", "rétropropagation"),
        ("es", "¿Qué es el sobreajuste?", "¿Cómo se evita?", "sobreajuste"),
        ("pt", "O que é a regressão?", "Como ela funciona?", "regressão"),
        ("zh", "机器学习是什么？", "它有什么缺点？", "机器学习是什么"),
        ("ja", "機械学習とは何ですか？", "その欠点は？", "機械学習とは何ですか"),
    ],
)
def test_another_language_is_searched_as_it_stands_with_the_last_questions_words(
    language: str, question: str, message: str, word: str
) -> None:
    english = Prediction(0.99, ((word, 0.99),), Edit(0, 3, None, 0.99))
    found = leaning(message, said(question, "..."), language=language, prediction=english)
    assert (found.query, found.method) == (message, "literal")
    assert Term(word, 0.3) in found.added
    assert leaning(message, (), language=language).added == ()


def test_of_an_unknown_language_nothing_is_known_and_nothing_is_added() -> None:
    found = leaning("Hvordan virker det?", BERT, language="")
    assert (found.query, found.added, found.method) == ("Hvordan virker det?", (), "literal")
    assert "language" in found.reason


def test_the_trained_model_is_asked_before_the_rules() -> None:
    history = said("Who wrote it?", "Rafael Ramos and Wenjian Liu wrote it at Toronto. [1]")
    prediction = Prediction(0.9, (("Liu", 0.9), ("Wenjian", 0.8)))
    found = leaning("Where?", history, prediction=prediction)
    assert (found.query, found.method) == ("Where (Wenjian Liu)?", "model")


# --- what holds for any text --------------------------------------------------------------------------------------

spoken = st.sampled_from("BERT GPT edifest learning rate field trips Paris model it what how the 1998 causal".split())
contents = st.one_of(st.lists(spoken, min_size=1, max_size=8).map(" ".join), st.text(max_size=60))
messages = st.one_of(
    st.sampled_from(
        [
            *("How does it work?", "And GPT?", "Is there an overlap?", "tell me more", "What are their limits?"),
            *(
                "No, I meant Paris",
                "You mentioned Paris earlier. How old is it?",
                "IT",
                "their",
                "it's",
                "_it_",
                "and \u0301x?",
            ),
        ]
    ),
    contents,
)
places = st.integers(0, 40)
predictions = st.none() | st.builds(
    Prediction,
    st.floats(0, 1),
    st.lists(st.tuples(spoken | st.text(max_size=12), st.floats(0, 1)), max_size=6).map(tuple),
    st.none()
    | st.builds(Edit, st.integers(0, 40), st.integers(0, 40), st.sampled_from((None, *JOINTS)), st.floats(0, 1)),
)
understandings = st.fixed_dictionaries(
    {
        "intent": st.sampled_from(["follow_up", "clarify", "refer_back", "new_question", "social", "reform"]),
        "language": st.sampled_from(["en", "en", "en", "de", "zh", ""]),
        "prediction": predictions,
    }
)


@settings(max_examples=200, deadline=None)
@given(messages, st.lists(contents, max_size=6), understandings)
@example(
    "00",
    ["0"],
    {"intent": "follow_up", "language": "en", "prediction": Prediction(0, (("0", 1),), Edit(0, 0, None, 1))},
)
def test_only_words_that_were_said_are_added(message: str, contents: list[str], parts: dict[str, Any]) -> None:
    """A rewrite made of other words would answer, drift or invent."""
    found = leaning(message, said(*contents), **parts)
    whole = "\n".join([message, *contents])
    spoken = content_stems(whole) | content_stems(re.sub("['’]", " ", whole))  # a phrase may end at an apostrophe
    for query in (found.query, *found.candidates):
        assert content_stems(query) <= spoken
    assert len(found.candidates) <= 2
    assert all(content_stems(term.text) <= spoken and 0 < term.weight <= 1 for term in found.added)


@settings(max_examples=100, deadline=None)
@given(messages, st.lists(contents, max_size=4), understandings)
def test_a_message_that_stands_alone_comes_out_byte_for_byte(
    message: str, contents: list[str], parts: dict[str, Any]
) -> None:
    for alone in ({"intent": "new_question"}, {"language": ""}):
        found = leaning(message, said(*contents), **parts | alone)
        assert (found.query, found.added, found.candidates) == (message, (), ())


# --- the memory ---------------------------------------------------------------------------------------------------

shared = QueryCondenser()


@settings(max_examples=100, deadline=None)
@given(messages, st.lists(contents, max_size=4), understandings, st.sampled_from([None, "", "What is GPT?"]))
def test_what_is_remembered_is_what_would_be_found_again(
    message: str, contents: list[str], parts: dict[str, Any], given: str | None
) -> None:
    history = said(*contents)
    understood = replace(understand(message, history), **parts)
    fresh = condense(message, history, understood, given)
    for _ in range(2):
        assert asyncio.run(shared.condense(message, history, understood, given)) == fresh


def test_a_message_is_condensed_once_while_nothing_around_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    from turnwise.turn import condense as stage

    asked: list[str] = []

    def by_rules(message: str, *_: Any) -> Condensed:
        asked.append(message)
        return Condensed(message, (), "rules", "")

    monkeypatch.setattr(stage, "by_rules", by_rules)
    condenser = QueryCondenser()

    def go(message: str, history: tuple[Message, ...], **parts: Any) -> None:
        understood = replace(understand(message, history), **{"intent": "follow_up", **parts})
        asyncio.run(condenser.condense(message, history, understood))

    go("How does it work?", BERT)
    go("How does it work?", said(*(each.content for each in BERT)))
    assert len(asked) == 1
    go("How does it work?", TWO)
    go("How does it work?", BERT, prediction=Prediction(0.1, ()))
    go("How does that work?", BERT)
    assert len(asked) == 4
    for number in range(stage.CACHE_SIZE):
        go(f"How does it work in {number}?", BERT)
    go("How does it work?", BERT)
    assert asked[-1] == "How does it work?", "the oldest was forgotten"


def test_many_threads_may_share_one_condenser() -> None:
    condenser = QueryCondenser()

    def ask(number: int) -> str:
        history = said(f"What is BERT-{number % 7}?", "A model. [1]")
        understood = understand("How does it work?", history)
        return asyncio.run(condenser.condense("How does it work?", history, understood)).query

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(200))) == [f"How does BERT-{number % 7} work?" for number in range(200)]


def test_the_number_of_a_citation_is_no_word_that_was_said() -> None:
    found = leaning("Where?", said("Who?", "Him. [1998]"))
    assert "1998" not in found.query + str(found.added)
