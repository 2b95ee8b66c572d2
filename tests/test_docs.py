"""The pages of docs/ are found, their pictures are there, and what the README claims was measured."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))
PICTURES = sorted((ROOT / "docs" / "screenshots").glob("*.png"))
LARGEST = 250_000  # bytes of a picture

UNITS = ("ms", "µs", "s", "seconds", "%", "kB", "MB", "GB", "times", "turns a second", "passages a second")
METRICS = ("nDCG@5", "MRR@10", "R@5", "F1", "AUC", "accuracy", "precision", "recall")
NUMBER = r"(?<![\w.,@])\d[\d,]*(?:\.\d+)?|(?<![\w.,@])\.\d+"
FIGURES = [
    rf"(?P<number>{NUMBER}) ?(?P<unit>{'|'.join(map(re.escape, UNITS))})(?![\w@])",
    rf"(?P<unit>{'|'.join(map(re.escape, METRICS))})\b(?: of|:|,)? (?P<number>{NUMBER})",
]
# Bounds that the code sets, and the size of a download: nobody measured them.
GIVEN = {("93", "MB"), ("5", "seconds"), ("1", "GB"), ("256", "MB")}


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def figures(text: str) -> set[tuple[str, str]]:
    """The numbers of a text that have a unit or a metric beside them. Code and what people say is left out."""
    prose = re.sub(r"^```.*?^```$|`[^`\n]*`|“[^”]*”", "", text, flags=re.M | re.S)
    return {(found["number"], found["unit"]) for form in FIGURES for found in re.finditer(form, prose)}


def is_measured(number: str, unit: str, benchmarks: str) -> bool:
    """Whether a section has the very number, and the unit somewhere: in a table it stands in the head."""
    same = re.compile(rf"(?<![\d.,]){re.escape(number)}(?![\d]|[.,]\d)")
    named = re.compile(rf"(?<!\w){re.escape(unit)}(?!\w)")
    return any(same.search(part) and named.search(part) for part in re.split(r"^## ", benchmarks, flags=re.M))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It takes 2.84 ms at the median.", {("2.84", "ms")}),
        ("It has 1,196 MB, 1.27 times as much.", {("1,196", "MB"), ("1.27", "times")}),
        ("later turns: nDCG@5 .344, and F1 of .95", {(".344", "nDCG@5"), (".95", "F1")}),
        ("“what is 15 % of that?”, `limit = 5 s`, at most 6 passages, [4]", set()),
    ],
)
def test_a_figure_is_a_number_with_a_unit_or_a_metric(text: str, found: set[tuple[str, str]]) -> None:
    assert figures(text) == found


def test_a_figure_is_measured_only_by_its_whole_number_and_its_unit() -> None:
    benchmarks = "# Benchmarks\n\n## A turn\n\n| stage | p50 ms |\n|---|---|\n| plan | 12.5 |\n\n## Other\n\n40 MB"
    assert is_measured("12.5", "ms", benchmarks)
    assert not any(is_measured(number, "ms", benchmarks) for number in ("12", "2.5", "12.50", "40"))


def test_what_the_readme_claims_was_measured() -> None:
    benchmarks, claimed = text_of(ROOT / "docs" / "BENCHMARKS.md"), figures(text_of(ROOT / "README.md"))
    assert {each for each in claimed - GIVEN if not is_measured(*each, benchmarks)} == set()
    assert claimed >= GIVEN, "what the README says no more needs no exception"


def links(page: Path) -> set[Path]:
    return {(page.parent / target).resolve() for target in re.findall(r"\]\(([^)#\s]+)", text_of(page))}


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, fresh = set[Path](), {ROOT / "README.md"}
    while fresh:
        reached |= fresh
        fresh = {each for page in fresh for each in links(page) if each.suffix == ".md" and each.exists()} - reached
    assert [page.name for page in PAGES if page not in reached] == []


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_every_picture_is_shown_and_small(picture: Path) -> None:
    assert picture in links(ROOT / "docs" / "SCREENSHOTS.md")
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size < LARGEST


def test_the_pictures_are_those_that_the_script_takes() -> None:
    taken = re.findall(r'"([\w-]+\.png)"', text_of(ROOT / "docs" / "screenshots.py"))
    assert sorted(taken) == [picture.name for picture in PICTURES]
