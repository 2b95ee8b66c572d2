"""Maps bibliography fields to CSL (Citation Style Language) types and field names."""

from __future__ import annotations

import re

# CSL types by their names in BibTeX, RIS and Zotero; anything else is a "document".
_TYPES = {
    name: kind
    for kind, names in {
        "article-journal": "article journalarticle jour jfull ejour",
        "article-magazine": "magazinearticle mgzn",
        "article-newspaper": "newspaperarticle news",
        "article": "preprint",
        "book": "book mvbook collection proceedings ebook edbook",
        "chapter": "inbook incollection booksection chap echap",
        "paper-conference": "inproceedings conference conferencepaper conf cpaper",
        "thesis": "thesis phdthesis mastersthesis thes",
        "report": "report techreport rprt",
        "webpage": "online electronic www webpage elec web",
        "post-weblog": "blogpost blog",
        "manuscript": "unpublished manuscript unpb",
        "dataset": "dataset data",
        "software": "software computerprogram comp",
        "patent": "patent pat",
    }.items()
    for name in names.split()
}


def csl_type(name: str) -> str:
    """The CSL type for another format's type name."""
    return _TYPES.get(name.lower(), "document")


def csl_fields(**fields: str) -> dict[str, str]:
    """The non-empty fields by their CSL names ("publisher_place" is "publisher-place"), DOI and pages normalised."""
    values = {name.replace("_", "-"): value for name, value in fields.items()}
    doi = re.search(r"10\.\d{4,9}/\S+", values.get("DOI", ""))
    values |= {"DOI": doi[0] if doi else "", "page": re.sub(r"\s*[-–—]+\s*", "–", values.get("page", ""))}
    return {name: value for name, value in values.items() if value}
