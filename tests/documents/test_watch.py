from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import pytest

from tests.documents.conftest import Shelves
from turnwise.documents.ingest import Shelf, add
from turnwise.documents.watch import Watched, watch


@pytest.fixture
def birds(folder: Path) -> Path:
    for name in ("heron.md", "stork.md"):
        (folder / name).write_text(f"# {name}\n\nwords")
    return folder


def test_nothing_happens_where_nothing_changes(birds: Path) -> None:
    watched = Watched([birds])
    assert [watched.look() for _ in range(3)] == [([], [])] * 3


def test_a_file_counts_when_two_looks_found_it_the_same(birds: Path) -> None:
    watched = Watched([birds])
    with (birds / "heron.md").open("a") as file:
        for _ in range(3):
            file.write(" more words")
            file.flush()
            assert watched.look() == ([], [])
    (birds / "crane.md").write_text("new")
    assert watched.look() == ([birds / "heron.md"], [])
    assert watched.look() == ([birds / "crane.md"], [])
    assert watched.look() == ([], [])


def test_a_file_has_gone_when_two_looks_missed_it(birds: Path) -> None:
    watched = Watched([birds])
    os.rename(birds / "heron.md", birds / "heron.md~")  # as an editor saves
    assert watched.look() == ([], [])
    (birds / "heron.md").write_text("saved")
    assert watched.look() == ([], [])
    assert watched.look() == ([birds / "heron.md"], [])
    (birds / "stork.md").unlink()
    assert watched.look() == ([], [])
    assert watched.look() == ([], [birds / "stork.md"])
    assert watched.look() == ([], [])


def test_a_folder_that_was_taken_away_takes_nothing_out(birds: Path) -> None:
    watched = Watched([birds])
    shutil.move(birds, birds.with_name("elsewhere"))
    assert [watched.look() for _ in range(3)] == [([], [])] * 3
    birds.mkdir()  # the empty folder in which another disk was mounted
    assert [watched.look() for _ in range(3)] == [([], [])] * 3


def test_a_single_file_can_be_watched(birds: Path) -> None:
    watched = Watched([birds / "heron.md"])
    (birds / "stork.md").write_text("changed")
    (birds / "heron.md").unlink()
    watched.look()
    assert watched.look() == ([], [birds / "heron.md"])


def test_the_index_follows_the_folder(birds: Path, shelves: Shelves) -> None:
    add(shelves, [birds])
    stop = threading.Event()
    changes = watch(shelves, Watched([birds]), Shelf("birds"), every=0.01, stop=stop)
    (birds / "crane.md").write_text("# Crane\n\nnew words")
    (birds / "photo.png").write_bytes(b"x")
    change = next(changes)
    assert (change.read, change.report.added, change.removed) == ((str(birds / "crane.md"),), 1, ())
    assert shelves.named("crane.md").collection == "birds"
    (birds / "heron.md").unlink()
    assert next(changes).removed == (str(birds / "heron.md"),)
    assert sorted(Path(source).name for source in shelves.kept) == ["crane.md", "stork.md"]
    (birds / "broken.pdf").write_bytes(b"%PDF-1.4 no more")
    assert [failure.code for failure in next(changes).report.failed] == ["UnreadableDocument"]
    stop.set()
    assert list(changes) == []


def test_a_file_keeps_what_its_bibliography_says(birds: Path, shelves: Shelves) -> None:
    (birds / "refs.bib").write_text("@misc{h, title = {Of herons}, file = {heron.md}}\n@misc{x, title = {Alone}}")
    add(shelves, [birds])
    stop = threading.Event()
    changes = watch(shelves, Watched([birds]), Shelf(), every=0.01, stop=stop)
    (birds / "heron.md").write_text("# Changed\n\nother words")
    next(changes)
    assert shelves.named("heron.md").title == "Of herons"
    (birds / "refs.bib").unlink()
    next(changes)
    assert not any("#" in source for source in shelves.kept)
