"""Personal data of a fixed form is found, and numbers that only look like it are left alone."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from patience import within
from stdnum import luhn

from turnwise.guard.pii import PII_KINDS, checked_kinds, find_pii

FOUND = {
    "email address": [
        "Write to jane.doe+news@mail.example.co.uk today.",
        "mailto:jo@example.org",
        "J <o'brien@example.com>, hello",
        "Mail jürgen@müller.de.",
        "jo\u200bhn@example.com",
        "ｊｏ@example.com",
    ],
    "phone number": [
        "Ring +49 (0)30 1234567 now.",
        "(415) 555-2671 is ours",
        "415-555-2671",
        "Call 555 1234 after six.",
        "Tel.: 01 43 12 34 56",
        "020 7946 0958 is the desk",
        "my number is 4155552671",
        "+1 415 555 2671 x12",
        "555 1234 Fax",
        "in 12 (415) 555-2671 20",
    ],
    "card number": [
        "4111 1111 1111 1111",
        "it was 4111111111111111.",
        "5555-5555-5555-4444",
        "3782 822463 10005",
        "in 2020 4111 1111 1111 1111 41",
    ],
    "IBAN": ["DE89 3704 0044 0532 0130 00 is ours", "to GB29NWBK60161331926819.", "gb29nwbk60161331926819"],
    "IP address": ["from 81.2.69.142, twice", "2a00:1450:4001:081b:0000:0000:0000:200e", "2a00:1450:4001:81b::200e"],
    "social security number": ["536-90-4399", "his SSN is 536 90 4399", "social security no 536904399"],
    "national insurance number": ["AB 12 34 56 C", "AB123456C"],
    "wallet address": ["1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"],
}


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in FOUND.items() for text in texts])
def test_it_is_found(kind: str, text: str) -> None:
    assert [span.kind for span in find_pii(text)] == [kind]


@pytest.mark.parametrize(
    "text",
    [
        "It was on 2024-05-31 and 31.05.2024, or 05/31/2024.",
        "From 2010-2015, 1998 – 2004, pp. 1234-1267.",
        "ISBN 978-3-16-148410-0 and ISBN 9783161484100, ISSN 0378-5955.",
        "Order no. 4111111111111111, order 12345678, invoice: 555-123-4567",
        "version 1.2.3.4, v10.20.30.40, Chrome/96.0.46.110, release 8.6.1.9",
        "10.1000/182 and doi:10.1145/3290605.3300233",
        "$1,234,567.89 or 1 234 567 people, 12345678 of them",
        "arXiv 1706.03762, PMID 12345678, CAS registry number 8007-24-7",
        "192.168.0.1, 127.0.0.1, 0.0.0.0, 255.255.255.0, 10.0.0.0/8",
        "std::vector, a::b, 12:30:45, ab:cd",
        "id=4155552671&x=1, var_4155552671, 0x4155552671",
        "react@18.2.0, git@github.com:me/it.git, @user, user@localhost",
        "4111 1111 1111 1112",  # wrong check digit
        "GB29 NWBK 6016 1331 9268 18",
        "000-12-3456 and 666-12-3456",
        "call 2017-06-25 the day, or 250-300 a class",
        "550e8400-e29b-41d4-a716-446655440000",
        "1, 2, 3, 4, 5, 6, 7, 8 and 10 20 30 40 50 60",
        "postgres://user:pass@db.example.com/app",
    ],
)
def test_what_only_looks_like_it_is_left_alone(text: str) -> None:
    assert find_pii(text) == []


def test_a_span_holds_the_whole_and_nothing_else() -> None:
    text = "Mail jo@example.com, pay DE89 3704 0044 0532 0130 00 and call (415) 555-2671."
    assert [text[span.start : span.end] for span in find_pii(text)] == [
        "jo@example.com",
        "DE89 3704 0044 0532 0130 00",
        "(415) 555-2671",
    ]


def test_what_is_not_asked_for_is_not_looked_for() -> None:
    assert find_pii("jo@example.com 4111111111111111", kinds={"card number"})[0].kind == "card number"
    assert len(find_pii("jo@example.com 4111111111111111", kinds={"card number"})) == 1


def test_a_kind_that_there_is_not_is_named_with_the_nearest() -> None:
    with pytest.raises(ValueError, match="did you mean 'phone number'"):
        checked_kinds(["phone numbers"], PII_KINDS)


@settings(max_examples=100, deadline=None)
@given(st.text("0123456789", min_size=14, max_size=14), st.sampled_from(["", " ", "-"]))
def test_any_card_with_its_check_digit_is_found_and_with_another_is_not(digits: str, between: str) -> None:
    number = "4" + digits
    whole = number + luhn.calc_check_digit(number)
    wrong = number + str((int(whole[-1]) + 1) % 10)
    shown, bad = (between.join(each[at : at + 4] for at in range(0, 16, 4)) for each in (whole, wrong))
    assert "card number" in [span.kind for span in find_pii(f"paid with {shown} today")]
    assert "card number" not in [span.kind for span in find_pii(f"paid with {bad} today")]


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("0123456789 +-().@abcDE:/x\u200b\n"), max_size=80))
def test_spans_are_in_order_and_inside_the_text(text: str) -> None:
    spans = find_pii(text)
    assert all(0 <= span.start < span.end <= len(text) for span in spans)
    assert all(one.end <= other.start for one, other in pairwise(spans))


@pytest.mark.parametrize(
    "piece", ["1", "1 ", "1-", "(1", "a@", "a.", ":1", "1.", "+", "DE89 ", "4111 ", "@a.", "x1", "::", "1a:"]
)
def test_hostile_texts_do_not_stall(piece: str) -> None:
    with within(3):
        find_pii(piece * (50_000 // len(piece)))
