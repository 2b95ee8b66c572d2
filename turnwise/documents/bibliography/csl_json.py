"""Reads CSL-JSON."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from typing import Any

from turnwise.documents.bibliography.csl import csl_fields, csl_type
from turnwise.documents.bibliography.entry import Entry, make_key, url_of
from turnwise.documents.blocks import iso_date


def read_csl(text: str) -> list[Entry] | None:
    """The entries of a CSL-JSON file, also of the Better BibTeX variant with attachments; None for any other JSON."""
    if '"title"' not in text:
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    items = found.get("items") if isinstance(found, dict) else found
    if not isinstance(items, list) or not items or not all(isinstance(item, dict) for item in items):
        return None
    if not all(("type" in item or "itemType" in item) and "title" in item for item in items):
        return None
    return [_csl_entry(item) for item in items]


def _csl_entry(item: Mapping[str, Any]) -> Entry:
    people = item.get("author") or item.get("creators") or item.get("editor")
    authors = [_csl_person(person) for person in _dicts_in(people)]
    editors = [_csl_person(person) for person in _dicts_in(item.get("editor")) if people is not item.get("editor")]
    date = _csl_date(item.get("issued")) or iso_date(str(item.get("date") or ""))
    title = _text_of(item, "title")
    files = [str(each["path"]) for each in _dicts_in(item.get("attachments")) if each.get("path")]
    key = _text_of(item, "citation-key", "citationKey", "citekey", "id") or make_key(authors, date, title)
    return Entry(
        key,
        title or key,
        tuple(author for author in authors if author),
        date,
        _text_of(item, "container-title", "publicationTitle", "publisher"),
        _text_of(item, "abstract", "abstractNote"),
        _text_of(item, "keyword"),
        url_of(_text_of(item, "URL", "url"), _text_of(item, "DOI")),
        tuple(files),
        csl_fields(
            type=_text_of(item, "type") or csl_type(_text_of(item, "itemType")),
            container_title=_text_of(item, "container-title", "publicationTitle", "proceedingsTitle", "bookTitle"),
            collection_title=_text_of(item, "collection-title", "series"),
            editor="; ".join(editor for editor in editors if editor),
            volume=_text_of(item, "volume"),
            issue=_text_of(item, "issue"),
            number=_text_of(item, "number", "reportNumber"),
            page=_text_of(item, "page", "pages"),
            publisher=_text_of(item, "publisher", "university", "institution"),
            publisher_place=_text_of(item, "publisher-place", "place"),
            edition=_text_of(item, "edition"),
            genre=_text_of(item, "genre", "thesisType"),
            DOI=_text_of(item, "DOI"),
        ),
    )


def _csl_person(person: Mapping[str, Any]) -> str:
    family = " ".join(_text_of(person, part) for part in ("non-dropping-particle", "family", "lastName")).strip()
    given = _text_of(person, "given", "firstName")
    return f"{family}, {given}".strip(", ") or _text_of(person, "literal", "name")


def _csl_date(issued: Any) -> str:
    if not isinstance(issued, dict):
        return ""
    dates = issued.get("date-parts")
    parts = dates[0] if isinstance(dates, list) and dates else []
    if not isinstance(parts, list) or not parts:
        return iso_date(str(issued.get("raw") or issued.get("literal") or ""))
    return iso_date("-".join(str(part).zfill(2) for part in parts))


def _dicts_in(value: Any) -> list[dict[str, Any]]:
    """The dicts in a list; empty if the value is not a list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _text_of(item: Mapping[str, Any], *names: str) -> str:
    value = next((item[name] for name in names if item.get(name)), "")
    text = str(value).encode("utf-8", "replace").decode()  # JSON may contain lone surrogates
    return " ".join(html.unescape(re.sub(r"</?\w+[^<>]{0,80}>", "", text)).split())
