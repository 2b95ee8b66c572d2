"""Questions about tables in documents: all rows of a kind, the cheapest, two side by side, the price for several."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import turnwise
from turnwise.app import build
from turnwise.config import Settings
from turnwise.engine import Engine
from turnwise.text import without_citations

BAKERY = """product,category,price,allergens
Sourdough loaf,bread,£4.20,gluten
Rye loaf,bread,£3.90,gluten
Baguette,bread,£2.10,gluten
Croissant,pastry,£1.80,"gluten, milk, egg"
Cinnamon bun,pastry,£2.50,"gluten, milk"
Carrot cake slice,cake,£3.50,"gluten, egg, nuts"
Chocolate brownie,cake,£2.80,"egg, milk"
"""
GYM = """# Riverside Gym

The gym has a weights room, a studio and a small pool.

## Membership fees

| Membership | Monthly fee | Joining fee |
|---|---|---|
| Adult | £32.00 | £20 |
| Student | £24.50 | £10 |
| Junior (under 16) | £15.00 | free |
| Senior (60+) | £22.00 | £10 |

Members can freeze their membership for up to three months a year.
"""
TENNIS = """# Hillside Tennis Club

## Court fees

| Item | Price |
|---|---|
| Court hire per hour | £8 |
| Floodlights per hour | £3.50 |
| Racket hire per session | £2 |

Courts can be booked up to seven days ahead.

## Day tickets

- Adult: £12
- Child: £6
"""
ZOO = """# Northfield Zoo

## Tickets

| Ticket | Price |
|---|---|
| Adult | £14.50 |
| Child (3 to 15) | £9.00 |
| Under 3 | free |
| Concession | £10.50 |

Parking costs £4 for the day.
"""
TRIPS = """trip,class,days,cost,date
Science Museum,Year 5,1,£18.50,2025-03-12
Lake camp,Year 6,4,£165,2025-05-19
Farm visit,Year 2,1,£9,2025-04-02
Castle and coast,Year 4,2,£72.50,2025-06-11
"""
LIBRARY = """# Town Library

## Charges

| Service | Price |
|---|---|
| Photocopy | 10 cents |
| Meeting room per hour | €15 |
| Lost card | €5 |

