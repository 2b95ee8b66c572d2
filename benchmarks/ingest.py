"""How long it takes to build a library: reading, chunking, indexing, embedding, and the guard's check.

    python benchmarks/ingest.py [--passages 5000] [--embedded 400]

The documents are made up. All are read and indexed; only some are embedded (all: --embedded 0), because each takes
about as long as the next. Wall-clock times are only meaningful on an idle machine, processor times also on a busy one.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from pathlib import Path

import turnwise
from turnwise.app import guard_of
from turnwise.config import Settings
from turnwise.documents.chunk import chunk
from turnwise.documents.files import find
from turnwise.documents.ingest import EMBED_BATCH_PASSAGES
from turnwise.documents.parse import parse
from turnwise.models.embedder import OnnxEmbedder, QuickEmbedder

WORDS = """heron stork crane egret water reed fish morning field nest wing feather season count river bank marsh colony
flight winter summer south north country people village chimney roof storm rain sun light shadow long short grey white
black small large early late often seldom never always eats sleeps builds leaves returns stands waits strikes
calls""".split()

SHORT = 650  # characters, about 120 tokens


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=5000)
    parser.add_argument("--embedded", type=int, default=400, help="passages to embed; 0: all")
    parser.add_argument("--per-document", type=int, default=25, help="passages per document")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        documents = Path(folder, "documents")
        write_documents(documents, arguments.passages, arguments.per_document)
        measure(documents, Path(folder, "library"), arguments.embedded)


def write_documents(folder: Path, passages: int, per_document: int) -> None:
    """Markdown files with headings, paragraphs, a list and a table; one section becomes about one passage."""
    folder.mkdir()
    chance = random.Random(1)
    for number in range(max(1, passages // per_document)):
        sections = (section(chance, part) for part in range(per_document))
        text = f"# The {chance.choice(WORDS)} of {number}\n\n" + "\n\n".join(sections)
        (folder / f"{number:05}.md").write_text(text, encoding="utf-8")


def section(chance: random.Random, part: int) -> str:
    paragraphs = "\n\n".join(" ".join(sentence(chance) for _ in range(4)) for _ in range(3))
    items = "\n".join(f"- {sentence(chance)}" for _ in range(3))
    return f"## Part {part}: {chance.choice(WORDS)}\n\n{paragraphs}\n\n{items}"


def sentence(chance: random.Random) -> str:
    return " ".join(chance.choices(WORDS, k=chance.randint(8, 14))).capitalize() + "."


def measure(documents: Path, library: Path, embedded: int) -> None:
    with Clock() as finding:
        items = find([documents]).items
    with Clock() as reading:
        count = sum(len(chunk(parse(item.path))) for item in items if item.path is not None)
    print(f"{len(items):,} documents, {count:,} passages; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    told("finding", finding, count)
    told("reading and cutting, one process", reading, count)
    with turnwise.open(library) as engine:
        with Clock() as adding:
            report = engine.read(documents)
        told("add: found, read, cut, put in", adding, count)
        with Clock() as again:
            unchanged = engine.read(documents).unchanged
        told(f"add again: {unchanged:,} unchanged", again, count)
        waiting = engine.index.unembedded(report.passages)
        sample = waiting[:: max(1, len(waiting) // embedded)][:embedded] if embedded else waiting
        with Clock() as embedding:
            for start in range(0, len(sample), EMBED_BATCH_PASSAGES):
                batch = sample[start : start + EMBED_BATCH_PASSAGES]
                vectors = engine.index.embedder.embed_passages([text for _, text in batch])
                made = {passage: vector for (passage, _), vector in zip(batch, vectors, strict=True)}
                engine.index.put_vectors(made)
    told(f"embedding {len(sample):,} of them", embedding, len(sample))
    rest = embedding.seconds * count / len(sample)
    share, computed = adding.seconds / (adding.seconds + rest), embedding.computed * count / len(sample)
    print(
        f"all but embedding: {share:.1%} of the time, {adding.computed / (adding.computed + computed):.1%} of the work"
    )
    print(f"all but embedding, at 80 passages/s in all: {adding.seconds * 80 / count:.1%} of the time")
    inspector = guard_of(Settings(), None).instructions
    assert inspector is not None
    with Clock() as checking:
        inspector.inspect([text for _, text in sample])
    told(f"checking {len(sample):,} of them", checking, len(sample))
    print("passages of about 120 tokens")
    whole = OnnxEmbedder()
    for name, embedder, number in (("quick", QuickEmbedder(whole), 160), ("quality", whole, 40)):
        texts = [text[:SHORT] for _, text in sample[:number]]
        embedder.embed_passages(texts[:2])  # loads the weights
        with Clock() as short:
            embedder.embed_passages(texts)
        told(f"embedding, {name}", short, len(texts))


class Clock:
    """The wall-clock and processor seconds of a block, including those of workers that have ended."""

    def __enter__(self) -> Clock:
        self._begun, self._before = time.perf_counter(), sum(os.times()[:4])
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self._begun
        self.computed = sum(os.times()[:4]) - self._before


def told(what: str, clock: Clock, passages: int) -> None:
    rate = passages / max(clock.seconds, 1e-9)
    print(f"  {what:36} {clock.seconds:8.2f} s, {clock.computed:8.2f} s of computing {rate:10,.0f} passages/s")


if __name__ == "__main__":
    main()
