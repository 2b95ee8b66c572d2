"""Questions for a price, an amount or a time whose answer is a row of a table that shares no word with them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from turnwise.app import build
from turnwise.config import Settings
from turnwise.engine import Engine
from turnwise.extractive.kinds import QUANTITIES, answer_patterns
from turnwise.text import without_citations
from turnwise.types import Reply

Talk = Callable[..., tuple[Reply, ...]]

POOL = """# Harbour Pool

Harbour Pool is a sea-water pool at the old quay of Tarrow. It was built in 1934.

## Opening hours

Towels can be borrowed at the desk.

| Day | Early swim | General swim |
|---|---|---|
| Monday to Friday | 06:30–08:30 | 10:00–20:00 |
| Sunday | none | 09:30–17:00 |

## Admission

| Swimmer | Single | Ten visits |
|---|---|---|
| Adult | £6.50 | £55 |
| Junior | £3.20 | £27 |
| Infant | free | free |
"""
HALL = """# Marina Hall

Marina Hall is a concert hall for 400 people in Tarrow, next to the pool.

## Hiring

Hire of the hall costs £350 on weekdays. A piano costs £40 more, and the pool of helpers explains all costs.
"""
CLINIC = """# Elmtree Clinic

Elmtree Clinic treats cats, dogs, rabbits and birds. It is run by three vets.

## Charges

Consultation: 38 euros
Microchip: 30 euros
"""
KENNELS = """Fernside Kennels

Fernside Kennels looks after dogs and cats.

Our prices
Vaccination, dog: 52 euros
Vaccination, cat: 46 euros
Boarding, any size: 24 euros a night
All prices include food.
"""
ZOO = """<title>Bergholt Zoo</title><h1>Bergholt Zoo</h1><p>Bergholt Zoo keeps 90 kinds of animals.</p>
<h2>Admission</h2><dl><dt>Adults</dt><dd>14 euros</dd>
<dt>Children (4 to 15)</dt><dd>7 euros</dd><dt>Dogs</dt><dd>not admitted</dd></dl>
<h2>Words of the keepers</h2><dl><dt>Clutch</dt><dd>All eggs that a bird lays at one time.</dd></dl>"""
PLANTS = """Plant,Sow,Harvest,Spacing
Carrot,March to June,July to October,5 cm
Broad bean,February to April,June to July,20 cm
Pumpkin,May,September to October,150 cm
"""
STAFF = """Last name,First name,Position,Office,Works on
Abara,Chidi,Librarian,Main 12,"Mon, Tue, Thu"
Dunne,Aoife,Head teacher,Main 20,Mon-Fri
Grant,Ellis,School secretary,Main 01,Mon-Fri
"""
REPAIRS = """Code,Repair,Device,Price (€),Time needed,Remarks
R-11,Screen replacement,Laptop,249,5 days,Matt or glossy.
R-15,Data recovery,Laptop,199,7 days,Priced per drive. You pay only if data is found.
R-21,Screen replacement,Tablet,159,2 days,
"""
TICKETS = (
    "Tickets – adult: price 5 euros. child aged 5 to 17 who is not an Edify pupil: price 2 euros. "
    "child under 5: price free. family: two adults and up to four children: price 12 euros."
)
ADMISSION = (
    "Admission – Adult: Single £6.50, Ten visits £55. Junior: Single £3.20, Ten visits £27. "
    "Infant: Single free, Ten visits free."
)
SWIM = (
    "Opening hours – Monday to Friday: Early swim 06:30–08:30, General swim 10:00–20:00. "
    "Sunday: Early swim none, General swim 09:30–17:00."
)


@pytest.fixture(scope="module")
def tarrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("tarrow")
    with build(Settings(library=str(folder / "library")), create=True) as engine:
        engine.add(contents={"pool.md": POOL.encode(), "hall.md": HALL.encode(), "clinic.md": CLINIC.encode()})
        yield engine


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("files")
    with build(Settings(library=str(folder / "library")), create=True) as engine:
        contents = {"plants.csv": PLANTS, "staff.csv": STAFF, "repairs.csv": REPAIRS}
        engine.add(contents={name: text.encode() for name, text in contents.items()})
        yield engine


def answer(engine: Engine, *messages: str) -> str:
    chat = engine.chat()
    return [without_citations(chat.ask(message).text) for message in messages][-1]


@pytest.mark.parametrize("question", ["what does it cost?", "how much are the tickets?"])
def test_the_price_of_what_was_talked_about_is_read_from_its_table(talk: Talk, question: str) -> None:
    reply = talk("What is Edifest?", question)[-1]
    assert TICKETS in without_citations(reply.text)
    assert {source.title for source in reply.sources} == {"Edifest"}


def test_the_hours_stand_beside_what_is_said_of_them(talk: Talk) -> None:
    text = without_citations(talk("What is Edicenter?", "when is it open?")[-1].text)
    assert text.startswith("Edicenter is open six days a week during term. Opening hours – Monday to Thursday: term")


@pytest.mark.parametrize("question", ["what does it cost?", "how much is it?", "is it expensive?"])
def test_a_table_of_the_document_wins_over_a_sentence_on_the_price_of_something_else(
    tarrow: Engine, question: str
) -> None:
    assert answer(tarrow, "What is Harbour Pool?", question) == ADMISSION


def test_a_price_that_a_sentence_states_is_quoted_as_before(tarrow: Engine) -> None:
    assert answer(tarrow, "What is Marina Hall?", "what does it cost?").startswith("Hire of the hall costs £350")


@pytest.mark.parametrize("question", ["when is it open?", "what are the opening hours?"])
def test_a_time_is_read_from_a_table_as_well(tarrow: Engine, question: str) -> None:
    assert answer(tarrow, "What is Harbour Pool?", question) == SWIM


def test_only_the_row_is_told_that_the_question_names(tarrow: Engine) -> None:
    told = answer(tarrow, "What does Harbour Pool cost for a junior?")
    assert told == "Junior: Single £3.20, Ten visits £27."


PUPILS = "Tickets for Edifest are free for Edify pupils and staff on all three days. "
CHILDREN = "child aged 5 to 17 who is not an Edify pupil: price 2 euros. child under 5: price free."


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        (["How much is an Edifest ticket for children?"], CHILDREN),
        (["When is Edifest?", "what does it cost?", "and for children?"], f"As I said: {CHILDREN}"),
        (["How much is an Edifest ticket for a child under 5?"], "child under 5: price free."),
        (["What does an Edifest ticket cost?", "and for adults and children?"], f"As I said: {TICKETS[10:]}"),
    ],
)
def test_rows_that_are_named_alike_are_told_together(talk: Talk, messages: list[str], told: str) -> None:
    # Before the rows, a sentence may say who needs no ticket: where the networks round in another way, it just answers.
    assert without_citations(talk(*messages)[-1].text).removeprefix(PUPILS) == told


GYM = """# Corner Gym

