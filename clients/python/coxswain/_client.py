"""The API for programs, with and without asyncio."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

import httpx
from typing_extensions import Self

from . import operations
from ._errors import CoxswainError
from ._events import Change, EventReader
from ._flows import Flow, all_pages, find_job, may_pass, project_of
from ._flows import is_over as job_is_over
from ._http import DEFAULT_TIMEOUT_SECONDS, AsyncHttp, Http
from ._job import AsyncJob, Job
from ._job_file import job_body
from ._plan import PlanOfApi, plan_request
from ._request import Request
from ._settings import resolve

if TYPE_CHECKING:
    from . import types

T = TypeVar("T")

_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 10.0


class Client:
    """The API of a server, as the user whose token it has.

    Without arguments it takes server, token and project from COXSWAIN_SERVER, COXSWAIN_TOKEN and COXSWAIN_PROJECT, or from
    the files that `coxswain login` writes. Raises SettingsError where something is missing. `call()` sends any request of
    `coxswain.operations`.
    """

    def __init__(
        self,
        server: str | None = None,
        token: str | None = None,
        *,
        project: str | None = None,
        timeout: float = DEFAULT_TIMEOUT_SECONDS,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        settings = resolve(server, token, project)
        self._project = settings.project
        self._sleep = sleep
        self._http = Http(settings, timeout=timeout, transport=transport, sleep=sleep)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_ended: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def call(self, request: Request[T]) -> T:
        """The answer of a request. Raises ApiError where the API refuses, UnreachableError where it does not answer."""
        return self._http.call(request)

    def run(self, flow: Flow[T]) -> T:
        """The result of several requests."""
        return self._http.run(flow)

    @property
    def project(self) -> str:
        """The project of calls that name none. Raises SettingsError where the token belongs to several."""
        self._project = self.run(project_of(self._project))
        return self._project

    def who_am_i(self) -> types.WhoAmI:
        """Who the token belongs to, and what it may do."""
        return self.call(operations.who_am_i_get())

    def submit(
        self,
        job: str | os.PathLike[str] | Mapping[str, Any],
        *,
        name: str | None = None,
        gpus: int | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> Job:
        """Submits a job: a job file, its content, or what `command_job()` returns.

        gpus: in place of the job's layout; the planner then chooses one. A request that is repeated after a broken
        connection creates one job.
        """
        body = job_body(job, name=name, gpus=gpus, labels=labels)
        return Job(self, self.project, self.call(operations.jobs_create(self.project, body)))

    def check(
        self, job: str | os.PathLike[str] | Mapping[str, Any], *, name: str | None = None, gpus: int | None = None
    ) -> types.JobCheck:
        """What the job would wait for; nothing is submitted."""
        return self.call(operations.jobs_check(self.project, job_body(job, name=name, gpus=gpus)))

    def job(self, name_or_id: str) -> Job:
        """The job of that name or id. Raises NotFoundError."""
        return Job(self, self.project, self.run(find_job(self.project, name_or_id)))

    def jobs(
        self,
        *,
        state: str | None = None,
        label_selector: str | None = None,
        owner: str | None = None,
        q: str | None = None,
        limit: int | None = None,
    ) -> list[types.JobSummary]:
        """Jobs of the project, newest first. q: prefixes of words of the name."""
        return self.run(all_pages(lambda token: self._jobs_page(state, label_selector, owner, q, token), limit=limit))

    def _jobs_page(
        self, state: str | None, labels: str | None, owner: str | None, q: str | None, token: str | None
    ) -> Request[types.JobList]:
        return operations.jobs_list(
            self.project,
            state=cast(Any, state),
            label_selector=labels,
            owner=owner,
            q=q,
            page_size=100,
            page_token=token,
        )

    def queue(self) -> types.Queue:
        """Jobs that wait for GPUs, in their order."""
        return self.call(operations.queue_read(self.project))

    def gpus(self) -> types.GpuCounts:
        """GPUs of the cluster, and how many are free."""
        return self.call(operations.gpu_counts_read(self.project))

    def plan(
        self,
        model: str | Mapping[str, Any],
        *,
        gpu: str,
        gpus: int,
        global_batch_size: int,
        sequence_length: int,
        stack: str | None = None,
        pinned: Mapping[str, Any] | None = None,
        **others: Any,
    ) -> PlanOfApi:
        """The fastest layouts of a model on so many GPUs. Nothing runs.

        model: preset or shape. stack: engine and release. pinned: choices that are made. others: fields of PlanRequestInput.
        """
        request = plan_request(model, gpu, gpus, global_batch_size, sequence_length, stack, pinned, others)
        return PlanOfApi(self.call(operations.plans_create(self.project, request)))

    def changes(
        self, project: str, job_id: str, last_event_id: str | None = None, *, timeout: float | None = None
    ) -> Iterator[Change]:
        """Changes of a job until it ends, or until the timeout (seconds). Connects again where a connection breaks."""
        deadline = None if timeout is None else time.monotonic() + timeout
        reader = EventReader(last_event_id)
        pause = _FIRST_PAUSE_SECONDS
        while deadline is None or time.monotonic() < deadline:
            try:
                for change in self._stream(project, job_id, reader.last_event_id, reader):
                    pause = _FIRST_PAUSE_SECONDS
                    yield change
                    if change.kind == "job" and job_is_over(change.data):
                        return
                    if deadline is not None and time.monotonic() >= deadline:
                        return
            except CoxswainError as error:
                if not may_pass(error):
                    raise
            self._sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)

    def _stream(self, project: str, job_id: str, last: str | None, reader: EventReader) -> Iterator[Change]:
        headers = {} if last is None else {"last-event-id": last}
        with self._http.stream(operations.job_streams_stream(project, job_id), headers) as response:
            for line in response.iter_lines():
                change = reader.line(line)
                if change is not None:
                    yield change

    def lines(self, request: Request[str]) -> Iterator[str]:
        """Lines of a text, with their line ends, as they come."""
        with self._http.stream(request, {}) as response:
            for line in response.iter_lines():
                yield f"{line}\n"


class AsyncClient:
    """As Client, with asyncio."""

    def __init__(
        self,
        server: str | None = None,
        token: str | None = None,
        *,
        project: str | None = None,
        timeout: float = DEFAULT_TIMEOUT_SECONDS,
        transport: httpx.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        settings = resolve(server, token, project)
        self._project = settings.project
        self._sleep = sleep
        self._http = AsyncHttp(settings, timeout=timeout, transport=transport, sleep=sleep)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_ended: object) -> None:
        await self.close()

    async def close(self) -> None:
        """As Client.close."""
        await self._http.close()

    async def call(self, request: Request[T]) -> T:
        """As Client.call."""
        return await self._http.call(request)

    async def run(self, flow: Flow[T]) -> T:
        """As Client.run."""
        return await self._http.run(flow)

    async def project(self) -> str:
        """As Client.project."""
        self._project = await self.run(project_of(self._project))
        return self._project

    async def who_am_i(self) -> types.WhoAmI:
        """As Client.who_am_i."""
        return await self.call(operations.who_am_i_get())

    async def submit(
        self,
        job: str | os.PathLike[str] | Mapping[str, Any],
        *,
        name: str | None = None,
        gpus: int | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> AsyncJob:
        """As Client.submit."""
        body = job_body(job, name=name, gpus=gpus, labels=labels)
        project = await self.project()
        return AsyncJob(self, project, await self.call(operations.jobs_create(project, body)))

    async def check(
        self, job: str | os.PathLike[str] | Mapping[str, Any], *, name: str | None = None, gpus: int | None = None
    ) -> types.JobCheck:
        """As Client.check."""
        return await self.call(operations.jobs_check(await self.project(), job_body(job, name=name, gpus=gpus)))

    async def job(self, name_or_id: str) -> AsyncJob:
        """As Client.job."""
        project = await self.project()
        return AsyncJob(self, project, await self.run(find_job(project, name_or_id)))

    async def jobs(
        self,
        *,
        state: str | None = None,
        label_selector: str | None = None,
        owner: str | None = None,
        q: str | None = None,
        limit: int | None = None,
    ) -> list[types.JobSummary]:
        """As Client.jobs."""
        project = await self.project()
        return await self.run(
            all_pages(
                lambda token: operations.jobs_list(
                    project,
                    state=cast(Any, state),
                    label_selector=label_selector,
                    owner=owner,
                    q=q,
                    page_size=100,
                    page_token=token,
                ),
                limit=limit,
            )
        )

    async def queue(self) -> types.Queue:
        """As Client.queue."""
        return await self.call(operations.queue_read(await self.project()))

    async def gpus(self) -> types.GpuCounts:
        """As Client.gpus."""
        return await self.call(operations.gpu_counts_read(await self.project()))

    async def plan(
        self,
        model: str | Mapping[str, Any],
        *,
        gpu: str,
        gpus: int,
        global_batch_size: int,
        sequence_length: int,
        stack: str | None = None,
        pinned: Mapping[str, Any] | None = None,
        **others: Any,
    ) -> PlanOfApi:
        """As Client.plan."""
        request = plan_request(model, gpu, gpus, global_batch_size, sequence_length, stack, pinned, others)
        return PlanOfApi(await self.call(operations.plans_create(await self.project(), request)))

    async def changes(
        self, project: str, job_id: str, last_event_id: str | None = None, *, timeout: float | None = None
    ) -> AsyncIterator[Change]:
        """As Client.changes."""
        deadline = None if timeout is None else time.monotonic() + timeout
        reader = EventReader(last_event_id)
        pause = _FIRST_PAUSE_SECONDS
        while deadline is None or time.monotonic() < deadline:
            try:
                async for change in self._stream(project, job_id, reader.last_event_id, reader):
                    pause = _FIRST_PAUSE_SECONDS
                    yield change
                    if change.kind == "job" and job_is_over(change.data):
                        return
                    if deadline is not None and time.monotonic() >= deadline:
                        return
            except CoxswainError as error:
                if not may_pass(error):
                    raise
            await self._sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)

    async def _stream(self, project: str, job_id: str, last: str | None, reader: EventReader) -> AsyncIterator[Change]:
        headers = {} if last is None else {"last-event-id": last}
        async with self._http.stream(operations.job_streams_stream(project, job_id), headers) as response:
            async for line in response.aiter_lines():
                change = reader.line(line)
                if change is not None:
                    yield change

    async def lines(self, request: Request[str]) -> AsyncIterator[str]:
        """As Client.lines."""
        async with self._http.stream(request, {}) as response:
            async for line in response.aiter_lines():
                yield f"{line}\n"
