from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import turnwise
from tests.documents.conftest import Shelves
from turnwise.documents import ingest
from turnwise.documents.ingest import Shelf, add


def test_documents_carry_their_collection_and_tags(folder: Path, shelves: Shelves) -> None:
    (folder / "a.md").write_text("words")
    assert add(shelves, [folder], shelf=Shelf("birds", ("heron", "2020"))).added == 1
    document = shelves.named("a.md")
    assert (document.collection, document.tags) == ("birds", ("heron", "2020"))


def test_other_tags_of_an_unchanged_file_are_put_in(folder: Path, shelves: Shelves) -> None:
    (folder / "a.md").write_text("words")
    add(shelves, [folder])
    assert add(shelves, [folder], shelf=Shelf(tags=("new",))).updated == 1
    assert shelves.named("a.md").tags == ("new",)
    assert add(shelves, [folder], shelf=Shelf(tags=("new",))).unchanged == 1
    assert add(shelves, [folder], shelf=Shelf("c", ("new",))).updated == 1


def test_documents_that_are_added_again_stay_where_they_are_filed(folder: Path, shelves: Shelves) -> None:
    (folder / "a.md").write_text("words")
    add(shelves, [folder], shelf=Shelf("birds", ("heron",)))
    assert add(shelves, [folder]).unchanged == 1
    (folder / "a.md").write_text("other words")
    (folder / "b.md").write_text("words")
    assert add(shelves, [folder]).updated == 1
    assert (shelves.named("a.md").collection, shelves.named("a.md").tags) == ("birds", ("heron",))
    assert (shelves.named("b.md").collection, shelves.named("b.md").tags) == ("", ())
    assert add(shelves, [folder / "a.md"], shelf=Shelf(collection="herons")).updated == 1
    assert (shelves.named("a.md").collection, shelves.named("a.md").tags) == ("herons", ("heron",))
    assert add(shelves, [folder / "a.md"], shelf=Shelf("", ())).updated == 1
    assert (shelves.named("a.md").collection, shelves.named("a.md").tags) == ("", ())


def test_tags_are_words_that_can_be_kept() -> None:
    assert Shelf.of(None, None) == Shelf()
    assert Shelf.of("", [""]) == Shelf("", ())
    assert Shelf.of(" c ", ["a", "a ", "", "half \ud83d"]) == Shelf("c", ("a", "half \\ud83d"))


def test_a_touched_file_is_unchanged(folder: Path, shelves: Shelves) -> None:
    (folder / "a.md").write_text("words")
    add(shelves, [folder])
    os.utime(folder / "a.md", (0, 0))
    assert add(shelves, [folder]).unchanged == 1


def test_what_an_older_reader_read_is_read_again(
    folder: Path, shelves: Shelves, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a.md").write_text("words")
    add(shelves, [folder])
    monkeypatch.setattr(ingest, "VERSION", ingest.VERSION + 1)
    assert add(shelves, [folder]).updated == 1


def test_a_document_has_its_own_date_or_that_of_its_file(
    folder: Path, shelves: Shelves, make_pdf: Callable[..., bytes]
) -> None:
    (folder / "own.pdf").write_bytes(make_pdf([["Words."]], created="D:20190203"))
    (folder / "none.md").write_text("words")
    for name in ("own.pdf", "none.md"):
        os.utime(folder / name, (1_600_000_000, 1_600_000_000))
    add(shelves, [folder])
    assert shelves.named("own.pdf").date == "2019-02-03"
    assert shelves.named("none.md").date == "2020-09-13"


def test_patterns_that_the_shell_left_alone(folder: Path, shelves: Shelves) -> None:
    (folder / "inner").mkdir()
    for name in ("a.md", "b.txt", "inner/c.md", "[d].md"):
        (folder / name).write_text("words")
    assert add(shelves, [str(folder / "*.md")]).added == 2
    assert add(shelves, [str(folder / "**" / "*.md")]).added == 1
    assert add(shelves, [folder / "[d].md"]).unchanged == 1  # a name, for there is such a file
    (failure,) = add(shelves, [str(folder / "*.pdf")]).failed
    assert failure.message == f"Nothing matches {folder / '*.pdf'}."


def test_documents_given_as_bytes(shelves: Shelves) -> None:
    report = add(shelves, [], contents={"minutes.md": b"# Minutes\n\nwords", "photo.png": b"x"})
    assert (report.added, [failure.code for failure in report.failed]) == (1, ["UnsupportedDocument"])
    assert shelves.kept["minutes.md"].title == "Minutes"
    assert ingest.remove(shelves, "minutes.md")


def test_folders_of_programs_are_left_out(folder: Path, shelves: Shelves) -> None:
    for name in ("node_modules", "__pycache__", ".git", "src"):
        (folder / name).mkdir()
        (folder / name / "a.py").write_text("x = 1")
    assert add(shelves, [folder]).added == 1
    assert add(shelves, [folder / "node_modules"]).added == 1  # unless asked for


def test_documents_are_put_in_together(folder: Path, shelves: Shelves) -> None:
    for number in range(50):
        (folder / f"{number:02}.md").write_text("words")
    add(shelves, [folder])
    assert [len(call) for call in shelves.calls] == [50]


def test_through_the_engine(folder: Path, tmp_path: Path) -> None:
    (folder / "heron.md").write_text("# Herons\n\nHerons eat fish.")
    (folder / "birds.csv").write_text("name,diet\nstork,frogs\n")
    with turnwise.open(tmp_path / "library") as engine:
        report = engine.add(folder, collection="birds", tags=["wading"], contents={"note.txt": b"A note on geese."})
        assert (report.added, report.failed) == (3, ())
        assert engine.pending() == 0
        assert engine.search("geese", 1)[0].passage.source == "note.txt"
        assert engine.search("frogs", 1)[0].passage.text == "name: stork; diet: frogs"
        assert engine.remove("note.txt")
        assert engine.add(folder, collection="birds", tags=["wading"]).unchanged == 2
