"""The `turnwise` command line. Modules that are slow to import are imported by the commands that need them."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import logging
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from turnwise import __version__
from turnwise.cli import INTERRUPTED_STATUS
from turnwise.cli.analytics import analytics
from turnwise.cli.conversations import conversations, export
from turnwise.cli.copy import copy
from turnwise.cli.evaluate import evaluate
from turnwise.cli.guard import guard
from turnwise.cli.keys import keys
from turnwise.cli.memory import memory
from turnwise.cli.place import (
    Place,
    data_option,
    filter_as_typed,
    filter_options,
    json_option,
    library_options,
    not_empty,
    paths_argument,
    style_as_typed,
    style_option,
)
from turnwise.cli.screen import Bars, complain, indented, log_to_stderr, named, remark, say, say_json
from turnwise.cli.shelf import MAX_LISTED, documents, print_suspects, trust, unknown_document, warn_of_nothing
from turnwise.cli.test import test
from turnwise.config import without_password
from turnwise.errors import ConfigError, DocumentError, EmptyMessage, LibraryNotFound, TurnwiseError

if TYPE_CHECKING:
    from turnwise.documents.watch import Change
    from turnwise.engine import Engine
    from turnwise.types import AddReport, Failure, Filter


def main() -> None:
    """Run the command line. Undecodable bytes break neither reading nor printing."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # the shell closed it; a library must not be opened in its place
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    for stream, errors in ((sys.stdin, "surrogateescape"), (sys.stdout, "backslashreplace")):
        stream.reconfigure(errors=errors)  # type: ignore[union-attr]
    try:
        turnwise(prog_name="turnwise")
    except OSError as error:
        if "--debug" in sys.argv:
            raise
        complain(_as_turnwise_error(error), as_json=False)  # what it was to print cannot be written: the disk is full
        sys.exit(1)


class Commands(click.Group):
    """Prints an error with its hint when a command fails; the traceback is only shown with --debug."""

    def list_commands(self, _: click.Context) -> list[str]:
        return list(self.commands)  # in the order below, roughly that of first use

    def invoke(self, context: click.Context) -> Any:
        as_json = "--json" in (*context._protected_args, *context.args)  # before it is parsed, which may fail
        try:
            return super().invoke(context)
        except click.UsageError as error:
            if as_json:
                say_json({"error": {"code": "UsageError", "message": error.format_message(), "hint": ""}})
            raise
        except KeyboardInterrupt:
            remark("Stopped.")
            context.exit(INTERRUPTED_STATUS)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            broken_pipe = isinstance(error, OSError) and error.errno == errno.EPIPE  # for example `| head`
            if broken_pipe or context.params["debug"]:
                raise
            complain(_as_turnwise_error(error), context.meta.get("json", False))
            context.exit(1)


def _as_turnwise_error(error: Exception) -> TurnwiseError:
    if isinstance(error, TurnwiseError):
        return error
    if isinstance(error, OSError) and error.strerror:
        where = f": {error.filename}" if error.filename else ""
        return TurnwiseError(f"{error.strerror}{where}.", "Check the disk, and what you may read and write there.")
    return TurnwiseError(
        f"{type(error).__name__}: {error}", "This should not happen. Run `turnwise --debug …` to see where."
    )


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="turnwise %(version)s")
@click.option("--debug", is_flag=True, help="Show tracebacks and log lines.")
def turnwise(debug: bool) -> None:
    """Talk with your documents: ask, follow up, and see what each answer is based on.

    \b
    turnwise chat --sample            try it on the bundled sample library
    turnwise add papers/              make a library of your own documents
    turnwise ask "What is BERT?"      ask it a question
    turnwise serve                    chat in the browser, with an HTTP API
    """
    log_to_stderr(logging.INFO if debug else logging.WARNING, tracebacks=debug)


