"""The files beside the database: made, followed, and made again when they are gone or damaged."""

from __future__ import annotations

import logging
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.index.conftest import WordEmbedder
from turnwise.documents.ingest import embed_pending
from turnwise.errors import LibraryError
from turnwise.index import stored, vectors
from turnwise.index.embedded import EmbeddedIndex
from turnwise.index.files import locked
from turnwise.index.words import indexed_words
from turnwise.sqlite import Database
from turnwise.types import Chunk, Document, Filter, SearchQuery

Open = Callable[..., EmbeddedIndex]


@pytest.fixture(autouse=True)
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files and graphs for libraries as small as those of the tests."""
    shrink(monkeypatch.setattr)


def shrink(set_: Callable[[object, str, object], None]) -> None:
    set_(stored, "MIN_GRAPH_VECTORS", 40)
    set_(stored, "VECTORS_AT_ONCE", 16)
    set_(vectors, "MAX_TAIL_VECTORS", 20)
    set_(vectors, "BUILD_DELAY_SECONDS", 0.0)


def documents(start: int, end: int, kind: str = "zebras") -> Iterator[Document]:
    """Documents of two passages."""
    for n in range(start, end):
        yield Document(f"{n}", f"Title {n}", kind, (Chunk(f"{kind} number{n}"), Chunk(f"other{n} words")), tags=(kind,))


def filled(index: EmbeddedIndex, count: int = 40) -> EmbeddedIndex:
    """Put documents in and wait until the files are made."""
    index.put(documents(0, count))
    embed_pending(index)
    settled(index)
    return index


def settled(index: EmbeddedIndex) -> None:
    for _ in range(3):  # to look for damage, to make the files, and to see that all is done
        index.search(SearchQuery("zebras"), 1)
        index.settle()


def near(index: EmbeddedIndex, text: str, k: int, **options: Filter) -> list[str]:
    return [hit.passage.source for hit in index.search(SearchQuery("unheard", dense=text, **options), k)]


# --- vectors ------------------------------------------------------------------------------------------------------


def test_many_vectors_are_found_by_the_graph_as_by_a_scan(open_index: Open, caplog: pytest.LogCaptureFixture) -> None:
    here = filled(open_index())
    table = here._vectors.table()
    assert table.graph is not None
    assert table.stored is not None
    assert (len(table.stored.rows.seqs), len(table.tail.seqs)) == (80, 0)
    assert "7" in near(here, "Title 7\nzebras number7", 5)
    assert here.check() == []

    here.put(documents(40, 45))
    embed_pending(here)
    assert len(here._vectors.table().tail.seqs) == 10
    assert "44" in near(here, "Title 44\nzebras number44", 5)
    for n in range(5):
        here.remove(str(n))
    assert "3" not in near(here, "Title 3\nzebras number3", 40)
    there = open_index()  # opens the files, and the log after them
    settled(there)
    assert there._vectors.table().graph is not None
    assert "44" in near(there, "Title 44\nzebras number44", 5)
    assert near(there, "Title 3\nzebras number3", 80) == near(here, "Title 3\nzebras number3", 80)
    assert there.check() == here.check() == []
    assert caplog.messages == []


def test_the_graph_grows_and_is_made_anew_when_much_is_removed(open_index: Open) -> None:
    index = filled(open_index())
    index.put(documents(40, 60))
    embed_pending(index)
    settled(index)
    table = index._vectors.table()
    assert table.graph is not None
    assert (len(table.graph), len(table.tail.seqs)) == (120, 0)
    for n in range(35):
        index.remove(str(n))
    settled(index)
    table = index._vectors.table()
    assert table.graph is not None
    assert (len(table.graph), table.removed) == (50, 0)
    assert index.check() == []
    for n in range(35, 60):
        index.remove(str(n))
    assert near(index, "zebras", 5) == []
    assert index.check() == []


def test_a_filter_holds_in_the_graph_too(open_index: Open) -> None:
    index = open_index()
    index.put(documents(0, 60))
    index.put(documents(60, 64, "lions"))
    embed_pending(index)
    settled(index)
    assert index._vectors.table().graph is not None
    assert sorted(set(near(index, "zebras number7", 50, where=Filter(tags=("lions",))))) == ["60", "61", "62", "63"]
    assert len(near(index, "lions", 100, where=Filter(tags=("zebras",)))) == 100


def test_another_process_takes_the_files_that_one_has_made(open_index: Open) -> None:
    here, there = open_index(), open_index()
    here.put(documents(0, 40))
    embed_pending(here)
    with locked(there._vectors._building):  # while one is at it the others scan
        assert "7" in near(there, "Title 7\nzebras number7", 5)
        there.settle()
        assert there._vectors.table().stored is None
        there.settle()  # that look began to make them too
    settled(here)
    settled(there)
    (ours, theirs) = (each._vectors.table().stored for each in (here, there))
    assert ours is not None
    assert theirs is not None
    assert ours.about == theirs.about


def test_an_embedder_may_be_loaded_after_the_graph() -> None:
    code = """
