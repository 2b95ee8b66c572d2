"""Formulas and program code in answers: what comes of them, and that nothing else can come out."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnwise.server import highlighting, maths
from turnwise.server.markdown import render

TAGS = maths.TAGS | set(
    "a blockquote br button code em h1 h2 h3 h4 h5 h6 hr li ol p pre span strong table tbody td th thead tr ul".split()
)
ATTRIBUTES = maths.ATTRIBUTES | {"aria-label", "class", "data-number", "href", "rel", "start", "target", "type"}
CLASSES = {"align-center", "align-left", "align-right", "cite", "hug", "tex", *highlighting.CLASSES}
EMPTY = {"br", "hr"}


class Reader(HTMLParser):
    """Reads what was rendered, and objects to anything that is not ours."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS, tag
        for name, value in attrs:
            assert name in ATTRIBUTES, (tag, name)
            assert name != "class" or value in CLASSES
            assert name != "href" or re.match(r"https?://|mailto:", value or "", re.I)
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in EMPTY:
            return
        assert self.open, tag
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(decl)

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(data)

    def handle_pi(self, data: str) -> None:
        raise AssertionError(data)


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(render(text, {1, 2}))
    reader.close()
    assert reader.open == []
    return reader


PIECES = [
    "$",
    "$$",
    "\\(",
    "\\)",
    "\\[",
    "\\]",
    "{",
    "}",
    "^",
    "_",
    "&",
    "\\\\",
    "\\frac",
    "\\text{<b>}",
    "\\href{javascript:x}{y}",
    "\\style{color:red}{x}",
    "\\class{c}{x}",
    "\\unicode{x3c}",
    "\\begin{matrix}",
    "\\end{matrix}",
    "\\left(",
    "\\right)",
    "\\color{red}",
    "\\sqrt[3]{x}",
    "\\mathbb{R}",
    "\\verb|<i>|",
    "\\rule{9999em}{1em}",
    "&#x3c;script&#x3e;",
    "&lt;img&gt;",
    "<script>",
    "<!--",
    "]]>",
    "<?",
    '"',
    "'",
    "```python\n",
    "```html\n",
    "```\n",
    "`",
    "\n",
    "\n\n",
    "- ",
    "> ",
    "| a | b |\n|:-|-:|\n",
    "[1]",
    "[x](https://a.example)",
    "[x](javascript:a)",
    "*",
    "**",
    "# ",
    "1. ",
    "x",
    "5",
    " ",
    "<https://b.example>",
    "\\newcommand{\\x}{\\x}",
]


@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_only_what_is_ours_comes_out_and_it_is_well_formed(text: str) -> None:
    read(text)


@given(st.text())
def test_of_any_text_at_all(text: str) -> None:
    read(text)


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=12).map("".join), st.booleans())
def test_a_formula_is_a_math_element_or_its_source(source: str, display: bool) -> None:
    out = maths.mathml(source, display)
    assert out.startswith(
        "<math "
    ) or out == f'<code class="tex">{html.escape(source.strip(), quote=True)}</code>'.replace("&#x27;", "'")


@pytest.mark.parametrize("written", ["$x^2$", r"\(x^2\)"])
def test_formulas_in_a_line(written: str) -> None:
    assert render(f"so {written} holds") == (
        '<p>so <math display="inline"><mrow><msup><mi>x</mi><mn>2</mn></msup></mrow></math> holds</p>\n'
    )


@pytest.mark.parametrize(
    "written",
    ["$$\n-a\n$$", "$$-a$$", "\\[ -a \\]", "see:\n\\[\n- a\n\\]", "see $$-a$$ there", "\\[-a\\] there"],
)
def test_formulas_on_lines_of_their_own(written: str) -> None:
    shown = render(written)
    assert '<math display="block"><mrow><mo>−</mo><mi>a</mi></mrow></math>' in shown
    assert "<li>" not in shown


@pytest.mark.parametrize(
    "text",
    [
        "It costs $5 and $10.",
        "Between $5-$10, or 3$ less.",
        "US$5 or A$6, or 7$",
        "It was $5 (about 4$ less).",
        "A lone $ sign, and another $ sign",
        r"Escaped: \$x\$",
    ],
)
def test_money_is_not_maths(text: str) -> None:
    assert "<math" not in render(text)
    assert read(text).text.strip() == text.replace("\\", "")


