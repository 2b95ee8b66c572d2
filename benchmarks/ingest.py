"""How long documents take to become a library, step by step: reading and cutting, putting in, and making vectors.

    python benchmarks/ingest.py [--passages 5000] [--embedded 400]

The documents are made up. All are read and put in; vectors are made for a part of them (all: --embedded 0), for each
takes about as long as the next. The share at the end is that of all but embedding, for so many passages.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from pathlib import Path

import turnwise
from turnwise.documents.chunk import chunk
from turnwise.documents.files import find
from turnwise.documents.ingest import EMBEDDED_AT_ONCE
from turnwise.documents.parse import parse

WORDS = """heron stork crane egret water reed fish morning field nest wing feather season count river bank marsh colony
flight winter summer south north country people village chimney roof storm rain sun light shadow long short grey white
black small large early late often seldom never always eats sleeps builds leaves returns stands waits strikes
calls""".split()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=5000)
    parser.add_argument("--embedded", type=int, default=400, help="passages to make vectors for; 0: all")
    parser.add_argument("--per-document", type=int, default=25, help="passages in a document")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        documents = Path(folder, "documents")
        write_documents(documents, arguments.passages, arguments.per_document)
        measure(documents, Path(folder, "library"), arguments.embedded)


def write_documents(folder: Path, passages: int, per_document: int) -> None:
    """Markdown files with headings, paragraphs, a list and a table; a section makes about one passage."""
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
    begun = time.perf_counter()
    items = find([documents]).items
    found = time.perf_counter() - begun
    begun = time.perf_counter()
    count = sum(len(chunk(parse(item.path))) for item in items if item.path is not None)
    read = time.perf_counter() - begun
    print(f"{len(items):,} documents, {count:,} passages")
    told("finding", found, count)
    told("reading and cutting, one process", read, count)
    with turnwise.open(library) as engine:
        begun = time.perf_counter()
        report = engine.read(documents)
        added = time.perf_counter() - begun
        told("add: found, read, cut, put in", added, report.passages)
        begun = time.perf_counter()
        again = engine.read(documents)
        told(f"add again: {again.unchanged:,} unchanged", time.perf_counter() - begun, report.passages)
        batches = (embedded or report.passages) // EMBEDDED_AT_ONCE
        waiting = engine.index.unembedded(report.passages)
        step = max(1, len(waiting) // max(1, batches * EMBEDDED_AT_ONCE))
        sample = waiting[::step][: batches * EMBEDDED_AT_ONCE]
        begun = time.perf_counter()
        for start in range(0, len(sample), EMBEDDED_AT_ONCE):
            batch = sample[start : start + EMBEDDED_AT_ONCE]
            vectors = engine.index.embedder.embed_passages([text for _, text in batch])
            engine.index.put_vectors({passage: vector for (passage, _), vector in zip(batch, vectors, strict=True)})
        rate = len(sample) / (time.perf_counter() - begun)
    embedding = report.passages / rate
    told(f"embedding, by {len(sample):,} of them", embedding, report.passages)
    whole = added + embedding
    print(f"all but embedding: {added / whole:.1%} of the time; {report.passages / whole:,.0f} passages/s")
    share = added / (report.passages / 80)
    print(f"all but embedding, were 80 passages/s made in all: {share:.1%} of the time")


def told(what: str, seconds: float, passages: int) -> None:
    print(f"  {what:42} {seconds:8.2f} s   {passages / max(seconds, 1e-9):10,.0f} passages/s")


if __name__ == "__main__":
    main()
