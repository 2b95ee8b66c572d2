"""Documents, read into text with its structure: which reader takes which kind, and what holds for all."""

from __future__ import annotations

import codecs
import os
import re
import stat
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path

from turnwise.documents.blocks import Block, Builder, Parsed
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
    "OpenDocument": (".odt",),
    "EPUB": (".epub",),
    "CSV": (".csv", ".tsv"),
    "Jupyter": (".ipynb",),
    "code": tuple(
        """.py .pyi .js .mjs .jsx .ts .tsx .java .kt .scala .c .h .cc .cpp .hpp .cs .go .rs .rb .php .swift .lua .pl .r
        .jl .sh .bash .sql .toml .yaml .yml .json .ini .cfg .proto""".split()
    ),
}
LARGEST = 256 * 1024 * 1024  # bytes of a file that is read
LOOKED_BELOW = 10  # lines of a plain text, for whether one above them is a heading
VERSION = 7  # of the readers: a document that an older one read is read again when it is added again

_KIND_OF = {ending: kind for kind, endings in KINDS.items() for ending in endings}
_PURE = ("Markdown", "text", "CSV", "Jupyter", "code")  # read by Python code in time that grows with the length
_SIGNATURES = {
    b"%PDF-": "a PDF",
    b"PK\x03\x04": "a ZIP archive (as Word, PowerPoint and EPUB files are)",
    b"\xd0\xcf\x11\xe0": "an old or a protected Office file",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
    b"\x1f\x8b": "a compressed file",
    b"\x7fELF": "a program",
}
_BEGINNING = {"PDF": b"%PDF-", **dict.fromkeys(("Word", "PowerPoint", "OpenDocument", "EPUB"), b"PK\x03\x04")}

_NOT_IN_TEXT = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x9f\ufffd]")
_MOST_RUBBISH = 0.05  # of the characters, in a file that still counts as text
_UNDERLINED = re.compile(r"\s*(\S[^\n]{0,150})\n[ \t]*(={3,}|-{3,})[ \t]*(?:\n|$)")
_PARAGRAPH_END = re.compile(r"\n[ \t]*\n\s*")
_TITLE = re.compile(  # one with a number may list things
    r"(?:\(?(?:\d{1,2}[.)]?){1,3}\s|[IVX]{1,5}\.\s|§ ?\d+\s)[^\W\d_a-z][^.;:!?|\t{}=<>\d]{1,59}[?]?"
    r"|[^\W\d_a-z][^.,;:!?|\t{}=<>\d]{1,59}[?]?"
)
_LETTER = re.compile(  # how letters begin and end, which is no heading
    r"(?:dear|hi|hello|hey|good (?:morning|afternoon|evening)|kind|best|warm|yours|sincerely|regards|thanks|thank|"
    r"cheers|sehr|liebe[rs]?|hallo|guten|mit|viele|cher|chère|bonjour|cordialement|estimad[oa]|querid[oa]|hola|saludos)\b",
    re.I,
)
_SENTENCE_BEGINS = re.compile(r"\s*[“\"‘(]?[^\W\d_a-z][^|\t]{30,}")
_SENTENCE_ENDS = re.compile(r"[a-z\d)][.!?][\"'”’)]*(?:\s|$)", re.I)


def parse(path: Path) -> Parsed:
    """The document at a path. Raises a DocumentError that says why it cannot be read."""
    require_supported(path.name)
    return parse_bytes(path.name, read(path))


def read(path: Path) -> bytes:
    """The bytes of a file. One that is being written meanwhile is refused, for half of it would be kept."""
    hint = "Check the path and that you may read it."
    try:
        # A pipe put in the place of the file would keep us waiting for ever.
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)), "rb") as file:
            before = os.fstat(file.fileno())
            if not stat.S_ISREG(before.st_mode):
                raise UnreadableDocument(f"{path} is not a file.", "Give a file or a folder.")
            data = file.read(LARGEST + 1)
            after = os.fstat(file.fileno())
    except OSError as error:
        raise UnreadableDocument(f"{path} cannot be read: {error.strerror}.", hint) from error
    if len(data) > LARGEST:
        raise UnreadableDocument(f"{path} is larger than {LARGEST >> 20} MB.", "Divide it.")
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise UnreadableDocument(f"{path} is being written.", "Add it again when that is done.")
    return data


