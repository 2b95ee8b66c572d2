from __future__ import annotations

import pytest

from turnwise.server.markdown import render


def test_citations_of_known_sources_become_buttons() -> None:
    html = render("BERT hides words [1], GPT does not [2][9].", {1, 2})
    assert html.count('<button type="button" class="cite"') == 2
    assert 'data-number="1" aria-label="Source 1">1</button></span>, GPT' in html
    assert "[9]" in html


def test_a_mark_hugs_its_word() -> None:
    assert 'BERT hides <span class="hug">words<button' in render("BERT hides words [1].", {1})
    assert '<span class="hug">&lt;b&gt;<button' in render("a <b> [1].", {1})


@pytest.mark.parametrize("text", ["`a[1]`", "```\na[1]\n```", "[see [1] there](https://example.org)"])
def test_code_and_links_keep_their_brackets(text: str) -> None:
    assert "button" not in render(text, {1})


def test_definitions_cannot_take_over_a_citation() -> None:
    html = render("Words [1].\n\n[1]: https://evil.example", {1})
    assert 'data-number="1"' in html
    assert "href" not in html


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "![x](https://evil.example/?secret)",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](data:text/html;base64,AAAA)",
        "[x](vbscript:x)",
        "[x](//evil.example)",
        "<javascript:alert(1)>",
        "[x](https://a.example \"onmouseover='alert(1)'\")",
    ],
)
def test_nothing_that_runs_or_loads_gets_through(text: str) -> None:
    html = render(text)
    assert "<script" not in html
    assert "<img" not in html
    assert 'href="javascript' not in html.lower()
    assert 'href="data' not in html
    assert 'href="//' not in html


def test_links_open_elsewhere_and_tell_nothing() -> None:
    html = render("[x](https://example.org)")
    assert 'href="https://example.org"' in html
    assert 'rel="noopener noreferrer nofollow"' in html
    assert 'target="_blank"' in html


def test_tables_and_lists_are_rendered() -> None:
    assert "<table>" in render("| a | b |\n|---|---|\n| 1 | 2 |")
    assert "<li>" in render("- one\n- two")
