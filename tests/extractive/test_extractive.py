"""Answers made of the evidence's own sentences."""

from __future__ import annotations

import asyncio
import dataclasses
import re
from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from turnwise.dialogue.citing import abstains
from turnwise.dialogue.language import CODES
from turnwise.extractive import ExtractiveAnswerer
from turnwise.extractive.asking import defined_topic
from turnwise.extractive.choosing import NEAREST_LIKELY, candidates, nearest
from turnwise.extractive.kinds import QUANTITIES, answer_patterns
from turnwise.extractive.reform import reform, reform_last
from turnwise.extractive.scoring import defines
from turnwise.extractive.statements import Candidate, section_of, statements, stems_of
from turnwise.text import CONTEXT_BAR, content_stems
from turnwise.types import ConversationState, Evidence, Hit, Passage, Prompt, Source, Term

BERT = (
    "BERT is a language model that reads text in both directions. Researchers at Google published BERT in 2018. "
    "BERT reads at most 512 tokens at a time. BERT is fine-tuned with a learning rate of 2e-5."
)
GPT = "GPT is a language model that writes text. OpenAI published GPT in 2018. GPT reads from left to right."


class WordJudge:
    """A judge that counts the words of the question that a sentence has: quick, and right for the texts here."""

    def odds(self, question: str, sentences: Sequence[Passage]) -> list[float]:
        wanted = content_stems(question)
        own = [each.text.rpartition(CONTEXT_BAR)[2] for each in sentences]
        return [8.0 * len(wanted & content_stems(each)) / max(1, len(wanted)) - 4.0 for each in own]


@pytest.fixture(scope="module")
def answerer() -> ExtractiveAnswerer:
    return ExtractiveAnswerer(WordJudge())


def prompt(
    question: str,
    *texts: str,
    search: str = "",
    said: tuple[str, ...] = (),
    sides: tuple[str, ...] = (),
    titles: tuple[str, ...] = (),
) -> Prompt:
    called = titles or [text.split()[0] for text in texts]
    evidence = tuple(
        Evidence(number, Hit(Passage(number, number, title, "", text), 1.0))
        for number, (title, text) in enumerate(zip(called, texts, strict=True), 1)
    )
    return Prompt((), question, (search or question,), evidence, said, sides)


def chosen(answerer: ExtractiveAnswerer, asked: Prompt) -> list[Candidate]:
    return answerer.choose(asked.asked[0], candidates(asked), asked)


def stated(text: str) -> list[str]:
    return [each.text for each in statements(text)]


def test_the_sentence_that_answers_is_quoted_with_its_number(answerer: ExtractiveAnswerer) -> None:
    answer = answerer.answer(prompt("Who published BERT in 2018?", GPT, BERT))
    assert answer.startswith("Researchers at Google published BERT in 2018. [2]")


def test_every_sentence_of_an_answer_stands_in_the_evidence_it_cites(answerer: ExtractiveAnswerer) -> None:
    answer = answerer.answer(prompt("What is a language model?", BERT, GPT))
    found = re.findall(r"([^\]]+?) \[(\d)\]", answer)
    assert found
    for sentence, number in found:
        assert sentence.strip() in (BERT, GPT)[int(number) - 1]


def test_a_row_that_two_documents_share_is_quoted_once(answerer: ExtractiveAnswerer) -> None:
    zoo, farm = "Ticket | Price\nAdult | £14\nChild | £9", "Ticket | Price\nAdult | £15\nChild | £9"
    asked = prompt("What is the price of a child ticket?", zoo, farm)
    asked = dataclasses.replace(asked, asked=(*asked.asked, "Who was Ada?"))  # then the order of passages means nothing
    assert [each.text for each in chosen(answerer, asked)] == ["Child: Price £9."]


def test_a_definition_opens_with_what_the_thing_is(answerer: ExtractiveAnswerer) -> None:
    assert answerer.answer(prompt("What is BERT?", BERT)).startswith("BERT is a language model")


def test_what_is_done_somewhere_is_no_meaning(answerer: ExtractiveAnswerer) -> None:
    assert answerer.answer(prompt("What is played in January?", "The film night is in January.")).startswith("The film")
    assert abstains(answerer.answer(prompt("What is a winter in January?", "The film night is in January.")))


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Who is Fred in the farm?", "In the farm works many a man. Fred is a farmer in the farm."),
        ("What is speed in physics?", "In physics all begins with speed. Speed is a rate in physics."),
        ("What is a shed in the yard?", "In the yard stands a shed. A shed in the yard is a small house."),
    ],
)
def test_a_name_that_ends_like_a_verb_is_a_meaning(answerer: ExtractiveAnswerer, question: str, text: str) -> None:
    assert defined_topic(question)
    assert text.split(". ")[1] in answerer.answer(prompt(question, text))
    assert not defined_topic("What’s played in January?")
    assert not defined_topic("and what is used for the roof?")


def test_what_was_said_is_not_said_again(answerer: ExtractiveAnswerer) -> None:
    first = answerer.answer(prompt("tell me more", BERT, search="tell me more about BERT"))
    assert "published BERT" in first
    second = answerer.answer(prompt("tell me more", BERT, search="tell me more about BERT", said=(first,)))
    assert "published BERT" not in second
    assert second != first


@pytest.mark.parametrize("question", ["Who published BERT in 2018?", "How do I choose it?"])
def test_an_answer_that_was_given_is_recalled_as_such_when_it_is_asked_for(
    answerer: ExtractiveAnswerer, question: str
) -> None:
    """Also where the question's own words are general: "choose" asks for the answer, not for more."""
    text = "To choose a learning rate, try values a factor of ten apart. The sky is blue. " + BERT
    search = "How do I choose a learning rate?" if "choose" in question else question
    told = "try values a factor of ten apart" if "choose" in question else "Researchers at Google published BERT"
    said = tuple(f"{sentence} [1]" for sentence in stated(text))
    answer = answerer.answer(prompt(question, text, search=search, said=said))
    assert answer.startswith("As I said: ")
    assert told in answer


def test_a_question_is_answered_in_another_form_of_its_verb(answerer: ExtractiveAnswerer) -> None:
    text = "The Heron sank in 1902 because its keel was rotten. It was written up by Elsa Marr. The pond is deep."
    said = ("The Heron sank in 1902 because its keel was rotten. [1]",)
    answer = answerer.answer(prompt("why did it sink?", text, search="why did the Heron sink?", said=said))
    assert answer == "As I said: The Heron sank in 1902 because its keel was rotten. [1]"


def test_a_side_of_a_comparison_is_known_in_another_form(answerer: ExtractiveAnswerer) -> None:
    one, other = "Children pay 3 euros for a ticket.", "At the desk adults pay 9 euros, in cash or by card."
    answer = answerer.answer(
        prompt("What do children and adults pay for a ticket?", one, other, sides=("children", "adults"))
    )
    assert f"**Children**: {one} [1]" in answer
    assert f"**Adults**: {other} [2]" in answer


def test_words_of_the_conversation_alone_are_no_reason_to_say_it_again(answerer: ExtractiveAnswerer) -> None:
    text = "A hive yields honey of twenty kilograms. The bakery is on Mill Street."
    said, search = ("A hive yields honey of twenty kilograms. [1]",), "who sells hive yields honey twenty kilograms?"
    answer = answerer.answer(prompt("who sells it?", text, search=search, said=said))
    assert answer.startswith("I don’t know")
    again = answerer.answer(prompt("what does a hive yield?", text, search=search, said=said))
    assert again.startswith("As I said: A hive yields")


def test_what_the_evidence_does_not_answer_is_not_answered(answerer: ExtractiveAnswerer) -> None:
    answer = answerer.answer(prompt("Who painted the ceiling of the chapel?", BERT, GPT))
    assert answer.startswith("I don’t know: the documents do not answer “Who painted the ceiling of the chapel?”")
    assert answer.endswith("The nearest is BERT.")
    again = answerer.answer(prompt("Who painted the ceiling of the chapel?", BERT, GPT, said=(answer,)))
    assert again.startswith("I don’t know that either")
    assert again.endswith("The nearest is BERT.")
    assert abstains(again)
    later = answerer.answer(prompt("Who painted the chapel?", BERT, said=(answer, "BERT reads text. [1]")))
    assert later.startswith("I don’t know: the documents do not answer")


def test_an_abstention_shows_the_words_of_the_user(answerer: ExtractiveAnswerer) -> None:
    answer = answerer.answer(prompt("and who painted it?", BERT, search="and who painted the ceiling (chapel, Rome)?"))
    assert answer.startswith("I don’t know: the documents do not answer “and who painted it?”")


def test_without_evidence_it_says_that_nothing_was_found(answerer: ExtractiveAnswerer) -> None:
    assert answerer.answer(prompt("What is BERT?")) == "I don’t know: nothing in the library is about “What is BERT?”."


def test_a_sentence_stands_under_the_side_that_it_is_about_whatever_its_document_is_called(
    answerer: ExtractiveAnswerer,
) -> None:
    texts = {"BERT": "BERT is a language model that reads text.", "GPT": "It is a language model that writes text."}
    evidence = tuple(
        Evidence(number, Hit(Passage(number, 1, "BERT", "", text, heading), 1.0))
        for number, (heading, text) in enumerate(texts.items(), 1)
    )
    question = "How do BERT and GPT differ as a language model for text?"
    answer = answerer.answer(Prompt((), question, (question,), evidence, (), ("BERT", "GPT")))
    assert "**BERT**: BERT is a language model that reads text. [1]" in answer
    assert "**GPT**: It is a language model that writes text. [2]" in answer


def test_a_side_is_told_by_the_sentence_that_opens_with_it_beside_the_other_side(answerer: ExtractiveAnswerer) -> None:
    oak, pine = "The oak drops every leaf in November.", "A pine keeps its needles in winter."
    question = "What is the difference between an oak and a pine keeping needles in winter?"
    answer = answerer.answer(prompt(question, f"{oak} {pine}", "Nobody sits under an oak.", sides=("an oak", "a pine")))
    assert answer == f"**Oak**: {oak} [1]\n\n**Pine**: {pine} [1]"


