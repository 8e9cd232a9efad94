"""A job from a file, a dict or a command."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import yaml

from ._errors import JobFileError

if TYPE_CHECKING:
    from . import types

class _Loader(yaml.SafeLoader):
    """YAML 1.2, as the command line reads it. PyYAML reads `1e-4` as text, `on` as true and `12:30` as 750."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}


for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", list("-+0123456789.")),
    ("merge", r"<<", ["<"]),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), _first)


def _integer(_loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int:
    text = str(node.value)
    return int(text, 0) if text.startswith(("0o", "0x")) else int(text)


_Loader.add_constructor("tag:yaml.org,2002:int", _integer)

API_VERSION = "training.coxswain.dev/v1alpha1"
# All have one schema.
SERVED_API_VERSIONS = (API_VERSION, "training.coxswain.dev/v1beta1")


def job_body(
    job: str | os.PathLike[str] | Mapping[str, Any],
    *,
    name: str | None = None,
    gpus: int | None = None,
    labels: Mapping[str, str] | None = None,
) -> types.JobCreateInput:
    """The body that creates the job.

    job: path of a job file (YAML or JSON), or what such a file contains: a TrainingJob, or `{"name": …, "spec": …}`.
    gpus: in place of the job's layout; the planner then chooses one.
    Raises JobFileError. The API checks the fields.
    """
    source = "the job" if isinstance(job, Mapping) else os.fspath(job)
    document = dict(job) if isinstance(job, Mapping) else _read(Path(job))
    body = _body_of(document, source)
    if name is not None:
        body["name"] = name
    if labels:
        body["labels"] = {**body.get("labels", {}), **labels}
    if gpus is not None:
        body["spec"] = {**body["spec"], "layout": "auto", "gpus": gpus}
    return cast("types.JobCreateInput", body)


def command_job(
    command: Sequence[str],
    *,
    image: str,
    gpus: int,
    name: str,
    checkpoints: str | None = None,
    data: str | None = None,
    environment: Mapping[str, str] | None = None,
    max_restarts: int = 3,
) -> types.JobCreateInput:
    """The body of a job whose ranks run a program of yours.

    command: what one rank runs. Coxswain starts the program once per GPU with RANK, WORLD_SIZE, MASTER_ADDR and the like
    set, so it must not start `torchrun`.
    checkpoints, data: `CLAIM` or `CLAIM/PATH`. In the pod the claims are at /coxswain/checkpoints and /coxswain/data, which is
    read-only. COXSWAIN_SAVE_DIR is a directory below the former, new at each start.
    """
    if isinstance(command, str):
        raise TypeError('command is a list of words, such as ["python3", "train.py"]')
    engine: dict[str, Any] = {"name": "command", "image": image, "command": list(command)}
    if environment:
        engine["env"] = [{"name": key, "value": value} for key, value in environment.items()]
    spec: dict[str, Any] = {
        "engine": engine,
        "layout": {"dataParallelDegree": gpus},
        "restartPolicy": {"maxRestarts": max_restarts},
    }
    if checkpoints is not None:
        claim, _, path = checkpoints.partition("/")
        spec["checkpoint"] = {"claimName": claim, **({"path": path} if path else {})}
    if data is not None:
        claim, _, path = data.partition("/")
        spec["data"] = {"claimName": claim, "path": path}
    return cast("types.JobCreateInput", {"name": name, "spec": spec})


def _read(path: Path) -> dict[str, Any]:
    try:
        documents = [each for each in yaml.load_all(path.read_text("utf-8"), _Loader) if each is not None]
    except (OSError, UnicodeDecodeError) as error:
        raise JobFileError(f"Cannot read {path}: {error}") from None
    except yaml.YAMLError as error:
        raise JobFileError(f"{path} is neither YAML nor JSON: {error}") from None
    if len(documents) > 1:
        raise JobFileError(f"{path} holds {len(documents)} documents; submit one job at a time.")
    if not documents or not isinstance(documents[0], dict):
        raise JobFileError(f"{path} contains no job; expected a TrainingJob or {{name, spec}}.")
    return documents[0]


def _body_of(document: Mapping[str, Any], source: str) -> dict[str, Any]:
    if "kind" not in document:
        body = dict(document)
    elif document.get("kind") != "TrainingJob" or document.get("apiVersion") not in SERVED_API_VERSIONS:
        raise JobFileError(
            f"{source} is a {document.get('apiVersion')} {document['kind']}; expected {API_VERSION} TrainingJob."
        )
    else:
        metadata = document.get("metadata") or {}
        kept = {key: metadata[key] for key in ("name", "namespace", "labels") if metadata.get(key) is not None}
        body = {**kept, "spec": document.get("spec")}
    if not isinstance(body.get("spec"), dict):
        raise JobFileError(f"{source} has no spec; expected a TrainingJob or {{name, spec}}.")
    return body
