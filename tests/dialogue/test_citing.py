"""The sentence that supports a claim."""

from __future__ import annotations

import pytest

from turnwise.dialogue.citing import parts_of, supporting_text

FERRY = "Dogs travel free\non the upper deck. Tickets cost 14 crowns.\n\nzone | price\nA | 14 crowns\nB | 20 crowns"


@pytest.mark.parametrize(
    ("claim", "sentence"),
    [
        ("Tickets cost 14 crowns.", "Tickets cost 14 crowns."),
        ("Dogs travel free on the upper deck.", "Dogs travel free on the upper deck."),
        ("A ticket costs fourteen crowns today.", "Tickets cost 14 crowns."),
        ("On its upper deck a dog travels for nothing.", "Dogs travel free\non the upper deck."),
        ("B: price 20 crowns.", "B | 20 crowns"),
        ("The king opened it.", ""),
        ("", ""),
    ],
)
def test_the_quote_is_the_passages_own(claim: str, sentence: str) -> None:
    assert supporting_text(claim, FERRY) == sentence


def test_the_rows_of_a_table_are_parts() -> None:
    assert parts_of(FERRY)[2:] == ["zone | price", "A | 14 crowns", "B | 20 crowns"]
