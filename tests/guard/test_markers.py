"""Normalizing the citation styles of different models."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from patience import within

from turnwise.guard.markers import Markers
from turnwise.guard.output import OutputGuard

CITABLE = {1, 2, 3, 12}


def normal(*pieces: str) -> str:
    markers = Markers(CITABLE)
    return "".join([*(markers.feed(piece) for piece in pieces), markers.close()])


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("So [1].", "So [1]."),
        ("So [1][2].", "So [1][2]."),
        ("So [1, 2].", "So [1][2]."),
        ("So [1,2; 12].", "So [1][2][12]."),
        ("So [1, 2, and 3].", "So [1][2][3]."),
        ("So [1 and 2].", "So [1][2]."),
        ("So [1-3], [2–3].", "So [1][2][3], [2][3]."),
        ("So 【1】 and 【12†notes.md】.", "So [1] and [12]."),
        ("So ［1］.", "So [1]."),
        ("So 【1】.", "So [1]."),
        ("So [1, p. 3], [2, pp. 3–4], [1, p.3] and [3, page 12].", "So [1], [2], [1] and [3]."),
        ("So [1 p. 3] and [Source 2: pages 3-4] and 【1, p. 3】.", "So [1] and [2] and [1]."),
        ("So [1, 2, p. 3].", "So [1][2]."),
        ("Not [9, p. 3] and not [1, pears].", "Not [9, p. 3] and not [1, pears]."),
        ("So [^1].", "So [1]."),
        ("So [[1]] and [[1, 2]].", "So [1] and [1][2]."),
        ("So [Source 1] and [sources 1, 2] and [#3].", "So [1] and [1][2] and [3]."),
        ("So ([1, 2]).", "So ([1][2])."),
        (
            "[1, 9] names one that there is, which the next rail takes out",
            "[1][9] names one that there is, which the next rail takes out",
        ),
        (
            "x = [1, 2]; f([1, 2]); a[1, 2]; `[1, 2]`; [[1, 2], 3]",
            "x = [1, 2]; f([1, 2]); a[1, 2]; `[1, 2]`; [[1, 2], 3]",
        ),
        ("[1, 2](https://example.org) and [a link](https://example.org)",) * 2,
        ("Of [7, 8] and [2019-2021] and [1-3000] nothing is known.",) * 2,
        ("Unfinished [1, 2",) * 2,
    ],
)
def test_citations_come_out_in_one_form_and_all_else_stays(written: str, plain: str) -> None:
    assert normal(written) == plain
    assert normal(*written) == plain


pieces = st.sampled_from(
    [
        *"[]【】［］^#,;&-–() \n=`12a9",
        "[1, 2]",
        "[[1]]",
        "【1†a】",
        "[Source ",
        " and ",
        "](",
        "word ",
        "x" * 30,
        "[^1]",
        "= ",
    ]
)


@given(st.lists(pieces, max_size=14))
@example(["[[", "1]", "]", "]"])
@example(["[" + "x" * 41, "[1, 2", "]"])
@example(["=", " [1, 2]"])
def test_the_result_does_not_depend_on_where_the_stream_was_cut(pieces: list[str]) -> None:
    whole = normal("".join(pieces))
    assert normal(*pieces) == whole
    assert normal(*"".join(pieces)) == whole


@given(st.lists(pieces, max_size=14))
def test_before_the_output_rail_too(pieces: list[str]) -> None:
    def shown(*pieces: str) -> str:
        markers, guard = Markers(CITABLE), OutputGuard(CITABLE)
        return "".join(
            [*(guard.feed(markers.feed(each)) for each in pieces), guard.feed(markers.close()), guard.close()]
        )

    assert shown(*pieces) == shown("".join(pieces))


@pytest.mark.parametrize("text", ["[" * 64_000, "[1, " * 16_000, "【1" * 32_000, "[1]" * 21_000, "[" + "1, " * 21_000])
@pytest.mark.parametrize("whole", [True, False], ids=["whole", "in pieces"])
def test_long_texts_of_brackets_do_not_stall(text: str, whole: bool) -> None:
    with within(5):
        normal(*([text] if whole else [text[at : at + 20] for at in range(0, len(text), 20)]))
