"""The API against its own description: whatever it is sent, it neither breaks nor answers what is not described."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
import schemathesis
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from serving import library

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


EXAMPLES = hypothesis.settings(
    max_examples=12,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(hypothesis.HealthCheck),
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
)


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with library(tmp_path_factory.mktemp("described")) as server:
        server.upload("/api/documents/moons.md?collection=sky", b"# Moons\n\nMars has two moons, Phobos and Deimos.\n")
        server.post("/api/chat", {"message": "How many moons has Mars?", "conversation_id": "c1"})
        yield schemathesis.openapi.from_url(f"{server.address}/openapi.json")


@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode), ids=lambda mode: mode.value)
def test_every_answer_is_as_described(described: Any, mode: schemathesis.GenerationMode) -> None:
    """What fits the description, and what does not."""
    tried, wrong = [], []
    for found in described.exclude(path_regex="/events$").get_all_operations():  # which goes on for ever
        operation = found.ok()
        tried.append(operation.label)

        @EXAMPLES
        @hypothesis.given(operation.as_strategy(generation_mode=mode))
        def answers(case: schemathesis.Case) -> None:
            case.call_and_validate(checks=CHECKS, timeout=60)

        try:
            answers()
        except hypothesis.errors.Unsatisfiable:
            assert mode == schemathesis.GenerationMode.NEGATIVE, operation.label  # all it can be sent fits
        except Exception as error:
            wrong.append(f"{operation.label}: {error}")
    assert wrong == []
    assert len(tried) > 40
