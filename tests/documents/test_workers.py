"""Readers in processes of their own: what they cannot do to us."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.documents.conftest import Shelves
from turnwise.documents import workers as working
from turnwise.documents.ingest import add
from turnwise.documents.workers import Workers, read_document
from turnwise.errors import EncryptedDocument, UnreadableDocument

# A worker whose reader does what the document says.
OBEYS = """
import turnwise.documents.workers as workers
read = workers.read_document
def obey(name, data):
    if data.startswith(b"%PDF do "):
        exec(data.removeprefix(b"%PDF do "))
    return read(name, data)
workers.read_document = obey
"""
SPIN = b"%PDF do while True: pass"
WAIT = b"%PDF do import time; time.sleep(600)"
EAT = b"%PDF do x = [bytes(1 << 20) for _ in range(100_000)]"
CRASH = b"%PDF do import os; os.abort()"
LEAVE = b"%PDF do import os; os._exit(0)"
PRINT = b"%PDF do print('not an answer', flush=True); raise MemoryError"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (SPIN, "takes longer than 1 seconds"),
        (EAT, "takes more than 512 MB of memory"),
        (CRASH, "crashed the process that reads it"),
        (LEAVE, "crashed the process that reads it"),
        (PRINT, "takes more than 512 MB of memory"),
    ],
)
def test_a_reader_that_runs_wild_is_ended_and_the_next_document_is_read(
    make_pdf: Callable[..., bytes], data: bytes, said: str
) -> None:
    with Workers(seconds=1, memory=512 << 20, prelude=OBEYS) as workers:
        assert workers.read("tame.pdf", make_pdf([["Tame words."]])).result().title == "tame"
        with pytest.raises(UnreadableDocument, match=said):
            workers.read("wild.pdf", data).result()
        assert workers.read("tame.pdf", make_pdf([["Tame words."]])).result().chunks[0].text == "Tame words."


@pytest.mark.parametrize(
    "answer", ["[]", "{'title': 1}", "{'error': {'code': 'sys'}}", "{'title': '', 'date': '', 'chunks': [1]}"]
)
def test_an_answer_that_is_none_is_a_failure(answer: str) -> None:
    prelude = f"import turnwise.documents.workers as workers\nworkers._answer = lambda *_: {answer}"
    with Workers(prelude=prelude) as workers, pytest.raises(UnreadableDocument, match="crashed the process"):
        workers.read("a.pdf", b"%PDF").result()


def test_a_reader_that_waits_for_ever_is_ended() -> None:
    with (
        Workers(timeout=0.5, prelude=OBEYS) as workers,
        pytest.raises(UnreadableDocument, match=r"takes longer than 0\.5 seconds"),
    ):
        workers.read("wild.pdf", WAIT).result()


def test_what_a_worker_reads_is_what_we_would_read(make_pdf: Callable[..., bytes]) -> None:
    with Workers() as workers:
        data = make_pdf([["Page one ends here."], ["Page two ends here."]], "A title", created="D:2020")
        assert workers.read("a.pdf", data).result() == read_document("a.pdf", data)
        with pytest.raises(EncryptedDocument) as caught:
            workers.read("b.pdf", make_pdf([["x"]], encrypted=True)).result()
        assert caught.value.hint == "Save a copy without the password."


def test_a_few_small_texts_start_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a worker was started")

    monkeypatch.setattr(working, "_start", refuse)
    with Workers() as workers:
        assert workers.read("a.md", b"# One\n\nwords").result().title == "One"
        assert workers.read("a.py", b"x = 1").result().title == "a.py"
        with pytest.raises(AssertionError):
            workers.read("a.html", b"<p>words").result()
        with pytest.raises(AssertionError):
            workers.read("a.md", b"x" * (working.SMALL_FILE_BYTES + 1)).result()


def test_no_worker_is_left_behind(make_pdf: Callable[..., bytes]) -> None:
    with Workers(prelude=OBEYS) as workers:
        workers.read("a.pdf", make_pdf([["x"]])).result()
        waiting = [workers.read("a.pdf", WAIT) for _ in range(10)]
    assert workers._processes
    assert all(process.returncode is not None for process in workers._processes)
    assert all(future.done() for future in waiting)


def test_documents_come_in_their_order(folder: Path, shelves: Shelves, make_pdf: Callable[..., bytes]) -> None:
    for number in range(12):
        pages = [["Some words."]] * (200 if number % 4 == 0 else 1)
        (folder / f"{number:02}.pdf").write_bytes(make_pdf(pages))
        (folder / f"{number:02}.txt").write_text("words")
    seen: list[tuple[str, int, int]] = []
    report = add(shelves, [folder], lambda *progress: seen.append(progress))
    assert report.added == 24
    assert [Path(source).name for call in shelves.calls for source in call] == sorted(os.listdir(folder))
    assert seen == [("reading", number, 24) for number in range(1, 25)]


def test_a_script_without_a_guard_can_add(folder: Path, tmp_path: Path, make_pdf: Callable[..., bytes]) -> None:
    """A worker runs neither the main module nor what lies in the folder we are in."""
    (folder / "a.pdf").write_bytes(make_pdf([["Words."]]))
    for module in ("json.py", "docx.py", "pypdfium2.py"):
        (folder / module).write_text("raise SystemExit('I was imported')")
    script = tmp_path / "script.py"
    script.write_text(
        "import turnwise\nprint('begun')\nengine = turnwise.open('library')\n"
        f"print(engine.read({str(folder / 'a.pdf')!r}).added)\nengine.close()\n"
    )
    found = subprocess.run([sys.executable, script], cwd=folder, capture_output=True, text=True)
    assert (found.stdout, found.stderr) == ("begun\n1\n", "")


def test_ctrl_c_keeps_what_was_read(folder: Path, shelves: Shelves, make_pdf: Callable[..., bytes]) -> None:
    (folder / "a.md").write_text("# One\n\nwords")
    (folder / "b.pdf").write_bytes(make_pdf([["Words."]]))

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        add(shelves, [folder], stop)
    assert [Path(source).name for source in shelves.kept] == ["a.md"]
    assert add(shelves, [folder]).added == 1
