"""Which messages are sums, and which only hold numbers."""

from __future__ import annotations

import contextlib
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.sums.grammar import MAX_SUM_CHARS, NoSum, parse_sum, to_number
from turnwise.sums.read import read_sum

SUMS = """
    what is 15% of 80? | 2+2 | 2 + 2 = | how much is 12 times 7? | calculate 3 * (4 + 5) | What is 100 divided by 8? |
    what's the square root of 144? | 7 × 6 | what is half of 90? | 10 percent of 250 | 2^10 | 80 plus 15 % |
    what percent of 80 is 12? | 12 is what percent of 80 | increase from 80 to 92 | percentage change from 80 to 92 |
    convert 3 miles to km | 5 kg + 300 g | 72 °F in C | 90 km/h in m/s | 5! | factorial of 5 | $80 plus 15 % | €20 * 3 |
    1,500 * 2 | 3² | 2½ * 4 | how many cm in an inch? | how many minutes are in 3 hours | 5 ft 3 in to cm | 3 in to cm |
    average of 3, 4 and 5 | the sum of 3 and 4 | calculate 10/4 | -5 + 3 | 2**10 | 110 million / 2 | 12 000 + 5 |
    sqrt(16) + 2 | 20 square meters in square feet | 100 KM in miles | increase 80 by 15 % | 60 mph in km/h |
    3/4 of 100 | convert 3 smoots to km | $80/3 | please calculate 2 + 2 | so what is 2 * 3? |
    1/0 | what is 1/0? | 2+2=5? | is 2 + 2 = 5? | 10 % 3 | 10%3
"""
LEANING = """
    how much is that times 3? | what is it plus 10? | what is 15% of that? | double it | and times 3? | add 20 to that |
    and divided by 4? | in miles? | and in km? | what is that in miles? | halve that | subtract 5 from it |
    half of that | and 20 % of that? | times 3 | plus 10 | what is that for 4 people? | so how much is that for two?
"""
OTHERS = """
    what is that for 2024? |
    What happened in 1990 - 1995? | BERT reads 512 tokens; why? | section 3.2 | what is 5G? | 1990 - 1995 | 1990-1995 |
    2024-01-02 | 12/05/2024 | 24/7 | what is 24/7? | what is 9/11? | +49 30 1234567 | 555-1234 | version 3.11.2 |
    what is 3.2? | 42 | what is 42? | 4x4 | 1024x768 | 192.168.1.1 | how much is it in dollars? | 5 km | what is 5 km? |
    convert 3 documents to pdf | how many hours do students work? | What is C4.5? | top 5 | in 2018 | in BERT? | in C |
    to what extent? | what is GPT-3? | 3 of 4 | what is it? | How many parameters in BERT? | 9 to 5 | from 9 to 5 |
    how many days are in the course? | plus one | what is 15 %? | why 2 + 2? | times are hard | in short | as a list |
    3 tımes 4 | 5 mıllion | 1 in 10 | en español | add it to that | over | 5 - 10 minutes | 12 / 05 / 2024 |
    why is 2 + 2 = 4? | x = 5 | what is n = 5? | 9/01 | is BERT = 5?
"""
IN_OTHER_LANGUAGES = {
    "de": "wie viel ist 1,5 + 2,5? | was ist 15 % von 80? | wie viel Prozent von 80 sind 12? | 3 mal 4 | 15 % davon",
    "fr": "combien font 3,5 fois 2 ? | 15 % de 80 | quel pourcentage de 80 est 12 ? | 10 divisé par 4",
    "es": "¿cuánto es 3 por 4? | ¿cuánto es el 15 % de 80? | calcula 10 dividido entre 4",
    "pt": "quanto é 3 vezes 4? | 15% de 80",
    "zh": "3加4等于多少？ | 计算 12 × 7 | 80的15%是多少 | １２＋３ | 12是80的百分之几",
    "ja": "12 × 7 は？ | 80の15%は？ | 3足す4は？ | 計算して 3*4",
}


def each(texts: str) -> list[str]:
    return [text.strip() for text in texts.split("|")]


@pytest.mark.parametrize("message", each(SUMS))
def test_a_sum_is_read(message: str) -> None:
    found = read_sum(message)
    assert found is not None
    assert not found.refers_back


@pytest.mark.parametrize("message", each(LEANING))
def test_a_sum_of_the_last_answer_is_read(message: str) -> None:
    found = read_sum(message)
    assert found is not None
    assert found.refers_back


@pytest.mark.parametrize("message", each(OTHERS))
def test_what_only_holds_numbers_is_no_sum(message: str) -> None:
    assert read_sum(message) is None


@pytest.mark.parametrize(
    ("code", "message"), [(code, text) for code, texts in IN_OTHER_LANGUAGES.items() for text in each(texts)]
)
def test_sums_are_read_in_other_languages(code: str, message: str) -> None:
    assert read_sum(message, code) is not None


@pytest.mark.parametrize(
    ("written", "code", "value"),
    [
        ("1,500", "en", 1500),
        ("1,500", "de", Fraction(3, 2)),
        ("1.500", "de", 1500),
        ("1.500", "en", Fraction(3, 2)),
        ("1,5", "en", Fraction(3, 2)),
        ("3.14", "de", Fraction(314, 100)),
        ("1.234,5", "de", Fraction(12345, 10)),
        ("1,234.5", "fr", Fraction(12345, 10)),
        ("1,234,567", "en", 1234567),
        ("12 000", "fr", 12000),
        ("1'000", "en", 1000),
        ("0.500", "en", Fraction(1, 2)),
        (".5", "en", Fraction(1, 2)),
        ("1e6", "en", 10**6),
        ("3.11.2", "en", None),
        ("1,2,3", "en", None),
        ("007", "en", None),
        ("1e99999", "en", None),
        ("9" * 61, "en", None),
    ],
)
def test_numbers_are_read_as_their_language_writes_them(written: str, code: str, value: Fraction | None) -> None:
    assert to_number(written, code) == value


@given(st.text(max_size=MAX_SUM_CHARS + 50) | st.text("0123456789.,+-*/^()!%√ ofthatinkm$", max_size=80))
def test_reading_never_raises(message: str) -> None:
    read_sum(message)
    with contextlib.suppress(NoSum):
        parse_sum(message)


@given(st.integers(0, 10**15), st.sampled_from(["en", "zh", "ja"]))
def test_thousands_are_the_same_number(whole: int, code: str) -> None:
    assert to_number(f"{whole:,}", code) == to_number(str(whole), code) == whole