def test_a_side_is_not_told_by_a_sentence_that_only_mentions_it(answerer: ExtractiveAnswerer) -> None:
    text = "Squirrels like an oak. A pine keeps its needles in winter."
    question = "What is the difference between an oak and a pine keeping needles in winter?"
    assert "Squirrels" not in answerer.answer(prompt(question, text, sides=("an oak", "a pine")))


def test_the_word_that_both_sides_share_tells_them_not_apart(answerer: ExtractiveAnswerer) -> None:
    one, other = "L1 regularisation makes weights sparse.", "L2 regularisation makes weights small."
    sides = ("L1 regularisation", "L2 regularisation")
    answer = answerer.answer(prompt("What do L1 and L2 regularisation do with weights?", one, other, sides=sides))
    assert answer == f"**{sides[0]}**: {one} [1]\n\n**{sides[1]}**: {other} [2]"


def test_a_comparison_draws_on_both_sides(answerer: ExtractiveAnswerer) -> None:
    asked = prompt(
        "How does it compare to GPT?", BERT, GPT, search="How does BERT compare to GPT?", sides=("BERT", "GPT")
    )
    answer = answerer.answer(asked)
    assert "[1]" in answer
    assert "[2]" in answer


def test_the_sentences_of_a_passage_keep_their_order_though_the_last_answers_best(answerer: ExtractiveAnswerer) -> None:
    first, best = (
        "Bees fill the books, BERT says, and English text is long.",
        "Old BERT reads long text in English books on bees.",
    )
    asked = prompt("Which BERT reads long text in English books on bees?", f"{first} The sky is blue today. {best}")
    assert chosen(answerer, asked)[0].text == best
    assert answerer.answer(asked) == f"{first} [1] {best} [1]"


def test_numbers_that_stand_in_a_document_are_not_taken_for_citations(answerer: ExtractiveAnswerer) -> None:
    """A paper's own "[2]" means an entry of its references, not the second source of this conversation."""
    paper = "BERT outperforms earlier models [2]. BERT was published by researchers at Google [14]."
    answer = answerer.answer(prompt("Who published BERT, the researchers at Google?", paper, GPT))
    assert "BERT was published by researchers at Google" in answer
    assert set(re.findall(r"\[(\d+)\]", answer)) == {"1"}


def test_the_pieces_of_the_stream_are_the_answer(answerer: ExtractiveAnswerer) -> None:
    asked = prompt("tell me more", BERT, search="tell me more about BERT")

    async def streamed() -> list[str]:
        return [piece async for piece in answerer.stream(asked)]

    pieces = asyncio.run(streamed())
    assert "".join(pieces) == answerer.answer(asked)
    assert len(pieces) > 1


# --- statements and forms -----------------------------------------------------------------------------------------


def test_the_rows_of_a_table_are_stated_with_the_heads_of_its_columns() -> None:
    rows = "model | layers | parameters\nBERT base | 12 | 110 million\nBERT large | 24 | 340 million"
    table = f"Sizes follow here now.\n{rows}"
    assert stated(table) == [
        "Sizes follow here now.",
        "BERT base: layers 12, parameters 110 million.",
        "BERT large: layers 24, parameters 340 million.",
    ]


def test_the_first_column_of_a_table_may_have_no_head() -> None:
    table = "regression | classification\noutput | a number | a category"
    assert stated(table) == ["output: regression a number, classification a category."]


@given(st.lists(st.sampled_from(["", " ", "Fees:", "Adults: 5", "a: b; c: d", "| x |", "- y", "Why?", "It is so."])))
@example([])
def test_any_text_is_read_and_nothing_is_stated_that_it_does_not_hold(lines: list[str]) -> None:
    text = "\n".join(lines)
    for each in statements(text):
        assert set(re.findall(r"\w+", each.text)) <= set(re.findall(r"\w+", text))


def test_a_row_without_a_name_is_told_by_its_other_cells() -> None:
    table = "Floor | Room | Price\nFirst | Blue | 40\n| Green | 50\nSecond |  | 60"
    assert [each.text for each in statements(table)] == [
        "First: Room Blue, Price 40.",
        "Room Green, Price 50.",
        "Second: Price 60.",
    ]


def test_headings_fragments_and_code_are_no_statements() -> None:
    assert stated("Overview\n\nfor x in range(3):\n\nIt works well today. Yes.") == ["It works well today."]


ANSWER = "BERT reads both ways. [1] It hides words. [1]\n\nGPT writes text. [2]"


def test_an_answer_as_a_list_keeps_its_citations() -> None:
    assert reform(ANSWER, "list") == "- BERT reads both ways. [1]\n- It hides words. [1]\n- GPT writes text. [2]"


def test_the_likeliest_sentences_are_read_in_their_place_and_more_if_several_are_wanted() -> None:
    read: list[list[str]] = []

    class Reader:
        def odds(self, _question: str, sentences: Sequence[Passage]) -> list[float]:
            read.append([each.text for each in sentences])
            return [6.0 if each.text.endswith("A goose was seen.") else -6.0 for each in sentences]

    birds = " ".join(f"Bird {number} is not known here." for number in range(9))
    text = f"{birds} Over the pass a bird flies. A goose was seen."
    answerer = ExtractiveAnswerer(Reader())
    assert answerer.answer(prompt("Which bird flies over the pass?", text)).startswith("I don’t know")
    assert answerer.answer(prompt("Which bird was seen?", text)) == "A goose was seen. [1]"
    answerer.answer(prompt("What about birds?", text))
    answerer.answer(prompt("tell me more", text, search="tell me more about birds"))
    assert list(map(len, read)) == [4, 4, 6, 8]
    assert read[0][0] == "Over the pass a bird flies."  # it has all that is asked for
    assert "Over the pass a bird flies. | A goose was seen." in read[1]


def test_an_item_of_a_list_is_quoted_with_what_follows_its_first_sentence(answerer: ExtractiveAnswerer) -> None:
    item = "- Kids' swimming, beginners: Wednesdays 15:30 to 16:15, ten lessons, £90. Taught by Sofia Lindqvist."
    text = f"Courses:\n\n{item}\n- Bouldering taster: Fridays, one evening, £20. Taught by Lena Fischer."
    answer = answerer.answer(prompt("who teaches kids' swimming for beginners?", text))
    assert answer == f"{item.removeprefix('- ')} [1]"


def test_a_list_is_numbered_where_that_is_asked_for(answerer: ExtractiveAnswerer) -> None:
    def listed(message: str) -> str:
        return answerer.answer(Prompt((), message, (message,), (), (ANSWER,), form="list"))

    assert listed("number them") == "1. BERT reads both ways. [1]\n2. It hides words. [1]\n3. GPT writes text. [2]"
    assert listed("as an ordered list") == listed("als durchnummerierte Liste") == listed("number them")
    assert listed("als nummerierte Liste") == listed("number them") != listed("as a list")


def test_a_form_does_not_depend_on_what_is_asked(answerer: ExtractiveAnswerer) -> None:
    for asked in ((), ("What is BERT?",), ("What is BERT?", "What is GPT?")):
        listed = answerer.answer(Prompt((), "as a list", asked, (), ("BERT reads both ways. [1]",), form="list"))
        assert listed == "- BERT reads both ways. [1]"


def test_a_form_without_an_answer_says_so(answerer: ExtractiveAnswerer) -> None:
    assert answerer.answer(Prompt((), "as a list", (), (), (), form="list")).startswith("There is no answer to rewrite")


def test_an_earlier_answer_in_another_form_names_its_question(answerer: ExtractiveAnswerer) -> None:
    said, question = ("BERT reads both ways. [1]",), "What is BERT?"
    reply = answerer.answer(Prompt((), "as a list", ("as a list",), (), said, form="list", reforms=question))
    opening, listed = reply.split("\n\n")
    assert opening == f"I found no answer to your last question. This is the one to “{question}”:"
    assert listed == "- BERT reads both ways. [1]"


def test_a_disputed_answer_is_quoted_where_it_answers(answerer: ExtractiveAnswerer) -> None:
    said = "The desk opens at noon. [1]\n\nLost property is kept for 28 days. [2]"
    known = tuple(Source(number, number, title, "", "", None, "", "") for number, title in ((1, "Desk"), (2, "Finds")))
    question = "How long is lost property kept?"
    reply = answerer.answer(Prompt((), "that's wrong", (question,), (), (said,), known=known))
    assert "from Finds: “Lost property is kept for 28 days.” [2]" in reply


def test_an_answer_as_a_table_keeps_its_citations_and_cannot_break_out_of_it() -> None:
    assert reform("A | b is c. [1][2]", "table") == "| Point | Source |\n|---|---|\n| A / b is c. | [1][2] |"


def test_an_answer_made_shorter_is_the_point_with_most_of_the_question_or_its_first() -> None:
    assert reform(ANSWER, "shorter") == "BERT reads both ways. [1]"
    assert reform(ANSWER, "shorter", "how come?") == "BERT reads both ways. [1]"
    assert reform(ANSWER, "shorter", "which of them writes texts?") == "GPT writes text. [2]"


@pytest.mark.parametrize("form", ["list", "table"])
def test_forms_can_be_changed_into_each_other(form: str) -> None:
    """Whatever the last form was, the same points come out, with the same citations."""
    for before in ("list", "table", form):
        assert reform(reform(ANSWER, before), form) == reform(ANSWER, form)


def test_a_numbered_list_of_a_model_becomes_points_without_numbers() -> None:
    numbered = "Two things:\n\n1. BERT reads both ways. [1]\n2. GPT writes text. [2]"
    assert reform(numbered, "list").splitlines()[-2:] == ["- BERT reads both ways. [1]", "- GPT writes text. [2]"]


