"""Reads dataclasses back from plain values: what `dataclasses.asdict` returned, possibly through JSON."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from turnwise.errors import BadRequest

T = TypeVar("T")
_NUMBERS: dict[type, tuple[type, ...]] = {float: (int, float), int: (int,)}  # JSON may write 1.0 as 1


def read(kind: type[T], value: Any) -> T:
    """A value of this dataclass. Raises BadRequest, which says where, if the value does not match."""
    try:
        return _read(kind, value, kind.__name__)  # type: ignore[no-any-return]
    except RecursionError:
        raise BadRequest(f"This is not a {kind.__name__}: it is too deep.", "Send what to_dict() returned.") from None


def parse(text: str | bytes) -> Any:
    """The value of a JSON text. Raises BadRequest if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise BadRequest(f"This is not JSON: {error}.", "Send what to_json() returned, unchanged.") from None


def _read(kind: Any, value: Any, where: str) -> Any:
    if kind in (str, int) and type(value) is kind:
        return value
    if kind is Any:
        return value
    origin, inner = get_origin(kind), get_args(kind)
    if dataclasses.is_dataclass(kind):
        return _dataclass(kind, value, where)
    if origin is tuple and isinstance(value, list | tuple):
        return tuple(_read(inner[0], each, f"{where}[{index}]") for index, each in enumerate(value))
    if origin is dict and isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        return dict(value)
    if origin is UnionType:
        not_none = next(each for each in inner if each is not NoneType)
        return None if value is None else _read(not_none, value, where)
    if origin is Literal and isinstance(value, str) and value in inner:
        return value
    if origin is None and isinstance(value, _NUMBERS.get(kind, kind)) and (kind is bool or not isinstance(value, bool)):
        return kind(value)
    raise _wrong(where, value)


def _dataclass(kind: Any, value: Any, where: str) -> Any:
    create: Callable[..., Any] = kind
    known = _fields(kind)
    if not isinstance(value, Mapping) or not known.keys() >= value.keys():
        raise _wrong(where, value)
    try:
        return create(**{name: _read(known[name], each, f"{where}.{name}") for name, each in value.items()})
    except (TypeError, OverflowError):
        raise _wrong(where, value) from None


@cache
def _fields(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {each.name: hints[each.name] for each in dataclasses.fields(kind)}


def _wrong(where: str, value: Any) -> BadRequest:
    shown = repr(value)
    return BadRequest(
        f"{where} cannot be {shown[:60]}{'…' if len(shown) > 60 else ''}.", "Send what to_dict() returned, unchanged."
    )
