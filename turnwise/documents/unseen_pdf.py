"""Finds text that a PDF page hides: invisible, tiny, white on white, outside the page, or covered."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

MIN_READABLE_POINTS = 1.5
MIN_WHITE = 245  # of red, green and blue: from here on, text looks like the paper
MAX_FORM_DEPTH = 4
INVISIBLE_RENDER_MODE = 3
MAX_AREAS = 300  # images and coloured areas considered per page
RECTANGLE_SEGMENTS = 5  # four sides and the closing one
TEXT, PATH = pdfium.FPDF_PAGEOBJ_TEXT, pdfium.FPDF_PAGEOBJ_PATH
_LINE_BREAKS = "\r\n"

Box = tuple[float, float, float, float]  # left, bottom, right, top
Matrix = tuple[float, float, float, float, float, float]
_IDENTITY: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class _PageObject:
    """An object on a page; `matrix` maps its coordinates to those of the page."""

    object: Any
    kind: int
    matrix: Matrix


def unseen_objects(page: pypdfium2.PdfPage) -> dict[int, str]:
    """The hidden text objects on a page by address, with the reason."""
    drawn = list(_page_objects(page))
    around = _PageContext(drawn, page.get_bbox())
    found = ((each, around.reason_hidden(place, each)) for place, each in enumerate(drawn) if each.kind == TEXT)
    return {_address(each.object): why for each, why in found if why}


def without_unseen(
    text: str, text_page: pypdfium2.PdfTextPage, unseen: dict[int, str]
) -> tuple[str, list[tuple[str, str]]]:
    """Return the text of a page with hidden text blanked out, and the hidden texts with the reason."""
    shown: list[str] = []
    removed: dict[str, list[str]] = {}
    why = ""
    for place, character in enumerate(text):
        index = pdfium.FPDFText_GetCharIndexFromTextIndex(text_page, place)
        found = pdfium.FPDFText_GetTextObject(text_page, index) if index >= 0 else None
        if found:
            why = unseen.get(_address(found), "")
        elif not character.isspace():  # whitespace that PDFium adds belongs to the text before it
            why = ""
        if why:
            removed.setdefault(why, []).append(character)
        shown.append(" " if why and character not in _LINE_BREAKS else character)
    return "".join(shown), [(why, " ".join("".join(letters).split())) for why, letters in removed.items()]


class _PageContext:
    """The edges, images and coloured areas of a page, with their drawing order. Computed on first use."""

    def __init__(self, drawn: Sequence[_PageObject], edges: Box) -> None:
        self._drawn = drawn
        self._edges = edges

    def reason_hidden(self, place: int, text: _PageObject) -> str:
        """Why a text object is not visible, or ""."""
        if _size(text) < MIN_READABLE_POINTS:
            return "text too small to read"
        *colour, alpha = _fill(text.object)
        box = _box(text)
        if alpha == 0 or pdfium.FPDFTextObj_GetTextRenderMode(text.object) == INVISIBLE_RENDER_MODE:
            # A scanned page shows an image, with its recognised text as an invisible layer.
            return "" if any(_centre_in(box, picture) for picture in self._pictures) else "invisible text"
        left, bottom, right, top = self._edges
        if box[2] < left or box[0] > right or box[3] < bottom or box[1] > top:
            return "text outside of the page"
        if min(colour) >= MIN_WHITE and not any(
            below < place and _centre_in(box, area) for below, area in self._dark_areas
        ):
            return "white text"
        covered = any(above > place and _contains(area, box) for above, area in self._covers)
        return "covered text" if covered else ""

    @cached_property
    def _pictures(self) -> list[Box]:
        pictures = (_box(each) for each in self._drawn if each.kind == pdfium.FPDF_PAGEOBJ_IMAGE)
        return list(islice(pictures, MAX_AREAS))

    @cached_property
    def _dark_areas(self) -> list[tuple[int, Box]]:
        """Areas on which white text is visible: images, shadings and areas of another colour."""
        others = ((place, each) for place, each in enumerate(self._drawn) if each.kind != TEXT)
        dark = (
            (place, _box(each))
            for place, each in others
            if each.kind != PATH or (_is_filled(each.object) and min(_fill(each.object)[:3]) < MIN_WHITE)
        )
        return list(islice(dark, MAX_AREAS))

    @cached_property
    def _covers(self) -> list[tuple[int, Box]]:
        """Opaque rectangles drawn after the first text; a translucent highlight is not one."""
        first = next((place for place, each in enumerate(self._drawn) if each.kind == TEXT), len(self._drawn))
        later = ((place, self._drawn[place]) for place in range(first, len(self._drawn)))
        covers = (
            (place, _box(each)) for place, each in later if each.kind == PATH and _is_opaque_rectangle(each.object)
        )
        return list(islice(covers, MAX_AREAS))


def _page_objects(page: pypdfium2.PdfPage) -> Iterator[_PageObject]:
    """All objects on a page in drawing order, including those inside forms."""
    count = pdfium.FPDFPage_CountObjects(page)
    yield from _walk_objects((pdfium.FPDFPage_GetObject(page, each) for each in range(count)), _IDENTITY, 0)


def _walk_objects(objects: Iterator[Any], matrix: Matrix, depth: int) -> Iterator[_PageObject]:
    for each in objects:
        kind = pdfium.FPDFPageObj_GetType(each)
        if kind != pdfium.FPDF_PAGEOBJ_FORM:
            yield _PageObject(each, kind, matrix)
        elif depth < MAX_FORM_DEPTH:
            inner = (pdfium.FPDFFormObj_GetObject(each, at) for at in range(pdfium.FPDFFormObj_CountObjects(each)))
            yield from _walk_objects(inner, _multiply(_matrix(each), matrix), depth + 1)


# Reused output parameters for PDFium calls, which only one thread makes at a time.
_size_out, _left_out, _bottom_out, _right_out, _top_out = (ctypes.c_float() for _ in range(5))
_red_out, _green_out, _blue_out, _alpha_out = (ctypes.c_uint() for _ in range(4))
_matrix_out = pdfium.FS_MATRIX()


def _size(text: _PageObject) -> float:
    pdfium.FPDFTextObj_GetFontSize(text.object, _size_out)
    if text.matrix is _IDENTITY:
        pdfium.FPDFPageObj_GetMatrix(text.object, _matrix_out)
        return _size_out.value * math.hypot(_matrix_out.c, _matrix_out.d)
    _, _, c, d, _, _ = _multiply(_matrix(text.object), text.matrix)
    return _size_out.value * math.hypot(c, d)


def _fill(drawn: Any) -> tuple[int, int, int, int]:
    if not pdfium.FPDFPageObj_GetFillColor(drawn, _red_out, _green_out, _blue_out, _alpha_out):
        return 0, 0, 0, 255
    return _red_out.value, _green_out.value, _blue_out.value, _alpha_out.value


def _box(drawn: _PageObject) -> Box:
    """The bounding box of an object on the page."""
    pdfium.FPDFPageObj_GetBounds(drawn.object, _left_out, _bottom_out, _right_out, _top_out)
    left, bottom, right, top = _left_out.value, _bottom_out.value, _right_out.value, _top_out.value
    if drawn.matrix is _IDENTITY:
        return left, bottom, right, top
    a, b, c, d, e, f = drawn.matrix
    corners = [(x, y) for x in (left, right) for y in (bottom, top)]
    across = [a * x + c * y + e for x, y in corners]
    up = [b * x + d * y + f for x, y in corners]
    return min(across), min(up), max(across), max(up)


def _centre_in(box: Box, area: Box) -> bool:
    left, bottom, right, top = box
    return area[0] <= (left + right) / 2 <= area[2] and area[1] <= (bottom + top) / 2 <= area[3]


def _contains(area: Box, box: Box) -> bool:
    return area[0] <= box[0] and area[1] <= box[1] and area[2] >= box[2] and area[3] >= box[3]


def _is_opaque_rectangle(path: Any) -> bool:
    if not _is_filled(path) or pdfium.FPDFPath_CountSegments(path) > RECTANGLE_SEGMENTS:
        return False
    return _fill(path)[3] == 255 and not pdfium.FPDFPageObj_HasTransparency(path)


def _is_filled(path: Any) -> bool:
    mode, stroked = ctypes.c_int(), ctypes.c_int()
    return bool(pdfium.FPDFPath_GetDrawMode(path, mode, stroked)) and mode.value != pdfium.FPDF_FILLMODE_NONE


def _matrix(drawn: Any) -> Matrix:
    if not pdfium.FPDFPageObj_GetMatrix(drawn, _matrix_out):
        return _IDENTITY
    return _matrix_out.a, _matrix_out.b, _matrix_out.c, _matrix_out.d, _matrix_out.e, _matrix_out.f


def _multiply(one: Matrix, other: Matrix) -> Matrix:
    """The matrix that applies `one`, then `other`."""
    a, b, c, d, e, f = one
    p, q, r, s, t, u = other
    return a * p + b * r, a * q + b * s, c * p + d * r, c * q + d * s, e * p + f * r + t, e * q + f * s + u


def _address(drawn: Any) -> int:
    return ctypes.cast(drawn, ctypes.c_void_p).value or 0
