"""Documents, read into text with its structure: Markdown, plain text, HTML and PDF."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from turnwise.documents.blocks import Block, Builder, Parsed
from turnwise.errors import UnreadableDocument, UnsupportedDocument
from turnwise.text import clean

__all__ = ["SUPPORTED", "Block", "Parsed", "parse", "parse_bytes"]

_MARKDOWN = (".md", ".markdown")
_TEXT = (".txt", ".text")
_HTML = (".html", ".htm", ".xhtml")
_PDF = (".pdf",)
SUPPORTED = (*_MARKDOWN, *_TEXT, *_HTML, *_PDF)

_NOT_IN_TEXT = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x9f\ufffd]")
_MOST_RUBBISH = 0.05  # of the characters, in a file that still counts as text
_UNDERLINED = re.compile(r"\s*(\S[^\n]{0,150})\n[ \t]*(={3,}|-{3,})[ \t]*(?:\n|$)")
_PARAGRAPH_END = re.compile(r"\n[ \t]*\n\s*")


def parse(path: Path) -> Parsed:
    """The document at a path. Raises a DocumentError that says why it cannot be read."""
    return parse_bytes(path.name, read(path))


def read(path: Path) -> bytes:
    """The bytes of a file of a supported kind."""
    _require_supported(path.name)
    try:
        return path.read_bytes()
    except OSError as error:
        raise UnreadableDocument(
            f"{path} cannot be read: {error.strerror}.", "Check the path and that you may read it."
        ) from error


def parse_bytes(name: str, data: bytes) -> Parsed:
    """The document in these bytes; the ending of its name says what kind it is."""
    _require_supported(name)
    if not data.strip():
        raise UnreadableDocument(f"{name} is empty.", "Leave it out or fill it.")
    builder = Builder()
    title = _read_into(builder, name, data)
    parsed = builder.build(clean(title) or Path(name).stem)
    if not parsed.blocks:
        raise UnreadableDocument(f"{name} has no text in it.", "Leave it out or fill it.")
    return parsed


def _read_into(builder: Builder, name: str, data: bytes) -> str:
    suffix = Path(name).suffix.lower()
    if suffix in _PDF:
        from turnwise.documents.read_pdf import read_pdf

        return read_pdf(data, name, builder)
    text = _decode(name, data)
    if suffix in _HTML:
        from turnwise.documents.read_html import read_html

        return read_html(text, builder)
    if suffix in _MARKDOWN:
        from turnwise.documents.read_markdown import read_markdown

        return read_markdown(text, builder)
    return _read_text(text.replace("\r\n", "\n").replace("\r", "\n"), builder)


def _read_text(text: str, builder: Builder) -> str:
    """Put a plain text into the builder; a line that is underlined is a heading. Gives the main one, else ""."""
    for paragraph in _PARAGRAPH_END.split(text):
        underlined = _UNDERLINED.match(paragraph)
        if underlined:
            builder.heading(1 if underlined[2][0] == "=" else 2, underlined[1])
        builder.block(paragraph[underlined.end() :] if underlined else paragraph)
    return builder.main_heading


def _require_supported(name: str) -> None:
    if Path(name).suffix.lower() not in SUPPORTED:
        raise UnsupportedDocument(
            f"{name} is not of a kind that can be read.", f"Markdown, text, HTML and PDF can: {', '.join(SUPPORTED)}."
        )


def _decode(name: str, data: bytes) -> str:
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