@pytest.mark.parametrize(
    "formula",
    [
        r"\newcommand{\a}{\a\a}\a",
        r"\def\a{b}\a",
        r"\require{html}",
        r"\frac{a}{",
        "{" * 60 + "}" * 60,
        r"\left(" * 60 + r"\right)" * 60,
        "x" * 2001,
    ],
)
def test_a_formula_that_cannot_be_read_is_shown_as_it_was_written(formula: str) -> None:
    assert render(f"${formula}$") == f'<p><code class="tex">{html.escape(formula)}</code></p>\n'


def test_what_a_formula_smuggles_is_text() -> None:
    shown = render(r"$\text{<img src=x onerror=alert(1)>} \unicode{x3c} \href{javascript:alert(1)}{x} \style{x:y}{z}$")
    assert "<img" not in shown
    assert "href" not in shown
    assert "style" not in shown
    assert "&lt;img\xa0src=x" in shown


def test_a_space_wider_than_the_page_is_left_out() -> None:
    assert 'width="2em"' in render(r"$a\hspace{2em}b$")
    assert "9999" not in render(r"$a\hspace{9999em}b$")


def test_citations_stand_beside_formulas_and_not_in_them() -> None:
    shown = render("$a[1]$ holds [1]", {1})
    assert shown.count("<button") == 1
    assert '<mo stretchy="false">[</mo><mn>1</mn>' in shown


def test_code_has_classes_and_no_styles() -> None:
    assert render('```python\ndef f(x):  # why\n    return "<b>", 5\n```') == (
        '<pre><code><span class="tok-keyword">def</span> <span class="tok-name">f</span>(x):  '
        '<span class="tok-comment"># why</span>\n    <span class="tok-keyword">return</span> '
        '<span class="tok-string">&quot;&lt;b&gt;&quot;</span>, <span class="tok-number">5</span>\n</code></pre>\n'
    )


@pytest.mark.parametrize("language", ["", "klingon", 'x" onload="y', "<script>", "PYTHON"])
def test_code_of_any_language_is_shown(language: str) -> None:
    assert read(f"```{language}\nx = '<b>'\n```").text == "x = '<b>'\n\n"


@pytest.mark.parametrize("name", sorted(set(highlighting.LANGUAGES.values())))
@settings(max_examples=20)
@given(code=st.text(max_size=200))
def test_colours_change_no_character(name: str, code: str) -> None:
    shown = highlighting.highlighted(code, name)
    assert shown is not None
    assert html.unescape(re.sub(r"</?span[^>]*>", "", shown)) == html.unescape(html.escape(code))


def test_a_column_is_aligned_by_a_class() -> None:
    shown = render("| a | b |\n|--:|:-:|\n| 1 | 2 |")
    assert '<th class="align-right">a</th>' in shown
    assert '<td class="align-center">2</td>' in shown


def test_an_answer_has_so_much_colour_and_so_many_formulas_and_the_rest_is_plain() -> None:
    shown = render("```python\nreturn\n```\n" * 3000)
    assert 0 < shown.count("tok-keyword") < 3000
    assert shown.count("<pre>") == 3000
    shown = render("$abcdefghij$ " * 3000)
    assert 0 < shown.count("<math") < 3000
    assert shown.count("<math") + shown.count("<code>abcdefghij</code>") == 3000


@pytest.mark.parametrize(
    "text",
    [
        "$" * 50_000,
        "$a " * 30_000,
        "\\(" * 30_000,
        "\\[\n" * 5_000,
        "$$ a\n" * 10_000,
        "$$ a\n\n" * 10_000,
        "$" + "{" * 50_000 + "$",
        "$" + "\\sqrt" * 390 + "$",
        "$" + "a^" * 900 + "$",
        "$" + "\\frac" * 390 + "$",
        "$" + "\\begin{matrix}" * 40 + "$",
        "> " * 20_000,
        "```java\n" + "a " * 5_000 + "\n```",
        "```c\n" + "/" * 10_000 + "\n```",
    ],
)
def test_what_is_made_to_harm_comes_to_an_end(text: str) -> None:
    read(text)
