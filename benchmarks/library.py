"""How a library scales: time to build, search and remove, memory, and recall against an exact search.

    python benchmarks/library.py [--passages 1000 10000 100000] [--folder DIR] [--queries 300]

Texts are drawn from the words of the bundled sample with the word frequencies of a language (Zipf), and vectors lie in
clusters; both are the same in every run. A question is some words of a passage, with a slightly moved vector, so that
only the search is timed, not the embedding. A library that is already in the folder is reused, until half of it is
removed. Memory is that of a process that searches, with the embedder loaded.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import platform
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

import turnwise
from turnwise.index.codes import from_blobs
from turnwise.index.embedded import EmbeddedIndex
from turnwise.index.fusion import DEPTH
from turnwise.index.vectors import MAX_TAIL_VECTORS
from turnwise.index.words import indexed_words, weighted_words
from turnwise.models.embedder import OnnxEmbedder
from turnwise.sqlite import Database
from turnwise.text import content_words
from turnwise.types import Chunk, Document, SearchQuery

DIMENSION = 384
VOCABULARY = 60_000
CLUSTERS = 2000
PASSAGES_PER_DOCUMENT = 50


class GivenVectors:
    """An embedder with precomputed vectors for the questions."""

    name = "given"
    dimension = DIMENSION

    def __init__(self) -> None:
        self.known: dict[str, Any] = {}

    def embed_query(self, text: str) -> Any:
        return self.known[text]

    def embed_passages(self, texts: Sequence[str]) -> Any:
        raise NotImplementedError


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--passages", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--folder", type=Path, help="keep the libraries here for the next run [default: not kept]")
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--keep", action="store_true", help="do not remove half of it")
    options = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}", flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        for count in options.passages:
            folder = (options.folder or Path(temporary)) / str(count)
            if not (folder / "done").exists():
                _apart(build, folder, count)
            _apart(search, folder, options.queries)
            if not options.keep:
                _apart(halve, folder)
                _apart(search, folder, options.queries)


def _apart(work: Callable[..., None], *arguments: Any) -> None:
    """Run in a separate process, to measure its memory alone."""
    process = multiprocessing.get_context("spawn").Process(target=work, args=arguments)
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit(f"{work.__name__} ended with {process.exitcode}")


# --- building -----------------------------------------------------------------------------------------------------


def build(folder: Path, count: int) -> None:
    folder.mkdir(parents=True)
    started = time.perf_counter()
    with closing(opened(folder)) as index:
        index.put(documents(count))
        put = time.perf_counter()
        embed(index)
        embedded = time.perf_counter()
        make_files(index)
        built = time.perf_counter()
        differences = index.check()
    (folder / "done").touch()
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6
    print(
        f"\n{count:,} passages: put {put - started:.0f} s ({count / (put - started):,.0f}/s), vectors kept"
        f" {embedded - put:.0f} s, files of vectors {built - embedded:.0f} s; {size:,.0f} MB on disk;"
        f" {'; '.join(differences) or 'the files are as the log says'}",
        flush=True,
    )


def opened(folder: Path) -> EmbeddedIndex:
    return EmbeddedIndex(Database(folder / "library.db"), GivenVectors())


def documents(count: int) -> Iterator[Document]:
    """Documents with the word frequencies of a language (Zipf)."""
    rng = np.random.default_rng(1)
    sample = " ".join(path.read_text() for path in sorted((Path(turnwise.__file__).parent / "sample").glob("*.md")))
    known = [word for word, _ in Counter(re.findall(r"[a-z]{2,}", sample.lower())).most_common()]
    vocabulary = np.array([known[n % len(known)] + (f"{n}" if n >= len(known) else "") for n in range(VOCABULARY)])
    share = 1 / np.arange(1, VOCABULARY + 1)
    steps = np.cumsum(share / share.sum())
    for start in range(0, count, PASSAGES_PER_DOCUMENT):
        size = min(PASSAGES_PER_DOCUMENT, count - start)
        lengths = rng.integers(60, 140, size)
        said = vocabulary[np.minimum(np.searchsorted(steps, rng.random(lengths.sum())), VOCABULARY - 1)].tolist()
        ends = np.cumsum(lengths).tolist()
        texts = [" ".join(said[end - length : end]) for end, length in zip(ends, lengths.tolist(), strict=True)]
        yield Document(f"document {start}", f"Title {start}", "1", tuple(map(Chunk, texts)))


def embed(index: EmbeddedIndex) -> None:
    """Give every passage a vector near a cluster centre."""
    rng = np.random.default_rng(2)
    centres = rng.normal(size=(CLUSTERS, DIMENSION)).astype(np.float32)
    while waiting := index.unembedded(5000):
        made = centres[rng.integers(0, CLUSTERS, len(waiting))]
        made = made + rng.normal(size=made.shape).astype(np.float32) * 0.8
        made /= np.linalg.norm(made, axis=1, keepdims=True)
        index.put_vectors({passage: vector for (passage, _), vector in zip(waiting, made, strict=True)})


def make_files(index: EmbeddedIndex) -> None:
    """Do at once, on all cores, what a long-lived process does in the background."""
    if index.counts().vectors > MAX_TAIL_VECTORS:
        index._vectors._make(threads=os.cpu_count() or 1)


def halve(folder: Path) -> None:
    with closing(opened(folder)) as index:
        sources = [document.source for document in index.documents()][::2]
        started = time.perf_counter()
        for source in sources:
            index.remove(source)
        removed = time.perf_counter()
        index._lexical.follow()
        followed = time.perf_counter()
        make_files(index)
        made = time.perf_counter()
        print(
            f"{len(sources):,} documents removed in {removed - started:.1f} s, words followed in"
            f" {followed - removed:.1f} s, files of vectors {made - followed:.0f} s;"
            f" {'; '.join(index.check()) or 'the files are as the log says'}",
            flush=True,
        )


# --- searching ----------------------------------------------------------------------------------------------------


def search(folder: Path, count: int) -> None:
    with closing(opened(folder)) as index:
        queries, known = questions(index, count), index.embedder.known
    started = time.perf_counter()
    with closing(opened(folder)) as index:
        index.embedder.known |= known
        index.search(queries[0], 6)
        first = time.perf_counter() - started
        index.settle()
        for query in queries[:20]:
            index.search(query, 6)
        embedder = index.embedder
        times = {
            "words": timed(lambda query: index._lexical.scores(weighted_words(query), DEPTH), queries),
            "vectors": timed(lambda query: index._vectors.near(embedder.embed_query(query.literal), DEPTH), queries),
            "both, with texts": timed(lambda query: index.search(query, 6), queries),
        }
        OnnxEmbedder(threads=1).embed_query("How much memory does it take?")
        table = index._vectors.table()
        print(
            f"{index.counts().passages:,} passages ({'graph' if table.graph else 'scan'} and {len(table.tail.seqs):,}"
            f" beside it): opened and searched in {first * 1000:.0f} ms; {memory()}",
            flush=True,
        )
        for name, values in times.items():
            wall, spent = np.percentile(values, [50, 95], axis=0).T * 1000
            print(
                f"  {name:18} p50 {wall[0]:6.2f} ms   p95 {wall[1]:6.2f} ms   (of the processor's time"
                f" {spent[0]:6.2f} and {spent[1]:6.2f} ms)",
                flush=True,
            )
        found10, found100 = recall(index, queries[:50])
        print(f"  recall of the vectors: {found10:.3f} of the best 10, {found100:.3f} of the best 100", flush=True)


def questions(index: EmbeddedIndex, count: int) -> list[SearchQuery]:
    """Questions made of the rarer words of a passage. As in real questions, the words of one occur in a tenth of the
    passages (p50) or in four fifths (p95), added up."""
    searcher = index._lexical._up_to_date(wait=True).searcher

    def often(word: str) -> int:
        return searcher.doc_freq("words", indexed_words(word)[0])

    rng = np.random.default_rng(3)
    connection = index._database.connection()
    passages = [row[0] for row in connection.execute("SELECT passage_id FROM vectors ORDER BY passage_id")]
    found = []
    for passage in rng.choice(passages, count):
        text, blob = connection.execute(
            "SELECT text, vector FROM passages JOIN vectors ON passage_id = id WHERE id = ?", (int(passage),)
        ).fetchone()
        asked = sorted(set(rng.choice(content_words(text), 6)), key=often)[: rng.integers(4, 7)]
        said = " ".join(rng.permutation(asked))
        vector = from_blobs([blob])[0] + rng.normal(size=DIMENSION).astype(np.float32) * 0.02
        index.embedder.known[said] = vector / np.linalg.norm(vector)
        found.append(SearchQuery(said))
    return found


def timed(work: Callable[[SearchQuery], object], queries: Sequence[SearchQuery]) -> list[tuple[float, float]]:
    """The wall-clock and processor seconds of each; on a busy machine they differ."""
    times = []
    for query in queries:
        started, begun = time.perf_counter(), time.thread_time()
        work(query)
        times.append((time.perf_counter() - started, time.thread_time() - begun))
    return times


def recall(index: EmbeddedIndex, queries: Sequence[SearchQuery]) -> tuple[float, float]:
    """The share of the exact best 10 and 100 that a search finds."""
    asked = np.stack([index.embedder.embed_query(query.literal) for query in queries])
    best: list[list[tuple[float, int]]] = [[] for _ in queries]
    rows = index._database.connection().execute("SELECT passage_id, vector FROM vectors")
    while some := rows.fetchmany(20_000):
        cosines = asked @ from_blobs([row[1] for row in some]).T
        for each, row in zip(best, cosines, strict=True):
            each += [(float(row[n]), some[n][0]) for n in np.argpartition(-row, min(100, len(row) - 1))[:100]]
            each.sort(reverse=True)
            del each[100:]
    shares = []
    for query, exact in zip(queries, best, strict=True):
        near = list(index._vectors.near(index.embedder.embed_query(query.literal), DEPTH))
        shares.append([len({p for _, p in exact[:n]} & set(near[:n])) / min(n, len(exact)) for n in (10, 100)])
    ten, hundred = np.mean(shares, axis=0)
    return float(ten), float(hundred)


def memory() -> str:
    rollup = Path("/proc/self/smaps_rollup").read_text()
    sizes = {name: int(size) / 1024 for name, size in re.findall(r"^(\w+):\s+(\d+) kB", rollup, re.M)}
    return f"memory {sizes['Rss']:,.0f} MB resident, of which {sizes['Anonymous']:,.0f} MB its own (anonymous)"


if __name__ == "__main__":
    main()