Corner Gym is open every day.

## Prices

| Ticket | Price |
|---|---|
| Adult day ticket | £12 |
| Senior day ticket | £9 |
| Student day ticket | £8 |
| Student month ticket | £35 |
| Family ticket | £28 |
| Child under 5 | free |
| Child 5-17 | £6 |
"""
MUSIC = """# Brook Music Society

Brook Music Society lends instruments to its members.

## Hire

| Instrument | Price a term |
|---|---|
| Flute | £14 |
| Flute, alto | £22 |
| Violin | £18 |
| Violin case | £3 |
"""
TESTS = """# Elm Clinic

Elm Clinic sees patients from Monday to Friday.

## Tests

| Test | Price | Time |
|---|---|---|
| Blood test, basic | £40 | 10 minutes |
| Blood test, full | £90 | 25 minutes |
| X-ray | £70 | 15 minutes |
"""
MUSEUM = """# Maritime Museum

The Maritime Museum tells the story of the harbour.

## Admission to the Maritime Museum

- Adult: €8
- Child under 6: free
- Child 6-15: €4
"""


@pytest.fixture(scope="module")
def lists(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("lists")
    with build(Settings(library=str(folder / "library")), create=True) as engine:
        contents = {"gym.md": GYM, "music.md": MUSIC, "clinic.md": TESTS, "museum.md": MUSEUM}
        engine.add(contents={name: text.encode() for name, text in contents.items()})
        yield engine


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        (["how much is a flute?"], "Flute: Price a term £14."),
        (["how much is a flute?", "the alto flute?"], "Flute, alto: Price a term £22."),
        (["How much is the alto flute at the music society?"], "Flute, alto: Price a term £22."),
        (["how much is a violin case?", "and a violin?"], "Violin: Price a term £18."),
        (["What does the gym cost for students?"], "Student day ticket: Price £8. Student month ticket: Price £35."),
        (
            ["how much are a student month ticket and a family ticket at the gym?"],
            "Student month ticket: Price £35. Family ticket: Price £28.",
        ),
        (
            ["How much is a child at the gym?", "and a child under 5 and a student?"],
            "Student day ticket: Price £8. Student month ticket: Price £35. Child under 5: Price free.",
        ),
        (
            ["How much is a blood test?", "the full one please", "how long does it take?"],
            "Blood test, full: Time 25 minutes.",
        ),
        (
            ["How much is the Maritime Museum for a child under 6?"],
            "Admission to the Maritime Museum: Child under 6: free",
        ),
    ],
)
def test_of_rows_that_begin_alike_those_are_told_that_are_named(lists: Engine, messages: list[str], told: str) -> None:
    assert answer(lists, *messages) == told


def test_when_something_is_says_rather_the_day_than_how_long_it_lasts(talk: Talk) -> None:
    assert "the second Thursday in June" in talk("When is Edifest?")[0].text


def test_a_row_that_was_told_is_told_again_where_a_pronoun_asks_for_it(tarrow: Engine) -> None:
    again = answer(tarrow, "How much is a microchip at Elmtree Clinic?", "What does it cost?")
    assert again == "As I said: Microchip: 30 euros"


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("What is opportunity cost?", "By opportunity cost we understand the value of the best alternative"),
        ("What is a late fee?", "A late fee is what a customer owes"),
        ("Where is the van?", "The van stands behind the boathouse."),
        ("Where does the heron nest?", "The heron builds its nest in tall trees near the water."),
    ],
)
def test_a_meaning_and_a_place_are_told_apart_from_amounts_and_persons(
    tmp_path: Path, question: str, told: str
) -> None:
    text = """The opportunity cost of a truck is 40,000 euros. By opportunity cost we understand the value of the best
