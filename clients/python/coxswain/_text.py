"""Lines and cards for terminals and notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import types
    from ._events import Change

_CARD = "border:1px solid #8884;border-radius:6px;padding:8px 12px;max-width:46em;font-family:system-ui,sans-serif"
_WIDTH, _HEIGHT = 420, 90


def duration(seconds: float) -> str:
    """Such as `2 h 5 min`, `3 min 20 s`, `4.2 s`."""
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def change_line(change: Change, job: types.Job, last_loss: float | None = None) -> str | None:
    """The line of a change; None: it has none. last_loss: for a step without one, as many programs print every tenth."""
    if change.kind == "event":
        return f"{clock(change.data['at'])}  {change.data['type']}: {first_line(change.data['message'])}"
    if change.kind == "step":
        return f"{clock(change.data['at'])}  {step_line(change.data, job, last_loss)}"
    return None


def step_line(point: types.StepPoint, job: types.Job, last_loss: float | None = None) -> str:
    """Such as `step 40 of 160, loss 1.9211, 2,500 tokens/s, 51 s left`."""
    total = job["totalSteps"]
    parts = [f"step {point['step']}" + ("" if total is None else f" of {total}")]
    loss = last_loss if point["loss"] is None else point["loss"]
    if loss is not None:
        parts.append(f"loss {loss:.4f}")
    if point["tokensPerSecond"] is not None:
        parts.append(f"{point['tokensPerSecond']:,.0f} tokens/s")
    if total is not None:
        parts.append(f"{duration(max(total - point['step'], 0) * point['stepTimeMs'] / 1000)} left")
    return ", ".join(parts)


def wait_line(job: types.Job) -> str | None:
    """Why the job does not train yet, and the smallest change that helps; None: it trains, or has ended."""
    verdict = job["whyNotTraining"]
    if verdict is None:
        return None
    change = "" if verdict["change"] is None else f" {verdict['change']}"
    return f"{verdict['reason']}: {verdict['sentence']}{change}"


def end_line(job: types.Job) -> str:
    """Name, state and summary."""
    return f"{job['name']}: {job['state']}. {job['summary']}"


def card(job: types.Job, losses: Sequence[tuple[int, float]] = ()) -> str:
    """HTML of a job: state, why it waits, progress, and its loss curve."""
    progress = job["progress"]
    rows = [("State", f"{job['state']}. {job['summary']}"), ("GPUs", str(job["gpus"]))]
    waits = wait_line(job)
    if waits is not None:
        rows.append(("Waits", waits))
    if progress is not None:
        total = "" if job["totalSteps"] is None else f" of {job['totalSteps']}"
        rows.append(("Step", f"{progress['step']}{total}"))
    if job["checkpoint"] is not None:
        rows.append(("Checkpoint", f"step {job['checkpoint']['step']}"))
    cells = "".join(
        f"<tr><th style='text-align:left;padding-right:1em;vertical-align:top'>{key}</th><td style='text-align:left'>{escape(value)}</td></tr>"
        for key, value in rows
    )
    return f"<div style='{_CARD}'><b>{escape(job['name'])}</b><table>{cells}</table>{curve(losses)}</div>"


def curve(losses: Sequence[tuple[int, float]]) -> str:
    """SVG of a loss curve; nothing for fewer than two points."""
    if len(losses) < 2:
        return ""
    steps = [step for step, _loss in losses]
    values = [loss for _step, loss in losses]
    wide = (max(steps) - min(steps)) or 1
    high = (max(values) - min(values)) or 1
    points = " ".join(
        f"{(step - min(steps)) / wide * _WIDTH:.1f},{(max(values) - loss) / high * _HEIGHT:.1f}"
        for step, loss in losses
    )
    label = f"Loss from {values[0]:.4f} at step {steps[0]} to {values[-1]:.4f} at step {steps[-1]}"
    return (
        f"<svg viewBox='0 -4 {_WIDTH} {_HEIGHT + 8}' width='{_WIDTH}' role='img' aria-label='{label}'>"
        f"<polyline fill='none' stroke='currentColor' stroke-width='1.5' points='{points}'/></svg>"
        f"<div style='font-size:smaller'>{label}</div>"
    )


def clock(at: str) -> str:
    """Hours, minutes and seconds of a time of the API (UTC)."""
    return at[11:19]


def first_line(text: str) -> str:
    """The text up to its first line end."""
    return text.split("\n", 1)[0]


def losses_of(points: Sequence[types.StepPoint]) -> list[tuple[int, float]]:
    """Step and loss of the points that have one."""
    return [(point["step"], point["loss"]) for point in points if point["loss"] is not None]
