"""Answers from tables, read straight from passages: what a question must not be taken for."""

from __future__ import annotations

import dataclasses

import pytest
from patience import within

from turnwise.extractive.choosing import candidates
from turnwise.extractive.tables import MAX_QUESTION_CHARS, answer_from_tables
from turnwise.text import without_citations
from turnwise.types import Evidence, Hit, Passage, Prompt

STOCK = Passage(1, 1, "stock", "stock.csv", "item: Rope; price: £4\nitem: Nail; price: £1\nitem: Hook; price: £2")


def answer(question: str, *passages: Passage) -> str:
    evidence = tuple(Evidence(number, Hit(passage, 1.0)) for number, passage in enumerate(passages, 1))
    prompt = Prompt((), question, (question,), evidence, ())
    return without_citations(answer_from_tables(question, candidates(prompt), prompt))


def names(text: str) -> list[str]:
    """The first cells of the rows in an answer."""
    rows = [line.removeprefix("- ").removeprefix("item: ") for line in text.splitlines() if ": " in line]
    return [row.partition(";")[0].partition(": ")[0] for row in rows]


@pytest.mark.parametrize(
    ("start", "piece", "end"),
    [
        ("", "can you please ", "x"),
        ("which a ", "is ", "\nx"),
        ("which a is is is is is is is is is is is is is is is is is is is is", " !", "\nx"),
        ("list ", "! ", "\nx"),
        ("which ", "a do you have ", "\nx"),
        ("how much for ", "2 a and ", ""),
        ("what is the cheapest ", "item ", ""),
        ("which items cost ", "under £1", ""),
        ("for 1 a", "!", "x"),
        ("which is cheaper, ", "a or ", ""),
        ("do you have ", "any a without ", "\nx"),
        ("my son is 6, what ", "can a do ", "\nx"),
        ("what ", "1 item can ", "x"),
        ("which a does ", "b do ", "\nx"),
        ("when is ", "open ", "\nx"),
        ("and ", "a ", "\n,"),
    ],
)
def test_a_hostile_question_is_answered_fast(start: str, piece: str, end: str) -> None:
    question = (start + piece * MAX_QUESTION_CHARS)[: MAX_QUESTION_CHARS - len(end)] + end
    with within(1):
        for _ in range(50):
            answer(question, STOCK)


def table(title: str, heading: str, *rows: str, number: int = 1) -> Passage:
    return Passage(number, number, title, f"{title}.md", "\n".join(rows), heading)


COURTS = table("Club", "Court fees", "Item | Price", "Court hire per hour | £8", "Racket hire per session | £2")
ZOO = table("Zoo", "Tickets", "Ticket | Price", "Adult | £14.50", "Child | £9.00")
FARM = table("Farm", "Tickets", "Ticket | Price", "Adult | £15.50", "Child | £9.00", "Senior | £11", number=2)
KIOSK = table("Kiosk", "Kiosk prices", "Item | Price", "Tea | 1 euro", "Cake | 3 euros", "Pie | 4 EUR")
FORT = table(
    "Fort",
    "Tickets",
    "Ticket | Price",
    "Adult | £10",
    "Child (3 to 15) | £5",
    "Under 3 | free",
    "Family (2 adults and 2 children) | £25",
    "Guidebook | £4",
)
ROOMS = table("Hall", "Rooms", "Room | Price | Price", "Large | £20 | £30", "Small | £10 | £25")


@pytest.mark.parametrize(
    ("question", "passage"),
    [
        ("how much is court hire for 1.5 hours?", COURTS),
        ("how much is court hire for 1/2 hour?", COURTS),
        ("how much is court hire for 1 1/2 hours?", COURTS),
        ("how much is court hire for 1 to 2 hours?", COURTS),
        ("how much is court hire for one or two hours?", COURTS),
        ("how much for 2 adults or 3 children at the zoo?", ZOO),
        ("how much more is 2 adults than 2 children?", ZOO),
        ("how much for 0 adults and 2 children?", ZOO),
        ("how much are 2 small rooms?", ROOMS),
        ("how much for 2 adults and 3 under 3s?", FORT),
        ("how much for 3 under 5s?", FORT),
    ],
)
def test_a_number_that_is_not_a_count_is_not_multiplied(question: str, passage: Passage) -> None:
    assert "×" not in answer(question, passage)


