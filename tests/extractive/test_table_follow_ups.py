"""Follow-up questions about the row of a table that was just told."""

from __future__ import annotations

import pytest

from turnwise.extractive.choosing import candidates
from turnwise.extractive.tables import answer_from_tables
from turnwise.extractive.tables.drawn import drawn_rows
from turnwise.extractive.writing import mark_said_rows
from turnwise.text import without_citations
from turnwise.types import Evidence, Hit, Passage, Prompt

COLUMNS = "boat,day,departs,returns,pier,age groups,skipper,fare per head,seats,notes"
BOATS = "\n".join(
    "; ".join(f"{column}: {cell}" for column, cell in zip(COLUMNS.split(","), row.split(","), strict=True))
    for row in (
        "Heron,Sunday,10:00,12:30,North pier,8-12,Ms Adair,£14,20,Life jackets are provided",
        "Kestrel,Monday,09:30,11:00,South pier,all,Mr Boyd,£9,12,Warm coat needed",
        "Plover,Monday,13:00,15:00,North pier,12+,Ms Adair,£11,30,No dogs",
    )
)
FLEET = Passage(1, 1, "boats", "boats.csv", BOATS)
KESTREL = (
    "Kestrel: day Monday, departs 09:30, returns 11:00, pier South pier, age groups all, skipper Mr Boyd, "
    "fare per head £9, seats 12, notes Warm coat needed. [1]"
)


def answer(
    message: str, *said: str, condensed: str = "", before: str = "", passages: tuple[Passage, ...] = (FLEET,)
) -> str:
    """The answer of the tables to a message after these answers."""
    question = condensed or message
    evidence = tuple(Evidence(number, Hit(passage, 1.0)) for number, passage in enumerate(passages, 1))
    prompt = Prompt((), message, (question,), evidence, said, last_question=before)
    pool = candidates(prompt)
    mark_said_rows(pool, said)
    return without_citations(answer_from_tables(question, pool, prompt))


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("who runs it", "Kestrel: skipper Mr Boyd."),
        ("who's running it?", "Kestrel: skipper Mr Boyd."),
        ("how much is it", "Kestrel: fare per head £9."),
        ("no i meant how much is it", "Kestrel: fare per head £9."),
        ("how many seats", "Kestrel: seats 12."),
        ("how many seats are there?", "Kestrel: seats 12."),
        ("which age groups", "Kestrel: age groups all."),
        ("which pier?", "Kestrel: pier South pier."),
        ("and the seats?", "Kestrel: seats 12."),
        ("what day", "Kestrel: day Monday."),
        ("how much is the fare", "Kestrel: fare per head £9."),
        ("and pier?", "Kestrel: pier South pier."),
        ("what about the skipper", "Kestrel: skipper Mr Boyd."),
        ("does he need anything for it", "Kestrel: notes Warm coat needed."),
    ],
)
def test_a_question_for_one_cell_of_the_row_told_is_answered_with_that_cell(message: str, told: str) -> None:
    assert answer(message, KESTREL) == told


@pytest.mark.parametrize(
    "message",
    [
        "who is it for",
        "how often is it day",
        "how many dogs",
        "which boats",
        "how many boats",
        "who wrote it",
        "seats",
        "which captain",
    ],
)
def test_a_question_for_what_no_column_has_is_not_answered_with_a_cell(message: str) -> None:
    assert answer(message, KESTREL) == ""


def test_a_column_is_not_told_of_a_row_that_was_not_just_told() -> None:
    assert answer("which pier?", KESTREL, "Dogs are not allowed. [1]") == ""
    assert answer("which pier?") == ""


def test_it_is_not_the_row_told_before_a_question_that_had_no_answer() -> None:
    unknown = "I don’t know: the documents do not answer “and the Osprey?”."
    assert answer("who runs it", KESTREL, unknown, condensed="who runs the osprey", before="and the osprey?") == ""
    again = answer("who runs it", KESTREL, unknown, condensed="who runs the kestrel")
    assert again == "Kestrel: skipper Mr Boyd."


