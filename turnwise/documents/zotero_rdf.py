"""Bibliographies as Zotero writes them in RDF, the format in which it exports a library with its files."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from turnwise.documents.bibliography import Entry, make_key, url_of
from turnwise.documents.blocks import iso_date
from turnwise.documents.csl import csl_fields, csl_type

_OTHERS = ("attachment", "memo", "collection", "journal", "website", "series")  # what is no work by itself
_RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"


def read_rdf(text: str) -> list[Entry]:
    """The works of the file. Raises ElementTree.ParseError where it is no XML."""
    described = {each.get(f"{_RDF}about", ""): each for each in ElementTree.fromstring(text.encode())}
    return [
        _entry(each, described) for each in described.values() if _tag(each) not in _OTHERS and _said(each, "title")
    ]


def _entry(work: Element, described: dict[str, Element]) -> Entry:
    parts = [part for each in _inner(work, "ispartof") for part in _meant(each, described)]
    authors = [_person(each) for people in _inner(work, "authors") for each in people.iter() if _tag(each) == "person"]
    identifiers = [
        " ".join(each.itertext()).strip() for place in (work, *parts) for each in _inner(place, "identifier")
    ]
    url = next((each for each in identifiers if each.startswith(("http://", "https://"))), "")
    doi = next((each for each in identifiers if each.upper().startswith("DOI")), "")
    date, title = iso_date(_said(work, "date")), _said(work, "title")
    editors = [_person(each) for people in _inner(work, "editors") for each in people.iter() if _tag(each) == "person"]

    def first(tag: str, *places: Element) -> str:
        return next((said for place in places if (said := _said(place, tag))), "")

    csl = csl_fields(
        type=csl_type(_said(work, "itemtype")),
        container_title=first("title", *(part for part in parts if _tag(part) != "series")),
        collection_title=first("title", *(part for part in parts if _tag(part) == "series")),
        editor="; ".join(editor for editor in editors if editor),
        volume=first("volume", work, *parts),
        issue=first("number", *parts),
        number=first("number", work),
        page=_said(work, "pages"),
        publisher=next((_said(each, "name") for each in work.iter() if _tag(each) == "organization"), ""),
        publisher_place=next(
            (" ".join(each.itertext()).strip() for each in work.iter() if _tag(each) == "locality"), ""
        ),
        edition=_said(work, "edition"),
        DOI=doi,
    )
    return Entry(
        _said(work, "citationkey") or make_key(authors, date, title),
        title,
        tuple(author for author in authors if author),
        date,
        next((_said(part, "title") for part in parts if _said(part, "title")), "") or _said(work, "publisher"),
        _said(work, "abstract"),
        ", ".join(" ".join(each.itertext()).strip() for each in _inner(work, "subject")),
        url_of(url, doi),
        tuple(path for link in _inner(work, "link") for each in _meant(link, described) for path in _paths(each)),
        csl,
    )


def _meant(node: Element, described: dict[str, Element]) -> list[Element]:
    """What a node holds, or what it refers to."""
    other = described.get(node.get(f"{_RDF}resource", ""))
    return [*node, *([other] if other is not None else [])]


def _paths(attachment: Element) -> Iterator[str]:
    for each in attachment:
        if _tag(each) in ("resource", "path"):
            path = each.get(f"{_RDF}resource", "") or (each.text or "").strip()
            if path and not path.startswith(("http://", "https://")):
                yield path


def _person(node: Element) -> str:
    return f"{_said(node, 'surname')}, {_said(node, 'givenname')}".strip(", ")


def _said(node: Element, tag: str) -> str:
    """The words of the first inner node of that tag."""
    found = next((" ".join(each.itertext()) for each in _inner(node, tag)), "")
    return " ".join(found.split())


def _inner(node: Element, tag: str) -> list[Element]:
    return [each for each in node if _tag(each) == tag]


def _tag(node: Element) -> str:
    return node.tag.rpartition("}")[2].lower() if isinstance(node.tag, str) else ""
