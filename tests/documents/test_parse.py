from __future__ import annotations

import codecs
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnwise.documents.parse import Parsed, parse, parse_bytes
from turnwise.errors import DocumentError, EncryptedDocument, UnreadableDocument, UnsupportedDocument

MARKDOWN = """\
---
title: "The handbook"
---
Intro with *emphasis*, __strength__, snake_case_name, `code` and a [link](https://example.org),
wrapped.

Setext heading
--------------

- one
- two
  - nested

### Deeper

```python
# not a heading

x = 1
```

| name | value |
|------|-------|
| pi   | 3.14  |

<h2 align="center">From HTML</h2>

> Quoted words.
"""

HTML = """<html><head><title>A page &amp; more</title><style>p {}</style></head><body>
<nav>menu</nav><h1>Top</h1>loose <b>bold</b>,<br>next
<p>First
   paragraph.</p>tail
<ul><li>one<ul><li>inner</li></ul></li><li>two</li></ul>
<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2 <i>x</i></td></tr></table>
<h2>Code</h2><pre>def f():
    return 1</pre>
<p>so&shy;ft &#1; end</p><script>var hidden</script><footer>imprint</footer></body></html>"""


def texts(parsed: Parsed) -> list[tuple[str, str]]:
    return [(block.heading, parsed.text[block.start : block.end]) for block in parsed.blocks]


def test_markdown_keeps_structure_and_drops_marks() -> None:
    parsed = parse_bytes("handbook.md", MARKDOWN.encode())
    assert parsed.title == "The handbook"
    assert texts(parsed) == [
        ("", "Intro with emphasis, strength, snake_case_name, code and a link, wrapped."),
        ("Setext heading", "- one"),
        ("Setext heading", "- two\n  - nested"),
        ("Setext heading > Deeper", "# not a heading\n\nx = 1"),
        ("Setext heading > Deeper", "name | value"),
        ("Setext heading > Deeper", "pi | 3.14"),
        ("From HTML", "Quoted words."),
    ]
    assert "- one\n- two" in parsed.text


def test_the_main_heading_is_the_title_and_not_repeated_in_paths() -> None:
    parsed = parse_bytes("x.md", b"---\ntitle: Other\n---\n# Real title\n\nText.\n\n## Part\n\nMore.")
    assert parsed.title == "Real title"
    assert texts(parsed) == [("", "Text."), ("Part", "More.")]


def test_a_rule_at_the_top_is_no_front_matter() -> None:
    parsed = parse_bytes("notes.md", b"---\n\nWords between rules.\n\n---\n\nMore.")
    assert parsed.title == "notes"
    assert [text for _, text in texts(parsed)] == ["Words between rules.", "More."]


def test_html_keeps_what_is_read_and_drops_the_rest() -> None:
    parsed = parse_bytes("page.html", HTML.encode())
    assert parsed.title == "A page & more"
    assert texts(parsed) == [
        ("Top", "loose bold,\nnext"),
        ("Top", "First paragraph."),
        ("Top", "tail"),
        ("Top", "- one"),
        ("Top", "- inner"),
        ("Top", "- two"),
        ("Top", "a | b"),
        ("Top", "1 | 2 x"),
        ("Top > Code", "def f():\n    return 1"),
        ("Top > Code", "soft  end"),
    ]


def test_a_definition_list_gives_its_terms_with_their_definitions() -> None:
    page = """<h1>Pool</h1><dl><div><dt>Adults</dt><dd><p>6 euros</p></dd></div><div><dt>Hours:</dt><dd>Mon 9–17<br>Tue
10–18</dd></div><dt>Towels</dt><dt>Caps</dt><dd>white</dd><dd>blue</dd><dt>Is it warm?</dt><dd>Yes. It is heated.</dd>
<dt>Rules</dt><dd><p>Shower first.</p><p>Walk.</p></dd><dt>Nothing</dt></dl><p>End.</p><dl><dd>Set in</dd></dl>"""
    parsed = parse_bytes("page.html", page.encode())
    assert parsed.text.split("\n\n") == [
        "Pool",
        "Adults: 6 euros\nHours: Mon 9–17, Tue 10–18\nTowels, Caps: white, blue",
        "Is it warm? Yes. It is heated.",
        "Rules",
        "Shower first.",
        "Walk.",
        "Nothing",
        "End.",
        "Set in",
    ]


