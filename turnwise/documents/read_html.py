"""Reads HTML into headings and blocks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice

from selectolax.lexbor import LexborHTMLParser, LexborNode

from turnwise.documents.blocks import Builder, iso_date
from turnwise.documents.html_tables import CELLS, Grid, Tables, span_of, table_of
from turnwise.documents.unseen import hidden_roots
from turnwise.text import asks, ends, sentences

_DROPPED_TAGS = [
    "script",
    "style",
    "nav",
    "footer",
    "template",
    "noscript",
    "svg",
    "iframe",
    "select",
    "button",
    "textarea",
]
_BLOCK_TAGS = frozenset(
    """address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption figure form
    h1 h2 h3 h4 h5 h6 header hgroup html legend li main ol p pre section summary table tbody td tfoot th thead tr
    ul""".split()
)
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_TIGHT_TAGS = ("li", "dd", *CELLS)
_MAX_DEFINITION_DEPTH = 4  # levels to climb from a paragraph to its <dt> or <dd>
_WHITESPACE = re.compile(r"[ \t\n\r\f]+")
_SPACES = re.compile(r" {2,}")
_AROUND_BREAK = re.compile(r" *\n *")
_DATE_SELECTOR = (
    'meta[property="article:published_time"], meta[name="date"], meta[name="dc.date"], meta[name="DC.date"],'
    ' meta[name="dcterms.created"], meta[name="citation_publication_date"], meta[name="citation_date"],'
    ' meta[itemprop="datePublished"], meta[name="last-modified"]'
)
# A page without any of these hides nothing that we could detect.
_MAY_HIDE = re.compile(r"style|hidden|<font|sr-only|screen-reader", re.IGNORECASE)
MIN_LABEL_CHARS = 20  # shorter labels cannot be an instruction
_XML = re.compile(r"\s*<\?xml\b")
_SELF_CLOSED = re.compile(
    r"<(?!(?:area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr)\b)([A-Za-z]\w*)((?:\s[^<>]*)?)/>"
)


@dataclass(frozen=True, slots=True)
class _Run:
    """A stretch of text within one block element."""

    tag: str  # of the block element
    place: int  # id of the block element, or of the row for a table cell
    text: str
    entry: int = 0  # id of its entry in a definition list
    within: int = 0  # id of that list
    cell: tuple[int, int, int] | None = None  # in a table of data: its id, and the rows and columns that it spans


def read_html(text: str, builder: Builder) -> str:
    """Read the page into the builder. Returns its <title>, else the first main heading, else ""."""
    # In XHTML <title/> is an empty element; an HTML parser would take all that follows as the title.
    tree = LexborHTMLParser(_SELF_CLOSED.sub(r"<\1\2></\1>", text) if _XML.match(text) else text)
    title = tree.css_first("title")
    page_title = title.text().strip() if title else ""
    dates = (iso_date(meta.attributes.get("content") or "") for meta in tree.css(_DATE_SELECTOR))
    builder.date = builder.date or next((date for date in dates if date), "")
    _hide_comments_and_labels(tree, text, builder)
    roots = hidden_roots(tree) if _MAY_HIDE.search(text) else {}
    tree.strip_tags(_DROPPED_TAGS)
    if tree.body is not None:
        _add_blocks(tree.body, builder, roots)
    return page_title or builder.main_heading


def _hide_comments_and_labels(tree: LexborHTMLParser, text: str, builder: Builder) -> None:
    """Keep comments, descriptions, titles and labels as hidden text."""
    for comment in _comments(text):
        builder.hide("an HTML comment", comment)
    for node in tree.css("noscript, textarea"):
        builder.hide(f"<{node.tag}>", node.text(separator=" "))
    for node in tree.css("meta[content], [alt], [title], [aria-label]"):
        attributes = node.attributes
        for name in ("content", "alt", "title", "aria-label"):
            if len(value := attributes.get(name) or "") >= MIN_LABEL_CHARS:
                builder.hide(
                    f"<meta> ({attributes.get('name') or 'content'})"
                    if name == "content"
                    else f"{name} of <{node.tag}>",
                    value,
                )


def _comments(text: str) -> Iterator[str]:
    start = text.find("<!--")
    while start >= 0:
        end = text.find("-->", start + 4)
        yield text[start + 4 : end if end >= 0 else len(text)]
        start = text.find("<!--", end) if end >= 0 else -1


def _add_blocks(body: LexborNode, builder: Builder, roots: Mapping[int, str]) -> None:
    before = header = ""
    grid = Grid()
    nodes = _visible_nodes(body, builder, roots) if roots else body.traverse(include_text=True)
    for _, group in groupby(_with_terms(_runs(nodes, body)), key=lambda run: run.place):
        runs = list(group)
        tag, text = runs[0].tag, " | ".join(_cells(runs, grid))
        if not text.strip(" |"):
            continue
        if tag in _HEADINGS:
            builder.heading(int(tag[1]), text)
        else:
            heads = all(run.tag == "th" for run in runs)
            header = header if tag in CELLS and before in CELLS and not heads else ""
            if [run.tag for run in runs] == ["th", "td"] and not header:
                text = ": ".join(run.text.rstrip(":") for run in runs)
            tight = tag in _TIGHT_TAGS and before in _TIGHT_TAGS and not heads and (tag == "dd") == (before == "dd")
            builder.block(f"- {text}" if tag == "li" else text, tight=tight, code=tag == "pre", header=header)
            header = text if heads else header
        before = tag


def _cells(runs: Sequence[_Run], grid: Grid) -> list[str]:
    cells = [(run.text, *run.cell[1:]) for run in runs if run.cell]
    return grid.row(runs[0].cell[0], cells) if runs[0].cell else [run.text for run in runs]


def _visible_nodes(body: LexborNode, builder: Builder, roots: Mapping[int, str]) -> Iterator[LexborNode]:
    """The visible nodes of a page; the text of the others is kept as hidden. Parents come before their children."""
    hidden = {root: (root, why) for root, why in roots.items()}
    hidden_texts: dict[tuple[int, str], list[str]] = {}
    for node in body.traverse(include_text=True):
        below = hidden.get(node.parent.mem_id) if node.parent is not None else None
        found = below or hidden.get(node.mem_id)
        if found is None:
            yield node
            continue
        hidden[node.mem_id] = found
        if node.tag == "-text" and (text := node.text_content):
            hidden_texts.setdefault(found, []).append(text)
    for (_, why), texts in hidden_texts.items():
        builder.hide(why, "".join(texts))


def _with_terms(runs: Iterable[_Run]) -> Iterator[_Run]:
    """Join the runs of a definition list as "term: definition", one line each, or a paragraph if several sentences."""
    undefined: list[_Run] = []
    for entry, group in groupby(runs, key=lambda run: run.entry):
        found = list(group)
        if (
            undefined and undefined[0].within == found[0].within
        ):  # a term without a definition; the next entry is not its definition
            undefined = list(_definition_runs(undefined, [_Run("dd", 0, "–")]))
        yield from undefined
        terms = [run for run in found if entry and run.tag == "dt"]
        definitions = [run for run in found if not entry or run.tag != "dt"]
        undefined = [] if definitions else terms
        if definitions:
            yield from _definition_runs(terms, definitions) if terms else definitions
    yield from undefined


def _definition_runs(terms: Sequence[_Run], definitions: Sequence[_Run]) -> Iterator[_Run]:
    term = ", ".join(run.text.rstrip(": ") for run in terms)
    if not asks(term) and any(run.tag != "dd" for run in definitions):
        yield from (*terms, *definitions)
        return
    lines = [line for run in definitions for line in run.text.split("\n")]
    if asks(term):
        prose = all(ends(line) and " " in line for line in lines)  # else they are items under the question
        text = (" " if prose else "\n- ").join([term, *lines])
    else:
        text = " ".join([f"{term}:", *_join_definitions(lines)])
    yield _Run("dd" if len(sentences(text)) == 1 else "p", terms[0].place, text)


def _join_definitions(definitions: Sequence[str]) -> Iterator[str]:
    """The definitions of a term, or the lines of one, separated by commas unless they are sentences."""
    for text in definitions[:-1]:
        yield text if ends(text) else f"{text.rstrip(',;')},"
    yield definitions[-1]


def _runs(nodes: Iterable[LexborNode], body: LexborNode) -> Iterator[_Run]:
    entries: dict[int, int] = {}
    tables = Tables()
    for _, group in groupby(_texts(nodes, body, tables), key=lambda piece: piece[0].mem_id):
        pieces = list(group)
        owner = pieces[0][0]
        text = "".join(piece for _, piece in pieces)
        if tables.cell_around(owner) is not None and owner.parent is not None:
            cell = table_of(owner), span_of(owner, "rowspan"), span_of(owner, "colspan")
            yield _Run(owner.tag or "", owner.parent.mem_id, " ".join(text.split()), cell=cell)
            continue
        if owner.tag != "pre":
            text = _AROUND_BREAK.sub("\n", _SPACES.sub(" ", text))
        if not text.strip():
            continue
        if (part := _term_or_definition(owner)) is not None:
            tag = part.tag if part.tag == "dt" or _is_only_element(owner, part) else owner.tag
            yield _Run(tag or "", owner.mem_id, text.strip(), _first_of_entry(part, entries), _list_of(part))
        else:
            row = owner.parent if owner.tag in CELLS else None
            yield _Run(owner.tag or "", row.mem_id if row is not None else owner.mem_id, text.strip())


def _term_or_definition(owner: LexborNode | None) -> LexborNode | None:
    """The <dt> or <dd> that an element is, or is a paragraph of; None otherwise."""
    for _ in range(_MAX_DEFINITION_DEPTH):
        if owner is None or owner.tag not in ("dt", "dd", "p", "div"):
            return None
        if owner.tag in ("dt", "dd"):
            return owner
        owner = owner.parent
    return None


def _is_only_element(owner: LexborNode, part: LexborNode) -> bool:
    """Whether an element is the definition itself, or the only element in it."""
    while owner.mem_id != part.mem_id and owner.parent is not None:
        owner = owner.parent
        if len(list(islice(owner.iter(), 2))) > 1:
            return False
    return True


def _first_of_entry(part: LexborNode, entries: dict[int, int]) -> int:
    """The id of the first term in an entry: adjacent terms and the definitions right after them form an entry."""
    walked: list[int] = []
    while part.mem_id not in entries:
        walked.append(part.mem_id)
        before = part.prev
        while before is not None and before.tag in ("-text", "-comment"):
            before = before.prev
        if before is None or before.tag not in ("dt", "dd") or (part.tag == "dt" and before.tag == "dd"):
            break
        part = before
    entry = entries.get(part.mem_id, part.mem_id)
    entries.update(dict.fromkeys(walked, entry))
    return entry


def _list_of(part: LexborNode) -> int:
    above = part.parent
    if above is not None and above.tag == "div":
        above = above.parent
    return above.mem_id if above is not None else 0


def _texts(nodes: Iterable[LexborNode], body: LexborNode, tables: Tables) -> Iterator[tuple[LexborNode, str]]:
    """Each piece of text with its block element, or the cell of its table. No recursion, because pages may be nested
    thousands deep."""
    owners: dict[int, LexborNode] = {}
    for node in nodes:
        cell = tables.cell_around(node)
        if cell is not None:
            yield cell, (node.text_content or "") if node.tag == "-text" else " " if _parts(node) else ""
        elif node.tag == "br":
            yield _block_around(node, body, owners), "\n"
        elif node.tag == "-text":
            owner = _block_around(node, body, owners)
            text = node.text_content or ""
            yield owner, text if owner.tag == "pre" else _WHITESPACE.sub(" ", text)


def _parts(node: LexborNode) -> bool:
    """Whether an element stands apart from the text before it."""
    return node.tag == "br" or node.tag in _BLOCK_TAGS


def _block_around(node: LexborNode, body: LexborNode, owners: dict[int, LexborNode]) -> LexborNode:
    climbed: list[int] = []
    above = node.parent or body
    while above.tag not in _BLOCK_TAGS:
        if above.mem_id in owners:
            above = owners[above.mem_id]
            break
        climbed.append(above.mem_id)
        above = above.parent or body
    owners.update(dict.fromkeys(climbed, above))
    return above