def test_a_column_may_be_named_by_a_word_that_is_elsewhere_a_filler() -> None:
    pumps = Passage(1, 1, "Pumps", "pumps.md", "Pump | Works in | Bar\nDuck | salt water | 3\nGoose | oil | 4", "Pumps")
    assert answer("what does it work in", "Duck: Works in salt water, Bar 3. [1]", passages=(pumps,)) == (
        "Duck: Works in salt water."
    )


def test_how_long_and_how_many_are_told_however_the_cell_is_written() -> None:
    baths = Passage(
        1, 1, "Baths", "baths.md", "Bath | Duration in minutes | Guests\nMud | 30 | unlimited\nSalt | 45 | 2", "Baths"
    )
    told = "Mud: Duration in minutes 30, Guests unlimited. [1]"
    assert answer("how long does it take", told, passages=(baths,)) == "Mud: Duration in minutes 30."
    assert answer("how many guests", told, passages=(baths,)) == "Mud: Guests unlimited."


def test_the_last_two_rows_told_are_compared_again() -> None:
    heron, cheaper = (
        "Heron: fare per head £14. [1]",
        "Cheaper of the two rows, by fare per head:\n\n- Kestrel: fare per head £9. [1]",
    )
    assert "Heron" in answer("which is more expensive?", heron, "Kestrel: fare per head £9. [1]", cheaper)
    assert answer("which is cheaper?", heron, "No dogs. [2]", "Coats are warm. [2]", "The pier is new. [2]") == ""


# --- the price of a row or column ---------------------------------------------------------------------------------

ROOMS = Passage(
    1,
    1,
    "Guest house",
    "house.md",
    " | Loft | Garden\nPrice per night | £80 | £95\nPrice per week | £500 | £610\nBeds | 2 | 4\nKeys | 1 | 2",
    "Rooms",
)
WHOLE = "Price per night: Loft £80, Garden £95. [1] Price per week: Loft £500, Garden £610. [1]"


def test_the_price_of_a_column_is_told_after_the_name_of_its_row() -> None:
    told = "Price per night: Garden £95. Price per week: Garden £610."
    assert answer("how much is the garden room?", passages=(ROOMS,)) == told
    assert answer("what about the garden", condensed="how much is the garden", passages=(ROOMS,)) == told


def test_the_price_of_a_column_is_told_again_after_its_rows_were_told() -> None:
    told = "Price per night: Garden £95. Price per week: Garden £610."
    assert answer("and garden?", WHOLE, condensed="how much is garden", passages=(ROOMS,)) == f"As I said: {told}"
    row = "As I said: Price per week: Loft £500, Garden £610. [1]"
    assert answer("what about garden", row, condensed="how much is garden", passages=(ROOMS,)) == told
    other = "Price per night: Loft £80. [1] Price per week: Loft £500. [1]"
    assert answer("and garden?", other, condensed="how much is garden", passages=(ROOMS,)) == told


@pytest.mark.parametrize("question", ["how much is the attic?", "how much is the garden shed?", "how much is Beds?"])
def test_the_price_of_what_no_column_is_named_after_is_not_told(question: str) -> None:
    assert answer(question, passages=(ROOMS,)) == ""


def test_of_a_row_with_many_cells_just_the_price_is_told() -> None:
    assert answer("how much is the kestrel?") == "Kestrel: fare per head £9."
    assert answer("how much is the kestrel?", KESTREL) == "As I said: Kestrel: fare per head £9."


# --- another row of the same table --------------------------------------------------------------------------------

