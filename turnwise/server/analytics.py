"""What the turns say about the library, under /api/analytics: one object, or one table of it for a spreadsheet."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from turnwise.analytics import COLUMNS, Report, as_csv, report
from turnwise.engine import Engine
from turnwise.errors import BadRequest, NotFound
from turnwise.server.access import Caller, ManageCaller
from turnwise.server.dependencies import EngineDep
from turnwise.server.problems import PROBLEM_RESPONSES, Json

router = APIRouter(prefix="/api/analytics", responses=PROBLEM_RESPONSES)


@dataclass(frozen=True, slots=True)
class Span:
    """Which turns are counted."""

    since: float | None
    until: float | None
    collection: str | None
    zone: tzinfo


def span(
    since: Annotated[str, Query(description="From this day or time on (ISO 8601, or seconds since 1970)")] = "",
    until: Annotated[str, Query(description="Up to this time, or to the end of this day")] = "",
    days: Annotated[int | None, Query(ge=1, le=3660, description="The last so many days, today included")] = None,
    collection: Annotated[str | None, Query(description="Only turns that cite or searched this collection")] = None,
    zone: Annotated[str, Query(description="Whose days these are: Europe/Berlin")] = "UTC",
) -> Span:
    """The turns that a request asks for; all of them if it names no time."""
    where = _zone(zone)
    start, end = _moment("since", since, where), _moment("until", until, where, whole_day=True)
    if days is not None:
        last = datetime.fromtimestamp(time.time() if end is None else end - 1, where).date()
        start, end = _midnight(last - timedelta(days=days - 1), where), _midnight(last + timedelta(days=1), where)
    today = _midnight(datetime.fromtimestamp(time.time(), where).date() + timedelta(days=1), where)
    end = None if end is None else min(end, today)
    if start is not None and start >= (today if end is None else end):
        raise BadRequest("The first day asked for is after the last, or lies ahead.", "Change one of them.")
    return Span(start, end, collection, where)


SpanDep = Annotated[Span, Depends(span)]


@router.get("", summary="How people ask, where they get stuck, and what the library lacks")
def analytics(over: SpanDep, engine: EngineDep, caller: ManageCaller) -> Response:
    names = sorted(engine.index.collections(caller.reach))
    about = {"since": over.since, "until": over.until, "collection": over.collection, "zone": str(over.zone)}
    return Json({**about, "collections": names, **_report(engine, caller, over).to_dict()})


@router.get(
    "/{table}.csv",
    summary="One table of it, for a spreadsheet",
    response_class=Response,
    responses={200: {"description": "The table", "content": {"text/csv": {}}}},
)
def table(table: str, over: SpanDep, engine: EngineDep, caller: ManageCaller) -> Response:
    if table not in Report.tables():
        raise NotFound(f"There is no table {table!r}.", f"There are: {', '.join(Report.tables())}.")
    rows: Any = getattr(_report(engine, caller, over), table)
    text = as_csv([rows] if isinstance(rows, dict) else rows, COLUMNS.get(table, ()))
    headers = {"Content-Disposition": f'attachment; filename="turnwise-{table}.csv"'}
    # A mark at the beginning tells spreadsheets that it is UTF-8.
    return Response(f"\ufeff{text}".encode("utf-8", "replace"), headers=headers, media_type="text/csv; charset=utf-8")


def _report(engine: Engine, caller: Caller, over: Span) -> Report:
    turns = caller.view(engine.store).facts(over.since or 0.0, over.until)
    documents = engine.index.documents(caller.reach)
    return report(turns, documents, over.collection, over.since, over.until, over.zone)


def _zone(name: str) -> tzinfo:
    try:
        return UTC if name == "UTC" else ZoneInfo(name)
    except (ValueError, OSError, KeyError) as error:  # not found is a KeyError
        raise BadRequest(
            f"There is no time zone {name!r}.", "Name one as in Europe/Berlin, or leave it out."
        ) from error


def _moment(name: str, said: str, zone: tzinfo, whole_day: bool = False) -> float | None:
    if not said:
        return None
    try:
        if len(said) == 10 and said.count("-") == 2:
            return _midnight(date.fromisoformat(said) + timedelta(days=whole_day), zone)
        if said.replace(".", "", 1).isdigit():
            return datetime.fromtimestamp(float(said), zone).timestamp()
        read = datetime.fromisoformat(said)
        return max(0.0, (read if read.tzinfo else read.replace(tzinfo=zone)).timestamp())
    except (ValueError, OverflowError, OSError) as error:
        raise BadRequest(f"'{name}' is no day or time: {said[:40]!r}.", "Write it as 2026-11-16.") from error


def _midnight(day: date, zone: tzinfo) -> float:
    return max(0.0, datetime(day.year, day.month, day.day, tzinfo=zone).timestamp())
