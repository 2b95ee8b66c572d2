from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from turnwise.documents.ingest import add, embed_pending, pending, remove
from turnwise.errors import LibraryDamaged
from turnwise.index.embedded import EmbeddedIndex
from turnwise.index.fusion import WORDS_WEIGHT
from turnwise.models.embedder import OnnxEmbedder
from turnwise.sqlite import Database
from turnwise.types import Chunk, Counts, Document, SearchQuery, Term

Open = Callable[..., EmbeddedIndex]


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")


def found(index: EmbeddedIndex, query: str, *added: Term, k: int = 5) -> list[str]:
    return [hit.passage.title for hit in index.search(SearchQuery(query, added), k)]


def one(source: str, title: str, text: str) -> Document:
    """A document of one passage."""
    return Document(source, title, f"{title}\n{text}", (Chunk(text, end=len(text)),))


def ready(count: int) -> Iterator[Document]:
    return (one(f"row {n}", f"Title {n}", f"common words and number{n}") for n in range(count))


# --- documents in and out -----------------------------------------------------------------------------------------


def test_a_mixed_folder_is_read_searched_and_cited(open_index: Open, folder: Path, real_embedder, make_pdf) -> None:
    write(folder, bread="# Bread\n\n## Leaven\n\nSourdough rises by wild yeast.\n\n## Salt\n\nSalt slows it down.")
    (folder / "heart.html").write_text("<title>Heart</title><p>The heart pumps blood.</p>")
    (folder / "treaty.pdf").write_bytes(make_pdf([["Front page."], ["The treaty was signed in 1648."]], "Treaty"))
    (folder / "notes.txt").write_text("Glaciers carve valleys out of rock.")
    index = open_index(real_embedder)

    report = add(index, [folder])
    assert (report.added, report.updated, report.unchanged, report.passages) == (4, 0, 0, 6)
    assert (report.skipped, report.failed) == ((), ())
    assert embed_pending(index) == 6
    assert index.counts() == Counts(documents=4, passages=6, vectors=6)

    best = index.search(SearchQuery("Which microbes leaven bread?"), 3)[0]
    assert (best.passage.title, best.passage.heading) == ("Bread", "Leaven")
    assert best.passage.source == str(folder.resolve() / "bread.md")
    assert (best.dense_rank, best.lexical_rank) == (1, 1)
    assert best.similarity is not None
    assert 0.5 < best.similarity < 1
    assert found(index, "how is the landscape shaped by ice?")[0] == "notes"
    signed = index.search(SearchQuery("treaty signed"), 1)[0].passage
    assert (signed.page, signed.text) == (2, "The treaty was signed in 1648.")
    assert index.passage(signed.id) == signed
    assert index.passage(999) is None


def test_an_unchanged_file_is_skipped_and_a_changed_one_replaced(open_index: Open, folder: Path) -> None:
    write(folder, a="# A\n\nOld words about zebras.", b="# B\n\nOther words.")
    index = open_index()
    add(index, [folder])
    embed_pending(index)
    before = {document.source: document.id for document in index.documents()}

    write(folder, a="# A\n\nNew words about lions.")
    report = add(index, [folder])
    assert (report.added, report.updated, report.unchanged, report.passages) == (0, 1, 1, 1)
    assert {document.source: document.id for document in index.documents()} == before
    assert found(index, "zebras") == ["B"]  # near by vector only: the word is gone
    assert index.search(SearchQuery("lions"), 1)[0].similarity is None
    assert pending(index) == 1
    embed_pending(index)
    assert index.search(SearchQuery("lions"), 1)[0].similarity is not None


def test_a_changed_file_that_broke_leaves_the_old_text_in(open_index: Open, folder: Path) -> None:
    write(folder, a="# A\n\nZebras.")
    index = open_index()
    add(index, [folder])
    (folder / "a.md").write_bytes(b"\0\0\0")
    assert [failure.code for failure in add(index, [folder]).failed] == ["UnreadableDocument"]
    assert found(index, "zebras") == ["A"]


def test_what_cannot_be_read_is_reported_and_the_rest_goes_on(open_index: Open, folder: Path, make_pdf) -> None:
    write(folder, good="Fine words.", empty="")
    (folder / "secret.pdf").write_bytes(make_pdf([["Hidden."]], encrypted=True))
    (folder / "sheet.numbers").write_bytes(b"PK")
    (folder / "sheet2.numbers").write_bytes(b"PK")
    seen: list[tuple[str, int, int]] = []

    report = add(
        open_index(),
        [folder, folder / "absent.md", folder / "sheet2.numbers", Path("nul\0byte.md"), Path("x" * 5000)],
        lambda *progress: seen.append(progress),
    )
    assert report.added == 1
    assert [Path(name).name for name in report.skipped] == ["sheet.numbers", "sheet2.numbers"]
    assert sorted((Path(failure.source).name[:10], failure.code) for failure in report.failed) == [
        ("absent.md", "UnreadableDocument"),
        ("empty.md", "UnreadableDocument"),
        ("nul\0byte.m", "UnreadableDocument"),
        ("secret.pdf", "EncryptedDocument"),
        ("xxxxxxxxxx", "UnreadableDocument"),
    ]
    assert all(failure.message and failure.hint for failure in report.failed)
    assert seen == [("reading", done, 3) for done in (1, 2, 3)]