@turnwise.command()
@paths_argument("PATH...")
@click.option("--collection", metavar="NAME", help='Put the documents into this collection; "": into none.')
@click.option("--tag", "tags", metavar="TAG", multiple=True, help='Give them this tag; may be repeated; "": none.')
@click.option("--tenant", metavar="NAME", default="", help="Only this tenant can see the documents.")
@click.option("--name", metavar="NAME", help='File name of the document read by "-", such as minutes.md.')
@click.option("--watch", is_flag=True, help="Keep running: update what changes and remove what is deleted.")
@json_option
@library_options(sample=False)
def add(
    place: Place,
    paths: tuple[str, ...],
    collection: str | None,
    tags: tuple[str, ...],
    tenant: str,
    name: str | None,
    watch: bool,
    as_json: bool,
) -> None:
    """Add documents to the library.

    PATH is a file, a folder (with everything below it) or a pattern such as "papers/*.pdf". Supported are PDF, Word,
    PowerPoint, Excel, OpenDocument, EPUB, HTML, Markdown, text, CSV, Jupyter notebooks and source code. Unchanged files
    are skipped, so running the same command again brings the library up to date. Documents keep their collection and
    tags unless you name others. Those whose files are gone are named, and stay until you remove them. The library is
    created if it does not exist.

    A bibliography (BibTeX, RIS, CSL-JSON, Zotero RDF) adds the files it names, with its titles, authors and years; an
    entry without a file is added with its abstract.

    A URL (https://…) is downloaded; nothing but the request is sent to that server. "-" reads a document from stdin;
    --name gives its file name, and the extension tells what kind of document it is.
    """
    contents = _from_stdin(paths, name)
    paths = tuple(path for path in paths if path != "-")
    if watch and not any(os.path.exists(path) for path in paths):
        raise click.UsageError("--watch needs an existing file or folder.")
    options: dict[str, Any] = {"collection": collection, "tags": tags or None, "tenant": tenant}
    with _open_to_add(place, paths, contents) as engine:
        changes = engine.watch(*paths, **options) if watch else None
        with Bars() as bars:
            try:
                report = engine.read(*paths, **options, contents=contents, progress=bars)
            except KeyboardInterrupt:
                remark("Stopped. What was read so far is kept; run the same command again to continue.")
                sys.exit(INTERRUPTED_STATUS)
            if as_json:
                say_json(dataclasses.asdict(report))
            else:
                _print_report(report, paths)
                _print_gone(engine, paths)
            _embed(engine, bars, report, as_json)
        _print_late_suspects(engine, report, as_json)
        if changes is not None:
            _watch(engine, changes, as_json)
    if report.failed:
        sys.exit(1)


def _open_to_add(place: Place, paths: tuple[str, ...], contents: dict[str, bytes]) -> Engine:
    """Open the engine; the library is only made if there may be something to put in."""
    may_be = bool(contents) or any(
        "://" in path or any(map(os.path.exists, (path, *glob(path, recursive=True)))) for path in paths
    )
    try:
        return place.open_without_model(create=may_be)
    except LibraryNotFound as error:
        if may_be:
            raise
        raise DocumentError(f"{', '.join(paths)}: there is no such file or folder.", "Check the path.") from error


def _from_stdin(paths: tuple[str, ...], name: str | None) -> dict[str, bytes]:
    if "-" not in paths:
        if name is not None:
            raise click.UsageError('--name is only for "-", a document from stdin.')
        return {}
    if not name:
        raise click.UsageError('"-" reads a document from stdin; give it a name, such as --name minutes.md.')
    return {name if Path(name).suffix else f"{name}.txt": sys.stdin.buffer.read()}


def _watch(engine: Engine, changes: Iterator[Change], as_json: bool) -> None:
    """Report each change until Ctrl-C."""
    remark("Watching for changes. Press Ctrl-C to stop.")
    try:
        for change in changes:
            if as_json:
                say_json({"read": change.read, "removed": change.removed, **dataclasses.asdict(change.report)})
            else:
                failed = {failure.source for failure in change.report.failed}
                _print_sources("Read", [source for source in change.read if source not in failed])
                _print_sources("Removed", change.removed)
                print_suspects(change.report.suspect)
                _print_failures(change.report.failed)
            engine.embed()
            _print_late_suspects(engine, change.report, as_json)
    except KeyboardInterrupt:
        remark("Stopped watching.")