import numpy as np
from turnwise.index.stored import _graph
from turnwise.models.embedder import OnnxEmbedder
_graph(8).add(np.arange(3), np.ones((3, 8), dtype=np.int8))
print(len(OnnxEmbedder(threads=1).embed_query("text")))
"""
    ran = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (0, "384\n"), ran.stderr


def test_closing_stops_the_work_on_the_files(open_index: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "BUILD_DELAY_SECONDS", 60.0)
    index = open_index()
    index.put(documents(0, 40))
    embed_pending(index)
    index.search(SearchQuery("zebras"), 1)
    index.close()
    assert not index._vectors._folder.exists()


def test_the_nearest_are_ranked_by_their_exact_cosines(open_index: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "COMPARED_VECTORS", 30)
    index = filled(open_index())
    question = index.embedder.embed_query("zebras number7")
    found = index._vectors.near(question, 60)
    rows = index._database.connection().execute("SELECT passage_id, vector FROM vectors").fetchall()
    exact = {row[0]: float(np.frombuffer(row[1], dtype=np.float16).astype(np.float32) @ question) for row in rows}
    assert len(found) == 60
    in_order = [exact[passage] for passage in found]
    assert list(found.values())[:30] == pytest.approx(in_order[:30], abs=1e-5)
    assert list(found.values()) == pytest.approx(in_order, abs=0.02)
    assert in_order[:30] == sorted(in_order[:30], reverse=True)
    assert in_order == pytest.approx(sorted(exact.values(), reverse=True)[:60], abs=0.02)
    hits = index.search(SearchQuery("zebras number7"), 60)
    assert all(hit.similarity == pytest.approx(exact[hit.passage.id], abs=0.02) for hit in hits)


# --- damage -------------------------------------------------------------------------------------------------------


def rewrite(file: Path, data: bytes) -> None:
    """Put other bytes in the place of a file. One that is still mapped must not shrink: to touch it ends a process."""
    file.unlink()
    file.write_bytes(data)


def garble(file: Path) -> None:
    rewrite(file, bytes(np.random.default_rng(1).integers(0, 256, file.stat().st_size, dtype=np.uint8)))


def cut(file: Path) -> None:
    rewrite(file, file.read_bytes()[: file.stat().st_size // 2])


DAMAGE = {"gone": Path.unlink, "empty": lambda file: rewrite(file, b""), "cut": cut, "garbled": garble}
FILES = (
    "meta.json .managed.json *.idx *.term *.store *.fast *.fieldnorm"
    " about.json seqs passages codes scales graph.usearch"
).split()


@pytest.fixture(scope="module")
def whole_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a library and all its files."""
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        shrink(patch.setattr)
        index = filled(EmbeddedIndex(Database(folder / "library.db"), WordEmbedder()))
        index.close()
    return folder


def test_what_a_killed_writer_left_is_no_damage_and_a_changed_file_is(
    open_index: Open, tmp_path: Path, whole_library: Path
) -> None:
    shutil.copytree(whole_library, tmp_path, dirs_exist_ok=True)
    index = open_index()
    settled(index)
    (file, *_) = (tmp_path / "library.index").rglob("*.idx")
    file.with_name(f"{'ab' * 16}.idx").write_bytes(b"half of a fi")
    assert index.check() == []
    file.write_bytes(file.read_bytes()[:-9] + b"x" * 9)
    assert index.check() == [f"the file {file.name} is damaged"]


@pytest.mark.parametrize("how", DAMAGE)
@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_is_noticed_and_made_again(
    open_index: Open, tmp_path: Path, whole_library: Path, caplog: pytest.LogCaptureFixture, name: str, how: str
) -> None:
    shutil.copytree(whole_library, tmp_path, dirs_exist_ok=True)
    files = list((tmp_path / "library.index").rglob(name))
    assert files
    for file in files:
        DAMAGE[how](file)
    index = open_index()
    with caplog.at_level(logging.INFO):
        settled(index)
        assert [hit.passage.source for hit in index.search(SearchQuery("number7"), 1)] == ["7"]
        assert "9" in near(index, "Title 9\nzebras number9", 5)
        assert index.check() == []
    assert index._vectors.table().graph is not None
    harmless = name == ".managed.json"
    assert harmless or any("library.db" in message for message in caplog.messages)


