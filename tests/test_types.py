"""The values and protocols of turnwise.types: one import path for all, and values that were pickled before load."""

from __future__ import annotations

import dataclasses
import importlib
import pickle
import pkgutil
from typing import get_type_hints

import pytest

from turnwise import types
from turnwise.conversation import TurnStatus

MODULES = [importlib.import_module(f"{types.__name__}.{each.name}") for each in pkgutil.iter_modules(types.__path__)]


def test_every_public_name_of_the_modules_is_exported() -> None:
    defined = {
        name
        for module in MODULES
        for name, value in vars(module).items()
        if getattr(value, "__module__", "") == module.__name__ and not name.startswith("_")
    }
    assert len(defined) > 60
    assert defined <= set(types.__all__)
    assert len(types.__all__) == len(set(types.__all__))
    assert [name for name in types.__all__ if not hasattr(types, name)] == []


@pytest.mark.parametrize(
    "kind", [each for name in types.__all__ if dataclasses.is_dataclass(each := getattr(types, name))]
)
def test_the_fields_of_every_value_can_be_resolved(kind: type) -> None:
    assert get_type_hints(kind, localns={"TurnStatus": TurnStatus}).keys() >= {
        each.name for each in dataclasses.fields(kind)
    }


def test_a_value_that_was_pickled_under_the_package_loads() -> None:
    pickled = (  # by protocol 2, when turnwise.types was one module
        b"\x80\x02cturnwise.types\nTerm\nq\x00)\x81q\x01]q\x02"
        b"(X\x05\x00\x00\x00heronq\x03G?\xe0\x00\x00\x00\x00\x00\x00eb."
    )
    assert pickle.loads(pickled) == types.Term("heron", 0.5)


def test_a_value_is_the_same_after_pickling() -> None:
    asked = types.SearchQuery("heron", (types.Term("bird", 0.5),), where=types.Filter(("birds",)))
    assert pickle.loads(pickle.dumps(asked)) == asked
