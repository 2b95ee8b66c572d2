"""Excel workbooks, made with openpyxl: what people see is read as tables, what they do not see is kept apart."""

from __future__ import annotations

import datetime
import io
import re
import zipfile
from collections.abc import Callable
from typing import Any

import openpyxl
import pytest
from openpyxl.comments import Comment
from openpyxl.styles import Font, PatternFill

from turnwise.documents.blocks import Parsed
from turnwise.documents.numbers import shown
from turnwise.documents.parse import parse_bytes
from turnwise.errors import EncryptedDocument, UnreadableDocument


def read(fill: Callable[[Any], None]) -> Parsed:
    """The document that a workbook makes, of which `fill` gets the first sheet."""
    workbook = openpyxl.Workbook()
    fill(workbook.active)
    out = io.BytesIO()
    workbook.save(out)
    return parse_bytes("prices.xlsx", out.getvalue())


def texts(parsed: Parsed) -> list[tuple[str, str]]:
    return [(block.heading, parsed.text[block.start : block.end]) for block in parsed.blocks]


def rows(sheet: Any, *rows: tuple[object, ...]) -> None:
    for row in rows:
        sheet.append(row)


def test_a_sheet_is_a_section_and_each_row_says_its_columns() -> None:
    def fill(sheet: Any) -> None:
        sheet.title = "Boats"
        rows(sheet, ("Boat", "Seats", "Hour"), ("Kayak", 1, 9.5), ("Canoe", 3, 14))
        for row in (2, 3):
            sheet.cell(row, 3).number_format = '#,##0.00 "€"'
        other = sheet.parent.create_sheet("Tours")
        rows(other, ("Tour", "Starts"), ("Mill", datetime.time(9, 30)), ("Lake", datetime.datetime(2026, 5, 3, 14)))
        sheet.parent.properties.title = "Prices of the boat house"
        sheet.parent.properties.modified = datetime.datetime(2026, 3, 1)

    parsed = read(fill)
    assert (parsed.title, parsed.date[:2]) == ("Prices of the boat house", "20")
    assert texts(parsed) == [
        ("Boats", "Boat: Kayak; Seats: 1; Hour: 9.50 €\nBoat: Canoe; Seats: 3; Hour: 14.00 €"),
        ("Tours", "Tour: Mill; Starts: 09:30\nTour: Lake; Starts: 2026-05-03 14:00"),
    ]


def test_an_unnamed_sheet_is_no_section() -> None:
    parsed = read(lambda sheet: rows(sheet, ("Boat", "Seats"), ("Kayak", 1), ("Canoe", 3)))
    assert (parsed.title, texts(parsed)) == ("prices", [("", "Boat: Kayak; Seats: 1\nBoat: Canoe; Seats: 3")])


def test_empty_rows_divide_tables_and_a_line_above_one_is_its_heading() -> None:
    def fill(sheet: Any) -> None:
        rows(sheet, ("All prices include a life jacket.",), (), ("For a day",), ())
        rows(sheet, (None, "Boat", None, "Price"), (None, "Kayak", None, 40), (None, "Canoe", None, 60), ())
        rows(sheet, (None, "Raft", None, 90), (), ("Closed in winter.",))

    assert texts(read(fill)) == [
        ("", "All prices include a life jacket."),
        ("For a day", "Boat: Kayak; Price: 40\nBoat: Canoe; Price: 60"),
        ("For a day", "Boat: Raft; Price: 90"),
        ("For a day", "Closed in winter."),
    ]


def test_a_cell_over_several_rows_belongs_to_each_of_them() -> None:
    def fill(sheet: Any) -> None:
        rows(
            sheet, ("Prices of May",), (), ("Boat", "Days", "Price"), ("Kayak", 1, 40), (None, 2, 70), ("Canoe", 1, 60)
        )
        sheet.merge_cells("A1:C2")
        sheet.merge_cells("A4:A5")

    assert texts(read(fill)) == [
        ("", "Prices of May"),
        ("", "Boat: Kayak; Days: 1; Price: 40\nBoat: Kayak; Days: 2; Price: 70\nBoat: Canoe; Days: 1; Price: 60"),
    ]


