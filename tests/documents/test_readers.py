"""Each kind of document, made with the programs' own libraries where there are some."""

from __future__ import annotations

import datetime
import io
import json
import zipfile
from collections.abc import Callable, Mapping

import docx
import docx.enum.style
import pptx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnwise.documents.blocks import Builder, Parsed, as_title, iso_date
from turnwise.documents.chunk import MAX_PASSAGE_CHARS, chunk
from turnwise.documents.parse import parse_bytes
from turnwise.errors import DocumentError, EncryptedDocument, UnreadableDocument


def texts(parsed: Parsed) -> list[tuple[str, str]]:
    return [(block.heading, parsed.text[block.start : block.end]) for block in parsed.blocks]


def saved(document: object) -> bytes:
    out = io.BytesIO()
    document.save(out)  # type: ignore[attr-defined]
    return out.getvalue()


def zipped(files: Mapping[str, str | bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


# --- Word ------------------------------------------------------------------------------------------------------------


def test_word_keeps_headings_lists_and_tables_in_their_order() -> None:
    document = docx.Document()
    document.add_heading("Bird report", 0)
    document.add_heading("Methods", 1)
    document.add_paragraph("We counted at dawn.")
    document.add_paragraph("Binoculars", style="List Bullet")
    document.add_paragraph("Notebook", style="List Number")
    table = document.add_table(rows=2, cols=3)
    for row, values in enumerate((("Bird", "Count", "Place"), ("Heron", "12", ""))):
        for column, value in enumerate(values):
            table.cell(row, column).text = value
    table.cell(1, 1).merge(table.cell(1, 2))
    document.add_heading("Data", 2)
    document.add_paragraph("After the table.")
    document.core_properties.modified = datetime.datetime(2021, 5, 4)
    parsed = parse_bytes("report.docx", saved(document))
    assert (parsed.title, parsed.date) == ("Bird report", "2021-05-04")
    assert texts(parsed) == [
        ("Methods", "We counted at dawn."),
        ("Methods", "- Binoculars"),
        ("Methods", "- Notebook"),
        ("Methods", "Bird | Count | Place"),
        ("Methods", "Heron | 12"),
        ("Methods > Data", "After the table."),
    ]


WORD_XML = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def word_of(*blocks: str) -> bytes:
    """A Word file of blocks as Word writes them."""
    document = docx.Document()
    body = document.element.body
    for place, block in enumerate(blocks):
        root, rest = block.split(">", 1)
        body.insert(place, docx.oxml.parse_xml(f"{root} {WORD_XML}>{rest}"))
    return saved(document)


def odt_of(blocks: str) -> bytes:
    """An OpenDocument text of blocks as its programs write them."""
    names = ("office", "text", "table")
    spaces = " ".join(f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in names)
    return zipped({"content.xml": f"<office:text {spaces}>{blocks}</office:text>"})


def written(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def test_word_keeps_what_stands_in_content_controls_but_not_the_contents_it_makes() -> None:
    gallery = '<w:sdtPr><w:docPartObj><w:docPartGallery w:val="Table of Contents"/></w:docPartObj></w:sdtPr>'
    contents = f"<w:sdt>{gallery}<w:sdtContent>{written('Methods 3')}</w:sdtContent></w:sdt>"
    block = f"<w:sdt><w:sdtPr/><w:sdtContent>{contents}{written('A whole paragraph.')}</w:sdtContent></w:sdt>"
    name = "<w:sdt><w:sdtContent><w:r><w:t>Ann</w:t></w:r></w:sdtContent></w:sdt>"
    inline = f"<w:p><w:r><w:t>Signed by </w:t></w:r>{name}</w:p>"
    cell = f"<w:sdt><w:sdtContent><w:tc>{written('12')}</w:tc></w:sdtContent></w:sdt>"
    row = (
        f"<w:tbl><w:sdt><w:sdtContent><w:tr><w:tc>{written('Heron')}</w:tc>{cell}</w:tr></w:sdtContent></w:sdt></w:tbl>"
    )
    parsed = parse_bytes("form.docx", word_of(block, inline, row))
    assert texts(parsed) == [("", "A whole paragraph."), ("", "Signed by Ann"), ("", "Heron | 12")]


def test_word_reads_as_it_would_with_the_changes_accepted() -> None:
    changed = (
        "<w:p><w:r><w:t>Two </w:t></w:r><w:ins><w:r><w:t>grey </w:t></w:r></w:ins>"
        "<w:del><w:r><w:delText>white </w:delText></w:r></w:del><w:moveFrom><w:r><w:t>big </w:t></w:r></w:moveFrom>"
        "<w:r><w:t>herons.</w:t></w:r></w:p>"
    )
    assert texts(parse_bytes("draft.docx", word_of(changed))) == [("", "Two grey herons.")]


def test_word_keeps_text_boxes_tables_in_tables_and_notes() -> None:
    choices = "http://schemas.openxmlformats.org/markup-compatibility/2006"
    box = f"<w:txbxContent>{written('In a box.')}</w:txbxContent>"
    twice = (
        f'<mc:AlternateContent xmlns:mc="{choices}"><mc:Choice>{box}</mc:Choice>'
        f"<mc:Fallback>{box}</mc:Fallback></mc:AlternateContent>"
    )
    anchored = f"<w:p><w:r><w:t>Around it.</w:t></w:r><w:r>{twice}</w:r></w:p>"
    inner = f"<w:tbl><w:tr><w:tc>{written('inner')}</w:tc><w:tc>{written('cells')}</w:tc></w:tr></w:tbl>"
    outer = f"<w:tbl><w:tr><w:tc>{written('outer')}{inner}<w:p/></w:tc></w:tr></w:tbl>"
    data = io.BytesIO(word_of(anchored, outer))
    document = docx.Document(data)
    note = f"<w:footnote>{written('Counted twice.')}</w:footnote>"
    notes = f'<w:footnotes {WORD_XML}><w:footnote w:type="separator"/>{note}</w:footnotes>'
    part = docx.opc.part.Part(
        docx.opc.packuri.PackURI("/word/footnotes.xml"), docx.opc.constants.CONTENT_TYPE.WML_FOOTNOTES, notes.encode()
    )
    document.part.relate_to(part, docx.opc.constants.RELATIONSHIP_TYPE.FOOTNOTES)
    parsed = parse_bytes("a.docx", saved(document))
    assert parsed.title == "a"
    assert texts(parsed) == [
        ("", "Around it."),
        ("", "In a box."),
        ("", "outer inner cells"),
        ("Notes", "Counted twice."),
    ]


def test_a_value_right_of_a_wide_cell_stays_in_its_column() -> None:
    document = docx.Document()
    table = document.add_table(rows=2, cols=3)
    for row, values in enumerate((("Bird", "Year", "Count"), ("All birds", "", "12"))):
        for column, value in enumerate(values):
            table.cell(row, column).text = value
    table.cell(1, 0).merge(table.cell(1, 1))
    (_, (_, told)) = texts(parse_bytes("a.docx", saved(document)))
    assert told == "All birds |  | 12"

    wide = (
        '<table:table-row><table:table-cell table:number-columns-spanned="2"><text:p>All</text:p></table:table-cell>'
        '<table:covered-table-cell/><table:table-cell table:number-columns-repeated="2"/>'
        "<table:table-cell><text:p>12</text:p></table:table-cell></table:table-row>"
    )
    assert texts(parse_bytes("a.odt", odt_of(f"<table:table>{wide}</table:table>"))) == [("", "All |  |  |  | 12")]


def test_a_style_made_from_a_heading_is_a_heading() -> None:
    document = docx.Document()
    style = document.styles.add_style("Kapitel", docx.enum.style.WD_STYLE_TYPE.PARAGRAPH)
    style.base_style = document.styles["Heading 2"]
    document.add_paragraph("Herons", style="Kapitel")
    document.add_paragraph("They eat fish.", style="Body Text")
    assert texts(parse_bytes("a.docx", saved(document))) == [("Herons", "They eat fish.")]


def test_a_word_file_without_a_title_has_its_properties_or_its_name() -> None:
    document = docx.Document()
    document.add_paragraph("Words.")
    document.core_properties.title = "Word Document"
    assert parse_bytes("minutes.docx", saved(document)).title == "minutes"
    document.core_properties.title = "Minutes of May"
    assert parse_bytes("minutes.docx", saved(document)).title == "Minutes of May"


# --- PowerPoint ------------------------------------------------------------------------------------------------------


def test_slides_are_pages_with_their_title_as_heading_and_their_notes() -> None:
    talk = pptx.Presentation()
    first = talk.slides.add_slide(talk.slide_layouts[1])
    first.shapes.title.text = "Wetlands"
    first.placeholders[1].text = "Reeds\nMud"
    first.notes_slide.notes_text_frame.text = "Mention the dredging."
    second = talk.slides.add_slide(talk.slide_layouts[6])
    table = second.shapes.add_table(2, 2, 0, 0, 10, 10).table
    for row, values in enumerate((("Bird", "Count"), ("Heron", "12"))):
        for column, value in enumerate(values):
            table.cell(row, column).text = value
    group = second.shapes.add_group_shape()
    group.shapes.add_textbox(0, 0, 10, 10).text_frame.text = "In a group"
    talk.slides.add_slide(talk.slide_layouts[5]).shapes.title.text = "Only a title"
    talk.core_properties.title = "PowerPoint Presentation"
    parsed = parse_bytes("talk.pptx", saved(talk))
    assert parsed.title == "Wetlands"
    assert [(block.page, *text) for block, text in zip(parsed.blocks, texts(parsed), strict=True)] == [
        (1, "", "- Reeds"),
        (1, "", "- Mud"),
        (1, "", "Notes: Mention the dredging."),
        (2, "Slide 2", "Bird | Count"),
        (2, "Slide 2", "Heron | 12"),
        (2, "Slide 2", "In a group"),
        (3, "Slide 2", "Only a title"),
    ]


# --- OpenDocument and EPUB -------------------------------------------------------------------------------------------

ODT = """<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
 xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"
 xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"><office:body><office:text>
<text:h text:outline-level="1">Top</text:h>
<text:p>One<text:s/>two<text:line-break/>three <text:span>four</text:span>.</text:p>
<text:list><text:list-item><text:p>first</text:p></text:list-item>
<text:list-item><text:p>second</text:p></text:list-item></text:list>
<text:section><text:h text:outline-level="2">Inner</text:h>
<table:table><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell><table:table-cell><text:p>b</text:p>
</table:table-cell></table:table-row></table:table></text:section></office:text></office:body></office:document-content>"""
META = """<m xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:title>Of tops</dc:title><dc:date>2020-02-03T04:05</dc:date></m>"""


def test_an_opendocument_text() -> None:
    parsed = parse_bytes("a.odt", zipped({"content.xml": ODT, "meta.xml": META}))
    assert (parsed.title, parsed.date) == ("Of tops", "2020-02-03")
    assert texts(parsed) == [
        ("Top", "One two\nthree four."),
        ("Top", "- first"),
        ("Top", "- second"),
        ("Top > Inner", "a | b"),
    ]


def test_words_of_an_opendocument_keep_their_order_and_paragraphs_their_distance() -> None:
    body = "<text:note-body><text:p>A note.</text:p></text:note-body>"
    note = f"<text:note><text:note-citation>1</text:note-citation>{body}</text:note>"
    cell = "<table:table-cell><text:p>in</text:p></table:table-cell>"
    inner = f"<table:table><table:table-row>{cell}</table:table-row></table:table>"
    cells = (
        f"<table:table-cell><text:p>one</text:p><text:p>two</text:p>{inner}</table:table-cell>"
        "<table:table-cell><text:p>three</text:p></table:table-cell>"
    )
    blocks = (
        f"<text:p>See <text:a><text:span>the<text:s/>page</text:span></text:a> for more{note}.</text:p>"
        f"<table:table><table:table-row>{cells}</table:table-row></table:table>"
    )
    parsed = parse_bytes("a.odt", odt_of(blocks))
    assert parsed.title == "a"
    assert texts(parsed) == [("", "See the page for more."), ("", "one two in | three"), ("Notes", "A note.")]


def make_epub(chapters: Mapping[str, str | bytes], **extra: str) -> bytes:
    items = "".join(f'<item id="c{n}" href="text/{name}"/>' for n, name in enumerate(chapters))
    spine = "".join(f'<itemref idref="c{n}"/>' for n in reversed(range(len(chapters))))
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>'
        "<dc:title>The book</dc:title><dc:title>A subtitle</dc:title><dc:date>1987-06</dc:date></metadata>"
        f'<manifest>{items}<item id="gone" href="gone.xhtml"/></manifest><spine>{spine}<itemref idref="gone"/></spine>'
        "</package>"
    )
    container = '<container><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>'
    texts = {f"OPS/text/{name}": text for name, text in chapters.items()}
    return zipped({"META-INF/container.xml": container, "OPS/book.opf": package, **texts, **extra})


def test_a_book_is_read_in_the_order_of_its_spine() -> None:
    second = '<?xml version="1.0"?><html><head><title/></head><body><h1>Two</h1><p>Later.</p></body></html>'
    first = "<html><body><h1>One</h1><p>Earlier.</p></body></html>"
    parsed = parse_bytes("a.epub", make_epub({"2.xhtml": second, "1.xhtml": first}))
    assert (parsed.title, parsed.date) == ("The book", "1987-06")
    assert texts(parsed) == [("One", "Earlier."), ("Two", "Later.")]


def test_chapters_of_a_book_are_read_in_their_own_encodings_and_a_picture_among_them_is_skipped() -> None:
    wide = '<?xml version="1.0" encoding="utf-16"?><p>Käse</p>'.encode("utf-16")
    western = '<?xml version="1.0" encoding="iso-8859-1"?><p>Größe</p>'.encode("latin-1")
    parsed = parse_bytes("a.epub", make_epub({"3.xhtml": western, "2.png": b"\x89PNG\0\1\2", "1.xhtml": wide}))
    assert texts(parsed) == [("", "Käse"), ("", "Größe")]


def test_a_book_that_is_none_or_is_protected_says_so() -> None:
    with pytest.raises(UnreadableDocument, match="not a readable EPUB"):
        parse_bytes("a.epub", zipped({"x": "y"}))
    with pytest.raises(EncryptedDocument):
        parse_bytes("a.epub", make_epub({"1.xhtml": "?"}, **{"META-INF/rights.xml": "<r/>"}))


# --- tables ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.csv", 'name,diet\n"Heron, grey",fish\n\nStork,\n'),
        ("a.csv", 'name;diet\r\n"Heron, grey";fish\r\nStork;\r\n'),
        ("a.tsv", "name\tdiet\nHeron, grey\tfish\nStork\t\n"),
        ("a.csv", "name|diet\nHeron, grey|fish\nStork|\n"),
    ],
)
def test_rows_of_a_table_say_their_columns(name: str, data: str) -> None:
    assert parse_bytes(name, data.encode()).text.splitlines() == ["name: Heron, grey; diet: fish", "name: Stork"]