TABLE = "| region | total revenue |\n| --- | --- |\n| North | 400.50 |\n| South | 90 |\n\n[1]"


def test_a_table_keeps_its_figures_and_its_citation_in_every_form() -> None:
    assert {reform(TABLE, form) for form in ("shorter", "simpler", "table", "repeat")} == {TABLE}
    assert reform(TABLE, "list") == "- North: 400.50 [1]\n- South: 90 [1]"


def test_a_long_table_is_made_shorter_by_its_last_rows() -> None:
    rows = [f"| place {number} | {number} |" for number in range(9)]
    long = "\n".join(["| place | total |", "| --- | --- |", *rows, "", "[1]"])
    assert reform(long, "shorter") == "\n".join(["| place | total |", "| --- | --- |", *rows[:5], "", "[1]"])


@pytest.mark.parametrize("form", ["shorter", "simpler"])
def test_a_list_made_shorter_is_its_first_half_in_order(form: str) -> None:
    steps = [f"{number}. Do the {name} thing. [1]" for number, name in enumerate(("very first", "next", "third"), 1)]
    assert reform("\n".join(steps), form) == "\n".join(steps[:2])


def test_simpler_keeps_the_first_point() -> None:
    long_first = (
        "A weir is a low dam that raises the water of a river a little. [1] It is old. [1] It is wide and flat. [1]"
    )
    assert reform(long_first, "simpler").splitlines() == [
        "- A weir is a low dam that raises the water of a river a little. [1]",
        "- It is old. [1]",
    ]


def test_a_single_sentence_cannot_be_made_simpler(answerer: ExtractiveAnswerer) -> None:
    reply = answerer.answer(Prompt((), "simpler", ("simpler",), (), ("A weir is a low dam. [1]",), form="simpler"))
    assert "language model" in reply


def test_a_quiz_asks_what_was_told_newest_first(answerer: ExtractiveAnswerer) -> None:
    def asked(*said: str) -> str:
        return answerer.answer(Prompt((), "quiz me", ("quiz me",), (), said, form="quiz"))

    weir, lock = "A weir is a low dam. [1] It is old. [1]", "Lock - a chamber for ships. [2]"
    assert asked(weir, lock).startswith("What is Lock?")
    assert asked(weir, lock, asked(weir, lock)).startswith("What is a weir?")
    assert asked(weir, "I don’t know: the documents do not answer “x”.").startswith("What is a weir?")
    assert asked("Locks - the gates of a canal. [1]").startswith("What are Locks?")
    assert "What is" not in asked("It opens at nine. [1]").partition("Ask")[0]


def test_steps_are_told_apart_whatever_they_end_with() -> None:
    steps = "1. Load the kiln. [1]\n2. Heat it to 600 °C. [1]\n3. Let it cool. [1]"
    assert reform(steps, "list") == "- Load the kiln. [1]\n- Heat it to 600 °C. [1]\n- Let it cool. [1]"


def test_what_needs_a_language_model_is_said_to() -> None:
    assert not reform(ANSWER, "rewrite")
    asked = Prompt((), "rewrite that", ("rewrite that",), (), (ANSWER,), form="rewrite")
    assert "language model" in reform_last(asked)


def test_what_the_topic_is_need_not_be_said_once_that_is_known(answerer: ExtractiveAnswerer) -> None:
    text = "BERT is a model for text in English. BERT reads text in English from both sides."
    known = ConversationState(2, topic="bert", skip_introduction=True)
    asked = prompt("How does BERT read text in English?", text)
    assert "BERT is a model" in answerer.answer(prompt("How is BERT, a model for text in English, used?", text))
    assert "BERT is a model" not in answerer.answer(dataclasses.replace(asked, state=known))
    again = prompt("What is BERT?", text)
    assert "BERT is a model" in answerer.answer(dataclasses.replace(again, state=known))


# --- forms of an answer -------------------------------------------------------------------------------------------

STEPS = "Do this:\n\n1. Collect many labelled examples.\n2. Add a linear layer on top\n3. Train BERT very slowly.\n"


def test_a_how_to_is_answered_in_steps_with_the_whole_list(answerer: ExtractiveAnswerer) -> None:
    assert answerer.answer(prompt("How do I train BERT slowly?", STEPS)).splitlines() == [
        "1. Collect many labelled examples. [1]",
        "2. Add a linear layer on top [1]",
        "3. Train BERT very slowly. [1]",
    ]


def test_each_of_several_questions_has_its_own_paragraph(answerer: ExtractiveAnswerer) -> None:
    asked = dataclasses.replace(
        prompt("Who published BERT, and who painted the chapel?", BERT, GPT),
        asked=("Who published BERT?", "Who painted the chapel?"),
    )
    first, second = answerer.answer(asked).split("\n\n")
    assert first == "Researchers at Google published BERT in 2018. [1]"
    assert second.startswith("I don’t know: the documents do not answer “Who painted the chapel?”.")


def test_what_a_tool_worked_out_stands_first_with_the_number_of_what_it_read(answerer: ExtractiveAnswerer) -> None:
    rows = Evidence(3, Hit(Passage(-7, 0, "sales.csv", "sales.csv", "SELECT sum(price)", "SQL"), 1.0))
    summed = dataclasses.replace(prompt("total price?"), evidence=(rows,), found=("The total price is 12.",))
    assert answerer.answer(summed) == "The total price is 12. [3]"
    both = dataclasses.replace(prompt("Who published BERT?", BERT), found=("12 × 7 is 84.",))
    assert answerer.answer(both) == "12 × 7 is 84.\n\nResearchers at Google published BERT in 2018. [1]"


def test_a_sentence_that_opens_with_a_pronoun_follows_the_one_it_points_to(answerer: ExtractiveAnswerer) -> None:
    text = "The sky is blue. Otters live along quiet rivers. They sleep in holts under old roots."
    answer = answerer.answer(prompt("Where do they sleep, in holts under roots?", text))
    assert answer == "Otters live along quiet rivers. [1] They sleep in holts under old roots. [1]"


def test_an_example_is_answered_with_an_example(answerer: ExtractiveAnswerer) -> None:
    text = "A metaphor names one thing as another thing. For example, a metaphor calls time a thief."
    assert answerer.answer(prompt("Give an example of a metaphor", text)) == (
        "For example, a metaphor calls time a thief. [1]"
    )


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("How many eggs does the heron lay?", "The heron lays eggs, and they are four."),
        ("When does the heron lay eggs?", "The heron lays eggs in April."),
        ("Who watches the heron lay eggs?", "Ada watches the heron lay eggs."),
    ],
)
def test_a_sentence_that_gives_what_is_asked_for_comes_before_one_that_resembles_it(
    answerer: ExtractiveAnswerer, question: str, answers: str
) -> None:
    merely = "The heron does lay eggs that it watches."
    assert chosen(answerer, prompt(question, f"{merely} {answers}"))[0].text == answers


def test_a_comparison_stands_side_by_side(answerer: ExtractiveAnswerer) -> None:
    asked = prompt("BERT or GPT: which reads text?", BERT, GPT, sides=("BERT", "GPT"))
    answer = answerer.answer(asked)
    assert "**BERT**: " in answer
    assert "**GPT**: " in answer
    assert answer.index("**BERT**") < answer.index("**GPT**")


def test_at_most_two_sentences_of_a_comparison_are_about_both_sides(answerer: ExtractiveAnswerer) -> None:
    both = " ".join(f"BERT and GPT both {verb} text." for verb in ("read", "store", "split", "count", "weigh"))
    asked = prompt("How do BERT and GPT both treat text?", both, f"{GPT} GPT writes text.", sides=("BERT", "GPT"))
    answer = answerer.answer(asked)
    assert answer.count("BERT and GPT both") == 2
    assert "**GPT**: " in answer


@pytest.mark.parametrize("code", CODES)
def test_not_knowing_is_said_in_the_language_of_the_user(answerer: ExtractiveAnswerer, code: str) -> None:
    asked = dataclasses.replace(prompt("Zebras?", GPT), language=code)
    answer = answerer.answer(asked)
    assert "Zebras?" in answer
    assert abstains(answer)
    assert abstains(answerer.answer(dataclasses.replace(asked, said=(answer,))))
    assert not abstains(answerer.answer(prompt("Who published GPT?", GPT)))


# --- scripts without spaces, and other languages ------------------------------------------------------------------

KILN = "窑炉是用来烧制陶瓷的炉子。素烧一次的费用是三十元。烧完以后要等十二个小时。"


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("什么是窑炉？", "窑炉是用来烧制陶瓷的炉子。 [1]"),
        ("素烧一次的费用是多少？", "素烧一次的费用是三十元。 [1]"),
    ],
)
def test_a_question_in_a_script_without_spaces_is_answered_by_its_characters(
    answerer: ExtractiveAnswerer, question: str, answer: str
) -> None:
    text = dataclasses.replace(prompt(question, KILN), language="zh")
    titled = Evidence(1, Hit(dataclasses.replace(text.evidence[0].passage, title="陶瓷"), 1.0))
    assert answerer.answer(dataclasses.replace(text, evidence=(titled,))) == answer


def test_half_of_a_question_is_no_answer_in_a_script_without_spaces(answerer: ExtractiveAnswerer) -> None:
    asked = dataclasses.replace(prompt("窑炉的老板叫什么名字？", KILN), language="zh")
    assert abstains(answerer.answer(asked))


def test_more_in_a_script_without_spaces_is_what_was_not_said(answerer: ExtractiveAnswerer) -> None:
    asked = prompt("告诉我更多", KILN, search="告诉我更多: 什么是窑炉", said=("窑炉是用来烧制陶瓷的炉子。 [1]",))
    answer = answerer.answer(dataclasses.replace(asked, language="zh"))
    assert answer == "素烧一次的费用是三十元。 [1] 烧完以后要等十二个小时。 [1]"