def test_years_above_and_names_beside_the_numbers() -> None:
    parsed = read(lambda sheet: rows(sheet, (None, 2024, 2025), ("Heron", 12, 14), ("Swan", None, 3)))
    assert texts(parsed) == [("", "Heron; 2024: 12; 2025: 14\nSwan; 2025: 3")]


def test_a_cell_over_several_columns_belongs_to_each_of_them_below_their_names() -> None:
    def fill(sheet: Any) -> None:
        rows(sheet, ("Plan",), (None, "Mon", "Tue", "Wed"), ("8:00", "Row", "Sail", "Swim"), ("9:00", "Lunch"))
        rows(sheet, ("10:00", "Repair", None, "Swim"), (None, None, None, "Dive"), ("In the afternoon",))
        for area in ("A1:D1", "B4:D4", "B5:C6", "A7:D7"):
            sheet.merge_cells(area)

    assert read(fill).text.splitlines()[2:] == [
        "8:00; Mon: Row; Tue: Sail; Wed: Swim",
        "9:00; Mon: Lunch; Tue: Lunch; Wed: Lunch",
        "10:00; Mon: Repair; Tue: Repair; Wed: Swim",
        "Mon: Repair; Tue: Repair; Wed: Dive",
        "In the afternoon",
    ]


def test_a_header_of_two_rows() -> None:
    def fill(sheet: Any) -> None:
        rows(sheet, ("Boat", "Summer", None, "Winter", None, "Seats"), (None, "Hour", "Day", "Hour", "Day", None))
        rows(sheet, ("Kayak", 9, 40, 7, 30, 1), ("Canoe", 14, 60, 11, 45, 3))
        for area in ("A1:A2", "B1:C1", "D1:E1", "F1:F2"):
            sheet.merge_cells(area)

    of_kayak = "Boat: Kayak; Summer Hour: 9; Summer Day: 40; Winter Hour: 7; Winter Day: 30; Seats: 1"
    assert texts(read(fill))[0][1].splitlines()[0] == of_kayak
    crossed = [("Guests", "Month"), ("Pier", "May", "Total"), ("North", 5, 9), ("South", 4, None), ("Total", 9, 9)]
    assert texts(read(lambda sheet: rows(sheet, *crossed)))[0][1].splitlines()[1] == "Guests Pier: South; Month May: 4"
    beside = [("Name", None, "May", "June"), ("Ann", "Lee", "here", "here"), ("Bo", "Day", "here", "away")]
    assert "Name Ann" not in read(lambda sheet: rows(sheet, *beside)).text


def test_labels_and_what_is_filled_in_beside_them() -> None:
    form = [("Order", "B-17"), ("Customer", "Mill Inn"), ("Delivery", datetime.date(2026, 3, 14)), ("Contact", "Ann")]
    told = "Order: B-17\nCustomer: Mill Inn\nDelivery: 2026-03-14\nContact: Ann"
    assert texts(read(lambda sheet: rows(sheet, *form))) == [("", told)]
    table = [("Boat", "Price"), ("Kayak", 40), ("Canoe", 60), ("Raft", 90)]
    assert texts(read(lambda sheet: rows(sheet, *table)))[0][1].startswith("Boat: Kayak; Price: 40")
    assert read(lambda sheet: rows(sheet, ("Name:", "Ann"), ("Town:", "Lund"))).text == "Name: Ann\nTown: Lund"
    apart = read(lambda sheet: rows(sheet, ("Order", "B-17"), (), ("Customer", "Mill Inn"), (), ("Paid", "no")))
    assert [text for _, text in texts(apart)] == ["Order: B-17", "Customer: Mill Inn", "Paid: no"]