def test_a_table_without_a_header_and_with_rows_of_any_length() -> None:
    assert parse_bytes("a.csv", b"1,2\n3\n4,5,six\n").text.splitlines() == [
        "column 1: 1; column 2: 2",
        "column 1: 3",
        "column 1: 4; column 2: 5; six",
    ]


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ("Haircut,45 min,38 EUR\nShave,15 min,14 EUR\n", ["Haircut: 45 min, 38 EUR", "Shave: 15 min, 14 EUR"]),
        ("Soup,6.50,vegan\nStew,17.90,\n,4,\n", ["Soup: 6.50, vegan", "Stew: 17.90", "4"]),
        ("Museum,2022,2023\nGlass,220,253\n", ["Museum: Glass; 2022: 220; 2023: 253"]),
        ("Pupil,1987,Oslo\nAda,1990,Lund\n", ["Pupil: 1987, Oslo", "Ada: 1990, Lund"]),
        ("Stop,Bus 1,Bus 2\nHarbour,05:38,06:33\n", ["Stop: Harbour; Bus 1: 05:38; Bus 2: 06:33"]),
        ("Prices\n\nItem;Price\nTea;3\n", ["Prices", "", "Item: Tea; Price: 3"]),
        ("Prices,\nof May,\nItem,Price\nTea,3\n", ["Prices", "of May", "", "Item: Tea; Price: 3"]),
        ("Prices,\nItem,Price\nTea,3\nfrom May on,\n", ["Prices", "", "Item: Tea; Price: 3", "Item: from May on"]),
        ("Sweet,\nCake,3\nSalty,\nPie,5\n", ["Sweet", "Cake: 3", "Salty", "Pie: 5"]),
        ("sep=;\r\nItem;Price\r\nTea, green;3\r\n", ["Item: Tea, green; Price: 3"]),
    ],
)
def test_the_first_row_below_a_caption_is_a_header_unless_it_looks_like_the_others(data: str, told: list[str]) -> None:
    assert parse_bytes("a.csv", data.encode()).text.splitlines() == told


