"""How fast and how accurately a library in PostgreSQL searches: 100,000 made-up passages on its own server.

    python benchmarks/postgres.py [--passages 100000] [--queries 200] [--embedded]

With --embedded, the same passages are also put into a library in a folder, and the best ten of both are compared.

Words follow Zipf's law, vectors lie in clusters; a question is 3 to 12 content words of a passage, with a vector near
that of the passage. Times depend on the machine and on what else runs on it. Needs the same as the PostgreSQL tests.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.services import postgres
from turnwise.index.embedded import EmbeddedIndex
from turnwise.index.postgres import PostgresIndex
from turnwise.index.postgres_load import begin_vectors, finish_vectors, load_vectors
from turnwise.index.postgres_search import SEARCH_STATE, Bounds, vector_text
from turnwise.index.words import indexed_words, weighted_words
from turnwise.postgres import Database
from turnwise.sqlite import Database as Sqlite
from turnwise.types import Chunk, Document, Filter, SearchQuery

VOCABULARY = 100_000
FUNCTION_WORDS = 100  # the most frequent words, which do not occur in questions
DIMENSION = 384
CLUSTERS = 1000


class Library:
    """Made-up passages: their words, their vectors, and questions about them."""

    def __init__(self, passages: int) -> None:
        self.random = np.random.default_rng(7)
        chances = 1 / np.arange(1, VOCABULARY + 1)
        self.lengths = self.random.integers(60, 200, passages)
        self.starts = np.concatenate([[0], np.cumsum(self.lengths)])
        self.tokens = self.random.choice(VOCABULARY, self.lengths.sum(), p=chances / chances.sum())
        centres = self.random.normal(size=(CLUSTERS, DIMENSION)).astype(np.float32)
        self.vectors = centres[self.random.integers(CLUSTERS, size=passages)]
        self.vectors += self.random.normal(size=self.vectors.shape).astype(np.float32) * 0.7
        self.vectors /= np.linalg.norm(self.vectors, axis=1, keepdims=True)

    def text(self, passage: int) -> str:
        return " ".join(f"w{token}" for token in self.tokens[self.starts[passage] : self.starts[passage + 1]])

    def documents(self) -> Iterator[Document]:
        for passage in range(len(self.lengths)):
            text = self.text(passage)
            chunk = Chunk(text, end=len(text))
            yield Document(f"{passage}", "", "1", (chunk,), collection=f"c{passage % 100}")

    def questions(self, count: int) -> list[tuple[str, np.ndarray]]:
        """Questions and their vectors."""
        made = []
        for passage in self.random.integers(len(self.lengths), size=count):
            words = self.tokens[self.starts[passage] : self.starts[passage + 1]]
            words = self.random.permutation(words[words >= FUNCTION_WORDS])[: self.random.integers(3, 13)]
            vector = self.vectors[passage] + self.random.normal(size=DIMENSION).astype(np.float32) * 0.02
            made.append((" ".join(f"w{word}" for word in words), vector / np.linalg.norm(vector)))
        return made


class MadeUp:
    """An embedder with the vectors that the questions were made with."""

    name, dimension = "made up", DIMENSION

    def __init__(self, questions: Sequence[tuple[str, np.ndarray]]) -> None:
        self._vectors = dict(questions)

    def embed_query(self, text: str) -> np.ndarray:
        return self._vectors[text]

    def embed_passages(self, texts: Sequence[str]) -> np.ndarray:
        raise NotImplementedError


class ExactBM25:
    """BM25 by its formula, over the same words, with exact lengths."""

    def __init__(self, texts: Iterator[str]) -> None:
        self.postings: dict[str, dict[int, int]] = {}
        lengths = []
        for passage, text in enumerate(texts):
            said = indexed_words(text)
            lengths.append(len(said))
            for word in said:
                of_word = self.postings.setdefault(word, {})
                of_word[passage] = of_word.get(passage, 0) + 1
        self.lengths = np.array(lengths)

    def best(self, question: str, count: int) -> list[int]:
        scores = np.zeros(len(self.lengths))
        norms = 1.2 * (0.25 + 0.75 * self.lengths / self.lengths.mean())
        for word, weight in weighted_words(SearchQuery(question)).items():
            of_word = self.postings.get(word, {})
            at, times = np.array(list(of_word), dtype=int), np.array(list(of_word.values()), dtype=float)
            rarity = np.log(1 + (len(self.lengths) - len(at) + 0.5) / (len(at) + 0.5))
            scores[at] += weight * rarity * times * 2.2 / (times + norms[at])
        return [int(passage) for passage in np.argsort(-scores, kind="stable")[:count]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--embedded", action="store_true", help="compare with the embedded index")
    arguments = parser.parse_args()
    library = Library(arguments.passages)
    questions = library.questions(arguments.queries)
    with postgres() as server:
        index = PostgresIndex(Database(server.create("benchmark")), MadeUp(questions))
        fill(index, library)
        results = measure(index, library, questions)
        index.close()
    if arguments.embedded:
        with tempfile.TemporaryDirectory() as folder:
            compare(Path(folder), library, questions, results)


def fill(index: PostgresIndex, library: Library) -> None:
    start = time.perf_counter()
    index.put(library.documents())
    print(f"{len(library.lengths):,} passages put in: {time.perf_counter() - start:.0f} s")
    start = time.perf_counter()
    (row,) = index._database.rows("SELECT min(id) AS first FROM passages")
    halves = library.vectors.astype(np.float16)
    begin_vectors(index._database, index.embedder.name, DIMENSION)
    for start_at in range(0, len(halves), 5000):
        batch = enumerate(halves[start_at : start_at + 5000], row["first"] + start_at)
        load_vectors(index._database, [(passage, vector.tobytes()) for passage, vector in batch])
    finish_vectors(index._database)
    print(f"vectors and their index: {time.perf_counter() - start:.0f} s")
    with index._database.connection() as connection:
        connection.execute("VACUUM ANALYZE")
    (size,) = index._database.rows("SELECT pg_size_pretty(pg_database_size(current_database())) AS size")
    (row,) = index._database.rows("SELECT count(*) AS count FROM segments")
    print(f"on disk: {size['size']}; segments of words: {row['count']}\n")


def measure(
    index: PostgresIndex, library: Library, questions: list[tuple[str, np.ndarray]]
) -> tuple[list[list[int]], ...]:
    """The results for each question, by words and by both words and vectors."""
    print(f"{platform.machine()}, Python {platform.python_version()}, {len(questions)} questions\n")
    (row,) = index._database.rows("SELECT min(id) AS first FROM passages")
    first = row["first"]
    asked = [SearchQuery(question) for question, _ in questions]
    some = Filter(collections=("c7",))
    most = Filter(collections=tuple(f"c{n}" for n in range(90)))

    def words(query: SearchQuery) -> list[int]:
        with index._database.connection() as connection:
            state = connection.execute(SEARCH_STATE).fetchone()
            return list(by_words(connection, query, state, Bounds()))

    def meaning(query: SearchQuery) -> list[int]:
        with index._database.connection() as connection:
            vector = vector_text(index.embedder.embed_query(query.question))
            return list(by_meaning(connection, vector, Bounds()))

    def hybrid(where: Filter) -> Callable[[SearchQuery], list[int]]:
        return lambda query: [hit.passage.id for hit in index.search(SearchQuery(query.literal, where=where), 10)]

    (row,) = index._database.rows("SELECT pg_backend_pid() AS process")  # one connection does it all
    server = row["process"]
    print(f"{'':32} {'p50 ms':>8} {'p95 ms':>8} {'processor':>10}")
    by_words = timed("BM25", words, asked, server)
    by_meaning = timed("vectors", meaning, asked, server)
    by_both = timed("both, fused, with their texts", hybrid(Filter()), asked, server)
    timed("the same within 1 % of all", hybrid(some), asked, server)
    timed("the same within 90 % of all", hybrid(most), asked, server)

    exact = ExactBM25(library.text(passage) for passage in range(len(library.lengths)))
    overlaps = [shared(exact.best(query.literal, 10), [each - first for each in found])
                for query, found in zip(asked, by_words, strict=True)]  # fmt: skip
    print(f"\ntop ten shared with BM25 by its formula: {np.mean(overlaps):.3f}")
    nearest = [np.argsort(-(library.vectors @ vector))[:100].tolist() for _, vector in questions]
    for depth in (10, 100):
        recall = [shared(true[:depth], [each - first for each in found], depth)
                  for true, found in zip(nearest, by_meaning, strict=True)]  # fmt: skip
        print(f"nearest {depth} vectors found: {np.mean(recall):.3f}")
    return [[each - first for each in found] for found in by_words], [
        [each - first for each in found] for found in by_both
    ]


def compare(
    folder: Path,
    library: Library,
    questions: list[tuple[str, np.ndarray]],
    results: tuple[list[list[int]], ...],
) -> None:
    """The share of the best ten that an embedded library also finds."""
    index = EmbeddedIndex(Sqlite(folder / "library.db"), MadeUp(questions))
    index.put(library.documents())
    first = index._rows("SELECT min(id) FROM passages")[0][0]
    for start in range(0, len(library.vectors), 5000):
        index.put_vectors(dict(enumerate(library.vectors[start : start + 5000], first + start)))
    index.settle()
    asked = [SearchQuery(question) for question, _ in questions]
    by_words = [list(index._lexical.scores(weighted_words(query), 100)) for query in asked]
    by_both = [[hit.passage.id for hit in index.search(query, 10)] for query in asked]
    for name, ours, theirs in zip(("words", "both"), results, (by_words, by_both), strict=True):
        overlaps = [shared([each - first for each in there], here) for here, there in zip(ours, theirs, strict=True)]
        print(f"top ten shared with the embedded index, by {name}: {np.mean(overlaps):.3f}")
    index.close()


def timed(name: str, search: Callable[[SearchQuery], Any], queries: Sequence[SearchQuery], server: int) -> list[Any]:
    """The results. Prints how long they took, and the processor time of this process and the server's, which does not
    depend on what else runs."""
    for query in queries[:20]:
        search(query)
    results, times = [], []
    used = time.process_time() + _processor_time(server)
    for query in queries:
        start = time.perf_counter()
        results.append(search(query))
        times.append(1000 * (time.perf_counter() - start))
    used = 1000 * (time.process_time() + _processor_time(server) - used) / len(queries)
    print(f"{name:32} {np.percentile(times, 50):8.1f} {np.percentile(times, 95):8.1f} {used:10.1f}")
    return results


def _processor_time(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def shared(wanted: Sequence[int], found: Sequence[int], depth: int = 10) -> float:
    return len(set(wanted[:depth]) & set(found[:depth])) / depth


if __name__ == "__main__":
    main()
