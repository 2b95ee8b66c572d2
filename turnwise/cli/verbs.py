"""The verbs of the `turnwise` command. What is slow to import is imported by the verb that needs it."""

from __future__ import annotations

import dataclasses
import difflib
import errno
import logging
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from turnwise import __version__
from turnwise.cli.analytics import analytics
from turnwise.cli.copy import copy
from turnwise.cli.evaluate import evaluate
from turnwise.cli.guard import guard
from turnwise.cli.keys import keys
from turnwise.cli.memory import memory
from turnwise.cli.place import Place, as_json, asking_data, filter_options, filtered, placed, styled, without_password
from turnwise.cli.screen import Bars, complain, log_to_stderr, remark, say, say_json
from turnwise.cli.shelf import documents, tell_suspects, trust
from turnwise.cli.test import test
from turnwise.errors import ConfigError, DocumentError, TurnwiseError

if TYPE_CHECKING:
    from turnwise.documents.watch import Change
    from turnwise.engine import Engine
    from turnwise.types import AddReport, Failure, Filter

STOPPED = 130  # the exit status of a command that Ctrl-C ended
SHOWN = 10  # files that are named one by one; more are counted


def main() -> None:
    """Run the command line. Bytes that are no text neither break reading nor printing."""
    for stream, errors in ((sys.stdin, "surrogateescape"), (sys.stdout, "backslashreplace")):
        stream.reconfigure(errors=errors)  # type: ignore[union-attr]
    turnwise(prog_name="turnwise")


class Verbs(click.Group):
    """Ends every verb in good order: an error is told with what to do about it, and its traceback only on demand."""

    def list_commands(self, _: click.Context) -> list[str]:
        return list(self.commands)  # in the order below, which is the order in which people meet them

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except KeyboardInterrupt:
            remark("Stopped.")
            context.exit(STOPPED)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            gone = isinstance(error, OSError) and error.errno == errno.EPIPE  # the reader left, as `head` does
            if gone or context.params["debug"]:
                raise
            complain(_told(error), context.meta.get("json", False))
            context.exit(1)


def _told(error: Exception) -> TurnwiseError:
    if isinstance(error, TurnwiseError):
        return error
    return TurnwiseError(
        f"{type(error).__name__}: {error}", "This should not happen. `turnwise --debug …` shows where."
    )


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="turnwise %(version)s")
@click.option("--debug", is_flag=True, help="Show tracebacks and log lines.")
def turnwise(debug: bool) -> None:
    """Talk with your documents: ask, follow up, and see what each answer rests on.

    \b
    turnwise chat --sample            try it on the bundled sample library
    turnwise add papers/              make a library of your own
    turnwise ask "What is BERT?"      ask it a question
    turnwise serve                    the same as a web page and an API
    """
    log_to_stderr(logging.INFO if debug else logging.WARNING, tracebacks=debug)


