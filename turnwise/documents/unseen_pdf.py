"""What a page of a PDF hides from its readers: text that is invisible, tiny, white on white, outside or covered."""

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

SMALLEST = 1.5  # points of type that can be read
WHITEST = 245  # of red, green and blue, from which paper and text are not told apart
DEEPEST = 4  # forms inside of one another
INVISIBLE = 3  # a way to draw text: not at all
MOST_AREAS = 300  # pictures and areas of colour of a page that are looked at
CORNERS = 5  # of a rectangle, with the end
TEXT, PATH = pdfium.FPDF_PAGEOBJ_TEXT, pdfium.FPDF_PAGEOBJ_PATH
_BREAKS = "\r\n"

Box = tuple[float, float, float, float]  # left, bottom, right, top
Matrix = tuple[float, float, float, float, float, float]
_UNCHANGED: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class _Drawn:
    """Something on a page; `matrix` leads from its own measures to those of the page."""

    object: Any
    kind: int
    matrix: Matrix


def unseen_objects(page: pypdfium2.PdfPage) -> dict[int, str]:
    """The pieces of text on a page that are not seen, by their addresses: why not."""
    drawn = list(_drawn(page))
    around = _Around(drawn, page.get_bbox())
    found = ((each, around.hiding(place, each)) for place, each in enumerate(drawn) if each.kind == TEXT)
    return {_address(each.object): why for each, why in found if why}


def without_unseen(
    text: str, text_page: pypdfium2.PdfTextPage, unseen: dict[int, str]
) -> tuple[str, list[tuple[str, str]]]:
    """The text of a page with blanks in the place of what is not seen, and that with where it is."""
    shown: list[str] = []
    told: dict[str, list[str]] = {}
    why = ""
    for place, character in enumerate(text):
        index = pdfium.FPDFText_GetCharIndexFromTextIndex(text_page, place)
        found = pdfium.FPDFText_GetTextObject(text_page, index) if index >= 0 else None
        if found:
            why = unseen.get(_address(found), "")
        elif not character.isspace():  # blanks and breaks that PDFium adds go with what is before them
            why = ""
        if why:
            told.setdefault(why, []).append(character)
        shown.append(" " if why and character not in _BREAKS else character)
    return "".join(shown), [(why, " ".join("".join(letters).split())) for why, letters in told.items()]


class _Around:
    """What lies on a page with its texts: its edges, and pictures and areas of colour with their places in the order of
    drawing. Each is looked for when it is first needed."""

    def __init__(self, drawn: Sequence[_Drawn], edges: Box) -> None:
        self._drawn = drawn
        self._edges = edges

    def hiding(self, place: int, text: _Drawn) -> str:
        """Why a text is not seen, "" where it is."""
        if _size(text) < SMALLEST:
            return "text too small to read"
        *colour, alpha = _fill(text.object)
        box = _box(text)
        if alpha == 0 or pdfium.FPDFTextObj_GetTextRenderMode(text.object) == INVISIBLE:
            # Of a scanned page the picture is seen, and the text that was recognised in it is invisible.
            return "" if any(_middle_in(box, picture) for picture in self._pictures) else "invisible text"
        left, bottom, right, top = self._edges
        if box[2] < left or box[0] > right or box[3] < bottom or box[1] > top:
            return "text outside of the page"
        if min(colour) >= WHITEST and not any(below < place and _middle_in(box, area) for below, area in self._dark):
            return "white text"
        covered = any(above > place and _holds(area, box) for above, area in self._covers)
        return "covered text" if covered else ""

    @cached_property
    def _pictures(self) -> list[Box]:
        pictures = (_box(each) for each in self._drawn if each.kind == pdfium.FPDF_PAGEOBJ_IMAGE)
        return list(islice(pictures, MOST_AREAS))

    @cached_property
    def _dark(self) -> list[tuple[int, Box]]:
        """What makes white text on it seen: pictures, shades, and areas of another colour."""
        others = ((place, each) for place, each in enumerate(self._drawn) if each.kind != TEXT)
        dark = (
            (place, _box(each))
            for place, each in others
            if each.kind != PATH or (_is_filled(each.object) and min(_fill(each.object)[:3]) < WHITEST)
        )
        return list(islice(dark, MOST_AREAS))

    @cached_property
    def _covers(self) -> list[tuple[int, Box]]:
        """Plain areas through which nothing shines, as it does through a marker's."""
        first = next((place for place, each in enumerate(self._drawn) if each.kind == TEXT), len(self._drawn))
        later = ((place, self._drawn[place]) for place in range(first, len(self._drawn)))
        covers = ((place, _box(each)) for place, each in later if each.kind == PATH and _is_plain(each.object))
        return list(islice(covers, MOST_AREAS))


