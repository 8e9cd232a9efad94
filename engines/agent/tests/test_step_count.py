"""Steps are counted from calls of optimizers, however many a training has."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'hook'))
from coxswain_hook.step_count import StepCount  # noqa: E402

CALLS: dict[str, tuple[str, list[int | None]]] = {
    'one optimizer': ('aaa', [1, 2, 3]),
    'an optimizer for each part of the model': ('abcabc', [1, None, None, 2, None, None]),
    'one that is called every second step': ('abaab', [1, None, 2, 3, None]),
    'another one after the first is gone': ('aabbb', [1, 2, None, 3, 4]),
    'two others after both are gone': ('ababcdcdcd', [1, None, 2, None, None, None, 3, None, 4, None]),
}


@pytest.mark.parametrize('what', CALLS)
def test_steps_of(what: str) -> None:
    calls, steps = CALLS[what]
    count = StepCount(1)
    assert [count.called(key) for key in calls] == steps


def test_steps_after_a_checkpoint_go_on_from_it() -> None:
    assert StepCount(21).called('a') == 21
