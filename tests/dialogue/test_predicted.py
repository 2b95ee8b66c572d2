"""Condensing with the trained model: its phrases, its thresholds, and the fallback to the rules."""

from __future__ import annotations

import pytest
from spoken import leans, said

from turnwise.dialogue.predicted import (
    MIN_ADDED_PROBABILITY,
    MIN_EDIT_PROBABILITY,
    MIN_FOLLOW_UP_CONFIDENCE,
    MIN_TERM_PROBABILITY,
    by_model,
    phrases_of,
)
from turnwise.dialogue.rules import by_rules
from turnwise.types import Condensed, Edit, Message, Prediction, Term

PAPER = said(
    "Who wrote the paper on neural architecture search?",
    "Rafael Ramos and Wenjian Liu of the University of Toronto, on Alzheimer’s disease and multi-task learning.",
)
SEARCH = (("search", 0.9), ("architecture", 0.9), ("neural", 0.8))


def read(
    message: str, seen: list[Message], *terms: tuple[str, float], sure: float = 0.9, edit: Edit | None = None
) -> Condensed:
    follow_up = leans(sure)
    return by_model(message, seen, Prediction(sure, terms, edit), follow_up, lambda: by_rules(message, seen, follow_up))


@pytest.mark.parametrize(
    ("words", "phrases"),
    [
        (["Liu", "Rafael", "Wenjian", "Ramos"], ["Rafael Ramos", "Wenjian Liu"]),
        (["Toronto", "University"], ["University of Toronto"]),
        (["disease", "Alzheimer"], ["Alzheimer’s disease"]),
        (["learning", "task"], ["multi-task learning"]),
        (["search", "neural"], ["neural", "search"]),
        (["cats"], []),
    ],
)
def test_words_that_stood_side_by_side_are_one_phrase_in_the_order_they_were_said(
    words: list[str], phrases: list[str]
) -> None:
    from turnwise.text import stem

    assert [phrase for phrase, _ in phrases_of({stem(word): 0.5 for word in words}, PAPER)] == phrases


def test_the_longest_phrase_is_taken_and_each_word_once() -> None:
    seen = said("What is descent?", "Stochastic gradient descent. Gradient descent. A gradient.")
    kept = {"stochast": 0.6, "gradient": 0.9, "descent": 0.9}
    assert phrases_of(kept, seen) == [("Stochastic gradient descent", pytest.approx(0.8))]


def test_it_means_no_verb_of_a_question_but_that_may() -> None:
    seen = said("can I still cancel an order?", "Yes, before it is sent.")
    likely = (("cancel", 0.9), ("order", 0.6))
    assert read("how do I send it back?", seen, *likely).query == "how do I send the order back (cancel)?"
    assert read("when does that take effect?", seen, *likely).query == "when does cancel take effect (order)?"


def test_they_are_what_was_asked_about_without_its_verb() -> None:
    seen = said("where can i order candles", "At the desk in the hall.")
    found = read("how long do they burn", seen, ("candles", 0.8))
    assert found.query == "how long do candles burn"


def test_a_person_takes_the_place_of_he_and_a_thing_does_not() -> None:
    seen = said("who do I tell about the cap?", "Write to Bayo Lindqvist.")
    assert read("what is his email?", seen, ("cap", 0.9)).query == "what is Bayo Lindqvist’s email (cap)?"
    named = said("who owns the bar?", "Lena owns it. Ruth Alder cooks.")
    assert read("where is she from?", named, ("Lena", 0.9)).query == "where is Lena from?", "the likeliest name stays"
    nobody = said("where is the cap?", "In the lab.")
    assert read("what is his email?", nobody, ("cap", 0.9)).query == "what is his email (the cap)?"


def test_a_number_or_a_title_alone_takes_no_pronouns_place() -> None:
    seen = said("are phones allowed in year 7?", "No. Ask Mrs Renn.")
    assert "is 7 different" not in read("why is that different?", seen, ("7", 0.9)).query
    assert "of Mrs" not in read("which of those are free?", seen, ("Mrs", 0.9)).query


MILL_AND_BARN = said("Compare the mill and the barn", "The mill is tall. The barn is wide.")


