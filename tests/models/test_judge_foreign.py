"""The judge for other languages than English: it reads messages with what was said before them, and shares its words
with the guard's network."""

from __future__ import annotations

from pathlib import Path

import pytest

from turnwise.errors import WeightsError
from turnwise.extractive.foreign import in_context
from turnwise.models.reranker import ForeignJudge
from turnwise.models.weights import OWN
from turnwise.types import Passage


@pytest.fixture(scope="module")
def judge() -> ForeignJudge:
    return ForeignJudge(threads=1)


def odds(judge: ForeignJudge, message: str, sentences: list[str]) -> list[float]:
    return judge.odds(message, [Passage(1, 1, "", "", text) for text in sentences])


@pytest.mark.parametrize(
    ("question", "answer", "others"),
    [
        (
            "kann ich meinen hund mitbringen",
            "Tiere sind im Haus nicht erlaubt.",
            ["Der Parkplatz ist gratis.", "Die Führung dauert eine Stunde."],
        ),
        ("c'est cher ?", "L'entrée coûte 8 euros.", ["Le parking est derrière.", "La visite dure une heure."]),
        (
            "hasta cuándo puedo devolverlo?",
            "Aceptamos devoluciones durante 30 días.",
            ["La tienda abre a las nueve.", "El taller está en el sótano."],
        ),
        (
            "onde posso deixar o carro?",
            "Há lugares de estacionamento atrás do edifício.",
            ["A visita dura uma hora.", "O café fecha às seis."],
        ),
    ],
)
def test_what_answers_in_other_words_is_likeliest(
    judge: ForeignJudge, question: str, answer: str, others: list[str]
) -> None:
    found = odds(judge, question, [*others, answer])
    assert found[-1] > max(found[:-1]) + 1


@pytest.mark.parametrize(
    ("message", "answers"), [("mein sohn ist 14", 0), ("und was kostet das?", 1), ("ab wann ist die offen?", 2)]
)
def test_what_was_said_before_tells_what_is_meant(judge: ForeignJudge, message: str, answers: int) -> None:
    sauna = [
        "Die Sauna ist ab 16 Jahren erlaubt.",
        "Die Sauna kostet 5 Euro zusätzlich.",
        "Die Sauna öffnet um 14 Uhr.",
    ]
    found = odds(judge, in_context(message, ["gibt es eine sauna"], "Die Sauna ist im ersten Stock."), sauna)
    assert found[answers] == max(found)


def test_a_message_is_read_with_the_newest_that_was_said_first() -> None:
    read = in_context(" und\nheute? ", ["wann  ist offen", "wo ist das?"], "Morgen " * 30)
    assert read == "und heute? | wann ist offen | " + "Morgen " * 10 + "Morgen | wo ist das?"
    assert in_context("und heute?", [], "") == "und heute?"
    assert in_context("ja?", ["a" * 200], "") == "ja? | " + "a" * 80


@pytest.mark.parametrize("harmed", ["judge_foreign.onnx", "guard_foreign.onnx", "guard_foreign_tokenizer.json"])
def test_it_is_checked_with_the_file_whose_words_it_reads(tmp_path: Path, harmed: str) -> None:
    for file in [*OWN.glob("judge_foreign*"), *OWN.glob("guard_foreign*")]:
        (tmp_path / file.name).symlink_to(file)
    (tmp_path / harmed).unlink()
    (tmp_path / harmed).write_bytes(b"rubbish")
    with pytest.raises(WeightsError, match=f"{harmed} is not the file"):
        odds(ForeignJudge(tmp_path), "wann?", ["Morgen."])
