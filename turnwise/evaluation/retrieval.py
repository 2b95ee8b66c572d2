"""The suite `retrieval`: how well a search finds what answers a turn, by the question alone, by a given rewrite, and as
the product searches."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from turnwise.evaluation import data
from turnwise.evaluation.library import Libraries, by_document
from turnwise.evaluation.metrics import Metric, mean, mrr, ndcg, recall
from turnwise.evaluation.suites import Figures, Product, Progress, select_parts, with_progress
from turnwise.types import Embedder, Hit, Index, Passage, SearchQuery

log = logging.getLogger(__name__)

Way = Callable[[data.Question, Index], list[Hit]]
ByWay = dict[str, Figures]
TOP_PASSAGES = 10
LARGE_DOMAINS = ("clapnq", "cloud", "fiqa")  # MTRAG's large domains; govt is for relative use only


def retrieval(
    folder: Path, only: tuple[str, ...], progress: Progress, cache: Path, embedder: Embedder, product: Product
) -> dict[str, ByWay]:
    """Figures by collection and by way of asking, with the mean over the large domains."""
    libraries = Libraries(cache, embedder, progress)
    figures: dict[str, ByWay] = {}
    for name, part in select_parts(_parts(folder), only).items():
        figures[name] = part(name, libraries, product, progress)
    for name in dict.fromkeys(name.split("/")[0] for name in figures if "/" in name):
        large = [figures[f"{name}/{domain}"] for domain in LARGE_DOMAINS if f"{name}/{domain}" in figures]
        if large:
            figures[f"{name}/mean"] = _mean(large)
    return figures


Part = Callable[[str, Libraries, Product, Progress], ByWay]


def _parts(folder: Path) -> dict[str, Part]:
    """What can be evaluated, by name: mtrag/clapnq is a domain of passages, doc2dial a collection of documents."""
    parts: dict[str, Part] = {}
    for collection in data.collections(folder):
        if collection.documents:
            parts[collection.name] = partial(_documents, collection.documents, data.span_queries(collection.turns))
        queries = data.passage_queries(collection.turns) if collection.corpora else []
        for domain, corpus in collection.corpora.items():
            asked = [query for query in queries if query.domain == domain]
            if asked:
                parts[f"{collection.name}/{domain}"] = partial(_passages, corpus, asked)
            else:
                log.warning("%s is left out: no turn of %s has a relevant passage in it.", corpus, collection.turns)
    return parts


# --- ways of asking ----------------------------------------------------------------------------------------------


def _ways(product: Product, **asking: Callable[[data.Question], str]) -> dict[str, Way]:
    """Searches by the text that each of `asking` makes of a question, and the product's own search."""

    def searches(ask: Callable[[data.Question], str]) -> Way:
        return lambda asked, index: product.find(SearchQuery(ask(asked)), TOP_PASSAGES, index)

    def own(asked: data.Question, index: Index) -> list[Hit]:
        return product.find_for_turn(asked, TOP_PASSAGES, index)

    return {name: searches(ask) for name, ask in asking.items()} | {"turnwise": own}


def _last_turn(asked: data.Question) -> str:
    return asked.question


def _given_rewrite(asked: data.Question) -> str:
    return asked.rewrite or asked.question


def _whole_history(asked: data.Question) -> str:
    earlier = [message.content for message in asked.history if message.role == "user"]
    return " ".join([*earlier, asked.question])


# --- scoring -----------------------------------------------------------------------------------------------------


def _passages(
    corpus: Path,
    queries: list[data.PassageQuery],
    name: str,
    libraries: Libraries,
    product: Product,
    progress: Progress,
) -> ByWay:
    """Figures for a domain of passages, which are identified by their ids."""
    ways = _ways(product, last_turn=_last_turn, given_rewrite=_given_rewrite)
    if not any(query.asked.rewrite for query in queries):
        del ways["given_rewrite"]
    figures, documents = {}, by_document(data.entries(corpus))
    with libraries.of_passages(name, documents) as index:
        for way, find in ways.items():
            asked = with_progress(queries, f"{name} {way}", progress)
            hits = ([hit.passage for hit in find(query.asked, index)] for query in asked)
            found = [[documents[each.source][each.position].id for each in passages] for passages in hits]
            figures[way] = _passage_figures(queries, found)
    return figures


def _passage_figures(queries: Sequence[data.PassageQuery], found: Sequence[list[str]]) -> Figures:
    """The figures over all, first and later turns; those without any turn are left out."""
    scored = list(zip(queries, found, strict=True))
    turns = {
        "": scored,
        "_first": [(query, ids) for query, ids in scored if query.asked.turn == 1],
        "_later": [(query, ids) for query, ids in scored if query.asked.turn > 1],
    }
    wanted: list[tuple[Metric, str]] = [
        (ndcg(5), ""),
        (recall(5), ""),
        (ndcg(5), "_first"),
        (ndcg(5), "_later"),
        (recall(5), "_later"),
    ]
    return {"n": len(queries)} | {
        f"{metric}{which}": mean(metric(ids, query.relevant) for query, ids in turns[which])
        for metric, which in wanted
        if turns[which]
    }


def _documents(
    documents: Path,
    queries: list[data.SpanQuery],
    name: str,
    libraries: Libraries,
    product: Product,
    progress: Progress,
) -> ByWay:
    """Figures for a collection of documents. A gold span counts as found if a passage of its document overlaps it."""
    ways = _ways(product, last_turn=_last_turn, whole_history=_whole_history)
    figures: ByWay = {}
    with libraries.of_documents(name, data.entries(documents)) as index:
        for way, find in ways.items():
            asked = with_progress(queries, f"{name} {way}", progress)
            found = [[overlaps(hit.passage, query) for hit in find(query.asked, index)] for query in asked]
            figures[way] = {"n": len(queries)} | {
                str(metric): mean(metric(ranking, {True}) for ranking in found) for metric in (recall(5), mrr(10))
            }
    return figures


def overlaps(passage: Passage, query: data.SpanQuery) -> bool:
    return passage.source == query.document and any(
        passage.start < end and start < passage.end for start, end in query.spans
    )


def _mean(domains: list[ByWay]) -> ByWay:
    """The mean of each figure over the domains that have it, and the total number of turns."""
    figures: ByWay = {}
    for way in dict.fromkeys(way for domain in domains for way in domain):
        by_domain = [domain[way] for domain in domains if way in domain]
        names = dict.fromkeys(name for figure in by_domain for name in figure)
        figures[way] = {name: mean(figure[name] for figure in by_domain if name in figure) for name in names}
        figures[way]["n"] = sum(figure["n"] for figure in by_domain)
    return figures