The cheapest service is the public computer, which costs nothing. Groups of ten or more get a discount.
"""
DOCUMENTS = {"bakery.csv": BAKERY, "gym.md": GYM, "tennis.md": TENNIS, "zoo.md": ZOO, "trips.csv": TRIPS}


def library(folder: Path, documents: dict[str, str]) -> Engine:
    engine = build(Settings(library=str(folder / "library")), create=True)
    engine.add(contents={name: text.encode() for name, text in documents.items()})
    return engine


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with library(tmp_path_factory.mktemp("town"), DOCUMENTS) as engine:
        yield engine


def answer(engine: Engine, *messages: str) -> str:
    chat = engine.chat()
    return [without_citations(chat.ask(message).text) for message in messages][-1]


def names(text: str) -> list[str]:
    """The first cells of the rows in an answer."""
    rows = [line.removeprefix("- ") for line in text.splitlines() if ": " in line]
    return [row.partition(": ")[0] for row in rows]


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("what pastries are there?", ["Croissant", "Cinnamon bun"]),
        ("which breads do you have?", ["Sourdough loaf", "Rye loaf", "Baguette"]),
        ("do you have any cakes?", ["Carrot cake slice", "Chocolate brownie"]),
        ("which products contain nuts?", ["Carrot cake slice"]),
        ("which breads cost less than £4?", ["Rye loaf", "Baguette"]),
        ("list all trips", ["Science Museum", "Lake camp", "Farm visit", "Castle and coast"]),
        ("which trips last one day?", ["Science Museum", "Farm visit"]),
        ("which trips are for Year 5?", ["Science Museum"]),
        ("what memberships are there?", ["Adult", "Student", "Junior (under 16)", "Senior (60+)"]),
        ("show me the membership fees", ["Adult", "Student", "Junior (under 16)", "Senior (60+)"]),
    ],
)
def test_all_rows_of_a_kind_are_listed(town: Engine, question: str, rows: list[str]) -> None:
    assert names(answer(town, question)) == rows


@pytest.mark.parametrize("name", ["bakery.csv", "bakery.md"])
@pytest.mark.parametrize("question", ["list all prices", "show me all the prices", "what are your prices?"])
def test_all_prices_are_the_whole_table(tmp_path: Path, name: str, question: str) -> None:
    rows = [line.replace('"', "").split(",", 3) for line in BAKERY.splitlines()]
    table = "\n".join(f"| {' | '.join(row)} |" for row in (rows[0], ["---"] * 4, *rows[1:]))
    text = BAKERY if name.endswith("csv") else f"# Corner Bakery\n\n## Price list\n\n{table}\n\nWe open at 7 am.\n"
    with library(tmp_path, {name: text}) as engine:
        assert names(answer(engine, question)) == [row[0] for row in rows[1:]]


def test_a_row_of_a_csv_file_is_told_in_words_and_its_source_supports_it(tmp_path: Path) -> None:
    shop = "item,price_eur,weight_g,days,vegan\nRye loaf,4.20,750,daily,yes\nBaguette,1.90,250,daily,no\n"
    with library(tmp_path, {"shop.csv": shop}) as engine:
        reply = engine.chat().ask("how much is the rye loaf?")
        assert reply.text == "Rye loaf: price €4.20, weight 750 g, days daily, vegan: yes. [1]"
        assert [claim.supported for claim in reply.claims] == [True]
        best = engine.chat().ask("what is the heaviest item?").text
        assert best.startswith("Heaviest of the 2 found, by weight:\n\n- Rye loaf: price €4.20")


def test_a_row_that_was_told_in_words_is_told_again_as_such(tmp_path: Path) -> None:
    shop = "item,price_eur,days\nRye loaf,4.20,daily\nBaguette,1.90,Friday\n"
    with library(tmp_path, {"shop.csv": shop}) as engine:
        again = answer(engine, "how much is the rye loaf?", "how much is the rye loaf?")
        assert again == "As I said: Rye loaf: price €4.20, days daily."


def test_a_list_cites_each_row(town: Engine) -> None:
    reply = town.chat().ask("what pastries are there?")
    assert reply.text.count("[1]") == 2
    assert all(claim.supported for claim in reply.claims)


@pytest.mark.parametrize(
    ("question", "opening", "row"),
    [
        (
            "what is the cheapest bread?",
            "Cheapest of the 3 found, by price",
            "- Baguette: category bread, price £2.10",
        ),
        (
            "what does the most expensive cake cost?",
            "Most expensive of the 2 found, by price",
            "Carrot cake slice",
        ),
        ("which membership is the cheapest?", "Cheapest of the 4 found, by monthly fee", "Junior (under 16): "),
        ("what is the highest joining fee?", "Highest of the 4 found, by joining fee", "Adult: Monthly fee £32"),
        ("which trip is the longest?", "Longest of the 4 found, by days", "Lake camp: class Year 6, days 4"),
        ("which trip is the earliest?", "Earliest of the 4 found, by date", "Science Museum"),
        ("what is the cheapest ticket at the zoo?", "Cheapest of the 4 found, by price", "Under 3: Price free."),
    ],
)
def test_the_rows_of_a_kind_are_compared_by_the_right_column(
    town: Engine, question: str, opening: str, row: str
) -> None:
    text = answer(town, question)
    assert text.startswith(f"{opening}:\n\n- ")
    assert row in text
    assert len(names(text)) == 1


def test_rows_that_share_the_extreme_are_all_told(town: Engine) -> None:
    assert names(answer(town, "which trip is the shortest?")) == ["Science Museum", "Farm visit"]


def test_the_other_extreme_is_asked_for_in_a_few_words(town: Engine) -> None:
    text = answer(town, "what is the most expensive bread?", "and the cheapest?")
    assert "Baguette" in text
    assert "Sourdough" not in text


def test_the_other_extreme_is_of_the_same_kind(town: Engine) -> None:
    text = answer(town, "cheapest bread?", "and the dearest?")
    assert "Sourdough" in text
    assert len(names(text)) == 1


@pytest.mark.parametrize(
    "question",
    [
        "what is the most popular bread?",
        "what is the biggest cake?",
        "which club is the cheapest?",
        "why is tea so cheap?",
    ],
)
def test_what_no_column_says_is_not_compared(town: Engine, question: str) -> None:
    assert " found, by" not in answer(town, question)


def test_a_sentence_that_says_it_wins_over_a_comparison(tmp_path: Path) -> None:
    with library(tmp_path, {"library.md": LIBRARY}) as engine:
        assert answer(engine, "What is the cheapest service?").startswith("The cheapest service is the public computer")


def test_amounts_in_different_units_are_not_compared(tmp_path: Path) -> None:
    text = LIBRARY.replace("The cheapest service is the public computer, which costs nothing. ", "")
    with library(tmp_path, {"library.md": text}) as engine:
        assert " found, by" not in answer(engine, "What is the cheapest service?")


def test_the_lowest_of_a_file_is_not_told_if_its_first_rows_were_not_found() -> None:
    from turnwise.extractive.choosing import candidates
    from turnwise.extractive.tables import answer_from_tables
    from turnwise.types import Evidence, Hit, Passage, Prompt

    def told(position: int) -> str:
        text = "item: Rope; price: £4\nitem: Nail; price: £1\nitem: Hook; price: £2"
        passage = Passage(1, 1, "stock", "stock.csv", text, position=position)
        question = "which item is the cheapest?"
        prompt = Prompt((), question, (question,), (Evidence(1, Hit(passage, 1.0)),), ())
        return answer_from_tables(question, candidates(prompt), prompt)

    assert "Nail" in told(0)
    assert told(3) == ""


@pytest.mark.parametrize(
    ("messages", "working"),
    [
        (["how much does court hire cost?", "what would 2 hours cost?"], "2 × £8 is £16."),
        (["what would 2 hours of court hire cost?"], "2 × £8 is £16."),
        (["how much is a court for three hours?"], "3 × £8 is £24."),
        (["how much are floodlights for 3 hours?"], "3 × £3.50 is £10.50."),
        (["how much is it for 2 adults and 3 children at the zoo?"], "2 × £14.50 + 3 × £9.00 is £56.00."),
        (["how much for 2 adults and a child at the zoo?"], "2 × £14.50 + £9.00 is £38.00."),
        (["how much are 3 croissants?"], "3 × £1.80 is £5.40."),
        (["how much would 2 sourdough loaves cost?"], "2 × £4.20 is £8.40."),
        (["how much is a rye loaf?", "how much for 3?", "and 5?"], "5 × £3.90 is £19.50."),
        (["how much is adult membership for 3 months?"], "3 × £32.00 is £96.00."),
    ],
)
def test_a_price_for_several_is_worked_out(town: Engine, messages: list[str], working: str) -> None:
    *rows, last = answer(town, *messages).split("\n\n")
    assert rows
    assert last == working


def test_the_rows_behind_a_sum_are_cited_and_the_sum_is_no_claim_about_them(town: Engine) -> None:
    reply = town.chat().ask("how much is it for 2 adults and 3 children at the zoo?")
    assert "- Adult: Price £14.50. [1]\n- Child (3 to 15): Price £9.00. [1]" in reply.text
    assert all(claim.supported for claim in reply.claims)


@pytest.mark.parametrize(
    "messages",
    [
        ["how much is racket hire for 2 hours?"],  # it is for a session
        ["how much for 2 rackets?"],
        ["how much for 2 adult memberships?"],  # two prices in a row
        ["how much for 12 adults?"],  # of two places
        ["what would 2 hours cost?"],  # of which of two
        ["how much is parking for 2 days?"],
        ["how much would the Lake camp cost for 3 children?"],  # the row does not say for whom it is
    ],
)
def test_there_is_no_sum_where_the_price_is_not_clear(town: Engine, messages: list[str]) -> None:
    assert "×" not in answer(town, *messages)


def test_there_is_no_sum_where_the_price_depends_on_how_many(tmp_path: Path) -> None:
    with library(tmp_path, {"library.md": LIBRARY}) as engine:
        assert "×" not in answer(engine, "How much are 12 lost cards?")


def test_the_result_of_a_sum_is_what_the_next_one_means(town: Engine) -> None:
    text = answer(town, "how much does court hire cost?", "what would 2 hours cost?", "what is 10% of that?")
    assert text == "10 % of £16 is £1.60. (from “2 × £8 is £16.”)"


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("compare the adult and student membership fees", ["Adult", "Student"]),
        ("what is the difference between a student and a senior membership?", ["Student", "Senior (60+)"]),
        ("compare adult and child tickets at the zoo", ["Adult", "Child (3 to 15)"]),
    ],
)
def test_both_rows_of_a_comparison_are_told(town: Engine, question: str, rows: list[str]) -> None:
    assert names(answer(town, question)) == rows


def test_a_difference_that_is_not_in_the_table_is_read_from_the_text(tmp_path: Path) -> None:
    text = """# Elm House