def test_more_in_german_is_more_about_the_subject(answerer: ExtractiveAnswerer) -> None:
    text = "Ein Brennofen ist ein Ofen. Der Brennofen steht im Keller."
    asked = prompt(
        "Erzähl mir mehr", text, search="Erzähl mir mehr: Brennofen", said=("Ein Brennofen ist ein Ofen. [1]",)
    )
    assert answerer.answer(dataclasses.replace(asked, language="de")) == "Der Brennofen steht im Keller. [1]"


# --- what is missing, and what was said ---------------------------------------------------------------------------


@pytest.mark.parametrize("code", CODES)
def test_a_side_of_a_comparison_about_which_nothing_was_found_is_named(answerer: ExtractiveAnswerer, code: str) -> None:
    asked = prompt("Compare BERT, a language model, with Llama 3", BERT, GPT, sides=("BERT", "Llama 3"))
    answer = answerer.answer(dataclasses.replace(asked, language=code))
    assert answer.startswith("**BERT**: BERT is a language model")
    assert "Llama 3" in answer.split("\n\n")[-1]
    assert not abstains(answer)
    assert "**Llama 3**" not in answer
    assert "GPT" not in answer.split("**BERT**")[1]


def test_two_questions_with_one_answer_are_answered_once(answerer: ExtractiveAnswerer) -> None:
    asked = dataclasses.replace(
        prompt("What is BERT, and what is BERT?", BERT), asked=("Who published BERT in 2018?",) * 2
    )
    assert answerer.answer(asked).count("Researchers at Google published BERT") == 1
    assert not abstains(answerer.answer(asked).split("\n\n")[-1])


@pytest.mark.parametrize("question", ["What is BERT?", "so what's BERT again?"])
def test_a_definition_that_is_asked_for_again_is_said_again(answerer: ExtractiveAnswerer, question: str) -> None:
    said = "BERT is a language model that reads text in both directions. [1]"
    assert answerer.answer(prompt(question, BERT, said=(said,))) == f"As I said: {said}"


def test_a_sentence_that_nearly_answers_is_shown_once_and_not_as_an_answer(answerer: ExtractiveAnswerer) -> None:
    text = "The hall was hung with the portraits of past mayors. Copies of these may be bought in the shop."
    asked = prompt("Who painted the large gilded portraits upstairs?", text)
    answer = answerer.answer(asked)
    assert answer.startswith("I don’t know: the documents do not answer")
    assert answer.endswith("The nearest is The: “The hall was hung with the portraits of past mayors.”")
    again = answerer.answer(dataclasses.replace(asked, said=(answer,)))
    assert abstains(again)
    assert "hung with" not in again
    later = answerer.answer(prompt("What was the hall hung with?", text, said=(answer,)))
    assert later.startswith("The hall was hung with the portraits of past mayors. [1]"), "it was shown, but not told"


def test_another_example_is_another_or_said_to_be_missing(answerer: ExtractiveAnswerer) -> None:
    first, second = "For example, a metaphor calls time a thief.", "A metaphor, for example, calls life a journey."
    ask, search = "another example", "another example of a metaphor"
    found = answerer.answer(prompt(ask, f"{first} {second}", search=search, said=(f"{first} [1]",)))
    assert found == f"{second} [1]"
    missing = answerer.answer(prompt(ask, first, search=search, said=(f"{first} [1]",)))
    assert missing.startswith("The passages I found for this hold no more than I have said.")


@pytest.mark.parametrize(
    "last",
    [
        "I don’t know: the documents do not answer “Who?”. The nearest is BERT.",
        "Hello. Ask me anything about the documents in this library.",
    ],
)
def test_what_was_no_answer_is_not_given_another_form(answerer: ExtractiveAnswerer, last: str) -> None:
    asked = dataclasses.replace(prompt("as a list", said=(last,)), form="list")
    assert answerer.answer(asked) == "There is no answer to rewrite yet. Ask something first."


# --- headings, rows and lines -------------------------------------------------------------------------------------

FAQ = (
    "Is there parking at the pool?\n\nCars may stand behind the hall for two euros.\n\n"
    "2. The lockers are jammed\n\nTurn the key twice to the left.\n\n"
    "Opening:\n\n- The small basin with warm water."
)


def test_what_stands_under_a_heading_of_a_passage_knows_it_and_the_heading_is_not_stated() -> None:
    assert [(each.text, each.above) for each in statements(FAQ)] == [
        ("Cars may stand behind the hall for two euros.", "Is there parking at the pool?"),
        ("Turn the key twice to the left.", "The lockers are jammed"),
        ("- The small basin with warm water.", "Opening:"),
    ]


def test_a_question_of_a_document_is_answered_and_not_quoted(answerer: ExtractiveAnswerer) -> None:
    for question, answer in (
        ("Is there parking at the pool?", "Cars may stand behind the hall for two euros. [1]"),
        ("What if the lockers are jammed?", "Turn the key twice to the left. [1]"),
    ):
        assert answerer.answer(prompt(question, FAQ)) == answer


def test_the_items_of_a_list_with_blank_lines_are_no_headings() -> None:
    assert stated("1. Wash the four jars\n\n2. Dry the four jars\n\nThen fill them with jam.") == [
        "1. Wash the four jars",
        "2. Dry the four jars",
        "Then fill them with jam.",
    ]


HOURS = (
    "Day | March to October | November to February\n"
    "Friday | 10:00 to 20:00 | 10:00 to 18:00\nSunday | 11:00 to 18:00 | 11:00 to 17:00"
)
SUNDAY = "Sunday: March to October 11:00 to 18:00, November to February 11:00 to 17:00. [1]"


def test_a_row_was_not_said_because_another_row_of_its_table_was(answerer: ExtractiveAnswerer) -> None:
    said = (SUNDAY.replace("Sunday", "Friday").replace("11:00 to 1", "10:00 to 1"),)
    assert answerer.answer(prompt("And on Sunday?", HOURS, said=said)) == SUNDAY
    assert answerer.answer(prompt("And on Sunday?", HOURS, said=(SUNDAY,))) == f"As I said: {SUNDAY}"


def test_the_head_of_the_first_column_is_read_and_not_written(answerer: ExtractiveAnswerer) -> None:
    table = "Workshop | Price\nKnots | 60 euros\nRopes | 85 euros"
    answer = answerer.answer(prompt("Which workshop is there, and for what price?", table))
    assert answer == "Knots: Price 60 euros. [1] Ropes: Price 85 euros. [1]"


def test_the_head_is_written_where_the_first_cell_is_a_number() -> None:
    assert stated("Leaves Ardfern | Runs\n07:15 | daily") == ["Leaves Ardfern 07:15: Runs daily."]


def test_a_table_of_two_columns_with_empty_cells_at_its_edges_is_one_table() -> None:
    rows = "| Guests\nPier | 45\nSpit |\nQuay | 20\n| 3"
    assert stated(rows) == ["Pier: Guests 45.", "Spit.", "Quay: Guests 20.", "Guests 3."]


def test_rows_are_told_under_the_heading_of_their_table_unless_one_is_asked_for(answerer: ExtractiveAnswerer) -> None:
    table = "Workshops in May\n\nWorkshop | Price\nKnots | 60 euros\nRopes | 85 euros"
    assert answerer.answer(prompt("What is the price of knots?", table)) == "Knots: Price 60 euros. [1]"
    told = answerer.answer(prompt("What do workshops in May cost?", table))
    assert told == "Workshops in May – Knots: Price 60 euros. [1] Ropes: Price 85 euros. [1]"


def test_a_table_is_told_whole_where_several_of_its_rows_answer_unless_it_is_long(answerer: ExtractiveAnswerer) -> None:
    def told(rows: int) -> int:
        table = "Workshop | Price\n" + "\n".join(f"Knot {number} | {number} euros" for number in range(rows))
        return answerer.answer(prompt("What does a knot workshop cost?", table)).count("Price")

    assert (told(6), told(8), told(9)) == (6, 8, 4)


def test_a_definition_is_not_continued_by_a_row_or_by_the_definition_of_something_else(
    answerer: ExtractiveAnswerer,
) -> None:
    codes = "Code | Meaning\nE102 | disk full\nE205 | wrong phrase"
    assert answerer.answer(prompt("What does E102 mean?", codes)) == "E102: Meaning disk full. [1]"
    terms = "Bisque means that clay was fired once. Glaze means that the clay has a coat of glass."
    assert answerer.answer(prompt("What does bisque mean?", terms)) == "Bisque means that clay was fired once. [1]"


EVENTS = "event: Night concert; place: Yard; price: 18\nevent: Boat parade; place: Quay; price: 0"


def test_a_line_of_fields_is_quoted_where_one_of_its_values_is_asked_for(answerer: ExtractiveAnswerer) -> None:
    assert answerer.answer(prompt("What is the price of the concert?", EVENTS)) == (
        "event: Night concert; place: Yard; price: 18 [1]"
    )
    assert abstains(answerer.answer(prompt("What is the price of the event?", EVENTS)))


@pytest.mark.parametrize(
    ("question", "known"),
    [("which room?", True), ("and her room and hours?", True), ("which car?", False), ("and her car?", False)],
)
def test_a_row_that_was_told_is_meant_by_a_question_for_what_it_holds(
    answerer: ExtractiveAnswerer, question: str, known: bool
) -> None:
    rows = "name: Lea Brandt; phone: 2240; room: B 110\nname: Rui Costa; phone: 2250; room: C 3"
    told = f"{rows.splitlines()[0]} [1]"
    asked = prompt(question, rows, search=f"{question[:-1]} (phone, Lea, Brandt)?", said=(told,))
    added = tuple(Term(word, 0.3) for word in ("phone", "Lea", "Brandt"))
    answer = answerer.answer(dataclasses.replace(asked, added=added))
    assert answer == f"As I said: {told}" if known else abstains(answer)


