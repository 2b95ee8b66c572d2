"""A question that names a paper by its authors, its year or its file is answered from that paper."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from turnwise.app import build
from turnwise.config import Settings
from turnwise.engine import Engine
from turnwise.types import Passage
from turnwise.works import asks_for_contents

WARM = """# Thick walls keep bee colonies warm in winter

Marit Solheim-Aas and Jonas Adler (2014)
*Annals of Apiary Research*, 8(2), 101–119

## Abstract

Beekeepers in the north lose many colonies to the cold. We kept 36 colonies in hives with thick or thin walls. Colonies
behind thick walls ate 4 kilograms less honey. We conclude that thick walls help colonies through the winter.

## 2. Methods

The hives stood on a meadow near Tromsø from October to April. Each hive was weighed once a week with a luggage scale.
The hives were chosen at random. The study was paid for by the Nordlys Timber Board.

## 3. Results

Colonies behind thick walls ate 11 kilograms of honey on average, and the others ate 15 kilograms. Two colonies died.

## 4. Discussion

The study has limitations. The meadow was sheltered from the wind, so other places may differ.
"""
LOSSES = """# Hive insulation does not change winter losses: a field trial

Renata Kovačević, Luc Bonnard, and Ama Owusu (2022)
*European Journal of Beekeeping*, 31(4), 55–70

## Abstract

Solheim-Aas and Adler (2014) reported that thick walls save honey. We repeated their work in three countries with 240
colonies. The colonies died equally often in both kinds of hives. We conclude that insulation does not save colonies.

## 2. Methods

The hives stood in orchards in Croatia, France and Ghana for two years. Each hive was weighed every hour by a sensor
below its floor. The trial was paid for by the ministries of agriculture.

## 3. Results

In both groups 17 percent of the colonies died. Mites explained most of the losses.

## 4. Discussion

The trial has limitations. The winters were mild, and one orchard was treated against mites twice.
"""
CLUB = """# Beekeepers' club: rules of the house

## Papers

Members read two papers on hives every winter. Each paper is discussed at a meeting in the club room.

## Fees