@pytest.mark.parametrize("data", [b",,,\n,,,\n", b"\n \n,\n", b"a,b\n,,\n"])
def test_a_table_without_rows_has_no_text(data: bytes) -> None:
    with pytest.raises(UnreadableDocument, match="has no text in it"):
        parse_bytes("a.csv", data)


def test_rows_are_never_cut_where_they_fit() -> None:
    rows = "".join(f"bird {n},It eats. Then it sleeps for {n} hours.\n" for n in range(500))
    pieces = chunk(parse_bytes("a.csv", f"name,habits\n{rows}".encode()))
    assert all(line.startswith("name: bird") for piece in pieces for line in piece.text.splitlines())
    assert sum(len(piece.text.splitlines()) for piece in pieces) == 500
    assert all(MAX_PASSAGE_CHARS / 2 < len(piece.text) <= MAX_PASSAGE_CHARS for piece in pieces[:-1])


def test_a_cell_beyond_all_measure_is_reported() -> None:
    with pytest.raises(UnreadableDocument, match="as a table"):
        parse_bytes("a.csv", b'a,b\n"' + b"x" * (2 << 20))


# --- notebooks and code ----------------------------------------------------------------------------------------------


def test_a_notebook_gives_its_text_its_code_and_what_it_printed() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Counts\n", "\n", "We fit *it*."]},
        {
            "cell_type": "code",
            "source": "x = 1\nprint(x)",
            "outputs": [
                {"output_type": "stream", "text": ["1\n"]},
                {"output_type": "execute_result", "data": {"text/plain": ["array(1)"], "image/png": "xyz"}},
                {"output_type": "error", "ename": "ValueError", "evalue": "\x1b[31mno\x1b[0m", "traceback": []},
            ],
        },
        {"cell_type": "raw", "source": "raw"},
    ]
    parsed = parse_bytes("a.ipynb", json.dumps({"cells": cells, "nbformat": 4}).encode())
    assert parsed.title == "Counts"
    assert [text for _, text in texts(parsed)] == [
        "We fit it.",
        "x = 1\nprint(x)",
        "Output:\n1",
        "Output:\narray(1)",
        "Output:\nValueError: no",
        "raw",
    ]
    for broken in (b"[" * 5000, b"[]", b'{"cells": "x"}', b'{"cells": [1]}', b'{"worksheets": [{"cells": null}]}'):
        with pytest.raises(UnreadableDocument, match="not a readable notebook"):
            parse_bytes("a.ipynb", broken)


