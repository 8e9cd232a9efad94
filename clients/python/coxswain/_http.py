"""Sends requests with httpx, with and without asyncio."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, TypeVar

import httpx

from ._errors import ApiError, CoxswainError, UnreachableError
from ._flows import Flow
from ._request import Request, answer_of, headers_of, pause_before_retry, problem_of, query_of
from ._settings import Settings

T = TypeVar("T")

DEFAULT_TIMEOUT_SECONDS = 60.0
#: A stream of events that is silent for this long is broken: the API sends a comment every 15 seconds.
STREAM_SILENCE_SECONDS = 90.0
MOST_ATTEMPTS = 5
#: Each followed job holds a connection.
_LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=20)


class Access:
    """Server and token of the requests."""

    def __init__(self, resolve: Callable[[], Settings]) -> None:
        self._resolve = resolve
        self.settings = resolve()

    def headers(self, request: Request[Any]) -> dict[str, str]:
        """Headers of the request. Use the same ones for its repetitions."""
        return headers_of(request, self.settings.token)

    def renew(self, headers: dict[str, str]) -> bool:
        """Reads the token again after the API refused it: files of tokens are renewed. False: the token is the same."""
        fresh = self._resolve()
        if fresh.server != self.settings.server or fresh.token == self.settings.token:
            return False
        self.settings = Settings(fresh.server, fresh.token, self.settings.project)
        headers["authorization"] = f"Bearer {fresh.token}"
        return True


class Http:
    """Sends requests and waits for their answers."""

    def __init__(
        self,
        access: Access,
        *,
        timeout: float,
        transport: httpx.BaseTransport | None,
        sleep: Callable[[float], None],
    ) -> None:
        self._sleep = sleep
        self._access = access
        server = access.settings.server
        self._http = httpx.Client(base_url=server, timeout=timeout, limits=_LIMITS, transport=transport)

    def close(self) -> None:
        self._http.close()

    def call(self, request: Request[T]) -> T:
        """The answer. Raises ApiError if the API refuses, UnreachableError if the API does not answer."""
        headers = self._access.headers(request)
        attempt = 0
        while True:
            attempt += 1
            response: httpx.Response | None = None
            error: httpx.RequestError | None = None
            try:
                response = self._http.request(
                    request.method,
                    request.path,
                    params=query_of(request),
                    headers=headers,
                    json=request.body,
                    content=request.content,
                )
                if response.is_success:
                    return answer_of(request, response.content)
            except httpx.RequestError as caught:
                error = caught
            if _is_refused_token(response) and self._access.renew(headers):
                continue
            pause = _pause(request, attempt, response)
            if pause is None:
                raise _failure(self._access.settings, response, error) from error
            self._sleep(pause)

    def run(self, flow: Flow[T]) -> T:
        """Sends what the flow asks for, and returns its result."""
        try:
            request = next(flow)
            while True:
                try:
                    answer = self.call(request)
                except CoxswainError as error:
                    # A flow may know what to do instead.
                    request = flow.throw(error)
                else:
                    request = flow.send(answer)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    @contextlib.contextmanager
    def stream(
        self,
        request: Request[Any],
        headers: dict[str, str] | None = None,
        *,
        silence: float | None = STREAM_SILENCE_SECONDS,
        seconds: float | None = None,
    ) -> Iterator[httpx.Response]:
        """The open answer. silence: the longest pause between two parts of it. seconds: the connection is cut after them."""
        merged = {**self._access.headers(request), **(headers or {})}
        timeout = _stream_timeout(silence, seconds)
        try:
            while True:
                with self._http.stream(
                    request.method, request.path, params=query_of(request), headers=merged, timeout=timeout
                ) as response:
                    if _is_refused_token(response) and self._access.renew(merged):
                        continue
                    if not response.is_success:
                        response.read()
                    _require_stream(request, response)
                    with cut_after(seconds, response):
                        yield response
                    return
        except httpx.RequestError as error:
            raise _failure(self._access.settings, None, error) from error


class AsyncHttp:
    """As Http, with asyncio."""

    def __init__(
        self,
        access: Access,
        *,
        timeout: float,
        transport: httpx.AsyncBaseTransport | None,
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self._sleep = sleep
        self._access = access
        server = access.settings.server
        self._http = httpx.AsyncClient(base_url=server, timeout=timeout, limits=_LIMITS, transport=transport)

    async def close(self) -> None:
        await self._http.aclose()

    async def call(self, request: Request[T]) -> T:
        """As Http.call."""
        headers = self._access.headers(request)
        attempt = 0
        while True:
            attempt += 1
            response: httpx.Response | None = None
            error: httpx.RequestError | None = None
            try:
                response = await self._http.request(
                    request.method,
                    request.path,
                    params=query_of(request),
                    headers=headers,
                    json=request.body,
                    content=request.content,
                )
                if response.is_success:
                    return answer_of(request, response.content)
            except httpx.RequestError as caught:
                error = caught
            if _is_refused_token(response) and self._access.renew(headers):
                continue
            pause = _pause(request, attempt, response)
            if pause is None:
                raise _failure(self._access.settings, response, error) from error
            await self._sleep(pause)

    async def run(self, flow: Flow[T]) -> T:
        """As Http.run."""
        try:
            request = next(flow)
            while True:
                try:
                    answer = await self.call(request)
                except CoxswainError as error:
                    request = flow.throw(error)
                else:
                    request = flow.send(answer)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    @contextlib.asynccontextmanager
    async def stream(
        self,
        request: Request[Any],
        headers: dict[str, str] | None = None,
        *,
        silence: float | None = STREAM_SILENCE_SECONDS,
        seconds: float | None = None,
    ) -> AsyncIterator[httpx.Response]:
        """As Http.stream, but `seconds` bounds the start of the answer alone."""
        merged = {**self._access.headers(request), **(headers or {})}
        timeout = _stream_timeout(silence, seconds)
        try:
            while True:
                async with self._http.stream(
                    request.method, request.path, params=query_of(request), headers=merged, timeout=timeout
                ) as response:
                    if _is_refused_token(response) and self._access.renew(merged):
                        continue
                    if not response.is_success:
                        await response.aread()
                    _require_stream(request, response)
                    yield response
                    return
        except httpx.RequestError as error:
            raise _failure(self._access.settings, None, error) from error


@contextlib.contextmanager
def cut_after(seconds: float | None, response: httpx.Response) -> Iterator[None]:
    """Cuts the connection of the answer after so many seconds: nothing else ends a read that waits, and comments keep it waiting."""
    connection = response.extensions.get("network_stream")
    sock = None if connection is None else connection.get_extra_info("socket")
    if seconds is None or sock is None:
        yield
        return
    # Not sock.shutdown(): that of a TLS socket is not for a socket that another thread reads.
    timer = threading.Timer(seconds, _shut_down, [sock])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _shut_down(sock: socket.socket) -> None:
    # A connection that ended before needs no cut.
    with contextlib.suppress(OSError):
        socket.socket.shutdown(sock, socket.SHUT_RDWR)


def _stream_timeout(silence: float | None, seconds: float | None) -> httpx.Timeout:
    most = float("inf") if seconds is None else seconds
    read = min(most, float("inf") if silence is None else silence)
    return httpx.Timeout(min(DEFAULT_TIMEOUT_SECONDS, most), read=None if read == float("inf") else read)


def _is_refused_token(response: httpx.Response | None) -> bool:
    return response is not None and response.status_code == 401


def _require_stream(request: Request[Any], response: httpx.Response) -> None:
    if not response.is_success:
        raise _refusal(response)
    is_events = response.headers.get("content-type", "").startswith("text/event-stream")
    if request.answer == "events" and not is_events:
        detail = f"The answer of {response.url} is not a stream of events. Is the address that of a Coxswain API?"
        raise ApiError(response.status_code, "UNKNOWN", detail, [])


def _pause(request: Request[Any], attempt: int, response: httpx.Response | None) -> float | None:
    if attempt >= MOST_ATTEMPTS:
        return None
    status = None if response is None else response.status_code
    retry_after = None if response is None else response.headers.get("retry-after")
    return pause_before_retry(request, attempt=attempt, status=status, retry_after=retry_after)


def _refusal(response: httpx.Response) -> CoxswainError:
    return problem_of(response.status_code, response.content, response.headers.get("location"))


def _failure(settings: Settings, response: httpx.Response | None, error: httpx.RequestError | None) -> CoxswainError:
    if response is not None:
        return _refusal(response)
    reason = str(error) or type(error).__name__
    if "CERTIFICATE_VERIFY_FAILED" in reason:
        return UnreachableError(
            f"The certificate of {settings.server} is not trusted: {reason}. Set SSL_CERT_FILE to the file of your CA."
        )
    return UnreachableError(
        f"Cannot reach {settings.server}: {reason}. Is the API running, and is the address right?"
    )