@pytest.mark.parametrize(
    ("page", "told"),
    [
        (
            """<dl><dt>Enterprise plan</dt><dd><button>Ask us</button></dd>
            <dt>Basic plan</dt><dd>9 euros a month</dd></dl>""",
            "Enterprise plan: –\nBasic plan: 9 euros a month",
        ),
        ("<dl><div><dt>A</dt><dd hidden>1</dd></div><div><dt>B</dt><dd>2</dd></div></dl>", "A: –\nB: 2"),
        ("<dl><dt>A</dt><dd>1</dd><dt hidden>B</dt><dd>2</dd></dl>", "A: 1\n2"),
        (
            "<dl><dt>Is it?</dt><dd></dd><dt>C:</dt><dt>D:</dt><dd></dd><dt>E</dt><dd>5</dd></dl>",
            "Is it?\n- –\n\nC, D: –\nE: 5",
        ),
        ("<dl><dt>Is it warm?</dt><dd>Yes.</dd></dl>", "Is it warm?\n- Yes."),
        ("<dl><dt>Contents</dt></dl><dl><dt>Adults</dt><dd>14 euros</dd></dl>", "Contents\n\nAdults: 14 euros"),
        ("<dl><dt>Users</dt><dd><dl><dt>Basic</dt><dd>1</dd></dl></dd></dl>", "Users\n\nBasic: 1"),
        ("<dl><dt>Towels</dt> <!-- and --> <dt>Caps</dt> <dd>white</dd></dl>", "Towels, Caps: white"),
        (
            "<dl><dt>Pay</dt><dd><ul><li>by card</li></ul></dd><dt>Open</dt><dd>daily</dd></dl>",
            "Pay\n\n- by card\n\nOpen: daily",
        ),
        ("<dl><dt>How long is it?</dt><dd>30 days</dd></dl>", "How long is it?\n- 30 days"),
        ("<dl><dt><p>How long is it?</p></dt><dd><div>30 days</div></dd></dl>", "How long is it?\n- 30 days"),
        ("<dl><dt>Is it warm?</dt><dd><p>Yes</p><p>In May.</p></dd></dl>", "Is it warm?\n- Yes\n- In May."),
    ],
)
def test_a_term_takes_no_definition_of_another(page: str, told: str) -> None:
    assert parse_bytes("page.html", page.encode()).text == told


def test_html_nested_deep_is_read() -> None:
    assert parse_bytes("deep.html", b"<div>" * 3000 + b"<b>" * 300 + b"bottom").text == "bottom"


def test_pdf_paragraphs_are_whole_over_lines_and_pages(make_pdf) -> None:
    pages = [
        [
            "Journal of Tests",
            "The first paragraph of this document is about the re-",
            "trieval of passages, and it meets a well-",
            "known problem that everybody in the field has met before us.",
            "The end.",
            "A second paragraph that runs over the page break, because it is",
            "1",
        ],
        ["Journal of Tests", "long enough to be cut by it. It is well-known.", "2"],
        ["Journal of Tests", "A third page.", "3"],
    ]
    parsed = parse_bytes("paper.pdf", make_pdf(pages, "A Sensible Title"))
    assert parsed.title == "A Sensible Title"
    assert [(block.page, parsed.text[block.start : block.end]) for block in parsed.blocks] == [
        (
            1,
            "The first paragraph of this document is about the retrieval of passages, and it meets a well-known"
            " problem that everybody in the field has met before us. The end.",
        ),
        (
            1,
            "A second paragraph that runs over the page break, because it is long enough to be cut by it."
            " It is well-known.",
        ),
        (3, "A third page."),
    ]


@pytest.mark.parametrize("title", ["Microsoft Word - draft.doc", "paper.tex", "untitled", ""])
def test_a_pdf_title_that_is_none_gives_way_to_the_name(make_pdf, title: str) -> None:
    assert parse_bytes("report.pdf", make_pdf([["Some text."]], title)).title == "report"


def test_pdfs_that_cannot_be_read_say_why(make_pdf) -> None:
    with pytest.raises(EncryptedDocument, match="password"):
        parse_bytes("secret.pdf", make_pdf([["Hidden."]], encrypted=True))
    with pytest.raises(UnreadableDocument, match="not a readable PDF"):
        parse_bytes("broken.pdf", b"%PDF-1.4 and nothing after it")
    with pytest.raises(UnreadableDocument, match="looks scanned"):
        parse_bytes("scan.pdf", make_pdf([[], []]))


