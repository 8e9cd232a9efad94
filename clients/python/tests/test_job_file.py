"""A job from a file, a dict, or a command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from coxswain import JobFileError, command_job
from coxswain._job_file import job_body

MANIFEST = """
apiVersion: training.coxswain.dev/v1alpha1
kind: TrainingJob
metadata: { name: tiny, namespace: research, labels: { team: a }, annotations: { x: y } }
spec: { engine: { name: command }, layout: { dataParallelDegree: 4 } }
"""
SPEC = {"engine": {"name": "command"}, "layout": {"dataParallelDegree": 4}}


def written(folder: Path, text: str) -> Path:
    path = folder / "job.yaml"
    path.write_text(text)
    return path


def test_a_manifest_of_kubectl_is_read(tmp_path: Path) -> None:
    assert job_body(written(tmp_path, MANIFEST)) == {
        "name": "tiny",
        "namespace": "research",
        "labels": {"team": "a"},
        "spec": SPEC,
    }


def test_a_manifest_of_the_newer_version_is_read_too(tmp_path: Path) -> None:
    newer = MANIFEST.replace("v1alpha1", "v1beta1")
    assert job_body(written(tmp_path, newer)) == job_body(written(tmp_path, MANIFEST))


def test_name_labels_and_gpus_go_before_the_file(tmp_path: Path) -> None:
    body = job_body(written(tmp_path, MANIFEST), name="other", gpus=2, labels={"run": "1"})
    assert body["name"] == "other"
    assert body["labels"] == {"team": "a", "run": "1"}
    assert body["spec"] == {**SPEC, "layout": "auto", "gpus": 2}


def test_the_dict_of_the_caller_stays_as_it_was() -> None:
    job: dict[str, Any] = {"name": "tiny", "spec": SPEC, "labels": {}}
    job_body(job, name="other", gpus=2, labels={"run": "1"})
    assert job == {"name": "tiny", "spec": SPEC, "labels": {}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "contains no job"),
        ("[1]", "contains no job"),
        ("a: 1\n---\nb: 2", "holds 2 documents; submit one job at a time"),
        ("apiVersion: batch/v1\nkind: Job", "is a batch/v1 Job; expected training.coxswain.dev/v1alpha1 TrainingJob"),
        ("name: tiny", "has no spec"),
        ("a: [", "is neither YAML nor JSON"),
    ],
)
def test_what_is_no_job_is_refused_before_anything_is_sent(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(JobFileError) as caught:
        job_body(written(tmp_path, text))
    assert message in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(JobFileError, match=r"Cannot read .*none\.yaml"):
        job_body(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-4", 0.0001),
        ("2.5E3", 2500.0),
        ("on", "on"),
        ("true", True),
        ("12:30", "12:30"),
        ("2026-11-29", "2026-11-29"),
        ("010", 10),
        ("0x1F", 31),
        ("-7", -7),
        ("=", "="),
        ("", None),
    ],
)
def test_values_are_those_that_the_command_line_reads(tmp_path: Path, text: str, value: object) -> None:
    assert job_body(written(tmp_path, f"spec: {{ a: {text} }}"))["spec"] == {"a": value}


def test_a_command_is_a_list() -> None:
    with pytest.raises(TypeError, match="list of words"):
        command_job("python3 train.py", image="i", gpus=1, name="mine")


def test_a_program_becomes_a_job() -> None:
    body = command_job(
        ["python3", "train.py"], image="i", gpus=4, name="mine", checkpoints="saves/mine", environment={"A": "1"}
    )
    assert body == {
        "name": "mine",
        "spec": {
            "engine": {
                "name": "command",
                "image": "i",
                "command": ["python3", "train.py"],
                "env": [{"name": "A", "value": "1"}],
            },
            "layout": {"dataParallelDegree": 4},
            "restartPolicy": {"maxRestarts": 3},
            "checkpoint": {"claimName": "saves", "path": "mine"},
        },
    }