def test_tables_side_by_side() -> None:
    beside = [("Name", "Phone", None, "Name", "Phone"), ("Ann", "0117", None, "Bo", "0212"), ("Cy", "0118")]
    told = "Name: Ann; Phone: 0117\nName: Cy; Phone: 0118\n\nName: Bo; Phone: 0212"
    assert read(lambda sheet: rows(sheet, *beside)).text == told
    grouped = [("Desk", None, None, "Shop"), *beside, (), ("Closed",)]
    assert read(lambda sheet: rows(sheet, *grouped)).text.startswith("Desk Name: Ann; Desk Phone: 0117; Shop Name: Bo")
    form = [("Order", "B-17", None, "Paid", "no"), ("Customer", "Mill Inn"), ("Weight", "3 kg"), ("Contact", "Ann")]
    told = "Order: B-17\nCustomer: Mill Inn\nWeight: 3 kg\nContact: Ann\n\nPaid: no"
    assert read(lambda sheet: rows(sheet, *form)).text == told


def test_what_nobody_sees_is_kept_apart() -> None:
    def fill(sheet: Any) -> None:
        rows(sheet, ("Name", "Pay", "Room"), ("Ann", 4000, "B1"), ("Bob", 4100, "B2"), ("white", None, None))
        sheet.column_dimensions["B"].hidden = True
        sheet.row_dimensions[3].hidden = True
        sheet["A1"].font = Font(color="FFFFFF")
        sheet["A1"].fill = PatternFill("solid", fgColor="000000")  # white on black is seen
        sheet["A4"].font = Font(color="FFFFFF")
        sheet["C2"].comment = Comment("ask the landlord", "Eve")
        secret = sheet.parent.create_sheet("Secret")
        rows(secret, ("Safe", 1234))
        secret.sheet_state = "hidden"

    parsed = read(fill)
    assert texts(parsed) == [("", "Name: Ann; Room: B1")]
    assert {each.where: each.text for each in parsed.hidden} == {
        "a hidden column": "Pay\n4000",
        "a hidden row": "Bob\n4100\nB2",
        "white text": "white",
        "a comment": "ask the landlord",
        "a hidden sheet": "Safe 1234",
    }


def test_times_and_how_long_something_took() -> None:
    def fill(sheet: Any) -> None:
        rows(sheet, ("Runner", "Start", "Took", "Trained"), ("Ann", datetime.time(9, 5), datetime.time(3, 45, 30)))
        sheet["D2"] = datetime.timedelta(hours=41, minutes=5)
        sheet["E2"] = -datetime.timedelta(seconds=90)
        for cell, code in (("B2", "h:mm"), ("C2", "h:mm:ss"), ("D2", "[h]:mm"), ("E2", "[h]:mm:ss")):
            sheet[cell].number_format = code

    assert texts(read(fill)) == [("", "Runner: Ann; Start: 09:05; Took: 03:45:30; Trained: 41:05; -0:01:30")]


def test_a_cell_at_the_far_end_costs_nothing() -> None:
    def fill(sheet: Any) -> None:
        rows(sheet, ("Boat", "Seats"), ("Kayak", 1), ("Canoe", 3))
        sheet["XFD1048576"] = "end"

    assert texts(read(fill))[-1] == ("", "end")


def test_errors_and_truth() -> None:
    parsed = read(lambda sheet: rows(sheet, ("Boat", "Free", "Left"), ("Kayak", True, "#REF!"), ("Canoe", False, 2)))
    assert texts(parsed) == [("", "Boat: Kayak; Free: TRUE\nBoat: Canoe; Free: FALSE; Left: 2")]


def test_a_workbook_of_another_program_is_read_without_a_warning() -> None:
    workbook, out, odd = openpyxl.Workbook(), io.BytesIO(), io.BytesIO()
    rows(workbook.active, ("Boat", "Seats"), ("Kayak", 1))
    workbook.save(out)
    with zipfile.ZipFile(out) as archive, zipfile.ZipFile(odd, "w") as changed:
        for name in archive.namelist():
            content = archive.read(name)
            changed.writestr(name, re.sub(rb"<cellStyles.*</cellStyles>", b"", content))
    assert texts(parse_bytes("a.xlsx", odd.getvalue())) == [("", "Boat: Kayak; Seats: 1")]


def test_workbooks_that_cannot_be_read() -> None:
    with pytest.raises(UnreadableDocument, match=r"prices\.xlsx is not an Excel file"):
        parse_bytes("prices.xlsx", b"Boat,Seats")
    with pytest.raises(EncryptedDocument):
        parse_bytes("a.xlsx", b"\xd0\xcf\x11\xe0" + bytes(600))
    with pytest.raises(UnreadableDocument, match="no text"):
        read(lambda _: None)