## Fees

| Kind of care | Price |
|---|---|
| Residential care | £900 |
| Nursing care | £1,200 |

## Care

Unlike residential care, nursing care includes a nurse on duty day and night.
"""
    with library(tmp_path, {"house.md": text}) as engine:
        assert "a nurse on duty" in answer(engine, "What is the difference between residential and nursing care?")
        prices = answer(engine, "Compare the prices of residential and nursing care")
        assert names(prices) == ["Residential care", "Nursing care"]


EDITIONS = """# Sketchpad

## Editions

| Edition | Price | Canvases |
|---|---|---|
| Free | $0 | 3 |
| Pro | $29 | unlimited |
| Team | $90 | unlimited |

Check that there is free space on the disk.
"""


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("difference between free and pro", ["Free", "Pro"]),
        ("compare the free, pro and team editions", ["Free", "Pro", "Team"]),
    ],
)
def test_rows_are_compared_though_a_sentence_has_the_word_of_a_side(
    tmp_path: Path, question: str, rows: list[str]
) -> None:
    with library(tmp_path, {"sketchpad.md": EDITIONS, "pool.md": "# Pool\n\nChildren swim free on Sundays."}) as engine:
        assert names(answer(engine, question)) == rows


@pytest.mark.parametrize(
    "messages",
    [
        ["how much is the sourdough loaf?", "and the rye loaf?", "which one is cheaper"],
        ["compare sourdough and rye", "which one is cheaper?"],
    ],
)
def test_the_cheaper_of_the_rows_told_before_is_told(town: Engine, messages: list[str]) -> None:
    text = answer(town, *messages)
    assert text.startswith("Cheaper of the two rows, by price:")
    assert names(text)[-1:] == ["Rye loaf"]


@pytest.mark.parametrize(
    ("messages", "rows"),
    [
        (["what does adult membership cost?", "and for kids?"], ["Junior (under 16)"]),
        (["how much is a student membership?", "and for OAPs?"], ["Senior (60+)"]),
        (["how much is an adult ticket at the zoo?", "and for kids?"], ["Child (3 to 15)", "Under 3"]),
        (["how much is gym membership for pensioners?"], ["Senior (60+)"]),
        (["how much is a zoo ticket for a grown-up?"], ["Adult"]),
        (["what do pensioners pay at the zoo?"], ["Concession"]),
    ],
)
def test_a_group_of_people_is_found_by_another_name(town: Engine, messages: list[str], rows: list[str]) -> None:
    assert names(answer(town, *messages)) == rows


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("how long can members freeze their membership?", "Members can freeze their membership for up to three months"),
        ("how far ahead can I book courts?", "Courts can be booked up to seven days ahead."),
        ("how much is parking?", "Parking costs £4 for the day."),
        (
            "how much is a croissant?",
            "Croissant: category pastry; price £1.80; allergens gluten, milk, egg.",
        ),
        ("list all trips in May", "I don’t know"),
        ("which breads are without gluten?", "I don’t know"),
        ("show me everything", "I don’t know"),
    ],
)
def test_other_questions_are_answered_as_before(town: Engine, question: str, told: str) -> None:
    text = answer(town, question)
    assert text.startswith(told), text
    assert "\n- " not in text


SNACKS = """item,category,price,allergens
Flat white,hot drink,3.40,milk
Peppermint tea,hot drink,2.50,none
Cheese toastie,hot food,5.50,"wheat, milk"
Tomato soup,hot food,4.90,celery
Lentil chilli,hot food,6.80,celery
"""


@pytest.mark.parametrize(
    ("question", "never"),
    [
        ("what has no milk", ("Flat white", "Cheese toastie")),
        ("what can i eat without milk on a saturday", ("Flat white", "Cheese toastie")),
        ("is there a milk-free hot food", ("Cheese toastie",)),
        ("hot food under 6", ("Lentil chilli",)),
        ("anything warm under 6", ("Lentil chilli",)),
    ],
)
def test_a_row_that_contradicts_the_question_is_not_told(tmp_path: Path, question: str, never: tuple[str, ...]) -> None:
    with build(Settings(library=str(tmp_path / "library")), create=True) as engine:
        engine.add(contents={"cafe.csv": SNACKS.encode()})
        text = answer(engine, question)
        assert not any(name in text for name in never), text


def test_a_row_that_is_not_free_of_something_is_not_told_as_such(tmp_path: Path) -> None:
    with build(Settings(library=str(tmp_path / "library")), create=True) as engine:
        sweets = "name,price,nut_free\nFudge,£2,yes\nPraline,£3,no\nToffee,£1,yes\n"
        engine.add(contents={"sweets.csv": sweets.encode()})
        assert "Praline" not in answer(engine, "list all prices", "which of those are nut-free?")


def test_what_has_none_of_something_is_listed(tmp_path: Path) -> None:
    with build(Settings(library=str(tmp_path / "library")), create=True) as engine:
        engine.add(contents={"cafe.csv": SNACKS.encode()})
        text = answer(engine, "what has no milk?")
        assert names(text) == ["Peppermint tea", "Tomato soup", "Lentil chilli"]


# --- people in columns --------------------------------------------------------------------------------------------

CENTRE = """# Leisure centre

