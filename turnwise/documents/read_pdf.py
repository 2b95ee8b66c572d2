"""PDF, read into paragraphs by page, under the headings that its outline or its type sizes show."""

from __future__ import annotations

import ctypes
import math
import re
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import pypdfium2
import pypdfium2.raw as pdfium

from turnwise.documents.blocks import Builder, as_title, iso_date
from turnwise.documents.unseen_pdf import unseen_objects, without_unseen
from turnwise.errors import EncryptedDocument, UnreadableDocument
from turnwise.text import clean

_lock = threading.Lock()  # PDFium must not be entered by two threads at once

_LINE_END = re.compile("([\ufffe\x02])(?:\r?\n)?|\r?\n")  # the marks stand where PDFium saw a hyphen that breaks a word
_LEADER = re.compile(r"(?: ?\.){5,} ?")  # the dots of a table of contents
_SENTENCE_END = re.compile(r"[.!?…:][\"'”’)\]]*$")
_ITEM = re.compile(r"(?:[-*•‣▪–]|\(?\d{1,3}[.)]|\(?[a-z][.)]|\d+(?:\.\d+)+)\s")  # also "2.1 Methods"
_BROKEN_WORD = re.compile(r"([^\W_]*[^\W\d_])-$")
_COMPOUND = re.compile(r"[^\W_]+-[^\W_]+")
LONGEST_WORD = 80
LONGEST_PARAGRAPH = 20_000  # characters that go on over pages
_SHORT = 0.75  # of a page's usual line: a shorter one may end a paragraph

