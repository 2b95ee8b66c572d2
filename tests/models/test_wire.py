from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.models.wire import DONE, Complaint, Unreadable, pieces, read, words_of


def event(text: str | None, reason: str | None = None) -> bytes:
    return json.dumps({"choices": [{"delta": {"content": text}, "finish_reason": reason}]}, ensure_ascii=False).encode()


def gathered(chunks: Sequence[bytes]) -> list[tuple[str, str]]:
    async def come() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    async def read_all() -> list[tuple[str, str]]:
        return [piece async for piece in pieces(come())]

    return asyncio.run(read_all())


def cut(data: bytes, places: Sequence[int]) -> list[bytes]:
    ends = sorted({place % (len(data) + 1) for place in places} | {0, len(data)})
    return [data[a:b] for a, b in pairwise(ends)]


@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), max_size=6),
    st.lists(st.integers(0, 2000), max_size=8),
    st.sampled_from([b"\n", b"\r\n"]),
)
def test_the_text_is_the_same_however_the_network_cuts_it(texts: list[str], places: list[int], end: bytes) -> None:
    """Also where it holds the line separators of Unicode, which are no ends of lines here."""
    lines = [b"data: " + event(text) for text in texts] + [b": ping", b"event: x", b"data: [DONE]"]
    data = (end + end).join(lines) + end
    found = gathered(cut(data, places))
    assert "".join(text for text, _ in found) == "".join(texts)
    assert found[-1] == ("", DONE)


@given(st.binary(max_size=200))
def test_nothing_that_is_sent_breaks_the_reading(data: bytes) -> None:
    try:
        text, reason = read(data)
    except (Unreadable, Complaint):
        return
    assert isinstance(text, str)
    assert isinstance(reason, str)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["choices", "delta", "message", "content", "finish_reason", "error", "text", "type"]), inner
        )
    ),
    max_leaves=12,
)


@given(json_values)
def test_no_json_breaks_the_reading(value: object) -> None:
    try:
        text, reason = read(json.dumps(value).encode())
    except (Unreadable, Complaint):
        return
    assert isinstance(text, str)
    assert isinstance(reason, str)


def test_json_nested_too_deep_is_unreadable() -> None:
    with pytest.raises(Unreadable):
        read(b"[" * 200_000)


def test_an_answer_that_is_not_streamed_is_read_whole() -> None:
    body = json.dumps({"choices": [{"message": {"content": "Paris."}, "finish_reason": "stop"}]}, indent=1).encode()
    assert gathered([body[:9], body[9:]]) == [("Paris.", "stop")]


def test_content_in_parts_gives_its_text_and_no_thoughts() -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}, {"type": "text", "text": "Paris."}]
    assert read(json.dumps({"choices": [{"delta": {"content": parts}}]}).encode()) == ("Paris.", "")


def test_a_line_without_end_is_given_up() -> None:
    with pytest.raises(Unreadable):
        gathered([b"data: {" + b"x" * 1_000_000] * 8)


def test_a_web_page_is_called_one() -> None:
    with pytest.raises(Unreadable, match="a web page"):
        gathered([b"<!doctype html>\n<p>Log in</p>"])


def test_an_error_in_place_of_words_is_a_complaint() -> None:
    with pytest.raises(Complaint, match="Overloaded"):
        gathered([b'data: {"error": {"message": "Overloaded"}}\n\n'])


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ({"message": "Slow\n down"}, "Slow down"),
        ({"detail": [{"loc": ["body", "top_k"]}]}, "[{'loc': ['body', 'top_k']}]"),
        ("<html>", ""),
        (None, ""),
        ({"message": "x" * 999}, "x" * 300),
    ],
)
def test_the_words_of_an_error_fit_on_a_line(error: object, words: str) -> None:
    assert words_of(error) == words