## Prices

| Activity | Adult | Child (4-15) | Senior (65+) |
|---|---|---|---|
| Swim | £5.40 | £2.80 | £3.60 |
| Gym session | £7.50 | not allowed | £5.00 |
| Climbing | £9.00 | £6.50 | £7.00 |

A family swim ticket for two adults and up to three children costs £14.00.
"""


@pytest.fixture(scope="module")
def centre(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("centre")
    (folder / "centre.md").write_text(CENTRE)
    with turnwise.open(folder / "library") as engine:
        engine.add(str(folder / "centre.md"))
        yield engine


@pytest.mark.parametrize(
    ("messages", "working"),
    [
        (["how much for 2 adults and 3 kids to climb?"], "2 × £9.00 + 3 × £6.50 is £37.50."),
        (["how much for 2 seniors to climb?"], "2 × £7.00 is £14.00."),
        (["how much is swimming?", "how much for 2 adults and 3 kids?"], "2 × £5.40 + 3 × £2.80 is £19.20."),
    ],
)
def test_a_price_for_several_is_worked_out_across_columns(centre: Engine, messages: list[str], working: str) -> None:
    assert answer(centre, *messages).endswith(working)


def test_a_ticket_for_several_is_told_beside_the_sum(centre: Engine) -> None:
    assert "costs £14.00" in answer(centre, "how much for 2 adults and 3 kids to swim?")
    assert "£14.00" not in answer(centre, "how much for 2 adults and 3 kids to climb?")


def test_there_is_no_sum_of_what_is_not_sold(centre: Engine) -> None:
    assert "×" not in answer(centre, "how much for 2 kids in the gym?")
    assert "×" not in answer(centre, "how much for 2 adults and 3 kids at the cinema?")


def test_the_price_of_a_row_is_asked_for_by_its_name(tmp_path: Path) -> None:
    text = CENTRE + "\n## Climbing wall rules\n\nClimbing shoes are required and can be hired for £2.50.\n"
    with library(tmp_path, {"centre.md": text}) as engine:
        for question in ("how much is climbing?", "what does climbing cost?", "the price of climbing"):
            assert answer(engine, question) == "Climbing: Adult £9.00, Child (4-15) £6.50, Senior (65+) £7.00."
        assert "£2.50" in answer(engine, "how much are climbing shoes?")


# --- the rows of the last answer ----------------------------------------------------------------------------------

SHOP = """item,category,price_eur,weight_g,contains_nuts,vegan,available
Rye loaf,bread,4.20,750,no,yes,daily
Baguette,bread,1.90,250,no,yes,daily
Walnut bread,bread,5.10,600,yes,yes,Friday and Saturday
Butter croissant,pastry,1.70,70,no,no,daily
Cinnamon roll,pastry,2.40,110,no,no,Saturday and Sunday
Carrot cake slice,cake,3.50,140,yes,no,daily
Cheesecake slice,cake,3.90,150,no,no,Friday to Sunday
Whole birthday cake,cake,32.00,1500,no,no,on order
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with library(tmp_path_factory.mktemp("shop"), {"shop.csv": SHOP, "zoo.md": ZOO, "gym.md": GYM}) as engine:
        yield engine


