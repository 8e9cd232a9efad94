"""The API for programs, with and without asyncio."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

import httpx
from typing_extensions import Self

from . import operations
from ._errors import CoxswainError
from ._events import Change
from ._flows import Flow, all_pages, find_job, project_of
from ._follower import Follower
from ._http import DEFAULT_TIMEOUT_SECONDS, Access, AsyncHttp, Http
from ._job import AsyncJob, Job
from ._job_file import job_body
from ._lines import LineReader
from ._plan import PlanResult, plan_request, predicted_axes
from ._request import Request
from ._settings import resolve
from ._submission import create, submission

if TYPE_CHECKING:
    from . import types

T = TypeVar("T")


class Client:
    """A connection to the API of one server, with one token.

    Server, token and project that are not given come from COXSWAIN_SERVER, COXSWAIN_TOKEN (or COXSWAIN_TOKEN_FILE) and
    COXSWAIN_PROJECT, then from the configuration file, and the token from `coxswain login`. Raises SettingsError if one of
    them is missing. `call()` sends any request of `coxswain.operations`. Threads can share a client.

    timeout: seconds for one answer. transport, sleep, clock: for tests.
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
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        access = Access(lambda: resolve(server, token, project))
        self._project = access.settings.project
        self._sleep = sleep
        self._clock = clock
        self._http = Http(access, timeout=timeout, transport=transport, sleep=sleep)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_ended: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def call(self, request: Request[T]) -> T:
        """The answer of a request. Raises ApiError if the API refuses the request, UnreachableError if the API does not answer."""
        return self._http.call(request)

    def run(self, flow: Flow[T]) -> T:
        """The result of several requests."""
        return self._http.run(flow)

    @property
    def project(self) -> str:
        """The project of all calls. Raises SettingsError if none was given and the token has several."""
        self._project = self.run(project_of(self._project))
        return self._project

    def who_am_i(self) -> types.WhoAmI:
        """The owner of the token, and the projects and roles of the owner."""
        return self.call(operations.who_am_i_get())

    def submit(
        self,
        job: str | os.PathLike[str] | Mapping[str, Any] | Callable[..., Any],
        *,
        workdir: str | os.PathLike[str] | None = None,
        args: Mapping[str, Any] | list[str] | None = None,
        image: str | None = None,
        model: str | None = None,
        name: str | None = None,
        gpus: int | None = None,
        labels: Mapping[str, str] | None = None,
        checkpoints: str | None = None,
        data: str | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Job:
        """Submits a job: a job file, its content, what `command_job()` returns, a program (`train.py`), or a function.

        workdir: directory that the ranks start in; it is shipped with the job, and .gitignore is obeyed. Absent: of
        a program its own directory, if that is in a git repository. Warns of files that look like secrets. args: words after
        a program, or keyword arguments of a function. image, model: of a program or a function; an image with its libraries,
        and the name of a preset that the planner knows. A function is shipped as its source, so it must not use anything from
        outside but modules.
        checkpoints, data: of a program or a function, `CLAIM` or `CLAIM/PATH`: at /coxswain/checkpoints, which every restart
        finds again, and at /coxswain/data. environment: variables of a program or a function; not for secrets.
        gpus: of a program or a function the ranks, 1 if absent; of a job file instead of its layout, and the planner chooses
        one for that number. After a broken connection the request is sent again, and creates one job.
        """
        body, archive = submission(
            job,
            workdir=workdir,
            args=args,
            image=image,
            model=model,
            name=name,
            gpus=gpus,
            labels=labels,
            checkpoints=checkpoints,
            data=data,
            environment=environment,
        )
        return Job(self, self.project, self.run(create(self.project, body, archive)))

    def check(
        self, job: str | os.PathLike[str] | Mapping[str, Any], *, name: str | None = None, gpus: int | None = None
    ) -> types.JobCheck:
        """Checks the job without submitting it: the answer says what would keep the job from training at once."""
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
        """Jobs of the project, newest first. q: beginnings of words of the name. limit: the most jobs to return."""
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
        """Jobs that wait for GPUs, in the order of the queue."""
        return self.call(operations.queue_read(self.project))

    def gpus(self) -> types.GpuCounts:
        """The number of GPUs of the cluster, and of those that are free."""
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
    ) -> PlanResult:
        """The fastest layouts of a model on that number of GPUs. Nothing runs.

        model: name of a preset, or a shape. stack: engine and release. pinned: options that the planner must keep. others: more
        fields of PlanRequestInput.
        """
        request = plan_request(model, gpu, gpus, global_batch_size, sequence_length, stack, pinned, others)
        return PlanResult(self.call(operations.plans_create(self.project, request)))

    def predict(
        self,
        model: str | Mapping[str, Any],
        *,
        gpu: str,
        gpus: int,
        global_batch_size: int,
        sequence_length: int,
        tensor: int = 1,
        pipeline: int = 1,
        context: int = 1,
        stack: str | None = None,
        pinned: Mapping[str, Any] | None = None,
        **others: Any,
    ) -> types.Plan:
        """The step time and memory of one layout on that number of GPUs; what is not given is chosen as the planner would.

        The data-parallel degree is what is left of the GPUs. pinned: more options of the layout, as of plan(). Raises
        CoxswainError with the reason if the layout does not fit.
        """
        axes = predicted_axes(gpus, tensor, pipeline, context, pinned)
        request = plan_request(model, gpu, gpus, global_batch_size, sequence_length, stack, axes, {"top": 1, **others})
        return PlanResult(self.call(operations.plans_create(self.project, request))).best

    def changes(
        self, project: str, job_id: str, last_event_id: str | None = None, *, timeout: float | None = None
    ) -> Generator[Change, None, None]:
        """Changes of a job until it ends, or until the timeout (seconds). Reconnects after a broken connection."""
        follower = Follower(last_event_id, timeout, self._clock)
        request = operations.job_streams_stream(project, job_id)
        while not follower.is_done:
            try:
                with self._http.stream(request, follower.connect(), seconds=follower.seconds_left) as response:
                    for chunk in response.iter_bytes():
                        yield from follower.read(chunk)
                        if follower.is_done:
                            return
            except CoxswainError as error:
                follower.fail(error)
            if follower.has_ended:
                return
            self._sleep(follower.pause())

    def lines(self, request: Request[str]) -> Generator[str, None, None]:
        """Lines of a text as they come, with their line ends. The text may be silent for any time."""
        reader = LineReader()
        with self._http.stream(request, silence=None) as response:
            for chunk in response.iter_bytes():
                yield from reader.read(chunk)
        yield from reader.end()


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
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        access = Access(lambda: resolve(server, token, project))
        self._project = access.settings.project
        self._sleep = sleep
        self._clock = clock
        self._http = AsyncHttp(access, timeout=timeout, transport=transport, sleep=sleep)

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
        job: str | os.PathLike[str] | Mapping[str, Any] | Callable[..., Any],
        *,
        workdir: str | os.PathLike[str] | None = None,
        args: Mapping[str, Any] | list[str] | None = None,
        image: str | None = None,
        model: str | None = None,
        name: str | None = None,
        gpus: int | None = None,
        labels: Mapping[str, str] | None = None,
        checkpoints: str | None = None,
        data: str | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> AsyncJob:
        """As Client.submit."""
        body, archive = submission(
            job,
            workdir=workdir,
            args=args,
            image=image,
            model=model,
            name=name,
            gpus=gpus,
            labels=labels,
            checkpoints=checkpoints,
            data=data,
            environment=environment,
        )
        project = await self.project()
        return AsyncJob(self, project, await self.run(create(project, body, archive)))

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
    ) -> PlanResult:
        """As Client.plan."""
        request = plan_request(model, gpu, gpus, global_batch_size, sequence_length, stack, pinned, others)
        return PlanResult(await self.call(operations.plans_create(await self.project(), request)))

    async def predict(
        self,
        model: str | Mapping[str, Any],
        *,
        gpu: str,
        gpus: int,
        global_batch_size: int,
        sequence_length: int,
        tensor: int = 1,
        pipeline: int = 1,
        context: int = 1,
        stack: str | None = None,
        pinned: Mapping[str, Any] | None = None,
        **others: Any,
    ) -> types.Plan:
        """As Client.predict."""
        axes = predicted_axes(gpus, tensor, pipeline, context, pinned)
        request = plan_request(model, gpu, gpus, global_batch_size, sequence_length, stack, axes, {"top": 1, **others})
        return PlanResult(await self.call(operations.plans_create(await self.project(), request))).best

    async def changes(
        self, project: str, job_id: str, last_event_id: str | None = None, *, timeout: float | None = None
    ) -> AsyncGenerator[Change, None]:
        """As Client.changes."""
        follower = Follower(last_event_id, timeout, self._clock)
        request = operations.job_streams_stream(project, job_id)
        while not follower.is_done:
            try:
                async with self._http.stream(request, follower.connect(), seconds=follower.seconds_left) as response:
                    chunks = response.aiter_bytes()
                    while (chunk := await asyncio.wait_for(anext(chunks, None), follower.seconds_left)) is not None:
                        for change in follower.read(chunk):
                            yield change
                        if follower.is_done:
                            return
            except asyncio.TimeoutError:
                return
            except CoxswainError as error:
                follower.fail(error)
            if follower.has_ended:
                return
            await self._sleep(follower.pause())

    async def lines(self, request: Request[str]) -> AsyncGenerator[str, None]:
        """As Client.lines."""
        reader = LineReader()
        async with self._http.stream(request, silence=None) as response:
            async for chunk in response.aiter_bytes():
                for line in reader.read(chunk):
                    yield line
        for line in reader.end():
            yield line