def test_an_unsupported_file_given_by_name_fails(open_index: Open, folder: Path) -> None:
    (folder / "sheet.numbers").write_bytes(b"PK")
    (failure,) = add(open_index(), [folder / "sheet.numbers"]).failed
    assert failure.code == "UnsupportedDocument"
    assert "PDF" in failure.hint


def test_hidden_names_are_passed_over_and_links_count_once(open_index: Open, folder: Path) -> None:
    write(folder, a="# A\n\nText.", **{".hidden": "Hidden."})
    (folder / ".git").mkdir()
    write(folder / ".git", b="Hidden too.")
    (folder / "deep").mkdir()
    write(folder / "deep", c="# C\n\nText.")
    (folder / "deep" / "loop").symlink_to(folder)
    (folder / "z.md").symlink_to(folder / "a.md")
    (folder / "nowhere.md").symlink_to(folder / "absent.md")
    index = open_index()
    report = add(index, [folder, folder / "deep", folder / "a.md", folder / "z.md"])
    assert (report.added, report.failed) == (2, ())
    assert [document.title for document in index.documents()] == ["A", "C"]


def test_a_document_is_removed_by_any_of_its_names(
    open_index: Open, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, a="# A\n\nZebras.", b="# B\n\nLions.", c="# C\n\nGnus.")
    index = open_index()
    add(index, [folder])
    index.put(ready(1))
    embed_pending(index)
    monkeypatch.chdir(folder)
    assert remove(index, "a.md")
    assert remove(index, str(folder / "b.md"))
    assert remove(index, "row 0")
    assert not remove(index, "a.md")
    assert not remove(index, "nul\0 \ud800")
    assert found(index, "zebras lions gnus") == ["C"]
    assert index.counts() == Counts(1, 1, 1)


def test_a_name_that_is_no_text_is_taken(open_index: Open, folder: Path) -> None:
    try:
        (folder / os.fsdecode(b"caf\xe9.txt")).write_text("Coffee.")
    except OSError:
        pytest.skip("this file system takes no such name")
    index = open_index()
    assert add(index, [folder]).added == 1
    (document,) = index.documents()
    assert remove(index, document.source)


# --- vectors ------------------------------------------------------------------------------------------------------


def test_words_are_found_before_vectors_exist(open_index: Open, folder: Path) -> None:
    write(folder, a="# Animals\n\nZebras graze.")
    index = open_index(OnnxEmbedder(folder=None))
    add(index, [folder])
    (hit,) = index.search(SearchQuery("zebra"), 5)
    assert (hit.similarity, hit.lexical_rank, hit.dense_rank) == (None, 1, None)
    assert found(index, "animals") == ["Animals"]  # titles are searched too
    assert found(index, "nothing of the kind") == []


def test_embedding_stops_when_told_and_goes_on_later(open_index: Open) -> None:
    index = open_index()
    index.put(ready(150))
    stop = threading.Event()
    seen: list[tuple[str, int, int]] = []

    def progress(*step: object) -> None:
        seen.append(step)  # type: ignore[arg-type]
        if step[1]:
            stop.set()

    assert embed_pending(index, progress, stop) == 16
    assert seen == [("embedding", 0, 150), ("embedding", 16, 150)]
    assert embed_pending(index, stop=stop) == 0
    assert pending(index) == 134
    assert embed_pending(index) == 134
    assert embed_pending(index) == 0


def test_a_killed_process_loses_only_its_last_batch(open_index: Open, tmp_path: Path) -> None:
    open_index().put(ready(100))
    code = """
import os, sys
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from conftest import WordEmbedder
from turnwise.documents.ingest import embed_pending
from turnwise.index.embedded import EmbeddedIndex
from turnwise.sqlite import Database
index = EmbeddedIndex(Database(Path(sys.argv[1])), WordEmbedder())
embed_pending(index, lambda _, done, __: os._exit(9) if done else None)
"""
    ran = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "library.db", Path(__file__).parent], check=False, timeout=60
    )
    assert ran.returncode == 9
    index = open_index()
    assert pending(index) == 84
    assert embed_pending(index) == 84


def test_a_passage_removed_while_it_is_embedded_is_forgotten(open_index: Open, word_embedder) -> None:
    index = open_index(word_embedder)
    index.put(ready(3))
    embed = word_embedder.embed_passages

    def remove_then_embed(texts):
        remove(index, "row 1")
        return embed(texts)

    word_embedder.embed_passages = remove_then_embed
    assert embed_pending(index) == 2
    assert index.counts() == Counts(2, 2, 2)


# --- searching ----------------------------------------------------------------------------------------------------