@pytest.mark.parametrize(
    ("question", "working"),
    [
        ("how much are 3 pies?", "3 × 4 EUR is 12 EUR."),
        ("how much are 2 teas and 3 cakes?", "2 × 1 euro + 3 × 3 euros is 11 euros."),
    ],
)
def test_a_sum_has_the_unit_as_it_is_written(question: str, working: str) -> None:
    assert answer(question, KIOSK).endswith(f"\n\n{working}")


def test_a_row_for_several_together_is_shown_beside_the_sum() -> None:
    text = answer("how much for 2 adults and 2 children?", FORT)
    assert text.endswith("\n- Family (2 adults and 2 children): Price £25.\n\n2 × £10 + 2 × £5 is £30.")
    assert "Family" not in answer("how much are 2 guidebooks?", FORT)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("which items cost at most £2?", ["Nail", "Hook"]),
        ("which items cost at least £2?", ["Rope", "Hook"]),
        ("which items cost less than 4 pounds?", ["Nail", "Hook"]),
        ("which items cost less than €4?", []),
        ("which items cost less than £1,000?", ["Rope", "Nail", "Hook"]),
        ("which items cost less than £4k?", []),
        ("how much are the 2 cheapest items?", []),
        ("is rope the cheapest item?", []),
    ],
)
def test_a_limit_is_not_a_superlative_and_has_a_currency(question: str, rows: list[str]) -> None:
    assert names(answer(question, STOCK)) == rows


def test_amounts_in_the_same_currency_are_compared_however_it_is_written() -> None:
    assert names(answer("what is the cheapest item?", KIOSK)) == ["Tea"]
    assert names(answer("which items cost less than €4?", KIOSK)) == ["Tea", "Cake"]


BAGS = table(
    "Bags", "Bags", "Bag | Weight | Volume", "Peak | 950 g | 38 l", "Day | 1.2 kg | 20 l", "Hip | 300 g | 500 ml"
)


@pytest.mark.parametrize(
    ("question", "row"),
    [
        ("which bag is the heaviest?", "Day"),
        ("which bag has the least volume?", "Hip"),
        ("which is lighter, peak or day?", "Peak"),
    ],
)
def test_amounts_of_one_kind_are_compared_whatever_their_unit(question: str, row: str) -> None:
    assert names(answer(question, BAGS)) == [row]
    assert " is " not in answer("what is the total weight?", BAGS), "nothing is added up"


def test_prices_in_sentences_are_compared() -> None:
    pool = table("Pool", "Day tickets", "- Adult: £12.", "- Child: £6.", "- Infant: free.")
    assert names(answer("which is the cheapest day ticket?", pool)) == ["Infant"]


def test_a_table_with_two_columns_of_one_name_is_not_compared() -> None:
    assert answer("which room is the cheapest?", ROOMS) == ""


def test_a_row_with_the_number_in_two_columns_is_listed_once() -> None:
    text = "item: Lake; days: 2; rest days: 2\nitem: Hill; days: 3; rest days: 1"
    assert names(answer("which items are for 2 days?", Passage(1, 1, "trips", "trips.csv", text))) == ["Lake"]


def test_a_row_that_two_documents_share_belongs_to_both_tables() -> None:
    assert names(answer("list all tickets at the farm", ZOO, FARM)) == ["Adult", "Child", "Senior"]
    assert names(answer("what is the cheapest ticket at the farm?", ZOO, FARM)) == ["Child"]


