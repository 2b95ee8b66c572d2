"""Bibliographies: BibTeX, RIS, CSL-JSON and Zotero RDF files, and the files their entries refer to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

from turnwise.documents.bibliography.bibtex import read_bibtex
from turnwise.documents.bibliography.csl_json import read_csl
from turnwise.documents.bibliography.entry import Entry
from turnwise.documents.bibliography.ris import read_ris
from turnwise.documents.decoding import decode
from turnwise.documents.parse import read_file
from turnwise.errors import UnreadableDocument

__all__ = ["BIBLIOGRAPHIES", "Entry", "attached_files", "read_bibliography"]

BIBLIOGRAPHIES = (".bib", ".ris", ".rdf", ".json")
MAX_BIBLIOGRAPHY_BYTES = 32 * 1024 * 1024  # about a hundred thousand entries


def read_bibliography(path: Path) -> list[Entry] | None:
    """Read the entries of a bibliography file. Returns None for a JSON file that is not one."""
    data = read_file(path)
    if len(data) > MAX_BIBLIOGRAPHY_BYTES:
        if path.suffix.lower() == ".json":
            return None
        raise UnreadableDocument(f"{path} is larger than {MAX_BIBLIOGRAPHY_BYTES >> 20} MB.", "Split it.")
    text = decode(path.name, data)
    if not text.strip() and path.suffix.lower() != ".json":
        raise UnreadableDocument(f"{path} is empty.", "Leave it out or fill it.")
    match path.suffix.lower():
        case ".bib":
            entries = list(read_bibtex(text))
        case ".ris":
            entries = list(read_ris(text))
        case ".rdf":
            entries = _parse_rdf(text)
        case _:
            return read_csl(text)
    if not entries:
        raise UnreadableDocument(
            f"{path} has no entries that can be read.", "Export it again as BibTeX, RIS, CSL-JSON or Zotero RDF."
        )
    return entries


def _parse_rdf(text: str) -> list[Entry]:
    from xml.etree.ElementTree import ParseError

    from turnwise.documents.bibliography.zotero_rdf import read_rdf

    if "<!ENTITY" in text:  # never in a real export, and can expand to any amount of text
        return []
    try:
        return read_rdf(text)
    except ParseError:
        return []


def attached_files(entry: Entry, folder: Path) -> tuple[list[Path], list[str]]:
    """Return the files of an entry that exist, and the names of those that do not. Names are relative to `folder`."""
    existing, missing = [], []
    for name in entry.files:
        candidates = [folder / each for each in _possible_paths(name)]
        found = next((path for path in candidates if os.path.isfile(path)), None)
        if found is not None:
            existing.append(found)
        else:
            missing.append(str(candidates[0]))
    return existing, missing


def _possible_paths(name: str) -> Iterator[str]:
    """The paths a file name may mean: as a file: URL, as written, or with backslashes turned to slashes."""
    if name.startswith("file:"):
        with suppress(ValueError):  # not a valid URL
            yield unquote(urlsplit(name).path)
    yield name
    yield name.replace("\\", "/")
    yield f"/{name}"  # Mendeley writes home/me/a.pdf
