"""Writes the numbers of spreadsheets and charts as people see them there: 0.35 with the format "0.0%" is "35.0%"."""

from __future__ import annotations

import datetime
import math
import re

EPOCH = datetime.date(1899, 12, 30)  # day 0 in Excel, after February 1900
_PIECES = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|\[\$(?P<currency>[^\]-]*)[^\]]*\]|\[[^\]]*\]|_.|\*.'
    r"|(?P<places>General|[#0?][#0?,.]*)|(?P<odd>E[+-]|/)|(?P<percent>%)|(?P<plain>[^;])"
)
_PLACE = str.maketrans({"#": "\0", "?": "\0", "0": "\1"})  # one that other text stands before, as in "000-00"


def shown(value: float, code: str) -> str:
    """The number in a format of Office: its decimals, thousands, currency, percent or unit, or as a date."""
    if not math.isfinite(value):
        return str(value)
    before, places, after, is_percent = _read(code)
    if not places:
        return _date(value, before) if any(each in before for each in "yd") else _general(value)
    value *= 100 if is_percent else 1
    text = _general(abs(value)) if places == "General" else _placed(abs(value), places)
    if "\0" in after or "\1" in after:
        text, after = _spread(abs(value), places.translate(_PLACE) + after), ""
    return f"{'-' if value < 0 else ''}{before.lstrip()}{text}{after}".rstrip()


def _placed(value: float, places: str) -> str:
    whole, _, decimals = places.rstrip(",").partition(".")
    value /= 1000 ** (len(places) - len(places.rstrip(",")))
    text = f"{value:{',' if ',' in whole else ''}.{len(decimals)}f}"
    if decimals.endswith("#"):
        text = text.rstrip("0").rstrip(".")
    return "0" * (whole.count("0") - len(text.partition(".")[0])) + text


def _spread(value: float, places: str) -> str:
    """The digits in places that text divides: a phone number, or one with spaces for thousands."""
    decimals = sum(map(places.partition(".")[2].count, "\0\1"))
    digits = list(f"{value:.{decimals}f}".replace(".", "").zfill(places.count("\1")))
    text = [(digits.pop() if digits else "") if each in "\0\1" else each for each in reversed(places)]
    return "".join([*digits, *reversed(text)])


def _read(code: str) -> tuple[str, str, str, bool]:
    """What stands before the digits in the format of positive numbers, their places, what stands behind, and whether
    they are hundredths. There are no places if they are those of powers or fractions."""
    before = places = after = ""
    is_percent = False
    for piece in _PIECES.finditer(code):
        if piece["odd"] and places:
            return "", "", "", False
        is_percent = is_percent or bool(piece["percent"])
        text = piece["quoted"] or piece["escaped"] or piece["currency"] or ""
        text = text or piece["percent"] or piece["odd"] or piece["plain"] or ""
        if piece["places"] and not places:
            places = piece["places"]
        elif places:
            after += (piece["places"] or "").translate(_PLACE) or text
        else:
            before += text
        if code[piece.end() : piece.end() + 1] == ";":
            break
    return before, places, after, is_percent


def _date(days: float, code: str) -> str:
    try:
        date = EPOCH + datetime.timedelta(days=days)
    except OverflowError:
        return _general(days)
    return date.strftime("%Y-%m-%d" if "d" in code else "%Y-%m" if "m" in code else "%Y")


def _general(value: float) -> str:
    return f"{value:.0f}" if value == int(value) else f"{value:.10g}"
