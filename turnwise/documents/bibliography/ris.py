"""Reads RIS."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from turnwise.documents.bibliography.csl import csl_fields, csl_type
from turnwise.documents.bibliography.entry import Entry, family_first, make_key, url_of
from turnwise.documents.blocks import iso_date

_TAG = re.compile(r"([A-Z][A-Z0-9])  ?-(?: (.*)|)$")


def read_ris(text: str) -> Iterator[Entry]:
    """The works in a RIS file."""
    fields: dict[str, list[list[str]]] = {}  # by tag; a value may span several lines
    last = ""
    for line in text.splitlines():
        found = _TAG.match(line.rstrip())
        if found and found[1] == "ER":
            if fields:
                yield _ris_entry(_join_lines(fields))
            fields, last = {}, ""
        elif found:
            last = found[1]
            fields.setdefault(last, []).append([(found[2] or "").strip()])
        elif last and line.strip():
            fields[last][-1].append(line.strip())
    if fields:
        yield _ris_entry(_join_lines(fields))


def _join_lines(fields: Mapping[str, Sequence[Sequence[str]]]) -> dict[str, list[str]]:
    return {tag: [" ".join(lines) for lines in values] for tag, values in fields.items()}


def _ris_entry(fields: Mapping[str, Sequence[str]]) -> Entry:
    def first(*tags: str) -> str:
        return next((value for tag in tags for value in fields.get(tag, ()) if value), "")

    authors = [value for tag in ("AU", "A1") for value in fields.get(tag, ())] or list(fields.get("A2", ()))
    named = [name.strip() for tag in ("L1", "L4") for value in fields.get(tag, ()) for name in value.split(";")]
    files = [name.removeprefix("internal-pdf://") for name in named]
    date = iso_date(first("DA").replace("/", "-")) or iso_date(first("PY", "Y1"))
    title = first("TI", "T1", "CT", "BT")
    key = first("ID", "LB") or make_key(authors, date, title)
    editors = [value for tag in ("A2", "ED") for value in fields.get(tag, ())]
    csl = csl_fields(
        type=csl_type(first("TY")),
        container_title=first("JO", "JF", "T2", "JA"),
        editor="; ".join(family_first(name) for name in editors if authors != editors),
        volume=first("VL"),
        issue=first("IS"),
        page=f"{first('SP')}–{first('EP')}".strip("–"),
        publisher=first("PB"),
        publisher_place=first("CY"),
        edition=first("ET"),
        DOI=first("DO"),
    )
    return Entry(
        key,
        title or key,
        tuple(family_first(" ".join(author.split())) for author in authors if author),
        date,
        first("JO", "JF", "T2", "JA", "PB"),
        first("AB", "N2"),
        ", ".join(fields.get("KW", ())),
        url_of(first("UR", "L2"), first("DO")),
        tuple(name for name in files if name and not name.startswith(("http://", "https://"))),
        csl,
    )