@pytest.mark.parametrize(
    "data",
    [
        "Grüße – “quoted”".encode(),
        codecs.BOM_UTF8 + "Grüße – “quoted”".encode(),
        "Grüße – “quoted”".encode("utf-16"),
        codecs.BOM_UTF16_BE + "Grüße – “quoted”".encode("utf-16-be"),
        codecs.BOM_UTF32_LE + "Grüße – “quoted”".encode("utf-32-le"),
        codecs.BOM_UTF32_BE + "Grüße – “quoted”".encode("utf-32-be"),
        "Grüße – “quoted”".encode("cp1252"),
    ],
)
def test_text_in_any_common_encoding(data: bytes) -> None:
    assert parse_bytes("a.txt", data).text == "Grüße – “quoted”"


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("<tr><td>Bob<td><td>4<tr><td>Ann<td>2021<td>&nbsp;", ["Bob |  | 4", "Ann | 2021 |"]),
        ("<tr><td><p>Bob</p><p>B.</p><td><p>a<br>b</p><td><div>4</div>", ["Bob B. | a b | 4"]),
        ("<tr><td rowspan=2>Bob<td>2020<td>4<tr><td>2021<td>5", ["Bob | 2020 | 4", "Bob | 2021 | 5"]),
        ("<tr><td>Bob<td rowspan=3>1<td>2<tr><td>Ann<td>3", ["Bob | 1 | 2", "Ann | 1 | 3"]),
        ("<tr><td colspan=2>Total<td>9<tr><td colspan=x>Rest<td>8<td>7", ["Total |  | 9", "Rest | 8 | 7"]),
        ("<tr><td><td><td><tr><td>Bob<td>1<td>2", ["Bob | 1 | 2"]),
    ],
)
def test_each_value_of_a_table_stays_in_its_column(rows: str, told: list[str]) -> None:
    page = f"<table><tr><th><p>Name</p><th>Year<th>Score{rows}</table>"
    parsed = parse_bytes("a.html", page.encode())
    assert [text for _, text in texts(parsed)] == ["Name | Year | Score", *told]
    assert {block.header for block in parsed.blocks[1:]} == {"Name | Year | Score"}


def test_two_columns_under_an_empty_header_are_names_and_values() -> None:
    page = "| | |\n|---|---|\n| Price: | 7 euros |\n| Guide | Ida Moe |\n| Rain plan | |\n"
    assert [text for _, text in texts(parse_bytes("a.md", page.encode()))] == [
        "Price: 7 euros",
        "Guide: Ida Moe",
        "Rain plan",
    ]
    page = "<table><tr><th>Price<td>7 euros<tr><th>Guide:<td>Ida Moe</table><table><tr><th>A<th>B<tr><th>1<td>2</table>"
    assert [text for _, text in texts(parse_bytes("a.html", page.encode()))] == [
        "Price: 7 euros",
        "Guide: Ida Moe",
        "A | B",
        "1 | 2",
    ]
    wide = "| | A | B |\n|---|---|---|\n| Price | 7 | 8 |\n"
    assert [text for _, text in texts(parse_bytes("a.md", wide.encode()))] == ["| A | B", "Price | 7 | 8"]


def test_a_table_that_lays_out_a_page_is_none() -> None:
    page = "<table><tr><td><ul><li>home<li>news</ul><td><h2>News</h2><p>It rains.</p><p>It snows.</p></table>"
    assert texts(parse_bytes("a.html", page.encode())) == [
        ("", "- home"),
        ("", "- news"),
        ("News", "It rains."),
        ("News", "It snows."),
    ]


@pytest.mark.parametrize(
    ("head", "words", "encoding"),
    [
        ("<meta charset=windows-1251>", "Москва — столица России.", "cp1251"),
        ("<META http-equiv='Content-Type' content='text/html; charset=koi8-r'>", "Москва столица.", "koi8-r"),
        ('<meta charset="Shift_JIS">', "東京は①日本の首都です。", "cp932"),
        ('<meta name="x"><meta charset="gb2312">', "北京是中国的首都，朱镕基。", "gbk"),
        ('<?xml version="1.0" encoding="ISO-8859-1"?>', "Käse – “gut”", "cp1252"),
        ('<meta charset="windows-1251">', "Größe – Москва", "utf-8"),  # as it was saved, not as it says
        ('<meta charset="hex">', "Käse", "cp1252"),
        ('<meta charset="no-such">', "Käse", "cp1252"),
    ],
)
def test_a_page_is_read_in_the_encoding_that_it_declares(head: str, words: str, encoding: str) -> None:
    page = f"{head}<p>{words}</p>".encode(encoding)
    assert parse_bytes("a.html", page).text == words


