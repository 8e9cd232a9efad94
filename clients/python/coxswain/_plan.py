"""The answer of the planner, as programs and notebooks use it."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any, cast

from ._errors import CoxswainError
from ._frame import data_frame

if TYPE_CHECKING:
    import pandas

    from . import types


def plan_request(
    model: str | Mapping[str, Any],
    gpu: str,
    gpus: int,
    global_batch_size: int,
    sequence_length: int,
    stack: str | None,
    pinned: Mapping[str, Any] | None,
    others: Mapping[str, Any],
) -> types.PlanRequestInput:
    """The request. `cluster=` among the others adds to GPU and number."""
    named = {"model": model} if isinstance(model, str) else {"modelShape": dict(model)}
    request: dict[str, Any] = {
        **named,
        **others,
        "cluster": {**others.get("cluster", {}), "gpu": gpu, "gpus": gpus},
        "globalBatchSize": global_batch_size,
        "sequenceLength": sequence_length,
    }
    if stack is not None:
        request["stack"] = stack
    if pinned is not None:
        request["pinned"] = dict(pinned)
    return cast("types.PlanRequestInput", request)


def predicted_axes(
    gpus: int, tensor: int, pipeline: int, context: int, pinned: Mapping[str, Any] | None
) -> dict[str, Any]:
    """What the planner must keep to answer for one layout. Raises CoxswainError if the degrees do not divide the GPUs."""
    model_ranks = tensor * pipeline * context
    if gpus % model_ranks != 0:
        raise CoxswainError(
            f"tensor {tensor} x pipeline {pipeline} x context {context} is {model_ranks} ranks, which does not divide {gpus} GPUs."
        )
    axes = {"tensor": tensor, "pipeline": pipeline, "context": context, "data": gpus // model_ranks}
    return {**axes, **(pinned or {})}


class PlanResult:
    """The layouts that the planner found."""

    def __init__(self, data: types.StoredPlan) -> None:
        #: The whole answer of the API.
        self.data = data

    @property
    def best(self) -> types.Plan:
        """The first layout. Raises CoxswainError with the planner's reason if nothing fits."""
        best = self.data["answer"].get("best")
        if best is None:
            raise CoxswainError(f"No layout fits: {self.why_nothing}")
        return best

    @property
    def plans(self) -> list[types.Plan]:
        """Layouts by time, the best first."""
        return self.data["answer"]["plans"]

    @property
    def why_nothing(self) -> str | None:
        """The rule that excludes every layout, and what to change; None: there are layouts."""
        return self.data["answer"].get("whyNothing")

    def to_frame(self) -> pandas.DataFrame:
        """A row per layout; needs pandas."""
        return data_frame(self._rows(), "rank")

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "rank": rank,
                "layout": layout_text(plan["layout"]),
                "gpus": plan["gpus"],
                "microBatchSize": plan["microBatchSize"],
                "stepTimeS": plan["prediction"]["stepTimeS"],
            }
            for rank, plan in enumerate(self.plans, start=1)
        ]

    def __repr__(self) -> str:
        rows = self._rows()
        if not rows:
            return f"<Plan: no layout fits: {self.why_nothing}>"
        first = rows[0]
        return (
            f"<Plan {first['layout']} on {first['gpus']} GPUs, {first['stepTimeS']:,.2f} s a step; {len(rows)} layouts>"
        )

    def _repr_html_(self) -> str:
        rows = self._rows()
        if not rows:
            return f"<p>No layout fits: {escape(str(self.why_nothing))}</p>"
        heads = "".join(f"<th>{escape(key)}</th>" for key in rows[0])
        lines = "".join(
            f"<tr>{''.join(f'<td>{escape(_shown(value))}</td>' for value in row.values())}</tr>" for row in rows
        )
        return f"<table><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>"


def layout_text(layout: types.ParallelLayout) -> str:
    """Such as `tp2 x pp4 x dp8`; degrees of 1 are left out."""
    degrees = [
        (short, cast("int", layout.get(key, 1)))
        for short, key in (
            ("tp", "tensorParallelDegree"),
            ("cp", "contextParallelDegree"),
            ("pp", "pipelineParallelDegree"),
            ("dp", "dataParallelDegree"),
        )
    ]
    shown = [f"{short}{degree}" for short, degree in degrees if degree > 1]
    return " x ".join(shown) or "one rank"


def _shown(value: Any) -> str:
    return f"{value:,.2f}" if isinstance(value, float) else str(value)
