"""The calculator: exact, kind where there is no result, and not to be broken."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.dialogue.language import read_language
from turnwise.sums.grammar import Node, Number, Operation, parse_sum
from turnwise.tools.calculator import Calculator, calculate, numbers_in
from turnwise.tools.values import CannotCalculate, evaluate
from turnwise.tools.writing import TEXTS, format_number, format_sum
from turnwise.types import Message, StepResult

CALCULATOR = Calculator(read_language)


def read(message: str, *before: str) -> str:
    """The sum of a message, after others that took turns with their answers."""
    history = [Message("assistant" if place % 2 else "user", text) for place, text in enumerate(before)]
    return asyncio.run(CALCULATOR.read(message, history))


def run(given: str) -> StepResult:
    return asyncio.run(CALCULATOR.run(given))


def talk(*messages: str, before: tuple[str, ...] = ()) -> list[str]:
    """The answers to messages that follow one another."""
    said = list(before)
    for message in messages:
        given = read(message, *said)
        said += [message, run(given).text if given else "I don’t know."]
    return said[len(before) + 1 :: 2]


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        ("what is 15 % of 80?", "15 % of 80 is 12."),
        ("0.1 + 0.2", "0.1 + 0.2 is 0.3."),
        ("1 / 3", "1 / 3 is about 0.333333."),
        ("80 plus 15 %", "80 + 15 % is 92."),
        ("80 minus 15 %", "80 - 15 % is 68."),
        ("10 % + 5 %", "10 % + 5 % is 15 %."),
        ("what percent of 80 is 12?", "12 is 15 % of 80."),
        ("increase from 80 to 92", "From 80 to 92 is an increase of 15 %."),
        ("change from 80 to 60", "From 80 to 60 is a decrease of 25 %."),
        ("what is half of 90?", "Half of 90 is 45."),
        ("2^10", "2^10 is 1,024."),
        ("2^3^2", "2^3^2 is 512."),
        ("-2^2", "-2^2 is -4."),
        ("(1 + 2) * 3", "(1 + 2) × 3 is 9."),
        ("8 - (3 - 2)", "8 - (3 - 2) is 7."),
        ("5!", "5! is 120."),
        ("sqrt(144)", "√(144) is 12."),
        ("√2", "√(2) is about 1.41421."),
        ("2^√2", "2^√(2) is about 2.66514."),
        ("cube root of 27", "∛(27) is 3."),
        ("17 mod 5", "17 mod 5 is 2."),
        ("10 % 3", "10 mod 3 is 1."),
        ("2+2=5?", "2 + 2 is 4."),
        ("1,500 * 2", "1,500 × 2 is 3,000."),
        ("average of 3, 4 and 5", "(3 + 4 + 5) / 3 is 4."),
        ("$80 plus 15 %", "$80 + 15 % is $92."),
        ("4 x 50p", "4 × £0.50 is £2."),
        ("50p + 30 pence", "£0.50 + £0.30 is £0.80."),
        ("how much is £2 plus 5p?", "£2 + £0.05 is £2.05."),
        ("$80 / 3", "$80 / 3 is about $26.67."),
        ("$80 / $20", "$80 / $20 is 4."),
        ("$3 / 2", "$3 / 2 is $1.50."),
        ("$3 - $5", "$3 - $5 is -$2."),
        ("2^200", "2^200 is about 1.60694 × 10^60."),
        ("1 / 10^30", "1 / 10^30 is about 1 × 10^-30."),
        ("convert 3 miles to km", "3 miles is 4.828032 km."),
        ("5 kg + 300 g", "5 kg + 300 g is 5.3 kg."),
        ("72 °F in C", "72 °F is about 22.2222 °C."),
        ("20 degrees celsius in fahrenheit", "20 degrees celsius is 68 °F."),
        ("90 km/h in m/s", "90 km/h is 25 m/s."),
        ("5 ft 3 in to cm", "5 ft + 3 in is 160.02 cm."),
        ("5 m * 3 m", "5 m × 3 m is 15 m^2."),
        ("6 km / 2 h", "6 km / 2 h is 3 km/h."),
        ("3 km / 500 m", "3 km / 500 m is 6."),
        ("2 GB in MB", "2 GB is 2,000 MB."),
        ("wie viel ist 1,5 + 2,25?", "1,5 + 2,25 = 3,75"),
        ("Wie viel ist 15 % von 80?", "15 % von 80 = 12"),
        ("combien font 10 divisé par 3 ?", "10 / 3 = environ 3,33333"),
        ("quanto é 10000 vezes 4,5?", "10.000 × 4,5 = 45.000"),
        ("¿cuánto es el 15 % de 80?", "15 % de 80 = 12"),
        ("3加4等于多少？", "3 + 4 = 7"),
        ("80の15%は？", "80 × 15 % = 12"),
    ],
)
def test_what_a_person_gets(message: str, answer: str) -> None:
    assert talk(message) == [answer]


def test_the_result_tells_how_the_sum_was_read() -> None:
    found = run(read("how much is 12 times 7?"))
    assert found.details == {"sum": "12 * 7", "result": "84", "exact": True}
    assert found.error == ""


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ("10 / 0", "zero"),
        ("1/0", "zero"),
        ("what is 1/0?", "zero"),
        ("5 mod 0", "zero"),
        ("0 ^ -1", "zero"),
        ("0 ^ (-1/5)", "zero"),
        ("12 is what percent of 0", "zero"),
        ("9**9**9", "large"),
        ("10**10**10", "large"),
        ("2**(2**100)", "large"),
        ("(1/3)^8000", "large"),
        ("1e999 * 1e999 * 1e999", "large"),
        ("1e9999 + 1", "large"),
        ("1.0000001^100000000", "large"),
        ("factorial of 1000000000", "factorial"),
        ("2.5!", "factorial"),
        ("5!!!!", "factorial"),
        ("sqrt(-4)", "root"),
        ("convert 3 smoots to km", "unit"),
        ("5 registry in km", "unit"),
        ("5 kg + 3 m", "unfit"),
        ("5 kg in miles", "unfit"),
        ("5 m ^ 1000000", "unfit"),
        ("9^9^9 km in m", "unfit"),
        ("5 dBm in W", "unfit"),
        ("20 °C + 5 °C", "temperature"),
        ("20 °C * 3", "temperature"),
        ("1 °C / 2 h", "temperature"),
        ("80 € + $3", "currency"),
        ("$5 in kg", "currency"),
    ],
)
def test_what_has_no_result_is_told_kindly(message: str, why: str) -> None:
    found = run(read(message))
    assert found.error == found.text
    assert found.error.partition("{")[0].startswith(TEXTS["en"][why].partition("{")[0])


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "0x41.__class__",
        "().__class__.__bases__",
        "1e999999",
        "(" * 10_000 + "1" + ")" * 10_000,
        "9" * 100_000,
        "1+" * 50_000 + "1",
        "-" * 250 + "1",
        "5" + "!" * 250,
        "√" * 250 + "2",
        "half of " * 30 + "2",
        "factorial(10**9)",
        "٣ + ٤",
        "1 + 1\0",
        "5 __class__ in km",
        "5 {unit} in km",
        "%s + 1",
        "",
        ";",
        "; de",
        "that; ((( or 5",
        "1; 2; 3; 4",
    ],
)
def test_hostile_input_is_refused_in_words(text: str) -> None:
    found = run(text)
    assert found.text
    assert "Traceback" not in found.text
    assert len(found.text) < 300
    read(text)


def test_the_library_of_units_is_loaded_when_a_unit_is_met() -> None:
    code = "import sys, turnwise.app as app; from turnwise.tools.calculator import calculate as c; c('2 + 2');"
    code += "print('pint' in sys.modules, c('2 km in m').text, 'pint' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "False 2 km is 2,000 m. True\n"


# --- numbers of the conversation ----------------------------------------------------------------------------------


def test_a_sum_goes_on_from_the_last_exactly() -> None:
    answers = talk("10 / 3", "and times 3?", "double it", "what is 15 % of that?", "minus 1", "thanks", "halve it")
    assert answers == [
        "10 / 3 is about 3.33333.",
        "10 / 3 × 3 is 10.",
        "10 × 2 is 20.",
        "15 % of 20 is 3.",
        "3 - 1 is 2.",
        "I don’t know.",
        "2 / 2 is 1.",
    ]
    assert talk("3 miles in km", "and in m?", "times 2")[1:] == [
        "4.828032 km is 4,828.032 m.",
        "4,828.032 m × 2 is 9,656.064 m.",
    ]
    assert talk("was ist 10 / 4?", "und mal 3?", "15 % davon") == [
        "10 / 4 = 2,5",
        "2,5 × 3 = 7,5",
        "15 % von 7,5 = 1,125",
    ]


def test_the_one_number_of_an_answer_is_taken_and_told() -> None:
    before = ("How much does BERT read?", "BERT reads at most 512 tokens at a time. [1][2]")
    assert talk("what is 15 % of that?", "and divided by 4?", before=before) == [
        "15 % of 512 is 76.8. (from “BERT reads at most 512 tokens at a time.”)",
        "76.8 / 4 is 19.2.",
    ]


def test_years_and_names_are_not_taken_before_other_numbers() -> None:
    before = ("x", "1. GPT-3 came after BERT, published in 2018 with 110 million parameters. [1]")
    (answer,) = talk("half of that", before=before)
    assert answer.startswith("Half of 110,000,000 is 55,000,000. (from “")


def test_units_and_currencies_of_an_answer_are_kept() -> None:
    assert talk("in miles?", before=("x", "The trail is 12 km long. [1] It has 5 stops."))[0].startswith(
        "12 km is about 7.45645 miles."
    )
    assert talk("15 % of that", before=("x", "It costs $1,200 per year."))[0].startswith("15 % of $1,200 is $180.")
    assert talk("double it", before=("x", "80 per cent are replaced."))[0].startswith("(80 × 2) % is 160 %.")


def test_the_number_that_fits_the_unit_is_converted() -> None:
    before = ("x", "The tent has 2 rooms of 4 m². It weighs 6.5 kg and packs into 60 litres. [1]")
    assert talk("in pounds?", before=before)[0].startswith("6.5 kg is about 14.33 pounds.")
    assert read("in fahrenheit?", *before) == ""


def test_a_price_for_a_time_is_multiplied() -> None:
    before = ("can I hire a van?", "A van costs €70 per day or €120 for a weekend. [1] The deposit is €300. [1]")
    assert talk("how much for 4 days?", before=before)[0].startswith("4 × €70 is €280.")
    assert talk("how much for 4 weeks?", before=before) == ["I don’t know."]


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        (("how much is that for 3 hours?",), "3 × £35 is £105."),
        (("how much is it for 3 hours?",), "3 × £35 is £105."),
        (("how much is that for 2 days?",), "2 × £180 is £360."),
        (("for 3 hours?", "for 6 hours?"), "6 × £35 is £210."),
        (("for 3 hours?", "and 6 hours?"), "6 × £35 is £210."),
        (("how much is that for 3 hours?", "how much is that for 6 hours?"), "6 × £35 is £210."),
        (("what about 6 hours?",), "6 × £35 is £210."),
        (("how much is that for 2 weeks?",), "I don’t know."),
        (("and 6 rooms?",), "I don’t know."),
        (("and 6 people?",), "I don’t know."),
    ],
)
def test_a_price_for_a_time_is_multiplied_however_it_is_asked(messages: tuple[str, ...], told: str) -> None:
    hall = "The hall holds 90 people from 8 years and costs £35 an hour, or £180 for a whole day. [1]"
    assert talk(*messages, before=("How much is the hall?", hall))[-1].startswith(told)


@pytest.mark.parametrize(
    ("asked", "said", "message", "told"),
    [
        ("What is the fee?", "Hall: Per hour £35, Per day £180. [1]", "how much is that for 3 days?", "3 × £180"),
        ("Can I park?", "Parking costs £1.50 an hour. [1]", "how much is that for 3 days?", "I don’t know."),
        (
            "Is it free?",
            "From 15 years it is £3, or £2 with a card.",
            "what is that for 4 people?",
            "Which number do you mean: £3 or £2?",
        ),
        (
            "How much is the hall?",
            "Weekdays £35 an hour. Sundays £45 an hour. Tea £9.",
            "how much is that for 3 hours?",
            "Which number do you mean: £35 or £45?",
        ),
        (
            "What does it cost?",
            "Adult: Single £6.50. Child: Single £3.20.",
            "what is that for 4 people?",
            "Which number do you mean: £6.50 or £3.20?",
        ),
        ("What is the fine?", "Film: Fine per day 50p. [1]", "how much is that for 4 days?", "4 × £0.50 is £2."),
        ("What is the fine?", "The fine is 50p a day, or £2 a week.", "for 4 days?", "4 × £0.50 is £2."),
        ("What is the fine?", "The fine is 20p per day.", "how much is that a week?", "£0.20 × 7 is £1.40."),
        ("What is the fine?", "Film: Fine 50p. Book: Fine 20p.", "and for 2 books?", "2 × £0.20 is £0.40."),
        ("What does it cost?", "A kayak costs £12.", "and 3 kayaks?", "3 × £12 is £36."),
        ("What does it cost?", "A kayak costs £12.", "for 3 canoes?", "I don’t know."),
        ("What does it cost?", "Descaler, 4 sachets: Price €15.60.", "for 2 sachets?", "I don’t know."),
        ("What does a tour cost?", "Entry is £3. A tour costs £9.", "what is that for 4 people?", "4 × £9"),
        ("How much flour?", "Take 200 g of flour for 12 minutes.", "what is that for 3 people?", "3 × 200 g is 600 g."),
    ],
)
def test_only_what_is_an_amount_for_that_is_multiplied(asked: str, said: str, message: str, told: str) -> None:
    assert talk(message, before=(asked, said))[0].startswith(told)


def test_what_was_asked_for_tells_which_number_is_meant() -> None:
    before = ("What does a tour cost?", "A tour takes 75 minutes and costs 4 € in addition to the ticket. [1]")
    assert talk("what is that for 4 people?", before=before)[0].startswith("4 × €4 is €16.")
    before = ("What does a ticket cost?", "A ticket costs 5 pounds. [1]")
    assert talk("times 3", before=before)[0].startswith("£5 × 3 is £15.")
    assert talk("double it", before=("x", "The bag weighs 5 pounds."))[0].startswith("5 pounds × 2 is 10 lb.")


def test_what_a_period_costs_is_worked_out_for_another() -> None:
    rent = (
        "How much is the rent?",
        "The rent is 940 euros per month, due on the third of each month. [1] Heating is 110 euros per month. [1]",
    )
    assert talk("how much is that a year?", before=rent)[0].startswith("€940 × 12 is €11,280.")
    assert talk("and what would that be per week?", before=("x", "A pass costs 520 euros a year."))[0].startswith(
        "€520 / 52 is €10."
    )
    assert talk("how much is that a year?", before=("x", "The pool is 25 metres long.")) == ["I don’t know."]


def test_the_price_of_a_row_is_the_field_that_says_so() -> None:
    row = "item: Raku day; hours: 2.5; price_eur: 39; places: 10 [1]"
    before = ("How much is the raku day?", row)
    assert talk("how much is that for 3 people?", before=before)[0].startswith("3 × €39 is €117.")
    assert talk("for 4 people?", before=before)[0].startswith("4 × €39 is €156.")
    assert talk("for 4 people?", before=("When is the raku day?", row)) == ["I don’t know."]
    for row in ("item: Raku day; price: 39; places: 10 [1]", "Raku day: price 39, places 10. [1]"):
        before = ("How much is the raku day?", row)
        assert talk("how much is that for 3 people?", before=before)[0].startswith("3 × 39 is 117.")


def test_a_price_is_not_counted_for_others_than_it_is_for() -> None:
    unknown = ["I don’t know."]
    assert talk("for 5 children?", before=("How much is a ticket?", "An adult ticket costs 12 euros. [1]")) == unknown
    assert talk("for 3 nights?", before=("How much is the deposit?", "The deposit is 200 euros. [1]")) == unknown
    assert talk(f"for {'9' * 5000} people?", before=("How much is a ticket?", "It costs 12 euros. [1]")) == unknown
    said = "The rent is 940 euros. [1] Garages cost 40 euros a month. [1]"
    assert talk("how much is that a year?", before=("How much is the rent?", said)) == unknown


def test_a_difference_of_prices_is_no_price() -> None:
    before = ("Is there a discount?", "Tickets bought before May are £2 cheaper. [1]")
    assert talk("how much is that for 3 hours?", before=before) == ["I don’t know."]


def test_what_was_told_again_is_quoted_without_our_words() -> None:
    before = ("What is the rent?", "As I said: The rent is €940 per month. [1]")
    told = "€940 × 12 is €11,280. (from “The rent is €940 per month.”)"
    assert talk("how much is that a year?", before=before) == [told]


def test_no_number_is_taken_from_words_that_are_only_quoted() -> None:
    assert talk("times 3", before=("x", "The sign reads “Admission 8 euros”. [1]"))[0].startswith("€8 × 3 is €24.")
    before = ("and for 4 days?", "I don’t know: the documents do not answer “and for 4 days?”.")
    assert "no number" in talk("what is 15 % of that?", before=before)[0]


def test_of_several_numbers_the_user_chooses_one() -> None:
    before = ("Sizes?", "BERT base has 12 layers and 110 million parameters. [1]")
    assert talk("what is 15 % of that?", "110 million", "and times 2", before=before) == [
        "Which number do you mean: 12 or 110,000,000?",
        "15 % of 110,000,000 is 16,500,000.",
        "16,500,000 × 2 is 33,000,000.",
    ]


def test_money_is_written_with_two_decimal_places_or_none() -> None:
    before = ("What is it?", "The deposit is £13.40 or £12.21 a week. [1]")
    assert talk("times 3", before=before) == ["Which number do you mean: £13.40 or £12.21?"]
    assert talk("what is £13.40 times 3?") == ["£13.40 × 3 is £40.20."]
    assert talk("what is £13 times 3?") == ["£13 × 3 is £39."]
    assert talk("what is £0.125 times 8?") == ["£0.125 × 8 is £1."]
    assert talk("what is 13.4 times 3?") == ["13.4 × 3 is 40.2."]


def test_a_price_in_a_field_may_end_in_zeros() -> None:
    before = ("How much is the tent?", "item: Tent; sleeps: 4; price: 13.40; weight: 3.5 [1]")
    assert talk("times 2", before=before)[0].startswith("13.4 × 2 is 26.8.")
    before = ("How much is the tent?", "item: Tent; sleeps: 4; price: 13.00; weight: 3.5 [1]")
    assert talk("times 2", before=before)[0].startswith("13 × 2 is 26.")


def test_of_several_prices_the_one_for_a_period_is_converted() -> None:
    before = ("How much for seniors?", "Senior (60+): Monthly fee £22.50, Joining fee £10. [1]")
    told = "£22.50 × 12 is £270. (from “Senior: Monthly fee £22.50”)"
    assert talk("and how much is that a year?", before=before) == [told]


@pytest.mark.parametrize(
    ("question", "said", "told"),
    [
        (
            "What does judo cost?",
            "Fees – Adults: Per month £26, Joining fee £20. [1] Youth: Per month £18, Joining fee £15. [1]",
            "Which number do you mean: £26 or £18?",
        ),
        (
            "What does judo for youth cost?",
            "Fees – Adults: Per month £26, Joining fee £20. [1] Youth: Per month £18, Joining fee £15. [1]",
            "£18 × 12 is £216. (from “Youth: Per month £18”)",
        ),
        (
            "What does it cost?",
            "A desk is €90 a month. [1] A room is €300 a month. [2]",
            "Which number do you mean: €90 or €300?",
        ),
        (
            "What does a room cost?",
            "A room is €300 a month. [2] The deposit is €500. [2]",
            "€300 × 12 is €3,600. (from “A room is €300 a month.”)",
        ),
        ("What does it cost?", "A desk is €9 a week. [1] A room is €300 a month. [2]", "I don’t know."),
    ],
)
def test_of_the_rates_of_several_rows_the_one_asked_about_is_converted_or_none(
    question: str, said: str, told: str
) -> None:
    assert talk("how much is that a year?", before=(question, said)) == [told]


LOST = ("How much is a lost ticket?", "A lost ticket is charged at £20. [1]")


@pytest.mark.parametrize(
    ("before", "told"),
    [
        (("What does it cost?", "Entry is £5. [1] A guide is £3. [1]"), "£5 + £3 is £8."),
        (("What does it cost?", "Prices – Entry: Price £5. [1] Guide: Price £5. [1]"), "£5 + £5 is £10."),
        ((*LOST, "and a lost card?", "A lost card is replaced for £3. [2]"), "£20 + £3 is £23."),
        (
            (*LOST, "and a card?", "A card is £3. [2]", "what about a key?", "As I said: A key is £15. [3]"),
            "£20 + £3 + £15 is £38.",
        ),
        ((*LOST, "and a card?", "A card is £3.", "which is dearer?", "A ticket: £20."), "£20 + £3 is £23."),
        (LOST, "I don’t know."),
        (("What is that?", "It is 90 m long.", "How much is a key?", "A key is £3."), "I don’t know."),
        ((*LOST, "how much is a key?", "A key is £3."), "I don’t know."),  # another question
        ((*LOST, "and a key?", "I don’t know: the documents do not answer “and a key?”."), "I don’t know."),
        (("What does it cost?", "Entry is £5 or £4. [1] A guide is £3. [1]"), "I don’t know."),
        (("What does it cost?", "Entry is £5. [1] A guide is from £3. [1]"), "I don’t know."),
        (("What does it cost?", "Entry is £5. [1] It holds 90 people. [1]"), "I don’t know."),
        (("What does it cost?", "Entry is £5. [1] The tour is €3. [1]"), "I don’t know."),
        (("What does it cost?", "A room is £35 an hour. [1] A piano is £9. [1]"), "I don’t know."),
        (("What does it cost?", "Adult: Single £5, Season £90. [1] Child: Single £3, Season £50."), "I don’t know."),
    ],
)
@pytest.mark.parametrize("message", ["how much is that together?", "and in total?"])
def test_the_prices_told_are_added(before: tuple[str, ...], told: str, message: str) -> None:
    assert talk(message, before=before) == [told]


@pytest.mark.parametrize("message", ["how much are both together", "what’s the total?", "what do they come to?"])
def test_how_the_total_is_asked_for(message: str) -> None:
    assert talk(message, before=("x", "Entry is £5. A guide is £3.")) == ["£5 + £3 is £8."]


@pytest.mark.parametrize("message", ["how much is the hall in total?", "what is the total fee for kids?", "all of it?"])
def test_a_total_of_something_is_asked_of_the_documents(message: str) -> None:
    assert talk(message, before=("x", "Entry is £5. A guide is £3.")) == ["I don’t know."]


def test_the_rate_that_the_user_chooses_is_converted() -> None:
    before = ("What does it cost?", "Adults: Per month £26. [1] Youth (11 to 17): Per month £18. [1]")
    told = ["Which number do you mean: £26 or £18?", "£18 × 12 is £216."]
    assert talk("how much is that a year?", "£18", before=before) == told


def test_the_result_of_a_sum_in_an_answer_is_meant() -> None:
    before = ("What would 2 hours cost?", "Court hire per hour: Price £8. [1]\n\n2 × £8 is £16.")
    assert talk("what is 25 % of that?", before=before) == ["25 % of £16 is £4. (from “2 × £8 is £16.”)"]
    before = ("And for us?", "Adult: £14.50 [1] Child: £9.00 [1]\n\n2 × £14.50 + £9.00 is £38.00.")
    assert talk("half of that", before=before)[0].startswith("Half of £38 is £19.")


def test_the_only_number_of_the_first_sentence_is_meant() -> None:
    before = ("x", "There are 80 places. The office has 3 rooms and 2 doors.")
    assert talk("half of that", before=before) == ["Half of 80 is 40. (from “There are 80 places.”)"]


def test_without_a_number_it_says_so_or_leaves_the_message_alone() -> None:
    assert talk("double it") == [TEXTS["en"]["none"]]
    assert talk("what is 15 % of that?", before=("What is BERT?", "A model. [1]")) == [TEXTS["en"]["none"]]
    assert read("and times 3?", "What is BERT?", "A model. [1]") == ""
    assert read("in miles?", "What is BERT?", "It has 12 layers. [1]") == ""


def test_a_long_chain_of_sums_ends() -> None:
    before: list[str] = ["1 + 1", "2"]
    for _ in range(200):
        before += ["times 2", "a large number, 7"]
    assert read("times 2", *before)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Films cost 50p, or 80 pence in 720p.", ["£0.5", "£0.8", "720"]),
        ("It has 1,024 rows [3] and 2 columns.", ["1024", "2"]),
        ("Published in 2018.", ["2018"]),
        ("On 3 May 2018 there were 40 guests.", ["40"]),
        ("On 2018-05-03 at 12:30, version 3.2.1 of GPT-2.", []),
        ("Es sind 12,5 km.", ["12.5 km"]),
        ("Cheapest of the 5 found, by adults: Towel rental: Adults £2.00, Under 18 £2.00. [1]", ["£2"]),
        ("Cheapest of these 3, by price:\n\n- Pilates: Price £9 [1]", ["£9"]),
        ("All 4 found:\n\n- Pilates: Price £9 [1]\n- All 4 courts are open.", ["£9", "4"]),
    ],
)
def test_the_numbers_of_a_text(text: str, found: list[str]) -> None:
    assert [format_sum(tree) for tree, _ in numbers_in(text, read_language(text))] == found


def test_the_sentence_of_a_number_is_quoted_with_its_times() -> None:
    (number, stated), *others = numbers_in("Judo Teens: Day Wednesday, Time 17:30, Price a month £25. [1]")
    assert (format_sum(number), others) == ("£25", [])
    assert stated == "Judo Teens: Day Wednesday, Time 17:30, Price a month £25."


# --- invariants ---------------------------------------------------------------------------------------------------

_WHOLE = st.integers(0, 999).map(lambda value: Number(Fraction(value)))
_TREES: st.SearchStrategy[Node] = st.recursive(
    _WHOLE | st.fractions(0, 99, max_denominator=100).map(lambda value: Number(Fraction(round(value * 100), 100))),
    lambda inner: (
        st.tuples(st.sampled_from("+-*/"), inner, inner).map(lambda made: Operation(made[0], made[1:]))
        | inner.map(lambda made: Operation("neg", (made,)))
    ),
    max_leaves=8,
)


def by_fractions(tree: Node) -> Fraction:
    if isinstance(tree, Number):
        return tree.value
    assert isinstance(tree, Operation)
    first, *others = map(by_fractions, tree.parts)
    match tree.name:
        case "neg":
            return -first
        case "+":
            return first + others[0]
        case "-":
            return first - others[0]
        case "*":
            return first * others[0]
    return first / others[0]


@given(_TREES)
def test_it_agrees_with_fractions_also_when_written_and_read_again(tree: Node) -> None:
    try:
        expected = by_fractions(tree)
    except ZeroDivisionError:
        with pytest.raises(CannotCalculate):
            evaluate(tree)
        return
    assert evaluate(tree).amount == expected
    assert evaluate(parse_sum(format_sum(tree))).amount == expected


@given(st.fractions(), st.sampled_from(sorted(TEXTS)))
def test_a_number_is_shown_close_to_what_it_is(amount: Fraction, code: str) -> None:
    text = format_number(amount, code)
    if "×" in text:
        return
    plain = text.replace("\u202f", "")
    plain = plain.replace(",", "") if code in ("en", "zh", "ja") else plain.replace(".", "").replace(",", ".")
    assert abs(Fraction(plain) - amount) <= max(abs(amount) / 10**5, Fraction(1, 10**6))


@given(st.text(max_size=60) | st.text("0123456789.,+-*/^()!%√ $€kmgh°CFinof;that", max_size=60))
def test_it_never_raises(text: str) -> None:
    assert calculate(text).text
    given = read(text)
    assert not given or run(given).text


def test_every_language_says_all() -> None:
    assert {code: set(said) ^ set(TEXTS["en"]) for code, said in TEXTS.items() if set(said) != set(TEXTS["en"])} == {}
