"""Charts and diagrams: the numbers and words in them are read, too."""

from __future__ import annotations

import io
import re

import docx
import pptx
import pytest
from docx.opc.packuri import PackURI as WordURI
from docx.opc.part import Part as WordPart
from pptx.chart.data import CategoryChartData, XyChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.opc.package import Part
from pptx.opc.packuri import PackURI
from pptx.oxml import parse_xml

from turnwise.documents.parse import parse_bytes

DIAGRAM = """<d:dataModel xmlns:d="http://schemas.openxmlformats.org/drawingml/2006/diagram"
 xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><d:ptLst><d:pt modelId="0" type="doc"/>
<d:pt modelId="1"><d:t><a:p><a:r><a:t>Plan</a:t></a:r></a:p></d:t></d:pt>
<d:pt modelId="2"><d:t><a:p><a:r><a:t>Hire a </a:t></a:r><a:r><a:t>boat</a:t></a:r></a:p></d:t></d:pt>
<d:pt modelId="3"><d:t><a:p><a:r><a:t>Row</a:t></a:r></a:p></d:t></d:pt>
<d:pt modelId="4" type="sibTrans"><d:t><a:p><a:r><a:t>an arrow</a:t></a:r></a:p></d:t></d:pt></d:ptLst><d:cxnLst>
<d:cxn modelId="5" srcId="0" destId="3" srcOrd="1"/><d:cxn modelId="6" srcId="0" destId="1" srcOrd="0"/>
<d:cxn modelId="7" srcId="1" destId="2" srcOrd="0"/><d:cxn modelId="8" srcId="3" destId="1" srcOrd="0"/>
<d:cxn modelId="9" type="presOf" srcId="0" destId="4" srcOrd="0"/></d:cxnLst></d:dataModel>"""
DATA = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/diagramData"
GRAPHIC = """<p:graphicFrame xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"
 xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"
 xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><p:nvGraphicFramePr>
<p:cNvPr id="9" name="Diagram"/><p:cNvGraphicFramePr/><p:nvPr/></p:nvGraphicFramePr>
<p:xfrm><a:off x="0" y="0"/><a:ext cx="9" cy="9"/></p:xfrm>
<a:graphic><a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/diagram">
<d:relIds xmlns:d="http://schemas.openxmlformats.org/drawingml/2006/diagram" r:dm="{relation}"/>
</a:graphicData></a:graphic></p:graphicFrame>"""


def chart_of(data: CategoryChartData | XyChartData, kind: XL_CHART_TYPE = XL_CHART_TYPE.LINE) -> tuple[object, object]:
    """A deck of one slide with a chart, and the chart."""
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Visitors"
    return deck, slide.shapes.add_chart(kind, 0, 0, 9, 9, data).chart


def read(deck: object) -> list[tuple[int | None, str, str]]:
    out = io.BytesIO()
    deck.save(out)  # type: ignore[attr-defined]
    parsed = parse_bytes("a.pptx", out.getvalue())
    return [(block.page, block.header, parsed.text[block.start : block.end]) for block in parsed.blocks]


def test_the_numbers_of_a_chart_are_a_table() -> None:
    data = CategoryChartData()
    data.categories = ["2024", "2025"]
    data.add_series("Guests", (1200, 1350), number_format="#,##0")
    data.add_series("Share", (0.35, None), number_format="0%")
    deck, chart = chart_of(data)
    chart.has_title = chart.category_axis.has_title = True
    chart.chart_title.text_frame.text = "Guests of the boat house"
    chart.category_axis.axis_title.text_frame.text = "Year"
    header = "Year | Guests | Share"
    assert read(deck) == [
        (1, "", "Guests of the boat house"),
        (1, "", header),
        (1, header, "2024 | 1,200 | 35%"),
        (1, header, "2025 | 1,350 |"),
    ]


def test_categories_in_groups_and_points_by_two_numbers() -> None:
    data = CategoryChartData()
    for region, kinds in (("North", ("kayak", "canoe")), ("South", ("kayak",))):
        group = data.add_category(region)
        for kind in kinds:
            group.add_sub_category(kind)
    data.add_series("n", (1, 2, 3))
    deck, _ = chart_of(data)
    assert [text for *_, text in read(deck)] == ["| n", "North kayak | 1", "North canoe | 2", "South kayak | 3"]
    points = XyChartData()
    series = points.add_series("Depth")
    series.add_data_point(1.5, 20)
    series.add_data_point(2, 30.25)
    deck, _ = chart_of(points, XL_CHART_TYPE.XY_SCATTER)
    assert [text for *_, text in read(deck)] == ["| Depth", "1.5 | 20", "2 | 30.25"]


def test_a_measurement_of_many_points_is_left_out() -> None:
    data = CategoryChartData()
    data.categories = [str(number) for number in range(600)]
    data.add_series("Level", range(600))
    deck, _ = chart_of(data)
    deck.slides[0].shapes.add_textbox(0, 0, 9, 9).text_frame.text = "The level of the lake"
    assert [text for *_, text in read(deck)] == ["The level of the lake"]


@pytest.mark.parametrize(("old", "new"), [('idx="1"', 'idx="x"'), ("<c:v>1350</c:v>", "<c:v>#N/A</c:v>")])
def test_a_broken_chart_does_not_take_the_slides_with_it(old: str, new: str) -> None:
    data = CategoryChartData()
    data.categories = ["2024", "2025"]
    data.add_series("Guests", (1200, 1350))
    deck, chart = chart_of(data)
    deck.slides[0].shapes.add_textbox(0, 0, 9, 9).text_frame.text = "Many came."
    changed = chart.part.blob.decode().replace(old, new)
    assert changed != chart.part.blob.decode()
    chart.part._element = parse_xml(changed.encode())
    found = [text for *_, text in read(deck)]
    assert found[-1] == "Many came."
    assert ("2025 | #N/A" in found) == ("#N/A" in new)


def test_the_boxes_of_a_diagram_are_points_of_a_list() -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "How to come"
    part = Part(PackURI("/ppt/diagrams/data1.xml"), "application/xml", slide.part.package, DIAGRAM.encode())
    relation = slide.part.relate_to(part, DATA)
    slide.shapes._spTree.append(parse_xml(GRAPHIC.replace("{relation}", relation)))
    assert [text for *_, text in read(deck)] == ["- Plan", "- Hire a boat", "- Row"]


def test_a_diagram_in_a_word_file_stands_where_it_is_anchored() -> None:
    document = docx.Document()
    first = document.add_paragraph("Before.")
    document.add_paragraph("After.")
    part = WordPart(WordURI("/word/diagrams/data1.xml"), "application/xml", DIAGRAM.encode(), document.part.package)
    relation = document.part.relate_to(part, DATA)
    graphic = re.search(r"<a:graphic>.*</a:graphic>", GRAPHIC.replace("{relation}", relation), re.DOTALL)
    assert graphic
    spaces = " ".join(re.findall(r'xmlns:\w="[^"]+"', GRAPHIC))
    first.add_run()._r.append(parse_xml(graphic[0].replace("<a:graphic>", f"<a:graphic {spaces}>", 1)))
    out = io.BytesIO()
    document.save(out)
    parsed = parse_bytes("a.docx", out.getvalue())
    assert parsed.text.split("\n\n") == ["Before.", "- Plan\n- Hire a boat\n- Row", "After."]
