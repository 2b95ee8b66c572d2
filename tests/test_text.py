"""Words, phrases and sentences."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from patience import within

from turnwise.text import (
    content_stems,
    content_words,
    is_content,
    is_specific,
    message_stems,
    one_line,
    phrases,
    points,
    sentences,
    stem,
    storable,
    subject,
    without_citations,
    words,
    words_like,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("Dr. Smith met Mr. Lee. They spoke.", ["Dr. Smith met Mr. Lee.", "They spoke."]),
        ("It is fast, e.g. BERT. Yes.", ["It is fast, e.g. BERT.", "Yes."]),
        ("See Fig. 3. Then stop.", ["See Fig. 3.", "Then stop."]),
        ("Read Ch. 3 and Vol. 2. Then stop.", ["Read Ch. 3 and Vol. 2.", "Then stop."]),
        ("A. B. Smith wrote it. End.", ["A. B. Smith wrote it.", "End."]),
        ("Take B or C. They fit.", ["Take B or C.", "They fit."]),
        ("It has sectors A and B. Lead climbers wait.", ["It has sectors A and B.", "Lead climbers wait."]),
        ("Ask J. and K. Miller. End.", ["Ask J. and K. Miller.", "End."]),
        ("A. The tenant pays. B. It is due.", ["A. The tenant pays.", "B. It is due."]),
        ("It costs 3.5 euros. Good.", ["It costs 3.5 euros.", "Good."]),
        ("“Quoted.” Next one.", ["“Quoted.”", "Next one."]),
        ("Wait… Now.", ["Wait…", "Now."]),
        ("A line\ngoes on. Then another.", ["A line\ngoes on.", "Then another."]),
        ("A paragraph\n\nAnother", ["A paragraph", "Another"]),
        ("Das ist alt. Ärger kommt. École.", ["Das ist alt.", "Ärger kommt.", "École."]),
        (
            "Es beginnt am 24. Juli. Es dauert bis 3. August 2026.",
            ["Es beginnt am 24. Juli.", "Es dauert bis 3. August 2026."],
        ),
        ("Nimm z. B. Salz oder ca. 5 g, Nr. 7. Gut.", ["Nimm z. B. Salz oder ca. 5 g, Nr. 7.", "Gut."]),
        ("It opened in 2024. August was hot.", ["It opened in 2024.", "August was hot."]),
        ("Fire to 600 °C. Then wait.", ["Fire to 600 °C.", "Then wait."]),
        ("窑炉很热。它要冷却！好吗？好", ["窑炉很热。", "它要冷却！", "好吗？", "好"]),
        ("窑炉很热。 [1] 它要冷却。[2]", ["窑炉很热。 [1]", "它要冷却。[2]"]),
        ("", []),
        (" \n ", []),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One [1]. Two. [2] Three [3].", ["One [1].", "Two. [2]", "Three [3]."]),
        ("One. [1][2] Two. [3]", ["One. [1][2]", "Two. [3]"]),
        ("One. [1] [2] Two.", ["One. [1] [2]", "Two."]),
        ("One.[1] Two.[2]", ["One.[1]", "Two.[2]"]),
        ("One. [1]\n\nTwo. [2]", ["One. [1]", "Two. [2]"]),
    ],
)
def test_a_citation_stays_with_its_sentence(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- one\n- two\n* three", ["- one", "- two", "* three"]),
        ("Steps:\n1. First.\n2. Second.", ["Steps:", "1. First.", "2. Second."]),
        ("1) First.\n2) Second.", ["1) First.", "2) Second."]),
        ("- One. [1]\n- Two. [2]", ["- One. [1]", "- Two. [2]"]),
        ("4. Fire to 600 °C. [1]\n5. Wait.", ["4. Fire to 600 °C. [1]", "5. Wait."]),
        ("1. Take vitamin C. [1]\n2. Wait.", ["1. Take vitamin C. [1]", "2. Wait."]),
    ],
)
def test_an_item_of_a_list_is_a_sentence_with_its_number(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@settings(max_examples=100, deadline=None)
@given(st.text(st.sampled_from("aB.!? \n[]1\"'-"), max_size=60))
def test_sentences_lose_no_letter(text: str) -> None:
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("multi-task learning and causal inference", ["multi-task learning", "causal inference"]),
        ("Tell me about edicenter", ["edicenter"]),
        ("What is the learning rate?", ["learning rate"]),
        ("BERT's limits", ["BERT", "limits"]),
        ("Is there a good example?", []),
        ("What is new in GPT-3, please?", ["GPT-3"]),
        ("What is few-shot learning?", ["few-shot learning"]),
        ("", []),
    ],
)
def test_phrases_are_what_a_text_is_about(text: str, expected: list[str]) -> None:
    assert phrases(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What is multi-task learning?", "multi-task learning"),
        ("Tell me about edicenter", "edicenter"),
        ("What are its limits?", ""),
        ("Why?", ""),
    ],
)
def test_the_subject_of_a_question(text: str, expected: str) -> None:
    assert subject(text) == expected


def test_content_words_leave_out_what_says_nothing_and_keep_names_like_it_and_us() -> None:
    assert content_words("What is the US law on IT, and is it new?") == ["US", "law", "IT", "new"]
    assert content_words("BERT's and BERT’s don't") == ["BERT", "BERT"]
    assert content_stems("Running runners run") == {stem("run"), stem("runner")}
    assert is_content("7")
    assert not is_content("x")
    assert is_specific("festival")
    assert not is_specific("example")


def test_words_keep_their_apostrophes_and_scripts() -> None:
    assert words("Don't stop, naïve_user: 你好 2e-5") == ["Don't", "stop", "naïve", "user", "你好", "2e", "5"]


def test_a_number_with_marks_in_it_is_one_word() -> None:
    said = "In 4.2, at 11:00 or 11:45, 2,914 rows weigh 1.5kg: 3. End"
    found = ["In", "4.2", "at", "11:00", "or", "11:45", "2,914", "rows", "weigh", "1", "5kg", "3", "End"]
    assert words(said) == found
    assert phrases("What is new in version 4.2.1, and in 4.1?") == ["version 4.2.1", "4.1"]
    assert not content_stems("Version 4.3") & content_stems("Version 4.1 of 3 February 2025") - {"version"}


def test_a_full_hour_is_the_same_with_its_minutes_and_without() -> None:
    assert content_stems("open at 11") == content_stems("open at 11:00") != content_stems("open at 11:30")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Explain R squared", ["R squared"]),
        ("Is vitamin C deficiency rare?", ["vitamin C deficiency rare"]),
        ("How do I do it in R?", []),
        ("What did J. Alvarez report?", ["Alvarez report"]),
        ("A dog and I", ["dog"]),
    ],
)
def test_a_single_letter_stays_with_its_noun(text: str, expected: list[str]) -> None:
    assert phrases(text) == expected


def test_citations_go_with_the_space_before_them() -> None:
    assert without_citations("One [1], two [2][3]. Three. [12]") == "One, two. Three."
    assert without_citations("Keep [a] and [12345] and [1]x") == "Keep [a] and [12345] andx"


def test_one_line_cuts_at_a_word() -> None:
    assert one_line("a\n b\t c") == "a b c"
    assert one_line("alpha beta gamma", 12) == "alpha beta…"
    assert len(one_line("x" * 500, 80)) <= 81


@pytest.mark.parametrize(
    ("key", "text", "found"),
    [
        ("run", "she runs, but the runner reran; to run", ["runs", "runner", "run"]),
        ("die", "dying stars die", ["dying", "die"]),
        ("energi", "energy and synergy", ["energy"]),
        ("cri", "a cry, crying", ["cry", "crying"]),
        ("model", "the model’s remodelled models", ["model’s", "models"]),
    ],
)
def test_words_that_may_have_a_stem(key: str, text: str, found: list[str]) -> None:
    assert [word for word in words_like(key, text) if stem(word) == key or word in found] == found


@given(st.text(alphabet="abdeginrstyz’' -1_é.:0", max_size=60))
@example("b'ab'ad")
@example("d’1éé'bz")
def test_no_word_of_a_stem_is_overlooked(text: str) -> None:
    for word in words(text):
        assert word in words_like(stem(word), text)


@given(st.text(max_size=60))
def test_stems_are_remembered_as_they_are(text: str) -> None:
    assert message_stems(text) == content_stems(text) == message_stems(text)
    assert message_stems(text * 200) == content_stems(text * 200)


HOSTILE = {
    "brackets": "[" * 64_000,
    "dots": "a.a." * 16_000,
    "parentheses": "(" * 64_000,
    "what": "what " * 13_000,
    "capitals": "A" * 64_000,
    "initials": "A. " * 21_000,
    "spaces": " " * 64_000 + "x",
    "newlines": "\n" * 64_000 + "x",
    "lines": "\n " * 32_000 + "x",
    "citations": ". [1] " * 10_000,
    "quotes": "." + "'" * 64_000,
    "items": "\n1" * 32_000,
    "digits": "\n" + "1" * 64_000,
}
TOOLS: list[Callable[[str], object]] = [sentences, phrases, subject, content_stems, without_citations, one_line]


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.__name__)
def test_no_text_takes_long(tool: Callable[[str], object], text: str) -> None:
    with within(5):
        tool(text)


@pytest.mark.parametrize(
    ("cited", "plain"),
    [
        ("Edifest is free [1], and open [2] [3] .", "Edifest is free, and open."),
        ("Run `sudo ./install` [1]. Hide it in .env [2].", "Run `sudo ./install`. Hide it in .env."),
        ("A leading ! negates [4] .gitignore lines.", "A leading ! negates .gitignore lines."),
    ],
)
def test_only_the_space_of_a_citation_goes_with_it(cited: str, plain: str) -> None:
    assert without_citations(cited) == plain


def test_how_something_is_to_be_told_is_no_part_of_what_it_is_about() -> None:
    assert [subject(text) for text in ("explain dropout simpler", "what is a kernel, briefly")] == ["dropout", "kernel"]


def test_a_point_ends_with_its_citation_also_where_the_next_begins_small() -> None:
    answer = "Fares – adult: 5 euros. [4] child: 2 euros. [4] [5] Dogs are free. [6]"
    assert points(answer) == ["Fares – adult: 5 euros. [4]", "child: 2 euros. [4] [5]", "Dogs are free. [6]"]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (
            "| area | total |\n| --- | --- |\n| North | 400.50 |\n| South | 9 |\n\n[1]",
            ["North: 400.50 [1]", "South: 9 [1]"],
        ),
        ("| a | b | c |\n|---|---|---|\n| x | 1 | 2 |\n\n[1]", ["x: b 1, c 2 [1]"]),
        (
            "| a | b |\n|---|---|\n| x | 1 |\n| y | 2 |\n\nThese are the first 2 of 9 rows.\n\n[3]",
            ["x: 1 [3]", "y: 2 [3]", "These are the first 2 of 9 rows. [3]"],
        ),
        ("| Point | Source |\n|---|---|\n| A is b. | [1] |", ["A is b. [1]"]),
        ("Hello there.\n\nIt is so.\n\n[1]", ["Hello there.", "It is so. [1]"]),
        ("[1]", ["[1]"]),
    ],
)
def test_the_rows_of_a_table_are_points_with_the_citation_that_follows_it(table: str, expected: list[str]) -> None:
    assert points(table) == expected


def test_a_short_form_before_a_number_ends_no_sentence() -> None:
    assert sentences("Ask Ida Moe (room 2, ext. 610). Or ring tel. 31 at noon.") == [
        "Ask Ida Moe (room 2, ext. 610).",
        "Or ring tel. 31 at noon.",
    ]


def test_a_german_ordinal_ends_no_sentence() -> None:
    said = [
        "Der Antrag gilt bis 30. Juni des Jahres.",
        "Am 2. Tag der 3. Woche ist frei.",
        "Für die 3. und 4. Klasse auch.",
        "Es sind 12.",
        "Dann ist Schluss.",
    ]
    assert sentences(" ".join(said)) == said
    assert sentences("I am 31. She is 30.") == ["I am 31.", "She is 30."]


def test_what_cannot_be_stored_is_marked() -> None:
    assert storable("a\x00b\ud83dc") == "a\ufffdb\ufffdc"
    assert storable("plain 🙂") == "plain 🙂"
