"""Parses documents into text with structure: picks the reader for each kind, and makes the checks common to all."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from itertools import takewhile, zip_longest
from pathlib import Path

from turnwise.documents.blocks import Block, Builder, Parsed
from turnwise.documents.decoding import decode
from turnwise.errors import DocumentError, EncryptedDocument, UnreadableDocument, UnsupportedDocument
from turnwise.text import clean

__all__ = ["Block", "Parsed", "parse", "parse_bytes"]

KINDS: dict[str, tuple[str, ...]] = {
    "Markdown": (".md", ".markdown"),
    "text": (".txt", ".text", ".rst", ".tex"),
    "HTML": (".html", ".htm", ".xhtml"),
    "PDF": (".pdf",),
    "Word": (".docx",),
    "PowerPoint": (".pptx",),
    "Excel": (".xlsx", ".xlsm"),
    "OpenDocument": (".odt", ".ods", ".odp"),
    "EPUB": (".epub",),
    "CSV": (".csv", ".tsv"),
    "Jupyter": (".ipynb",),
    "code": tuple(
        """.py .pyi .js .mjs .jsx .ts .tsx .java .kt .scala .c .h .cc .cpp .hpp .cs .go .rs .rb .php .swift .lua .pl .r
        .jl .sh .bash .sql .toml .yaml .yml .json .ini .cfg .proto""".split()
    ),
}
MAX_FILE_BYTES = 256 * 1024 * 1024
MAX_TITLE_LINES, MAX_TITLE_CHARS = 4, 60  # at the top of a plain text
HEADING_LOOKAHEAD_LINES = 10  # in plain text, to decide whether the line above them is a heading
VERSION = 11  # of the readers: adding a document again re-reads it if an older version read it

_KIND_OF = {ending: kind for kind, endings in KINDS.items() for ending in endings}
_PURE_PYTHON = ("Markdown", "text", "CSV", "Jupyter", "code")  # read by Python code in linear time
_SIGNATURES = {
    b"%PDF-": "a PDF",
    b"PK\x03\x04": "a ZIP archive (as Word, PowerPoint, Excel and EPUB files are)",
    b"\xd0\xcf\x11\xe0": "an old or a protected Office file",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
    b"\x1f\x8b": "a compressed file",
    b"\x7fELF": "a program",
}
_OFFICE = ("Word", "PowerPoint", "Excel")
_EXPECTED_SIGNATURES = {"PDF": b"%PDF-", **dict.fromkeys((*_OFFICE, "OpenDocument", "EPUB"), b"PK\x03\x04")}

_UNDERLINED = re.compile(r"\s*(\S[^\n]{0,150})\n[ \t]*(={3,}|-{3,})[ \t]*(?:\n|$)")
_PARAGRAPH_END = re.compile(r"\n[ \t]*\n\s*")
_TITLE = re.compile(  # only a numbered one may contain commas
    r"(?:\(?(?:\d{1,2}[.)]?){1,3}\s|[IVX]{1,5}\.\s|§ ?\d+\s)[^\W\d_a-z][^.;:!?|\t{}=<>\d]{1,59}[?]?"
    r"|[^\W\d_a-z][^.,;:!?|\t{}=<>\d]{1,59}[?]?"
)
_SALUTATION = re.compile(  # how letters begin and end: not a heading
    r"(?:dear|hi|hello|hey|good (?:morning|afternoon|evening)|kind|best|warm|yours|sincerely|regards|thanks|thank|"
    r"cheers|sehr|liebe[rs]?|hallo|guten|mit|viele|cher|chère|bonjour|cordialement|estimad[oa]|querid[oa]|hola|saludos)\b",
    re.I,
)
_SENTENCE_BEGINS = re.compile(r"\s*[“\"‘(]?[^\W\d_a-z][^|\t]{30,}")
_SENTENCE_ENDS = re.compile(r"[a-z\d)][.!?][\"'”’)]*(?:\s|$)", re.I)


def parse(path: Path) -> Parsed:
    """Parse the document at a path. Raises DocumentError if it cannot be read."""
    require_supported(path.name)
    return parse_bytes(path.name, read_file(path))


def read_file(path: Path) -> bytes:
    """Return the bytes of a file. A file that is being written is refused, because only part of it would be stored."""
    hint = "Check the path, and that you have permission to read it."
    try:
        # Non-blocking, because a pipe in place of the file could block forever.
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)), "rb") as file:
            before = os.fstat(file.fileno())
            if not stat.S_ISREG(before.st_mode):
                raise UnreadableDocument(f"{path} is not a file.", "Give a file or a folder.")
            data = file.read(MAX_FILE_BYTES + 1)
            after = os.fstat(file.fileno())
    except OSError as error:
        raise UnreadableDocument(f"{path} cannot be read: {error.strerror}.", hint) from error
    if len(data) > MAX_FILE_BYTES:
        raise UnreadableDocument(f"{path} is larger than {MAX_FILE_BYTES >> 20} MB.", "Split it.")
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise UnreadableDocument(f"{path} is being written.", "Add it again when that is done.")
    return data


def parse_bytes(name: str, data: bytes) -> Parsed:
    """Parse a document from bytes; the extension of its name decides the kind."""
    require_supported(name)
    if not data.strip():
        raise UnreadableDocument(f"{name} is empty.", "Leave it out or fill it.")
    _require_matching_content(name, data)
    builder = Builder()
    try:
        title = _read_into(builder, name, data)
        parsed = builder.build(clean(title) or Path(name).stem)
    except (DocumentError, MemoryError):
        raise
    except Exception as error:  # the libraries can raise anything on a broken file
        reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise UnreadableDocument(
            f"{name} cannot be read: {reason}", "Check that it opens in the program it is for."
        ) from error
    if not parsed.blocks and parsed.hidden:
        raise UnreadableDocument(f"{name} has no text that a reader would see.", "Leave it out, or make it visible.")
    if not parsed.blocks:
        raise UnreadableDocument(f"{name} has no text in it.", "Leave it out or fill it.")
    return parsed


def is_supported(name: str) -> bool:
    return Path(name).suffix.lower() in _KIND_OF


def is_pure(name: str) -> bool:
    """Whether such a document is read without a native library that a broken file could crash."""
    return kind_of(name) in _PURE_PYTHON


def kind_of(name: str) -> str:
    return _KIND_OF.get(Path(name).suffix.lower(), "")


def require_supported(name: str) -> None:
    if not is_supported(name):
        raise UnsupportedDocument(
            f"{name} is not a supported kind of file.",
            f"Supported: {', '.join(KINDS)}.",
        )


def _read_into(builder: Builder, name: str, data: bytes) -> str:
    """Read the document into the builder. Returns its title, or ""."""
    match kind_of(name):
        case "PDF":
            from turnwise.documents.read_pdf import read_pdf

            return read_pdf(data, name, builder)
        case "Word":
            from turnwise.documents.read_docx import read_docx

            return read_docx(data, name, builder)
        case "PowerPoint":
            from turnwise.documents.read_pptx import read_pptx

            return read_pptx(data, name, builder)
        case "Excel":
            from turnwise.documents.read_xlsx import read_xlsx

            return read_xlsx(data, name, builder)
        case "OpenDocument":
            from turnwise.documents.read_odt import read_odt

            return read_odt(data, name, builder)
        case "EPUB":
            from turnwise.documents.read_epub import read_epub

            return read_epub(data, name, builder)
    text = decode(name, data)
    match kind_of(name):
        case "HTML":
            from turnwise.documents.read_html import read_html

            return read_html(text, builder)
        case "Markdown":
            from turnwise.documents.read_markdown import read_markdown

            return read_markdown(text, builder)
        case "CSV":
            from turnwise.documents.read_csv import read_csv

            return read_csv(text, name, builder)
        case "Jupyter":
            from turnwise.documents.read_ipynb import read_ipynb

            return read_ipynb(text, name, builder)
        case "code":
            from turnwise.documents.read_code import read_code

            return read_code(text, name, builder)
    return _read_text(text.replace("\r\n", "\n").replace("\r", "\n"), builder)


def _require_matching_content(name: str, data: bytes) -> None:
    """Refuse a file whose content is clearly not of the kind its name says."""
    kind = kind_of(name)
    expected = _EXPECTED_SIGNATURES.get(kind)
    if expected is not None and expected in data[:1024]:
        return
    found = next((what for signature, what in _SIGNATURES.items() if data.startswith(signature)), "")
    if kind in _OFFICE and data.startswith(b"\xd0\xcf\x11\xe0"):
        raise EncryptedDocument(
            f"{name} is protected by a password, or of an old format.",
            "Save a copy without the password, in the current format.",
        )
    if found:
        raise UnreadableDocument(
            f"{name} is not what its name says: it looks like {found}.", "Give it the matching extension."
        )
    if expected is not None and kind != "PDF":  # the PDF reader gives a better error
        raise UnreadableDocument(
            f"{name} is not {'an' if kind[0] in 'EO' else 'a'} {kind} file.", "Give it the matching extension."
        )


def _read_text(text: str, builder: Builder) -> str:
    """Read plain text into the builder. Returns the main heading, or "".

    An underlined line is a heading, and so is a short one without end punctuation above sentences."""
    paragraphs = _PARAGRAPH_END.split(text)
    if title := _title_page(paragraphs):
        lines = paragraphs.pop(0).strip().splitlines()
        builder.heading(1, title)
        builder.block("\n".join(lines[title.count(" – ") + 1 :]))
    for paragraph, after in zip_longest(paragraphs, paragraphs[1:], fillvalue=""):
        underlined = _UNDERLINED.match(paragraph)
        if underlined:
            builder.heading(1 if underlined[2][0] == "=" else 2, underlined[1])
            builder.block(paragraph[underlined.end() :])
            continue
        kept: list[str] = []
        lines = paragraph.splitlines()
        for number, line in enumerate(lines):
            begins = number == 0 and paragraph is paragraphs[0]
            below = lines[number + 1 : number + 1 + HEADING_LOOKAHEAD_LINES]
            alone = not kept or bool(below and _SENTENCE_ENDS.search(lines[number - 1]))
            if alone and _is_heading(line, below or after[:1000].splitlines()[:HEADING_LOOKAHEAD_LINES]):
                builder.block("\n".join(kept))
                kept = []
                named = begins and line.strip()[0].isalpha() and not line.rstrip().endswith("?")
                builder.heading(1 if named else 2, line.strip())
            else:
                kept.append(line)
        builder.block("\n".join(kept))
    return builder.main_heading


def _title_page(paragraphs: Sequence[str]) -> str:
    """The title of a plain text that begins with a few short lines and nothing else, such as the name of a firm, of the
    document, and a date: the first two that could be headings. "" if it does not begin so."""
    lines = [line.strip() for line in paragraphs[0].strip().splitlines()]
    short = all(len(line) <= MAX_TITLE_CHARS and not _SENTENCE_ENDS.search(line) for line in lines)
    if _UNDERLINED.match(paragraphs[0]) or not short or not 1 < len(lines) <= MAX_TITLE_LINES or len(paragraphs) < 2:
        return ""
    return " – ".join(takewhile(_TITLE.fullmatch, lines[:2]))


def _is_heading(line: str, below: Sequence[str]) -> bool:
    """Whether a line of plain text is the heading of what follows.

    It is short, begins with a capital or a number, has no end punctuation, and the first word of the sentence below
    would have fitted on the same line."""
    title = line.strip()
    if not _TITLE.fullmatch(title) or _SALUTATION.match(title) or not below or not _SENTENCE_BEGINS.match(below[0]):
        return False
    fits = len(title) + 1 + len(below[0].split()[0]) <= 0.8 * len(below[0])
    return fits and any(map(_SENTENCE_ENDS.search, below))