CAKES, BREADS = "which cakes are there?", "what breads do you have?"


@pytest.mark.parametrize(
    ("messages", "opening", "rows"),
    [
        ([CAKES, "which of those contain nuts?"], "1 of the 3:", ["Carrot cake slice"]),
        ([CAKES, "which of these is the cheapest?"], "Cheapest of these 3, by price:", ["Carrot cake slice"]),
        ([CAKES, "which one is the heaviest?"], "Heaviest of these 3, by weight:", ["Whole birthday cake"]),
        ([CAKES, "which of them cost less than 4 euros?"], "- ", ["Carrot cake slice", "Cheesecake slice"]),
        ([CAKES, "which of those don't contain nuts?"], "Rows", ["Cheesecake slice", "Whole birthday cake"]),
        ([CAKES, "how many of them are available daily?"], "1 of the 3:", ["Carrot cake slice"]),
        ([CAKES, "are any of them available daily?"], "1 of the 3:", ["Carrot cake slice"]),
        ([BREADS, "are they all vegan?"], "All 3:", ["Rye loaf", "Baguette", "Walnut bread"]),
        ([BREADS, "how many are there?"], "3 rows:", ["Rye loaf", "Baguette", "Walnut bread"]),
        ([BREADS, "which is the lightest?", "which of them contain nuts?"], "1 of the 3:", ["Walnut bread"]),
    ],
)
def test_a_question_about_the_rows_told_is_limited_to_them(
    shop: Engine, messages: list[str], opening: str, rows: list[str]
) -> None:
    text = answer(shop, *messages)
    assert text.startswith(opening), text
    assert names(text) == rows


