"""Errors of this package. Each is a `CoxswainError`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import types


class CoxswainError(Exception):
    """Base of all errors of this package."""


class SettingsError(CoxswainError):
    """No server, token or project was given, or the configuration file is wrong."""


class JobFileError(CoxswainError):
    """A job file cannot be read, or contains no job."""


class WorkdirError(CoxswainError):
    """A working directory or a function cannot be shipped with a job."""


class UnreachableError(CoxswainError):
    """The API did not answer. If the request was a change, the API may have made it."""


class ApiError(CoxswainError):
    """The API refused a request.

    status: HTTP status. code: stable name of the refusal, such as NOT_FOUND. errors: one entry per wrong field, with
    `pointer` (where) and `detail` (what is wrong and what to do).
    """

    def __init__(self, status: int, code: str, detail: str, errors: list[Mapping[str, Any]]) -> None:
        self.status = status
        self.code = code
        self.detail = detail
        self.errors = errors
        # The arguments themselves, so that the error passes between processes.
        super().__init__(status, code, detail, errors)

    def __str__(self) -> str:
        fields = [f"  {error.get('pointer') or '(body)'}: {error.get('detail')}" for error in self.errors]
        return "\n".join([f"{self.detail} ({self.code})", *fields])


class NotFoundError(CoxswainError):
    """There is no such job in the project."""


class JobEndedError(CoxswainError):
    """The job ended in another state than the awaited one. job: the job at its end."""

    def __init__(self, job: types.Job, awaited: str) -> None:
        self.job = job
        self.awaited = awaited
        super().__init__(job, awaited)

    def __str__(self) -> str:
        return f"{self.job['name']} is {self.job['state']}, and will not be {self.awaited}: {self.job['summary']}"