COURSES = (
    "course: Yoga; day: Monday; room: Hall 2; begins: 12 January\n"
    "course: Pottery; day: Wednesday; room: Cellar; begins: 14 January; fee_eur: 40"
)


@pytest.mark.parametrize(
    ("said", "question", "meant"),
    [
        (("Yoga", "Pottery"), "which room?", ["Pottery"]),
        (("Pottery", "Yoga"), "which room?", ["Yoga"]),
        (("Yoga",), "is the bar open then?", []),
        (("Yoga",), "is it open then?", []),
        (("Yoga",), "and then?", []),
        (("Yoga",), "what does it cost?", []),
        (("Yoga",), "what does the yoga cost?", []),
        (("Pottery",), "what does it cost?", ["Pottery"]),
        (("Pottery",), "what does pottery cost?", ["Pottery"]),
    ],
)
def test_of_the_rows_that_were_told_those_of_the_last_answer_are_meant(
    answerer: ExtractiveAnswerer, said: tuple[str, ...], question: str, meant: list[str]
) -> None:
    rows = {"Yoga": COURSES.splitlines()[0], "Pottery": COURSES.splitlines()[1]}
    asked = prompt(question, COURSES, said=tuple(f"{rows[name]} [1]" for name in said))
    pool = candidates(asked)
    answerer.choose(question, pool, asked)
    assert [each.text for each in pool if each.meant] == [rows[name] for name in meant]


def test_a_line_of_fields_is_read_as_a_row_of_a_table_and_quoted_as_it_stands() -> None:
    line = "course_title: Pottery; fee_eur: 160; notes: Clay is there. Bring an apron; shoes too."
    (row,) = statements(line)
    assert (row.text, row.values) == (line, "Pottery 160 Clay is there. Bring an apron; shoes too.")
    assert row.whole == "Pottery (course title): fee eur 160, notes Clay is there. Bring an apron; shoes too."


def test_a_value_may_have_parts_of_its_own(answerer: ExtractiveAnswerer) -> None:
    text = "Entry: 9 euros\nGuided tours: Saturdays at 2 pm; no booking is needed"
    assert answerer.answer(prompt("When are guided tours?", text)).startswith("Guided tours: Saturdays at 2 pm;")


def test_a_line_with_a_name_and_a_value_is_stated() -> None:
    lines = "Phone: 0511 123456\nOffice hours: Monday to Thursday\n\nHead of department: Lena Ortiz"
    assert stated(lines) == [
        "Phone: 0511 123456",
        "Office hours: Monday to Thursday",
        "Head of department: Lena Ortiz",
    ]


# --- what leans on the conversation or on a neighbour -------------------------------------------------------------


def test_a_sentence_is_quoted_with_the_one_that_it_points_back_to(answerer: ExtractiveAnswerer) -> None:
    text = "The kiln needs three kinds of brick. In the old workshop it is heated with wood. The yard is wide."
    answer = answerer.answer(prompt("With what is the kiln heated in the old workshop?", text))
    assert answer == ("The kiln needs three kinds of brick. [1] In the old workshop it is heated with wood. [1]")


def test_words_that_the_conversation_added_count_by_how_surely_they_are_meant(answerer: ExtractiveAnswerer) -> None:
    text = "Trainees have thirty free days. Annual leave for staff is planned in spring."
    asked = prompt(
        "and trainees on free days?", text, search="and trainees on free days (annual leave, staff, spring)?"
    )
    guessed = tuple(Term(word, 0.1) for word in ("annual", "leave", "staff", "spring"))
    assert chosen(answerer, asked)[0].text.startswith("Annual leave")
    assert chosen(answerer, dataclasses.replace(asked, added=guessed))[0].text.startswith("Trainees")


def test_what_the_completed_question_does_not_find_is_looked_for_as_it_was_typed(answerer: ExtractiveAnswerer) -> None:
    search = "and journalists (tripods, forbidden, exhibitions, cameras, flash)?"
    text = "Journalists are exempt from the fee."
    assert answerer.answer(prompt("and journalists?", text, search=search)) == f"{text} [1]"
    assert abstains(answerer.answer(prompt("and journalists?", text, search=search, said=(f"{text} [1]",))))


@pytest.mark.parametrize(
    ("before", "now", "answered"),
    [
        ("did the swelling go down after two days?", "and after a week?", False),
        ("did the swelling go down after two days?", "and after 2 days?", True),
        ("did the swelling go down?", "and after a week?", True),
        ("did the swelling go down in 2019?", "and in 2020?", True),
    ],
)
def test_what_holds_after_one_time_does_not_answer_what_holds_after_another(
    answerer: ExtractiveAnswerer, before: str, now: str, answered: bool
) -> None:
    text = "The swelling did not go down after two days."
    asked = prompt(now, text, search="did the swelling go down after a week?")
    answer = answerer.answer(dataclasses.replace(asked, last_question=before))
    assert abstains(answer) is not answered


def test_what_was_counted_in_one_year_is_not_told_of_another(answerer: ExtractiveAnswerer) -> None:
    one, both = "In 2019 the farm kept nine goats.", "The farm kept nine goats in 2019 and twelve in 2020."
    for text, answered in ((one, False), (both, True)):
        asked = prompt("and in 2020?", text, search="how many goats did the farm keep in 2020?")
        answer = answerer.answer(dataclasses.replace(asked, last_question="how many goats did it keep in 2019?"))
        assert abstains(answer) is not answered


def test_of_what_was_said_only_what_has_the_thing_named_now_is_said_again(answerer: ExtractiveAnswerer) -> None:
    one, other = "The harbour tour lasts into the night.", "The castle tour begins at six."
    asked = prompt("and the castle tour?", f"{one} {other}", search="does the castle tour last into the night?")
    before = dataclasses.replace(asked, last_question="does it last into the night?", said=(f"{one} [1] {other} [1]",))
    assert answerer.answer(before) == f"As I said: {other} [1]"


def test_what_was_said_does_not_answer_for_whom_another_sentence_names(answerer: ExtractiveAnswerer) -> None:
    rent, help_ = "A plot costs £50 a year.", "Veterans may ask the desk for help."
    asked = prompt("and for veterans?", f"{rent} {help_}", search="what does a plot cost a year for veterans?")
    before = dataclasses.replace(asked, last_question="what does a plot cost?", said=(f"{rent} [1]",))
    assert rent not in answerer.answer(before)
    assert answerer.answer(dataclasses.replace(before, evidence=prompt("?", rent).evidence)).startswith("As I said")


@pytest.mark.parametrize("question", ["what was decided on the hall?", "what did they say was decided on the hall?"])
def test_what_was_decided_may_be_told_as_agreed(answerer: ExtractiveAnswerer, question: str) -> None:
    text = "Minutes of May. They agreed to paint it."
    asked = prompt(question, text)
    evidence = dataclasses.replace(asked.evidence[0].hit.passage, heading="Hall")
    under = dataclasses.replace(asked, evidence=(Evidence(1, Hit(evidence, 1.0)),))
    assert "They agreed to paint it." in answerer.answer(under)


def test_what_was_decided_may_be_told_as_voted(answerer: ExtractiveAnswerer) -> None:
    text = "Fence. Ms Dunn read out three offers. The meeting voted for the cheapest."
    assert "voted for the cheapest" in answerer.answer(prompt("what was decided about the fence", f"1. {text}"))


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("who was there?", "Present: Ida Moe, Tom Ek"),
        ("who attended the meeting", "Present: Ida Moe, Tom Ek"),
        ("who couldn't come?", "Apologies: Ann Lund"),
        ("who wasn't at the meeting", "Apologies: Ann Lund"),
        ("who was absent at the annual meeting?", "Apologies: Ann Lund"),
        ("who was at the till?", "The till was closed."),
        ("wer war da?", "Anwesend: Jan Ott"),
        ("qui n'est pas venu ?", "Absents excusés : Léa Roy"),
    ],
)
def test_who_came_is_told_as_minutes_tell_it(answerer: ExtractiveAnswerer, question: str, told: str) -> None:
    lists = "Present: Ida Moe, Tom Ek\nApologies: Ann Lund\n\nThe meeting opened at seven."
    others = {"till": "The till was closed.", "wer": "Anwesend: Jan Ott", "qui": "Absents excusés : Léa Roy"}
    minutes = prompt(question, next((text for word, text in others.items() if word in question), lists))
    assert told in answerer.answer(minutes)


@pytest.mark.parametrize(
    "line", ["Presentation by Ida: the roof leaks.", "Attendance fee: 3 euros", "Absence: ring the office."]
)
def test_not_every_line_that_begins_so_lists_who_came(answerer: ExtractiveAnswerer, line: str) -> None:
    for question in ("who came?", "who was absent?"):
        assert line not in answerer.answer(prompt(question, line)).partition("The nearest")[0]


@pytest.mark.parametrize(
    ("question", "said", "told"),
    [
        ("who came?", (), "Ida Moe"),
        ("who came?", ("The roof leaks. [2]",), "Tom Ek"),
        ("who was there in May?", (), "Tom Ek"),
        ("who attended the May meeting?", ("The hall was painted. [1]",), "Tom Ek"),
    ],
)
def test_of_several_minutes_those_that_are_named_or_were_told_of_list_who_came(
    answerer: ExtractiveAnswerer, question: str, said: tuple[str, ...], told: str
) -> None:
    texts = (
        "Present: Ida Moe\nApologies: none\n\nThe hall was painted.",
        "Present: Tom Ek\nApologies: none\n\nThe roof leaks.",
    )
    minutes = prompt(question, *texts, titles=("Minutes, 3 April", "Minutes, 8 May"), said=said)
    assert f"Present: {told}" in answerer.answer(minutes)