@turnwise.command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("--collection", metavar="NAME", default="", help="Put the documents into this collection.")
@click.option("--tag", "tags", metavar="TAG", multiple=True, help="Mark the documents with this tag; may be repeated.")
@click.option("--tenant", metavar="NAME", default="", help="Let this tenant see them, and nobody else.")
@click.option("--name", metavar="NAME", help='What the document that "-" reads is called, such as minutes.md.')
@click.option("--watch", is_flag=True, help="Go on: take in what changes and take out what is deleted, until Ctrl-C.")
@as_json
@placed(sample=False)
def add(
    place: Place,
    paths: tuple[str, ...],
    collection: str,
    tags: tuple[str, ...],
    tenant: str,
    name: str | None,
    watch: bool,
    as_json: bool,
) -> None:
    """Read documents into the library.

    Give files, folders with all below them, or patterns such as "papers/*.pdf". Read are PDF, Word, PowerPoint,
    OpenDocument, EPUB, HTML, Markdown, text, CSV, Jupyter notebooks and program code. What has not changed is skipped,
    so the same command brings a library up to date. The library is made where there is none.

    A bibliography (BibTeX, RIS, CSL-JSON, Zotero RDF) stands for the files it names, which get its titles,
    authors and years; an entry without a file is kept with its abstract.

    An address (https://…) is fetched: then this machine asks that server for it, and sends nothing else. "-" reads a
    document from stdin; --name says what it is called, and by its ending what kind it is.
    """
    contents = _from_stdin(paths, name)
    paths = tuple(path for path in paths if path != "-")
    if watch and not any(os.path.exists(path) for path in paths):
        raise click.UsageError("--watch needs a file or a folder that is there.")
    options: dict[str, Any] = {"collection": collection, "tags": tags, "tenant": tenant}
    with place.open(create=True) as engine:
        changes = engine.watch(*paths, **options) if watch else None
        with Bars() as bars:
            try:
                report = engine.read(*paths, **options, contents=contents, progress=bars)
            except KeyboardInterrupt:
                remark("Stopped. What was read so far is kept; the same command goes on from there.")
                sys.exit(STOPPED)
            if as_json:
                say_json(dataclasses.asdict(report))
            else:
                _tell(report)
            _embed(engine, bars, report, as_json)
        _tell_late(engine, report, as_json)
        if changes is not None:
            _watch(engine, changes, as_json)
    if report.failed:
        sys.exit(1)


def _from_stdin(paths: tuple[str, ...], name: str | None) -> dict[str, bytes]:
    if "-" not in paths:
        if name is not None:
            raise click.UsageError('--name is for "-", the document from stdin.')
        return {}
    if not name:
        raise click.UsageError('"-" reads a document from stdin; say what it is called, such as --name minutes.md.')
    return {name if Path(name).suffix else f"{name}.txt": sys.stdin.buffer.read()}


def _watch(engine: Engine, changes: Iterator[Change], as_json: bool) -> None:
    """Tell each change until Ctrl-C."""
    remark("Watching for changes. Ctrl-C ends it.")
    try:
        for change in changes:
            if as_json:
                say_json({"read": change.read, "removed": change.removed, **dataclasses.asdict(change.report)})
            else:
                failed = {failure.source for failure in change.report.failed}
                _tell_each("Read", [source for source in change.read if source not in failed])
                _tell_each("Removed", change.removed)
                tell_suspects(change.report.suspect)
                _tell_failures(change.report.failed)
            engine.embed()
            _tell_late(engine, change.report, as_json)
    except KeyboardInterrupt:
        remark("Stopped watching.")


def _tell_each(what: str, sources: Sequence[str]) -> None:
    for source in sources[:SHOWN]:
        say(f"{what} {source}")
    if len(sources) > SHOWN:
        say(f"{what} {len(sources) - SHOWN:,} more")


def _tell(report: AddReport) -> None:
    say(
        f"{report.added} added, {report.updated} updated, {report.unchanged} unchanged"
        f" ({report.passages:,} new passages)."
    )
    if len(report.skipped) > SHOWN:
        kinds = Counter(os.path.splitext(path)[1].lower() or "no ending" for path in report.skipped)
        told = ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common(SHOWN))
        more = f" and {len(kinds) - SHOWN:,} other kinds" if len(kinds) > SHOWN else ""
        say(f"Skipped {len(report.skipped):,} files, not of a kind that can be read: {told}{more}")
    else:
        for skipped in report.skipped:
            say(f"Skipped, not a kind that can be read: {skipped}")
    tell_suspects(report.suspect)
    _tell_failures(report.failed)


def _tell_late(engine: Engine, report: AddReport, as_json: bool) -> None:
    """What was found in documents after the report of them."""
    told = {each.source: each for each in report.suspect}
    late = tuple(
        dataclasses.replace(each, hidden=() if each.source in told else each.hidden)
        for each in engine.checked(report).suspect
        if each != told.get(each.source)
    )
    if late and as_json:
        say_json({"suspect": [dataclasses.asdict(each) for each in late]})
    elif late:
        tell_suspects(late)


