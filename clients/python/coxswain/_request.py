"""A request as plain data, and what follows from an answer. Nothing here sends anything."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote as _quote

from ._errors import ApiError

T = TypeVar("T")

RETRIED_STATUSES = frozenset({429, 502, 503, 504})
LONGEST_PAUSE_SECONDS = 30.0


def quote(text: str) -> str:
    """The text as one part of a path."""
    return _quote(text, safe="")


@dataclass(frozen=True)
class Request(Generic[T]):
    """One operation of the API; `T` is the type of its answer."""

    method: str
    path: str
    #: How the answer is read: "json", "text", "events" or "none".
    answer: str
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    #: Bytes in place of a JSON body, and their media type.
    content: bytes | None = None
    content_type: str | None = None
    if_match: str | None = None
    #: Whether a repeated request under the same idempotency key creates nothing twice.
    is_keyed: bool = False

    @property
    def may_be_repeated(self) -> bool:
        # A PUT of bytes stores them under their digest.
        return self.method == "GET" or self.is_keyed or self.content is not None


def headers_of(request: Request[Any], token: str | None) -> dict[str, str]:
    """Headers of the request. A new idempotency key each time: keep the headers for the repetitions of one request."""
    accepted = {"json": "application/json", "events": "text/event-stream"}.get(request.answer, "*/*")
    headers = {"accept": accepted}
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    if request.if_match is not None:
        headers["if-match"] = request.if_match
    if request.content_type is not None:
        headers["content-type"] = request.content_type
    if request.is_keyed:
        headers["idempotency-key"] = str(uuid.uuid4())
    return headers


def query_of(request: Request[Any]) -> dict[str, str]:
    """Values of the query as texts, without those that are not given."""
    return {key: _text(value) for key, value in request.query.items() if value is not None}


def pause_before_retry(
    request: Request[Any], *, attempt: int, status: int | None, retry_after: str | None
) -> float | None:
    """Seconds to wait before the request is sent again; None: it is not sent again.

    attempt: 1 after the first. status: None without an answer. retry_after: a date counts as absent; a longer pause than
    LONGEST_PAUSE_SECONDS is an error at once: it means a full quota, which waiting alone rarely frees.
    """
    if not request.may_be_repeated or (status is not None and status not in RETRIED_STATUSES):
        return None
    asked = float(retry_after) if retry_after is not None and retry_after.isdecimal() else 0.0
    return max(asked, 0.5 * 2.0 ** (attempt - 1)) if asked <= LONGEST_PAUSE_SECONDS else None


def problem_of(status: int, body: bytes, location: str | None = None) -> ApiError:
    """The error of a refused request (RFC 9457). location: where the server redirects to."""
    text = body.decode("utf-8", "replace")
    try:
        problem = json.loads(text)
    except ValueError:
        problem = None
    if isinstance(problem, dict) and "detail" in problem:
        return ApiError(
            status, str(problem.get("code", "UNKNOWN")), str(problem["detail"]), list(problem.get("errors", []))
        )
    if location is not None:
        return ApiError(
            status, "UNKNOWN", f"The server redirects to {location}. Give the address that the API itself has.", []
        )
    shown = f": {text[:500]}" if text else ""
    return ApiError(
        status, "UNKNOWN", f"The server answered {status}{shown}. Is the address that of a Coxswain API?", []
    )


def answer_of(request: Request[T], body: bytes) -> T:
    """The answer of a request that succeeded."""
    if request.answer == "none":
        return None  # type: ignore[return-value]
    if request.answer != "json":
        return body.decode("utf-8", "replace")  # type: ignore[return-value]
    try:
        return json.loads(body)  # type: ignore[no-any-return]
    except ValueError:
        raise ApiError(
            200, "UNKNOWN", "The answer of the server is not JSON. Is the address that of a Coxswain API?", []
        ) from None


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
