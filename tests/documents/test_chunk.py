from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnwise.documents.blocks import Builder, Parsed
from turnwise.documents.chunk import MAX_PASSAGE_CHARS, chunk
from turnwise.documents.parse import parse_bytes

SENTENCE = "The quick brown fox jumps over the lazy dog and runs away. "


def built(*pieces: tuple[int, str] | str) -> Parsed:
    """A document of headings (level, text) and blocks."""
    builder = Builder()
    for piece in pieces:
        if isinstance(piece, str):
            builder.block(piece)
        else:
            builder.heading(*piece)
    return builder.build("Title")


texts = st.text(st.sampled_from("aB .\n\t1é界-"), max_size=60)
lengthy = st.builds(lambda text, times: text * times, texts, st.sampled_from([1, 40, 200]))
documents = st.lists(lengthy | st.tuples(st.integers(1, 6), texts), max_size=15)


@settings(max_examples=200, deadline=None)
@given(documents)
def test_chunks_are_exact_spans_that_hold_every_word(pieces: list[tuple[int, str] | str]) -> None:
    parsed = built(*pieces)
    chunks = chunk(parsed)
    position = 0
    for piece in chunks:
        assert parsed.text[piece.start : piece.end] == piece.text
        assert piece.text.strip()
        assert len(piece.text) <= MAX_PASSAGE_CHARS
        assert piece.start >= position
        position = piece.end
    for block in parsed.blocks:
        outside = set(range(block.start, block.end)) - {at for c in chunks for at in range(c.start, c.end)}
        assert not "".join(parsed.text[at] for at in outside).strip()


def test_paragraphs_of_a_section_are_packed_evenly() -> None:
    parsed = built((2, "Part"), *[SENTENCE * 5] * 8)
    chunks = chunk(parsed)
    assert {piece.heading for piece in chunks} == {"Part"}
    assert 2 <= len(chunks) <= 3
    assert min(len(piece.text) for piece in chunks) > MAX_PASSAGE_CHARS / 3


def test_headings_of_the_top_levels_are_never_crossed() -> None:
    chunks = chunk(built("Before.", (1, "A"), "One.", (2, "B"), "Two.", (2, "B"), "Three."))
    assert [(piece.heading, piece.text) for piece in chunks] == [
        ("", "Before."),
        ("A", "One."),
        ("A > B", "Two."),
        ("A > B", "Three."),
    ]


def test_small_sections_of_one_parent_share_a_passage_that_shows_their_headings() -> None:
    chunks = chunk(built((2, "Part"), (3, "First"), "One.", (3, "Second"), "Two.", (2, "Next"), "Three."))
    assert [(piece.heading, piece.text) for piece in chunks] == [
        ("Part", "First\n\nOne.\n\nSecond\n\nTwo."),
        ("Next", "Three."),
    ]


def test_a_long_section_does_not_take_in_its_neighbour() -> None:
    chunks = chunk(built((2, "Part"), (3, "Long"), SENTENCE * 30, (3, "Short"), "Two."))
    assert {piece.heading for piece in chunks[:-1]} == {"Part > Long"}
    assert (chunks[-1].heading, chunks[-1].text) == ("Part > Short", "Two.")


def test_a_long_paragraph_is_cut_between_sentences() -> None:
    chunks = chunk(built(SENTENCE * 60))
    assert len(chunks) > 2
    assert all(piece.text.startswith("The quick") and piece.text.endswith("away.") for piece in chunks)


@pytest.mark.parametrize("text", ["x" * 10_000, "word " * 2000, "line of code\n" * 900])
def test_unbroken_text_is_cut_anyway(text: str) -> None:
    chunks = chunk(parse_bytes("a.txt", text.encode()))
    assert all(len(piece.text) <= MAX_PASSAGE_CHARS for piece in chunks)
    assert "".join("".join(piece.text for piece in chunks).split()) == "".join(text.split())


def test_passages_keep_to_their_page(make_pdf) -> None:
    chunks = chunk(parse_bytes("a.pdf", make_pdf([["Page one ends here."], ["Page two ends here."]])))
    assert [(piece.page, piece.text) for piece in chunks] == [(1, "Page one ends here."), (2, "Page two ends here.")]