@pytest.mark.parametrize("form", ["Day | Price\n{} | {}\n{} | {}", "- {}: {}\n- {}: {}"])
def test_a_row_that_two_headings_share_belongs_to_both(form: str) -> None:
    weekdays = Passage(1, 1, "Pool", "pool.md", form.format("Adult", "£8", "Infant", "£2"), "Weekday swims")
    weekends = Passage(
        2, 1, "Pool", "pool.md", form.format("Adult", "£9", "Infant", "£2"), "Weekend lessons", position=1
    )
    assert names(answer("what is the cheapest lesson?", weekdays, weekends)) == ["Infant"]


def test_tables_under_the_same_heading_are_told_apart_by_their_documents() -> None:
    assert answer("which ticket is the cheapest?", ZOO, FARM) == (
        "Cheapest of the 2 found under Zoo – Tickets, by price:\n\n- Child: Price £9.00.\n\n"
        "Cheapest of the 3 found under Farm – Tickets, by price:\n\n- Child: Price £9.00."
    )


def test_how_many_there_are_is_told_for_each_table() -> None:
    shops = (
        Passage(number, number, title, f"{title}.csv", f"item: {a}; kind: bread\nitem: {b}; kind: cake")
        for number, title, a, b in ((1, "North", "Rye", "Brownie"), (2, "South", "Baguette", "Muffin"))
    )
    assert answer("how many breads are there?", *shops) == (
        "1 row found under North:\n\n- Rye: kind bread.\n\n1 row found under South:\n\n- Baguette: kind bread."
    )


def test_only_a_low_age_means_children() -> None:
    insurance = table("Insurance", "Insurance", "Member | Price", "Under 65 | £90", "Over 65 | £50")
    assert answer("how much is insurance for kids?", insurance) == ""
    assert answer("how much is a zoo ticket for under 25s?", ZOO) == ""
    assert names(answer("how much is a zoo ticket for under 12s?", ZOO)) == ["Child"]


SHOP = Passage(
    1,
    1,
    "garden shop",
    "garden shop.csv",
    "item: Red rose; category: shrub; price_eur: 9.50; contains_thorns: yes; hardy: yes\n"
    "item: Tea rose; category: shrub; price_eur: 8.00; contains_thorns: yes; hardy: no\n"
    "item: Lavender; category: shrub; price_eur: 4.25; contains_thorns: no; hardy: yes\n"
    "item: Basil; category: herb; price_eur: 2.00; contains_thorns: no; hardy: no\n"
    "item: Thyme; category: herb; price_eur: 3.10; contains_thorns: no; hardy: yes",
)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("what herbs are hardy?", ["Thyme"]),
        ("which shrubs are hardy?", ["Red rose", "Lavender"]),
        ("which shrub has thorns?", ["Red rose", "Tea rose"]),
        ("which herbs contain thorns?", []),
        ("what is the cheapest hardy shrub?", ["Lavender"]),
        ("what is the price of basil?", ["Basil"]),
    ],
)
def test_a_column_of_yes_and_no_says_which_rows_are_meant(question: str, rows: list[str]) -> None:
    found = [name for name in names(answer(question, SHOP)) if not name.startswith("Cheapest")]
    assert found == rows


def test_the_dearest_thing_is_the_dearest_row_of_the_place_that_is_named() -> None:
    text = answer("what's the most expensive thing the garden shop sells?", COURTS, SHOP)
    assert text.startswith("Most expensive of the 5 found, by price:\n\n- Red rose: category shrub, price €9.50")
    assert answer("what's the most expensive thing at the museum?", COURTS, SHOP) == ""
    assert "Court" not in answer("what is the most expensive item?", ZOO, SHOP)


def test_a_superlative_is_not_read_from_a_table_that_the_conversation_does_not_name() -> None:
    question, search = "and the cheapest?", "and the cheapest (garden shop)?"
    evidence = tuple(Evidence(number, Hit(passage, 1.0)) for number, passage in enumerate((ZOO, SHOP), 1))
    prompt = Prompt((), question, (search,), evidence, ())
    assert answer_from_tables(search, candidates(prompt), prompt) == ""


