"""A server in the process: what it was asked, and what it answers."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from coxswain import AsyncClient, Client


@dataclass
class Server:
    """Answers in their order, each to one request."""

    answers: list[Any] = field(default_factory=list)
    asked: list[httpx.Request] = field(default_factory=list)
    slept: list[float] = field(default_factory=list)
    now: float = 0.0

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        if not self.answers:
            raise AssertionError(f"no answer is prepared for {request.method} {request.url}")
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, httpx.Response):
            return answer
        return httpx.Response(200, json=answer)

    def client(self, project: str | None = "research") -> Client:
        return Client(
            "http://api.test",
            "cxs_a_b",
            project=project,
            transport=httpx.MockTransport(self.answer),
            sleep=self.slept.append,
            clock=lambda: self.now,
        )

    def async_client(self, project: str | None = "research") -> AsyncClient:
        async def sleep(seconds: float) -> None:
            self.slept.append(seconds)

        return AsyncClient(
            "http://api.test",
            "cxs_a_b",
            project=project,
            transport=httpx.MockTransport(self.answer),
            sleep=sleep,
            clock=lambda: self.now,
        )

    @property
    def paths(self) -> list[str]:
        return [f"{each.method} {each.url.raw_path.decode()}" for each in self.asked]


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def a_job() -> Callable[..., dict[str, Any]]:
    def make(**fields: Any) -> dict[str, Any]:
        return {
            "id": "9a31538c-c53d-43d9-a67a-b81a89471c56",
            "name": "tiny",
            "state": "Running",
            "summary": "Trains.",
            "gpus": 4,
            "layout": None,
            "totalSteps": 160,
            "progress": {"step": 40},
            "checkpoint": None,
            "whyNotTraining": None,
            **fields,
        }

    return make


def problem(status: int, code: str, detail: str, **others: Any) -> httpx.Response:
    """A refusal (RFC 9457)."""
    headers = others.pop("headers", {})
    body = {"type": "about:blank", "title": code, "status": status, "code": code, "detail": detail, **others}
    return httpx.Response(status, content=json.dumps(body), headers=headers)


def stream(*events: tuple[str, Any, str]) -> httpx.Response:
    """Server-sent events: name, data, id."""
    lines = "".join(f": still here\nevent: {name}\nid: {at}\ndata: {json.dumps(data)}\n\n" for name, data, at in events)
    return httpx.Response(200, text=lines, headers={"content-type": "text/event-stream"})


def frame(event: str, data: Any, at: str | None = None) -> bytes:
    """One server-sent event."""
    lines = [f"event: {event}", f"data: {json.dumps(data, ensure_ascii=False)}", *([] if at is None else [f"id: {at}"])]
    return ("\n".join(lines) + "\n\n").encode()


class Parts(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body that comes in parts; a function among them is called, an error is raised. Counts how often it was closed."""

    def __init__(self, *parts: bytes | Exception | Callable[[], None]) -> None:
        self._parts = parts
        self.closed = 0

    def __iter__(self) -> Iterator[bytes]:
        for part in self._parts:
            if isinstance(part, Exception):
                raise part
            if isinstance(part, bytes):
                yield part
            else:
                part()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self:
            yield part

    def close(self) -> None:
        self.closed += 1

    async def aclose(self) -> None:
        self.close()

    def events(self) -> httpx.Response:
        return httpx.Response(200, stream=self, headers={"content-type": "text/event-stream; charset=utf-8"})
