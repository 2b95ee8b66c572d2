"""Amounts in the cells of a table: money, times, dates, plain numbers."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache

from turnwise.english import MONTHS
from turnwise.extractive.cells import CURRENCY_SIGNS, name_and_unit
from turnwise.extractive.kinds import PRICE_WORDS
from turnwise.extractive.tables.vocabulary import column_stems
from turnwise.text import stem

_AMOUNT = re.compile(
    r"(?P<sign>[$€£¥₹])? ?(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?) ?(?P<unit>[^\d\s,;.()/]{1,12})?"
    r"(?: ?(?:/ ?|(?:per|an?|each) )(?P<per>\w+))?",
    re.I,
)
_MAYBE_THOUSANDS = re.compile(r"[1-9]\d{0,2}\.\d{3}")
_EACH = frozenset({"each", "apiece", "pp"})
_NAMES_SUM = re.compile(r"(?<![a-z])(?:average|avg|(?:sub)?totals?|sum|mean)(?![a-z])", re.I)
_SIGNS = ("$", "€", "£", "¥", "₹")
_CURRENCIES = {**CURRENCY_SIGNS, "pound": "£"}  # by the stem of a word
_MINUTES = {"minut": 1, "min": 1, "hour": 60, "hr": 60, "h": 60, "day": 1440, "night": 1440, "week": 10080}
# Units of the same kind, by how many of the smallest they are.
_SCALES = (
    {"byte": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12},
    {"mg": 1, "g": 10**3, "gram": 10**3, "kg": 10**6, "kilo": 10**6, "ton": 10**9, "tonn": 10**9},
    {"mm": 1, "cm": 10, "m": 10**3, "metr": 10**3, "km": 10**6},
    {"ml": 1, "cl": 10, "dl": 100, "l": 10**3, "litr": 10**3},
)
MAX_DIGITS = 15  # a longer number is no amount
_PER = re.compile(r"\b(?:per|each|for)\b|/|\d", re.I)
_DATE = re.compile(
    rf"(?P<year>\d{{4}})-(?P<month>\d\d)-(?P<day>\d\d)"
    rf"|(?P<day_of_month>\d{{1,2}}) (?P<month_name>{'|'.join(MONTHS)})(?: (?P<year_after>\d{{4}}))?",
    re.I,
)
# The whole numbers that a cell stands for: "7-11", "Years 7 to 9"; "12+"; "under 5".
_RANGE = re.compile(r"(?:[a-z]+ )?(?P<first>\d{1,4}) ?(?:-|–|—|to) ?(?P<last>\d{1,4})(?: [a-z]+)?", re.I)
_FROM = re.compile(r"(?:[a-z]+ )?(?P<first>\d{1,4}) ?(?:\+|(?:and|or) (?:over|up|above|older|more))", re.I)
_UP_TO = re.compile(r"(?:[a-z]+ )?(?P<relation>under|up to) (?P<last>\d{1,4})s?", re.I)
_ANY_NUMBER = re.compile(r"(?:all|any)(?: [a-z]+)?|everyone", re.I)


@dataclass(frozen=True, slots=True)
class Amount:
    """An amount in a cell. Times are in minutes, and dates are days since the year 1."""

    value: Decimal
    unit: str = ""  # amounts of the same unit can be compared; for money, a currency sign
    number: str = ""  # as written, like the next two
    before: str = ""
    after: str = ""
    per: str = ""  # what a price is for: "kg" in "£3 per kg", "each" in "£2 each"

    @property
    def is_money(self) -> bool:
        return self.unit in _SIGNS

    def write(self, number: str) -> str:
        """A number with the unit as it is written here."""
        return f"{self.before}{number} {self.after}".rstrip()

    @property
    def is_ambiguous(self) -> bool:
        """Whether the point may separate thousands: "9.500"."""
        return bool(_MAYBE_THOUSANDS.fullmatch(self.number))

    @property
    def decimals(self) -> int:
        return len(self.number.partition(".")[2])


@lru_cache(maxsize=4096)
def amount_in(cell: str) -> Amount | None:
    """The amount that a cell is, or None if it has anything else."""
    cell = cell.rstrip(".")
    if cell.lower() in ("free", "none", "nothing"):
        return Amount(Decimal(0), number=cell)
    found = _AMOUNT.fullmatch(cell)
    if found is None:
        return _date_in(cell)
    number, sign, after = found["number"], found["sign"] or "", found["unit"] or ""
    if sum(map(str.isdigit, number)) > MAX_DIGITS:
        return None
    per = (found["per"] or "").lower()
    if sign and after.lower() in _EACH:
        after, per = "", after.lower()
    value, unit = Decimal(number.replace(",", "")), stem(after)
    if not sign and unit in _MINUTES:
        return Amount(value * _MINUTES[unit], "time", number, after=after, per=per)
    return Amount(value, sign or _CURRENCIES.get(unit, unit), number, sign, after, per)


def in_one_unit(amounts: Sequence[Amount]) -> list[Amount]:
    """The amounts, in the smallest unit of their kind if they have several of one kind: 500 MB and 2 GB."""
    units = {amount.unit for amount in amounts if amount.value}
    scale = next((each for each in _SCALES if units <= each.keys()), {}) if len(units) > 1 else {}
    return [
        replace(each, value=each.value * scale[each.unit], unit=next(iter(scale))) if each.unit in scale else each
        for each in amounts
    ]


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


def is_range(cell: str) -> bool:
    """Whether a cell is a range of numbers, such as "7-11"."""
    return bool(_RANGE.fullmatch(cell))


def stands_for_several(text: str) -> bool:
    """Whether a cell or the name of a column is a range of numbers, also one without an end: "Age 4-6", "13+"."""
    return any(form.fullmatch(text) for form in (_RANGE, _FROM, _UP_TO))


def includes_number(cell: str, number: int) -> bool:
    """Whether a cell is this number or stands for numbers that include it: "7-11", "12+", "under 5", "all"."""
    if found := _RANGE.fullmatch(cell):
        return int(found["first"]) <= number <= int(found["last"])
    if found := _FROM.fullmatch(cell):
        return int(found["first"]) <= number
    if found := _UP_TO.fullmatch(cell):
        return number < int(found["last"]) + (found["relation"].lower() == "up to")
    return bool(_ANY_NUMBER.fullmatch(cell)) or str(number) in re.findall(r"\d+", cell)


def price_in(column: str, cell: str) -> Amount | None:
    """The amount of money that a cell is. A number without a unit has the currency that the column names, if any; it is
    not a price if the column says for how much it is: "price_per_100_g"."""
    amount = amount_in(cell)
    if amount is None or amount.is_money or not amount.value:
        return amount
    if amount.unit or _PER.search(column.replace("_", " ")) or PRICE_WORDS.isdisjoint(column_stems(column)):
        return None
    sign = next((sign for word, sign in _CURRENCIES.items() if word in column_stems(column)), "")
    return replace(amount, unit=sign, before=sign)


def amount_in_column(column: str, cell: str) -> Amount | None:
    """The amount that a cell is, with the unit that the name of its column ends in, if the cell has none."""
    amount = amount_in(cell)
    if amount is None or amount.unit or amount.before or not amount.value:
        return amount
    if (price := price_in(column, cell)) is not None:
        return price
    _, unit = name_and_unit(column)
    return replace(amount, unit=unit, after=unit)


def names_sum(column: str) -> bool:
    """Whether a column has sums or averages by its name: "total", "average_rating", "sum_insured"."""
    return bool(_NAMES_SUM.search(column))


def is_price(column: str, cell: str) -> bool:
    """Whether a cell is an amount of money, by its unit or by the name of its column."""
    amount = amount_in(cell)
    return amount is not None and (amount.is_money or not PRICE_WORDS.isdisjoint(column_stems(column)))