@pytest.mark.parametrize(
    ("value", "code", "text"),
    [
        (1234.5, "General", "1234.5"),
        (1e12, "General", "1000000000000"),
        (1 / 3, "", "0.3333333333"),
        (7, "@", "7"),
        (0.425, "0.0%", "42.5%"),
        (1234.5, "#,##0.00", "1,234.50"),
        (1234.5, "#,##0.00 [$€-407]", "1,234.50 €"),
        (-5, '"$"#,##0;[Red]("$"#,##0)', "-$5"),
        (12000, '_-* #,##0\\ "kr"_-;-* #,##0\\ "kr"_-', "12,000 kr"),
        (2500000, '0.0,,"M"', "2.5M"),
        (1067, "00000", "01067"),
        (41170123456, "000\\ 00\\ 0000000", "041 17 0123456"),
        (12345678, "000-00-0000", "012-34-5678"),
        (1234567.5, "#\\ ###\\ ##0.00", "1 234 567.50"),
        (5.5, '0.00 "EUR"', "5.50 EUR"),
        (7, '0"/10"', "7/10"),
        (19, '0"%"', "19%"),
        (7, '"No. "000', "No. 007"),
        (3.5, 'General" km"', "3.5 km"),
        (1.5, "0.##", "1.5"),
        (2, "0.##", "2"),
        (0.5, "# ?/?", "0.5"),
        (3e-5, "0.00E+00", "3e-05"),
        (45000, "m/d/yyyy", "2023-03-15"),
        (45000, "[$-409]mmm\\-yy;@", "2023-03"),
        (45000, "yyyy", "2023"),
        (1e300, "yyyy", f"{1e300:.0f}"),
        (float("inf"), "0", "inf"),
    ],
)
def test_numbers_as_people_see_them(value: float, code: str, text: str) -> None:
    assert shown(value, code) == text


# --- OpenDocument ----------------------------------------------------------------------------------------------------


SPACES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{space}:1.0"'
    for name, space in {
        **{same: same for same in ("office", "style", "table", "text", "chart", "presentation")},
        "draw": "drawing",
    }.items()
)


