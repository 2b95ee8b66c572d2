"""Tools in whole turns: sums and tables beside documents, each cited, kept and followed up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from talking import citations, stage

import turnwise
from turnwise.app import build
from turnwise.config import Settings
from turnwise.engine import Engine
from turnwise.types import StepResult

SALES = "region,product,revenue\nNorth,honey,1200\nSouth,honey,800\nNorth,wax,300\nSouth,wax,500\n"


@pytest.fixture(scope="module")
def engine(sample_library: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """The sample library with a table attached."""
    table = tmp_path_factory.mktemp("tables") / "sales.csv"
    table.write_text(SALES)
    with build(Settings(library=str(sample_library)), tables=[table]) as engine:
        yield engine


def test_a_table_answers_with_its_query_as_the_source(engine: Engine) -> None:
    reply = engine.chat().ask("What is the total revenue by region?")
    assert "North" in reply.text
    assert "1,500" in reply.text or "1500" in reply.text
    assert reply.plan is not None
    assert [step.tool for step in reply.plan.steps] == ["database", "answer"]
    (source,) = reply.sources
    assert citations(reply.text) == {source.number}
    assert source.title == "sales.csv"
    assert "SELECT" in source.text


def test_what_a_table_gave_is_worked_on_and_documents_answer_the_rest(engine: Engine) -> None:
    chat = engine.chat()
    first = chat.ask("What is the total revenue?")
    assert "2,800" in first.text or "2800" in first.text
    assert "420" in chat.ask("What is 15 % of that?").text
    document = chat.ask("What is BERT?")
    assert document.text.startswith("BERT is a language model")
    assert {source.title for source in document.sources} == {"BERT"}
    assert not {source.number for source in document.sources} & {source.number for source in first.sources}


def test_a_follow_up_of_a_table_keeps_what_was_asked(engine: Engine) -> None:
    chat = engine.chat()
    chat.ask("total revenue by region")
    assert chat.ask("only the top 1").text.startswith("The region is North; the total revenue is 1500.")
    chat = engine.chat()
    chat.ask("total revenue by product")
    average = chat.ask("and the average?").text
    assert "| honey | 1000 |" in average
    assert "| wax | 400 |" in average


def test_a_sum_and_a_question_are_answered_side_by_side(engine: Engine) -> None:
    reply = engine.chat().ask("What is 12 * 7, and what is GPT?")
    assert reply.text.startswith("12 × 7 is 84.")
    assert "GPT is a family of language models" in reply.text
    assert stage(reply, "plan").decision == "calculator + rag + answer"


def test_a_table_answer_is_re_formed_with_its_citation(engine: Engine) -> None:
    chat = engine.chat()
    (source,) = chat.ask("What is the total revenue by region?").sources
    again = chat.ask("Give me that as a list")
    assert "North" in again.text
    assert citations(again.text) == {source.number}


def test_a_file_that_is_gone_is_told_and_documents_still_answer(sample_library: Path, tmp_path: Path) -> None:
    table = tmp_path / "sales.csv"
    table.write_text(SALES)
    with build(Settings(library=str(sample_library)), tables=[table]) as engine:
        table.unlink()
        chat = engine.chat()
        assert chat.ask("total revenue by region").text.startswith("sales.csv is gone")
        assert chat.ask("What is BERT?").text.startswith("BERT is a language model")


def test_a_custom_function_answers(sample_library: Path) -> None:
    @turnwise.tool(when=r"weather in (?P<place>\w+)")
    def weather(place: str) -> str:
        """Tells the weather of a place."""
        return f"It is sunny in {place}."

    with build(Settings(library=str(sample_library))) as engine:
        engine.add_tool(weather)
        assert engine.chat().ask("What is the weather in Riverside?").text == "It is sunny in Riverside."


def test_where_a_tool_fails_the_library_is_searched(sample_library: Path) -> None:
    @turnwise.tool(when=r"BERT")
    def lookup(question: str) -> str:  # noqa: ARG001
        """Looks something up."""
        raise ConnectionError("no line")

    @turnwise.tool(when=r"GPT")
    def nothing(question: str) -> None:
        """Gives nothing."""

    with build(Settings(library=str(sample_library))) as engine:
        engine.add_tool(lookup)
        engine.add_tool(nothing)
        reply = engine.chat().ask("What is BERT?")
        assert reply.text.startswith("BERT is a language model")
        assert "lookup broke (ConnectionError)" in reply.notice
        both = engine.chat().ask("What is overfitting, and what is GPT?")
        assert "GPT is a family of language models" in both.text
        assert "None" not in both.text
        assert "nothing gave nothing" in both.notice


def test_where_a_table_cannot_be_asked_the_library_is_searched(sample_library: Path, tmp_path: Path) -> None:
    table = tmp_path / "sales.csv"
    table.write_text(SALES)
    with build(Settings(library=str(sample_library)), tables=[table]) as engine:
        database = next(tool for tool in engine._parts.tools if tool.name == "database")
        database.run = broken  # type: ignore[method-assign]
        reply = engine.chat().ask("What is the total revenue by region?")
    assert reply.plan is not None
    assert [step.input for step in reply.plan.searched] == ["What is the total revenue by region?"]
    assert "The query failed." in reply.notice


async def broken(given: str) -> StepResult:  # noqa: ARG001
    return StepResult(error="The query failed.")


def test_of_very_many_questions_the_first_six_are_answered_and_the_reader_is_told(engine: Engine) -> None:
    six = "What is BERT? What is GPT? What is attention? What is overfitting? What is backpropagation? What is edifest?"
    reply = engine.chat().ask(six)
    assert "know" not in reply.text
    assert len({source.title for source in reply.sources}) == 6
    assert not reply.notice
    more = engine.chat().ask(f"{six} What is regression? Where is Edicenter?")
    assert more.text == reply.text
    assert more.notice == "Only the first 6 of 8 questions were answered."
    assert "it asks 8 things, of which the first 6 are answered" in stage(more, "plan").reason


@pytest.mark.parametrize(
    ("message", "tools", "said"),
    [
        ("What is BERT? Total revenue by region.", "rag database", ("BERT is a language model", "1500")),
        (
            "What is BERT, what is 15% of 300 and total revenue by region?",
            "rag calculator database",
            ("BERT is a language model", "15 % of 300 is 45.", "1500"),
        ),
        (
            "total revenue by region, and how does BERT compare to GPT?",
            "database rag rag rag",
            ("1500", "GPT differs from BERT in direction"),
        ),
        ("What is 15% of 300 and 20% of 50?", "calculator calculator", ("is 45.", "is 10.")),
        ("5 miles in kilometers and 3 kg in pounds", "calculator calculator", ("8.04672", "6.61387")),
        (
            "How do BERT and GPT differ, and 12 * 7?",
            "rag calculator rag rag",
            ("is 84.", "GPT differs from BERT in direction"),
        ),
    ],
)
def test_a_part_that_a_tool_reads_is_one_of_its_own(
    engine: Engine, message: str, tools: str, said: tuple[str, ...]
) -> None:
    reply = engine.chat().ask(message)
    assert reply.plan is not None
    assert [step.tool for step in reply.plan.steps] == [*tools.split(), "answer"]
    assert all(words in reply.text for words in said)


@pytest.mark.parametrize(
    "message",
    [
        "What are the advantages and disadvantages of BERT?",
        "What is attention and 15% of 300 of its heads?",
        "What depends on both BERT and 15% of 300?",
        "Tell me about honey and wax",
    ],
)
def test_a_question_is_not_split_if_the_rest_is_not_a_question(engine: Engine, message: str) -> None:
    plan = engine.chat().ask(message).plan
    assert plan is not None
    assert [step.input for step in plan.searched] == [message]