def test_files_of_another_library_are_not_taken(tmp_path: Path, word_embedder) -> None:
    for name, kind in (("one", "zebras"), ("two", "lions")):
        (tmp_path / name).mkdir()
        index = EmbeddedIndex(Database(tmp_path / name / "library.db"), word_embedder)
        index.put(documents(0, 40, kind))
        embed_pending(index)
        settled(index)
        index.close()
    shutil.rmtree(tmp_path / "one" / "library.index")
    shutil.copytree(tmp_path / "two" / "library.index", tmp_path / "one" / "library.index")
    index = EmbeddedIndex(Database(tmp_path / "one" / "library.db"), word_embedder)
    assert index.search(SearchQuery("lions"), 1)[0].lexical_rank is None
    assert index.search(SearchQuery("zebras"), 1)[0].lexical_rank == 1
    settled(index)
    assert index.check() == []
    index.close()


def test_files_ahead_of_an_older_copy_of_the_library_are_not_taken(tmp_path: Path, word_embedder) -> None:
    index = EmbeddedIndex(Database(tmp_path / "library.db"), word_embedder)
    index.put(documents(0, 10))
    index.close()
    shutil.copy(tmp_path / "library.db", tmp_path / "backup.db")
    index = EmbeddedIndex(Database(tmp_path / "library.db"), word_embedder)
    index.put(documents(10, 50, "lions"))
    embed_pending(index)
    settled(index)
    index.close()
    shutil.copy(tmp_path / "backup.db", tmp_path / "library.db")
    index = EmbeddedIndex(Database(tmp_path / "library.db"), word_embedder)
    assert index.search(SearchQuery("lions"), 5) == []
    assert len(index.search(SearchQuery("zebras"), 20)) == 10
    assert index.check() == []
    index.close()


def test_files_that_cannot_be_made_are_reported(open_index: Open, tmp_path: Path) -> None:
    (tmp_path / "library.index").write_text("a file where the folder should be")
    index = open_index()
    with pytest.raises(LibraryError, match="cannot be searched") as raised:
        index.put(documents(0, 1))
    assert "can be written" in raised.value.hint
    (tmp_path / "library.index").unlink()
    assert len(index.search(SearchQuery("zebras"), 5)) == 1  # what was put in is not lost


# --- several processes --------------------------------------------------------------------------------------------

READER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from conftest import WordEmbedder
from turnwise.index.embedded import EmbeddedIndex
from turnwise.sqlite import Database
from turnwise.types import SearchQuery
index = EmbeddedIndex(Database(Path(sys.argv[1])), WordEmbedder())
for line in sys.stdin:
    hits = index.search(SearchQuery(line.strip()), 500)
    print(len([hit for hit in hits if hit.lexical_rank]), flush=True)