@pytest.mark.parametrize(
    ("seen", "message", "query"),
    [
        (MILL_AND_BARN, "which is older", "which is older, the mill or the barn?"),
        (MILL_AND_BARN, "and which one is more expensive?", "and which one is more expensive, the mill or the barn?"),
        (MILL_AND_BARN, "are they open on Sunday?", "are the mill and the barn open on Sunday?"),
        (
            [*MILL_AND_BARN, *said("which is older?", "The barn.")],
            "how high are they?",
            "how high are the mill and the barn?",
        ),
        (
            said("what is a mill?", "A house.", "and a barn?", "A shed."),
            "what do they cost?",
            "what do mill and barn cost?",
        ),
        ([*MILL_AND_BARN, *said("who owns goats?", "Ida.")], "how old are they?", "how old are goats?"),
        ([*MILL_AND_BARN, *said("where is the oven?", "Here.")], "is it hot?", "is the oven hot?"),
    ],
)
def test_after_a_comparison_both_are_meant(seen: list[Message], message: str, query: str) -> None:
    likely = [(word, 0.9) for word in ("goats", "oven") if any(word in each.content for each in seen)]
    assert read(message, seen, *(likely or [("barn", 0.9)])).query == query


def test_why_not_stays_whole() -> None:
    seen = said("should I use the filter?", "No.")
    assert read("why not?", seen, ("filter", 0.9), edit=Edit(4, 7, "", 0.9)).query == "why not (filter)?"


def test_the_likeliest_phrase_takes_the_pronouns_place() -> None:
    found = read("When was it published?", PAPER, *SEARCH, ("Liu", 0.6))
    assert found.query == "When was neural architecture search published (Liu)?"
    assert found.method == "model"
    assert "“neural architecture search”" in found.reason


VERSIONS = said(
    "What is new in 4.2?", "Immutable backups are new in 4.2. R squared is shown since 3.9. It has 2 rooms."
)


@pytest.mark.parametrize(
    ("message", "terms", "query"),
    [
        ("Does it run on Linux?", (("4", 0.7), ("2", 0.6)), "Does 4.2 run on Linux?"),
        ("Is 4.1 better?", (("2", 0.6),), "Is 4.1 better (2)?"),  # a number of its own, and "2 rooms"
        ("When does support for it end?", (("3", 0.7), ("9", 0.6), ("4", 0.5), ("2", 0.5)), ""),
        ("Is 3.8 better?", (("9", 0.6), ("backups", 0.5)), "Is 3.8 better (backups)?"),
        ("What is it?", (("squared", 0.9),), "What is R squared?"),
    ],
)
def test_a_number_and_a_letter_with_its_noun_are_written_whole(
    message: str, terms: tuple[tuple[str, float], ...], query: str
) -> None:
    found = read(message, VERSIONS, *terms)
    assert found.query == query or (not query and "3.9" in found.query and " 9" not in found.query)


def test_a_number_counts_whole_in_the_search() -> None:
    found = read("Does it run on Linux?", VERSIONS, ("3", 0.7), ("9", 0.3), sure=MIN_FOLLOW_UP_CONFIDENCE - 0.1)
    assert found.added == (Term("3.9", 0.3),)


def test_the_rules_are_asked_only_where_the_model_names_no_word() -> None:
    def never() -> Condensed:
        raise AssertionError

    found = by_model("When was it published?", PAPER, Prediction(0.9, SEARCH), leans(0.9), never)
    assert found.method == "model"
    ruled = Condensed("When?", (), "rules", "")
    assert by_model("When was it published?", PAPER, Prediction(0.9), leans(0.9), lambda: ruled) == ruled


def test_what_is_likely_but_not_sure_counts_in_the_search_and_is_not_shown() -> None:
    unlikely = [("Toronto", MIN_ADDED_PROBABILITY - 0.01), ("Liu", MIN_TERM_PROBABILITY - 0.01)]
    found = read("When was it published?", PAPER, *SEARCH, *unlikely)
    assert "Toronto" not in found.query
    assert found.added[-1] == Term("Toronto", round(MIN_ADDED_PROBABILITY - 0.01, 2))


def test_below_the_threshold_the_message_is_unchanged_and_likely_words_count_in_the_search() -> None:
    found = read("Where?", PAPER, ("Toronto", 0.8), sure=MIN_FOLLOW_UP_CONFIDENCE - 0.01)
    assert (found.query, found.method, found.added) == ("Where?", "literal", (Term("Toronto", 0.8),))


