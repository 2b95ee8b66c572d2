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
        ("Rope: price €4.", "item: Rope; price_euro: 4; metres: 9", "Rope: price €4."),
        ("A baguette is sold for 1.90 euros.", STOCK, "item: Baguette; price_eur: 1.90; days: daily"),
        (
            "Price: Pro £9.",
            "Basic | Pro | Team\nPrice | £4 | £9 | £20",
            "Price: Pro £9.",
        ),  # no name for the first column
    ],
)
def test_a_row_is_told_in_words_and_never_by_its_header(claim: str, text: str, row: str) -> None:
    assert supporting_text(claim, text) == row


DIET = "name: Rye; price: 4.20; vegan: yes\nname: Oat; price: 3.10; vegan: no"
TICKETS = "Ticket | Price | Refundable\nAdult | £12 | no\nChild | £6 | yes"
HOURS = "Mon | 9–17 | Hall A\nTue | 10–18 | Hall B"


@pytest.mark.parametrize(
    ("claim", "text", "own"),
    [
        ("Rye is not vegan.", DIET, "name: Rye; price: 4.20; vegan: yes"),
        ("Rye: vegan no.", DIET, "name: Rye; price: 4.20; vegan: yes"),
        ("Rye: vegan yes.", DIET, "Rye: vegan yes."),
        ("The Adult price is refundable.", TICKETS, "Adult: Price £12, Refundable no"),
        ("Adult: Price £12, Refundable no.", TICKETS, "Adult: Price £12, Refundable no."),
        ("On Mon it is in Hall A.", HOURS, "Mon | 9–17 | Hall A"),
        ("On Tue it is in Hall B.", HOURS, "Tue | 10–18 | Hall B"),
        ("The café is shut on Sunday.", "Café | Shut on Sunday\n\nBring a towel.", "Café | Shut on Sunday"),
    ],
)
def test_the_excerpt_of_a_row_is_never_a_claim_in_other_words(claim: str, text: str, own: str) -> None:
    assert supporting_text(claim, text) == own


def test_the_rows_of_a_file_are_parts() -> None:
    assert parts_of(STOCK) == STOCK.splitlines()


def test_the_rows_of_a_table_are_parts() -> None:
    assert parts_of(FERRY)[2:] == ["zone | price", "A | 14 crowns", "B | 20 crowns"]


def test_a_row_whose_first_cell_is_empty_keeps_its_columns() -> None:
    table = "Floor | Room | Price\nFirst | Blue | 40\n| Green | 50"
    assert supporting_text("Room Green, Price 50.", table) == "Room Green, Price 50"
