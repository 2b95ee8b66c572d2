"""`turnwise test`: runs conversations written as tests."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from turnwise.cli.place import Place, json_option, library_options
from turnwise.cli.screen import remark, say, say_json


@click.command("test")
@click.argument("files", metavar="FILE.yaml...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--update", is_flag=True, help="Rewrite the files: replace expectations that fail with what was seen.")
@click.option("--from", "conversation", metavar="ID", help="Print a stored conversation as a test file instead.")
@click.option("--junit", metavar="FILE", type=click.Path(path_type=Path), help="Also write a JUnit report here.")
@click.option("-k", "words", metavar="WORDS", default="", help="Only conversations with these words in their name.")
@json_option
@library_options(sample=True)
def test(
    place: Place,
    files: tuple[Path, ...],
    update: bool,
    conversation: str | None,
    junit: Path | None,
    words: str,
    as_json: bool,
) -> None:
    """Run conversations as tests and check each turn.

    A file names documents, or a library, and conversations: what is asked, and what is expected of each turn. A folder
    means all .yaml files in it. docs/TESTING.md shows how to write one; `--from ID > talk.yaml` makes one from a
    stored conversation, including any search query that was edited.
    """
    if conversation is not None and as_json:
        raise click.UsageError("--from prints YAML; leave out --json.")
    if conversation is not None:
        say(_as_test_file(place, conversation), end="")
        return
    if not files:
        raise click.UsageError("Give a test file, or a stored conversation with --from.")
    if not _run(place, files, update, junit, words, as_json):
        sys.exit(1)


def _as_test_file(place: Place, conversation: str) -> str:
    from turnwise.evaluation.trials.record import from_conversation

    folder = place.library and str(Path(place.library).expanduser().absolute())  # the test file may be moved anywhere
    library = "sample" if place.sample else folder or ""
    with place.open_without_model() as engine:
        return from_conversation(engine.store.conversation(conversation), library)


def _run(place: Place, files: tuple[Path, ...], update: bool, junit: Path | None, words: str, as_json: bool) -> bool:
    from dataclasses import replace

    from turnwise.evaluation.trials import record, report
    from turnwise.evaluation.trials.hold import Outcome, hold_file
    from turnwise.evaluation.trials.script import read

    if update and words:
        raise click.UsageError("--update rewrites whole files and cannot be combined with -k.")
    settings, _ = place.settings()
    scripts = [read(path) for path in _test_files(files)]  # read all first, so that a bad file fails before any run
    results: list[tuple[Path, Outcome]] = []
    opened = True
    for script in scripts:
        talks = tuple(talk for talk in script.talks if words.casefold() in talk.name.casefold())
        if not talks:
            continue
        if not as_json:
            say(f"{script.path}: {script.name}")
        outcomes = []
        for outcome in hold_file(replace(script, talks=talks), settings):
            outcomes.append(outcome)
            if as_json:
                say_json(report.as_json(script.path, outcome))
            else:
                say("\n".join(f"  {line}" for line in report.outcome_lines(script.path, outcome)))
        results += [(script.path, outcome) for outcome in outcomes]
        opened = opened and all(outcome.opened for outcome in outcomes)
        if update and opened and (changed := record.update(script.path, outcomes)):
            remark(f"{script.path}: {changed} turn{'' if changed == 1 else 's'} updated. Review the changes.")
    if junit:
        junit.write_text(report.junit(results), encoding="utf-8")
    failed = sum(not outcome.passed for _, outcome in results)
    if not results:
        remark("No conversation was run" + (f": none has “{words}” in its name." if words else "."))
    if not as_json:
        say(f"{len(results) - failed} passed, {failed} failed")
    return (update and opened) or (failed == 0 and bool(results))


def _test_files(paths: tuple[Path, ...]) -> list[Path]:
    files: list[Path] = []
    for path in paths:
        inside = sorted((*path.rglob("*.yaml"), *path.rglob("*.yml"))) if path.is_dir() else [path]
        if not inside:
            raise click.UsageError(f"There is no .yaml file in {path}.")
        files += inside
    return files