def test_none_of_the_rows_told_is_said_with_what_each_has(shop: Engine) -> None:
    assert answer(shop, CAKES, "which of those are vegan?") == (
        "None of the 3:\n\n- Carrot cake slice: vegan no.\n- Cheesecake slice: vegan no.\n"
        "- Whole birthday cake: vegan no."
    )


def test_what_no_row_says_is_not_denied(shop: Engine) -> None:
    assert "None" not in answer(shop, CAKES, "which of those are tasty?")


@pytest.mark.parametrize(
    ("messages", "working"),
    [
        ([CAKES, "what's the average price?"], "(€3.50 + €3.90 + €32.00) / 3 is about €13.13."),
        ([CAKES, "and the average weight?"], "(140 g + 150 g + 1500 g) / 3 is about 596.67 g."),
        ([BREADS, "how much are they all together?"], "€4.20 + €1.90 + €5.10 is €11.20."),
        ([BREADS, "what do they weigh in total?"], "750 g + 250 g + 600 g is 1,600 g."),
        (["how much is the rye loaf?", "and the baguette?", "and both together?"], "€4.20 + €1.90 is €6.10."),
        (["how much is the rye loaf?", "and the baguette?", "how much is that in total?"], "€4.20 + €1.90 is €6.10."),
        (["what's the average price of the pastries?"], "(€1.70 + €2.40) / 2 is €2.05."),
    ],
)
def test_a_sum_or_average_is_over_the_rows_told(shop: Engine, messages: list[str], working: str) -> None:
    chat = shop.chat()
    reply = [chat.ask(message) for message in messages][-1]
    assert reply.text.split("\n\n")[-1] == working
    assert reply.claims
    assert all(claim.supported for claim in reply.claims)


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        (
            ["how much is the cinnamon roll?", "is it available daily?"],
            "No. Cinnamon roll: available Saturday and Sunday.",
        ),
        (["how much is the rye loaf?", "is it available daily?"], "Yes. Rye loaf: available daily."),
        (["how much is the rye loaf?", "does it contain nuts?"], "No. Rye loaf: contains nuts no."),
        (["how much is the rye loaf?", "and is it vegan?", "how heavy is it?"], "Rye loaf: weight 750 g."),
        (["what's the cheapest cake?", "when is it available?"], "Carrot cake slice: available daily."),
    ],
)
def test_a_question_about_it_is_answered_from_the_row_told(shop: Engine, messages: list[str], told: str) -> None:
    assert answer(shop, *messages) == told