def test_weighted_words_add_up_as_bm25_does(open_index: Open) -> None:
    index = open_index()
    texts = ["red " * (n % 5) + "green " * (n % 3) + "blue " * (n % 7) for n in range(60)]
    index.put(one(f"{n}", "", text) for n, text in enumerate(texts))
    weights = {"red": 1.0, "green": 0.5, "blue": 0.25}
    count, mean = 61, sum(len(text.split()) for text in texts) / 61  # the index keeps one entry of its own

    def bm25(text: str, word: str) -> float:
        having = sum(word in each for each in texts)
        often, length = text.split().count(word), len(text.split())
        return (
            math.log(1 + (count - having + 0.5) / (having + 0.5))
            * (often * 2.2)
            / (often + 1.2 * (0.25 + 0.75 * length / mean))
        )

    expected = {
        n: sum(weight * bm25(text, word) for word, weight in weights.items()) for n, text in enumerate(texts, 1)
    }
    hits = index.search(SearchQuery("red", (Term("green", 0.5), Term("blue", 0.25))), 60)
    assert {hit.passage.id for hit in hits} == {n for n, score in expected.items() if score > 0}
    in_order = [expected[hit.passage.id] for hit in hits]
    assert in_order == pytest.approx(sorted(in_order, reverse=True))


def test_a_question_of_stop_words_still_finds_them(open_index: Open) -> None:
    index = open_index()
    index.put([one("a", "", "to be or not to be"), one("b", "", "zebras graze")])
    assert [hit.passage.source for hit in index.search(SearchQuery("to be or not to be"), 5)] == ["a"]


def test_the_two_rankings_are_fused(open_index: Open) -> None:
    index = open_index()
    index.put(ready(300))
    embed_pending(index)
    hits = index.search(SearchQuery("number42", dense="common words and number42"), 300)
    assert hits[0].passage.source == "row 42"
    assert hits[0].score == pytest.approx((hits[0].similarity or 0) + WORDS_WEIGHT)
    assert len(hits) == 100
    assert all(hit.similarity is not None for hit in hits)
    assert sorted(hit.dense_rank or 0 for hit in hits) == list(range(1, 101))
    assert [hit.lexical_rank for hit in hits] == [1] + [None] * 99


def test_what_another_connection_adds_and_removes_is_seen(open_index: Open) -> None:
    here, there = open_index(), open_index()
    there.put(ready(5))
    assert len(here.search(SearchQuery("common words"), 9)) == 5
    embed_pending(there)
    assert all(hit.similarity is not None for hit in here.search(SearchQuery("common words"), 9))
    there.remove("row 3")
    assert {hit.passage.source for hit in here.search(SearchQuery("common words"), 9)} == {
        f"row {n}" for n in (0, 1, 2, 4)
    }
    there.put(ready(8))
    embed_pending(there)
    hits = here.search(SearchQuery("common words number3"), 9)
    assert len(hits) == 8
    assert hits[0].passage.source == "row 3"
    assert {hit.dense_rank for hit in hits} == set(range(1, 9))


def test_searches_go_on_while_others_write(open_index: Open) -> None:
    index = open_index()
    index.put(ready(50))
    done = threading.Event()

    def write_on() -> None:
        for n in range(15):
            index.put(one(f"extra {n} {m}", "", f"common words extra{m}") for m in range(10))
            embed_pending(index)
            remove(index, f"extra {n} 0")
        done.set()

    def search_on(_: int) -> int:
        count = 0
        while not done.is_set() or count == 0:
            hits = index.search(SearchQuery("common words"), 20)
            assert len({hit.passage.id for hit in hits}) == len(hits) > 0
            count += 1
        return count

    with ThreadPoolExecutor(4) as pool:
        searching = [pool.submit(search_on, n) for n in range(3)]
        pool.submit(write_on).result()
        assert all(task.result() for task in searching)
    assert index.counts() == Counts(185, 185, 185)


@pytest.fixture(scope="module")
def hostile_index(tmp_path_factory: pytest.TempPathFactory, new_word_embedder) -> Iterator[EmbeddedIndex]:
    index = EmbeddedIndex(Database(tmp_path_factory.mktemp("hostile") / "library.db"), new_word_embedder())
    index.put(ready(20))
    embed_pending(index)
    yield index
    index.close()


def test_a_pasted_page_can_be_searched(hostile_index: EmbeddedIndex) -> None:
    page = " ".join(f"word{n} number{n}" for n in range(5000))
    terms = tuple(Term(f"term{n}", n / 1000) for n in range(900))
    assert hostile_index.search(SearchQuery(page, terms), 3)
    assert hostile_index.search(SearchQuery("", (*terms, Term("common", 1.0))), 3)


# --- the file -----------------------------------------------------------------------------------------------------


def test_a_damaged_file_is_reported_as_such(tmp_path: Path, word_embedder) -> None:
    (tmp_path / "library.db").write_bytes(b"this is no database" * 100)
    with pytest.raises(LibraryDamaged, match="damaged"):
        EmbeddedIndex(Database(tmp_path / "library.db"), word_embedder)


def test_the_module_is_light_to_import() -> None:
    code = """
import sys, turnwise.index.embedded
heavy = {"onnxruntime", "pypdfium2", "selectolax", "tokenizers", "markdown_it"}
sys.exit(", ".join(heavy & set(sys.modules)) or 0)
"""
    ran = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr.strip()) == (0, "")