PYTHON = '''"""Counting."""

import re


# How many.
@cached
def count_birds(names):
    """Count."""

    return len(names)


class Flock:
    def fly(self):
        return "away"
'''


def test_code_is_cut_at_its_definitions() -> None:
    parsed = parse_bytes("count.py", PYTHON.encode())
    assert parsed.title == "count.py"
    assert texts(parsed) == [
        ("", '"""Counting."""'),
        ("", "import re"),
        ("count_birds", '# How many.\n@cached\ndef count_birds(names):\n    """Count."""'),
        ("count_birds", "return len(names)"),
        ("Flock", "class Flock:"),
        ("Flock > fly", 'def fly(self):\n        return "away"'),
    ]
    assert parsed.text.count("count_birds") == 1


@pytest.mark.parametrize(
    ("name", "code", "names"),
    [
        (
            "a.js",
            "export async function load() {\n}\nconst go = async (x) => {\n}\nclass A extends B {\n}\n",
            "load go A",
        ),
        ("a.ts", "export interface Bird {\n}\nexport type T = string\n", "Bird T"),
        ("a.go", "func (s *Server) Start() {\n}\ntype Bird struct {\n}\n", "Start Bird"),
        ("a.rs", "pub(crate) fn fly<T>(x: T) {\n}\nimpl<T> Wing for Bird {\n}\n", "fly Wing"),
        ("a.java", "public final class Heron {\n}\n", "Heron"),
        ("a.c", "static int *count(struct bird *b)\n{\n}\nint x;\nvoid f(void);\nif (x)\n", "count"),
        ("a.cpp", "int Bird::fly(int x) {\n}\n", "Bird::fly"),
        ("a.sql", "CREATE TABLE IF NOT EXISTS birds (\n);\ncreate view v as select 1;\n", "birds v"),
        ("a.sh", "fly() {\n}\nfunction land {\n}\n", "fly land"),
        ("a.toml", "x = 1\n[project]\ny = 2\n[[tool.x]]\nz = 1\n", "project tool.x"),
        ("a.yaml", "jobs:\n  test: 1\non: push\n", "jobs on"),
        ("a.r", "area <- function(x) {\n}\n", "area"),
        ("a.rb", "module Birds\n  def fly?\n  end\nend\n", "Birds fly?"),
    ],
)
def test_definitions_of_many_languages(name: str, code: str, names: str) -> None:
    found = dict.fromkeys(block.headings[-1] for block in parse_bytes(name, code.encode()).blocks if block.headings)
    assert " ".join(found) == names


