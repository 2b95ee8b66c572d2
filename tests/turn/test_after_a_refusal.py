"""After a wish that cannot be granted without a language model, "that" is still the answer before it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from turnwise.app import build
from turnwise.config import Settings
from turnwise.engine import Engine

LIBRARY = {
    "club.md": "# Rowing club\n\n## Boats\n\nA boat must be booked the day before.\n",
    "verein.md": "# Verein\n\n## Boote\n\nEin Boot muss am Vortag gebucht werden.\n",
}
ASKED = ("when must i book a boat?", "A boat must be booked the day before.")
GEFRAGT = ("wann muss ich ein boot buchen?", "Ein Boot muss am Vortag gebucht werden.")


@pytest.fixture(scope="module")
def club(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("club")
    with build(Settings(library=str(folder / "library")), create=True) as engine:
        engine.add(contents={name: text.encode() for name, text in LIBRARY.items()})
        yield engine


@pytest.mark.parametrize(
    ("asked", "wish", "refusal", "again"),
    [
        (ASKED, "can you explain that simpler", "I only quote the documents", "say that again please"),
        (ASKED, "i dont understand, simpler please", "I only quote the documents", "repeat that"),
        (ASKED, "what's that in plain english", "I only quote the documents", "list please"),
        (ASKED, "translate to german", "That needs a language model", "say it again"),
        (GEFRAGT, "kannst du das einfacher erklären?", "Ich zitiere nur die Dokumente", "wiederhole das bitte"),
        (GEFRAGT, "übersetze das ins Englische", "Das braucht ein Sprachmodell", "als Liste"),
    ],
)
def test_the_answer_before_a_refusal_is_told_again(
    club: Engine, asked: tuple[str, str], wish: str, refusal: str, again: str
) -> None:
    chat = club.chat()
    assert asked[1] in chat.ask(asked[0]).text
    assert chat.ask(wish).text.startswith(refusal)
    told = chat.ask(again).text
    assert asked[1] in told
    assert "[1]" in told


def test_a_refusal_does_not_announce_an_answer(club: Engine) -> None:
    chat = club.chat()
    for message in (ASKED[0], "what does it cost to sail to mars?"):
        chat.ask(message)
    assert chat.ask("translate to german").text.startswith("That needs a language model")
