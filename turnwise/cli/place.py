"""The options that commands share, and the library and engine they select."""

from __future__ import annotations

import dataclasses
import functools
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from turnwise.cli.screen import Bars
from turnwise.config import Origin, Settings, data_folder, load, without_password
from turnwise.types import Filter

if TYPE_CHECKING:
    from turnwise.engine import Engine

Command = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Place:
    """The library and settings file named on the command line, if any."""

    library: str | None
    file: Path | None
    sample: bool = False
    database: str | None = None
    data: tuple[str, ...] = ()  # tables to attach

    def settings(self, **arguments: Any) -> tuple[Settings, list[Origin]]:
        """The effective settings, and where each came from."""
        library = str(data_folder() / "sample") if self.sample else self.library
        # --library overrides a database from the environment or settings file.
        database = "" if library else self.database
        return load({"library": library, "database": database, **arguments}, file=self.file)

    def options(self) -> str:
        """The options that select this library and this settings file again, as typed in a shell."""
        others = f" --config {shlex.quote(str(self.file))}" if self.file else ""
        others += "".join(f" --data {shlex.quote(without_password(each))}" for each in self.data)
        if self.sample:
            return f" --sample{others}"
        if self.database:
            return f" --database {shlex.quote(without_password(self.database))}{others}"
        return f" --library {shlex.quote(self.library)}{others}" if self.library else others

    def open_without_model(self, create: bool = False, **arguments: Any) -> Engine:
        """Open the engine for a command that answers nothing, so that it works even if no model can be reached."""
        return self.open(create, model="", base_url="", **arguments)

    def open(self, create: bool = False, **arguments: Any) -> Engine:
        """Open the engine. The sample library is created on first use; any other must exist, unless `create`."""
        from turnwise.app import build, build_sample

        settings, _ = self.settings(**arguments)
        if not self.sample:
            return build(settings, create, self.data)
        with Bars() as bars:
            return build_sample(settings, bars, self.data)


def library_options(sample: bool) -> Callable[[Command], Command]:
    """Add --library, --database and --config to a command, and --sample if `sample`. Its first argument is a Place."""

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def wrapper(
            library: str | None, database: str | None, config_file: Path | None, use_sample: bool = False, **others: Any
        ) -> Any:
            if (library is not None) + (database is not None) + use_sample > 1:
                raise click.UsageError("--library, --database and --sample each name a library; choose one.")
            return command(Place(library, config_file, use_sample, database), **others)

        options = [
            click.option(
                "--library",
                metavar="DIR",
                callback=not_empty,
                help="Library folder [default: ~/.local/share/turnwise/library].",
            ),
            click.option(
                "--database",
                metavar="URL",
                callback=not_empty,
                help="Use a library in PostgreSQL: postgres://USER@HOST/NAME.",
            ),
            click.option(
                "--config",
                "config_file",
                metavar="FILE",
                type=click.Path(path_type=Path),
                help="Settings file [default: ./turnwise.toml, if it exists].",
            ),
        ]
        if sample:
            about = "Use the bundled sample library (created on first use)."
            options.insert(2, click.option("--sample", "use_sample", is_flag=True, help=about))
        return functools.reduce(lambda inner, option: option(inner), reversed(options), wrapper)

    return decorate


def paths_argument(metavar: str) -> Callable[[Command], Command]:
    """Add the argument `paths` to a command. An empty path, as from an unset shell variable, is refused: it would mean
    the current folder."""

    def check(_: click.Context, __: click.Parameter, paths: tuple[str, ...]) -> tuple[str, ...]:
        if "" in paths:
            raise click.UsageError('A path is empty. For the folder you are in, write ".".')
        return paths

    return click.argument("paths", metavar=metavar, nargs=-1, required=True, callback=check)


def not_empty(_: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Refuse an empty value of an option, as from an unset shell variable: it would mean the usual one."""
    if value == "" or (isinstance(value, tuple) and "" in value):
        raise click.UsageError(f"{parameter.opts[0]} is empty. Give it a value, or leave it out.")
    return value


def data_option(command: Command) -> Command:
    """Add --data to a command; the tables are attached when the Place is opened."""

    @functools.wraps(command)
    def wrapper(place: Place, data: tuple[str, ...], **others: Any) -> Any:
        return command(dataclasses.replace(place, data=data), **others)

    about = "Also query this table: a CSV, TSV, Parquet or SQLite file, or postgres://…; may be repeated."
    return click.option("--data", metavar="PATH", multiple=True, callback=not_empty, help=about)(wrapper)


def filter_options(command: Command) -> Command:
    """Add the options that filter documents to a command, which gets them as `where`."""

    @functools.wraps(command)
    def wrapper(
        place: Place,
        collections: tuple[str, ...],
        tags: tuple[str, ...],
        source: str,
        since: str,
        until: str,
        **others: Any,
    ) -> Any:
        return command(place, where=Filter(collections, tags, source, since, until), **others)

    options = [
        click.option(
            "--collection", "collections", metavar="NAME", multiple=True, help="Only this collection; may be repeated."
        ),
        click.option(
            "--tag",
            "tags",
            metavar="TAG",
            multiple=True,
            help="Only documents with this tag; if repeated, with all of them.",
        ),
        click.option(
            "--source", metavar="PATTERN", default="", help='Only paths or URLs that match a pattern: "*/papers/*".'
        ),
        click.option(
            "--since", metavar="DATE", default="", help="Only documents from this date on: 2020, 2020-05 or 2020-05-31."
        ),
        click.option("--until", metavar="DATE", default="", help="Only documents up to this date."),
    ]
    return functools.reduce(lambda inner, option: option(inner), reversed(options), wrapper)


def style_as_typed(style: str | None) -> str:
    """The option that gives this citation style again, as typed in a shell."""
    return f" --style {shlex.quote(style)}" if style else ""


def filter_as_typed(where: Filter) -> str:
    """The options that give this filter again, as typed in a shell."""
    options = [("collection", each) for each in where.collections] + [("tag", each) for each in where.tags]
    options += [("source", where.source), ("since", where.since), ("until", where.until)]
    return "".join(f" --{name} {shlex.quote(value)}" for name, value in options if value)


def _store_json_flag(context: click.Context, _: click.Parameter, value: bool) -> bool:
    context.meta["json"] = value  # errors are printed as JSON too
    return value


json_option = click.option(
    "--json", "as_json", is_flag=True, callback=_store_json_flag, help="Print JSON, one object per line."
)

style_option = click.option(
    "--style", metavar="NAME", help="Citation style for the sources: apa, ieee, any CSL style, or a .csl file."
)