@pytest.mark.parametrize(
    ("question", "working"),
    [
        ("how much are 3 lavenders and a basil?", "3 × €4.25 + €2.00 is €14.75."),
        ("2 thymes and 3 tea roses", "2 × €3.10 + 3 × €8.00 is €30.20."),
    ],
)
def test_the_currency_of_a_sum_may_be_in_the_name_of_the_column(question: str, working: str) -> None:
    assert answer(question, SHOP).endswith(f"\n\n{working}")


@pytest.mark.parametrize(
    ("question", "working"),
    [
        ("how much for 3 sacks of birch logs", "3 × £6.00 is £18.00."),
        ("what do 2 boxes of matches and a sack of coal cost?", "2 × £1.50 + £9.00 is £12.00."),
        ("how much are 4 crates of matches?", ""),  # the price is that of a box
        ("how much are 3 coals", "3 × £9.00 is £27.00."),
    ],
)
def test_what_is_counted_in_sacks_or_boxes_has_their_price(question: str, working: str) -> None:
    lines = ("Birch logs; size: sack of 8 kg; price: £6.00", "Coal; size: sack; price: £9.00", "Matches; size: box")
    text = "\n".join(f"item: {line}" for line in lines) + "; price: £1.50"
    told = answer(question, Passage(1, 1, "fuel", "fuel.csv", text))
    assert told.endswith(working)
    assert working or "×" not in told


@pytest.mark.parametrize("column", ["price per 100 g", "price_per_kg", "weight"])
def test_a_number_that_is_not_the_price_of_one_is_not_multiplied(column: str) -> None:
    text = f"item: Brie; {column}: 2.00\nitem: Feta; {column}: 3.00"
    assert answer("how much are 3 bries?", Passage(1, 1, "cheese", "cheese.csv", text)) == ""


def test_of_several_rows_that_a_number_may_mean_none_is_guessed() -> None:
    text = answer("how much are 3 roses and a basil?", SHOP)
    assert names(text) == ["Red rose", "Tea rose", "Basil"]
    assert text.endswith("\n\nThe sum depends on which roses you mean.")


@pytest.mark.parametrize(
    ("question", "row", "lead"),
    [
        ("what's cheaper, lavender or basil?", "Basil", "Cheaper of the two rows, by price:"),
        ("which is more expensive, the red rose or the tea rose?", "Red rose", "More expensive of the two rows"),
        ("is thyme or basil cheaper?", "Basil", "Cheaper of the two rows"),
        ("which costs more, thyme or lavender?", "Lavender", "More expensive of the two rows"),
    ],
)
def test_the_cheaper_of_two_rows_is_told(question: str, row: str, lead: str) -> None:
    text = answer(question, ZOO, SHOP)
    assert text.startswith(lead)
    assert names(text)[-1:] == [row]


@pytest.mark.parametrize(
    "question",
    [
        "which is heavier, thyme or basil?",  # no column
        "which is cheaper, rose or basil?",  # two roses
        "which is cheaper, mint or basil?",
        "which one is cheaper?",
    ],
)
def test_rows_that_are_not_clear_are_not_compared(question: str) -> None:
    assert answer(question, SHOP) == ""


DELI = Passage(
    3,
    3,
    "deli",
    "deli.csv",
    "item: Pesto; allergens: nuts, milk\nitem: Muesli; allergens: walnuts\nitem: Hummus; allergens: sesame\n"
    "item: Walnut oil; allergens: none\nitem: Olives; allergens: -",
)


@pytest.mark.parametrize(
    ("question", "passage", "rows"),
    [
        ("do you have anything without thorns", SHOP, ["Lavender", "Basil", "Thyme"]),
        ("which shrubs have no thorns?", SHOP, ["Lavender"]),
        ("which herbs are not hardy?", SHOP, ["Basil"]),
        ("do you have any shrubs that don't have thorns?", SHOP, ["Lavender"]),
        ("is there anything without nuts?", DELI, ["Hummus"]),
        ("is there anything without gluten?", DELI, []),  # it may be that nobody looked
        ("do you have anything without leaves?", SHOP, []),
        ("do you have a shed without thorns?", SHOP, []),
    ],
)
def test_rows_without_something_are_those_that_a_column_says_are(
    question: str, passage: Passage, rows: list[str]
) -> None:
    text = answer(question, passage)
    assert names(text) == rows
    assert not rows or text.startswith("Rows found with")


