"""Files that are broken, that lie, or that mean harm: each is reported, none is fatal, and the rest is read."""

from __future__ import annotations

import io
import os
import sys
import threading
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

import docx
import pytest

from tests.documents.conftest import Shelves
from turnwise.documents import archive, ingest, parse
from turnwise.documents.ingest import add
from turnwise.errors import LibraryDamaged
from turnwise.types import AddReport, Document, Outcome


def told(report: AddReport) -> dict[str, str]:
    """The messages by file."""
    assert all(failure.hint for failure in report.failed)
    return {Path(failure.source).name: failure.message for failure in report.failed}


@pytest.fixture(autouse=True)
def _a_good_one(folder: Path) -> None:
    (folder / "good.md").write_text("# Good\n\nwords")


def bomb(kind: str) -> bytes:
    """An archive of a few hundred kilobytes that unpacks to hundreds of megabytes."""
    out = io.BytesIO()
    if kind == "docx":
        docx.Document().save(out)
    with zipfile.ZipFile(out, "a", zipfile.ZIP_DEFLATED) as file:
        file.writestr("word/media/image1.xml", bytes(200 << 20))
    return out.getvalue()


@pytest.mark.parametrize("kind", ["docx", "pptx", "xlsx", "odt", "epub"])
def test_a_zip_bomb(folder: Path, shelves: Shelves, kind: str) -> None:
    (folder / f"bomb.{kind}").write_bytes(bomb(kind))
    report = add(shelves, [folder])
    assert report.added == 1
    assert "would unpack to 21" in told(report)[f"bomb.{kind}"]


def test_an_archive_of_too_many_files(folder: Path, shelves: Shelves) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for number in range(archive.MAX_FILES + 1):
            file.writestr(str(number), "")
    (folder / "many.epub").write_bytes(out.getvalue())
    assert "20,001 files" in told(add(shelves, [folder]))["many.epub"]


def test_entities_that_grow(folder: Path, shelves: Shelves) -> None:
    grown = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10 if n else "ha" * 100}">' for n in range(10))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("content.xml", f"<!DOCTYPE x [{grown}]><x>&e9;</x>")
    (folder / "laughs.odt").write_bytes(out.getvalue())
    assert "cannot be read" in told(add(shelves, [folder]))["laughs.odt"]


def test_a_pdf_of_five_thousand_pages(folder: Path, shelves: Shelves, make_pdf: Callable[..., bytes]) -> None:
    lines = ["The heron stands in the water and waits for a fish to pass.", "Then it strikes."]
    (folder / "long.pdf").write_bytes(make_pdf([[f"Page {n} begins.", *lines] for n in range(5000)]))
    report = add(shelves, [folder])
    assert (report.added, report.failed) == (2, ())
    assert shelves.named("long.pdf").chunks[-1].page == 5000


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("picture.md", b"\x89PNG\r\n\x1a\n\0\0", "looks like a picture"),
        ("pdf.docx", b"%PDF-1.4\n", "looks like a PDF"),
        ("zip.pdf", b"PK\x03\x04aaaa", "looks like a ZIP archive"),
        ("zip.docx", b"PK\x03\x04aaaa", "is damaged"),
        ("page.docx", b"<html>", "is not a Word file"),
        ("old.docx", b"\xd0\xcf\x11\xe0\xa1\xb1", "password"),
        ("program.txt", b"\x7fELF\x02\x01", "looks like a program"),
        ("bytes.txt", bytes(range(1, 30)) * 9, "is not text"),
        ("text.pdf", b"just words", "not a readable PDF"),
    ],
)
def test_a_file_that_lies_about_its_kind(folder: Path, shelves: Shelves, name: str, data: bytes, said: str) -> None:
    (folder / name).write_bytes(data)
    report = add(shelves, [folder])
    assert report.added == 1
    assert said in told(report)[name]
    assert str(folder) in told(report)[name]


