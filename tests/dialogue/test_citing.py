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
        ("B: price 20 crowns.", "B: price 20 crowns."),
        ("In zone B you pay 20 crowns.", "B: price 20 crowns"),
        ("The king opened it.", ""),
        ("", ""),
    ],
)
def test_the_quote_is_the_passages_own(claim: str, sentence: str) -> None:
    assert supporting_text(claim, FERRY) == sentence


CENTRE = "Activity | Adult | Child (4–15)\nSwim | £5.40 | £2.80\nClimbing | £9.00 | £6.50\n\nBring a towel."
STOCK = "item: Rye loaf; price_eur: 4.20; days: daily\nitem: Baguette; price_eur: 1.90; days: daily"


@pytest.mark.parametrize(
    ("claim", "text", "row"),
    [
        ("Climbing: Adult £9.00, Child (4–15) £6.50.", CENTRE, "Climbing: Adult £9.00, Child (4–15) £6.50."),
        ("A swim for an adult costs £5.40.", CENTRE, "Swim: Adult £5.40, Child (4–15) £2.80"),
        ("Rye loaf: price €4.20, days daily.", STOCK, "Rye loaf: price €4.20, days daily."),
        ("A baguette is sold for 1.90 euros.", STOCK, "item: Baguette; price_eur: 1.90; days: daily"),
    ],
)
def test_a_row_is_told_in_words_and_never_by_its_header(claim: str, text: str, row: str) -> None:
    assert supporting_text(claim, text) == row


def test_the_rows_of_a_file_are_parts() -> None:
    assert parts_of(STOCK) == STOCK.splitlines()


def test_the_rows_of_a_table_are_parts() -> None:
    assert parts_of(FERRY)[2:] == ["zone | price", "A | 14 crowns", "B | 20 crowns"]
