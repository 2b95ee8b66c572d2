"""Kill a process with SIGKILL while it adds, removes, embeds and rebuilds, again and again, and look at what is left.

    python tests/index/kill_loop.py FOLDER [--kills 200] [--seed 0]

After each kill the library is opened again: all that was acknowledged is there, every search works, and the files
beside the database hold what its tables do. It ends with status 1 at the first fault.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # a process is forked here that must have no threads

sys.path.insert(0, str(Path(__file__).parent))
from conftest import WordEmbedder

from turnwise.index import stored, vectors
from turnwise.index.embedded import EmbeddedIndex
from turnwise.sqlite import Database
from turnwise.types import Chunk, Document, SearchQuery

Tell = Callable[[list[Any]], None]

SOURCES = 60
WORDS = "zebras lions gnus graze sleep run swim north south river hill old young".split()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    stored.MIN_GRAPH_VECTORS, stored.VECTORS_AT_ONCE, vectors.MAX_TAIL_VECTORS, vectors.BUILD_DELAY_SECONDS = (
        60,
        20,
        30,
        0.0,
    )
    held: dict[str, str] = {}  # the digests of the documents that are in
    hit: Counter[str] = Counter()
    for n in range(options.kills):
        rng = random.Random(options.seed * 100_000 + n)
        said = _killed(lambda tell, rng=rng: _work(options.folder, rng, tell), rng.uniform(0.01, 0.8))
        under_way, embedded = _follow(held, said)
        hit[str(under_way[0]) if under_way else "nothing"] += 1
        left = _reported(lambda tell: _look(options.folder, tell))
        faults = _faults(held, under_way, embedded, left)
        if faults:
            print(f"after kill {n + 1} (during {under_way}): " + "\n  ".join(faults))
            sys.exit(1)
        held = {source: str(digest) for source, digest in left["documents"].items()}
    print(f"{options.kills} kills, nothing lost: {dict(hit)}; {len(held)} documents are in")


def _follow(held: dict[str, str], said: list[list[Any]]) -> tuple[list[Any], set[int]]:
    """Take over what was acknowledged. Gives what was under way, and the passages whose vectors were acknowledged."""
    under_way: list[Any] = []
    embedded: set[int] = set()
    for line in said:
        if line[0] != "done":
            under_way = line
            continue
        if under_way[0] == "put":
            held |= dict(under_way[1])
        elif under_way[0] == "remove":
            held.pop(str(under_way[1]), None)
        elif under_way[0] == "embed":
            embedded |= set(line[1])
        under_way = []
    return under_way, embedded


def _faults(held: dict[str, str], under_way: list[Any], embedded: set[int], left: dict[str, Any]) -> list[str]:
    documents: dict[str, str] = left["documents"]
    faults = list(left["faults"])
    also: dict[str, set[str | None]] = {}
    if under_way and under_way[0] == "put":
        also = {source: {digest} for source, digest in dict(under_way[1]).items()}
    if under_way and under_way[0] == "remove":
        also = {str(under_way[1]): {None}}
    faults += [
        f"{source} is {documents.get(source)}, not {held.get(source)}"
        for source in {*held, *documents}
        if documents.get(source) not in {held.get(source), *also.get(source, ())}
    ]
    lost = (embedded & set(left["passages"])) - set(left["vectors"])
    return faults + [f"the vector of passage {passage} is lost" for passage in sorted(lost)]


# --- the process that is killed -----------------------------------------------------------------------------------


def _work(folder: Path, rng: random.Random, tell: Tell) -> None:
    """Change the library for ever, telling what is begun and what is done."""
    index = _open(folder)
    index.search(SearchQuery("zebras"), 3)
    tell(["ready"])
    while True:
        act = rng.choices(["put", "remove", "embed", "rebuild"], [2, 4, 6, 1])[0]
        if act == "put":
            some = [_document(rng) for _ in range(rng.choice((1, 5, 30)))]
            tell(["put", {document.source: document.digest for document in some}])
            index.put(some)
            tell(["done"])
        elif act == "remove":
            source = f"source {rng.randrange(SOURCES)}"
            tell(["remove", source])
            index.remove(source)
            index.search(SearchQuery("zebras"), 3)
            tell(["done"])
        elif act == "embed":
            tell(["embed"])
            waiting = index.unembedded(50)
            made = index.embedder.embed_passages([text for _, text in waiting])
            index.put_vectors({passage: vector for (passage, _), vector in zip(waiting, made, strict=True)})
            tell(["done", [passage for passage, _ in waiting]])
            tell(["files"])
            index.search(SearchQuery("zebras"), 3)  # which begins to make the files
            if rng.random() < 0.7:
                index.settle()
            tell(["done"])
        else:
            tell(["rebuild"])
            index.close()
            files = folder / "library.index"
            shutil.rmtree(rng.choice((files, files / "lexical-1", files / "vectors-1")), ignore_errors=True)
            index = _open(folder)
            index.search(SearchQuery("zebras"), 3)
            index.settle()
            tell(["done"])


def _document(rng: random.Random) -> Document:
    texts = [" ".join(rng.choices(WORDS, k=12)) for _ in range(rng.randrange(1, 6))]
    return Document(f"source {rng.randrange(SOURCES)}", "", f"{rng.random()}", tuple(map(Chunk, texts)))


def _open(folder: Path) -> EmbeddedIndex:
    return EmbeddedIndex(Database(folder / "library.db"), WordEmbedder())


# --- the process that looks ---------------------------------------------------------------------------------------


def _look(folder: Path, tell: Tell) -> None:
    faults: list[str] = []
    with closing(_open(folder)) as index:
        for round_ in ("at once", "with new files"):
            for word in WORDS:
                hits = index.search(SearchQuery(word), 200)
                if any(word not in hit.passage.text for hit in hits if hit.lexical_rank):
                    faults.append(f"{round_}: a passage without {word} is found by it")
            faults += [f"{round_}: {fault}" for fault in index.check()]
            index.settle()
        rows = index._database.connection().execute
        documents = {row[0]: row[1] for row in rows("SELECT source, hash FROM documents")}
        passages = [row[0] for row in rows("SELECT id FROM passages")]
        embedded = [row[0] for row in rows("SELECT passage_id FROM vectors")]
    tell([{"faults": faults, "documents": documents, "passages": passages, "vectors": embedded}])


# --- processes ----------------------------------------------------------------------------------------------------


def _forked(work: Callable[[Tell], None]) -> tuple[int, int]:
    """Do the work in a process of its own, which tells by a pipe: the process and the pipe."""
    read, write = os.pipe()
    if pid := os.fork():
        os.close(write)
        return pid, read
    try:
        work(lambda line: _write_all(write, json.dumps(line).encode() + b"\n"))
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _killed(work: Callable[[Tell], None], after: float) -> list[list[Any]]:
    """What it told until it was killed, so long after it was ready."""
    pid, read = _forked(work)
    with os.fdopen(read) as pipe:
        first = pipe.readline()
        time.sleep(after)
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        if first != '["ready"]\n' or not os.WIFSIGNALED(status) or os.WTERMSIG(status) != signal.SIGKILL:
            sys.exit("it ended before it was killed")
        return [json.loads(line) for line in pipe if line.endswith("\n")]


def _reported(work: Callable[[Tell], None]) -> dict[str, Any]:
    pid, read = _forked(work)
    with os.fdopen(read) as pipe:
        lines = pipe.readlines()
    _, status = os.waitpid(pid, 0)
    if status:
        sys.exit("the library cannot be looked at")
    found: dict[str, Any] = json.loads(lines[0])[0]
    return found


if __name__ == "__main__":
    main()