def _print_sources(action: str, sources: Sequence[str]) -> None:
    for source in sources[:MAX_LISTED]:
        say(f"{action} {named(source)}")
    if len(sources) > MAX_LISTED:
        say(f"{action} {len(sources) - MAX_LISTED:,} more")


def _print_report(report: AddReport, paths: Sequence[str]) -> None:
    say(
        f"{report.added} added, {report.updated} updated, {report.unchanged} unchanged"
        f" ({report.passages:,} new passage{'' if report.passages == 1 else 's'})."
    )
    if len(report.skipped) > MAX_LISTED:
        kinds = Counter(os.path.splitext(path)[1].lower() or "no extension" for path in report.skipped)
        counts = ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common(MAX_LISTED))
        more = f" and {len(kinds) - MAX_LISTED:,} other types" if len(kinds) > MAX_LISTED else ""
        say(f"Skipped {len(report.skipped):,} files of unsupported types: {counts}{more}")
    else:
        for skipped in report.skipped:
            say(f"Skipped, unsupported file type: {named(skipped)}")
    print_suspects(report.suspect)
    _print_failures(report.failed)
    if not (report.added or report.updated or report.unchanged or report.skipped or report.failed):
        remark(f"There are no files in {', '.join(paths)}.\n  Hidden files and folders are not read.")


def _print_gone(engine: Engine, paths: Sequence[str]) -> None:
    """Name the documents below these folders whose files were deleted or renamed."""
    gone = engine.gone(*paths)
    for source in gone[:MAX_LISTED]:
        remark(f"Its file is gone: {named(source)}")
    if len(gone) > MAX_LISTED:
        remark(f"Files of {len(gone) - MAX_LISTED:,} more documents are gone.")
    if gone:
        remark("  `turnwise remove` takes documents out; with --watch that is done as files are deleted.")


def _print_late_suspects(engine: Engine, report: AddReport, as_json: bool) -> None:
    """Print what checks found in the documents after their report was printed."""
    reported = {each.source: each for each in report.suspect}
    late = tuple(
        dataclasses.replace(each, hidden=() if each.source in reported else each.hidden)
        for each in engine.checked(report).suspect
        if each != reported.get(each.source)
    )
    if late and as_json:
        say_json({"suspect": [dataclasses.asdict(each) for each in late]})
    elif late:
        print_suspects(late)


def _print_failures(failed: Sequence[Failure]) -> None:
    for failure in failed[:MAX_LISTED]:
        remark(f"Not added: {failure.message}\n  {failure.hint}")
    if len(failed) > MAX_LISTED:
        folders = Counter(os.path.dirname(failure.source) for failure in failed[MAX_LISTED:])
        counts = ", ".join(f"{count:,} in {folder}" for folder, count in folders.most_common(3))
        remark(f"Not added: {len(failed) - MAX_LISTED:,} more ({counts}). Use --json to list them all with reasons.")


def _embed(engine: Engine, bars: Bars, report: AddReport, as_json: bool) -> None:
    try:
        with bars:
            if pending := engine.pending():
                bars("embedding", 0, pending)
            if engine.unfinished():
                engine.embed(bars)
    except KeyboardInterrupt:
        remaining = {
            "are not searchable by meaning yet": engine.pending(),
            "have not been checked for instructions to the assistant yet": sum(engine.unchecked().values()),
        }
        remark("Stopped. Everything that was read can be searched by words.")
        for state, count in remaining.items():
            if count:
                remark(f"  {count:,} passages {state}.")
        if any(remaining.values()):
            remark(f"  The same command, or `turnwise serve{engine.settings.named}`, continues with them.")
        _print_late_suspects(engine, report, as_json)
        sys.exit(INTERRUPTED_STATUS)


@turnwise.command()
@paths_argument("PATH...")
@json_option
@library_options(sample=False)
def remove(place: Place, paths: tuple[str, ...], as_json: bool) -> None:
    """Remove documents from the library.

    A folder removes everything below it, a bibliography the entries it had. The files themselves are not deleted.
    """
    with place.open_without_model() as engine:
        known = [document.source for document in engine.index.documents(None)]
        meant = [source for path in paths for source in _meant(path, known)]  # before any is removed
        removed = [source for source in dict.fromkeys(meant) if engine.index.remove(source)]
    if as_json:
        say_json({"removed": removed})
    else:
        say("\n".join(f"Removed {named(source)}" for source in removed))


