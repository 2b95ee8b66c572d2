"""Estimated token counts: near real ones and rarely below them; and texts cut to fit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from turnwise.dialogue.tokens import CUT, MIN_WINDOW, Budget, tokens
from turnwise.models.weights import pinned_weights
from turnwise.types import Message


@pytest.fixture(scope="module")
def counted() -> Callable[[str], int]:
    """The tokens of a text in the vocabulary of BERT, the one that every install has."""
    tokenizer = Tokenizer.from_file(str(pinned_weights().tokenizer))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


def pieces(folder: Path, pattern: str, size: int = 600) -> list[str]:
    """The files of a folder in pieces of so many characters."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.rglob(pattern))]
    return [text[at : at + size] for text in texts for at in range(0, len(text) - size, size)]


@pytest.mark.parametrize(("pattern", "at_least"), [("sample/*.*", 1.0), ("turn/*.py", 0.9), ("index/*.py", 0.9)])
def test_the_estimate_is_near_a_real_vocabulary_and_hardly_ever_below_it(
    counted: Callable[[str], int], sample_folder: Path, pattern: str, at_least: float
) -> None:
    """That of BERT has no blanks, so that the estimate lies further above it than above others."""
    shares = [tokens(text) / counted(text) for text in pieces(sample_folder.parent, pattern)]
    assert len(shares) > 20
    assert min(shares) >= at_least
    assert 1.0 < mean(shares) < 1.4


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("", 0, 0),
        ("The cat sat on the mat.", 7, 8),
        ("2024", 4, 4),
        ("in 1999", 6, 6),  # one per digit, and the space before them
        ("过拟合", 3, 5),
        ("backpropagation", 3, 7),
        ("👍", 2, 4),
        ("\n\n", 1, 3),
    ],
)
def test_a_text_is_about_as_many_tokens(text: str, least: int, most: int) -> None:
    assert least <= tokens(text) <= most


def test_a_language_that_is_not_english_takes_more_tokens_a_letter() -> None:
    english = "The derivatives of the loss are found from the last layer of the network to the first of them."
    german = "Ableitungen berechnet man von der Ausgabeschicht bis zur Eingabeschicht des ganzen Netzes zurück."
    assert tokens(german) / len(german) > 1.4 * tokens(english) / len(english)


@given(st.text(max_size=400), st.text(max_size=400))
def test_two_texts_are_about_as_many_tokens_together_as_apart(one: str, other: str) -> None:
    """Only how English they are is judged for the whole."""
    assert tokens(one + other) <= 3 * (tokens(one) + tokens(other)) + 2


@given(st.text(max_size=2000), st.integers(0, 500), st.sampled_from([tokens, len, lambda text: len(text.encode())]))
def test_a_shortened_text_fits_and_keeps_its_ends(text: str, most: int, count: Callable[[str], int]) -> None:
    short = Budget(count=count).shortened(text, most)
    assert count(short) <= most
    if short == text:
        return
    assert count(text) > most
    head, _, tail = short.rpartition(CUT)
    assert not short or (text.startswith(head) and text.endswith(tail))


def test_a_third_of_what_is_left_of_a_shortened_text_is_its_end() -> None:
    text = " ".join(f"word{number}" for number in range(1000))
    short = Budget(count=len).shortened(text, 300)
    assert len(short) > 290
    assert short.startswith("word0 word1 ")
    assert short.endswith(" word998 word999")


def test_the_answer_keeps_its_room_but_never_more_than_half_the_window_and_a_quarter_of_a_small_one() -> None:
    assert Budget(8192, answer=2000).room == 6192
    assert Budget(8192, answer=8000).room == 4096
    assert Budget(4096, answer=2000).room == 3072
    assert Budget(4096, answer=500).room == 3596
    assert Budget(100, answer=2000).room == MIN_WINDOW * 3 // 4


def test_messages_take_room_for_what_stands_around_them() -> None:
    assert Budget(count=len).size([Message("user", "Hi"), Message("assistant", "Hello")]) == 2 + 5 + 2 * 8
