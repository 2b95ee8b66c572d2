"""Answers to questions in languages that the judge of English cannot read: there the words decide more."""

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

## Schäden

Wer einen Schrank beschädigt, ersetzt die Reparatur bis zu 80 Euro. Beschädigte Schränke werden der Kasse gemeldet.

## Wärmestube

Die Wärmestube ist täglich von 10 bis 19 Uhr geöffnet. Das Dampfbad kann samstags von 12 bis 15 Uhr benutzt werden und
kostet 3 Euro.

## Ausweis

Der Ausweis gilt ein Jahr. Der Antrag wird an der Kasse gestellt. Über Ausnahmen entscheidet die Leitung.

## Vorleser

Die Teilnahme kostet 2 Euro.

## Föhn bläst kalt

1. Halten Sie den Knopf länger gedrückt.
2. Ziehen Sie den Stecker und stecken Sie ihn wieder ein.

## Spind benutzen

1. Stecken Sie eine Münze in das Schloss.
2. Drehen Sie den Schlüssel nach rechts.
""",
    "werkhof.md": """# Werkhof Birk

## Angebot

| Angebot | Tag | Uhrzeit | Preis | Leitung |
|---|---|---|---|---|
| Töpfern | Freitag | 17:30 | 40 € | Ida Moe |
| Weben | Montag | 18:00 | 35 € | Jan Ott |

Die Werkstätten starten am 3. März.
""",
    "camping.md": """# Camping des Tilleuls

## Réservation

La réservation est obligatoire en juillet. L'annulation coûte 20 €.

## Animaux

Les chiens sont acceptés s'ils sont tenus en laisse.

## Barques

Celui qui abîme une barque rembourse jusqu'à 90 euros. Une barque abîmée est signalée au gardien.

## Électricité

L'électricité coûte 4 € par nuit.
""",
    "taller.md": """# Taller Ruiz

## Revisión

La revisión anual dura dos horas. El cambio de neumáticos cuesta 60 euros.

## Hacerse cliente

Pague la primera cuota en el taller.

| Tipo de cliente | Cuota |
|---|---|
| Particular | 12 € |
| Empresa | 30 € |

## Llaves

Quien pierde una llave paga 25 euros. La llave perdida se avisa al encargado.

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
        ("dürfen kinder in den schwimmkurs rein", "Schwimmkurse für Kinder"),
        ("habt ihr sonntags auf?", "9:00 bis 18:00"),
        ("wann fangen die werkstätten an?", "starten am 3. März"),
        ("wer unterrichtet töpfern?", "Ida Moe"),
        ("wie benutze ich einen spind", "1. Stecken Sie eine Münze in das Schloss.\n2. Drehen Sie"),
        ("cuánto cuesta hacerse cliente", "Particular: Cuota 12 €. Empresa: Cuota 30 €."),
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


@pytest.mark.parametrize(
    ("asked", "question"),
    [
        ("wer entscheidet über ausnahmen", "muss ich das bezahlen"),
        ("wie lange gilt der ausweis", "was kostet das"),
        ("wie lange gilt der ausweis", "wie teuer"),
        ("wo stelle ich den antrag", "und wie oft?"),
    ],
)
def test_a_price_or_time_alone_is_no_answer(library: Engine, asked: str, question: str) -> None:
    told = answer(library, asked)
    found = answer(library, asked, f"{told} [1]", question)
    assert found.startswith(("Das weiß ich nicht", "Auch das weiß ich nicht")), found


@pytest.mark.parametrize(
    ("asked", "question", "quoted"),
    [
        ("gibt es vorleser?", "was kostet das", "Die Teilnahme kostet 2 Euro."),
        ("ich habe einen schrank beschädigt", "muss ich das bezahlen", "80 Euro"),
        ("j'ai abîmé une barque", "je dois le payer ?", "90 euros"),
        ("he perdido una llave", "tengo que pagarla?", "25 euros"),
    ],
)
def test_a_price_is_that_of_what_was_asked_before(library: Engine, asked: str, question: str, quoted: str) -> None:
    told = answer(library, asked)
    assert quoted in answer(library, asked, f"{told} [1]", question)


@pytest.mark.parametrize("question", ["wann ist das?", "was kostet es?", "und wer leitet das?"])
def test_a_bare_question_after_a_row_is_about_that_row(library: Engine, question: str) -> None:
    asked = "an welchem tag ist töpfern?"
    told = answer(library, asked)
    assert told.startswith("Töpfern: ")
    again = answer(library, asked, f"{told} [1]", question)
    assert told in again
    assert "Weben" not in again


def test_the_question_before_a_bare_one_is_carried_on(library: Engine) -> None:
    unknown = "Das weiß ich nicht."
    asked = ("gibt es vorleser?", unknown, "und wie oft?", unknown, "was kostet das")
    assert answer(library, *asked) == "Die Teilnahme kostet 2 Euro."


def test_the_hours_of_something_else_below_the_heading_are_left_out(library: Engine) -> None:
    assert answer(library, "wann ist die wärmestube geöffnet?") == (
        "Die Wärmestube ist täglich von 10 bis 19 Uhr geöffnet."
    )


@pytest.mark.parametrize("question", ["was kostet der ausweis", "wann kommen die vorleser", "was kosten fundsachen"])
def test_a_sentence_without_the_price_or_time_asked_for_is_no_answer(library: Engine, question: str) -> None:
    assert answer(library, question).startswith("Das weiß ich nicht")


@pytest.mark.parametrize(
    ("question", "quoted"),
    [
        ("wem sage ich dass ein schrank beschädigt ist?", "Beschädigte Schränke werden der Kasse gemeldet."),
        ("j'ai abîmé une barque, à qui je le dis ?", "Une barque abîmée est signalée au gardien."),
        ("he perdido una llave, a quién se lo digo?", "La llave perdida se avisa al encargado."),
    ],
)
def test_whom_to_turn_to_is_told_if_that_is_asked(library: Engine, question: str, quoted: str) -> None:
    assert quoted in answer(library, question)


def test_the_next_remedy_follows_one_that_did_not_help(library: Engine) -> None:
    first = "1. Halten Sie den Knopf länger gedrückt. [1]"
    asked = ("der föhn bläst kalt", first, "hat nicht geholfen")
    second = answer(library, *asked)
    assert "Ziehen Sie den Stecker" in second
    assert answer(library, *asked, f"{second} [1]", "immer noch kalt").startswith("Es tut mir leid")


def test_a_word_of_the_message_counts_more_than_all_of_the_last_question(library: Engine) -> None:
    unknown = "Das weiß ich nicht."
    asked = "ich habe neulich beim turnen meine mütze liegen lassen, wo finde ich sie"
    assert answer(library, asked, unknown, "und fundsachen?") == "Fundsachen bewahren wir vier Wochen auf."


@pytest.mark.parametrize(
    ("question", "quoted"),
    [
        ("kann ich das dampfbad benutzen", "samstags von 12 bis 15 Uhr"),
        ("je peux prendre mon chien ?", "tenus en laisse"),
        ("ich habe einen schrank beschädigt, was muss ich tun", "80 Euro"),
    ],
)
def test_a_verb_that_says_little_is_not_missed(library: Engine, question: str, quoted: str) -> None:
    assert quoted in answer(library, question)
