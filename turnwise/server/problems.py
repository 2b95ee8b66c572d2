"""Errors as people and programs read them: RFC 9457 problems, and OpenAI's format under /v1."""

from __future__ import annotations

import json
import logging
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from turnwise.engine import TurnFailed
from turnwise.errors import TurnwiseError
from turnwise.types import Failed

log = logging.getLogger("turnwise.server")

_PYDANTICS_SUBJECT = re.compile(r"^[A-Z]\w+ (?=should )")  # “String should have …” follows our own: “The field …”
_ITEMS = re.compile(r"\bitem\b|\bitem(?=s\b)")


class ProblemDocument(BaseModel):
    """An error: what happened (`detail`), what to do about it (`hint`), and a stable name for programs (`code`)."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    hint: str
    retry_after: float | None = None


def _problem_response(description: str) -> dict[str, Any]:
    content = {"application/problem+json": {"schema": ProblemDocument.model_json_schema()}}
    return {"description": description, "content": content}


PROBLEM_RESPONSES: dict[int | str, dict[str, Any]] = {
    401: _problem_response("No key, or one that is not good (any more)"),
    403: _problem_response("The key is not for this"),
    404: _problem_response("There is no such thing that the caller may see"),
    "4XX": _problem_response("A problem with the request (RFC 9457)"),
    "5XX": _problem_response("A problem of the server (RFC 9457)"),
}


class Json(JSONResponse):
    """A JSON answer that also survives text from file names that were never valid Unicode."""

    def render(self, content: Any) -> bytes:
        return encode(content)


def encode(content: Any) -> bytes:
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Problem:
    """What went wrong in a request, before it takes one of its two written forms."""

    status: int
    code: str
    detail: str
    hint: str = ""
    retry_after: float | None = None  # seconds, if a rate limit was reached

    @classmethod
    def of_turn(cls, failed: Failed) -> Problem:
        said = failed.error
        return cls(failed.status, said["code"], said["message"], said["hint"], said.get("retry_after"))

    @classmethod
    def of_error(cls, error: TurnwiseError) -> Problem:
        if isinstance(error, TurnFailed):
            return cls.of_turn(error.failed)
        return cls(error.status, error.code, str(error), error.hint, getattr(error, "retry_after", None))

    def to_dict(self) -> dict[str, Any]:
        """The members of an application/problem+json document."""
        words = re.sub(r"(?<!^)(?=[A-Z])", " ", self.code).capitalize()
        return {
            "type": f"urn:turnwise:error:{self.code}",
            "title": words,
            "status": self.status,
            "detail": self.detail,
            "code": self.code,
            "hint": self.hint,
            **({} if self.retry_after is None else {"retry_after": self.retry_after}),
        }

    def to_openai(self) -> dict[str, Any]:
        """The error object that OpenAI's clients turn into their exceptions."""
        kind, code = "invalid_request_error" if self.status < 500 else "server_error", self.code
        if self.status == 429:
            kind, code = "requests", "rate_limit_exceeded"  # as OpenAI calls them
        return {"error": {"message": f"{self.detail} {self.hint}".strip(), "type": kind, "param": None, "code": code}}

    def response(self, path: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
        """The answer to a request for this path, in the form its clients expect."""
        if self.retry_after is not None:
            headers = {**(headers or {}), "Retry-After": str(max(1, math.ceil(self.retry_after)))}
        if self.status == 401:
            headers = {**(headers or {}), "WWW-Authenticate": "Bearer"}
        if path.startswith("/v1/"):
            return Json(self.to_openai(), self.status, headers)
        return Json(self.to_dict(), self.status, headers, media_type="application/problem+json")


UNEXPECTED = Problem(
    500, "Unexpected", "Something went wrong inside Turnwise.", "Try again; the server's log has the details."
)


def install(app: FastAPI) -> None:
    """Answer every error of the app with a problem."""

    @app.exception_handler(TurnwiseError)
    async def known(request: Request, error: TurnwiseError) -> JSONResponse:
        problem = Problem.of_error(error)
        if problem.status >= 500:
            log.error("%s %r: %s: %s", request.method, request.url.path, problem.code, problem.detail)
        return problem.response(request.url.path)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        return of_validation(error.errors()).response(request.url.path)

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> JSONResponse:
        return of_status(error.status_code, request.method, request.url.path).response(request.url.path, error.headers)


def of_status(status: int, method: str, path: str, largest: int = 0) -> Problem:
    """The problem behind a bare HTTP status; `largest` is how many bytes a body may have, if that is known."""
    if status == 404:
        return Problem(404, "NotFound", f"There is nothing at {path}.", "/openapi.json lists every address.")
    if status == 405:
        return Problem(405, "MethodNotAllowed", f"{path} does not take {method}.", "/openapi.json lists what it takes.")
    if status == 413:
        sent, setting = ("file", "max_upload") if method == "PUT" else ("request body", "max_body")
        than = f"larger than the {largest / 1e6:g} MB that this server takes" if largest else "too large"
        return Problem(413, "BodyTooLarge", f"The {sent} is {than}.", f"Send less, or raise {setting}.")
    if status == 400:
        return Problem(400, "MalformedJson", "The body is not JSON that can be read.", "Send one UTF-8 JSON object.")
    return Problem(status, "Refused", f"The request was refused with status {status}.")


def of_validation(errors: Sequence[Any]) -> Problem:
    """The first thing that is wrong with a body, in plain words that name the field."""
    error = errors[0]
    kind, field = error["type"], _field(error["loc"])
    if kind == "json_invalid":
        reason = f"The body is not JSON: {error['ctx']['error']} at character {error['loc'][-1]}."
        return Problem(400, "MalformedJson", reason, "Send one UTF-8 JSON object.")
    if not field and kind == "missing":
        return Problem(400, "MalformedJson", "The request has no body.", "Send one JSON object.")
    return Problem(422, "InvalidField", _complaint(kind, field, error), "/openapi.json describes the fields.")


def _field(location: Sequence[int | str]) -> str:
    """`messages.0.role` from pydantic's location, less the names it gives to the branches of a union."""
    parts = [str(part) for part in location[1:]]
    return ".".join(part for part in parts if part != "str" and "[" not in part)


def _complaint(kind: str, field: str, error: Mapping[str, Any]) -> str:
    if kind == "missing":
        return f"The field '{field}' is missing."
    if kind == "extra_forbidden":
        return f"There is no field '{field}'."
    if kind == "value_error":
        return str(error["ctx"]["error"])
    if not field and kind.endswith("attributes_type"):
        return "The body should be a JSON object."
    said = _PYDANTICS_SUBJECT.sub("", error["msg"])
    if isinstance(error.get("input"), str):  # whose length pydantic also counts in items
        said = _ITEMS.sub("character", said)
    return f"The field '{field}' {said}." if field else f"The body {said}."
