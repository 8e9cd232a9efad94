"""Sends requests with httpx, with and without asyncio."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, TypeVar

import httpx

from ._errors import UnreachableError
from ._flows import Flow
from ._request import Request, answer_of, headers_of, pause_before_retry, problem_of, query_of
from ._settings import Settings

T = TypeVar("T")

DEFAULT_TIMEOUT_SECONDS = 60.0
#: A stream that says nothing for this long is broken: the API sends a comment every few seconds.
STREAM_SILENCE_SECONDS = 90.0
MOST_ATTEMPTS = 5


class Http:
    """Sends requests and waits for their answers."""

    def __init__(
        self,
        settings: Settings,
        *,
        timeout: float,
        transport: httpx.BaseTransport | None,
        sleep: Callable[[float], None],
    ) -> None:
        self._sleep = sleep
        self._settings = settings
        self._http = httpx.Client(base_url=settings.server, timeout=timeout, transport=transport)

    def close(self) -> None:
        self._http.close()

    def call(self, request: Request[T]) -> T:
        """The answer. Raises ApiError where the API refuses, UnreachableError where it does not answer."""
        headers = headers_of(request, self._settings.token)
        attempt = 0
        while True:
            attempt += 1
            response: httpx.Response | None = None
            error: httpx.TransportError | None = None
            try:
                response = self._http.request(
                    request.method, request.path, params=query_of(request), headers=headers, json=request.body
                )
                if response.is_success:
                    return answer_of(request, response.content)
            except httpx.TransportError as caught:
                error = caught
            pause = _pause(request, attempt, response)
            if pause is None:
                raise _failure(self._settings, response, error) from error
            self._sleep(pause)

    def run(self, flow: Flow[T]) -> T:
        """Sends what the flow asks for, and returns its result."""
        try:
            request = next(flow)
            while True:
                request = flow.send(self.call(request))
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    @contextlib.contextmanager
    def stream(self, request: Request[Any], headers: dict[str, str]) -> Iterator[httpx.Response]:
        """The open answer of a stream."""
        merged = {**headers_of(request, self._settings.token), **headers}
        timeout = httpx.Timeout(DEFAULT_TIMEOUT_SECONDS, read=STREAM_SILENCE_SECONDS)
        try:
            with self._http.stream(
                request.method, request.path, params=query_of(request), headers=merged, timeout=timeout
            ) as response:
                if not response.is_success:
                    raise problem_of(response.status_code, response.read())
                yield response
        except httpx.TransportError as error:
            raise _failure(self._settings, None, error) from error


class AsyncHttp:
    """As Http, with asyncio."""

    def __init__(
        self,
        settings: Settings,
        *,
        timeout: float,
        transport: httpx.AsyncBaseTransport | None,
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self._sleep = sleep
        self._settings = settings
        self._http = httpx.AsyncClient(base_url=settings.server, timeout=timeout, transport=transport)

    async def close(self) -> None:
        await self._http.aclose()

    async def call(self, request: Request[T]) -> T:
        """As Http.call."""
        headers = headers_of(request, self._settings.token)
        attempt = 0
        while True:
            attempt += 1
            response: httpx.Response | None = None
            error: httpx.TransportError | None = None
            try:
                response = await self._http.request(
                    request.method, request.path, params=query_of(request), headers=headers, json=request.body
                )
                if response.is_success:
                    return answer_of(request, response.content)
            except httpx.TransportError as caught:
                error = caught
            pause = _pause(request, attempt, response)
            if pause is None:
                raise _failure(self._settings, response, error) from error
            await self._sleep(pause)

    async def run(self, flow: Flow[T]) -> T:
        """As Http.run."""
        try:
            request = next(flow)
            while True:
                request = flow.send(await self.call(request))
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    @contextlib.asynccontextmanager
    async def stream(self, request: Request[Any], headers: dict[str, str]) -> AsyncIterator[httpx.Response]:
        """As Http.stream."""
        merged = {**headers_of(request, self._settings.token), **headers}
        timeout = httpx.Timeout(DEFAULT_TIMEOUT_SECONDS, read=STREAM_SILENCE_SECONDS)
        try:
            async with self._http.stream(
                request.method, request.path, params=query_of(request), headers=merged, timeout=timeout
            ) as response:
                if not response.is_success:
                    raise problem_of(response.status_code, await response.aread())
                yield response
        except httpx.TransportError as error:
            raise _failure(self._settings, None, error) from error


def _pause(request: Request[Any], attempt: int, response: httpx.Response | None) -> float | None:
    if attempt >= MOST_ATTEMPTS:
        return None
    status = None if response is None else response.status_code
    retry_after = None if response is None else response.headers.get("retry-after")
    return pause_before_retry(request, attempt=attempt, status=status, retry_after=retry_after)


def _failure(settings: Settings, response: httpx.Response | None, error: httpx.TransportError | None) -> Exception:
    if response is not None:
        return problem_of(response.status_code, response.content)
    return UnreachableError(f"Cannot reach {settings.server}: {error}. Is the API running, and is the address right?")
