"""Reads what Word and PowerPoint keep beside the text: the numbers behind charts, the words in diagrams (SmartArt)."""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from typing import Any

from docx.oxml import parse_xml

from turnwise.documents.blocks import Builder
from turnwise.documents.numbers import shown
from turnwise.documents.tables import MAX_CHART_ROWS

log = logging.getLogger(__name__)

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_D = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_NUMBER = re.compile(r"-?[\d.]+(?:[Ee][-+]?\d+)?")  # others are "#N/A"
DRAWING = f"{_A}graphicData"


def shows_text(drawing: Any) -> bool:
    return any(each.tag in (f"{_C}chart", f"{_D}relIds") for each in drawing)


def add_drawing(drawing: Any, part: Any, builder: Builder, page: int | None = None) -> None:
    """Append the chart as a table, or the diagram as a list, that an element of the type DRAWING shows."""
    for tag, relation_id, add in ((f"{_C}chart", f"{_R}id", _add_chart), (f"{_D}relIds", f"{_R}dm", _add_diagram)):
        shown_there = drawing.find(tag)
        relation = part.rels.get(shown_there.get(relation_id)) if shown_there is not None else None
        if relation is None or relation.is_external:
            continue
        try:
            add(parse_xml(relation.target_part.blob), builder, page)
        except Exception:  # the document is worth reading without it
            log.warning("a broken chart or diagram is left out", exc_info=True)


# --- charts ----------------------------------------------------------------------------------------------------------


def _add_chart(space: Any, builder: Builder, page: int | None) -> None:
    """The title, and a table of the categories and of each series; those with categories of their own have another."""
    tables: dict[tuple[str, ...], list[tuple[str, dict[int, str]]]] = defaultdict(list)
    for series in space.iter(f"{_C}ser"):
        values = _values(series, "val", "yVal")
        if values and max(values) < MAX_CHART_ROWS:
            name = series.findtext(f"{_C}tx//{_C}v") or _title(space, "valAx")
            tables[_categories(series, max(values))].append((name, values))
    if tables:
        builder.block(_title(space, "chart"), page)
    for categories, columns in tables.items():
        header = [_title(space, "catAx"), *(name for name, _ in columns)]
        rows = ([category, *(v.get(i, "") for _, v in columns)] for i, category in enumerate(categories))
        builder.table([header, *rows], page)


def _title(space: Any, of: str) -> str:
    """The title of the chart or of an axis."""
    words = space.iterfind(f".//{_C}{of}/{_C}title//{_A}t")
    return " ".join("".join(each.text or "" for each in words).split())


def _categories(series: Any, last: int) -> tuple[str, ...]:
    """What the values of a series are for, up to the last one. Of grouped categories each has the name of its group
    before it."""
    levels = [_points(level, None) for level in series.iterfind(f"{_C}cat//{_C}lvl")][::-1]
    levels = levels or [_values(series, "cat", "xVal")]
    names = []
    for place in range(min(max([*levels[-1], last]) + 1, MAX_CHART_ROWS)):
        groups = (max((at for at in level if at <= place), default=place) for level in levels[:-1])
        parts = [level.get(at, "") for level, at in zip(levels, groups, strict=False)]
        names.append(" ".join(filter(None, [*parts, levels[-1].get(place, "")])))
    return tuple(names)


def _values(series: Any, *tags: str) -> dict[int, str]:
    """What a series says in the first of these elements, by place: texts, or numbers in their format."""
    for said in (each for each in series if each.tag in [f"{_C}{tag}" for tag in tags]):
        is_number = any(next(said.iter(f"{_C}{kind}"), None) is not None for kind in ("numCache", "numLit"))
        return _points(said, said.findtext(f".//{_C}formatCode", "") if is_number else None)
    return {}


def _points(around: Any, code: str | None) -> dict[int, str]:
    """The texts of points by their places; those with a format are numbers."""
    texts = {}
    for point in around.iter(f"{_C}pt"):
        text = point.findtext(f"{_C}v") or ""
        if code is not None and _NUMBER.fullmatch(text):
            text = shown(float(text), point.get("formatCode") or code)
        texts[int(point.get("idx"))] = text
    return texts


# --- diagrams --------------------------------------------------------------------------------------------------------


def _add_diagram(model: Any, builder: Builder, page: int | None) -> None:
    """Each box as a point of a list, after the one that it belongs to."""
    boxes = {each.get("modelId"): each for each in model.iter(f"{_D}pt")}
    within: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for line in model.iter(f"{_D}cxn"):
        if line.get("type", "parOf") == "parOf":
            within[line.get("srcId")].append((int(line.get("srcOrd", "0")), line.get("destId")))
    waiting = [name for name, box in boxes.items() if box.get("type") == "doc"]
    tight = False
    while waiting:
        name = waiting.pop()
        box = boxes.pop(name, None)  # a box is told once
        if box is None:
            continue
        text = " ".join("".join(each.itertext()) for each in box.iter(f"{_A}p")).strip()
        if text:
            builder.block(f"- {text}", page, tight=tight)
            tight = True
        waiting += [below for _, below in sorted(within[name], reverse=True)]
