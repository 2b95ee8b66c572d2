"""PDF, read into paragraphs by page."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterator

import pypdfium2

from turnwise.documents.blocks import Builder
from turnwise.errors import EncryptedDocument, UnreadableDocument
from turnwise.text import clean

_lock = threading.Lock()  # PDFium must not be entered by two threads at once

_SENTENCE_END = re.compile(r"[.!?…:][\"'”’)\]]*$")
_ITEM = re.compile(r"(?:[-*•‣▪–]|\(?\d{1,3}[.)]|\(?[a-z][.)]|\d+(?:\.\d+)+)\s")  # also "2.1 Methods"
_BROKEN_WORD = re.compile(r"([^\W_]*[^\W\d_])-$")
_COMPOUND = re.compile(r"[^\W_]+-[^\W_]+")
_NOT_A_TITLE = re.compile(
    r"^(?:untitled|document\d*|title|slide \d+|powerpoint presentation|microsoft \w+ -.*|.*\.[a-z]{2,4}x?)$",
    re.IGNORECASE,
)
_SHORT = 0.75  # of a page's usual line: a shorter one may end a paragraph


def read_pdf(data: bytes, name: str, builder: Builder) -> str:
    """Put the document into the builder. Gives its title from the metadata, where that looks like one."""
    with _lock:
        pages, title = _extract(data, name)
    pages = _without_running_lines(pages)
    if not any(pages):
        raise UnreadableDocument(
            f"{name} has no text: it looks scanned.", "Run it through text recognition (OCR) first and add the result."
        )
    compounds = frozenset(word for lines in pages for line in lines for word in _COMPOUND.findall(line))
    paragraphs = [(number, text) for number, lines in enumerate(pages, 1) for text in _paragraphs(lines, compounds)]
    for number, text in _joined_over_pages(paragraphs, compounds):
        builder.block(text, page=number, tight=bool(_ITEM.match(text)))
    return title


def _extract(data: bytes, name: str) -> tuple[list[list[str]], str]:
    try:
        document = pypdfium2.PdfDocument(data)
        try:
            pages = [_lines(page) for page in document]
            title = clean(document.get_metadata_value("Title"))
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
    return pages, "" if _NOT_A_TITLE.match(title) or not 3 < len(title) < 250 else title


def _lines(page: pypdfium2.PdfPage) -> list[str]:
    text_page = page.get_textpage()
    try:
        text = text_page.get_text_range()
    finally:
        text_page.close()
        page.close()
    # PDFium writes U+FFFE (or U+0002) where it saw a hyphen that breaks a word.
    text = re.sub("[\ufffe\x02](?:\r?\n)?", "-\n", text)
    return [line.strip() for line in clean(text).split("\n")]


def _without_running_lines(pages: list[list[str]]) -> list[list[str]]:
    """The pages without headers, footers and page numbers: first or last lines that recur but for digits."""
    edges = Counter(edge for lines in pages for edge in {_masked(line) for line in (*lines[:2], *lines[-2:]) if line})
    running = {edge for edge, count in edges.items() if count >= 3 and ("#" in edge or count > len(pages) / 2)}
    return [_trimmed(lines, running) for lines in pages]


def _trimmed(lines: list[str], running: set[str]) -> list[str]:
    middle = lines[2:-2]
    first, last = lines[:2], lines[2:][-2:]
    kept = [line for line in first if _masked(line) not in running]
    kept += middle
    kept += [line for line in last if _masked(line) not in running]
    return kept if any(kept) else []


def _masked(line: str) -> str:
    return re.sub(r"\d+", "#", line)


def _paragraphs(lines: list[str], compounds: frozenset[str]) -> Iterator[str]:
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
    return bool(_SENTENCE_END.search(line)) or not following[:1].islower()


def _joined(text: str, line: str, compounds: frozenset[str]) -> str:
    """Two lines as one; a word broken by a hyphen is whole again, unless it is written with a hyphen elsewhere."""
    broken = _BROKEN_WORD.search(text)
    if not text or not broken:
        return f"{text} {line}".strip()
    compound = _COMPOUND.match(f"{broken[1]}-{line}")
    keeps_hyphen = not line[0].islower() or (compound is not None and compound[0] in compounds)
    return (text if keeps_hyphen else text[:-1]) + line


def _joined_over_pages(paragraphs: list[tuple[int, str]], compounds: frozenset[str]) -> Iterator[tuple[int, str]]:
    """Paragraphs with the page they begin on; one that goes on over the page break is whole."""
    page, text = 0, ""
    for number, following in paragraphs:
        if text and number != page and following[:1].islower() and not _SENTENCE_END.search(text):
            text = _joined(text, following, compounds)
            continue
        if text:
            yield page, text
        page, text = number, following
    if text:
        yield page, text
