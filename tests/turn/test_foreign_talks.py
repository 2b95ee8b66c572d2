"""Conversations in other languages than English, as people type them: a judge reads each sentence with the message and
what was said before it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from turnwise.app import build
from turnwise.config import Settings
from turnwise.dialogue.citing import abstains
from turnwise.engine import Engine
from turnwise.text import without_citations

LIBRARY = {
    "ruderclub.md": """# Ruderclub Altsee

## Boote ausleihen

Wer die Freischwimmerprüfung abgelegt hat, darf die Boote allein benutzen. Kinder unter zwölf fahren nur mit einer
Begleitperson. Ein Boot muss am Vortag beim Bootswart reserviert werden. Nach der Fahrt wird es abgespritzt.

## Hütte

Mitglieder können die Hütte für Feiern mieten. Musik ist bis 22 Uhr erlaubt, da nebenan ein Altersheim steht.
""",
    "bibliotheque.md": """# Bibliothèque du Vallon

## Prêts

Chaque lecteur emporte jusqu'à six ouvrages. Ils se gardent trois semaines. Les jeux de société ne quittent pas la
salle, parce que des pièces se perdaient.

## Retards

Chaque semaine entamée coûte 0,50 €. Après deux mois, l'ouvrage est considéré comme perdu.
""",
    "taller.md": """# Taller de cerámica Barro Vivo

## Clases

Las clases son los martes y jueves por la tarde. Quien falta puede recuperar la clase dentro del mismo mes.

## Horno

Las piezas se hornean los viernes. Las que no se recojan en cuarenta días se reciclan. El esmalte se paga por peso.
""",
    "waldbad.md": """# Waldbad Lindental

## Öffnungszeiten

| Tag | Geöffnet |
|---|---|
| Montag | 10 bis 18 Uhr |
| Dienstag bis Freitag | 8 bis 20 Uhr |
| Samstag | 9 bis 19 Uhr |

## Baderegeln

Hunde sind auf dem Gelände nicht erlaubt. Vor dem Schwimmen muss geduscht werden. Glasflaschen sind verboten.

## Partyraum

Der Partyraum im Keller des Hauptgebäudes kann von allen Inhabern einer Saisonkarte für Geburtstage und kleine Feste
gegen eine Gebühr reserviert werden. Wer den Raum nutzt, muss am nächsten Morgen gefegt haben und den Schlüssel bis neun
Uhr beim Hausmeister abgeben.
""",
    "horta.md": """# Horta comunitária do Monte

## Talhões

Cada família recebe um talhão de vinte metros quadrados. Quem o deixar abandonado durante três meses perde-o.

## Ferramentas

As ferramentas guardam-se na casota. A chave está com a Dona Amélia, no número 14.
""",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("talks")
    with build(Settings(library=str(folder / "library")), create=True) as engine:
        engine.add(contents={name: text.encode() for name, text in LIBRARY.items()})
        yield engine


@pytest.mark.parametrize(
    "talk",
    [
        (
            ("darf ich mit dem boot alleine raus", "Freischwimmerprüfung"),
            ("und meine tochter, die ist 9", "Kinder unter zwölf"),
            ("muss ich das vorher anmelden?", "am Vortag"),
        ),
        (("kann man bei euch feiern", "die Hütte für Feiern"),),
        (
            ("les jeux, je peux les ramener à la maison ?", "ne quittent pas la salle"),
            ("pourquoi", "des pièces se perdaient"),
        ),
        (
            ("cuándo cocéis las piezas", "los viernes"),
            ("y si no voy a por ellas?", "se reciclan"),
        ),
        (("quem tem a chave das ferramentas", "Dona Amélia"),),
    ],
)
def test_messages_are_answered_that_share_few_words_with_the_documents(
    library: Engine, talk: tuple[tuple[str, str], ...]
) -> None:
    chat = library.chat()
    for message, quoted in talk:
        assert quoted in " ".join(chat.ask(message).text.split()), message


@pytest.mark.parametrize(
    "message",
    [
        "wie wird das wetter am wochenende?",
        "qui a gagné le match hier soir ?",
        "¿cuál es la capital de Australia?",
        "quantos planetas tem o sistema solar?",
    ],
)
def test_what_the_documents_do_not_tell_is_not_answered(library: Engine, message: str) -> None:
    assert abstains(library.chat().ask(message).text)


def test_a_name_that_is_not_told_adds_nothing(library: Engine) -> None:
    chat = library.chat()
    told = chat.ask("bei wem muss man ein boot reservieren?").text
    again = chat.ask("wie heißt der").text
    assert abstains(again) or without_citations(told) in again


def test_what_a_list_answers_is_told_whole(library: Engine) -> None:
    hours = library.chat().ask("wann habt ihr offen?").text
    assert [each in hours for each in ("10 bis 18", "8 bis 20", "9 bis 19")] == [True] * 3
    rules = library.chat().ask("erzähl mir etwas über die baderegeln").text
    assert [each in rules for each in ("Hunde", "geduscht", "Glasflaschen")] == [True] * 3


def test_rows_that_are_not_meant_are_not_told_beside_one_that_is(library: Engine) -> None:
    told = library.chat().ask("wann ist dienstags offen?").text
    assert "8 bis 20 Uhr" in told
    assert "Samstag" not in told


def test_a_sentence_is_read_whole_after_a_long_one(library: Engine) -> None:
    chat = library.chat()
    for message in ("kann man im waldbad den partyraum mieten?", "wann habt ihr offen?"):
        chat.ask(message)
    assert "bis neun" in chat.ask("wo gebe ich nach der feier den schlüssel vom partyraum ab?").text