def open_document(name: str, kind: str, body: str) -> Parsed:
    """The document of a file with such content."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("Object 1/content.xml", f"<chart:chart {SPACES}>{CHART}</chart:chart>")
        styles = '<style:style style:name="gone"><style:table-properties table:display="false"/></style:style>'
        content = f"<office:automatic-styles>{styles}</office:automatic-styles><office:{kind}>{body}</office:{kind}>"
        archive.writestr("content.xml", f"<office:document-content {SPACES}>{content}</office:document-content>")
    return parse_bytes(name, out.getvalue())


def ods_row(*cells: str, **attributes: object) -> str:
    written = "".join(
        f"<table:{'covered-' if cell == '^' else ''}table-cell table:number-rows-spanned='{1 + ('v' in cell)}'>"
        f"<text:p>{cell.strip('^v')}</text:p></table:{'covered-' if cell == '^' else ''}table-cell>"
        for cell in cells
    )
    named = " ".join(f"table:{name.replace('_', '-')}='{value}'" for name, value in attributes.items())
    return f"<table:table-row {named}>{written}</table:table-row>"


CHART = (
    "<chart:title><text:p>By year</text:p></chart:title>"
    f"<table:table>{ods_row('', 'n')}{ods_row('2025', '3')}"
    "<table:table-row><table:table-cell><text:p>2026</text:p></table:table-cell><table:table-cell office:value='NaN'>"
    "<text:p>NaN</text:p></table:table-cell></table:table-row></table:table>"
)


def test_an_opendocument_spreadsheet() -> None:
    rows = [
        ods_row("Boat", "Days", "Pay", "Price"),
        ods_row("Kayakv", "1", "9", "40 €"),
        ods_row("^", "2", "9", "70 €"),
        ods_row("Canoe", "1", "9", "60 €", number_rows_repeated=2),
        ods_row("Raft", "1", "9", "90 €", visibility="filter"),
        ods_row("", number_rows_repeated=1048000),
        ods_row("Closed in winter."),
    ]
    columns = "<table:table-column table:number-columns-repeated='2'/><table:table-column table:visibility='collapse'/>"
    parsed = open_document(
        "prices.ods",
        "spreadsheet",
        f"<table:table table:name='Boats'>{columns}<table:table-header-rows>{rows[0]}</table:table-header-rows>"
        f"{''.join(rows[1:])}</table:table>"
        f"<table:table table:name='Staff' table:style-name='gone'>{ods_row('Ann', '4000')}</table:table>",
    )
    canoe = "Boat: Canoe; Days: 1; Price: 60 €"
    assert texts(parsed) == [
        ("Boats", f"Boat: Kayak; Days: 1; Price: 40 €\nBoat: Kayak; Days: 2; Price: 70 €\n{canoe}\n{canoe}"),
        ("Boats", "Closed in winter."),
    ]
    assert {each.where: each.text for each in parsed.hidden} == {
        "a hidden column": "Pay\n9",
        "a hidden row": "Raft 1 90 € 9",
        "a hidden sheet": "Ann 4000",
    }


def test_a_cell_of_opendocument_over_several_columns() -> None:
    wide = "<table:table-cell table:number-columns-spanned='3'><text:p>{}</text:p></table:table-cell>".format
    covered = "<table:covered-table-cell table:number-columns-repeated='2'/>"
    rows = [ods_row("", "Mon", "Tue", "Wed"), f"<table:table-row>{ods_row('9:00')[17:-18]}{wide('Lunch')}{covered}"]
    rows += [f"</table:table-row>{ods_row('10:00', 'Row', 'Sail', 'Swim')}"]
    below = f"<table:table-row>{wide('Afternoon')}{covered}</table:table-row>"
    sheet = f"<table:table table:name='Plan'>{''.join(rows)}{below}</table:table>"
    assert open_document("a.ods", "spreadsheet", sheet).text.splitlines()[2:] == [
        "9:00; Mon: Lunch; Tue: Lunch; Wed: Lunch",
        "10:00; Mon: Row; Tue: Sail; Wed: Swim",
        "Afternoon",
    ]


def test_an_opendocument_presentation() -> None:
    frame = "<draw:frame presentation:class='{}'><draw:text-box>{}</draw:text-box></draw:frame>".format
    points = "<text:list>" + "".join(f"<text:list-item><text:p>{each}</text:p></text:list-item>" for each in "AB")
    first = frame("title", "<text:p>Wet<text:span>lands</text:span></text:p>") + frame(
        "outline", f"{points}</text:list>"
    )
    notes = f"<presentation:notes>{frame('notes', '<text:p>Mention the dredging.</text:p>')}</presentation:notes>"
    chart = "<draw:frame><draw:object xlink:href='./Object 1' xmlns:xlink='x'/></draw:frame>"
    shape = "<draw:g><draw:custom-shape><text:p>In a group</text:p></draw:custom-shape></draw:g>"
    table = f"<draw:frame><table:table>{ods_row('Bird', 'Count')}{ods_row('Heron', '12')}</table:table></draw:frame>"
    slides = (first + notes, shape + table + chart, frame("title", "<text:p>The end</text:p>"))
    parsed = open_document("a.odp", "presentation", "".join(f"<draw:page>{each}</draw:page>" for each in slides))
    assert parsed.title == "Wetlands"
    assert [(block.page, *text) for block, text in zip(parsed.blocks, texts(parsed), strict=True)] == [
        (1, "", "- A"),
        (1, "", "- B"),
        (1, "", "Notes: Mention the dredging."),
        (2, "Slide 2", "In a group"),
        (2, "Slide 2", "Bird | Count"),
        (2, "Slide 2", "Heron | 12"),
        (2, "Slide 2", "By year"),
        (2, "Slide 2", "| n"),
        (2, "Slide 2", "2025 | 3"),
        (2, "Slide 2", "2026 |"),
        (3, "Slide 2", "The end"),
    ]
