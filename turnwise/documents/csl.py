"""What a bibliography says of a work beside title and authors, in the words of CSL, which citation styles read."""

from __future__ import annotations

import re

# The kinds of works by their names in BibTeX, RIS and Zotero; what is not listed is a document.
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
    """The kind of a work that another format names."""
    return _TYPES.get(name.lower(), "document")


def csl_fields(**fields: str) -> dict[str, str]:
    """The fields that say something, "publisher_place" as "publisher-place"; the DOI and the pages in their form."""
    said = {name.replace("_", "-"): value for name, value in fields.items()}
    doi = re.search(r"10\.\d{4,9}/\S+", said.get("DOI", ""))
    said |= {"DOI": doi[0] if doi else "", "page": re.sub(r"\s*[-–—]+\s*", "–", said.get("page", ""))}
    return {name: value for name, value in said.items() if value}
