"""Reads PowerPoint files into headings and blocks; a slide is a page."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pptx

from turnwise.documents.archive import open_archive
from turnwise.documents.blocks import Builder, as_title
from turnwise.documents.drawings import DRAWING, add_drawing, shows_text
from turnwise.documents.read_docx import read_properties


def read_pptx(data: bytes, name: str, builder: Builder) -> str:
    """Read slides and notes into the builder. Returns the title in the properties, else of the first slide."""
    open_archive(data, name).close()
    presentation = pptx.Presentation(io.BytesIO(data))
    for number, slide in enumerate(presentation.slides, 1):
        title = slide.shapes.title
        heading = (_text(title) if title is not None else "") or f"Slide {number}"
        notes = _notes(slide)
        shapes = [each for each in _shapes(slide.shapes) if title is None or each.shape_id != title.shape_id]
        off_slide = [each for each in shapes if _is_off_slide(each, presentation)]
        for shape in off_slide:
            builder.hide("text outside of the slide", shape.text_frame.text if shape.has_text_frame else "")
        shapes = [each for each in shapes if each not in off_slide]
        if notes or any(_has_text(shape) for shape in shapes):
            builder.heading(1, heading)
        elif title is not None:  # the only text on the slide
            builder.block(_text(title), page=number)
        for shape in shapes:
            _add_shape(shape, number, builder)
        builder.block(f"Notes: {notes}" if notes else "", page=number)
    properties = presentation.core_properties
    read_properties(properties, builder)
    return as_title(properties.title or "") or builder.main_heading


def _shapes(shapes: Any) -> Iterator[Any]:
    """The shapes of a slide, including those in groups."""
    waiting = list(shapes)[::-1]
    while waiting:
        shape = waiting.pop()
        if hasattr(shape, "shapes"):
            waiting += list(shape.shapes)[::-1]
        else:
            yield shape


def _is_off_slide(shape: Any, presentation: Any) -> bool:
    """Whether a shape lies outside its slide. Shapes in groups have relative positions, so they count as on it."""
    if None in (shape.left, shape.top, shape.width, shape.height) or shape._element.getparent().tag.endswith("grpSp"):
        return False
    across = shape.left + shape.width <= 0 or shape.left >= presentation.slide_width
    return bool(across or shape.top + shape.height <= 0 or shape.top >= presentation.slide_height)


def _add_shape(shape: Any, page: int, builder: Builder) -> None:
    if getattr(shape, "has_table", False):
        builder.table(([cell.text for cell in row.cells] for row in shape.table.rows), page)
        return
    if not shape.has_text_frame:
        for drawing in shape._element.iter(DRAWING):
            add_drawing(drawing, shape.part, builder, page)
        return
    paragraphs = [each for each in shape.text_frame.paragraphs if each.text.strip()]
    for number, paragraph in enumerate(paragraphs):
        text = paragraph.text.replace("\v", "\n")
        marked = f"{'  ' * paragraph.level}- {text}" if len(paragraphs) > 1 else text
        builder.block(marked, page, tight=number > 0)


def _has_text(shape: Any) -> bool:
    if shape.has_text_frame:
        return bool(shape.text_frame.text.strip())
    return getattr(shape, "has_table", False) or any(map(shows_text, shape._element.iter(DRAWING)))


def _notes(slide: Any) -> str:
    frame = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
    return frame.text.strip() if frame is not None else ""


def _text(shape: Any) -> str:
    return " ".join(shape.text_frame.text.split()) if shape.has_text_frame else ""