def test_what_was_said_and_was_found_first_comes_before_what_was_found_far_behind(answerer: ExtractiveAnswerer) -> None:
    first, far = "Restart the computer on Windows.", "On Windows, restart the copy service."
    asked = prompt("do I have to restart Windows?", first, far, said=(f"{first} [1]",))
    near, behind = asked.evidence
    behind = Evidence(2, dataclasses.replace(behind.hit, score=0.6))
    assert answerer.answer(dataclasses.replace(asked, evidence=(near, behind))) == f"As I said: {first} [1]"


def test_a_row_whose_last_cell_is_empty_keeps_its_columns() -> None:
    table = "Group | Per month | Per year | Remarks\nAdults | 16.50 € | 198 € |\nFamily | 32 € | 384 € | two adults"
    assert [each.text for each in statements(table)] == [
        "Adults: Per month 16.50 €, Per year 198 €.",
        "Family: Per month 32 €, Per year 384 €, Remarks two adults.",
    ]


def test_the_first_column_may_have_no_head() -> None:
    table = "| Mitosis | Meiosis\nDivisions | one | two\nCells | two | four"
    assert [each.text for each in statements(table)] == [
        "Divisions: Mitosis one, Meiosis two.",
        "Cells: Mitosis two, Meiosis four.",
    ]


def test_a_line_above_lines_of_fields_is_their_heading() -> None:
    found = list(statements("OFFICE\nPhone: 0555 20 14 0\nOpen: Tuesday, 9 to 12\n\nBOARD\nPresident: Marit Solberg"))
    assert [(each.above, each.text) for each in found] == [
        ("OFFICE", "Phone: 0555 20 14 0"),
        ("OFFICE", "Open: Tuesday, 9 to 12"),
        ("BOARD", "President: Marit Solberg"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "You may pay less. These pay half the fare:\n\n- Students\n- Children under 12\n\nAsk at the desk.",
            [
                ("", "You may pay less."),
                ("These pay half the fare:", "- Students"),
                ("These pay half the fare:", "- Children under 12"),
                ("", "Ask at the desk."),
            ],
        ),
        (
            "Contact: front desk, 0151 22\n\nThe desk is open until five.",
            [("", "Contact: front desk, 0151 22"), ("", "The desk is open until five.")],
        ),
        (
            "Officer's address: Mill Lane 3\n\nOpen: Mondays\n\nClosed: in August",
            [("", "Officer's address: Mill Lane 3"), ("", "Open: Mondays"), ("", "Closed: in August")],
        ),
        ("Step 1: Prepare\n\nMix the base first.", [("Step 1: Prepare", "Mix the base first.")]),
        ("- Width: 59.8 cm\n- A photo ID.", [("", "- Width: 59.8 cm"), ("", "- A photo ID.")]),
        ("Length: 4.6 km.\nStart: town hall", [("", "Length: 4.6 km."), ("", "Start: town hall")]),
        ("No cheques. Rooms sleep six.", [("", "No cheques."), ("", "Rooms sleep six.")]),
        ("Q: What does a copy cost?\nA: Two euros.", [("What does a copy cost?", "Two euros.")]),
        ("Article 5. Termination\n\nBoth may end it.", [("Article 5. Termination", "Both may end it.")]),
        ("You will need:\n- flour\n- eggs", [("You will need:", "- flour"), ("You will need:", "- eggs")]),
        (
            "- Fruit:\n  - apple\n- Is it free? It is.\n- lamps",
            [("", "- apple"), ("Is it free?", "It is."), ("", "- lamps")],
        ),
        (
            "Note: It is shut in May. It opens in June.\nAlso: Bring a lamp.",
            [("", "Note: It is shut in May."), ("", "It opens in June."), ("", "Also: Bring a lamp.")],
        ),
        ("Chapter 1: The 1990s\n\nSix people met.", [("Chapter 1: The 1990s", "Six people met.")]),
        ("Contact us:\n\nPhone: 123\n\nMail: a b", [("Contact us:", "Phone: 123"), ("Contact us:", "Mail: a b")]),
        (
            "Prices\n\nBoarding, small dog: 24 euros\n24-hour call: 60 euros\nAll prices include food.",
            [
                ("Prices", "Boarding, small dog: 24 euros"),
                ("Prices", "24-hour call: 60 euros"),
                ("Prices", "All prices include food."),
            ],
        ),
        (
            "It is upstairs.\nPrices of it:\nAdults: 8 euros\nDogs: free\nCome in.",
            [
                ("", "It is upstairs."),
                ("Prices of it:", "Adults: 8 euros"),
                ("Prices of it:", "Dogs: free"),
                ("", "Come in."),
            ],
        ),
        (
            "Payment: by card\nDelivery: within two\ndays of the order.",
            [("", "Payment: by card"), ("", "Delivery: within two\ndays of the order.")],
        ),
    ],
)
def test_what_is_short_is_stated_too_and_a_colon_leads_only_to_its_list(
    text: str, expected: list[tuple[str, str]]
) -> None:
    assert [(each.above, each.text) for each in statements(text)] == expected


def test_steps_are_told_where_a_sentence_stands_before_the_words_that_lead_to_them(
    answerer: ExtractiveAnswerer,
) -> None:
    text = "You can reset the device in two minutes. Do this:\n\n1. Hold the button.\n2. Wait for the light."
    assert answerer.answer(prompt("How do I reset the device?", text)) == (
        "1. Hold the button. [1]\n2. Wait for the light. [1]"
    )


def test_an_item_that_is_no_sentence_is_quoted_under_its_heading(answerer: ExtractiveAnswerer) -> None:
    text = "What is not covered\n\n- Damage by frost or lime\n- Wear of seals, filters and lamps"
    assert answerer.answer(prompt("wear of seals", text)) == (
        "What is not covered: Wear of seals, filters and lamps [1]"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Warning: the valve is hot; first: close the tap. Then wait ten minutes. The pump runs at 3 bar.",
            ["Warning: the valve is hot; first: close the tap.", "Then wait ten minutes.", "The pump runs at 3 bar."],
        ),
        (
            "name: Otter; habits: It dives. It sleeps.\nname: Stork",
            ["name: Otter; habits: It dives. It sleeps.", "name: Stork"],
        ),
    ],
)
def test_only_lines_that_share_their_names_are_rows(text: str, expected: list[str]) -> None:
    assert stated(text) == expected


def test_a_meaning_with_a_colon_in_it_is_no_row(answerer: ExtractiveAnswerer) -> None:
    text = "Tack: to turn the bow through the wind; also: the lower front corner of a sail."
    assert not next(iter(statements(text))).is_row
    assert answerer.answer(prompt("What is a tack?", text)) == f"{text} [1]"


def test_rows_alike_under_different_headings_are_both_kept() -> None:
    text = "Prices of the pool:\n\nAdults: 8 euros\n\nPrices of the sauna:\n\nAdults: 8 euros"
    assert [each.statement.above for each in candidates(prompt("What do adults pay?", text))] == [
        "Prices of the pool:",
        "Prices of the sauna:",
    ]


@pytest.mark.parametrize(
    ("sentence", "price"),
    [
        ("It was built in 1934.", False),
        ("A berth for one night is 450 crowns.", True),
        ("It costs £1990.", True),
        ("The fee is 1500 euros.", True),
        ("Entry is free.", True),
    ],
)
def test_a_year_is_no_price(sentence: str, price: bool) -> None:
    (pattern,) = answer_patterns("What does a berth cost for one night?", QUANTITIES)
    assert bool(pattern.search(sentence)) == price


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("Who pays for broken windows?", "The tenant pays for broken windows."),
        ("How long does the battery take to charge?", "The battery takes three hours to charge."),
        ("What does a berth cost for one night?", "A berth for one night is 450 crowns."),
    ],
)
def test_what_is_asked_a_second_time_is_answered_again(
    answerer: ExtractiveAnswerer, question: str, sentence: str
) -> None:
    assert answerer.answer(prompt(question, sentence)) == f"{sentence} [1]"
    told = (f"{sentence} [1]", "Dogs are not allowed. [2]")
    assert answerer.answer(prompt(question, sentence, said=told)) == f"As I said: {sentence} [1]"


REPAIRS = """Repairs

- The lamp does not light. Replace the fuse behind the battery. It takes a 2 A fuse.
- The wheel rubs. Loosen the two bolts and centre the fork.
- Brakes squeak."""


def test_a_list_item_with_a_short_lead_is_one_statement() -> None:
    assert stated(REPAIRS) == [
        "- The lamp does not light. Replace the fuse behind the battery. It takes a 2 A fuse.",
        "- The wheel rubs. Loosen the two bolts and centre the fork.",
        "- Brakes squeak.",
    ]


def test_the_answer_to_a_problem_is_its_remedy(answerer: ExtractiveAnswerer) -> None:
    assert answerer.answer(prompt("the wheel rubs", REPAIRS)).startswith(
        "The wheel rubs. Loosen the two bolts and centre the fork. [1]"
    )


def test_a_list_item_with_a_short_lead_is_not_repeated() -> None:
    asked = prompt("the wheel rubs", REPAIRS, said=("The wheel rubs. Loosen the two bolts and centre the fork. [1]",))
    assert [each.text for each in candidates(asked) if each.said] == [
        "- The wheel rubs. Loosen the two bolts and centre the fork."
    ]
    lead_only = prompt("the wheel rubs", REPAIRS, said=("The wheel rubs. [1]",))
    assert not any(each.said for each in candidates(lead_only))


def test_a_list_item_of_long_sentences_stays_apart() -> None:
    first = "- The museum shows the tools of eleven trades that were practised in the valley before the railway came."
    second = "It is open on weekdays."
    assert stated(f"{first} {second}") == [first, second]