# --- ranges of numbers --------------------------------------------------------------------------------------------

GAMES = Passage(
    1,
    1,
    "games",
    "games.csv",
    "\n".join(
        f"game: {game}; players: {players}; ages: {ages}; shelf: {shelf}"
        for game, players, ages, shelf in (
            ("Dune Race", "2-4", "8-12", "red"),
            ("Owl Night", "2–6", "5 to 7", "blue"),
            ("Salt Road", "3 to 5", "12+", "red"),
            ("Ferry", "6-8", "all", "red"),
            ("Lone Star", "1", "under 9", "blue"),
        )
    ),
)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("which games are for 5 players?", ["Owl Night", "Salt Road"]),
        ("which games are for 1 player?", ["Lone Star"]),
        ("which red games are for 4 players?", ["Dune Race", "Salt Road"]),
        ("which games are for 9 players?", []),
        ("what can 4 players red shelf play?", ["Dune Race", "Salt Road"]),
        ("which games are for age 8?", ["Dune Race", "Ferry", "Lone Star"]),
        ("my daughter is aged 13, what can she play?", ["Salt Road", "Ferry"]),
        ("my son is 6 years old, which games can he try?", ["Owl Night", "Ferry", "Lone Star"]),
        ("what red games can a 7 year old play?", ["Ferry"]),
        ("what can we play?", []),
        ("my son is 6 years old, what can he cook?", []),
        ("my son is 6 years old and likes horses, what can he play?", []),
    ],
)
def test_a_number_is_looked_for_in_ranges(question: str, rows: list[str]) -> None:
    assert names(answer(question, GAMES)) == rows


@pytest.mark.parametrize(
    ("question", "row"),
    [
        ("and the most expensive item overall?", "Rope"),
        ("what's the cheapest item of all", "Nail"),
        ("which is the cheapest item of them all?", "Nail"),
    ],
)
def test_the_most_of_all_is_that_of_the_whole_table(question: str, row: str) -> None:
    text = answer(question, STOCK)
    assert " of the 3 found" in text
    assert names(text)[-1:] == [row]


TOURS = Passage(
    1,
    1,
    "tours",
    "tours.csv",
    "\n".join(
        f"tour: {tour}; day: {day}; guide: {guide}; note: {note}"
        for tour, day, guide, note in (
            ("Old harbour", "Monday", "Ms Tan", "by boat"),
            ("Cathedral", "Tuesday", "Dr Hall", "by foot"),
            ("Tunnels", "Friday", "Ms Tan", "by foot"),
            ("Market", "Friday", "Mr Hall", "by foot"),
            ("Hall of Tan", "Friday", "Sr Vega", "by foot"),
        )
    ),
)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("what tours does ms tan run", ["Old harbour", "Tunnels"]),
        ("which tours are led by Ms Tan?", ["Old harbour", "Tunnels"]),
        ("which tours does tan lead?", ["Old harbour", "Tunnels"]),
        ("which tours does dr hall do?", ["Cathedral"]),
        ("which tours does hall do?", []),
        ("which tours does ms tanner run?", []),
        ("which courses does ms tan run?", []),
        ("which friday tours does ms tan run?", ["Tunnels"]),
    ],
)
def test_all_rows_with_a_name_in_a_cell_are_listed(question: str, rows: list[str]) -> None:
    assert names(answer(question, TOURS)) == rows


def test_rows_with_a_name_in_a_cell_are_listed_also_if_they_were_told() -> None:
    evidence = (Evidence(1, Hit(TOURS, 1.0)),)
    question = "which tours does ms tan run?"
    prompt = Prompt((), question, (question,), evidence, ("Tunnels: day Friday, guide Ms Tan, note by foot. [1]",))
    assert names(answer_from_tables(question, candidates(prompt), prompt)) == ["Old harbour", "Tunnels"]


