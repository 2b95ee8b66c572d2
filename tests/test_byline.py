"""Who wrote a document, by the line below its title."""

from __future__ import annotations

import pytest

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
        ("Ada Lund and Piet van Dam, 2021. Journal of Birds, 12(3).", ("Lund, Ada", "van Dam, Piet"), 2021, BIRDS),
        (
            "Lund, A., van Dam, P. J., & Lee, C.-H. (2017). Nature.",
            ("Lund, A.", "van Dam, P. J.", "Lee, C.-H."),
            2017,
            "Nature",
        ),
        ("Lund A., van Dam P. J. (2017). Nature 12, 1-9.", ("Lund, A.", "van Dam, P. J."), 2017, "Nature"),
        (
            "Lund A, Schulz BC, Lee CH. Journal of Birds. 2018;12(3):1-9.",
            ("Lund, A", "Schulz, BC", "Lee, CH"),
            2018,
            BIRDS,
        ),
        (
            "A. Lund, B. Schulz, and C. Lee\nNature 12(3), 2016, pp. 7-9",
            ("Lund, A.", "Schulz, B.", "Lee, C."),
            2016,
            "Nature",
        ),
        ("A. Lund, and B. Schulz Nature 12(3), 2016, pp. 7-9", ("Lund, A.", "Schulz, B."), 2016, "Nature"),
        ("A. Lund & B. Schulz. Nature 12, 2016. https://doi.org/10.1/ab", ("Lund, A.", "Schulz, B."), 2016, "Nature"),
        ("Lund, A. and Schulz, B. (2017)", ("Lund, A.", "Schulz, B."), 2017, ""),
        ("Ada Lund et al., 2021", ("Lund, Ada",), 2021, ""),
        ("Ada Lund and Piet van Dam\n\nJournal of Birds, 2021", ("Lund, Ada", "van Dam, Piet"), 2021, BIRDS),
        ("Ada Lund and Piet van Dam\n\nJournal of Birds, 2021\n\nHerons.", ("Lund, Ada", "van Dam, Piet"), 2021, BIRDS),
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
        "Ada Lund and Piet van Dam\n\nThey counted birds from 2019 to 2021",
        "Ada Lund and Piet van Dam\n\nIn 2021 herons bred here.",
        "Harbour Museum\n\nOpen every day\n\nLinden, 2021",
        "New York (2021)\nAll rights reserved.",
        "Harbour Museum, North Wing (2021). Open every day",
        "Ada Lund and Piet van Dam (2021) counted the birds.",
        "Ada Lund and Piet van Dam counted 12 (3) birds, 2021",
        "Authors: see below",
        "Ada Lund, " * 50 + "2021",
        "",
    ],
)
def test_what_says_anything_else_is_no_byline(text: str) -> None:
    assert byline(text) is None


def test_a_byline_is_one_alone() -> None:
    assert is_byline("Ada Lund and Piet van Dam. Birds and Light, 2021.")
    assert is_byline("Ada Lund and Piet van Dam\n\nBirds and Light, 2021")
    assert not is_byline("Ada Lund and Piet van Dam. Birds and Light, 2021.\n\nHerons sleep.")
    assert not is_byline("Ada Lund and Piet van Dam\n\nBirds and Light, 2021\n\nHerons sleep.")
