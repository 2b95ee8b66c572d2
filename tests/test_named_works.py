"""Which documents a question names, and in which sections is what it asks of a whole work."""

from __future__ import annotations

from pathlib import Path

import pytest

import turnwise
from turnwise.types import Passage, Reference
from turnwise.works import _called, concludes, gives_results, named_documents, tells_method

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


def test_patterns_for_titles_are_made_only_for_a_question_that_may_name_one() -> None:
    passages = [Passage(number, number, f"The plan number {number}", f"{number}.md", "Text.") for number in range(20)]
    _called.cache_clear()
    assert named_documents("where does the team meet?", passages) == {}
    assert _called.cache_info().currsize == 0
    assert list(named_documents("what is in the plan number 7?", passages)) == [7]


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


HERONS = Passage(
    1, 1, "Herons", "/papers/herons_night.pdf", "", reference=Reference("", ("Lund-Ek, Åsa", "van Dam, P."), 2021)
)
STORKS = Passage(2, 2, "Storks", "storks.md", "How long is it?", reference=Reference("", ("Long, Mia",), 2019))
BUDGET = Passage(3, 3, "Annual report 2019", "2019.pdf", "")


@pytest.mark.parametrize(
    ("question", "document", "unnamed"),
    [
        ("how many herons did lund-ek count?", HERONS, "how many herons did the study count?"),
        ("how many did Lund Ek and van Dam (2021) count?", HERONS, "how many did the study count?"),
        ("what is in Asa Lund-Ek et al.’s paper?", HERONS, "what is in the study?"),
        ("limits of the study by Dam", HERONS, "limits of the study"),
        ("limits of the 2021 article", HERONS, "limits of the study"),
        ("limits of the one from 2021", HERONS, "limits of the study"),
        ("how many herons (lund-ek)", HERONS, "how many herons"),
        ("what does herons_night say", HERONS, "what does the study say"),
        ("what does Long say about storks?", STORKS, "what does the study say about storks?"),
        ("who is Mia Long?", STORKS, "who is Mia Long?"),
        ("what does storks.md say?", STORKS, "what does the study say?"),
        ("costs in the 2019 report", BUDGET, "costs in the report"),
    ],
)
def test_authors_a_year_or_a_file_name_a_document(question: str, document: Passage, unnamed: str) -> None:
    assert named_documents(question, [HERONS, STORKS, BUDGET]).get(document.document_id) == unnamed


@pytest.mark.parametrize(
    "question",
    [
        "how long is it?",  # a passage has this name as a word
        "what did Lund-Ek (2018) count?",
        "how many storks came in 2021?",
        "is the damage large?",
        "what about the 2020 study?",
        "what do storks eat?",
        "",
    ],
)
def test_other_questions_name_none(question: str) -> None:
    assert not named_documents(question, [HERONS, STORKS, BUDGET])


def test_a_year_names_all_its_papers_but_only_what_is_called_so_by_its_title() -> None:
    assert [*named_documents("the 2019 paper", [HERONS, STORKS, BUDGET])] == [2]
    assert [*named_documents("the 2019 report", [HERONS, STORKS, BUDGET])] == [2, 3]
    assert [*named_documents("compare the 2019 and 2021 studies", [HERONS, STORKS])] == [1, 2]


def test_what_fits_many_documents_names_none() -> None:
    museum = Reference("", ("Museum of Ribe", ""), 2021)
    leaflets = [Passage(n, n, "Leaflet", f"{n}.md", "", reference=museum) for n in range(4)]
    assert named_documents("what does the museum of ribe show?", leaflets[:2])
    assert not named_documents("what does the museum of ribe show?", leaflets)


@pytest.mark.parametrize(
    ("heading", "results", "conclusion"),
    [
        ("3. Results", True, False),
        ("Paper > Main findings", True, False),
        ("5 Conclusions", True, True),
        ("Discussion and conclusion", True, True),
        ("Results and discussion", True, False),
        ("Inconclusive cases", False, False),
        ("Discussion", False, False),
    ],
)
def test_a_section_of_results_is_known_by_its_heading(heading: str, results: bool, conclusion: bool) -> None:
    passage = Passage(1, 1, "Herons", "", "", heading=heading)
    assert (gives_results(passage), concludes(passage)) == (results, conclusion)


@pytest.mark.parametrize(
    ("question", "heading", "tells"),
    [
        ("how did Lund count the herons?", "2. Methods", True),
        ("how were the nests chosen", "Materials and methods", True),
        ("which instrument was used", "Data collection", True),
        ("how were the nests chosen", "Results", False),
        ("what did Lund find?", "Methods", False),
    ],
)
def test_how_a_study_was_done_is_told_under_its_methods(question: str, heading: str, tells: bool) -> None:
    assert tells_method(Passage(1, 1, "Herons", "", "", heading=heading), question) is tells
