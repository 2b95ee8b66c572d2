"""What a question in another language names: its noun, or nothing if it has only function words and verbs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from patience import within

from turnwise.dialogue.naming import language_of, longest_name

CODES = ("de", "fr", "es", "pt", "zh", "ja", "it", "")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Was ist Überanpassung?", "Überanpassung"),
        ("was ist überanpassung", "überanpassung"),
        ("Wie funktioniert das neuronale Netz?", "neuronale Netz"),
        ("Wie wird ein Modell trainiert?", "Modell"),
        ("Wann findet Edifest statt?", "Edifest"),
        ("¿Cómo funciona BERT?", "BERT"),
        ("und die Kosten?", "Kosten"),
        ("Comment fonctionne la descente de gradient ?", "descente de gradient"),
        ("Qu'est-ce que l'attention ?", "attention"),
        ("Qui a inventé le transformeur ?", "transformeur"),
        ("et le taux", "taux"),
        ("¿Qué es el aprendizaje profundo?", "aprendizaje profundo"),
        ("¿Cuánto cuesta la entrada?", "entrada"),
        ("O que é uma rede neural?", "rede neural"),
        ("什么是过拟合", "过拟合"),
        ("请介绍一下BERT", "BERT"),
        ("過学習とは何ですか", "過学習"),
        ("BERTについて教えて", "BERT"),
    ],
)
def test_the_noun_of_a_question_is_what_it_names(text: str, named: str) -> None:
    assert longest_name(text, language_of(text)) == named


@pytest.mark.parametrize(
    "text",
    [
        *("Wer hat es erfunden?", "Warum ist das wichtig?", "mehr dazu bitte", "Pourquoi ?", "Ça coûte combien ?"),
        *(
            "¿por qué?",
            "¿Quién lo inventó?",
            "Qui l'a inventé ?",
            "por quê?",
            "Quem o inventou?",
            "为什么?",
            "谁发明了它?",
        ),
        *("なぜですか?", "誰が発明しましたか", "それは何ですか", "Почему?"),
    ],
)
def test_small_words_and_verbs_name_nothing(text: str) -> None:
    assert longest_name(text, language_of(text)) == ""


@given(st.text(), st.sampled_from(CODES))
def test_what_is_named_was_said(text: str, code: str) -> None:
    assert code in ("it", "") or longest_name(text, code) in text


@pytest.mark.parametrize("piece", ["a", "de ", "le de ", "Modell ", "是", "过", "¿", "l'", "a-"])
def test_a_long_text_takes_no_longer(piece: str) -> None:
    with within(1):
        for code in CODES:
            longest_name(piece * 50_000, code)