def _tell_failures(failed: Sequence[Failure]) -> None:
    for failure in failed[:SHOWN]:
        remark(f"Not added: {failure.message}\n  {failure.hint}")
    if len(failed) > SHOWN:
        folders = Counter(os.path.dirname(failure.source) for failure in failed[SHOWN:])
        told = ", ".join(f"{count:,} in {folder}" for folder, count in folders.most_common(3))
        remark(f"Not added: {len(failed) - SHOWN:,} more ({told}). With --json the report names each, and why.")


def _embed(engine: Engine, bars: Bars, report: AddReport, as_json: bool) -> None:
    try:
        with bars:
            if pending := engine.pending():
                bars("embedding", 0, pending)
            if engine.unfinished():
                engine.embed(bars)
    except KeyboardInterrupt:
        left = {
            "are not searchable by meaning yet": engine.pending(),
            "were not looked through for instructions to the assistant yet": sum(engine.unchecked().values()),
        }
        remark("Stopped. All that was read can be searched by its words.")
        for what, number in left.items():
            if number:
                remark(f"  {number:,} passages {what}; `turnwise add` or `turnwise serve` goes on with them.")
        _tell_late(engine, report, as_json)
        sys.exit(STOPPED)


@turnwise.command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@as_json
@placed(sample=False)
def remove(place: Place, paths: tuple[str, ...], as_json: bool) -> None:
    """Take documents out of the library.

    A folder takes out all below it, a bibliography the entries it had. The files themselves stay where they are.
    """
    with place.open() as engine:
        removed = [source for path in paths for source in _remove(engine, path)]
    if as_json:
        say_json({"removed": removed})
    else:
        say("\n".join(f"Removed {source}" for source in removed))


def _remove(engine: Engine, path: str) -> list[str]:
    sources = [document.source for document in engine.index.documents(None)]
    real = os.path.realpath(path).encode("utf-8", "backslashreplace").decode()  # as the library keeps it
    below = (os.path.join(real, ""), f"{real}#")  # of a folder, of a bibliography
    wanted = [each for each in sources if each in (path, real) or each.startswith(below)]
    if not wanted:
        names = {os.path.basename(source): source for source in sources}
        near = difflib.get_close_matches(os.path.basename(real), names, n=1)
        hint = f"Did you mean {names[near[0]]}?" if near else "Name it by its path, as it was added."
        raise DocumentError(f"The library has no document {path}.", hint)
    return [source for source in wanted if engine.index.remove(source)]


turnwise.add_command(documents)
turnwise.add_command(trust)