# --- a limit without a currency -----------------------------------------------------------------------------------

PLANTS = table(
    "Nursery",
    "Plants",
    "Plant | Kind | Price",
    "Holly | evergreen shrub | £7",
    "Box | evergreen shrub | £5.50",
    "Lilac | flowering shrub | £4",
    "Yew | evergreen shrub | £4.80",
)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("evergreen shrub under 6", ["Box", "Yew"]),
        ("any evergreen shrubs below 5?", ["Yew"]),
        ("which evergreen shrubs are cheaper than 5", ["Yew"]),
        ("evergreen shrub under 6 years", []),
        ("shrubs for kids under 6", []),
        ("shrubs for under 6", []),
        ("trees under 6", []),
        ("is there parking under 6", []),
    ],
)
def test_a_limit_without_a_currency_is_one_of_the_price(question: str, rows: list[str]) -> None:
    assert names(answer(question, PLANTS)) == rows


def test_a_limit_without_a_currency_is_unclear_in_a_table_with_other_numbers() -> None:
    shrubs = table("Nursery", "Plants", "Plant | Height | Price", "Holly shrub | 4 m | £7", "Box shrub | 1 m | £5")
    assert names(answer("shrubs under 6", shrubs)) == []


# --- sums in several columns --------------------------------------------------------------------------------------

BATHS = table(
    "Spa",
    "Prices",
    "Ticket | Sauna | Baths | Both",
    "Adult | £11.00 | £6.50 | £15.00",
    "Child (4–15) | £6.00 | £3.50 | £8.00",
    "Family (2 adults, up to 3 children) | £28.00 | £16.00 | £38.00",
)
DEPOSITS = table("Boats", "Prices", "Ticket | Hire | Deposit", "Adult | £11 | £5", "Child | £6 | £5")


def test_a_price_for_several_people_is_worked_out_in_each_column() -> None:
    rows, *sums = answer("how much for 2 adults and 1 kid", BATHS).split("\n\n")
    assert names(rows) == ["Adult", "Child (4–15)", "Family (2 adults, up to 3 children)"]
    assert sums == [
        "Sauna: 2 × £11.00 + £6.00 is £28.00.",
        "Baths: 2 × £6.50 + £3.50 is £16.50.",
        "Both: 2 × £15.00 + £8.00 is £38.00.",
    ]


def test_a_price_for_several_people_is_worked_out_in_the_column_named() -> None:
    assert answer("how much for 3 adults in the sauna?", BATHS).endswith("\n\nSauna: 3 × £11.00 is £33.00.")


@pytest.mark.parametrize(
    ("question", "passage"),
    [
        ("how much for 2 adults and 1 kid", DEPOSITS),
        ("how much for 2 adults and 1 dog", BATHS),
        ("how much for 2 adults and 1 kid at the cinema", BATHS),
    ],
)
def test_there_is_no_sum_in_several_columns_if_the_price_is_not_clear(question: str, passage: Passage) -> None:
    assert "×" not in answer(question, passage)


def test_a_second_day_matters_only_to_a_price_for_a_time() -> None:
    late = table("Zoo", "Lost cards", "A second day costs half as much.", number=3)
    zoo = table("Zoo", "Tickets", "Ticket | Price", "Adult | £14.50", "Child | £9.00", number=3)
    assert answer("how much for 2 adults and 1 child?", zoo, late).endswith("2 × £14.50 + £9.00 is £38.00.")


PLANS = table(
    "Plans", "Plans", "Part | Small | Middle | Large", "Yearly price | £40 | £55 | £90", "Trips | 4 | 8 | 2 to 9"
)


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("what is the lowest yearly price?", "Yearly price: Small £40."),
        ("what's the highest price in the plans", "Yearly price: Large £90."),
        ("what is the highest trips", ""),  # a range is no amount
        ("what is the lowest price for dogs", ""),
    ],
)
def test_the_cells_of_a_row_are_compared_where_the_columns_are_the_things(question: str, told: str) -> None:
    assert answer(question, PLANS) == told


