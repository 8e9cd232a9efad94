"""How far a rank has come: by a clock of its own, and in real programs with the hook beside them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Callable

import pytest
from hooked import run_hooked

sys.path.insert(0, str(Path(__file__).parents[1] / 'hook'))
from coxswain_hook.marks import Marks  # noqa: E402


def taken(act: Callable[[Marks, Callable[[float], None]], Any]) -> dict[str, float | None]:
    """What is told at 10 s, after `act`, which may set the time."""
    now = [0.0]
    marks = Marks(lambda: now[0])
    act(marks, lambda at: now.__setitem__(0, at))
    now[0] = 10.0
    return marks.take_news()


def loaded(marks: Marks, set_time: Callable[[float], None]) -> None:
    for at, phase in ((1, 'starting'), (4, 'starting'), (6, None)):
        set_time(at)
        marks.look(phase)
    set_time(8)
    marks.stepped()


def twice(marks: Marks, set_time: Callable[[float], None]) -> None:
    set_time(2)
    marks.met()
    set_time(5)
    marks.met()


def told_before(marks: Marks, _: object) -> None:
    marks.imported()
    marks.take_news()


@pytest.mark.parametrize(
    ('act', 'told'),
    [
        (lambda marks, _: None, {}),
        (lambda marks, _: marks.imported(), {'imported': 10_000.0}),
        (twice, {'met': 8_000.0}),
        (loaded, {'loaded': 6_000.0}),
        (lambda marks, _: marks.stepped(), {'loaded': None}),
        (lambda marks, _: marks.look('starting'), {}),
        (told_before, {}),
    ],
    ids=[
        'nothing yet',
        'an age',
        'the first time that a mark is passed',
        'the last moment that loading was seen',
        'loading that nobody has seen is not known',
        'a load that may go on',
        'nothing twice',
    ],
)
def test_marks(act: Any, told: dict[str, float | None]) -> None:
    assert taken(act) == told


PROGRAM = """
import importlib.util, os, time
assert importlib.util.find_spec('torch') is not None
import torch, torch.distributed as dist
dist.init_process_group('gloo')
def load_checkpoint():
    time.sleep(0.6)
load_checkpoint()
time.sleep(0.3)
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters())
for _ in range(2):
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
dist.destroy_process_group()
"""


def test_a_program_that_looks_for_pytorch_first_and_loads_has_every_mark_in_order(tmp_path: Path) -> None:
    told, ended = run_hooked(tmp_path, PROGRAM, ranks=2)
    assert [one.returncode for one in ended] == [0, 0], ended[0].stderr
    for rank in range(2):
        facts = [line for lines in told.connections if lines[0]['rank'] == rank for line in lines]
        first_step = next(index for index, fact in enumerate(facts) if fact.get('step') == 1)
        before = {name: age for fact in facts[:first_step] if fact['kind'] == 'marks' for name, age in fact.items()}
        assert set(before) == {'kind', 'imported', 'met', 'loaded'}
        # Ages as of two messages: each is at least as long ago as what followed it.
        assert 0 < before['met'] <= before['imported']
        # The program sleeps for 0.3 s after it has loaded.
        assert before['loaded'] >= 250