alternative that is given up. A late fee was charged 12 times in 2023. A late fee is what a customer owes when a bill is
paid after the due date. The van is driven by Otto from Monday to Friday. The van stands behind the boathouse. The heron
builds its nest in tall trees near the water. The heron is at its best in spring."""
    with build(Settings(library=str(tmp_path / "library")), create=True) as engine:
        engine.add(contents={"notes.txt": text.encode()})
        assert told in answer(engine, question)


def test_a_question_of_many_words_takes_no_longer_for_what_it_may_ask_for() -> None:
    question = "what do " * 1900 + "they cost?"
    assert answer_patterns(question, QUANTITIES) == ()  # too long to be a question for a price, and not searched
    assert answer_patterns("what do they cost?", QUANTITIES)


def test_a_table_that_was_told_is_told_again_whole(tarrow: Engine) -> None:
    told = answer(tarrow, "What is Harbour Pool?", "what does it cost?", "how much is a single visit?")
    assert told == f"As I said: {ADMISSION}"


def test_lines_of_a_price_list_are_told_with_its_heading(tarrow: Engine) -> None:
    told = answer(tarrow, "What is Elmtree Clinic?", "what do they charge?")
    assert told == "Charges – Consultation: 38 euros Microchip: 30 euros"


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        (["What does it cost to vaccinate a dog?"], "Vaccination, dog: 52 euros"),
        (["What does it cost to vaccinate a dog?", "and a cat?"], "Vaccination, cat: 46 euros"),
        (["Do the prices include food?"], "All prices include food."),
    ],
)
def test_the_name_of_a_field_may_have_a_comma(tmp_path: Path, messages: list[str], told: str) -> None:
    with build(Settings(library=str(tmp_path / "library")), create=True) as engine:
        engine.add(contents={"kennels.txt": KENNELS.encode()})
        assert answer(engine, *messages) == told


VET = """# Elm Vets

## Vaccinations

These vaccinations are offered:

