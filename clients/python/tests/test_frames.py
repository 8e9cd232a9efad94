"""DataFrames, where pandas is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conftest import Server

AJob = Callable[..., dict[str, Any]]
JOB_ID = "9a31538c-c53d-43d9-a67a-b81a89471c56"


def test_steps_are_a_frame_by_step(server: Server, a_job: AJob) -> None:
    points = [
        {"step": 1, "loss": 5.5, "at": "2026-11-29T07:00:00.000Z"},
        {"step": 2, "loss": 5.0, "at": "2026-11-29T07:00:01.500Z"},
    ]
    server.answers = [a_job(), {"items": points, "gaps": []}]
    frame = server.client().job(JOB_ID).steps()
    assert list(frame["loss"]) == [5.5, 5.0]
    assert frame.index.name == "step"
    assert (frame["at"].diff().dt.total_seconds().iloc[1]) == 1.5


def test_a_job_without_steps_is_an_empty_frame(server: Server, a_job: AJob) -> None:
    server.answers = [a_job(), {"items": [], "gaps": []}]
    frame = server.client().job(JOB_ID).steps()
    assert frame.empty
    assert frame["loss"].dtype == "float64"


def test_an_engine_that_reports_no_loss_leaves_numbers_that_can_be_drawn(server: Server, a_job: AJob) -> None:
    server.answers = [a_job(), {"items": [{"step": 1, "loss": None, "at": "2026-11-29T07:00:00.000Z"}], "gaps": []}]
    assert server.client().job(JOB_ID).steps()["loss"].dtype == "float64"


def test_learning_rate_and_gradient_norm_are_numbers_that_can_be_drawn(server: Server, a_job: AJob) -> None:
    point = {"step": 1, "loss": None, "gradNorm": None, "learningRate": 1e-4, "at": "2026-11-29T07:00:00.000Z"}
    server.answers = [a_job(), {"items": [point], "gaps": []}]
    frame = server.client().job(JOB_ID).steps()
    assert list(frame["learningRate"]) == [1e-4]
    assert frame["gradNorm"].dtype == "float64"


def test_layouts_of_a_plan_are_rows(server: Server) -> None:
    plan = {"layout": {"pipelineParallelDegree": 2}, "gpus": 2, "microBatchSize": 1, "prediction": {"stepTimeS": 2.0}}
    server.answers = [{"answer": {"best": plan, "plans": [plan, plan]}}]
    answer = server.client().plan("tiny", gpu="h100-80gb", gpus=2, global_batch_size=8, sequence_length=128)
    assert list(answer.to_frame()["layout"]) == ["pp2", "pp2"]
