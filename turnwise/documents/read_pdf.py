"""Reads PDF files into paragraphs by page, with headings from the outline or the font sizes."""

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
from turnwise.text import clean, letters_and_digits

_lock = threading.Lock()  # PDFium is not thread-safe

_LINE_END = re.compile(
    "([\ufffe\x02])(?:\r?\n)?|\r?\n"
)  # PDFium marks a hyphen that breaks a word with U+FFFE or U+0002
_DOT_LEADER = re.compile(r"(?: ?\.){5,} ?")  # the dots of a table of contents
_SENTENCE_END = re.compile(r"[.!?…:][\"'”’)\]]*$")
_ITEM = re.compile(r"(?:[-*•‣▪–]|\(?\d{1,3}[.)]|\(?[a-z][.)]|\d+(?:\.\d+)+)\s")  # also "2.1 Methods"
_BROKEN_WORD = re.compile(r"([^\W_]*[^\W\d_])-$")
_COMPOUND = re.compile(r"[^\W_]+-[^\W_]+")
MAX_BROKEN_WORD_CHARS = 80
MAX_JOINED_PARAGRAPH_CHARS = 20_000  # when joining across pages
_SHORT_LINE = 0.75  # of the page's usual line length: a shorter line may end a paragraph

HEADING_SIZE_RATIO = 1.12  # times the body size
MAX_HEADING_CHARS = 150
MAX_HEADING_SHARE = 0.25  # of the lines; if more look like headings, none is taken as one
MAX_HEADING_LEVEL = 3
_NUMBERED = re.compile(r"(?:chapter |section |appendix )?(\d{1,2}(?:\.\d{1,2}){0,3})\.?\s+[^\W\d_]", re.IGNORECASE)
_SECTION_NAME = re.compile(
    r"(?:abstract|introduction|background|related work|(?:materials and )?methods?|results?|discussion|conclusions?|"
    r"references|bibliography|acknowledge?ments?|appendix|summary)\b.{0,30}",
    re.IGNORECASE,
)
_BOLD_FONT = re.compile(r"bold|black|heavy|cmbx|-bd\b|medi\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a page with its font. An empty line is a gap."""

    text: str
    size: float = 0.0
    bold: bool = False


@dataclass(frozen=True, slots=True)
class _Text:
    """A heading (level above 0) or a paragraph, and the page it begins on."""

    page: int
    text: str
    level: int = 0


@dataclass(frozen=True, slots=True)
class _RawDocument:
    pages: list[list[_Line]]
    title: str
    date: str
    outline: list[tuple[int, int, str]]  # page, level, letters of the heading
    hidden: list[tuple[str, str]]  # where it is, and its text


def read_pdf(data: bytes, name: str, builder: Builder) -> str:
    """Read the document into the builder. Returns its title: from the metadata if plausible, else the largest lines on
    the first page."""
    with _lock:
        raw = _read_raw(data, name)
    for where, text in raw.hidden:
        builder.hide(where, text)
    pages = _without_running_lines(raw.pages)
    if not any(pages):  # every line recurs, so none is a header
        pages = [lines if any(line.text for line in lines) else [] for lines in raw.pages]
    if not any(pages):
        raise UnreadableDocument(
            f"{name} has no text: it looks scanned.", "Run it through text recognition (OCR) first and add the result."
        )
    builder.date = raw.date
    body = _body_size(pages)
    title = _title(raw.pages, body)
    levels = _headings(pages, raw.outline, body, title)
    compounds = frozenset(word for lines in pages for line in lines for word in _COMPOUND.findall(line.text))
    texts = [
        text
        for number, lines in enumerate(pages, 1)
        for text in _headings_and_paragraphs(number, lines, levels, compounds)
    ]
    for each in _join_over_pages(texts, compounds):
        if each.level:
            builder.heading(each.level, each.text)
        else:
            builder.block(each.text, page=each.page, tight=bool(_ITEM.match(each.text)))
    return raw.title or as_title(" ".join(title))


# --- raw text and metadata -------------------------------------------------------------------------------------------


def _read_raw(data: bytes, name: str) -> _RawDocument:
    try:
        document = pypdfium2.PdfDocument(data)
        try:
            hidden: list[tuple[str, str]] = []
            pages = [_lines(page, hidden) for page in document]
            properties = [document.get_metadata_value(each) for each in ("Subject", "Keywords", "Author")]
            hidden += [("its properties", each) for each in properties if each]
            title = as_title(document.get_metadata_value("Title"))
            date = iso_date(document.get_metadata_value("CreationDate"))
            return _RawDocument(pages, title, date, list(_outline(document)), hidden)
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
            text, removed = without_unseen(text, text_page, unseen)
            hidden += removed
        lines = []
        start = 0
        for end in [*_LINE_END.finditer(text), None]:
            piece = text[start : end.start() if end else len(text)]
            words = _DOT_LEADER.sub(" … ", " ".join(clean(piece).split()))
            if words and end and end[1]:
                words += "-"
            lines.append(_Line(words, *_font_of(text_page, start, piece)) if words else _Line(""))
            start = end.end() if end else start
        return lines
    finally:
        text_page.close()
        page.close()


def _font_of(text_page: pypdfium2.PdfTextPage, start: int, piece: str) -> tuple[float, bool]:
    """The font size of a line, and whether it is bold, judged by its first and last character."""
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
    return (
        bool(_BOLD_FONT.search(name.value.decode("latin-1"))) or pdfium.FPDFText_GetFontWeight(text_page, place) >= 600
    )


def _outline(document: pypdfium2.PdfDocument) -> Iterator[tuple[int, int, str]]:
    for entry in document.get_toc(max_depth=MAX_HEADING_LEVEL):
        target = entry.get_dest()
        page = target.get_index() if target else None
        if page is not None:
            yield page, entry.level + 1, letters_and_digits(entry.get_title())


# --- which lines are headings ----------------------------------------------------------------------------------------

Levels = dict[tuple[int, int], int]  # (page from 1, line on the page) -> heading level


def _body_size(pages: Sequence[Sequence[_Line]]) -> float:
    """The font size of most of the text."""
    sizes: Counter[float] = Counter()
    for line in (line for lines in pages for line in lines if line.text):
        sizes[line.size] += len(line.text)
    return max(sizes, key=lambda size: sizes[size], default=0.0)


def _title(pages: Sequence[Sequence[_Line]], body: float) -> list[str]:
    """The consecutive lines on the first page that are larger than all others in the document."""
    largest = max((line.size for lines in pages for line in lines), default=0.0)
    first = [place for place, line in enumerate(pages[0]) if line.size == largest] if pages else []
    if not first or len(first) > 4 or first[-1] - first[0] >= len(first):
        return []
    title = [pages[0][place] for place in first]
    others = any(line.size == largest for lines in pages[1:] for line in lines)
    fits = largest > body * HEADING_SIZE_RATIO and all(_looks_like_heading(line, body) for line in title)
    return [line.text for line in title] if fits and not others and not _NUMBERED.match(title[0].text) else []


def _headings(
    pages: Sequence[Sequence[_Line]], outline: Sequence[tuple[int, int, str]], body: float, title: Sequence[str]
) -> Levels:
    """The headings: from the outline if it matches the text, else by font size and weight."""
    if levels := _headings_from_outline(pages, outline):
        return levels
    found = [
        (number, place, line)
        for number, lines in enumerate(pages, 1)
        for place, line in enumerate(lines)
        if _looks_like_heading(line, body) and not (number == 1 and line.text in title)
    ]
    if len(found) > MAX_HEADING_SHARE * sum(bool(line.text) for lines in pages for line in lines):
        return {}
    ranks = sorted({line.size for *_, line in found}, reverse=True)
    return {(number, place): _level(line, ranks) for number, place, line in found}


def _looks_like_heading(line: _Line, body: float) -> bool:
    text = line.text
    if (
        not 3 <= len(text) <= MAX_HEADING_CHARS
        or text[-1] in ".,;:-"
        or not (line.bold or line.size > body * HEADING_SIZE_RATIO)
    ):
        return False
    if sum(letter.isalpha() for letter in text) < max(3, len(text) / 2):
        return False
    if line.size > body * HEADING_SIZE_RATIO:
        return True
    named = _NUMBERED.match(text) or _SECTION_NAME.fullmatch(text) or text.isupper()
    return line.bold and line.size >= body * 0.95 and bool(named)


def _level(line: _Line, ranks: Sequence[float]) -> int:
    numbered = _NUMBERED.match(line.text)
    level = numbered[1].count(".") + 1 if numbered else ranks.index(line.size) + 1
    return min(level, MAX_HEADING_LEVEL)


def _headings_from_outline(pages: Sequence[Sequence[_Line]], outline: Sequence[tuple[int, int, str]]) -> Levels:
    """The lines that match the outline on the pages it points to; empty if more than half of it is not found."""
    levels: Levels = {}
    found = 0
    for page, level, wanted in outline:
        lines = pages[page] if page < len(pages) else []
        for place, line in enumerate(lines):
            letters = letters_and_digits(line.text)
            if not letters or not wanted or (page + 1, place) in levels:
                continue
            two = letters + letters_and_digits(lines[place + 1].text) if place + 1 < len(lines) else letters
            if letters.endswith(wanted) and len(letters) <= len(wanted) + 10:
                levels[page + 1, place] = level
            elif two.endswith(wanted) and len(two) <= len(wanted) + 10 and len(wanted) > len(letters) / 2:
                levels[page + 1, place] = levels[page + 1, place + 1] = level
            else:
                continue
            found += 1
            break
    return levels if found * 2 >= len(outline) else {}


# --- lines into paragraphs -------------------------------------------------------------------------------------------


def _without_running_lines(pages: list[list[_Line]]) -> list[list[_Line]]:
    """The pages without headers, footers and page numbers: first or last lines that recur with other digits."""
    edges = Counter(
        edge for lines in pages for edge in {_mask_digits(line) for line in (*lines[:2], *lines[-2:]) if line.text}
    )
    running = {edge for edge, count in edges.items() if count >= 3 and ("#" in edge or count > len(pages) / 2)}
    return [_trim_edges(lines, running) for lines in pages]


def _trim_edges(lines: list[_Line], running: set[str]) -> list[_Line]:
    middle = lines[2:-2]
    first, last = lines[:2], lines[2:][-2:]
    kept = [line for line in first if _mask_digits(line) not in running]
    kept += middle
    kept += [line for line in last if _mask_digits(line) not in running]
    return kept if any(line.text for line in kept) else []


def _mask_digits(line: _Line) -> str:
    return re.sub(r"\d+", "#", line.text)


def _headings_and_paragraphs(
    page: int, lines: Sequence[_Line], levels: Levels, compounds: frozenset[str]
) -> Iterator[_Text]:
    """The headings and paragraphs of a page. The lines of one heading are adjacent and of the same size."""
    numbered = ((levels.get((page, place), 0), line) for place, line in enumerate(lines))
    for (level, _), group in groupby(numbered, key=lambda each: (each[0], each[1].size if each[0] else 0.0)):
        run = [line.text for _, line in group]
        if level:
            heading = ""
            for text in run:
                if heading and _NUMBERED.match(text):
                    yield _Text(page, heading, level)
                    heading = ""
                heading = _join_lines(heading, text, compounds)
            yield _Text(page, heading, level)
        else:
            yield from (_Text(page, text) for text in _paragraphs(run, compounds))


def _paragraphs(lines: Sequence[str], compounds: frozenset[str]) -> Iterator[str]:
    """Join the lines of a page into paragraphs."""
    lengths = sorted(len(line) for line in lines if line)
    usual_length = lengths[len(lengths) * 9 // 10] if lengths else 0
    text = previous = ""
    for line in lines:
        if not line or (text and _ends_paragraph(previous, line, usual_length)):
            if text:
                yield text
            text = line
        else:
            text = _join_lines(text, line, compounds)
        previous = line
    if text:
        yield text


def _ends_paragraph(line: str, following: str, usual_length: int) -> bool:
    """Whether a paragraph ends with this line."""
    if _ITEM.match(following):
        return True
    if len(line) >= usual_length * _SHORT_LINE:
        return False
    return bool(_SENTENCE_END.search(line[-10:])) or not following[:1].islower()


def _join_lines(text: str, line: str, compounds: frozenset[str]) -> str:
    """Join two lines; a word broken by a hyphen is mended, unless it is spelled with a hyphen elsewhere."""
    broken = _BROKEN_WORD.search(text, max(0, len(text) - MAX_BROKEN_WORD_CHARS)) if text.endswith("-") else None
    if not text or not broken:
        return f"{text} {line}".strip()
    compound = _COMPOUND.match(f"{broken[1]}-{line}")
    keeps_hyphen = not line[0].islower() or (compound is not None and compound[0] in compounds)
    return (text if keeps_hyphen else text[:-1]) + line


def _join_over_pages(texts: Sequence[_Text], compounds: frozenset[str]) -> Iterator[_Text]:
    """Join paragraphs that continue over a page break; they count for the page they begin on."""
    before: _Text | None = None
    for following in texts:
        if before is None:
            before = following
        elif _continues(before, following):
            before = _Text(before.page, _join_lines(before.text, following.text, compounds))
        else:
            yield before
            before = following
    if before is not None:
        yield before


def _continues(text: _Text, following: _Text) -> bool:
    if text.level or following.level or text.page == following.page or len(text.text) > MAX_JOINED_PARAGRAPH_CHARS:
        return False
    return following.text[:1].islower() and not _SENTENCE_END.search(text.text[-10:])