def _meant(path: str, sources: Sequence[str]) -> list[str]:
    """The sources of a document, a folder or a bibliography. Raises DocumentError if there is none."""
    real = os.path.realpath(path).encode("utf-8", "backslashreplace").decode()  # as stored in the library
    prefixes = (os.path.join(real, ""), f"{real}#")  # in a folder, in a bibliography
    matches = [each for each in sources if each in (path, real) or each.startswith(prefixes)]
    if not matches:
        raise unknown_document(path, sources, "Name it by its path, as shown by `turnwise documents`.")
    return matches


turnwise.add_command(documents)
turnwise.add_command(trust)


@turnwise.command()
@click.argument("message", nargs=-1, required=True)
@click.option(
    "--conversation",
    metavar="ID",
    callback=not_empty,
    help="Ask in this conversation; it is started if it does not exist.",
)
@click.option("--query", metavar="TEXT", help="Search for this instead of the query derived from the message.")
@style_option
@json_option
@library_options(sample=True)
@data_option
@filter_options
def ask(
    place: Place,
    message: tuple[str, ...],
    conversation: str | None,
    query: str | None,
    style: str | None,
    as_json: bool,
    where: Filter,
) -> None:
    """Ask one question; "-" reads it from stdin.

    Without --conversation, the question starts a new conversation.
    """
    from turnwise.cli.talk import Talk

    text = " ".join(message)
    with (
        place.open(style=style) as engine,
        Talk(engine.chat(conversation, where), as_json, engine.settings.style) as talk,
    ):
        warn_of_nothing(engine, where)
        talk.turn(sys.stdin.read().strip() if text == "-" else text, query)
        if not as_json and conversation is None:
            options = place.options() + style_as_typed(style) + filter_as_typed(where)
            remark(f"Follow up with: turnwise ask --conversation {talk.chat.id}{options} …")


@turnwise.command()
@click.option("--conversation", metavar="ID", callback=not_empty, help="Continue this conversation.")
@style_option
@json_option
@library_options(sample=True)
@data_option
@filter_options
def chat(place: Place, conversation: str | None, style: str | None, as_json: bool, where: Filter) -> None:
    """Talk with the library, turn by turn.

    /why explains the last answer, /quit leaves. With piped input, each line is a message.
    """
    from turnwise.cli.talk import HELP, Talk

    with (
        place.open(style=style) as engine,
        Talk(engine.chat(conversation, where), as_json, engine.settings.style) as talk,
    ):
        warn_of_nothing(engine, where)
        if sys.stdin.isatty():
            say(f"{engine.index.counts().documents:,} documents. Ask away.\n{HELP}\n", dim=True)
        talk.converse()
        if talk.last and not as_json:
            options = place.options() + style_as_typed(style) + filter_as_typed(where)
            remark(f"Continue later with: turnwise chat --conversation {talk.chat.id}{options}")


turnwise.add_command(conversations)
turnwise.add_command(export)


@turnwise.command()
@click.argument("query", nargs=-1, required=True)
@click.option("--limit", default=6, metavar="N", type=click.IntRange(1), help="Show at most N passages [default: 6].")
@json_option
@library_options(sample=True)
@filter_options
def search(place: Place, query: tuple[str, ...], limit: int, as_json: bool, where: Filter) -> None:
    """Search for passages, without writing an answer.

    The best matches come first.
    """
    from turnwise.cli.talk import citation
    from turnwise.text import one_line

    if not "".join(query).strip():
        raise EmptyMessage("The query is empty.", "Give words or a question.")
    with place.open_without_model() as engine:
        warn_of_nothing(engine, where)
        hits = engine.search(" ".join(query), limit, where)
        suspect = {hit.passage.id for hit in hits if engine.is_suspect(hit.passage)}
    for rank, hit in enumerate(hits, 1):
        if as_json:
            say_json(dataclasses.asdict(hit))
            continue
        passage = hit.passage
        say(f"{rank}. {citation(passage)}")
        say(f"   {one_line(passage.text, 200)}", dim=True)
        if passage.id in suspect and passage.flag:
            say(f"   Flagged because it instructs the assistant: “{passage.flag.words}”")
    if not hits and not as_json:
        say("Nothing found.")


