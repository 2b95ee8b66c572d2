"""Days of the week and months: those that a cell of a table is for, and those that a question names."""

from __future__ import annotations

import re
from collections.abc import Sequence

from turnwise.english import MONTHS, WEEKDAYS
from turnwise.text import stem

_BY_START = {name[:3]: name for name in (*WEEKDAYS, *MONTHS)}
_DAY = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:days?)?"
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_NAME = re.compile(rf"\b(?:{_DAY}|{_MONTH})\b\.?")
_SEVERAL_DAYS = {
    **dict.fromkeys(("daily", "every day", "all week", "all days"), WEEKDAYS),
    **dict.fromkeys(("weekday", "weekdays", "on weekdays", "working days"), WEEKDAYS[:5]),
    **dict.fromkeys(("weekend", "weekends", "the weekend", "at weekends"), WEEKDAYS[5:]),
}
_NAMED = re.compile(
    rf"\b(?:on|every|this|next|until) (?:a |the )?({_DAY})\b|\b({'|'.join(WEEKDAYS)})s?\b"
    rf"|\b(?:in|during|for|until) (?:early |late )?({_MONTH})\b|\b((?!may|march)(?:{'|'.join(MONTHS)}))\b",
    re.I,
)
_FULL_DAY = rf"(?:{'|'.join(WEEKDAYS)})s?"
_DAYS_TOLD = re.compile(rf"\b({_FULL_DAY})(?:(?: to | until | through | ?[–-] ?)({_FULL_DAY}))?\b", re.I)
_WEEKEND = re.compile(r"\bweekends?\b", re.I)
_WEEKDAY = re.compile(r"\b(?:weekdays?|(?:working|week) days?|(?:during|in) the week)\b", re.I)
# Words that say when and name nothing else.
PERIOD_STEMS = frozenset(map(stem, (*WEEKDAYS, *MONTHS, *"weekend weekday spring summer autumn fall winter".split())))


def days_in(cell: str) -> frozenset[str]:
    """The days of the week that a cell is: "daily", "Monday to Friday", "Monday and Friday"; empty if it has anything
    else."""
    return frozenset(_SEVERAL_DAYS.get(cell.lower().strip(" ."), ())) or _in_turn(cell, WEEKDAYS)


def periods_in(cell: str) -> frozenset[str]:
    """The days or the months that a cell is: "Saturday", "April–October"; empty if it has anything else."""
    return days_in(cell) or _in_turn(cell, MONTHS)


def days_told(text: str) -> frozenset[str]:
    """The days of the week that a sentence tells of: "Tuesday to Sunday" are six."""
    told: set[str] = set()
    for first, last in _DAYS_TOLD.findall(text):
        told |= _in_turn(f"{first} to {last}" if last else first, WEEKDAYS)
    return frozenset(told)


def periods_named(question: str) -> frozenset[str]:
    """The days and months that a question names."""
    found = (next(filter(None, groups)) for groups in _NAMED.findall(question))
    weekend = WEEKDAYS[5:] if _WEEKEND.search(question) else ()
    weekdays = WEEKDAYS[:5] if _WEEKDAY.search(question) else ()
    return frozenset((*(_BY_START[each[:3].lower()] for each in found), *weekend, *weekdays))


def _in_turn(cell: str, names: Sequence[str]) -> frozenset[str]:
    """The names that a cell lists, alone or from one to another; empty if it has anything else."""
    text = _NAME.sub(lambda name: _BY_START.get(name[0][:3], name[0]), cell.lower().strip(" ."))
    found: set[str] = set()
    for part in re.split(r", and |, | and | & ", text):
        ends = re.split(r" to | ?[–-] ?| until ", part)
        if len(ends) > 2 or not all(each in names for each in ends):
            return frozenset()
        first, last = names.index(ends[0]), names.index(ends[-1])
        found |= {names[place % len(names)] for place in range(first, last + 1 + (len(names) if last < first else 0))}
    return frozenset(found)
