"""What "both papers" and "the other study" refer to."""

from __future__ import annotations

import pytest
from spoken import said

from turnwise.dialogue.works import name_works
from turnwise.types import Reference

WEIR = Reference("", ("Weir, Una", "Bok, Jan"), 1998)
TAMM = Reference("", ("Tamm, Liis",), 2011)
OTTERS = Reference("", ("Otto, Eva",), 2015)


@pytest.mark.parametrize(
    ("message", "meant"),
    [
        ("compare both papers", "compare Weir and Tamm"),
        ("how do the two studies differ?", "how do Weir and Tamm differ?"),
        ("what did the second study find", "what did the Tamm study find"),
        ("who wrote the earlier paper?", "who wrote the Weir study?"),
        (
            "where were both studies done?",
            "where was the Weir study done? where was the Tamm study done?",
        ),
        ("what did Weir do in the second experiment", "what did Weir do in the second experiment"),
        ("did Weir cite the second paper", "did Weir cite the second paper"),
        ("and the other one?", "and the other one?"),
        ("how long is each", "how long is each"),
    ],
)
def test_works_are_named_by_their_authors(message: str, meant: str) -> None:
    assert name_works(message, (), lambda: [TAMM, WEIR])[0] == meant


def test_each_and_the_other_work_depend_on_what_was_asked_before() -> None:
    def named(message: str, *before: str) -> str:
        return name_works(message, said(*before), lambda: [WEIR, TAMM])[0]

    both = ("compare Weir and Tamm", "**Weir**: Eels came back. [1]")
    assert named("how many eels were counted in each", *both[:1], both[1]).count("?") == 2
    assert named("what of the other paper", "what did weir find", "Eels. [1]") == "what of the Tamm study"
    assert named("what of the other paper", *both) == "what of the other paper"


@pytest.mark.parametrize("works", [[WEIR], [WEIR, TAMM, OTTERS], [WEIR, Reference("", ("Bok, Jan",), 1998)]])
def test_nothing_is_named_unless_there_are_two_works_of_different_years(works: list[Reference]) -> None:
    assert name_works("compare both papers", (), lambda: works) == ("compare both papers", [])
