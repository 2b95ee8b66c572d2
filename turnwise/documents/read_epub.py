"""Reads EPUB books into headings and blocks, chapter by chapter in reading order."""

from __future__ import annotations

import posixpath
from contextlib import suppress
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree
from xml.etree.ElementTree import Element
from zipfile import ZipFile

from turnwise.documents.archive import open_archive
from turnwise.documents.blocks import Builder, as_title, iso_date
from turnwise.documents.decoding import decode
from turnwise.documents.read_html import read_html
from turnwise.errors import EncryptedDocument, UnreadableDocument


def read_epub(data: bytes, name: str, builder: Builder) -> str:
    """Read the book into the builder. Returns its stated title, or "". Chapters that are missing or no text are
    skipped."""
    with open_archive(data, name) as archive:
        files = set(archive.namelist())
        package_path = _package_path(archive, files, name)
        package = ElementTree.fromstring(archive.read(package_path))
        chapters = [path for path in _spine(package, posixpath.dirname(package_path)) if path in files]
        if "META-INF/rights.xml" in files or (not chapters and "META-INF/encryption.xml" in files):
            raise EncryptedDocument(f"{name} is copy-protected.", "Books with copy protection cannot be read.")
        for chapter in chapters:
            with suppress(UnreadableDocument):  # a picture
                read_html(decode(chapter, archive.read(chapter)), builder)
    metadata = {_tag(each): (each.text or "").strip() for each in reversed(list(package.iter())) if each.text}
    builder.date = iso_date(metadata.get("date", ""))
    return as_title(metadata.get("title", ""))


def _package_path(archive: ZipFile, files: set[str], name: str) -> str:
    """The path of the package file, which lists the contents of the book."""
    if "META-INF/container.xml" in files:
        for each in ElementTree.fromstring(archive.read("META-INF/container.xml")).iter():
            if _tag(each) == "rootfile" and (path := each.get("full-path", "")) in files:
                return path
    raise UnreadableDocument(f"{name} is not a readable EPUB.", "Check that it opens in an e-book reader.")


def _spine(package: Element, folder: str) -> list[str]:
    """The paths of the chapters, in reading order."""
    places = {each.get("id"): each.get("href", "") for each in package.iter() if _tag(each) == "item"}
    chapters = [places.get(each.get("idref"), "") for each in package.iter() if _tag(each) == "itemref"]
    return [posixpath.normpath(posixpath.join(folder, unquote(urlsplit(path).path))) for path in chapters if path]


def _tag(node: Element) -> str:
    return node.tag.rpartition("}")[2] if isinstance(node.tag, str) else ""