@pytest.mark.parametrize(
    ("question", "working"),
    [
        ("what's the total for 2 baguettes and a cinnamon roll?", "2 × €1.90 + €2.40 is €6.20."),
        ("how much is a baguette and a rye loaf together?", "€1.90 + €4.20 is €6.10."),
        ("what's the total for the baguette and the rye loaf?", "€1.90 + €4.20 is €6.10."),
        (
            "what's the total for 2 coffees and a carrot cake slice?",
            "I found no price for coffees there, so I cannot give the sum.",
        ),
    ],
)
def test_the_total_of_several_items_is_worked_out_or_refused(shop: Engine, question: str, working: str) -> None:
    *rows, last = answer(shop, question).split("\n\n")
    assert rows
    assert last == working


STAFF = """name,role,department,room,phone,days
Anna Petrov,head nurse,cardiology,B12,4411,Monday to Friday
Ben Okoye,receptionist,front desk,A01,4400,Monday and Tuesday
Clara Diaz,surgeon,cardiology,B14,4415,Wednesday to Friday
Eva Moreau,nurse,rehab,C04,4432,daily
"""
STORES = """sku,product,quantity,unit_price_gbp,warehouse,reorder
1001,Claw hammer,34,12.50,Leeds,no
1002,Hand saw,8,18.00,Leeds,yes
1003,Cordless drill,15,79.99,York,no
"""
CAFE = """# Corner Café

## Menu

| Item | Price | Vegan |
|---|---|---|
| Coffee | £2.50 | yes |
| Tea | £1.80 | yes |
| Scone | £2.20 | no |
"""


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    documents = {"staff.csv": STAFF, "stores.csv": STORES, "cafe.md": CAFE}
    with library(tmp_path_factory.mktemp("office"), documents) as engine:
        yield engine


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        (["who is in room B14?", "what's her room?"], "Clara Diaz: room B14."),
        (["who is in room B14?", "and her phone number?"], "Clara Diaz: phone 4415."),
        (["who is in room B14?", "is she in on Monday?"], "No. Clara Diaz: days Wednesday to Friday."),
        (["who is in room B14?", "does she work on Thursdays?"], "Yes. Clara Diaz: days Wednesday to Friday."),
        (["who is in room C04?", "does she work on Sundays?"], "Yes. Eva Moreau: days daily."),
        (["how much is a coffee?", "is it vegan?"], "Yes. Coffee: Vegan yes."),
        (["how much is a cordless drill?", "is it in York?"], "Yes. Cordless drill: warehouse York."),
        (["is there anything vegan under £2?"], "Tea: Price £1.80, Vegan yes."),
    ],
)
def test_everyday_questions_are_answered_from_the_right_cell(office: Engine, messages: list[str], told: str) -> None:
    assert answer(office, *messages) == told


def test_the_rows_told_are_those_of_the_last_answer_that_knew_one(office: Engine) -> None:
    text = answer(office, "show me the menu", "who won the match?", "which of them are vegan?")
    assert text.startswith("2 of the 3:\n\n- Coffee")


def test_which_of_two_is_both_is_not_guessed(office: Engine) -> None:
    assert " + " not in answer(office, "show me the menu", "and both together?")


def test_a_quantity_is_summed_over_the_table_and_the_most_is_found_by_it(office: Engine) -> None:
    assert answer(office, "what's the total quantity?").endswith("\n\n34 + 8 + 15 is 57.")
    assert answer(office, "which product do we have the most of?").startswith("Most of the 3 found, by quantity:")


