"""What calls do, as generators of requests: the client that runs them sends, waits, and hands back the answers, with or without asyncio."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_type_hints

from . import operations
from ._errors import ApiError, JobEndedError, NotFoundError, SettingsError
from ._request import Request

if TYPE_CHECKING:
    from . import types

T = TypeVar("T")
Flow = Generator[Request[Any], Any, T]

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_FINAL_STATES = frozenset({"Complete", "Failed", "Cancelled", "Refused", "Deleted"})
_STEPS_OF_A_PAGE = 2000
_EVENTS_OF_A_PAGE = 10_000


def project_of(project: str | None) -> Flow[str]:
    """The project that was named, else the only one of the token."""
    if project is not None:
        return project
    who: types.WhoAmI = yield operations.who_am_i_get()
    if who["project"] is not None:
        return who["project"]
    names = ", ".join(each["project"] for each in who["memberships"])
    which = f"You belong to {names}" if names else "You may use every project"
    raise SettingsError(f"{which}: name one with project= or COXSWAIN_PROJECT.")


def find_job(project: str, name_or_id: str) -> Flow[types.Job]:
    """The job of that id or name; of several of a name the newest that was not refused."""
    if _UUID.fullmatch(name_or_id):
        job: types.Job = yield operations.jobs_get(project, name_or_id)
        return job
    refused: str | None = None
    token: str | None = None
    while True:
        page: types.JobList = yield operations.jobs_list(project, q=name_or_id, page_size=100, page_token=token)
        for each in page["items"]:
            if each["name"] != name_or_id:
                continue
            if each["state"] != "Refused":
                job = yield operations.jobs_get(project, each["id"])
                return job
            refused = refused or each["id"]
        token = page.get("nextPageToken")
        if token is None:
            break
    if refused is None:
        raise NotFoundError(f'No job named "{name_or_id}" in project {project}. client.jobs() lists the existing ones.')
    job = yield operations.jobs_get(project, refused)
    return job


def all_pages(page: Callable[[str | None], Request[Any]], *, limit: int | None = None) -> Flow[list[Any]]:
    """The items of every page, at most `limit`."""
    items: list[Any] = []
    token: str | None = None
    while True:
        answer = yield page(token)
        items.extend(answer["items"])
        token = answer.get("nextPageToken")
        if token is None or (limit is not None and len(items) >= limit):
            return items[:limit]


def steps(
    project: str, job_id: str, *, from_step: int | None, to_step: int | None, max_points: int | None
) -> Flow[list[types.StepPoint]]:
    """Every step of the curve, or the whole curve in at most `max_points` points."""
    if max_points is not None:
        answer: types.StepList = yield operations.job_history_steps(
            project, job_id, from_step=from_step, to_step=to_step, max_points=max_points
        )
        return answer["items"]
    points: list[types.StepPoint] = []
    next_step = from_step
    while True:
        answer = yield operations.job_history_steps(
            project, job_id, from_step=next_step, to_step=to_step, limit=_STEPS_OF_A_PAGE
        )
        points.extend(answer["items"])
        if len(answer["items"]) < _STEPS_OF_A_PAGE:
            return points
        next_step = answer["items"][-1]["step"] + 1


def events(project: str, job_id: str) -> Flow[list[types.JobEvent]]:
    """Every event of the job: one answer has the oldest of those after an id."""
    found: list[types.JobEvent] = []
    while True:
        answer: types.JobEventList = yield operations.job_history_events(
            project, job_id, after=found[-1]["id"] if found else None
        )
        found.extend(answer["items"])
        if len(answer["items"]) < _EVENTS_OF_A_PAGE:
            return found


def incidents(project: str, job_id: str) -> Flow[list[types.JobIncident]]:
    """Every incident of the job."""
    return (
        yield from all_pages(lambda token: operations.incidents_of_job(project, job_id, page_size=100, page_token=token))
    )


def is_over(job: types.Job) -> bool:
    """Whether the job never changes its state again."""
    return job["state"] in _FINAL_STATES


def require_state(state: str) -> None:
    """Raises ValueError for a word that is not a state: no job would reach it."""
    from . import types

    states = get_args(get_type_hints(types.Job)["state"])
    if state not in states:
        raise ValueError(f'"{state}" is not a state of a job; the states are {", ".join(states)}')


def is_awaited(job: types.Job, awaited: str) -> bool:
    """Whether the job is in the awaited state. Raises JobEndedError if it cannot reach it any more."""
    if job["state"] == awaited:
        return True
    if is_over(job):
        raise JobEndedError(job, awaited)
    return False


def is_temporary(error: Exception) -> bool:
    """Whether the same request may succeed later: an API that restarts answers again; a refusal stays one."""
    return not isinstance(error, ApiError) or error.status == 429 or error.status >= 500