LARGER = 1.12  # times the size of the body: a heading
LONGEST_HEADING = 150
MOST_HEADINGS = 0.25  # of the lines; where more look like headings, none is taken for one
LEVELS = 3
_NUMBERED = re.compile(r"(?:chapter |section |appendix )?(\d{1,2}(?:\.\d{1,2}){0,3})\.?\s+[^\W\d_]", re.IGNORECASE)
_USUAL = re.compile(
    r"(?:abstract|introduction|background|related work|(?:materials and )?methods?|results?|discussion|conclusions?|"
    r"references|bibliography|acknowledge?ments?|appendix|summary)\b.{0,30}",
    re.IGNORECASE,
)
_BOLD = re.compile(r"bold|black|heavy|cmbx|-bd\b|medi\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a page, and how it is set. An empty one stands for a gap."""

    text: str
    size: float = 0.0
    bold: bool = False


@dataclass(frozen=True, slots=True)
class _Text:
    """A heading (its level above 0) or a paragraph, and the page it begins on."""

    page: int
    text: str
    level: int = 0


@dataclass(frozen=True, slots=True)
class _Extract:
    pages: list[list[_Line]]
    title: str
    date: str
    outline: list[tuple[int, int, str]]  # page, level, words of the heading
    hidden: list[tuple[str, str]]  # what is not seen: where it is, and what it says


def read_pdf(data: bytes, name: str, builder: Builder) -> str:
    """Put the document into the builder. Gives its title: from the metadata where that looks like one, else the lines
    at the top of the first page that are larger than all others."""
    with _lock:
        found = _extract(data, name)
    for where, text in found.hidden:
        builder.hide(where, text)
    pages = _without_running_lines(found.pages)
    if not any(pages):  # all of it recurs: then that is the text
        pages = [lines if any(line.text for line in lines) else [] for lines in found.pages]
    if not any(pages):
        raise UnreadableDocument(
            f"{name} has no text: it looks scanned.", "Run it through text recognition (OCR) first and add the result."
        )
    builder.date = found.date
    body = _body_size(pages)
    title = _title(found.pages, body)
    levels = _headings(pages, found.outline, body, title)
    compounds = frozenset(word for lines in pages for line in lines for word in _COMPOUND.findall(line.text))
    texts = [text for number, lines in enumerate(pages, 1) for text in _texts(number, lines, levels, compounds)]
    for each in _joined_over_pages(texts, compounds):
        if each.level:
            builder.heading(each.level, each.text)
        else:
            builder.block(each.text, page=each.page, tight=bool(_ITEM.match(each.text)))
    return found.title or as_title(" ".join(title))


# --- what the file says ----------------------------------------------------------------------------------------------


def _extract(data: bytes, name: str) -> _Extract:
    try:
        document = pypdfium2.PdfDocument(data)
        try:
            hidden: list[tuple[str, str]] = []
            pages = [_lines(page, hidden) for page in document]
            told = [document.get_metadata_value(each) for each in ("Subject", "Keywords", "Author")]
            hidden += [("its properties", each) for each in told if each]
            title = as_title(document.get_metadata_value("Title"))
            date = iso_date(document.get_metadata_value("CreationDate"))
            return _Extract(pages, title, date, list(_outline(document)), hidden)
        finally:
            document.close()
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            raise EncryptedDocument(
                f"{name} is protected by a password.", "Save a copy without the password."
            ) from error
        raise UnreadableDocument(
            f"{name} is not a readable PDF: {error}", "Check that it opens in a viewer."
        ) from error


def _lines(page: pypdfium2.PdfPage, hidden: list[tuple[str, str]]) -> list[_Line]:
    text_page = page.get_textpage()
    try:
        text = text_page.get_text_range()
        unseen = unseen_objects(page)
        if unseen:
            text, told = without_unseen(text, text_page, unseen)
            hidden += told
        lines = []
        start = 0
        for end in [*_LINE_END.finditer(text), None]:
            piece = text[start : end.start() if end else len(text)]
            words = _LEADER.sub(" … ", " ".join(clean(piece).split()))
            if words and end and end[1]:
                words += "-"
            lines.append(_Line(words, *_type(text_page, start, piece)) if words else _Line(""))
            start = end.end() if end else start
        return lines
    finally:
        text_page.close()
        page.close()


def _type(text_page: pypdfium2.PdfTextPage, start: int, piece: str) -> tuple[float, bool]:
    """The size of a line's type, and whether all of it is bold: by its first and its last character."""
    first = start + len(piece) - len(piece.lstrip())
    last = start + len(piece.rstrip()) - 1
    places = [pdfium.FPDFText_GetCharIndexFromTextIndex(text_page, place) for place in (first, last)]
    matrix = pdfium.FS_MATRIX()
    sizes = []
    for place in places:
        scale = math.hypot(matrix.b, matrix.d) if pdfium.FPDFText_GetMatrix(text_page, place, matrix) else 1.0
        sizes.append(pdfium.FPDFText_GetFontSize(text_page, place) * scale)
    return round(min(sizes), 1), all(_is_bold(text_page, place) for place in places)


def _is_bold(text_page: pypdfium2.PdfTextPage, place: int) -> bool:
    name = ctypes.create_string_buffer(128)
    flags = ctypes.c_int()
    pdfium.FPDFText_GetFontInfo(text_page, place, name, len(name), flags)
    return bool(_BOLD.search(name.value.decode("latin-1"))) or pdfium.FPDFText_GetFontWeight(text_page, place) >= 600


def _outline(document: pypdfium2.PdfDocument) -> Iterator[tuple[int, int, str]]:
    for entry in document.get_toc(max_depth=LEVELS):
        target = entry.get_dest()
        page = target.get_index() if target else None
        if page is not None:
            yield page, entry.level + 1, _letters(entry.get_title())


# --- which lines are headings ----------------------------------------------------------------------------------------

Levels = dict[tuple[int, int], int]  # the level of the heading that a line, by page (from 1) and place, is part of


def _body_size(pages: Sequence[Sequence[_Line]]) -> float:
    """The size that most of the text is set in."""
    sizes: Counter[float] = Counter()
    for line in (line for lines in pages for line in lines if line.text):
        sizes[line.size] += len(line.text)
    return max(sizes, key=lambda size: sizes[size], default=0.0)


def _title(pages: Sequence[Sequence[_Line]], body: float) -> list[str]:
    """The lines that follow each other on the first page and are larger than any other line of the document."""
    largest = max((line.size for lines in pages for line in lines), default=0.0)
    first = [place for place, line in enumerate(pages[0]) if line.size == largest] if pages else []
    if not first or len(first) > 4 or first[-1] - first[0] >= len(first):
        return []
    title = [pages[0][place] for place in first]
    others = any(line.size == largest for lines in pages[1:] for line in lines)
    fits = largest > body * LARGER and all(_looks_like_heading(line, body) for line in title)
    return [line.text for line in title] if fits and not others and not _NUMBERED.match(title[0].text) else []


def _headings(
    pages: Sequence[Sequence[_Line]], outline: Sequence[tuple[int, int, str]], body: float, title: Sequence[str]
) -> Levels:
    """The headings: those of the outline where it fits, else by the size and weight of their type."""
    if levels := _outlined(pages, outline):
        return levels
    found = [
        (number, place, line)
        for number, lines in enumerate(pages, 1)
        for place, line in enumerate(lines)
        if _looks_like_heading(line, body) and not (number == 1 and line.text in title)
    ]
    if len(found) > MOST_HEADINGS * sum(bool(line.text) for lines in pages for line in lines):
        return {}
    ranks = sorted({line.size for *_, line in found}, reverse=True)
    return {(number, place): _level(line, ranks) for number, place, line in found}


def _looks_like_heading(line: _Line, body: float) -> bool:
    text = line.text
    if not 3 <= len(text) <= LONGEST_HEADING or text[-1] in ".,;:-" or not (line.bold or line.size > body * LARGER):
        return False
    if sum(letter.isalpha() for letter in text) < max(3, len(text) / 2):
        return False
    if line.size > body * LARGER:
        return True
    named = _NUMBERED.match(text) or _USUAL.fullmatch(text) or text.isupper()
    return line.bold and line.size >= body * 0.95 and bool(named)


def _level(line: _Line, ranks: Sequence[float]) -> int:
    numbered = _NUMBERED.match(line.text)
    level = numbered[1].count(".") + 1 if numbered else ranks.index(line.size) + 1
    return min(level, LEVELS)


def _outlined(pages: Sequence[Sequence[_Line]], outline: Sequence[tuple[int, int, str]]) -> Levels:
    """The lines that say what the outline says, on the page it points to; none where half of it is not found."""
    levels: Levels = {}
    found = 0
    for page, level, wanted in outline:
        lines = pages[page] if page < len(pages) else []
        for place, line in enumerate(lines):
            said = _letters(line.text)
            if not said or not wanted or (page + 1, place) in levels:
                continue
            two = said + _letters(lines[place + 1].text) if place + 1 < len(lines) else said
            if said.endswith(wanted) and len(said) <= len(wanted) + 10:
                levels[page + 1, place] = level
            elif two.endswith(wanted) and len(two) <= len(wanted) + 10 and len(wanted) > len(said) / 2:
                levels[page + 1, place] = levels[page + 1, place + 1] = level
            else:
                continue
            found += 1
            break
    return levels if found * 2 >= len(outline) else {}


def _letters(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())


# --- lines into paragraphs -------------------------------------------------------------------------------------------


def _without_running_lines(pages: list[list[_Line]]) -> list[list[_Line]]:
    """The pages without headers, footers and page numbers: first or last lines that recur but for digits."""
    edges = Counter(
        edge for lines in pages for edge in {_masked(line) for line in (*lines[:2], *lines[-2:]) if line.text}
    )
    running = {edge for edge, count in edges.items() if count >= 3 and ("#" in edge or count > len(pages) / 2)}
    return [_trimmed(lines, running) for lines in pages]


def _trimmed(lines: list[_Line], running: set[str]) -> list[_Line]:
    middle = lines[2:-2]
    first, last = lines[:2], lines[2:][-2:]
    kept = [line for line in first if _masked(line) not in running]
    kept += middle
    kept += [line for line in last if _masked(line) not in running]
    return kept if any(line.text for line in kept) else []


def _masked(line: _Line) -> str:
    return re.sub(r"\d+", "#", line.text)


def _texts(page: int, lines: Sequence[_Line], levels: Levels, compounds: frozenset[str]) -> Iterator[_Text]:
    """The headings and paragraphs of a page. Lines of one heading follow each other and are set alike."""
    numbered = ((levels.get((page, place), 0), line) for place, line in enumerate(lines))
    for (level, _), group in groupby(numbered, key=lambda each: (each[0], each[1].size if each[0] else 0.0)):
        run = [line.text for _, line in group]
        if level:
            heading = ""
            for text in run:
                if heading and _NUMBERED.match(text):
                    yield _Text(page, heading, level)
                    heading = ""
                heading = _joined(heading, text, compounds)
            yield _Text(page, heading, level)
        else:
            yield from (_Text(page, text) for text in _paragraphs(run, compounds))


def _paragraphs(lines: Sequence[str], compounds: frozenset[str]) -> Iterator[str]:
    """The lines of a page joined into paragraphs."""
    lengths = sorted(len(line) for line in lines if line)
    usual = lengths[len(lengths) * 9 // 10] if lengths else 0
    text = previous = ""
    for line in lines:
        if not line or (text and _ends(previous, line, usual)):
            if text:
                yield text
            text = line
        else:
            text = _joined(text, line, compounds)
        previous = line
    if text:
        yield text


def _ends(line: str, following: str, usual: int) -> bool:
    """Whether a paragraph ends with this line."""
    if _ITEM.match(following):
        return True
    if len(line) >= usual * _SHORT:
        return False
    return bool(_SENTENCE_END.search(line[-10:])) or not following[:1].islower()


def _joined(text: str, line: str, compounds: frozenset[str]) -> str:
    """Two lines as one; a word broken by a hyphen is whole again, unless it is written with a hyphen elsewhere."""
    broken = _BROKEN_WORD.search(text, max(0, len(text) - LONGEST_WORD)) if text.endswith("-") else None
    if not text or not broken:
        return f"{text} {line}".strip()
    compound = _COMPOUND.match(f"{broken[1]}-{line}")
    keeps_hyphen = not line[0].islower() or (compound is not None and compound[0] in compounds)
    return (text if keeps_hyphen else text[:-1]) + line


def _joined_over_pages(texts: Sequence[_Text], compounds: frozenset[str]) -> Iterator[_Text]:
    """A paragraph that goes on over the page break is whole, on the page it begins on."""
    before: _Text | None = None
    for following in texts:
        if before is None:
            before = following
        elif _goes_on(before, following):
            before = _Text(before.page, _joined(before.text, following.text, compounds))
        else:
            yield before
            before = following
    if before is not None:
        yield before


def _goes_on(text: _Text, following: _Text) -> bool:
    if text.level or following.level or text.page == following.page or len(text.text) > LONGEST_PARAGRAPH:
        return False
    return following.text[:1].islower() and not _SENTENCE_END.search(text.text[-10:])
