"""Sources by document, and as citation styles write them."""

from __future__ import annotations

import builtins
import dataclasses
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnwise.citations import Citation, bibliography, by_document, find_style
from turnwise.errors import ConfigError
from turnwise.types import Reference, Source

pytest.importorskip("citeproc", reason="citation styles are an extra: pip install 'turnwise[styles]'")

ARTICLE = {
    "type": "article-journal",
    "issued": "2020-05",
    "container-title": "Journal of Birds",
    "volume": "12",
    "issue": "3",
    "page": "10–20",
    "DOI": "10.1000/xyz",
}
HERON = Source(
    1,
    1,
    "The heron of Fünen",
    "heron.pdf",
    "",
    3,
    "Herons eat fish.",
    "Herons eat fish.",
    Reference("s", ("Smith, John", "van der Berg, Anna", "Bird Group"), 2020, "https://doi.org/10.1000/xyz", ARTICLE),
)
CHAPTER = dataclasses.replace(
    HERON,
    number=2,
    title="On storks",
    source="storks.pdf",
    reference=Reference(
        "n",
        ("Ng, Wei",),
        2019,
        "",
        {"type": "chapter", "container-title": "Birds", "editor": "Olsen, Kari", "publisher": "Press", "page": "1–2"},
    ),
)
NOTES = dataclasses.replace(HERON, number=3, title="Notes on herons", source="/home/me/notes.md", reference=None)


def written(style: str, *sources: Source) -> list[str]:
    return [cited.text for cited in bibliography(sources, style)]


def test_the_citations_of_one_document_stand_together_in_the_order_of_their_numbers() -> None:
    again = dataclasses.replace(HERON, number=4, page=9)
    assert by_document([NOTES, again, HERON]) == [(HERON, again), (NOTES,)]
    assert bibliography([NOTES, again, HERON], "ieee") == [
        Citation(
            (1, 4),
            "J. Smith, A. van der Berg, and Bird Group, “The heron of Fünen”, Journal of Birds, vol. 12, no. 3, "
            "pp. 10–20, May 2020, doi: 10.1000/xyz.",
        ),
        Citation((3,), "“Notes on herons”. notes.md"),
    ]


@pytest.mark.parametrize(
    ("style", "heron", "chapter", "notes"),
    [
        (
            "apa",
            "Smith, J., van der Berg, A., & Bird Group. (2020). The heron of Fünen. Journal of Birds, 12(3), 10–20. "
            "https://doi.org/10.1000/xyz",
            "Ng, W. (2019). On storks. In K. Olsen (ed.), Birds (pp. 1–2). Press.",
            "Notes on herons. (n.d.). notes.md",
        ),
        (
            "chicago-author-date",
            "Smith, John, Anna van der Berg, and Bird Group. 2020. “The Heron of Fünen”. Journal of Birds 12 (3): "
            "10–20. https://doi.org/10.1000/xyz.",
            "Ng, Wei. 2019. “On Storks”. In Birds, edited by Kari Olsen. Press.",
            "“Notes on Herons”. n.d. notes.md",
        ),
        (
            "nature",
            "Smith, J., van der Berg, A. & Bird Group. The heron of Fünen. Journal of Birds 12, 10–20 (2020).",
            "Ng, W. On storks. in Birds (ed. Olsen, K.) 1–2 (Press, 2019).",
            "Notes on herons. notes.md",
        ),
    ],
)
def test_styles(style: str, heron: str, chapter: str, notes: str) -> None:
    assert written(style, HERON, CHAPTER, NOTES) == [heron, chapter, notes]


def test_styles_go_by_the_names_that_people_use_and_stand_for_others() -> None:
    assert find_style("MLA") == find_style("modern-language-association")
    assert find_style("nature-digest") == find_style("nature")


def test_a_style_can_be_a_file_but_not_for_strangers(tmp_path: Path) -> None:
    path = tmp_path / "mine.csl"
    path.write_bytes(find_style("apa").read_bytes())
    assert written(str(path), HERON) == written("apa", HERON)
    for named in (str(path), "../apa", "../../pyvenv"):
        with pytest.raises(ConfigError, match="There is no citation style"):
            find_style(named, files=False)
    path.write_text("no style")
    with pytest.raises(ConfigError, match="cannot be read as a citation style"):
        written(str(path), HERON)
    with pytest.raises(ConfigError, match="without a bibliography"):
        find_style("chicago-notes")
    with pytest.raises(ConfigError, match="There is no citation style at"):
        written(str(tmp_path / "none.csl"), HERON)


def test_an_unknown_style_names_the_nearest() -> None:
    with pytest.raises(ConfigError) as raised:
        find_style("chicgo-author-date")
    assert "Did you mean chicago-author-date" in raised.value.hint


def test_a_missing_extra_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def absent(name: str, *rest: Any) -> Any:
        if name.startswith("citeproc"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(ConfigError) as raised:
        find_style("apa")
    assert raised.value.hint == 'pip install "turnwise[styles]"'


def test_a_reference_of_an_older_library_is_written_with_what_it_has() -> None:
    old = dataclasses.replace(HERON, reference=Reference("s", ("Smith, John",), 2020, "https://example.org/a"))
    assert written("apa", old) == ["Smith, J. (2020). The heron of Fünen. https://example.org/a"]


def test_a_document_that_no_bibliography_describes_has_its_own_date() -> None:
    assert written("apa", dataclasses.replace(NOTES, date="2021-03-04")) == ["Notes on herons. (2021). notes.md"]


def test_what_a_style_cannot_write_is_given_in_plain_words() -> None:
    """This style asks for what the library cannot do with a chapter."""
    assert written("acta-polytechnica", CHAPTER) == ["Ng, Wei (2019). On storks."]


values = st.text(st.sampled_from("aZ1-–<&;, .é\0\x1b[\n"), max_size=8)


@settings(max_examples=40, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["type", "issued", "page", "volume", "editor", "DOI", "URL", "key", "id", "x"]), values
    ),
    st.lists(values, max_size=3),
    values,
)
def test_what_a_bibliography_says_comes_out_as_plain_text(csl: dict[str, str], authors: list[str], title: str) -> None:
    source = dataclasses.replace(HERON, title=title, reference=Reference("k", tuple(authors), None, "", csl))
    for style in ("apa", "ieee"):
        (text,) = written(style, source)
        assert text.isprintable()