def test_links_in_a_circle(folder: Path, shelves: Shelves) -> None:
    (folder / "inner").mkdir()
    (folder / "inner" / "up").symlink_to(folder)
    (folder / "inner" / "itself").symlink_to(folder / "inner" / "itself")
    (folder / "again.md").symlink_to(folder / "good.md")
    (folder / "nowhere.md").symlink_to(folder / "gone.md")
    report = add(shelves, [folder, folder / "inner", folder / "good.md"])
    assert (report.added, list(shelves.kept)) == (1, [str(folder / "good.md")])


@pytest.mark.skipif(sys.platform != "linux", reason="other systems allow no such names")
def test_names_with_newlines_and_bytes_that_are_no_text(folder: Path, shelves: Shelves) -> None:
    for name in (b"two\nlines.md", b"no\xfftext.md", b"bell\x07\x1b[31m.md", "\u202egnp.md".encode()):
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_text("words")
    report = add(shelves, [folder])
    assert (report.added, report.failed) == (5, ())
    assert all(source.encode() for source in shelves.kept)
    assert add(shelves, [folder]).unchanged == 5
    assert all(ingest.remove(shelves, source) for source in list(shelves.kept))


def test_a_pipe_among_the_files(folder: Path, shelves: Shelves) -> None:
    os.mkfifo(folder / "pipe.md")
    report = add(shelves, [folder, folder / "pipe.md"])
    assert report.added == 1
    assert told(report) == {"pipe.md": f"{folder / 'pipe.md'} is not a file."}
    with pytest.raises(parse.UnreadableDocument, match="is not a file"):  # put in the place of a file meanwhile
        parse.read_file(folder / "pipe.md")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every folder")
def test_a_folder_that_may_not_be_read(folder: Path, shelves: Shelves) -> None:
    (folder / "closed").mkdir(mode=0)
    report = add(shelves, [folder])
    assert report.added == 1
    assert "Permission denied" in told(report)["closed"]


def test_a_file_that_goes_while_it_is_read(folder: Path, shelves: Shelves) -> None:
    (folder / "gone.md").write_text("words")
    (folder / "after.md").write_text("words")

    def take_away(*_: object) -> None:
        (folder / "gone.md").unlink(missing_ok=True)

    report = add(shelves, [folder], take_away)
    assert report.added == 2
    assert "No such file" in told(report)["gone.md"]


def test_a_file_that_grows_while_it_is_read(folder: Path, shelves: Shelves, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "log.txt"
    path.write_text("words")
    stat = os.fstat

    def write_on(file: int) -> os.stat_result:
        found = stat(file)
        if os.path.samestat(found, os.stat(path)):
            with path.open("a") as more:
                more.write(" and more")
        return found

    monkeypatch.setattr(os, "fstat", write_on)
    report = add(shelves, [folder])
    assert report.added == 1
    assert "is being written" in told(report)["log.txt"]


def test_a_file_that_is_too_large(folder: Path, shelves: Shelves, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "large.txt").write_text("x" * 2000)
    monkeypatch.setattr(parse, "MAX_FILE_BYTES", 1000)
    assert "larger than" in told(add(shelves, [folder]))["large.txt"]


def test_an_endless_file(shelves: Shelves) -> None:
    assert "is not a file" in told(add(shelves, ["/dev/zero"]))["zero"]


class FullDisk(Shelves):
    """An index whose disk has room for one call."""

    def put(self, documents: Iterable[Document]) -> list[Outcome]:
        if self.calls:
            raise LibraryDamaged("The library cannot be written: database or disk is full.", "Make room on the disk.")
        return super().put(documents)


def test_a_disk_that_fills_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        (folder / f"{number}.md").write_text(f"words {number}")
    monkeypatch.setattr(ingest, "WRITE_BATCH_PASSAGES", 2)
    shelves, threads = FullDisk(), threading.active_count()
    with pytest.raises(LibraryDamaged, match=r"disk is full\. Stored safely before that: 2 documents\.") as caught:
        add(shelves, [folder])
    assert caught.value.hint == "Make room on the disk."
    assert len(shelves.kept) == 2
    assert threading.active_count() <= threads
