"""Bibliographies: BibTeX, RIS, CSL-JSON and Zotero RDF files, and the files their entries refer to."""

from __future__ import annotations

import html
import json
import os
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from turnwise.documents.blocks import iso_date
from turnwise.documents.csl import csl_fields, csl_type
from turnwise.documents.parse import decode, read_file
from turnwise.english import MONTHS
from turnwise.errors import UnreadableDocument
from turnwise.text import clean
from turnwise.types import Reference

BIBLIOGRAPHIES = (".bib", ".ris", ".rdf", ".json")
MAX_BIBLIOGRAPHY_BYTES = 32 * 1024 * 1024  # about a hundred thousand entries


@dataclass(frozen=True, slots=True)
class Entry:
    """One work in a bibliography, and the files it refers to, as written there."""

    key: str
    title: str
    authors: tuple[str, ...] = ()
    date: str = ""  # an ISO date, or only the year or month
    venue: str = ""  # the journal, book or publisher
    abstract: str = ""
    keywords: str = ""
    url: str = ""
    files: tuple[str, ...] = ()
    csl: dict[str, str] = field(default_factory=dict)  # other fields for citation styles, by their CSL names

    @property
    def reference(self) -> Reference:
        csl = {**self.csl, **({"issued": self.date} if self.date else {})}
        return Reference(self.key, self.authors, int(self.date[:4]) if self.date else None, self.url, csl)

    @property
    def text(self) -> str:
        """The entry as a short document, for use if it has no file."""
        year = f" ({self.date[:4]})" if self.date else ""
        byline = f"{', '.join(self.authors)}{year}".strip()
        keywords = f"Keywords: {self.keywords}" if self.keywords else ""
        return "\n\n".join(part for part in (self.title, byline, self.venue, self.abstract, keywords) if part)


def read_bibliography(path: Path) -> list[Entry] | None:
    """Read the entries of a bibliography file. Returns None for a JSON file that is not one."""
    data = read_file(path)
    if len(data) > MAX_BIBLIOGRAPHY_BYTES:
        if path.suffix.lower() == ".json":
            return None
        raise UnreadableDocument(f"{path} is larger than {MAX_BIBLIOGRAPHY_BYTES >> 20} MB.", "Split it.")
    text = decode(path.name, data)
    match path.suffix.lower():
        case ".bib":
            entries = list(_parse_bibtex(text))
        case ".ris":
            entries = list(_parse_ris(text))
        case ".rdf":
            entries = _parse_rdf(text)
        case _:
            return _parse_csl(text)
    if not entries and text.strip():
        raise UnreadableDocument(
            f"{path} has no entries that can be read.", "Export it again as BibTeX, RIS, CSL-JSON or Zotero RDF."
        )
    return entries


def _parse_rdf(text: str) -> list[Entry]:
    from xml.etree.ElementTree import ParseError

    from turnwise.documents.zotero_rdf import read_rdf

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


# --- BibTeX ----------------------------------------------------------------------------------------------------------

_BEGIN = re.compile(r"@\s*(\w+)\s*[{(]")
_FIELD = re.compile(r"[\s,]*+([\w:.+/-]++)\s*+=\s*+")
_KEY = re.compile(r"\s*+([^\s,={}]*+)\s*+(?=[,}])")
_UNQUOTED = re.compile(r"[^\s,#{}\"]+")
_MONTH_NUMBERS = {name[:3]: f"{number:02}" for number, name in enumerate(MONTHS, 1)}  # "jan": "01"


def _parse_bibtex(text: str) -> Iterator[Entry]:
    """The entries of a BibTeX file. Broken parts are skipped up to the next entry."""
    strings: dict[str, str] = dict(_MONTH_NUMBERS)
    at = 0
    while begin := _BEGIN.search(text, at):
        kind, at = begin[1].lower(), begin.end()
        if kind in ("comment", "preamble"):
            continue
        key = _KEY.match(text, at)
        if kind != "string" and key:
            at = key.end()
        fields, at = _parse_fields(text, at, strings)
        if kind == "string":
            strings |= fields
        elif fields:
            yield _bibtex_entry(kind, key[1] if key else "", fields)


def _parse_fields(text: str, at: int, strings: Mapping[str, str]) -> tuple[dict[str, str], int]:
    """Parse the fields from a position. Returns them and the end position."""
    fields: dict[str, str] = {}
    while name := _FIELD.match(text, at):
        value, at = _parse_value(text, name.end(), strings)
        fields.setdefault(name[1].lower(), value)
    return fields, at