def test_only_the_beginning_of_a_long_list_item_belongs_to_its_lead() -> None:
    more = [
        "Hold the button for ten seconds until all three lights on the front panel begin to blink slowly in turn.",
        "Release it then and wait until the panel shows the time, which can take two or three minutes at most.",
        "Enter the code that is printed on the label under the battery and confirm it with the round green key.",
    ]
    found = stated("- The clock is wrong. " + " ".join(more))
    assert found[0].startswith(f"- The clock is wrong. {more[0]}")
    assert found[-1] == more[-1]


@pytest.mark.parametrize(
    ("paragraph", "together"),
    [
        ("The printer is not found. Check that both are in the same network.", True),
        ("Pages come out blank. Clean the heads with the program’s own tool.", True),
        ("The printer has no scanner. It weighs 9 kg.", False),
        ("The printer is light. Check the weight on the label.", False),
    ],
)
def test_a_paragraph_that_opens_with_a_problem_keeps_its_remedy(paragraph: str, together: bool) -> None:
    assert (stated(paragraph) == [paragraph]) is together


class UnsureJudge:
    """A judge that thinks little of every sentence; it keeps the questions it has read."""

    def __init__(self) -> None:
        self.read: set[str] = set()

    def odds(self, question: str, sentences: Sequence[Passage]) -> list[float]:
        self.read.add(question)
        return [-4.5 for _ in sentences]


@pytest.mark.parametrize(
    ("question", "sentence", "answers"),
    [
        ("how much is the bond", "The bond is three months' dues and is kept by the club.", True),
        ("How long is a shift?", "A shift is about eight hours long.", True),
        ("how long is a shift", "A shift is planned by three people.", False),
        ("who is the caretaker", "Give the key to the caretaker, Mr Obi, before you leave.", True),
        ("who is mr obi?", "Give the key to the caretaker, Mr Obi, before you leave.", True),
        ("who was Ida Lund", "Ida Lund, a potter, built the kiln.", True),
        ("who is the caretaker", "Ask the caretaker, the cook or the driver for a key.", False),
        ("who is the caretaker", "If you need the caretaker, ring twice.", False),
    ],
)
def test_a_sentence_that_says_it_in_so_many_words_needs_little_of_the_judge(
    question: str, sentence: str, answers: bool
) -> None:
    found = chosen(ExtractiveAnswerer(UnsureJudge()), prompt(question, f"{sentence} The yard is paved."))
    assert [each.text for each in found] == [sentence] * answers


class PhoneJudge:
    """A judge that takes only a question with the word "phone" for one that a phone number answers."""

    def odds(self, question: str, sentences: Sequence[Passage]) -> list[float]:
        return [4.0 if "phone" in question and "phone" in each.text else -9.0 for each in sentences]


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("what's the caretakers number", True),
        ("the caretaker's number?", True),
        ("what is the boss number", False),
        ("what is the number of the caretaker's house", False),
    ],
)
def test_the_number_of_somebody_may_be_a_phone_number(question: str, answers: bool) -> None:
    text = "Caretaker: Mr. B. Obi, phone 01632 960 377"
    assert bool(chosen(ExtractiveAnswerer(PhoneJudge()), prompt(question, text))) is answers


def test_the_judge_reads_a_question_alike_with_and_without_its_mark() -> None:
    judge = UnsureJudge()
    for question in ("how does BERT read", "how does BERT read?", "BERT tokens", "Explain BERT."):
        chosen(ExtractiveAnswerer(judge), prompt(question, BERT))
    assert judge.read == {"how does BERT read?", "BERT tokens?", "Explain BERT."}


def in_section(question: str, heading: str, text: str) -> Prompt:
    return Prompt((), question, (question,), (Evidence(1, Hit(Passage(1, 1, "Handbook", "", text, heading), 1.0)),), ())


def test_a_formula_is_told_with_the_line_above_it(answerer: ExtractiveAnswerer) -> None:
    text = "The law of Hooke says how a spring pulls:\n\nF = k x\n\nHere k is the stiffness of the spring."
    assert stated(text) == [
        "The law of Hooke says how a spring pulls: F = k x",
        "Here k is the stiffness of the spring.",
    ]
    assert "F = k x [1]" in answerer.answer(prompt("What does the law of Hooke say?", text))
    text = "The law of Hooke tells how far a spring gives. It says that\n\nF = k x\n\nwhere k is the stiffness."
    assert stated(text)[1:] == ["It says that: F = k x", "where k is the stiffness."]
    assert [each.above for each in statements("Area\n\n$$A = b h / 2$$\n\nHere b is the base.")] == ["Area", "Area"]


def test_a_formula_and_what_its_letters_mean_are_told_together(answerer: ExtractiveAnswerer) -> None:
    text = "The rate of flow is Q = A v. Here A is the area of the pipe and v is the speed. Pipes are round."
    told = "The rate of flow is Q = A v. [1] Here A is the area of the pipe and v is the speed. [1]"
    assert answerer.answer(prompt("What is the rate of flow?", text)) == told
    assert answerer.answer(prompt("What does v mean?", text)) == told
    assert answerer.answer(prompt("What is the formula for the flow?", text)) == told


def test_an_entry_of_a_glossary_defines(answerer: ExtractiveAnswerer) -> None:
    text = "Weir - a low dam.\n\nLock - a chamber in which ships rise past a weir.\n\nQuay - a wall for ships."
    assert answerer.answer(prompt("What is a weir?", text)) == "Weir - a low dam. [1]"
    assert defines("weir", "- Weir: a low dam")
    assert defines("weir", "Weir (WR) – a low dam")
    assert not defines("weir", "Old weir: closed on Mondays")


def test_how_a_thing_works_is_told_with_the_steps_after_it(answerer: ExtractiveAnswerer) -> None:
    text = "The lock works by water alone.\n\nThe lock works in two steps:\n\n1. A gate closes.\n2. Water flows in."
    assert answerer.answer(prompt("How does the lock work?", text)).splitlines() == [
        "The lock works by water alone. [1]",
        "",
        "The lock works in two steps:",
        "",
        "1. A gate closes. [1]",
        "2. Water flows in. [1]",
    ]


def test_kinds_are_counted_by_their_list(answerer: ExtractiveAnswerer) -> None:
    text = "Weirs hold water back. There are two kinds:\n\n- a fixed weir, which stays\n- a gated weir, which opens"
    told = "- a fixed weir, which stays [1]\n- a gated weir, which opens [1]"
    assert answerer.answer(prompt("How many kinds of weir are there?", text)) == f"There are two kinds:\n\n{told}"
    text = "Kinds of weir\n\n- a fixed weir, which stays\n- a gated weir, which opens"
    assert answerer.answer(prompt("How many kinds of weir are there?", text)) == f"Kinds of weir (2):\n\n{told}"
    text = "Our towns\n- Kinds of weir: fixed, gated and broad\n- old mills"
    assert "fixed, gated and broad" in answerer.answer(prompt("How many kinds of weir are there?", text))


def test_what_is_needed_is_listed_under_materials(answerer: ExtractiveAnswerer) -> None:
    text = "- 1 old jar\n- two corks, 8 mm\n- string"
    told = "Materials:\n\n- 1 old jar [1]\n- two corks, 8 mm [1]\n- string [1]"
    assert answerer.answer(in_section("what do I need for the jar lamp?", "Materials", text)) == told


def test_a_section_on_how_to_do_it_is_told_whole(answerer: ExtractiveAnswerer) -> None:
    text = "Begin in autumn. Then soak the willow. Weave the sides."
    told = answerer.answer(in_section("How do I weave for the Handbook?", "How to weave", text))
    assert told == "Begin in autumn. [1] Then soak the willow. [1] Weave the sides. [1]"


def test_a_mistake_is_not_told_without_what_denies_it(answerer: ExtractiveAnswerer) -> None:
    text = "Many people say that a weir stops eels. It does not: eels crawl past a weir. Eels like rain."
    told = answerer.answer(prompt("What do people say about weirs and eels?", text))
    assert told.startswith("Many people say that a weir stops eels. [1] It does not: eels crawl past a weir. [1]")


def test_what_likeliest_answers_the_message_as_typed_is_the_nearest() -> None:
    asked = prompt("may I park there?", "The yard is paved. Deliveries go to the back door.")
    paved, deliveries = candidates(asked)
    paved.score, deliveries.likely = 1.0, NEAREST_LIKELY
    assert nearest("may I park there?", [paved, deliveries], asked) is deliveries
    deliveries.likely -= 0.01
    assert nearest("may I park there?", [paved, deliveries], asked) is paved


def test_the_only_row_of_that_name_is_the_nearest(answerer: ExtractiveAnswerer) -> None:
    text = "Item | Size | Shelf\nOld lamp | 3 | cellar\nNew jar | 2 | attic"
    told = answerer.answer(prompt("where does the lamp go after closing on a rainy day in winter?", text))
    assert abstains(told)
    assert "Old lamp: Size 3, Shelf cellar." in told


def test_what_is_said_of_a_thing_is_no_definition_of_it(answerer: ExtractiveAnswerer) -> None:
    text = "The dead load is therefore 12 kN. The weight of the roof itself is called dead load."
    assert answerer.answer(prompt("What is the dead load?", text)).startswith("The weight of the roof itself")
    text = "Wet snow is heavier than dry snow. Wet snow is snow with water between its crystals."
    assert answerer.answer(prompt("What is wet snow?", text)).startswith("Wet snow is snow with water")


def test_reasons_that_are_announced_are_told(answerer: ExtractiveAnswerer) -> None:
    text = (
        "The bridge was closed for two reasons. First, a bearing had cracked. Second, ice fell from the cables. "
        "Buses went by the tunnel."
    )
    told = answerer.answer(prompt("Why was the bridge closed?", text))
    assert re.sub(r" \[1\]", "", told) == text.removesuffix(" Buses went by the tunnel.")