def parse_bytes(name: str, data: bytes) -> Parsed:
    """The document in these bytes; the ending of its name says what kind it is."""
    require_supported(name)
    if not data.strip():
        raise UnreadableDocument(f"{name} is empty.", "Leave it out or fill it.")
    _require_honest(name, data)
    builder = Builder()
    try:
        title = _read_into(builder, name, data)
        parsed = builder.build(clean(title) or Path(name).stem)
    except (DocumentError, MemoryError):
        raise
    except Exception as error:  # the libraries behind the readers raise what they like on a broken file
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
    """Whether a document of that name is read without a library that a broken file could crash."""
    return kind_of(name) in _PURE


def kind_of(name: str) -> str:
    return _KIND_OF.get(Path(name).suffix.lower(), "")


def require_supported(name: str) -> None:
    if not is_supported(name):
        raise UnsupportedDocument(
            f"{name} is not of a kind that can be read.",
            f"These can: {', '.join(KINDS)}.",
        )


def _read_into(builder: Builder, name: str, data: bytes) -> str:
    """Put the document into the builder. Gives its title, "" where it has none."""
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


def _require_honest(name: str, data: bytes) -> None:
    """Refuse a file that is plainly of another kind than its name says."""
    kind = kind_of(name)
    expected = _BEGINNING.get(kind)
    if expected is not None and expected in data[:1024]:
        return
    found = next((what for signature, what in _SIGNATURES.items() if data.startswith(signature)), "")
    if kind in ("Word", "PowerPoint") and data.startswith(b"\xd0\xcf\x11\xe0"):
        raise EncryptedDocument(
            f"{name} is protected by a password, or of an old format.",
            "Save a copy without the password, as it is now.",
        )
    if found:
        raise UnreadableDocument(
            f"{name} is not what its name says: it looks like {found}.", "Give it the ending of what it is."
        )
    if expected is not None and kind != "PDF":  # of a PDF its reader says more
        raise UnreadableDocument(f"{name} is not a {kind} file.", "Give it the ending of what it is.")


def _read_text(text: str, builder: Builder) -> str:
    """Put a plain text into the builder; a line that is underlined is a heading, and so is a short one without an end
    above sentences. Gives the main one, else ""."""
    paragraphs = _PARAGRAPH_END.split(text)
    for paragraph, after in zip_longest(paragraphs, paragraphs[1:], fillvalue=""):
        underlined = _UNDERLINED.match(paragraph)
        if underlined:
            builder.heading(1 if underlined[2][0] == "=" else 2, underlined[1])
            builder.block(paragraph[underlined.end() :])
            continue
        written: list[str] = []
        lines = paragraph.splitlines()
        for number, line in enumerate(lines):
            begins = number == 0 and paragraph is paragraphs[0]
            below = lines[number + 1 : number + 1 + LOOKED_BELOW]
            alone = not written or bool(below and _SENTENCE_ENDS.search(lines[number - 1]))
            if alone and _is_heading(line, below or after[:1000].splitlines()[:LOOKED_BELOW]):
                builder.block("\n".join(written))
                written = []
                named = begins and line.strip()[0].isalpha() and not line.rstrip().endswith("?")
                builder.heading(1 if named else 2, line.strip())
            else:
                written.append(line)
        builder.block("\n".join(written))
    return builder.main_heading


def _is_heading(line: str, below: Sequence[str]) -> bool:
    """Whether a line of a plain text stands above what follows as its heading: it is short, begins like a name or a
    number and does not end, and below it begins a sentence whose first word would have fitted beside it."""
    title = line.strip()
    if not _TITLE.fullmatch(title) or _LETTER.match(title) or not below or not _SENTENCE_BEGINS.match(below[0]):
        return False
    fits = len(title) + 1 + len(below[0].split()[0]) <= 0.8 * len(below[0])
    return fits and any(map(_SENTENCE_ENDS.search, below))


def decode(name: str, data: bytes) -> str:
    """The text in these bytes, in any common encoding."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = data.decode("utf-16", "replace")
    else:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = data.decode("cp1252", "replace")
    if "\0" in text or len(_NOT_IN_TEXT.findall(text)) > len(text) * _MOST_RUBBISH:
        raise UnreadableDocument(f"{name} is not text.", "Check that its ending says what it is.")
    return text