- Cat: feline distemper and rabies, 46 euros.
- Dog: distemper, rabies and parvovirus, 52 euros.
- Rabbit: myxomatosis, 38 euros.
"""


def test_what_one_question_rules_out_is_open_to_the_next_of_the_same_message(tmp_path: Path) -> None:
    with build(Settings(library=str(tmp_path / "library")), create=True) as engine:
        engine.add(contents={"vet.md": VET.encode()})
        told = engine.chat().ask("How much is it for a dog? Which vaccinations are offered?").text
        assert "Dog: distemper" in told
        assert "Cat: feline distemper" in told
        assert "Rabbit: myxomatosis" in told


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        (["What do adults pay?"], "Adults: 14 euros"),
        (["What do adults pay?", "and children?"], "Children (4 to 15): 7 euros"),
        (["What is Bergholt Zoo?", "what does it cost?"], "Admission – Adults: 14 euros Children (4 to 15): 7 euros"),
        (["Are dogs admitted to the zoo?"], "Dogs: not admitted"),
        (["What is a clutch?"], "Clutch: All eggs that a bird lays at one time."),
    ],
)
def test_a_term_of_a_page_is_told_with_its_definition(tmp_path: Path, messages: list[str], told: str) -> None:
    with build(Settings(library=str(tmp_path / "library")), create=True) as engine:
        engine.add(contents={"zoo.html": ZOO.encode()})
        assert answer(engine, *messages) == told


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        (["How long does data recovery take?"], "Time needed 7 days, Remarks Priced per drive. You pay only"),
        (["How much is a new screen for a laptop?", "and for a tablet?"], "Device Tablet, Price €159,"),
        (["When can I harvest broad beans?", "and carrots?"], "Carrot: Sow March to June, Harvest July"),
        (["Where is the office of the head teacher?"], "Dunne: First name Aoife, Position Head teacher,"),
        (["Who is the librarian?", "on which days does he work?"], "Office Main 12; Works on Mon, Tue, Thu"),
        (["What are the price and the time needed for the screen of a laptop?"], "Device Laptop, Price €249,"),
        (["What does it cost to repair a television?"], "I don’t know"),
        (["Who is the maths teacher?"], "I don’t know"),
    ],
)
def test_a_row_of_a_file_is_told_and_of_several_the_one_that_is_asked_for(
    files: Engine, messages: list[str], told: str
) -> None:
    text = answer(files, *messages)
    assert told in text
    assert "\n" not in text
    assert len(re.findall("Repair |Sow |First name ", text)) <= 1


def test_a_row_is_read_for_an_amount_alone(tarrow: Engine) -> None:
    assert "Adult" not in answer(tarrow, "What is Harbour Pool?", "who runs it?")


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("How much are tickets for adults and children?", ["Adult ticket: 20 euros", "Child ticket: 9 euros"]),
        ("What do adults and children pay?", ["Adult ticket: 20 euros", "Child ticket: 9 euros"]),
        ("How much is a family ticket?", ["Family ticket (2 adults and 3 children): 50 euros"]),
        ("How much is a ticket for an adult?", ["Adult ticket: 20 euros"]),
    ],
)
def test_each_row_is_told_of_several_that_a_question_names(tmp_path: Path, question: str, told: list[str]) -> None:
    text = """Prices of the castle

Adult ticket: 20 euros
Child ticket: 9 euros
Family ticket (2 adults and 3 children): 50 euros
"""
    with build(Settings(library=str(tmp_path / "library")), create=True) as engine:
        engine.add(contents={"castle.txt": text.encode()})
        given = answer(engine, question)
        assert all(row in given for row in told), given


BATHS = """The sauna is on the first floor.
Prices for the sauna:
Adults: 18 euros
Seniors: 15 euros
No children are allowed.

The pool is in the garden.
Prices for the pool:
Adults: 9 euros
Seniors: 15 euros
Children swim for free.
"""


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("What does the sauna cost?", "Prices for the sauna – Adults: 18 euros Seniors: 15 euros"),
        ("How much is the pool for adults?", "Adults: 9 euros"),
        ("What does the pool cost?", "Prices for the pool – Adults: 9 euros Seniors: 15 euros"),
        ("How much is the pool for seniors?", "Seniors: 15 euros"),
        (
            "What do seniors pay?",
            "Prices for the sauna – Seniors: 15 euros Prices for the pool – Seniors: 15 euros",
        ),
    ],
)
def test_lines_under_a_line_with_a_colon_are_said_of_it(tmp_path: Path, question: str, told: str) -> None:
    with build(Settings(library=str(tmp_path / "library")), create=True) as engine:
        engine.add(contents={"baths.txt": BATHS.encode()})
        assert answer(engine, question) == told


@pytest.mark.parametrize(
    "entry",
    [
        "<dt>How long is the trial?</dt><dd>30 days</dd>",
        "<dt>How long is the trial?</dt><dd><div>30 days</div></dd>",
        "<dt><p>How long is the trial?</p></dt><dd><p>30 days</p><p>60 days for schools</p></dd>",
    ],
)
def test_a_short_answer_of_a_page_is_told_with_its_question(tmp_path: Path, entry: str) -> None:
    page = f"<title>Questions</title><h1>Questions</h1><dl>{entry}<dt>Is it safe?</dt><dd>Yes</dd></dl>"
    with build(Settings(library=str(tmp_path / "library")), create=True) as engine:
        engine.add(contents={"faq.html": page.encode()})
        assert answer(engine, "How long is the trial?").startswith("How long is the trial? 30 days")


def test_a_price_told_is_told_again_to_whom_it_is_for(talk: Talk) -> None:
    told = talk("What is Edifest?", "what does it cost?", "and for a family of five?")[-1]
    assert without_citations(told.text) == "As I said: family: two adults and up to four children: price 12 euros."