def test_a_row_that_ends_in_no_is_supported_by_its_own_line(office: Engine) -> None:
    reply = office.chat().ask("how much is a claw hammer?")
    assert [claim.supported for claim in reply.claims] == [True]


# --- what the rows told do not say --------------------------------------------------------------------------------

NEGATED = """dish,price,nut_free,non_refundable,not_for_children
Brioche,£3,yes,no,no
Praline,£4,no,yes,no
Fudge,£5,yes,no,yes
"""
MEALS = """dish,price,vegan
Burger,£9,yes
Falafel,£6,
Fries,£3,
Stew,£8,no
"""
UNSAID = """dish,price,notes
Vegan burger,£9,vegan
Falafel,£6,served hot
Fries,£3,salty
"""
MUSEUMS = """museum,price,closed
Town Museum,£4,Monday
Rail Museum,£6,Tuesday
"""
TOGETHER = "how much are the falafel and the fries together?"


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("does it contain nuts?", "Brioche: nut free yes."),
        ("is it refundable?", "Brioche: non refundable no."),
        ("is it for children?", "Brioche: not for children no."),
    ],
)
def test_a_column_that_denies_its_noun_gives_no_verdict(tmp_path: Path, question: str, told: str) -> None:
    with library(tmp_path, {"sweets.csv": NEGATED}) as engine:
        text = answer(engine, "how much is the brioche?", question)
        assert not text.startswith(("Yes", "No.")), text
        assert told in text or "don’t know" in text


def test_rows_are_not_listed_by_the_opposite_of_a_column(tmp_path: Path) -> None:
    with library(tmp_path, {"sweets.csv": NEGATED}) as engine:
        for question in ("which of those contain nuts?", "are any of them refundable?", "which of those are nut-free?"):
            text = answer(engine, "list all dishes", question)
            assert " of the 3" not in text, text
            assert "All 3" not in text, text
            assert "“no”" not in text, text
        free = answer(engine, "list all dishes", "which of those are nut free?")
        assert "Praline" not in free


def test_empty_cells_deny_nothing(tmp_path: Path) -> None:
    with library(tmp_path, {"meals.csv": MEALS}) as engine:
        assert "None" not in answer(engine, TOGETHER, "which of those are vegan?")
        some = answer(engine, "list all dishes", "which of those are vegan?")
        assert " of the 4" not in some


def test_names_and_notes_of_rows_deny_nothing(tmp_path: Path) -> None:
    without_notes = "".join(f"{line.rpartition(',')[0]}\n" for line in UNSAID.splitlines())
    for name, text in (("plain", without_notes), ("notes", UNSAID)):
        with library(tmp_path / name, {"meals.csv": text}) as engine:
            assert "None of" not in answer(engine, TOGETHER, "which of those are vegan?")


@pytest.mark.parametrize(
    ("first", "question"),
    [
        ("how much is the town museum?", "is it open on Monday?"),
        ("how much is the rye loaf?", "is it available before Monday?"),
        ("how much is the rye loaf?", "does it weigh more than 750 g?"),
        ("how much is the rye loaf?", "is it under €4.20?"),
        ("how much is the cinnamon roll?", "is it available on Saturday or Monday?"),
        ("how much is the cinnamon roll?", "is it available after Saturday?"),
        ("how much is the cheesecake slice?", "is it available Sunday to Friday?"),
    ],
)
def test_a_question_with_a_relation_gets_no_verdict(tmp_path: Path, first: str, question: str) -> None:
    with library(tmp_path, {"shop.csv": SHOP, "museums.csv": MUSEUMS}) as engine:
        text = answer(engine, first, question)
        assert not text.startswith(("Yes", "No.")), text


def test_the_rows_of_a_list_that_was_cut_are_not_counted(tmp_path: Path) -> None:
    rows = "".join(f"Tool {number},£{number},{'yes' if number % 2 else 'no'}\n" for number in range(1, 41))
    with library(tmp_path, {"tools.csv": f"tool,price,electric\n{rows}"}) as engine:
        assert "There are more rows." in answer(engine, "list all tools")
        assert "30 rows" not in answer(engine, "list all tools", "how many are there?")
        assert "of the 30" not in answer(engine, "list all tools", "which of those are electric?")