def _parse_value(text: str, at: int, strings: Mapping[str, str]) -> tuple[str, int]:
    """Parse a value: braced or quoted text, a number or a string name, joined by "#". Returns it and its end."""
    parts = []
    while at < len(text):
        if text[at] in '{"':
            part, at = _parse_delimited(text, at)
            parts.append(part)
        elif bare := _UNQUOTED.match(text, at):
            parts.append(strings.get(bare[0].lower(), bare[0]))
            at = bare.end()
        while at < len(text) and text[at].isspace():
            at += 1
        if text[at : at + 1] != "#":
            break
        at += 1
        while at < len(text) and text[at].isspace():
            at += 1
    return "".join(parts), at


_DELIMITER = re.compile(r'\\.|[{}"]', re.DOTALL)


def _parse_delimited(text: str, at: int) -> tuple[str, int]:
    """Parse braced or quoted text with balanced braces inside. Returns it and the end position."""
    quoted, depth, start = text[at] == '"', 0, at + 1
    for mark in _DELIMITER.finditer(text, start):
        if mark[0] == "{":
            depth += 1
        elif mark[0] == "}":
            if depth == 0:
                return text[start : mark.start()], mark.end()
            depth -= 1
        elif mark[0] == '"' and quoted and depth == 0:
            return text[start : mark.start()], mark.end()
    return text[start:], len(text)


def _bibtex_entry(kind: str, key: str, fields: Mapping[str, str]) -> Entry:
    texts = {
        name: _without_latex(value) for name, value in fields.items() if name not in ("file", "author", "editor", "url")
    }
    authors, editors = _bibtex_people(fields.get("author", "")), _bibtex_people(fields.get("editor", ""))
    month = texts.get("month", "")
    year_month = f"{texts.get('year', '')}-{_MONTH_NUMBERS.get(month[:3].lower(), month.zfill(2))}" if month else ""
    doi = texts.get("doi", "")

    def first(*names: str) -> str:
        return next((texts[name] for name in names if texts.get(name)), "")

    in_journal = csl_type(kind) == "article-journal"
    csl = csl_fields(
        type=csl_type(kind),
        container_title=first("journal", "journaltitle", "booktitle"),
        collection_title=first("series"),
        editor="; ".join(editors if authors else ()),
        volume=first("volume"),
        issue=first("number", "issue") if in_journal else first("issue"),
        number="" if in_journal else first("number"),
        page=first("pages"),
        publisher=first("publisher", "institution", "school", "organization"),
        publisher_place=first("address", "location"),
        edition=first("edition"),
        genre=first("type") or {"phdthesis": "PhD thesis", "mastersthesis": "Master’s thesis"}.get(kind, ""),
        DOI=doi,
    )
    return Entry(
        key,
        texts.get("title", "") or key,
        tuple(authors or editors),
        iso_date(texts.get("date", "")) or iso_date(year_month) or iso_date(texts.get("year", "")),
        first("journal", "journaltitle", "booktitle", "publisher"),
        texts.get("abstract", ""),
        texts.get("keywords", ""),
        url_of(fields.get("url", ""), doi),
        tuple(_bibtex_files(fields.get("file", ""))),
        csl,
    )


def _bibtex_people(names: str) -> list[str]:
    people = [_bibtex_person(name.strip()) for name in " ".join(names.split()).split(" and ")]
    return [person for person in people if person and person.lower() != "others"]


def _bibtex_person(name: str) -> str:
    """A name as "Family, Given"; one fully in braces is an organisation and stays as it is."""
    whole = name.startswith("{") and name.endswith("}") and "}" not in name[1:-1]
    return _without_latex(name) if whole else _family_first(_without_latex(name))


def _bibtex_files(value: str) -> Iterator[str]:
    """The files of a `file` field: "a.pdf;b.pdf", "Full text:files/a.pdf:application/pdf", ":a.pdf:PDF"."""
    for part in re.split(r"(?<!\\);", value):
        pieces = [re.sub(r"\\([\\:;{}_&%#$~ ])", r"\1", piece) for piece in re.split(r"(?<!\\):", part.strip())]
        if len(pieces) >= 3:
            pieces = [":".join(pieces[1:-1])]  # description:path:type
        elif len(pieces) == 2 and len(pieces[0]) > 1:  # not a drive letter
            pieces = pieces[1:] if re.search(r"\.\w{2,5}$", pieces[1]) else pieces[:1]
        path = ":".join(pieces).strip()
        if path:
            yield path