TOOLS = Passage(
    1,
    1,
    "Tool hire",
    "tools.md",
    "Tool | Price | In the box\nFalcon drill | £9 | drill, red case\nFalcon saw | £7 | blue case\n"
    "Saw blade | £2 | red case\nHeron sander | £8 | sander, red case",
    "Tools",
)
DRILL = "Falcon drill: Price £9, In the box drill, red case. [1]"
SANDER = "Heron sander: Price £8, In the box sander, red case."


def test_another_row_of_the_table_is_told_whatever_the_conversation_adds_to_the_question() -> None:
    assert answer("and the sander?", DRILL, condensed="and the sander falcon drill?", passages=(TOOLS,)) == SANDER
    assert answer("and the falcon saw?", DRILL, passages=(TOOLS,)) == "Falcon saw: Price £7, In the box blue case."
    assert answer("and the plover?", "Kestrel: skipper Mr Boyd. [1]") == "Plover: skipper Ms Adair."


def test_another_row_that_was_told_before_is_told_again_as_such() -> None:
    assert answer("and the sander?", f"{SANDER} [1]", DRILL, passages=(TOOLS,)) == f"As I said: {SANDER}"


@pytest.mark.parametrize(
    "message",
    ["and the saw?", "and the hammer?", "and the drill?", "and the box?", "and the red case?", "and the sander bag?"],
)
def test_no_other_row_is_told_if_the_message_does_not_name_just_one(message: str) -> None:
    text = answer(message, DRILL, passages=(TOOLS,))
    assert not text.startswith(("Falcon saw", "Saw blade", "Heron", "Falcon drill: Price"))


def test_no_other_row_is_told_after_a_sentence() -> None:
    assert answer("and the sander?", "The Falcon drill is loud. [1]", passages=(TOOLS,)) == ""
    assert answer("and the sander?", f"{DRILL} The drill is loud. [1]", passages=(TOOLS,)) == ""


CLUBS = Passage(
    1,
    1,
    "Clubs",
    "clubs.md",
    "Club | Years | Day\nChess | 7-11 | Monday\nDrama | 7-9 | Tuesday\nRowing | 10-13 | Monday",
)


def test_a_question_with_another_number_is_about_all_rows() -> None:
    told = "- Chess: Years 7-11, Day Monday. [1]\n- Rowing: Years 10-13, Day Monday. [1]"
    found = answer("what can I do in year 7?", told, passages=(CLUBS,))
    assert "Drama" in found
    assert "Rowing" not in found


def test_hours_of_the_day_are_no_number_of_hours() -> None:
    text = "Class | Hours | Teacher\nPottery | 1-3 | Mr Lamb\nPainting | 10-12 | Ms Cole\nWeaving | 4-6 | Mr Lamb"
    classes = Passage(1, 1, "Classes", "classes.md", text)
    assert "Painting" not in answer("which classes take 11 hours?", passages=(classes,))


def test_rows_that_were_told_are_drawn_as_a_table_with_their_columns() -> None:
    text = "Walk | Length | Climb\nCliff path | 4 km | no. 2\nReed bank | 2 km | none"
    pool = candidates(Prompt((), "", ("",), (Evidence(1, Hit(Passage(1, 1, "Walks", "walks.md", text), 1.0)),), ()))
    reed = "Reed bank: Length 2 km, Climb none. [1]"
    both = f"Longest first:\n\n- Cliff path: Length 4 km, Climb no. 2. [1]\n- {reed}"
    table = "| Walk | Length | Climb |\n|---|---|---|\n{}| Reed bank | 2 km | none |\n\n[1]"
    assert drawn_rows(reed, pool) == drawn_rows(f"As I said: {reed}", pool) == table.format("")
    assert drawn_rows(both, pool) == "Longest first:\n\n" + table.format("| Cliff path | 4 km | no. 2 |\n")
    assert drawn_rows(f"- {reed}\n\n2 × 2 km is 4 km.", pool) == table.format("") + "\n\n2 × 2 km is 4 km."
    assert drawn_rows(f"{reed} Dogs are welcome. [1]", pool) == ""