def test_long_code_is_cut_between_lines() -> None:
    code = "def f():\n" + "".join(f"    value_{n} = compute. it(   {n})  # e.g. this. And that.\n" for n in range(200))
    lines = {line.strip() for line in code.splitlines()}
    pieces = chunk(parse_bytes("a.py", code.encode()))
    assert len(pieces) > 5
    assert all(line.strip() in lines for piece in pieces for line in piece.text.splitlines())


# --- what is kept whole ----------------------------------------------------------------------------------------------


def rows_of(name: str, count: int) -> bytes:
    rows = [(f"Bird number {n}", f"It lives at place {n} and eats whatever it finds there") for n in range(count)]
    if name.endswith(".md"):
        return ("| Name | Habits |\n|---|---|\n" + "".join(f"| {a} | {b} |\n" for a, b in rows)).encode()
    if name.endswith(".html"):
        body = "".join(f"<tr><td>{a}</td><td>{b}</td></tr>" for a, b in rows)
        return f"<table><tr><th>Name</th><th>Habits</th></tr>{body}</table>".encode()
    document = docx.Document()
    table = document.add_table(rows=0, cols=2)
    for row in [("Name", "Habits"), *rows]:
        for cell, value in zip(table.add_row().cells, row, strict=True):
            cell.text = value
    return saved(document)