def _drawn(page: pypdfium2.PdfPage) -> Iterator[_Drawn]:
    """All on a page in the order of drawing, what is in forms too."""
    count = pdfium.FPDFPage_CountObjects(page)
    yield from _within((pdfium.FPDFPage_GetObject(page, each) for each in range(count)), _UNCHANGED, 0)


def _within(objects: Iterator[Any], matrix: Matrix, depth: int) -> Iterator[_Drawn]:
    for each in objects:
        kind = pdfium.FPDFPageObj_GetType(each)
        if kind != pdfium.FPDF_PAGEOBJ_FORM:
            yield _Drawn(each, kind, matrix)
        elif depth < DEEPEST:
            inner = (pdfium.FPDFFormObj_GetObject(each, at) for at in range(pdfium.FPDFFormObj_CountObjects(each)))
            yield from _within(inner, _times(_matrix(each), matrix), depth + 1)


# Where PDFium writes what it is asked for. Only one thread at a time may ask it.
_size_of, _left, _bottom, _right, _top = (ctypes.c_float() for _ in range(5))
_red, _green, _blue, _alpha = (ctypes.c_uint() for _ in range(4))
_found = pdfium.FS_MATRIX()


def _size(text: _Drawn) -> float:
    pdfium.FPDFTextObj_GetFontSize(text.object, _size_of)
    if text.matrix is _UNCHANGED:
        pdfium.FPDFPageObj_GetMatrix(text.object, _found)
        return _size_of.value * math.hypot(_found.c, _found.d)
    _, _, c, d, _, _ = _times(_matrix(text.object), text.matrix)
    return _size_of.value * math.hypot(c, d)


def _fill(drawn: Any) -> tuple[int, int, int, int]:
    if not pdfium.FPDFPageObj_GetFillColor(drawn, _red, _green, _blue, _alpha):
        return 0, 0, 0, 255
    return _red.value, _green.value, _blue.value, _alpha.value


def _box(drawn: _Drawn) -> Box:
    """Where something lies on the page."""
    pdfium.FPDFPageObj_GetBounds(drawn.object, _left, _bottom, _right, _top)
    left, bottom, right, top = _left.value, _bottom.value, _right.value, _top.value
    if drawn.matrix is _UNCHANGED:
        return left, bottom, right, top
    a, b, c, d, e, f = drawn.matrix
    corners = [(x, y) for x in (left, right) for y in (bottom, top)]
    across = [a * x + c * y + e for x, y in corners]
    up = [b * x + d * y + f for x, y in corners]
    return min(across), min(up), max(across), max(up)


def _middle_in(box: Box, area: Box) -> bool:
    left, bottom, right, top = box
    return area[0] <= (left + right) / 2 <= area[2] and area[1] <= (bottom + top) / 2 <= area[3]


def _holds(area: Box, box: Box) -> bool:
    return area[0] <= box[0] and area[1] <= box[1] and area[2] >= box[2] and area[3] >= box[3]


def _is_plain(path: Any) -> bool:
    if not _is_filled(path) or pdfium.FPDFPath_CountSegments(path) > CORNERS:
        return False
    return _fill(path)[3] == 255 and not pdfium.FPDFPageObj_HasTransparency(path)


def _is_filled(path: Any) -> bool:
    mode, stroked = ctypes.c_int(), ctypes.c_int()
    return bool(pdfium.FPDFPath_GetDrawMode(path, mode, stroked)) and mode.value != pdfium.FPDF_FILLMODE_NONE


def _matrix(drawn: Any) -> Matrix:
    if not pdfium.FPDFPageObj_GetMatrix(drawn, _found):
        return _UNCHANGED
    return _found.a, _found.b, _found.c, _found.d, _found.e, _found.f


def _times(one: Matrix, other: Matrix) -> Matrix:
    """The matrix that does what the one does, and then what the other does."""
    a, b, c, d, e, f = one
    p, q, r, s, t, u = other
    return a * p + b * r, a * q + b * s, c * p + d * r, c * q + d * s, e * p + f * r + t, e * q + f * s + u


def _address(drawn: Any) -> int:
    return ctypes.cast(drawn, ctypes.c_void_p).value or 0
