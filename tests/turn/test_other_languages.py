"""Answers to questions in languages that the judge cannot read: there the words decide more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from talking import said

from turnwise.app import build
from turnwise.config import Settings
from turnwise.engine import Engine
from turnwise.text import without_citations
from turnwise.types import TurnRequest

LIBRARY = {
    "bad.md": """# Hallenbad Seeburg

## Eintritt

| Karte | Preis |
|---|---|
| Erwachsene | 6,50 € |
| Zehnerkarten | 55 € |

## Kurse

Schwimmkurse für Kinder beginnen im September. Die Anmeldung ist ab dem 1. August möglich.

## Fundsachen

Fundsachen bewahren wir vier Wochen auf.

## Öffnungszeiten

Täglich von 8:00 bis 20:00, sonntags von 9:00 bis 18:00.

## Spind benutzen

1. Stecken Sie eine Münze in das Schloss.
2. Drehen Sie den Schlüssel nach rechts.
""",
    "camping.md": """# Camping des Tilleuls

## Réservation

La réservation est obligatoire en juillet. L'annulation coûte 20 €.

## Animaux

Les chiens sont acceptés s'ils sont tenus en laisse.

## Électricité

L'électricité coûte 4 € par nuit.
""",
    "taller.md": """# Taller Ruiz

## Revisión

La revisión anual dura dos horas. El cambio de neumáticos cuesta 60 euros.

## Coche de sustitución

Prestamos un coche de sustitución durante la reparación.
""",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("other")
    with build(Settings(library=str(folder / "library")), create=True) as engine:
        engine.add(contents={name: text.encode() for name, text in LIBRARY.items()})
        yield engine


def answer(engine: Engine, *messages: str) -> str:
    """The answer to the last message; before it come questions and answers in turns."""
    return without_citations(engine.run(engine.answer(TurnRequest(messages[-1], said(*messages[:-1])))).text)


@pytest.mark.parametrize(
    ("question", "quoted"),
    [
        ("wann beginnen die schwimmkurse", "beginnen im September"),
        ("ich habe eine fundsache verloren, wie lange bewahrt ihr die auf", "vier Wochen"),
        ("was kostet eine zehnerkarte", "55 €"),
        ("est-ce que je peux annuler ?", "L'annulation coûte 20 €"),
        ("il y a l'électricité ?", "4 € par nuit"),
        ("vous acceptez les chiens ?", "tenus en laisse"),
        ("cuanto dura la revision", "dos horas"),
        ("um wie viel uhr öffnet ihr sonntags", "9:00 bis 18:00"),
        ("wie benutze ich einen spind", "1. Stecken Sie eine Münze in das Schloss.\n2. Drehen Sie"),
        ("hay coche de sustitución?", "Prestamos un coche de sustitución"),
    ],
)
def test_a_question_is_answered_by_its_words(library: Engine, question: str, quoted: str) -> None:
    assert quoted in answer(library, question)


@pytest.mark.parametrize(
    "question",
    [
        "muss ich eine badekappe tragen?",
        "gibt es eine sauna?",
        "was kostet ein parkplatz?",
        "vous avez une piscine ?",
        "hay furgonetas?",
    ],
)
def test_what_the_documents_do_not_have_is_not_answered(library: Engine, question: str) -> None:
    assert answer(library, question).startswith(("Das weiß ich nicht", "Je ne sais pas", "No lo sé"))


def test_that_it_repeats_itself_is_said_in_the_users_language(library: Engine) -> None:
    before = "Fundsachen bewahren wir vier Wochen auf. [1]"
    assert answer(library, "wie ist das mit fundsachen?", before, "und fundsachen?").startswith("Wie gesagt: Fund")
