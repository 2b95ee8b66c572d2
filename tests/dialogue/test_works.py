"""What "both papers" and "the other study" refer to."""

from __future__ import annotations

import pytest

from turnwise.dialogue.works import name_works
from turnwise.types import Message, Reference, Source

WEIR = Reference("", ("Weir, Una", "Bok, Jan"), 1998)
TAMM = Reference("", ("Tamm, Liis",), 2011)
CITED = Source(1, 1, "Eels", "", "", None, "", reference=WEIR)
OTTERS = Reference("", ("Otto, Eva",), 2015)


def citing(question: str, answer: str) -> list[Message]:
    """A question with an answer that cites a work."""
    return [Message("user", question), Message("assistant", answer, (CITED,))]


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
        (
            "what are the limits of both papers?",
            "what are the limits of the Weir study? what are the limits of the Tamm study?",
        ),
        ("do the two papers agree?", "do Weir and Tamm agree?"),
        (
            "which study had more eels",
            "how many eels did the Weir study have? how many eels did the Tamm study have?",
        ),
        ("limits of both papers?", "what are the limits of the Weir study? what are the limits of the Tamm study?"),
        ("summarise both papers", "what is the Weir study about? what is the Tamm study about?"),
        ("which paper is newer?", "who wrote the Tamm study?"),
        ("which study came first", "who wrote the Weir study?"),
        ("which paper used the finer net?", "which study used the finer net, Weir or Tamm?"),
        ("and the other one?", "and the other one?"),
        ("do they agree?", "do they agree?"),
        ("which one is longer", "which one is longer"),
        ("how long is each", "how long is each"),
    ],
)
def test_works_are_named_by_their_authors(message: str, meant: str) -> None:
    assert name_works(message, (), lambda: [TAMM, WEIR])[0] == meant


def test_each_and_the_other_work_depend_on_what_was_asked_before() -> None:
    def named(message: str, *before: str) -> str:
        return name_works(message, citing(*before), lambda: [WEIR, TAMM])[0]

    both = ("compare Weir and Tamm", "**Weir**: Eels came back. [1]")
    assert named("how many eels were counted in each", *both[:1], both[1]).count("?") == 2
    assert named("what of the other paper", "what did weir find", "Eels. [1]") == "what of the Tamm study"
    assert named("what of the other paper", *both) == "what of the other paper"


@pytest.mark.parametrize(
    ("message", "meant"),
    [
        ("do they agree?", "do Weir and Tamm agree?"),
        ("why do they differ", "why do Weir and Tamm differ"),
        ("where was it done in each?", "where was it done in the Weir study? where was it done in the Tamm study?"),
        ("which of them caught more eels", "which study caught more eels, Weir or Tamm?"),
        ("who paid for the first one", "who paid for the Weir study"),
        ("which one is better", "which one is better"),
        ("which is newer?", "who wrote the Tamm study?"),
        ("which eels came back", "which eels came back"),
    ],
)
def test_after_both_works_short_words_mean_them(message: str, meant: str) -> None:
    history = citing("compare Weir and Tamm", "**Weir**: Eels came back. [1]")
    assert name_works(message, history, lambda: [WEIR, TAMM])[0] == meant


def test_they_are_the_authors_who_did_something() -> None:
    def named(before: str) -> str:
        return name_works("how did they count them", citing(before, "Eels. [1]"), lambda: [WEIR, TAMM])[0]

    assert named("what did weir find") == "how did Weir count them"
    assert named("how many eels were in the Weir study") == "how did they count them"


@pytest.mark.parametrize("works", [[WEIR], [WEIR, TAMM, OTTERS], [WEIR, Reference("", ("Bok, Jan",), 1998)]])
def test_nothing_is_named_unless_there_are_two_works_of_different_years(works: list[Reference]) -> None:
    assert name_works("compare both papers", (), lambda: works) == ("compare both papers", [])
