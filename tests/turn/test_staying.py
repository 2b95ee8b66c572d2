"""A short question after an answer stays in the document of that answer, if that document has what it names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from turnwise.app import build
from turnwise.config import Settings
from turnwise.engine import Engine

CENTRE = """# Harbour Leisure Centre

## Booking

Book courts and classes online or at the desk. Book up to 14 days ahead. If you arrive more than 10 minutes late, your
place is given to someone else.

## Pool rules

Shower before you enter the pool. Children under 8 must be accompanied by an adult. No outdoor shoes on the poolside.
"""
SCHOOL = """# Oakfield School

## UNIFORM

Pupils wear a navy jumper and grey trousers. Black leather shoes are required; trainers are only allowed for PE.

## ATTENDANCE

School starts at 8:45. Pupils who arrive after 9:00 are marked late.

## TRIPS

Year 6 goes on a school trip to Wales in June. The trip costs £210. Sign up until 3 May.
"""
BAKERY = """# Bright Bakery Staff Handbook

## Clothing

Aprons and hats are provided. Wear closed non-slip shoes.

## Shifts

You can swap shifts with a colleague until 18:00 the day before.
"""


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("staying")
    texts = {"centre.md": CENTRE, "school.md": SCHOOL, "bakery.md": BAKERY}
    with build(Settings(library=str(folder / "library")), create=True) as engine:
        engine.add(contents={name: text.encode() for name, text in texts.items()})
        yield engine


@pytest.mark.parametrize(
    ("turns", "told"),
    [
        (("What are the pool rules?", "what about shoes?"), "No outdoor shoes"),
        (("How do I book a court?", "how far ahead?", "what about shoes?"), "No outdoor shoes"),
        (("What do pupils wear?", "what about shoes?"), "Black leather shoes"),
        (("What should I wear in the bakery?", "what about shoes?"), "non-slip shoes"),
        (("How do I book a court?", "and if I'm late?"), "10 minutes late"),
        (("When does school start?", "and if I'm late?", "what about shoes?"), "Black leather shoes"),
        (("can i swap shifts?", "with who?"), "with a colleague"),
        (("can i swap shifts?", "how late can i do it"), "until 18:00"),
        (("How much is a school trip and until when do I have to sign up?",), "3 May"),
        (("When is the school trip?", "how much does it cost?"), "£210"),
    ],
)
def test_what_the_document_of_the_last_answer_names_is_looked_for_there(
    desk: Engine, turns: tuple[str, ...], told: str
) -> None:
    chat = desk.chat()
    *_, last = [chat.ask(turn) for turn in turns]
    assert told in last.text


def test_another_document_is_found_if_the_follow_up_names_what_it_is_about(desk: Engine) -> None:
    chat = desk.chat()
    chat.ask("What are the pool rules?")
    assert "non-slip shoes" in chat.ask("and what about shoes in the bakery?").text