@pytest.mark.parametrize(
    ("words", "encoding"),
    [
        ("Москва столица России.", "koi8-r"),
        ("Москва — столица России.", "cp1251"),
        ("北京是中国的首都。这是一个测试文件。", "gbk"),
        ("Η Αθήνα είναι η πρωτεύουσα της Ελλάδας.", "iso8859-7"),
    ],
)
def test_text_of_an_encoding_that_cannot_be_told_is_refused_and_not_read_as_nonsense(words: str, encoding: str) -> None:
    with pytest.raises(UnreadableDocument, match="unknown encoding"):
        parse_bytes("a.txt", words.encode(encoding))


def test_a_broken_character_does_not_spoil_the_others() -> None:
    assert parse_bytes("a.txt", "Größe und Übergröße".encode() + b"\xe2\x80").text == "Größe und Übergröße\ufffd"


def test_text_is_cut_into_paragraphs() -> None:
    parsed = parse_bytes("a.txt", b"one\r\nstill one\r\n \r\n\r\ntwo")
    assert texts(parsed) == [("", "one\nstill one"), ("", "two")]


def test_a_short_line_above_sentences_is_a_heading_of_a_plain_text() -> None:
    written = (
        "TENANCY AGREEMENT\nThis agreement is made between the landlord and the tenant.\n"
        "1. RENT\nThe rent is 940 euros per month.\nIt is paid in advance, by bank transfer.\n"
        "2. Keys, locks and doors\nThe tenant receives two keys. A lost one costs 65 euros.\n\n"
        "Visits\n\nGuests may stay for up to four weeks in a year.\n\nKind regards\n\nRosalind Pike"
    )
    parsed = parse_bytes("a.txt", written.encode())
    assert parsed.title == "TENANCY AGREEMENT"
    assert texts(parsed) == [
        ("", "This agreement is made between the landlord and the tenant."),
        ("1. RENT", "The rent is 940 euros per month.\nIt is paid in advance, by bank transfer."),
        ("2. Keys, locks and doors", "The tenant receives two keys. A lost one costs 65 euros."),
        ("Visits", "Guests may stay for up to four weeks in a year."),
        ("Visits", "Kind regards"),
        ("Visits", "Rosalind Pike"),
    ]


def test_an_underlined_line_at_the_top_is_the_heading() -> None:
    parsed = parse_bytes("a.rst", b"Guide\n=====\n\nSetup\n-----\n\nInstall it.\n")
    assert parsed.title == "Guide"
    assert texts(parsed) == [("Setup", "Install it.")]


@pytest.mark.parametrize(
    "text",
    [
        "It was a dark night and the wind was\nBlowing over the hills. The dog barked\nand nobody came.",
        "John Smith\n12 High Street\nLondon",
        "Shopping list\nmilk\nbread",
        "ERROR the disk is full\nWARNING nothing more can be written to it\nINFO all other things go on as before",
        "Milton Hall\nTelephone 01234 567890\nThe office is open from nine to five on weekdays. It is closed in May.",
        "Nora Whitfield\nRoom in the north wing\nThe hall can be hired on weekdays by members of the club. Ask her.",
        "Dear all\nThe boiler is repaired on Monday, so that there is no hot water until noon.",
        "Hours: nine to five\nThe office is closed on the first Monday of each month.",
    ],
)
def test_lines_that_are_no_headings_stay_in_their_paragraph(text: str) -> None:
    assert texts(parse_bytes("a.txt", text.encode())) == [("", text)]


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.txt", b"", "is empty"),
        ("a.md", b" \n\t", "is empty"),
        ("a.txt", b"text\0text", "is not text"),
        ("a.md", bytes(range(1, 32)) * 20, "is not text"),
        ("a.html", b"<script>only()</script>", "no text"),
        ("a.md", b"# Only a heading", "no text"),
    ],
)
def test_documents_without_text_say_so(name: str, data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableDocument, match=reason):
        parse_bytes(name, data)


def test_other_kinds_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedDocument, match=r"film\.mp4") as caught:
        parse(tmp_path / "film.mp4")
    assert "PDF" in caught.value.hint
    with pytest.raises(UnreadableDocument, match="No such file"):
        parse(tmp_path / "absent.txt")


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(["a.md", "a.txt", "a.html", "a.pdf"]), st.binary(max_size=300) | st.text(max_size=300))
def test_any_bytes_are_read_or_refused(name: str, content: bytes | str) -> None:
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    try:
        parsed = parse_bytes(name, data)
    except DocumentError:
        return
    assert all(unicodedata.category(c) not in ("Cc", "Cs") or c in "\n\t" for c in parsed.title + parsed.text)
    for block in parsed.blocks:
        assert parsed.text[block.start : block.end].strip() == parsed.text[block.start : block.end] != ""
