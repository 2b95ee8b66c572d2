"""Who wrote a document, by the line below its title."""

from __future__ import annotations

from pathlib import Path

import pytest

import turnwise
from turnwise.byline import byline, is_byline

BIRDS = "Journal of Birds"


@pytest.mark.parametrize(
    ("line", "authors", "year", "journal"),
    [
        ("Ada Lund and Piet van Dam. Birds and Light, 2021.", ("Lund, Ada", "van Dam, Piet"), 2021, "Birds and Light"),
        ("A. Lund, B. C. Schulz (2019)", ("Lund, A.", "Schulz, B. C."), 2019, ""),
        ("By Ada Lund, 3 May 2021", ("Lund, Ada",), 2021, ""),
        ("J. Smith & P. O’Neil. Nature 12 (2019)", ("Smith, J.", "O’Neil, P."), 2019, "Nature"),
        (
            "Ada Lund, Łukasz Nowak\nJournal of Birds, 12(3), 2018, 1-9.\n\nA.",
            ("Lund, Ada", "Nowak, Łukasz"),
            2018,
            BIRDS,
        ),
        (
            "Ada Lund and Piet van Dam (2021)\nJournal of Birds, 12(3), 201–214",
            ("Lund, Ada", "van Dam, Piet"),
            2021,
            BIRDS,
        ),
        ("Ada Lund (2021). Journal of Birds, 12(3), 201–214.", ("Lund, Ada",), 2021, BIRDS),
        (
            "Lund, A., van Dam, P. J., & Lee, C.-H. (2017). Nature.",
            ("Lund, A.", "van Dam, P. J.", "Lee, C.-H."),
            2017,
            "Nature",
        ),
        ("Lund, A. and Schulz, B. (2017)", ("Lund, A.", "Schulz, B."), 2017, ""),
        ("Ada Lund et al., 2021", ("Lund, Ada",), 2021, ""),
        ("Authors: Ada Lund, Piet van Dam", ("Lund, Ada", "van Dam, Piet"), None, ""),
        ("Author: Ada Lund\nDate: 3 May 2021", ("Lund, Ada",), 2021, ""),
    ],
)
def test_names_year_and_journal(line: str, authors: tuple[str, ...], year: int | None, journal: str) -> None:
    found = byline(line)
    assert found is not None
    assert (found.authors, found.year, found.csl.get("container-title", "")) == (authors, year, journal)


@pytest.mark.parametrize(
    "text",
    [
        "New York, 2021",
        "In force since 1 April 2024.",
        "Harbour Museum Linden. Opened in 2021.",
        "Lund et al. (2019) counted three times as many birds.",
        "Ada Lund was born in 1950.",
        "Ada Lund and Piet van Dam",
        "New York (2021)\nAll rights reserved.",
        "Harbour Museum, North Wing (2021). Open every day",
        "Ada Lund and Piet van Dam (2021) counted the birds.",
        "Authors: see below",
        "Ada Lund, " * 50 + "2021",
        "",
    ],
)
def test_what_says_anything_else_is_no_byline(text: str) -> None:
    assert byline(text) is None


def test_a_byline_is_one_alone() -> None:
    assert is_byline("Ada Lund and Piet van Dam. Birds and Light, 2021.")
    assert not is_byline("Ada Lund and Piet van Dam. Birds and Light, 2021.\n\nHerons sleep.")


LUND = """# Herons at night: a field study

Ada Lund and Piet van Dam. *Birds and Light*, 2021.

## Methods

Sleep was watched with cameras above the nests.

## Funding

The study was paid for by the city of Ribe.
"""
OKORO = """# Storks in the day: a field study

Chidi Okoro, Mia Berg. *Journal of Wings*, 2019.

## Methods

Sleep was watched by two students with binoculars.

## Funding

The study was paid for by the Stork Fund.
"""


def test_a_follow_up_stays_in_its_document_and_an_author_names_another(tmp_path: Path) -> None:
    for name, text in (("lund.md", LUND), ("okoro.md", OKORO)):
        (tmp_path / name).write_text(text)
    engine = turnwise.open(tmp_path / "library")
    engine.add(tmp_path / "lund.md")
    engine.add(tmp_path / "okoro.md")
    (first,) = [each for each in engine.index.documents() if each.source.endswith("lund.md")]
    assert str(first.reference) == "Lund and van Dam 2021"
    assert first.date == "2021"
    for name, watched, paid in (("Lund", "cameras", "city of Ribe"), ("Okoro", "binoculars", "Stork Fund")):
        chat = engine.chat()
        assert watched in chat.ask(f"How was sleep watched in {name}?").text
        assert paid in chat.ask("who paid for the study?").text
    assert "cameras" in chat.ask("How did Lund watch sleep?").text
    engine.close()
