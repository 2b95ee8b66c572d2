"""Reads Zotero RDF, the format in which Zotero exports a library with its files."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from turnwise.documents.bibliography.csl import csl_fields, csl_type
from turnwise.documents.bibliography.entry import Entry, make_key, url_of
from turnwise.documents.blocks import iso_date

_NOT_A_WORK = ("attachment", "memo", "collection", "journal", "website", "series")
_RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"


def read_rdf(text: str) -> list[Entry]:
    """The works in the file. Raises ElementTree.ParseError if it is not XML."""
    by_address = {each.get(f"{_RDF}about", ""): each for each in ElementTree.fromstring(text.encode())}
    return [
        _entry(each, by_address)
        for each in by_address.values()
        if _tag(each) not in _NOT_A_WORK and _text_of(each, "title")
    ]


def _entry(work: Element, by_address: dict[str, Element]) -> Entry:
    parts = [part for each in _children(work, "ispartof") for part in _targets(each, by_address)]
    authors = [
        _person(each) for people in _children(work, "authors") for each in people.iter() if _tag(each) == "person"
    ]
    identifiers = [
        " ".join(each.itertext()).strip() for place in (work, *parts) for each in _children(place, "identifier")
    ]
    url = next((each for each in identifiers if each.startswith(("http://", "https://"))), "")
    doi = next((each for each in identifiers if each.upper().startswith("DOI")), "")
    date, title = iso_date(_text_of(work, "date")), _text_of(work, "title")
    editors = [
        _person(each) for people in _children(work, "editors") for each in people.iter() if _tag(each) == "person"
    ]

    def first(tag: str, *places: Element) -> str:
        return next((text for place in places if (text := _text_of(place, tag))), "")

    csl = csl_fields(
        type=csl_type(_text_of(work, "itemtype")),
        container_title=first("title", *(part for part in parts if _tag(part) != "series")),
        collection_title=first("title", *(part for part in parts if _tag(part) == "series")),
        editor="; ".join(editor for editor in editors if editor),
        volume=first("volume", work, *parts),
        issue=first("number", *parts),
        number=first("number", work),
        page=_text_of(work, "pages"),
        publisher=next((_text_of(each, "name") for each in work.iter() if _tag(each) == "organization"), ""),
        publisher_place=next(
            (" ".join(each.itertext()).strip() for each in work.iter() if _tag(each) == "locality"), ""
        ),
        edition=_text_of(work, "edition"),
        DOI=doi,
    )
    return Entry(
        _text_of(work, "citationkey") or make_key(authors, date, title),
        title,
        tuple(author for author in authors if author),
        date,
        next((_text_of(part, "title") for part in parts if _text_of(part, "title")), "") or _text_of(work, "publisher"),
        _text_of(work, "abstract"),
        ", ".join(" ".join(each.itertext()).strip() for each in _children(work, "subject")),
        url_of(url, doi),
        tuple(path for link in _children(work, "link") for each in _targets(link, by_address) for path in _paths(each)),
        csl,
    )


def _targets(node: Element, by_address: dict[str, Element]) -> list[Element]:
    """The elements inside a node, and the one it refers to."""
    other = by_address.get(node.get(f"{_RDF}resource", ""))
    return [*node, *([other] if other is not None else [])]


def _paths(attachment: Element) -> Iterator[str]:
    for each in attachment:
        if _tag(each) in ("resource", "path"):
            path = each.get(f"{_RDF}resource", "") or (each.text or "").strip()
            if path and not path.startswith(("http://", "https://")):
                yield path


def _person(node: Element) -> str:
    return f"{_text_of(node, 'surname')}, {_text_of(node, 'givenname')}".strip(", ")


def _text_of(node: Element, tag: str) -> str:
    """The text of the first child with that tag."""
    found = next((" ".join(each.itertext()) for each in _children(node, tag)), "")
    return " ".join(found.split())


def _children(node: Element, tag: str) -> list[Element]:
    return [each for each in node if _tag(each) == tag]


def _tag(node: Element) -> str:
    return node.tag.rpartition("}")[2].lower() if isinstance(node.tag, str) else ""
