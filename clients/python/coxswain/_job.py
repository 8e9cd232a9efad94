"""A job, as programs and notebooks use it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import aclosing, closing
from typing import TYPE_CHECKING, Any, cast

from . import operations
from ._errors import CoxswainError
from ._events import Change
from ._flows import events, incidents, is_awaited, is_over, require_state, steps
from ._frame import step_frame
from ._request import Request
from ._text import card, end_line, losses_of
from ._watch import LOSS_POINTS, AsyncWatch, Watch

if TYPE_CHECKING:
    import pandas

    from . import types
    from ._client import AsyncClient, Client


class JobState:
    """The newest state of a job that was read; `refresh()` reads it again."""

    def __init__(self, project: str, data: types.Job) -> None:
        self.project = project
        #: The whole answer of the API.
        self.data = data

    @property
    def id(self) -> str:
        return self.data["id"]

    @property
    def name(self) -> str:
        return self.data["name"]

    @property
    def state(self) -> str:
        """Such as Queued or Running. A job ends as Complete, Failed, Cancelled, Refused (by the cluster) or Deleted."""
        return self.data["state"]

    @property
    def summary(self) -> str:
        """A sentence that explains the state."""
        return self.data["summary"]

    @property
    def is_over(self) -> bool:
        """Whether the job has ended for good."""
        return is_over(self.data)

    @property
    def step(self) -> int | None:
        """The last step; None: no step was reported."""
        progress = self.data["progress"]
        return None if progress is None else progress["step"]

    def _logs_request(self, rank: int, tail: int | None, attempt: int | None, *, follow: bool) -> Request[str]:
        return operations.job_streams_logs(
            self.project, self.id, rank=rank, attempt=attempt, tail_lines=tail, follow="true" if follow else None
        )

    @staticmethod
    def _resume_body(layout: Mapping[str, Any] | None, gpus: int | None, from_: str | None) -> types.JobResumeInput:
        given = {"layout": layout, "gpus": gpus, "from": from_}
        return cast("types.JobResumeInput", {key: value for key, value in given.items() if value is not None})

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {end_line(self.data)}>"


class Job(JobState):
    """A job. Get one from `submit()` or `job()`."""

    def __init__(self, client: Client, project: str, data: types.Job) -> None:
        super().__init__(project, data)
        self._client = client

    def refresh(self) -> Job:
        """Reads the job again, and returns the same object."""
        self.data = self._client.call(operations.jobs_get(self.project, self.id))
        return self

    def watch(self) -> None:
        """Shows what happens until the job ends: lines in a terminal, a card in a notebook. If you interrupt it, the job continues."""
        Watch(self).show()

    def changes(self, last_event_id: str | None = None) -> Generator[Change, None, None]:
        """Changes of the job until it ends: events since that one (without one, all events), and steps from now on. Reconnects after a broken connection.

        Leave the loop at any time; `contextlib.closing()` then closes the connection at once.
        """
        return self._client.changes(self.project, self.id, last_event_id)

    def wait(self, until: str = "Complete", *, timeout: float | None = None) -> Job:
        """Waits until the job is in that state. timeout: seconds.

        Raises JobEndedError if the job ends in another state, TimeoutError after the timeout.
        """
        require_state(until)
        with closing(self._client.changes(self.project, self.id, timeout=timeout)) as changes:
            for change in changes:
                if change.kind == "job":
                    self.data = change.data
                    if is_awaited(self.data, until):
                        return self
        raise TimeoutError(f"{self.name} is {self.state} after {timeout} s, and not {until}: {self.summary}")

    def step_points(
        self, *, from_step: int | None = None, to_step: int | None = None, max_points: int | None = None
    ) -> list[types.StepPoint]:
        """The loss curve: every step, or means in at most `max_points` points."""
        return self._client.run(
            steps(self.project, self.id, from_step=from_step, to_step=to_step, max_points=max_points)
        )

    def steps(
        self, *, from_step: int | None = None, to_step: int | None = None, max_points: int | None = None
    ) -> pandas.DataFrame:
        """The loss curve as a DataFrame indexed by step; needs pandas."""
        return step_frame(self.step_points(from_step=from_step, to_step=to_step, max_points=max_points))

    def events(self) -> list[types.JobEvent]:
        """What happened to the job, in order."""
        return self._client.run(events(self.project, self.id))

    def logs(self, rank: int = 0, *, tail: int | None = None, attempt: int | None = None) -> str:
        """The log of a rank so far. If its pod is gone: the last lines that its attempt recorded."""
        return self._client.call(self._logs_request(rank, tail, attempt, follow=False))

    def log_lines(
        self, rank: int = 0, *, tail: int | None = None, attempt: int | None = None, follow: bool = True
    ) -> Generator[str, None, None]:
        """Lines of the log of a rank, with their line ends; with `follow` until its pod ends, however long it is silent."""
        return self._client.lines(self._logs_request(rank, tail, attempt, follow=follow))

    def checkpoints(self) -> list[types.CheckpointRecord]:
        """What the job saved, oldest first."""
        return self._client.call(operations.job_history_checkpoints(self.project, self.id))["items"]

    def goodput(self) -> types.JobGoodput:
        """The GPU-seconds of the job by category."""
        return self._client.call(operations.goodput_of_job(self.project, self.id))

    def incidents(self) -> list[types.JobIncident]:
        """What went wrong, newest first."""
        return self._client.run(incidents(self.project, self.id))

    def start(self) -> types.JobStart:
        """When the job is expected to start, and what would let it start earlier."""
        return self._client.call(operations.queue_of_job(self.project, self.id))

    def suspend(self) -> Job:
        """Saves a checkpoint, stops the ranks and frees the GPUs. `resume()` continues the job."""
        return self._changed(self._client.call(operations.jobs_suspend(self.project, self.id)))

    def resume(
        self,
        *,
        layout: Mapping[str, Any] | None = None,
        gpus: int | None = None,
        from_: str | None = None,
    ) -> Job:
        """Continues a suspended job, on its layout or another one.

        layout: degrees, such as `{"tensorParallelDegree": 2}`. gpus: the planner chooses a layout for that number.
        from_: name of an earlier checkpoint, or "scratch". The job then no longer uses later checkpoints.
        """
        body = self._resume_body(layout, gpus, from_)
        return self._changed(self._client.call(operations.jobs_resume(self.project, self.id, body)))

    def cancel(self) -> Job:
        """Ends the job for good. Its checkpoints stay."""
        return self._changed(self._client.call(operations.jobs_cancel(self.project, self.id)))

    def delete(self) -> None:
        """Deletes the job and its pods. Its checkpoints stay."""
        self._client.call(operations.jobs_remove(self.project, self.id))

    def _changed(self, data: types.Job) -> Job:
        self.data = data
        return self

    def _repr_html_(self) -> str:
        try:
            points = self.step_points(max_points=LOSS_POINTS)
        except CoxswainError:
            points = []
        return card(self.data, losses_of(points))


class AsyncJob(JobState):
    """As Job, with asyncio."""

    def __init__(self, client: AsyncClient, project: str, data: types.Job) -> None:
        super().__init__(project, data)
        self._client = client

    async def refresh(self) -> AsyncJob:
        """As Job.refresh."""
        return self._changed(await self._client.call(operations.jobs_get(self.project, self.id)))

    async def watch(self) -> None:
        """As Job.watch."""
        await AsyncWatch(self).show()

    def changes(self, last_event_id: str | None = None) -> AsyncGenerator[Change, None]:
        """As Job.changes."""
        return self._client.changes(self.project, self.id, last_event_id)

    async def wait(self, until: str = "Complete", *, timeout: float | None = None) -> AsyncJob:
        """As Job.wait."""
        require_state(until)
        async with aclosing(self._client.changes(self.project, self.id, timeout=timeout)) as changes:
            async for change in changes:
                if change.kind == "job":
                    self.data = change.data
                    if is_awaited(self.data, until):
                        return self
        raise TimeoutError(f"{self.name} is {self.state} after {timeout} s, and not {until}: {self.summary}")

    async def step_points(
        self, *, from_step: int | None = None, to_step: int | None = None, max_points: int | None = None
    ) -> list[types.StepPoint]:
        """As Job.step_points."""
        return await self._client.run(
            steps(self.project, self.id, from_step=from_step, to_step=to_step, max_points=max_points)
        )

    async def steps(
        self, *, from_step: int | None = None, to_step: int | None = None, max_points: int | None = None
    ) -> pandas.DataFrame:
        """As Job.steps."""
        return step_frame(await self.step_points(from_step=from_step, to_step=to_step, max_points=max_points))

    async def events(self) -> list[types.JobEvent]:
        """As Job.events."""
        return await self._client.run(events(self.project, self.id))

    async def logs(self, rank: int = 0, *, tail: int | None = None, attempt: int | None = None) -> str:
        """As Job.logs."""
        return await self._client.call(self._logs_request(rank, tail, attempt, follow=False))

    def log_lines(
        self, rank: int = 0, *, tail: int | None = None, attempt: int | None = None, follow: bool = True
    ) -> AsyncGenerator[str, None]:
        """As Job.log_lines."""
        return self._client.lines(self._logs_request(rank, tail, attempt, follow=follow))

    async def checkpoints(self) -> list[types.CheckpointRecord]:
        """As Job.checkpoints."""
        return (await self._client.call(operations.job_history_checkpoints(self.project, self.id)))["items"]

    async def goodput(self) -> types.JobGoodput:
        """As Job.goodput."""
        return await self._client.call(operations.goodput_of_job(self.project, self.id))

    async def incidents(self) -> list[types.JobIncident]:
        """As Job.incidents."""
        return await self._client.run(incidents(self.project, self.id))

    async def start(self) -> types.JobStart:
        """As Job.start."""
        return await self._client.call(operations.queue_of_job(self.project, self.id))

    async def suspend(self) -> AsyncJob:
        """As Job.suspend."""
        return self._changed(await self._client.call(operations.jobs_suspend(self.project, self.id)))

    async def resume(
        self,
        *,
        layout: Mapping[str, Any] | None = None,
        gpus: int | None = None,
        from_: str | None = None,
    ) -> AsyncJob:
        """As Job.resume."""
        body = self._resume_body(layout, gpus, from_)
        return self._changed(await self._client.call(operations.jobs_resume(self.project, self.id, body)))

    async def cancel(self) -> AsyncJob:
        """As Job.cancel."""
        return self._changed(await self._client.call(operations.jobs_cancel(self.project, self.id)))

    async def delete(self) -> None:
        """As Job.delete."""
        await self._client.call(operations.jobs_remove(self.project, self.id))

    def _changed(self, data: types.Job) -> AsyncJob:
        self.data = data
        return self

    def _repr_html_(self) -> str:
        return card(self.data)