def test_an_example_is_told_to_its_end(answerer: ExtractiveAnswerer) -> None:
    text = (
        "Density is mass divided by volume.\n\nExample. A stone with some density weighs 60 g. It displaces 20 ml. "
        "Thus it has 3 g per ml.\n\nDensity falls when most things are heated."
    )
    told = answerer.answer(prompt("give an example of density", text))
    assert told == "A stone with some density weighs 60 g. [1] It displaces 20 ml. [1] Thus it has 3 g per ml. [1]"


@pytest.mark.parametrize(
    ("question", "heading"),
    [("What was the sampling?", "Methods > 2.1 Sampling"), ("how does the drop test work", "3. The drop test")],
)
def test_a_section_answers_what_its_heading_names(answerer: ExtractiveAnswerer, question: str, heading: str) -> None:
    text = "Every tenth jar was taken from the belt. Three of us opened the jars. Lids were kept."
    assert abstains(answerer.answer(in_section(question, "Notes", text)))
    assert "Every tenth jar was taken from the belt. [1]" in answerer.answer(in_section(question, heading, text))


def test_a_list_under_the_heading_asked_for_is_told_whole(answerer: ExtractiveAnswerer) -> None:
    text = "- Pulling the cord, not the plug.\n- Rinsing the base under the tap.\n- Storing the kettle full."
    told = answerer.answer(in_section("What are common mistakes?", "4. Common mistakes", text))
    assert told.startswith("Common mistakes:\n\n- Pulling the cord")
    assert told.count("[1]") == 3


def test_a_side_on_which_all_was_said_is_told_again(answerer: ExtractiveAnswerer) -> None:
    text = "A day permit costs nothing. A hunting permit needs a photo and two forms."
    told = answerer.answer(
        prompt(
            "what is the difference between a day permit and a hunting permit",
            text,
            said=("A hunting permit needs a photo and two forms. [1]",),
            sides=("a day permit", "a hunting permit"),
        )
    )
    assert "costs nothing" in told
    assert "two forms" in told


def test_what_the_last_answer_cites_answers_a_message_that_was_completed_wrongly(answerer: ExtractiveAnswerer) -> None:
    text = "The drop in pressure was reversible. The gasket did not swell. Nothing leaked."
    barn = "The gasket of the barn door is black."
    said = ("The drop in pressure was reversible. [1] The gasket did not swell. [1]",)
    completed = "was the chimney of the old lighthouse keeper reversible"
    asked = prompt("was that reversible", text, barn, search=completed, said=said)
    assert answerer.answer(asked) == "As I said: The drop in pressure was reversible. [1]"
    elsewhere = dataclasses.replace(asked, said=("The gasket of the barn door is black. [2]",))
    assert abstains(answerer.answer(elsewhere))


def test_a_section_is_told_whole_but_not_with_that_of_another_document(answerer: ExtractiveAnswerer) -> None:
    first, other = "The hull was new. The crew was small. The sea was calm.", "The wind was weak. The mast was old."
    passages = (Passage(1, 1, "Sloop", "", first, "5. Limits"), Passage(2, 2, "Ketch", "", other, "Limits"))
    evidence = tuple(Evidence(number, Hit(each, 1.0)) for number, each in enumerate(passages, 1))
    told = answerer.answer(Prompt((), "What are the limits?", ("What are the limits?",), evidence, ()))
    assert (told.count("[1]"), told.count("[2]")) == (3, 0)


@pytest.mark.parametrize(
    ("heading", "section"),
    [
        ("Study > 2.1 Design", "Design"),
        ("IV. Results", "Results"),
        ("2) Method", "Method"),
        ("Rents > 2 bedroom flat", "2 bedroom flat"),
        ("Releases > 4.1.0 – 3 May 2025", "4.1.0 – 3 May 2025"),
        ("Events > 3 May", "3 May"),
    ],
)
def test_only_a_number_that_counts_headings_is_left_out_of_one(heading: str, section: str) -> None:
    assert section_of(Passage(1, 1, "", "a.md", "", heading)) == section


def test_what_cannot_be_made_shorter_says_so(answerer: ExtractiveAnswerer) -> None:
    def shorter(*said: str) -> str:
        return answerer.answer(dataclasses.replace(prompt("shorter", BERT, said=said), form="shorter"))

    once = shorter("BERT reads both ways. [1]")
    assert once == "This is as short as I can say it:\n\nBERT reads both ways. [1]"
    assert shorter(once) == once
    assert shorter("BERT reads both ways. [1] It is old. [1]") == "BERT reads both ways. [1]"


def test_what_cannot_be_made_shorter_after_what_is_not_known_has_one_opening(answerer: ExtractiveAnswerer) -> None:
    asked = prompt("shorter", BERT, said=("BERT reads both ways. [1]",))
    once = answerer.answer(dataclasses.replace(asked, form="shorter", reforms="what is BERT"))
    assert once == (
        "I found no answer to your last question. This is the one to “what is BERT”:\n\nBERT reads both ways. [1]"
    )
    assert answerer.answer(dataclasses.replace(asked, form="shorter", said=(once,))).endswith(
        "say it:\n\nBERT reads both ways. [1]"
    )


@pytest.mark.parametrize("opening", ["Example: a leak fills", "For example, a leak fills", "Suppose a leak fills"])
def test_an_example_in_a_paragraph_is_told_with_what_comes_of_it(answerer: ExtractiveAnswerer, opening: str) -> None:
    first, result = f"{opening} a bucket of 9 litres in 3 hours.", "Then the leak rate is 3 litres an hour."
    text = f"The leak rate is the volume lost in an hour. {first} {result} Buckets are in the shed."
    told = answerer.answer(prompt("give me an example", text, search="give me an example of a leak bucket"))
    assert told == f"{first} [1] {result} [1]"


def test_a_sentence_of_another_document_does_not_answer_by_a_word_it_happens_to_share(
    answerer: ExtractiveAnswerer,
) -> None:
    flood, school = "The flood of 1953 broke the wall.", "Children are collected at four from the school."
    question = "how much money was collected in spring"
    asked = prompt(question, flood, school)
    later = dataclasses.replace(asked, said=(f"{flood} [1]",), added=(Term("flood", 0.4),))
    assert chosen(answerer, later) == []
    unsure = dataclasses.replace(later, added=(Term("flood", 0.1),))
    assert [each.text for each in chosen(answerer, unsure)] == [school]


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("and the day before?", "The day before: drink only water."),
        ("what about the week before", "The week before: drink no wine."),
    ],
)
def test_an_item_is_meant_by_its_label(answerer: ExtractiveAnswerer, message: str, told: str) -> None:
    diet = "- The week before: drink no wine.\n- Two days before: drink no milk.\n- The day before: drink only water."
    asked = prompt(message, diet, search="what can I drink before the day before")
    assert [each.text.removeprefix("- ") for each in chosen(answerer, asked)] == [told]


@pytest.mark.parametrize("question", ["who teaches the course?", "who will be leading it?", "who runs the class"])
def test_who_teaches_is_told_by_a_field(answerer: ExtractiveAnswerer, question: str) -> None:
    asked = prompt(question, "Place: Hall\nInstructor: Ida Moe\nTeaching aids: maps")
    assert "Instructor: Ida Moe" in [each.text for each in chosen(answerer, asked)]


def test_how_long_the_whole_thing_takes_is_told_again(answerer: ExtractiveAnswerer) -> None:
    told = "Varnishing the boat takes 40 minutes."
    question = "how long does the whole thing take?"
    asked = prompt(question, told, search=f"{question.rstrip('?')} to varnish the boat", said=(f"{told} [1]",))
    assert answerer.answer(asked) == f"As I said: {told} [1]"


def test_the_way_is_told_under_its_heading(answerer: ExtractiveAnswerer) -> None:
    way = "Take the ferry to Moss. Then follow the red posts for a mile."
    passages = (
        Passage(1, 1, "Moss Fort", "", way, "Visiting > Getting here"),
        Passage(2, 1, "Moss Fort", "", "It is old."),
    )
    evidence = tuple(Evidence(number, Hit(each, 1.0)) for number, each in enumerate(passages, 1))
    for question, told in (("how do I get to the fort?", way), ("how do I get to the bakery?", "")):
        asked = Prompt((), question, (question,), evidence, ())
        assert " ".join(each.text for each in chosen(answerer, asked)) == told


def test_several_of_what_is_named_by_letters_are_that() -> None:
    assert stems_of("TVs and PCs") == stems_of("TV and PC")


def test_another_day_alone_is_not_looked_for_elsewhere(answerer: ExtractiveAnswerer) -> None:
    mill, bins = "The mill is open from Tuesday to Friday.", "On Sundays the bins are not emptied."
    asked = prompt(
        "on sundays too?",
        mill,
        bins,
        search="when is the old water mill at Moss open on sundays too",
        said=(f"{mill} [1]",),
    )
    assert bins not in answerer.answer(asked).partition("The nearest")[0]


def test_what_only_the_words_of_the_conversation_bring_back_is_not_told_for_a_whole_question(
    answerer: ExtractiveAnswerer,
) -> None:
    pain, lunch = "Severe pain of the belly at night needs a doctor.", "Lunch is at noon."
    search = "when is lunch served (severe, pain, belly, night, doctor)?"
    asked = prompt("when is lunch served?", f"{pain} {lunch}", search=search)
    assert answerer.answer(dataclasses.replace(asked, said=(f"{pain} [1]",))) == f"{lunch} [1]"


def test_a_step_is_not_told_for_a_price(answerer: ExtractiveAnswerer) -> None:
    steps, prices = (
        "1. Fill the milk jug.\n2. Heat the jug until the milk is hot.",
        "Item | Net price\nMilk jug | £9\nLid | £2",
    )
    asked = prompt("how much is one?", steps, prices, search="how much is the jug (hot milk)?")
    near, behind = asked.evidence
    behind = Evidence(2, dataclasses.replace(behind.hit, score=0.7))
    found = chosen(answerer, dataclasses.replace(asked, evidence=(near, behind)))
    assert [each.text for each in found] == ["Milk jug: Net price £9."]