@turnwise.command()
@click.argument("message", nargs=-1, required=True)
@click.option("--conversation", metavar="ID", help="Ask in this conversation; it is begun where there is none.")
@click.option("--query", metavar="TEXT", help="Search for this instead of what Turnwise makes of the message.")
@styled
@as_json
@placed(sample=True)
@asking_data
@filtered
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

    Without --conversation the question begins a new one.
    """
    from turnwise.cli.talk import Talk

    text = " ".join(message)
    with (
        place.open(style=style) as engine,
        Talk(engine.chat(conversation, where), as_json, engine.settings.style) as talk,
    ):
        talk.turn(sys.stdin.read() if text == "-" else text, query)
        if not as_json and conversation is None:
            options = place.options() + filter_options(where)
            remark(f"Follow up with: turnwise ask --conversation {talk.chat.id}{options} …")


@turnwise.command()
@click.option("--conversation", metavar="ID", help="Go on with this conversation.")
@styled
@as_json
@placed(sample=True)
@asking_data
@filtered
def chat(place: Place, conversation: str | None, style: str | None, as_json: bool, where: Filter) -> None:
    """Talk with the library, turn by turn.

    /why explains the last answer, /quit leaves. From a pipe, each line is a message.
    """
    from turnwise.cli.talk import HELP, Talk

    with (
        place.open(style=style) as engine,
        Talk(engine.chat(conversation, where), as_json, engine.settings.style) as talk,
    ):
        if sys.stdin.isatty():
            say(f"{engine.index.counts().documents:,} documents. Ask away.\n{HELP}\n", dim=True)
        talk.converse()
        if talk.last and not as_json:
            options = place.options() + filter_options(where)
            remark(f"Go on later with: turnwise chat --conversation {talk.chat.id}{options}")


@turnwise.command()
@click.argument("query", nargs=-1, required=True)
@click.option("--limit", default=6, metavar="N", type=click.IntRange(1), help="Most passages to show [default: 6].")
@as_json
@placed(sample=True)
@filtered
def search(place: Place, query: tuple[str, ...], limit: int, as_json: bool, where: Filter) -> None:
    """Show the passages that a search finds.

    The best come first; no answer is made of them.
    """
    from turnwise.cli.talk import standing
    from turnwise.text import one_line

    with place.open() as engine:
        hits = engine.search(" ".join(query), limit, where)
        suspect = {hit.passage.id for hit in hits if engine.is_suspect(hit.passage)}
    for rank, hit in enumerate(hits, 1):
        if as_json:
            say_json(dataclasses.asdict(hit))
            continue
        passage = hit.passage
        say(f"{rank}. {standing(passage)}")
        say(f"   {one_line(passage.text, 200)}", dim=True)
        if passage.id in suspect and passage.flag:
            say(f"   Flagged, for it instructs the assistant: “{passage.flag.words}”")
    if not hits and not as_json:
        say("Nothing found.")


@turnwise.command()
@click.option("--host", help="Address to listen on [default: 127.0.0.1, this machine only].")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on [default: 8000; 0: any free one].")
@click.option("--open", "anyone", is_flag=True, help="Let anyone in who can reach that address, without a key.")
@placed(sample=True)
@asking_data
def serve(place: Place, host: str | None, port: int | None, anyone: bool) -> None:
    """Serve the chat page and the API until Ctrl-C.

    The library is made where there is none: documents can be dropped onto the page. On this machine anyone may come in
    until there is a key (`turnwise keys create`); elsewhere a key is needed.
    """
    from turnwise.server.run import serve as serve_engine

    with place.open(create=True, host=host, port=port, access="open" if anyone else None) as engine:
        serve_engine(engine, debug=click.get_current_context().find_root().params["debug"])


@turnwise.command()
@placed(sample=True)
@asking_data
def mcp(place: Place) -> None:
    """Let other assistants use the library, by the Model Context Protocol (MCP) on stdin and stdout.

    \b
    An assistant starts it by itself, with a configuration such as
    {"mcpServers": {"turnwise": {"command": "turnwise", "args": ["mcp"]}}}
    """
    try:
        from turnwise.cli.mcp_tools import serve_tools
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        raise ConfigError("The Model Context Protocol is not installed.", "pip install 'turnwise[mcp]'") from error

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
@click.option("--ask", is_flag=True, help="Ask the language model for a word too.")
@as_json
@placed(sample=True)
def doctor(place: Place, ask: bool, as_json: bool) -> None:
    """Check that everything is in order, and say what is sent where."""
    from turnwise.cli.doctor import examine

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
@as_json
@placed(sample=False)
def config(place: Place, as_json: bool) -> None:
    """Show every setting: its value, who set it, and what it means."""
    _, found = place.settings()
    origins = [dataclasses.replace(each, value=_as_shown(each.value)) for each in found]
    if as_json:
        say_json({each.name: {"value": each.value, "origin": each.origin, "about": each.about} for each in origins})
        return
    for each in origins:
        say(f"{each.name} = {_as_toml(each.value)}", end="")
        say(f"  ({each.origin})", dim=True)
        say(f"    {each.about}", dim=True)


def _as_shown(value: Any) -> Any:
    return re.sub(r"//[^/?#]*@", "//…@", without_password(value)) if isinstance(value, str) else value


def _as_toml(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)
