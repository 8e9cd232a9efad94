"""Lines of a terminal and cards of a notebook."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from coxswain import Change
from coxswain._text import card, curve, duration
from coxswain._watch import Shown

AJob = Callable[..., dict[str, Any]]


class SomeJob:
    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.44, "0.4 s"), (51, "51 s"), (120, "2 min"), (200, "3 min 20 s"), (7_200, "2 h"), (7_500, "2 h 5 min")],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_watched_job_prints_why_it_waits_once_then_steps_and_its_end(a_job: AJob) -> None:
    printed: list[str] = []
    waits = {"reason": "WaitingForCapacity", "sentence": "4 of 8 GPUs are free.", "change": "Ask for 4."}
    shown = Shown(SomeJob(a_job()), printed.append, None)  # type: ignore[arg-type]
    at = "2026-11-29T07:00:05.000Z"
    point = {"step": 40, "loss": 1.5, "tokensPerSecond": 2500.0, "stepTimeMs": 500, "at": at}
    changes = [
        ("job", a_job(state="Queued", whyNotTraining=waits), 0),
        ("job", a_job(state="Queued", whyNotTraining=waits), 1),
        ("event", {"type": "Placed", "message": "On 1 node.\nMore.", "at": at}, 2),
        ("job", a_job(), 3),
        ("step", point, 4),
        ("step", {**point, "step": 41}, 4.5),
        ("job", a_job(state="Complete", summary="All ranks finished."), 6),
    ]
    for kind, data, now in changes:
        shown.change(Change(kind, data, None), now)
    shown.end()
    assert printed == [
        "WaitingForCapacity: 4 of 8 GPUs are free. Ask for 4.",
        "07:00:05  Placed: On 1 node.",
        "07:00:05  step 40 of 160, loss 1.5000, 2,500 tokens/s, 1 min left",
        "tiny: Complete. All ranks finished.",
    ]


def test_a_notebook_shows_one_card_that_changes(a_job: AJob) -> None:
    cards: list[str] = []
    shown = Shown(SomeJob(a_job()), lambda line: pytest.fail(line), cards.append)  # type: ignore[arg-type]
    for step, now in ((1, 0.0), (2, 0.2), (3, 1.5)):
        shown.change(Change("step", {"step": step, "loss": 9.0 - step}, None), now)
    shown.change(Change("job", a_job(state="Complete"), None), 1.6)
    assert len(cards) == 3
    assert "Loss from 8.0000 at step 1 to 6.0000 at step 3" in cards[-1]


@pytest.mark.parametrize(
    ("steps", "want"),
    [
        ([1, 2, 3, 2], [1, 2]),
        (list(range(1, 401)), list(range(1, 401, 2))),
    ],
    ids=["a restarted job trains steps again", "a long curve is thinned"],
)
def test_the_curve_of_a_card(a_job: AJob, steps: list[int], want: list[int]) -> None:
    shown = Shown(SomeJob(a_job()), pytest.fail, lambda _card: None)  # type: ignore[arg-type]
    for step in steps:
        shown.change(Change("step", {"step": step, "loss": 1.0}, None), 0.0)
    assert [step for step, _loss in shown.losses] == want


def test_a_card_escapes_what_others_wrote(a_job: AJob) -> None:
    assert "<script>" not in card(a_job(name="<script>", summary="<script>"))


def test_a_curve_of_equal_losses_is_a_line() -> None:
    assert "points='0.0,0.0 420.0,0.0'" in curve([(1, 2.0), (2, 2.0)])
    assert curve([(1, 2.0)]) == ""
