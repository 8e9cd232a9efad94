"""What `submit()` sends: the body of the job, and the archive of its code."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from . import operations
from ._errors import JobFileError
from ._function_source import FUNCTION_FILE, function_source
from ._job_file import command_job, job_body
from ._workdir import Archive, pack, upload

if TYPE_CHECKING:
    from . import types
    from ._flows import Flow


#: The API takes 63 characters.
_LONGEST_NAME = 50


class _Options(NamedTuple):
    """Of a program or a function; a job file has them in itself."""

    image: str | None
    model: str | None
    checkpoints: str | None
    data: str | None
    environment: Mapping[str, str] | None

    def given(self) -> list[str]:
        return [name for name, value in self._asdict().items() if value is not None]


def submission(
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
) -> tuple[types.JobCreateInput, Archive | None]:
    """The body of the job, and its code. See Client.submit."""
    options = _Options(image, model, checkpoints, data, environment)
    if callable(job):
        if isinstance(args, list):
            raise JobFileError("args of a function are a dict of its keyword arguments.")
        archive = pack(workdir, {FUNCTION_FILE: function_source(job, args or {})})
        return _program(["python3", FUNCTION_FILE], job.__name__, options, name, gpus, labels), archive
    if not isinstance(job, Mapping) and os.fspath(job).endswith(".py"):
        if isinstance(args, Mapping):
            raise JobFileError('args of a program are a list of words, such as ["--lr", "1e-4"].')
        program, directory = _program_in(Path(job), workdir)
        command = ["python3", program, *(args or [])]
        return _program(command, Path(program).stem, options, name, gpus, labels), pack(directory)
    given = [*([] if args is None else ["args"]), *options.given()]
    if given:
        verb = "is" if len(given) == 1 else "are"
        raise JobFileError(f"{', '.join(given)} {verb} for a program (.py) or a function; a job file has that in itself.")
    body = job_body(job, name=name, gpus=gpus, labels=labels)
    return body, None if workdir is None else pack(workdir)


def create(project: str, body: types.JobCreateInput, archive: Archive | None) -> Flow[types.Job]:
    """Uploads the code, if there is any and the project does not have it, and creates the job."""
    if archive is not None:
        body = _with_code(body, archive)
        yield from upload(project, archive, body.get("namespace"))
    job: types.Job = yield operations.jobs_create(project, body)
    return job


def _with_code(body: types.JobCreateInput, archive: Archive) -> types.JobCreateInput:
    spec = {**body["spec"], "code": {"sha256": archive.sha256}}
    return cast("types.JobCreateInput", {**body, "spec": spec})


def _new_name(called: str) -> str:
    """Another one at each call: a program is edited and submitted again while its last job still has the name."""
    return f"{called.replace('_', '-').lower()[:_LONGEST_NAME]}-{secrets.token_hex(2)}"


def _program_in(program: Path, workdir: str | os.PathLike[str] | None) -> tuple[str, Path]:
    program = program.expanduser()
    directory = program.parent if workdir is None else Path(workdir).expanduser()
    place = program if program.is_file() else directory / program
    if not place.is_file():
        raise JobFileError(f"{program} is no file, neither here nor in {directory}.")
    if workdir is None and not _is_of_a_repository(directory.resolve()):
        raise JobFileError(
            f"workdir= is missing: all files of the working directory are shipped, and {directory.resolve()} is in no git "
            f"repository. Pass workdir={os.fspath(directory)!r} if the job may have all of its files."
        )
    try:
        return place.resolve().relative_to(directory.resolve()).as_posix(), directory
    except ValueError:
        raise JobFileError(f"{program} is not in the working directory {directory}, which is what the job gets.") from None


def _is_of_a_repository(directory: Path) -> bool:
    """A repository of a whole home directory does not count: it has more than one program."""
    home = Path.home().resolve()
    for place in (directory, *directory.parents):
        if place == home or place == place.parent:
            return False
        if (place / ".git").exists():
            return True
    return False


def _program(
    command: list[str],
    called: str,
    options: _Options,
    name: str | None,
    gpus: int | None,
    labels: Mapping[str, str] | None,
) -> types.JobCreateInput:
    if options.image is None:
        raise JobFileError('image= is missing: an image with the libraries of the program, such as "pytorch/pytorch:2.9.1".')
    job = command_job(
        command,
        image=options.image,
        gpus=gpus or 1,
        name=name or _new_name(called),
        checkpoints=options.checkpoints,
        data=options.data,
        environment=options.environment,
    )
    spec = {**job["spec"], **({} if options.model is None else {"model": {"preset": options.model}})}
    return cast("types.JobCreateInput", {**job, "spec": spec, **({"labels": dict(labels)} if labels else {})})