@turnwise.command()
@click.option("--host", help="Address to listen on [default: 127.0.0.1, this machine only].")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on [default: 8000; 0: any free one].")
@click.option("--open", "anyone", is_flag=True, help="Let in anyone who can reach that address, without a key.")
@library_options(sample=True)
@data_option
def serve(place: Place, host: str | None, port: int | None, anyone: bool) -> None:
    """Serve the chat page and the API until Ctrl-C.

    The library is created if it does not exist; documents can be dropped onto the page. Anyone on this machine may
    connect until there is a key (`turnwise keys create`); to listen on other addresses, a key is required.
    """
    from turnwise.server.run import serve as serve_engine

    with place.open(create=True, host=host, port=port, access="open" if anyone else None) as engine:
        serve_engine(engine, debug=click.get_current_context().find_root().params["debug"])


@turnwise.command()
@library_options(sample=True)
@data_option
def mcp(place: Place) -> None:
    """Offer the library to other assistants over MCP.

    This speaks the Model Context Protocol on stdin and stdout.

    \b
    An assistant starts it by itself, with a configuration such as
    {"mcpServers": {"turnwise": {"command": "turnwise", "args": ["mcp"]}}}
    """
    try:
        from turnwise.cli.mcp_tools import serve_tools
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        raise ConfigError("The package for MCP is not installed.", "pip install 'turnwise[mcp]'") from error

    with place.open() as engine:
        serve_tools(engine)


turnwise.add_command(keys)
turnwise.add_command(memory)
turnwise.add_command(analytics)
turnwise.add_command(copy)
turnwise.add_command(guard)
turnwise.add_command(test)
turnwise.add_command(evaluate)


@turnwise.command()
@click.option("--ask", is_flag=True, help="Also send the language model a short test prompt.")
@json_option
@library_options(sample=True)
def doctor(place: Place, ask: bool, as_json: bool) -> None:
    """Check the installation, and show what is sent where."""
    from turnwise.cli.doctor import examine

    if place.sample:
        with contextlib.suppress(TurnwiseError):  # a check says why it cannot be made
            place.open_without_model().close()
    marks = {"ok": "ok  ", "warn": "warn", "fail": "FAIL"}
    findings = []
    for finding in examine(*place.settings(), os.environ, ask):
        findings.append(finding)
        if not as_json:
            say(f"{marks[finding.status]}  {finding.check:9} {finding.message}")
        if finding.hint and not as_json:
            say(f"{'':16}{finding.hint}", dim=True)
    healthy = all(finding.status != "fail" for finding in findings)
    if as_json:
        say_json({"ok": healthy, "findings": [dataclasses.asdict(finding) for finding in findings]})
    if not healthy:
        sys.exit(1)


@turnwise.command()
@json_option
@library_options(sample=False)
def config(place: Place, as_json: bool) -> None:
    """Show all settings, their values and where each was set.

    If only some values are allowed, they are shown too.
    """
    _, settings = place.settings()
    origins = [dataclasses.replace(each, value=_without_credentials(each.value)) for each in settings]
    if as_json:
        say_json({each.name: {name: getattr(each, name) for name in _CONFIG_FIELDS} for each in origins})
        return
    for each in origins:
        say(f"{each.name} = {_as_toml(each.value)}", end="")
        say(f"  ({each.origin})", dim=True)
        say(indented(each.about), dim=True)
        if each.allowed:
            say(indented(f"Allowed: {each.allowed}."), dim=True)


_CONFIG_FIELDS = ("value", "origin", "about", "allowed")


def _without_credentials(value: Any) -> Any:
    return re.sub(r"//[^/?#]*@", "//…@", without_password(value)) if isinstance(value, str) else value


def _as_toml(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)