Each member pays 30 euros a year. The club has limitations on visitors: two guests for each member.
"""


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("papers")
    texts = {"solheim-aas-2014.md": WARM, "losses.md": LOSSES, "club.md": CLUB}
    with build(Settings(library=str(folder / "library")), create=True) as engine:
        engine.add(contents={name: text.encode() for name, text in texts.items()})
        yield engine


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("how were the hives weighed by solheim-aas", "luggage scale"),
        ("how did Kovacevic et al. weigh the hives?", "sensor"),
        ("who paid for the 2014 study", "Timber Board"),
        ("who paid for the paper from 2022", "ministries"),
        ("what were the limitations of the 2014 study", "sheltered from the wind"),
        ("what are the limitations of the study by Bonnard and Owusu", "winters were mild"),
        ("where did the hives stand in solheim-aas-2014.md", "Tromsø"),
        ("what did solheim-aas and adler find", "thick walls help colonies"),
        ("what did owusu conclude", "insulation does not save colonies"),
        ("what did kovacevic find", "17 percent of the colonies died"),
        ("what is the adler paper about", "36 colonies in hives with thick or thin walls"),
        ("who wrote the 2022 paper", "Renata Kovačević, Luc Bonnard, and Ama Owusu (2022)"),
        ("where was the 2022 paper published", "European Journal of Beekeeping"),
        ("who wrote the first study", "Marit Solheim-Aas and Jonas Adler (2014)"),
        ("what did the second study find", "17 percent of the colonies died"),
    ],
)
def test_the_named_paper_answers(shelf: Engine, question: str, answer: str) -> None:
    assert answer in shelf.chat().ask(question).text


@pytest.mark.parametrize(
    ("named", "weighed", "paid"),
    [("solheim-aas and adler", "luggage scale", "Timber Board"), ("bonnard", "sensor", "ministries")],
)
def test_the_talk_stays_with_the_named_paper(shelf: Engine, named: str, weighed: str, paid: str) -> None:
    chat = shelf.chat()
    chat.ask(f"what did {named} find")
    assert weighed in chat.ask("how was each hive weighed").text
    assert paid in chat.ask("who paid for it").text


def test_a_short_question_turns_to_the_paper_of_another_year(shelf: Engine) -> None:
    chat = shelf.chat()
    assert "Timber Board" in chat.ask("who paid for the 2014 study").text
    assert "ministries" in chat.ask("and for the 2022 one").text


def test_a_comparison_of_authors_says_what_each_of_them_found(shelf: Engine) -> None:
    said = shelf.chat().ask("compare adler and bonnard").text
    assert "thick walls help colonies" in said
    assert "insulation does not save colonies" in said


def test_both_papers_are_those_that_the_library_has(shelf: Engine) -> None:
    chat = shelf.chat()
    said = chat.ask("how do the two studies differ").text
    assert "thick walls help colonies" in said
    assert "insulation does not save colonies" in said
    each = chat.ask("what were the limitations of both papers").text
    assert "sheltered from the wind" in each
    assert "winters were mild" in each
    assert "sensor" in chat.ask("how were the hives weighed in the newer one").text


def test_numbers_of_two_papers_stand_side_by_side(shelf: Engine) -> None:
    chat = shelf.chat()
    first = chat.ask("compare the two papers").text
    assert "thick walls help colonies" in first
    assert "insulation does not save colonies" in first
    again = chat.ask("do they agree?").text
    assert "**Solheim-Aas**" in again
    assert "**Kovačević**" in again
    more = chat.ask("which one had more colonies").text
    assert "**The Solheim-Aas study**: We kept 36 colonies" in more.replace("\n", " ")
    assert "240" in more


def test_the_results_open_with_the_main_one_and_an_abstract_ends_with_it(shelf: Engine) -> None:
    said = shelf.chat().ask("what did solheim-aas find").text
    assert "We conclude" in said
    assert "11 kilograms" in said


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("board")
    minutes = "# Minutes of the choir board\n\n## Robes\n\nThe robes were sent to the cleaner. They come back in May.\n"
    minutes += "\n## Concert\n\nMia will ask the church for a date.\n"
    with build(Settings(library=str(folder / "library")), create=True) as engine:
        texts = {
            "minutes.md": minutes,
            "tea.md": "# Tea\n\nBlack tea draws for four minutes. A summary is on the tin.",
            "kiln.md": "# Kiln log\n\nCone six was reached after nine hours. It cooled for two days. One bowl cracked.",
            "glaze.csv": "glaze,cone\nCeladon,10\nShino,9\n",
        }
        engine.add(contents={name: text.encode() for name, text in texts.items()})
        yield engine


@pytest.mark.parametrize(
    "question",
    [
        "summarise the minutes",
        "what are the minutes about?",
        "Summarize the board minutes in two sentences, please.",
        "What is “Minutes of the choir board” about?",
        "what's in the minutes of the choir board?",
        "what do the minutes cover",
    ],
)
def test_of_a_document_named_by_its_kind_the_sections_are_told(board: Engine, question: str) -> None:
    text = board.chat().ask(question).text
    assert "- The robes were sent to the cleaner. [" in text
    assert "- Mia will ask the church for a date. [" in text
    assert "four minutes" not in text
    assert "May" not in text


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("What is “Kiln log” about?", ["Cone six was reached after nine hours. [1]", "It cooled for two days. [1]"]),
        ("summarize kiln.md", ["It cooled for two days. [1]"]),
        ("what is in the kiln log?", ["Cone six was reached after nine hours. [1]"]),
        ("What is “glaze” about?", ["Celadon", "Shino"]),
    ],
)
def test_a_document_named_by_its_title_that_has_one_section_is_told_from_its_beginning(
    board: Engine, question: str, told: list[str]
) -> None:
    text = board.chat().ask(question).text
    assert all(each in text for each in told)
    assert "sections" not in text


@pytest.mark.parametrize("question", ["what is a kiln about to reach?", "what is in tea?"])
def test_a_title_inside_another_question_asks_for_no_summary(board: Engine, question: str) -> None:
    assert "begin" not in board.chat().ask(question).text


def test_a_kind_in_another_sense_names_no_document(board: Engine) -> None:
    assert "four minutes" in board.chat().ask("how many minutes does black tea draw?").text


def test_a_title_that_repeats_a_word_is_looked_for_in_one_reading() -> None:
    passage = Passage(1, 1, "Guide to the rules of the house", "guide.md", "")
    assert asks_for_contents("summarise the rules of the house guide", passage)
    assert not asks_for_contents(f"summarise {'the ' * 200}house", passage)
