"""Which library a verb works on: the options that every verb shares, and the engine they lead to."""

from __future__ import annotations

import dataclasses
import functools
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from turnwise.cli.screen import Bars
from turnwise.config import Origin, Settings, data_folder, load
from turnwise.types import Filter

if TYPE_CHECKING:
    from turnwise.engine import Engine

Verb = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Place:
    """The library and the settings file that were named on the command line, if any."""

    library: str | None
    file: Path | None
    sample: bool = False
    database: str | None = None
    data: tuple[str, ...] = ()  # tables to attach

    def settings(self, **arguments: Any) -> tuple[Settings, list[Origin]]:
        """The settings in force and where each came from."""
        library = str(data_folder() / "sample") if self.sample else self.library
        # A folder that was named outranks a database that was only set.
        database = "" if library else self.database
        return load({"library": library, "database": database, **arguments}, file=self.file)

    def options(self) -> str:
        """The options that lead here again, as one would type them."""
        data = "".join(f" --data {shlex.quote(without_password(each))}" for each in self.data)
        if self.sample:
            return f" --sample{data}"
        if self.database:
            return f" --database {shlex.quote(without_password(self.database))}{data}"
        return f" --library {shlex.quote(self.library)}{data}" if self.library else data

    def open(self, create: bool = False, **arguments: Any) -> Engine:
        """The engine. The sample library is made on first use; any other has to be there, unless `create`."""
        from turnwise.app import build, build_sample

        settings, _ = self.settings(**arguments)
        if not self.sample:
            return build(settings, create, self.data)
        with Bars() as bars:
            return build_sample(settings, bars, self.data)


def placed(sample: bool) -> Callable[[Verb], Verb]:
    """Give a verb --library, --database and --config, with `sample` also --sample; it is called with a Place first."""

    def decorate(verb: Verb) -> Verb:
        @functools.wraps(verb)
        def called(
            library: str | None, database: str | None, config_file: Path | None, use_sample: bool = False, **others: Any
        ) -> Any:
            if (library is not None) + (database is not None) + use_sample > 1:
                raise click.UsageError("--library, --database and --sample name several libraries; choose one.")
            return verb(Place(library, config_file, use_sample, database), **others)

        options = [
            click.option(
                "--library", metavar="DIR", help="Folder of the library [default: ~/.local/share/turnwise/library]."
            ),
            click.option(
                "--database", metavar="URL", help="The library in this PostgreSQL: postgres://USER@HOST/NAME."
            ),
            click.option(
                "--config",
                "config_file",
                metavar="FILE",
                type=click.Path(path_type=Path),
                help="Settings file [default: turnwise.toml here, if there is one].",
            ),
        ]
        if sample:
            about = "Use the bundled sample library, made on first use."
            options.insert(2, click.option("--sample", "use_sample", is_flag=True, help=about))
        return functools.reduce(lambda inner, option: option(inner), reversed(options), called)

    return decorate


def asking_data(verb: Verb) -> Verb:
    """Give a verb --data; the tables are attached where the Place is opened."""

    @functools.wraps(verb)
    def called(place: Place, data: tuple[str, ...], **others: Any) -> Any:
        return verb(dataclasses.replace(place, data=data), **others)

    about = "Also ask this table: a CSV, TSV, Parquet or SQLite file, or postgres://…; may be repeated."
    return click.option("--data", metavar="PATH", multiple=True, help=about)(called)


def filtered(verb: Verb) -> Verb:
    """Give a verb the options that narrow the documents; it is called with them as `where`."""

    @functools.wraps(verb)
    def called(
        place: Place,
        collections: tuple[str, ...],
        tags: tuple[str, ...],
        source: str,
        since: str,
        until: str,
        **others: Any,
    ) -> Any:
        return verb(place, where=Filter(collections, tags, source, since, until), **others)

    options = [
        click.option(
            "--collection", "collections", metavar="NAME", multiple=True, help="Only of this collection, or these."
        ),
        click.option(
            "--tag", "tags", metavar="TAG", multiple=True, help="Only what has this tag; with several, all of them."
        ),
        click.option(
            "--source", metavar="PATTERN", default="", help='Only of paths or addresses like this: "*/papers/*".'
        ),
        click.option(
            "--since", metavar="DATE", default="", help="Only of this date or later: 2020, 2020-05 or 2020-05-31."
        ),
        click.option("--until", metavar="DATE", default="", help="Only of this date or earlier."),
    ]
    return functools.reduce(lambda inner, option: option(inner), reversed(options), called)


def filter_options(where: Filter) -> str:
    """The options that give this filter again, as one would type them."""
    given = [("collection", each) for each in where.collections] + [("tag", each) for each in where.tags]
    given += [("source", where.source), ("since", where.since), ("until", where.until)]
    return "".join(f" --{name} {shlex.quote(value)}" for name, value in given if value)


def without_password(address: str) -> str:
    """An address as it may be shown: without a password, wherever it stands in it."""
    address = re.sub(r"//([^/?#:@]*):[^/?#]*@", r"//\1@", address)
    return re.sub(r"([?&]\w*password=)[^&#]*", r"\1…", address, flags=re.IGNORECASE)


def _remember(context: click.Context, _: click.Parameter, value: bool) -> bool:
    context.meta["json"] = value
    return value


as_json = click.option(
    "--json", "as_json", is_flag=True, callback=_remember, help="Print JSON, one object a line, for programs."
)

styled = click.option(
    "--style", metavar="NAME", help="Give the sources in this citation style: apa, ieee, any of CSL, or a .csl file."
)