index.close()
"""


@pytest.fixture
def ask_another_process(tmp_path: Path) -> Iterator[Callable[[str], int]]:
    """How many passages another process finds by a word."""
    with subprocess.Popen(
        [sys.executable, "-c", READER, tmp_path / "library.db", Path(__file__).parent],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def ask(word: str) -> int:
            print(word, file=process.stdin, flush=True)
            return int(process.stdout.readline())

        yield ask
        process.stdin.close()


def test_what_was_put_is_found_by_another_process_at_once(
    open_index: Open, ask_another_process: Callable[[str], int]
) -> None:
    index = open_index()
    for n in range(5):
        index.put(documents(n, n + 1))
        assert ask_another_process("zebras") == n + 1
    index.remove("2")
    assert ask_another_process("zebras") == 4
    index.put(documents(0, 2, "lions"))
    assert (ask_another_process("zebras"), ask_another_process("lions")) == (2, 2)


def test_a_search_does_not_wait_for_who_is_writing(open_index: Open, ask_another_process: Callable[[str], int]) -> None:
    index = open_index()
    index.put(documents(0, 3))
    assert ask_another_process("zebras") == 3
    with ThreadPoolExecutor(1) as pool, locked(index._lexical._lock):
        putting = pool.submit(index.put, documents(3, 9))
        while index.counts().documents < 9:
            threading.Event().wait(0.01)
        assert ask_another_process("zebras") == 3  # on disk, but not acknowledged yet
        assert not putting.done()
    assert ask_another_process("zebras") == 9


# --- all of it, in any order --------------------------------------------------------------------------------------

texts = st.lists(st.sampled_from("zebras lions gnus graze sleep run".split()), min_size=1, max_size=5).map(" ".join)
sources = st.sampled_from([f"source {n}" for n in range(6)])


class Library(RuleBasedStateMachine):
    """A library beside a plain dict: they hold the same whatever is done, and whatever becomes of the files."""

    @initialize()
    def begin(self) -> None:
        self.patch = pytest.MonkeyPatch()
        shrink(self.patch.setattr)
        self.patch.setattr(vectors, "MAX_TAIL_VECTORS", 8)
        self.patch.setattr(stored, "MIN_GRAPH_VECTORS", 12)
        self.folder = Path(tempfile.mkdtemp())
        self.held: dict[str, tuple[str, ...]] = {}
        self.embedded: set[tuple[str, int]] = set()
        self.index = self.opened()

    def opened(self) -> EmbeddedIndex:
        return EmbeddedIndex(Database(self.folder / "library.db"), WordEmbedder())

    @rule(batch=st.dictionaries(sources, st.lists(texts, min_size=1, max_size=5).map(tuple), max_size=4))
    def put(self, batch: dict[str, tuple[str, ...]]) -> None:
        outcomes = self.index.put(
            Document(source, "", repr(chunks), tuple(map(Chunk, chunks))) for source, chunks in batch.items()
        )
        for (source, chunks), outcome in zip(batch.items(), outcomes, strict=True):
            known = self.held.get(source)
            assert outcome == ("added" if known is None else "unchanged" if known == chunks else "updated")
            if known != chunks:
                self.embedded -= {each for each in self.embedded if each[0] == source}
        self.held |= batch

    @rule(source=sources)
    def remove(self, source: str) -> None:
        assert self.index.remove(source) == (self.held.pop(source, None) is not None)
        self.embedded -= {each for each in self.embedded if each[0] == source}

    @rule(limit=st.integers(1, 12))
    def embed(self, limit: int) -> None:
        waiting = dict(self.index.unembedded(limit))
        assert len(waiting) == min(limit, sum(map(len, self.held.values())) - len(self.embedded))
        made = self.index.embedder.embed_passages(list(waiting.values()))
        assert self.index.put_vectors(dict(zip(waiting, made, strict=True))) == len(waiting)
        for each in waiting:
            passage = self.index.passage(each)
            assert passage is not None
            self.embedded.add((passage.source, passage.position))

    @rule()
    def reopen(self) -> None:
        self.index.close()
        self.index = self.opened()

    @rule(pick=st.integers(0, 1000), how=st.sampled_from([*DAMAGE, "folder"]))
    @precondition(lambda self: (self.folder / "library.index").exists())
    def damage(self, pick: int, how: str) -> None:
        self.index.close()
        files = sorted(file for file in (self.folder / "library.index").rglob("*") if file.is_file())
        if how == "folder":
            shutil.rmtree(self.folder / "library.index")
        elif files:
            DAMAGE[how](files[pick % len(files)])
        self.index = self.opened()
        self.index.search(SearchQuery("zebras"), 1)
        self.index.settle()

    @rule(word=st.sampled_from("zebras lions gnus graze sleep run".split()))
    def search(self, word: str) -> None:
        hits = self.index.search(SearchQuery(word), 500)
        found = {(hit.passage.source, hit.passage.position) for hit in hits if hit.lexical_rank}
        assert found == {
            (source, n) for source, chunks in self.held.items() for n, text in enumerate(chunks) if word in text
        }
        assert {(h.passage.source, h.passage.position) for h in hits if h.dense_rank} == self.embedded
        assert all(indexed_words(hit.passage.text) for hit in hits)

    @rule()
    def look(self) -> None:
        self.index.settle()
        assert self.index.check() == []
        counts = self.index.counts()
        assert (counts.documents, counts.vectors) == (len(self.held), len(self.embedded))
        assert counts.passages == sum(map(len, self.held.values()))
        assert [each.source for each in self.index.documents()] == sorted(self.held)

    def teardown(self) -> None:
        if hasattr(self, "index"):
            self.look()
            self.index.close()
            shutil.rmtree(self.folder)
            self.patch.undo()


Library.TestCase.settings = settings(
    max_examples=20, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
TestLibrary = Library.TestCase