@pytest.mark.parametrize("name", ["a.md", "a.html", "a.docx"])
def test_each_part_of_a_split_table_has_its_header(name: str) -> None:
    pieces = chunk(parse_bytes(name, rows_of(name, 60)))
    assert len(pieces) > 2
    assert all(piece.text.startswith("Name | Habits\nBird number") for piece in pieces)
    assert all(len(piece.text) <= MAX_PASSAGE_CHARS for piece in pieces)
    assert sum(piece.text.count("Bird number") for piece in pieces) == 60
    (whole,) = chunk(parse_bytes(name, rows_of(name, 5)))
    assert whole.text.count("Name | Habits") == 1


def test_a_list_stays_together_where_it_fits() -> None:
    items = "".join(f"- Item {n} of the list, which says a little about itself\n" for n in range(15))
    text = f"# A\n\n{'Some words before it. ' * 30}\n\n{items}\n\n{'Some words after it. ' * 30}"
    pieces = chunk(parse_bytes("a.md", text.encode()))
    assert [piece.text.count("- Item") for piece in pieces if "- Item" in piece.text] == [15]


# --- PDF -------------------------------------------------------------------------------------------------------------

BODY = "The words of this paragraph go on for about as long as a line does, and then end here."


def test_headings_of_a_pdf_are_seen_by_their_size(make_pdf: Callable[..., bytes]) -> None:
    pages = [
        [(20, "On the habits"), (20, "of grey herons"), BODY, BODY, (14, "1 Introduction"), *[BODY] * 9],
        [(14, "2 Methods"), BODY, (13, "2.1 Counting"), BODY, BODY, BODY, (14, "References"), BODY],
    ]
    parsed = parse_bytes("a.pdf", make_pdf(pages, created="D:20190203040506+01'00'"))
    assert (parsed.title, parsed.date) == ("On the habits of grey herons", "2019-02-03")
    found = dict.fromkeys((block.page, block.heading) for block in parsed.blocks)
    assert list(found) == [
        (1, ""),
        (1, "1 Introduction"),
        (2, "2 Methods"),
        (2, "2 Methods > 2.1 Counting"),
        (2, "References"),
    ]


def test_the_outline_of_a_pdf_says_what_its_headings_are(make_pdf: Callable[..., bytes]) -> None:
    pages = [["Preface", BODY, BODY], ["2. How it was done", BODY, BODY]]
    parsed = parse_bytes("a.pdf", make_pdf(pages, outline=[("Preface", 0), ("How it was done", 1)]))
    assert [(block.page, block.heading) for block in parsed.blocks] == [(1, "Preface"), (2, "2. How it was done")]
    wrong = parse_bytes("a.pdf", make_pdf(pages, outline=[("Elsewhere", 0), ("Nowhere", 1)]))
    assert {block.heading for block in wrong.blocks} == {""}