SIGNS = said("What is throat cancer?", "Throat cancer is a disease.")
THROAT = (("throat", 0.9), ("cancer", 0.9))


@pytest.mark.parametrize(
    ("message", "edit", "query"),
    [
        (
            "What are the first signs?",
            Edit(19, 24, "of", MIN_EDIT_PROBABILITY),
            "What are the first signs of throat cancer?",
        ),
        ("Which treatment options exist?", Edit(0, 5, "", 0.9), "Which throat cancer treatment options exist?"),
        ("Is the former curable?", Edit(3, 13, None, 0.9), "Is throat cancer curable?"),
        (
            "What are the first signs?",
            Edit(19, 24, "of", MIN_EDIT_PROBABILITY - 0.01),
            "What are the first signs (throat cancer)?",
        ),
        ("What are the first signs?", None, "What are the first signs (throat cancer)?"),
        ("Is it curable?", Edit(6, 13, "of", 0.9), "Is throat cancer curable?"),
    ],
)
def test_the_words_stand_where_the_model_is_sure_that_they_belong(message: str, edit: Edit, query: str) -> None:
    assert read(message, SIGNS, *THROAT, edit=edit).query == query


def test_words_that_nobody_said_are_dropped() -> None:
    found = read("When was it published?", PAPER, ("Google", 0.99), *SEARCH)
    assert "Google" not in found.query + str(found.added)


def test_the_forms_of_the_rules_serve_the_model_too() -> None:
    two = said("What is multi-task learning?", "A.", "What is causal inference?", "B.")
    assert read("Is there an overlap?", two, ("causal", 0.9)).query == (
        "Is there an overlap between multi-task learning and causal inference?"
    )
    assert read("And GPT?", said("How is BERT trained?", "On text."), ("trained", 0.9)).query == "How is GPT trained?"


def test_where_the_model_names_no_word_the_rules_stand() -> None:
    found = read("How does it work?", said("What is BERT?", "BERT is a model."), ("model", 0.2))
    assert (found.query, found.method) == ("How does BERT work?", "rules")
    assert Term("model", 0.2) in found.added


POOL = said("Are dogs allowed?", "Assistance dogs are welcome.")


@pytest.mark.parametrize(
    "message", ["Is there a swimming pool?", "What happens with lost property?", "How is the cafe?"]
)
def test_a_message_that_says_something_gets_no_word_that_only_the_rules_would_add(message: str) -> None:
    found = read(message, POOL, ("dogs", MIN_ADDED_PROBABILITY - 0.05))
    assert (found.query, found.method, found.added) == (message, "literal", (Term("dogs", 0.2),))


def test_what_is_not_sure_is_written_beside_a_message_that_says_something() -> None:
    edit = Edit(18, 31, "in", 0.9)
    unsure = read("What happens with lost property?", POOL, ("dogs", 0.4), edit=edit)
    assert unsure.query == "What happens with lost property (dogs)?"
    assert read("What happens with lost property?", POOL, ("dogs", 0.9), edit=edit).query.endswith("property in dogs?")


@pytest.mark.parametrize(
    ("message", "query"),
    [
        ("How long is it?", "How long is exam (exercise sheets)?"),
        ("How long are they?", "How long are exercise sheets (exam)?"),
    ],
)
def test_what_takes_the_place_of_a_pronoun_has_its_number(message: str, query: str) -> None:
    seen = said("What counts?", "The exam counts. So do exercise sheets.")
    for likely in (0.9, 0.6):
        found = read(message, seen, ("exam", 1.5 - likely), ("exercise", likely), ("sheets", likely))
        assert found.query == query


def test_what_an_acronym_stands_for_is_not_said_beside_it() -> None:
    seen = said("What is BERT?", "BERT, Bidirectional Encoder Representations from Transformers, is a language model.")
    prediction = Prediction(0.99, (("BERT", 0.7), ("Transformers", 0.4), ("Encoder", 0.4), ("language", 0.4)), None)
    found = by_model("How is that trained?", seen, prediction, leans(0.95), lambda: Condensed("", (), "rules", ""))
    assert found.query == "How is BERT trained (language)?"
