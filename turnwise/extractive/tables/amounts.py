"""Amounts in the cells of a table: money, times, dates, plain numbers."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from turnwise.english import MONTHS
from turnwise.extractive.kinds import PRICE_WORDS
from turnwise.extractive.tables.vocabulary import column_stems
from turnwise.text import stem

_AMOUNT = re.compile(
    r"(?P<sign>[$€£¥₹])? ?(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?) ?(?P<unit>[^\d\s,;.()/]{1,12})?"
    r"(?: ?(?:/ ?|(?:per|an?|each) )\w+)?\.?",
    re.I,
)
_CURRENCIES = ("$", "€", "£", "¥", "₹", "euro", "euros", "dollar", "dollars", "pound", "pounds", "eur", "usd", "gbp")
_MINUTES = {"minut": 1, "min": 1, "hour": 60, "hr": 60, "h": 60, "day": 1440, "night": 1440, "week": 10080}
_DATE = re.compile(
    rf"(?P<year>\d{{4}})-(?P<month>\d\d)-(?P<day>\d\d)"
    rf"|(?P<day_of_month>\d{{1,2}}) (?P<month_name>{'|'.join(MONTHS)})(?: (?P<year_after>\d{{4}}))?",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Amount:
    """An amount in a cell. Times are in minutes, and dates are days since the year 1."""

    value: Decimal
    unit: str = ""
    number: str = ""  # as written
    prefixed: bool = False  # whether the unit is a currency sign before the number

    @property
    def is_money(self) -> bool:
        return self.unit in _CURRENCIES

    def with_unit(self, number: str) -> str:
        """Another number, written like this amount."""
        return f"{self.unit}{number}" if self.prefixed else f"{number} {self.unit}".rstrip()


@lru_cache(maxsize=4096)
def amount_in(cell: str) -> Amount | None:
    """The amount that a whole cell is, or None."""
    if cell.lower() in ("free", "none", "nothing"):
        return Amount(Decimal(0), number=cell)
    found = _AMOUNT.fullmatch(cell)
    if found is None:
        return _date_in(cell)
    number, unit = found["number"], found["sign"] or (found["unit"] or "").lower()
    value = Decimal(number.replace(",", ""))
    if minutes := _MINUTES.get(stem(unit)):
        return Amount(value * minutes, "time", number)
    return Amount(value, unit, number, bool(found["sign"]))


def _date_in(cell: str) -> Amount | None:
    found = _DATE.fullmatch(cell)
    if found is None:
        return None
    year = found["year"] or found["year_after"]
    month = int(found["month"]) if found["month"] else MONTHS.index(found["month_name"].lower()) + 1
    try:
        date = datetime.date(int(year or 1), month, int(found["day"] or found["day_of_month"]))
    except ValueError:
        return None
    return Amount(Decimal(date.toordinal()), "day" if year else "day of the year")


def is_price(column: str, cell: str) -> bool:
    """Whether a cell is an amount of money, by its unit or by the name of its column."""
    amount = amount_in(cell)
    return amount is not None and (amount.is_money or not PRICE_WORDS.isdisjoint(column_stems(column)))
