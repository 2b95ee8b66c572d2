"""Plain: frozen values read back from what `dataclasses.asdict` made of them, perhaps by way of JSON."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from turnwise.errors import BadRequest

T = TypeVar("T")
_NUMBERS: dict[type, tuple[type, ...]] = {float: (int, float), int: (int,)}  # JSON writes 1.0 as it likes


def read(kind: type[T], value: Any) -> T:
    """A value of this dataclass. What is not of its form raises a BadRequest that says where."""
    try:
        return _read(kind, value, kind.__name__)  # type: ignore[no-any-return]
    except RecursionError:
        raise BadRequest(f"This is no {kind.__name__}: it is too deep.", "Send what to_dict() gave.") from None


def parse(text: str | bytes) -> Any:
    """What a text of JSON holds. Raises BadRequest where it is none."""
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise BadRequest(f"This is no JSON: {error}.", "Send what to_json() gave, unchanged.") from None


def _read(kind: Any, value: Any, where: str) -> Any:
    if kind in (str, int) and type(value) is kind:
        return value
    if kind is Any:
        return value
    origin, inner = get_origin(kind), get_args(kind)
    if dataclasses.is_dataclass(kind):
        return _dataclass(kind, value, where)
    if origin is tuple and isinstance(value, list | tuple):
        return tuple(_read(inner[0], each, f"{where}[{place}]") for place, each in enumerate(value))
    if origin is dict and isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        return dict(value)
    if origin is UnionType:
        one = next(each for each in inner if each is not NoneType)
        return None if value is None else _read(one, value, where)
    if origin is Literal and isinstance(value, str) and value in inner:
        return value
    if origin is None and isinstance(value, _NUMBERS.get(kind, kind)) and (kind is bool or not isinstance(value, bool)):
        return kind(value)
    raise _wrong(where, value)


def _dataclass(kind: Any, value: Any, where: str) -> Any:
    wanted: Callable[..., Any] = kind
    known = _fields(kind)
    if not isinstance(value, Mapping) or not known.keys() >= value.keys():
        raise _wrong(where, value)
    try:
        return wanted(**{name: _read(known[name], each, f"{where}.{name}") for name, each in value.items()})
    except (TypeError, OverflowError):
        raise _wrong(where, value) from None


@cache
def _fields(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {each.name: hints[each.name] for each in dataclasses.fields(kind)}


def _wrong(where: str, value: Any) -> BadRequest:
    shown = repr(value)
    return BadRequest(
        f"{where} cannot be {shown[:60]}{'…' if len(shown) > 60 else ''}.", "Send what to_dict() gave, unchanged."
    )