_ACCENTS = {
    "`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", "=": "\u0304", "u": "\u0306", ".": "\u0307",
    '"': "\u0308", "r": "\u030a", "H": "\u030b", "v": "\u030c", "c": "\u0327", "k": "\u0328", "d": "\u0323",
    "b": "\u0331",
}  # fmt: skip
_LETTER_COMMANDS = {
    "ss": "ß", "o": "ø", "O": "Ø", "l": "ł", "L": "Ł", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "aa": "å", "AA": "Å",
    "i": "i", "j": "j", "dh": "ð", "DH": "Ð", "th": "þ", "TH": "Þ", "dj": "đ", "DJ": "Đ", "textendash": "–",
    "textemdash": "—", "textquoteright": "’", "textquoteleft": "‘", "textquotedblleft": "“", "textquotedblright": "”",
    "ldots": "…", "dots": "…", "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "lambda": "λ",
    "mu": "μ", "pi": "π", "sigma": "σ", "times": "×", "pm": "±", "leq": "≤", "geq": "≥", "infty": "∞",
    "textasciitilde": "~", "textbackslash": "\\", "LaTeX": "LaTeX", "TeX": "TeX", "copyright": "©", "S": "§",
}  # fmt: skip
_ACCENT_COMMAND = re.compile(
    r"\\(?:([`'^~=.\"])\s*|([uvHckdbr])(?:\s+|(?=\{)))(?:\{\s*(\\?[^\W\d_])\s*\}|(\\?[^\W\d_]))"
)
_COMMAND = re.compile(r"\\([A-Za-z]+)\s*(?:\{\})?")
_ESCAPED_SIGN = re.compile(r"\\([&%$#_{}~^ ])")


def _without_latex(value: str) -> str:
    """A value with LaTeX markup turned into plain characters."""
    text = _ACCENT_COMMAND.sub(_accented_letter, value)
    text = _COMMAND.sub(lambda found: _LETTER_COMMANDS.get(found[1], ""), text)
    text = text.replace("---", "—").replace("--", "–").replace("``", "“").replace("''", "”")
    text = re.sub(r"(?<!\\)~", " ", text)
    text = _ESCAPED_SIGN.sub(lambda found: {"{": "\0", "}": "\1"}.get(found[1], found[1]), text)
    text = re.sub(r"[{}]|(?<!\\)\$", "", text).replace("\0", "{").replace("\1", "}").replace("\\", "")
    return " ".join(clean(text).split())


def _accented_letter(found: re.Match[str]) -> str:
    letter = (found[3] or found[4]).lstrip("\\")
    return unicodedata.normalize("NFC", letter + _ACCENTS[found[1] or found[2]])


def _family_first(name: str) -> str:
    """A name in any common order as "Family, Given"."""
    parts = [part.strip() for part in name.split(",")]
    if len(parts) >= 2:  # "von Family, Jr, Given"
        return f"{parts[0]}, {parts[-1]}".strip(", ")
    words = name.split()
    family = next((at for at, word in enumerate(words[:-1]) if at and word[:1].islower()), len(words) - 1)
    return f"{' '.join(words[family:])}, {' '.join(words[:family])}".strip(", ")


def url_of(url: str, doi: str) -> str:
    """The URL of a work, or else of its DOI."""
    address = re.sub(r"\\(.)", r"\1", url.strip("{} "))
    if address.startswith(("http://", "https://")):
        return address
    number = re.search(r"10\.\d{4,9}/\S+", doi)
    return f"https://doi.org/{number[0]}" if number else ""


# --- RIS -------------------------------------------------------------------------------------------------------------

_TAG = re.compile(r"([A-Z][A-Z0-9])  ?-(?: (.*)|)$")


def _parse_ris(text: str) -> Iterator[Entry]:
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
        editor="; ".join(_family_first(name) for name in editors if authors != editors),
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
        tuple(_family_first(" ".join(author.split())) for author in authors if author),
        date,
        first("JO", "JF", "T2", "JA", "PB"),
        first("AB", "N2"),
        ", ".join(fields.get("KW", ())),
        url_of(first("UR", "L2"), first("DO")),
        tuple(name for name in files if name and not name.startswith(("http://", "https://"))),
        csl,
    )


# --- CSL-JSON --------------------------------------------------------------------------------------------------------


def _parse_csl(text: str) -> list[Entry] | None:
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


def make_key(authors: Sequence[str], date: str, title: str) -> str:
    """Make a key for an entry without one: smith2020heron."""
    family = re.sub(r"\W", "", (authors[0] if authors else "").partition(",")[0])
    word = next((word for word in re.findall(r"\w+", title) if len(word) > 3), "")
    return f"{family}{date[:4]}{word}".lower() or "untitled"
