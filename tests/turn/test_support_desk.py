"""What people ask a support desk: about another model, what was told of a time, what they want to do, a version."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from turnwise.app import build
from turnwise.config import Settings
from turnwise.engine import Engine
from turnwise.text import without_citations

LIBRARY = {
    "linen.md": """# Linen hire

- Tablecloth: £6 each
- Napkin: £0.50 each

From 50 pieces on there is a discount of 5 %.
""",
    "kettle.md": """# Ardent K20 kettle

## Data

The kettle holds 1.7 litres and draws 2200 watts.

## Care

Rinse the filter under the tap every week.
""",
    "hire.md": """# Boat hire

A key deposit of £30 is due, which you get back within two weeks after the boat is returned.

## Cancelling

You can cancel your booking on the website up to three days before.

## Evening cruise

The evening cruise on Fridays runs from 7 pm to 9.30 pm.
""",
    "shop.md": """# Orders

We send your money back within ten days after a parcel has arrived.
""",
    "faq.txt": """Questions about the kettle

Q: Is the kettle dishwasher safe?
A: No. Wipe it with a damp cloth.

Q: Who mends kettles?
A: Our workshop in Leeds mends kettles of all makes.
""",
    "palette.md": """# Palette changelog

## v1.7.0 - 2025-09-04
### Added
- A dark theme.

## v1.6.2 - 2025-05-30
### Removed
- Maps were dropped.
""",
    "heater.md": """# Patio heater

## The flame goes out

- Open the valve on the gas bottle fully.
- Shield the heater from the wind.
- If this does not help, ask a fitter to check the flame sensor.
""",
    "changes.md": """# Notewell changes

## 2.4 (8 May 2026)

- New: notes can be locked.
- New: a reader for moths and butterflies.
- Fixed: the list of moths was empty on tablets.

## 2.3 (1 March 2026)

- New: folders can be shared.
- Changed: photos of moths are stored for a year.
""",
}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("desk")
    with build(Settings(library=str(folder / "library")), create=True) as engine:
        engine.add(contents={name: text.encode() for name, text in LIBRARY.items()})
        yield engine


def answer(engine: Engine, *messages: str) -> str:
    """The answer to the last of these messages of a conversation."""
    chat = engine.chat()
    return without_citations([chat.ask(message).text for message in messages][-1])


def test_what_is_told_of_one_model_is_not_told_of_another(desk: Engine) -> None:
    assert "1.7 litres" in answer(desk, "how much does the k20 kettle hold")
    for other in ("how much does the k40 kettle hold", "how many watts does the k35 draw"):
        assert answer(desk, other).startswith("I don’t know")
    assert answer(desk, "how much does the k20 kettle hold", "and the k40?").startswith("I don’t know")


def test_the_end_of_what_was_told_is_told_again(desk: Engine) -> None:
    told = answer(desk, "what time does the evening cruise start", "and when does it end?")
    assert told == "As I said: The evening cruise on Fridays runs from 7 pm to 9.30 pm."


def test_what_it_means_is_told_again_before_something_else(desk: Engine) -> None:
    assert "two weeks" in answer(desk, "is there a key deposit", "when do i get it back")


@pytest.mark.parametrize("wish", ["i'd like to cancel my booking", "hi, we need to cancel our booking"])
def test_what_somebody_wants_to_do_is_a_question(desk: Engine, wish: str) -> None:
    assert answer(desk, wish).startswith("You can cancel your booking on the website")


def test_all_that_is_new_in_a_version_is_told(desk: Engine) -> None:
    assert answer(desk, "what's new in 2.4?").count("notes can be locked") == 1
    assert "2.3 (1 March 2026)" in answer(desk, "what's new in 2.4?", "and in 2.3?")


def test_when_a_version_came_out_is_told_again_with_it(desk: Engine) -> None:
    told = answer(desk, "what's new in 2.3?", "which version has the reader for moths", "when did that come out")
    assert "2.4 (8 May 2026)" in told


def test_of_prices_with_a_discount_the_condition_is_told_and_no_sum(desk: Engine) -> None:
    condition = "From 50 pieces on there is a discount of 5 %."
    assert answer(desk, "how much are 20 tablecloths") == f"Tablecloth: £6 each\n\n{condition}"
    assert answer(desk, "how much are 20 tablecloths", "and 60 napkins") == f"Napkin: £0.50 each\n\n{condition}"


def test_an_item_is_told_with_the_version_above_its_section(desk: Engine) -> None:
    assert answer(desk, "what's new in 1.7?").startswith("v1.7.0 - 2025-09-04, Added: A dark theme.")
    assert answer(desk, "which version dropped maps").startswith("v1.6.2 - 2025-05-30, Removed:")


def test_everything_about_something_is_told_whatever_was_said(desk: Engine) -> None:
    told = answer(desk, "how long are photos of moths stored", "show me everything you have about moths")
    assert all(part in told for part in ("for a year", "reader for moths", "list of moths was empty"))


def test_the_labels_of_questions_and_answers_are_not_quoted(desk: Engine) -> None:
    assert answer(desk, "who mends kettles").startswith("Our workshop in Leeds")
    assert answer(desk, "can the kettle go in the dishwasher") == (
        "Is the kettle dishwasher safe? No. Wipe it with a damp cloth."
    )


def test_a_step_that_refers_to_the_one_before_is_told_with_it(desk: Engine) -> None:
    told = answer(desk, "the flame doesn't stay on, can a fitter check the sensor?")
    assert told.index("Open the valve") < told.index("If this does not help")
