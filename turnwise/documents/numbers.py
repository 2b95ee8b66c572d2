"""Writes the numbers of spreadsheets and charts as people see them there: 0.35 with the format "0.0%" is "35.0%"."""

from __future__ import annotations

import datetime
import math
import re

EPOCH = datetime.date(1899, 12, 30)  # day 0 in Excel, after February 1900
_PIECES = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|\[\$(?P<currency>[^\]-]*)[^\]]*\]|\[[^\]]*\]|_.|\*.'
    r"|(?P<places>[#0?][#0?,.]*)|(?P<plain>[^;])"
)


def shown(value: float, code: str) -> str:
    """The number in a format of Office: its decimals, thousands, currency, percent or unit, or as a date."""
    if not math.isfinite(value):
        return str(value)
    before, places, after = _read(code)
    if not places and any(each in before for each in "yd"):
        return _date(value, before)
    if not places or "E" in before + after or "/" in after:
        return _general(value)
    if "%" in before + after:
        value *= 100
    whole, _, decimals = places.rstrip(",").partition(".")
    value /= 1000 ** (len(places) - len(places.rstrip(",")))
    text = f"{abs(value):{',' if ',' in whole else ''}.{len(decimals)}f}"
    if decimals.endswith("#"):
        text = text.rstrip("0").rstrip(".")
    return f"{'-' if value < 0 else ''}{before.strip()}{text}{after}".rstrip()


def _read(code: str) -> tuple[str, str, str]:
    """What stands before the digits in the format of positive numbers, their places, and what stands behind."""
    before = places = after = ""
    for piece in _PIECES.finditer(code):
        text = piece["quoted"] or piece["escaped"] or piece["currency"] or piece["plain"] or ""
        if piece["places"] and not places:
            places = piece["places"]
        elif places:
            after += piece["places"] or text
        else:
            before += text
        if code[piece.end() : piece.end() + 1] == ";":
            break
    return before, places, after


def _date(days: float, code: str) -> str:
    try:
        date = EPOCH + datetime.timedelta(days=days)
    except OverflowError:
        return _general(days)
    return date.strftime("%Y-%m-%d" if "d" in code else "%Y-%m" if "m" in code else "%Y")


def _general(value: float) -> str:
    return f"{value:.0f}" if value == int(value) else f"{value:.10g}"
