"""Submit, watch and read training jobs of Coxswain.

    import coxswain

    job = coxswain.submit("job.yaml")
    job.watch()
    job.steps().plot(y="loss")

The functions of this module share one client, which the first call creates. `Client` and `AsyncClient` take server, token
and project as arguments.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ._client import AsyncClient, Client
from ._errors import (
    ApiError,
    CoxswainError,
    JobEndedError,
    JobFileError,
    NotFoundError,
    SettingsError,
    UnreachableError,
    WorkdirError,
)
from ._events import Change
from ._job import AsyncJob, Job
from ._job_file import command_job
from ._plan import PlanResult
from ._request import Request

if TYPE_CHECKING:
    from . import types

__version__ = "0.1.0"
__all__ = [
    "ApiError",
    "AsyncClient",
    "AsyncJob",
    "Change",
    "Client",
    "CoxswainError",
    "Job",
    "JobEndedError",
    "JobFileError",
    "NotFoundError",
    "PlanResult",
    "Request",
    "SettingsError",
    "UnreachableError",
    "WorkdirError",
    "check",
    "command_job",
    "connect",
    "job",
    "jobs",
    "plan",
    "predict",
    "queue",
    "submit",
]

_client: Client | None = None


def connect(server: str | None = None, token: str | None = None, *, project: str | None = None) -> Client:
    """Creates the client that the functions of this module use from now on. See Client."""
    global _client
    _client = Client(server, token, project=project)
    return _client


def _connected() -> Client:
    return _client or connect()


def submit(
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
    """See Client.submit."""
    return _connected().submit(
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


def check(
    job: str | os.PathLike[str] | Mapping[str, Any], *, name: str | None = None, gpus: int | None = None
) -> types.JobCheck:
    """See Client.check."""
    return _connected().check(job, name=name, gpus=gpus)


def job(name_or_id: str) -> Job:
    """See Client.job."""
    return _connected().job(name_or_id)


def jobs(**filters: Any) -> list[types.JobSummary]:
    """See Client.jobs."""
    return _connected().jobs(**filters)


def queue() -> types.Queue:
    """See Client.queue."""
    return _connected().queue()


def plan(model: str | Mapping[str, Any], **request: Any) -> PlanResult:
    """See Client.plan."""
    return _connected().plan(model, **request)


def predict(model: str | Mapping[str, Any], **request: Any) -> types.Plan:
    """See Client.predict."""
    return _connected().predict(model, **request)