def test_the_dots_of_a_table_of_contents_are_no_words(make_pdf: Callable[..., bytes]) -> None:
    pages = [["Herons . . . . . . . . . . . . . . . . 3", "Storks................ 4", "And so on ..."]]
    assert parse_bytes("a.pdf", make_pdf(pages)).text == "Herons … 3 Storks … 4 And so on ..."


def test_a_pdf_all_of_large_type_has_no_headings(make_pdf: Callable[..., bytes]) -> None:
    birds = ("heron", "stork", "crane", "egret")
    slides = [[(30, f"The {bird}"), (24, f"Something about the {bird}"), f"small words: {bird}"] for bird in birds]
    assert {block.heading for block in parse_bytes("a.pdf", make_pdf(slides)).blocks} == {""}


# --- dates and titles ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("D:20240131120000Z", "2024-01-31"),
        ("2024-01-31T10:00:00+02:00", "2024-01-31"),
        ("2024/01", "2024-01"),
        ("2024", "2024"),
        ("2024-13-01", "2024"),
        ("31 January 2024", ""),
        ("", ""),
    ],
)
def test_dates(text: str, date: str) -> None:
    assert iso_date(text) == date


def test_dates_of_pages_and_of_front_matter() -> None:
    html = b'<meta property="article:published_time" content="2020-02-03T00:00Z"><p>x</p>'
    assert parse_bytes("a.html", html).date == "2020-02-03"
    assert parse_bytes("a.md", b"---\ntitle: x\ndate: '2020-02-03'\n---\ny").date == "2020-02-03"
    assert parse_bytes("a.md", b"y").date == ""


@pytest.mark.parametrize("title", ["Untitled", "Presentation", "PowerPoint Presentation", "a.docx", "", "x" * 300])
def test_titles_that_are_none(title: str) -> None:
    assert as_title(title) == ""


# --- anything --------------------------------------------------------------------------------------------------------

KINDS = "docx pptx xlsx odt epub csv tsv ipynb py c sql json yaml".split()


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from([f"a.{kind}" for kind in KINDS]),
    st.binary(max_size=200)
    | st.text(max_size=200).map(str.encode)
    | st.binary(max_size=100).map(b"PK\x03\x04".__add__),
)
def test_any_bytes_are_read_or_refused(name: str, data: bytes) -> None:
    try:
        parsed = parse_bytes(name, data)
    except DocumentError:
        return
    assert all(len(piece.text) <= MAX_PASSAGE_CHARS for piece in chunk(parsed))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.text(st.sampled_from("aä ,;|\"'\n."), max_size=300), min_size=1, max_size=4), max_size=40))
def test_tables_hold_every_row_and_no_passage_is_too_long(rows: list[list[str]]) -> None:
    builder = Builder()
    builder.table(rows)
    parsed = builder.build("t")
    pieces = chunk(parsed) if parsed.blocks else []
    assert all(len(piece.text) <= MAX_PASSAGE_CHARS for piece in pieces)
    assert all(piece.text.endswith(parsed.text[piece.start : piece.end]) for piece in pieces)
    assert "".join("".join(parsed.text[p.start : p.end].split()) for p in pieces) == "".join(parsed.text.split())


def test_lines_of_fields_stay_lines_in_markdown_and_others_flow() -> None:
    text = b"**Phone:** 0555 20\n*Open*: Tuesdays\nFax: none\n\nThis goes on\non a second line: here."
    assert texts(parse_bytes("a.md", text)) == [
        ("", "Phone: 0555 20\nOpen: Tuesdays\nFax: none"),
        ("", "This goes on on a second line: here."),
    ]


def test_what_follows_code_in_a_list_item_stays_in_it() -> None:
    text = "1. Unpack it:\n\n   ```sh\n   tar xf crane.tar\n   ```\n\n   It needs a minute.\n2. Move it.\n"
    told = "\n".join(part for _, part in texts(parse_bytes("steps.md", text.encode())))
    assert told == "1. Unpack it:\n  tar xf crane.tar\n  It needs a minute.\n2. Move it."