BIKES = table("Bikes", "Two bikes", "| Swift | Donkey", "Top speed | 45 km/h | 25 km/h", "Price | £900 | £650")


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("which is faster, the swift or the donkey?", "Top speed: Swift 45 km/h."),
        ("which is cheaper, swift or donkey", "Price: Donkey £650."),
        ("which is cheaper, swift or pony?", ""),
        ("which is heavier, swift or donkey?", ""),
        ("which one is faster?", ""),  # no answer told of them
    ],
)
def test_of_two_things_that_are_columns_the_better_cell_is_told(question: str, told: str) -> None:
    assert answer(question, BIKES) == told


TESTED = table(
    "Tents", "Results", "Tent | Weight | Score", "Lodge | 4 kg | 7.1", "Wisp | 2 kg | 8.4", "Fold | 3 kg | 6.0"
)


@pytest.mark.parametrize(
    ("question", "row"),
    [
        ("which got the best score?", ["Wisp"]),
        ("what's the worst tent?", ["Fold"]),
        ("which is the best tent in the rain?", []),
    ],
)
def test_the_best_is_what_was_rated_highest(question: str, row: list[str]) -> None:
    assert names(answer(question, TESTED))[-1:] == row
    in_words = Passage(9, 2, "Rain", "rain.md", "The best tent in the rain is the Lodge. Nothing beats its zip.")
    assert names(answer("which got the best score?", TESTED, in_words))[-1:] == ["Wisp"]


@pytest.mark.parametrize(
    ("title", "column", "row"),
    [
        ("Five kettles tested", "Model", ["Swan"]),
        ("Our kettles", "Kettle", ["Swan"]),
        ("Teakettle test", "Kettle", ["Swan"]),
        ("Our kettles", "Delivery", []),
    ],
)
def test_the_title_says_what_the_rows_are_that_are_called_by_any_name(title: str, column: str, row: list[str]) -> None:
    kettles = table(title, "Results", f"{column} | Price", "Swan | £20", "Crow | £35")
    thing = "teakettle" if title.startswith("Tea") else "kettle"
    assert names(answer(f"which is the cheapest {thing}?", kettles))[-1:] == row


def test_a_table_file_that_is_called_by_its_rows_names_them() -> None:
    text = "title: Reeds; price: 9.00\ntitle: Herons; price: 7.50\ntitle: Mills; price: 12.00"
    prompt = Prompt((), "", ("",), (Evidence(1, Hit(Passage(1, 1, "books", "books.csv", text), 1.0)),), ())
    question = "what is the cheapest book"
    asked = dataclasses.replace(prompt, question=question, asked=(question,))
    assert "Herons" in answer_from_tables(question, candidates(asked), asked)
    assert "Herons" in answer_from_tables(f"{question} (Mills)", candidates(asked), asked)


def test_an_example_is_no_row() -> None:
    text = "Name | Mail\nIda Moe | ida@moe.example\nJon Aske | jon@aske.example"
    question = "give me an example"
    evidence = (Evidence(1, Hit(Passage(1, 1, "People", "people.md", text), 1.0)),)
    asked = Prompt((), question, (question,), evidence, ())
    assert answer_from_tables(question, candidates(asked), asked) == ""


def test_the_cheapest_is_compared_by_the_price_and_not_by_another_amount() -> None:
    covers = table("Covers", "Covers", "Cover | Damage up to | Price", "Small | £900 | £7", "Large | £400 | £9")
    assert names(answer("which cover is the cheapest?", covers)) == ["Small"]
    tents = table("Tents", "Tents", "Tent | Weight | Price", "Lodge | 4 kg | £70", "Wisp | 2 kg | £90")
    assert names(answer("which tent is the cheapest by weight?", tents))[-1:] == ["Lodge"]
