"""Reads BibTeX."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Mapping

from turnwise.documents.bibliography.csl import csl_fields, csl_type
from turnwise.documents.bibliography.entry import Entry, family_first, make_key, url_of
from turnwise.documents.blocks import iso_date
from turnwise.english import MONTHS
from turnwise.text import clean

_BEGIN = re.compile(r"@\s*(\w+)\s*[{(]")
_FIELD = re.compile(r"[\s,]*+([\w:.+/-]++)\s*+=\s*+")
_KEY = re.compile(r"\s*+([^\s,={}]*+)\s*+(?=[,}])")
_CLOSE = re.compile(r"[\s,]*+[})]")
_DELIMITER = re.compile(r'\\.|[{}"]', re.DOTALL)
_NEXT_ENTRY = re.compile(
    r"^[ \t]*+@[ \t]*+(?:\w++[ \t]*+[{(][ \t]*+[^\s,={}]*+[ \t]*+,|string\b|comment\b)", re.M | re.I
)
_NEXT_FIELD = re.compile(r"\n[ \t]*+[\w-]++[ \t]*+=[ \t]*+[\"{\w]")
_UNQUOTED = re.compile(r"[^\s,#{}\"]+")
_MONTH_NUMBERS = {name[:3]: f"{number:02}" for number, name in enumerate(MONTHS, 1)}  # "jan": "01"


def read_bibtex(text: str) -> Iterator[Entry]:
    """The entries of a BibTeX file. One that is not closed ends where the next begins, and is marked as cut."""
    strings: dict[str, str] = dict(_MONTH_NUMBERS)
    starts = [found.start() for found in _NEXT_ENTRY.finditer(text)]
    at = 0
    while begin := _BEGIN.search(text, at):
        kind, at = begin[1].lower(), begin.end()
        if kind in ("comment", "preamble"):
            continue
        following = bisect_left(starts, at)
        parts = _Parts(text, at, starts[following] if following < len(starts) else len(text))
        key = "" if kind == "string" else parts.key()
        fields = parts.fields(strings)
        at = parts.at
        if kind == "string":
            strings |= fields
        elif fields:
            yield _bibtex_entry(kind, key, fields, parts.cut or not _CLOSE.match(text, at))


class _Parts:
    """Reads the parts of one entry, from a position on. `end` is where the next entry begins, `cut` whether a value
    was not closed before."""

    def __init__(self, text: str, at: int, end: int) -> None:
        self.at = at
        self.cut = False
        self._text = text
        self._end = end

    def key(self) -> str:
        found = _KEY.match(self._text, self.at, self._end)
        self.at = found.end() if found else self.at
        return found[1] if found else ""

    def fields(self, strings: Mapping[str, str]) -> dict[str, str]:
        fields: dict[str, str] = {}
        while name := _FIELD.match(self._text, self.at, self._end):
            self.at = name.end()
            fields.setdefault(name[1].lower(), self._value(strings))
        return fields

    def _value(self, strings: Mapping[str, str]) -> str:
        """A value: braced or quoted text, a number or a string name, joined by "#"."""
        parts = []
        while self.at < self._end:
            if self._text[self.at] in '{"':
                parts.append(self._delimited())
            elif bare := _UNQUOTED.match(self._text, self.at, self._end):
                parts.append(strings.get(bare[0].lower(), bare[0]))
                self.at = bare.end()
            self._skip_spaces()
            if self._text[self.at : self.at + 1] != "#":
                break
            self.at += 1
            self._skip_spaces()
        return "".join(parts)

    def _skip_spaces(self) -> None:
        while self.at < self._end and self._text[self.at].isspace():
            self.at += 1

    def _delimited(self) -> str:
        """Braced or quoted text with balanced braces inside. One that is not closed ends at the next line that begins
        a field; after it, that holds for all."""
        quoted, depth, start = self._text[self.at] == '"', 0, self.at + 1
        end = self._next_field(start) if self.cut else self._end
        for mark in _DELIMITER.finditer(self._text, start, end):
            if mark[0] == "{":
                depth += 1
            elif mark[0] == "}" and depth:
                depth -= 1
            elif depth == 0 and (mark[0] == "}" or (mark[0] == '"' and quoted)):
                self.at = mark.end()
                return self._text[start : mark.start()]
        self.cut, self.at = True, end if self.cut else self._next_field(start)
        return self._text[start : self.at].rstrip(',}" \t\r\n')

    def _next_field(self, at: int) -> int:
        found = _NEXT_FIELD.search(self._text, at, self._end)
        return found.start() if found else self._end


def _bibtex_entry(kind: str, key: str, fields: Mapping[str, str], cut: bool) -> Entry:
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
    people, title = tuple(authors or editors), texts.get("title", "")
    date = iso_date(texts.get("date", "")) or iso_date(year_month) or iso_date(texts.get("year", ""))
    key = key or make_key(people, date, title)
    return Entry(
        key,
        title or key,
        people,
        date,
        first("journal", "journaltitle", "booktitle", "publisher"),
        texts.get("abstract", ""),
        texts.get("keywords", ""),
        url_of(fields.get("url", ""), doi),
        tuple(_bibtex_files(fields.get("file", ""))),
        csl,
        cut,
    )


def _bibtex_people(names: str) -> list[str]:
    people = [_bibtex_person(name.strip()) for name in " ".join(names.split()).split(" and ")]
    return [person for person in people if person and person.lower() != "others"]


def _bibtex_person(name: str) -> str:
    """A name as "Family, Given"; one fully in braces is an organisation and stays as it is."""
    whole = name.startswith("{") and name.endswith("}") and "}" not in name[1:-1]
    return _without_latex(name) if whole else family_first(_without_latex(name))


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
