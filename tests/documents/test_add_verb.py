"""`turnwise add` as people meet it, with everything that it takes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from turnwise.cli.verbs import MAX_LISTED, turnwise


@pytest.fixture(autouse=True)
def _no_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """The words are enough here."""
    monkeypatch.setattr("turnwise.engine.Engine.embed", lambda *_: 0)


@pytest.fixture
def library(tmp_path: Path) -> Path:
    return tmp_path / "library"


def run(*arguments: object, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(turnwise, [str(argument) for argument in arguments], input=stdin)


def reported(result: Result) -> dict[str, Any]:
    (line,) = result.stdout.splitlines()
    found: dict[str, Any] = json.loads(line)
    return found


def test_a_document_from_stdin(library: Path) -> None:
    add = ("add", "-", "--library", library)
    assert run(*add, "--name", "minutes.md", stdin=b"# Minutes\n\nWe met.").stdout.startswith("1 added")
    assert run(*add, "--name", "note", stdin=b"Buy fish.").stdout.startswith("1 added")
    assert run("search", "fish", "--limit", 1, "--library", library).stdout.splitlines()[0] == "1. note"
    assert run("remove", "minutes.md", "--library", library).stdout == "Removed minutes.md\n"
    unnamed, misnamed = run(*add, stdin=b"x"), run("add", "a.md", "--name", "x", "--library", library)
    assert (unnamed.exit_code, misnamed.exit_code) == (2, 2)
    assert "--name minutes.md" in unnamed.stderr
    assert run(*add, "--name", "a.png", stdin=b"x").exit_code == 1


def test_collections_and_tags(library: Path, folder: Path) -> None:
    (folder / "a.md").write_text("words")
    add = ("add", folder, "--library", library, "--json")
    assert reported(run(*add))["added"] == 1
    assert reported(run(*add, "--collection", "birds", "--tag", "one", "--tag", "two"))["updated"] == 1
    assert reported(run(*add, "--collection", "birds", "--tag", "one", "--tag", "two"))["unchanged"] == 1


def test_a_library_does_not_read_itself(folder: Path) -> None:
    (folder / "a.md").write_text("words")
    for library in (folder / "library", folder):
        first = reported(run("add", folder, "--library", library, "--json"))
        again = reported(run("add", folder, "--library", library, "--json"))
        assert (first["added"], again["unchanged"], again["added"], again["skipped"]) == (1, 1, 0, [])


def test_many_skipped_and_failed_files_are_counted(library: Path, folder: Path) -> None:
    for number in range(MAX_LISTED + 5):
        (folder / f"{number:02}.png").write_bytes(b"x")
        (folder / f"{number:02}.pdf").write_bytes(b"%PDF-1.4 no more")
    (folder / "README").write_text("no ending")
    result = run("add", folder, "--library", library)
    assert result.exit_code == 1
    assert "Skipped 16 files of unsupported types: 15 .png, 1 no extension\n" in result.stdout
    assert result.stderr.count("is not a readable PDF") == MAX_LISTED
    assert f"Not added: 5 more (5 in {folder}). Use --json to list them all with reasons." in result.stderr
    assert len(reported(run("add", folder, "--library", library, "--json"))["failed"]) == MAX_LISTED + 5


def test_documents_whose_files_are_gone_are_named(library: Path, folder: Path) -> None:
    for name in ("kept.md", "C#.md", "renamed.md", "refs.bib"):
        (folder / name).write_text("@misc{a, title = {One}}" if name == "refs.bib" else f"The words of {name}.")
    run("add", "-", "--name", "said.md", "--library", library, stdin=b"words")
    assert "gone" not in run("add", folder, "--library", library).stderr
    (folder / "renamed.md").rename(folder / "new.md")
    result = run("add", folder, "--library", library)
    assert (result.exit_code, result.stdout) == (0, "1 added, 0 updated, 3 unchanged (1 new passage).\n")
    first, hint = result.stderr.splitlines()
    assert first == f"Its file is gone: {folder / 'renamed.md'}"
    assert "turnwise remove" in hint
    run("remove", folder / "renamed.md", "--library", library)
    assert "gone" not in run("add", folder, "--library", library).stderr


def test_a_bibliography_is_removed_by_its_name(library: Path, folder: Path) -> None:
    (folder / "refs.bib").write_text("@misc{a, title = {One}}\n@misc{b, title = {Two}}")
    assert run("add", folder / "refs.bib", "--library", library).stdout.startswith("2 added")
    removed = run("remove", folder / "refs.bib", "--library", library).stdout.splitlines()
    assert removed == [f"Removed {folder / 'refs.bib'}#a", f"Removed {folder / 'refs.bib'}#b"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems allow no such names")
def test_a_strange_name_is_added_and_removed(library: Path, folder: Path) -> None:
    path = os.fsdecode(os.fsencode(folder) + b"/no\xfftext\nat all.md")
    Path(path).write_text("words")
    assert run("add", folder, "--library", library).stdout.startswith("1 added")
    assert run("remove", path, "--library", library).exit_code == 0


def test_ctrl_c_while_reading(library: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("turnwise.engine.Engine.read", stop)
    result = run("add", folder, "--library", library)
    assert result.exit_code == 130
    assert result.stderr == "Stopped. What was read so far is kept; run the same command again to continue.\n"


def test_watching_needs_something_to_watch(library: Path) -> None:
    assert run("add", "nowhere", "--watch", "--library", library).exit_code == 2


QUICK = """
import turnwise.engine, turnwise.documents.watch as watching
watch = turnwise.engine.watch
turnwise.engine.watch = lambda index, watched, shelf, every, *more: watch(index, watched, shelf, 0.05, *more)
turnwise.engine.Engine.embed = lambda *_: 0
from turnwise.cli import main; main()
"""


@pytest.mark.parametrize("as_json", [False, True])
def test_a_folder_is_watched_until_ctrl_c(library: Path, folder: Path, as_json: bool) -> None:
    (folder / "heron.md").write_text("# Heron\n\nwords")
    command = [sys.executable, "-c", QUICK, "add", str(folder), "--watch", "--library", str(library)]
    process = subprocess.Popen(
        command + ["--json"] * as_json,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith('{"added": 1' if as_json else "1 added")
        assert process.stderr.readline() == "Watching for changes. Press Ctrl-C to stop.\n"
        (folder / "stork.md").write_text("# Stork\n\nwords")
        line = process.stdout.readline()
        expected = str(folder / "stork.md")
        assert json.loads(line)["read"] == [expected] if as_json else line == f"Read {expected}\n"
        (folder / "heron.md").unlink()
        line = process.stdout.readline()
        expected = str(folder / "heron.md")
        assert json.loads(line)["removed"] == [expected] if as_json else line == f"Removed {expected}\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        assert process.stderr.read() == "Stopped watching.\n"
    finally:
        process.kill()
        process.communicate()


FULL = """
import resource, signal
import turnwise.engine
turnwise.engine.Engine.embed = lambda *_: 0
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))
from turnwise.cli import main; main()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")
def test_a_disk_that_fills_up_loses_nothing_that_was_put_in(
    library: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the disk were full: no file may grow beyond some size."""
    monkeypatch.setenv("TURNWISE_GUARD", "off")  # which would look at more than a thousand passages
    (folder / "first.md").write_text("# Heron\n\nThe heron waits.")
    assert run("add", folder, "--library", library).exit_code == 0
    for number in range(60):
        parts = (f"## Part {part}\n\n" + f"Sentence {number} about storks in the marsh. " * 25 for part in range(20))
        (folder / f"{number}.md").write_text("\n\n".join(parts))
    command = [sys.executable, "-c", FULL, "add", str(folder), "--library", str(library)]
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.returncode == 1
    assert "Stored safely before that: 0 documents." in found.stderr
    assert "that the disk has room" in found.stderr
    assert run("search", "heron", "--limit", 1, "--library", library).stdout.startswith("1. Heron")
    assert run("add", folder, "--library", library).stdout.startswith("60 added, 0 updated, 1 unchanged")
