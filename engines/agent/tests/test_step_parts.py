"""What of a step was a rank's own, and what was waiting for others."""

from __future__ import annotations

import statistics
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hooked import Told, run_hooked

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'hook'))
from coxswain_hook.own_time import OwnTime  # noqa: E402
from coxswain_hook.step_parts import Nothing, OwnSteps, StepParts  # noqa: E402
from coxswain_hook.step_samples import StepSamples  # noqa: E402


def steps_of(own_seconds: list[float | None], disturbed_at: int | None = None) -> list[Any]:
    """Of steps of one second, in which the thread was at work for so long by then."""
    now = iter(range(len(own_seconds)))
    own = iter(own_seconds)
    steps = OwnSteps(OwnTime(lambda: next(own), lambda: float(next(now))))
    told = []
    for number in range(len(own_seconds)):
        if number == disturbed_at:
            steps.watch('saving')
        steps.watch('training')
        told.append(steps.ended(1.0))
    return told


def test_what_a_rank_on_a_cpu_was_not_at_work_it_waited() -> None:
    assert steps_of([5.0, 5.75, 6.75, 6.75]) == [
        None,
        {'compute': 750.0, 'communication': 250.0},
        {'compute': 1000.0, 'communication': 0.0},
        {'compute': 0.0, 'communication': 1000.0},
    ]


def test_what_the_kernel_rounds_makes_no_step_longer_than_it_was() -> None:
    assert steps_of([5.0, 6.002])[1] == {'compute': 1000.0, 'communication': 0.0}


def test_nothing_is_told_where_the_kernel_says_nothing() -> None:
    assert steps_of([5.0, None, 6.0, 6.5])[1:] == [None, None, {'compute': 500.0, 'communication': 500.0}]


def test_a_step_in_which_the_rank_saved_is_not_told_in_parts() -> None:
    assert [one is None for one in steps_of([0.0, 0.5, 1.0, 1.5], disturbed_at=2)] == [True, False, True, False]


CHOICES: dict[str, tuple[str, int, bool, tuple[str, ...], type | None]] = {
    'a rank that talks by gloo': ('gloo', 2, False, (), OwnSteps),
    'ranks on GPUs': ('nccl', 2, True, (), StepSamples),
    'ranks on GPUs that talk by gloo too': ('cpu:gloo,cuda:nccl', 2, True, (), StepSamples),
    'ranks on GPUs that talk by gloo alone': ('gloo', 2, True, (), Nothing),
    'others, which wait by working': ('mpi', 2, False, (), Nothing),
    'a rank that is alone': ('gloo', 1, False, (), Nothing),
    'an engine that tells of its waiting by itself': ('gloo', 2, False, ('coxswain_agent',), Nothing),
    'ranks that have no group yet': ('', 2, False, (), None),
}


@pytest.mark.parametrize('what', CHOICES)
def test_how_it_is_known_fits_to(what: str) -> None:
    backend, ranks, on_gpu, more, expected = CHOICES[what]
    distributed = SimpleNamespace(
        is_initialized=lambda: backend != '', _world=SimpleNamespace(pg_map={'group': (backend, 'store')})
    )
    cuda = SimpleNamespace(is_available=lambda: on_gpu, is_initialized=lambda: on_gpu)
    modules = {
        'torch': SimpleNamespace(cuda=cuda),
        'torch.distributed.distributed_c10d': distributed,
        **dict.fromkeys(more),
    }
    parts = StepParts(modules, ranks, True)
    parts.begin(1)
    assert (None if parts._how is None else type(parts._how)) is expected
    # On a GPU only where the job says so.
    unasked = StepParts(modules, ranks, False)
    unasked.begin(1)
    assert (None if unasked._how is None else type(unasked._how)) is (Nothing if expected is StepSamples else expected)


TRAIN = """
import os, time, torch, torch.distributed as dist
rank = int(os.environ['RANK'])
dist.init_process_group('gloo')
torch.manual_seed(0)
model = torch.nn.Sequential(*(torch.nn.Linear(64, 64) for _ in range(4)))
{wrap}
optimizer = torch.optim.SGD(model.parameters())
rows = torch.ones(8, 64)
def compute_longer(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        rows @ rows.T
for _ in range(20):
    out = model(rows).sum()
    compute_longer({slow})
    out.backward()
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
"""
WRAPS = {
    'DDP': 'model = torch.nn.parallel.DistributedDataParallel(model)',
    'FSDP2': 'from torch.distributed.fsdp import fully_shard\nfor layer in model: fully_shard(layer)\nfully_shard(model)',
    'a collective that is awaited later': (
        'def average(parameter):\n'
        '    dist.all_reduce(parameter.grad, async_op=True).wait()\n'
        'for parameter in model.parameters(): parameter.register_post_accumulate_grad_hook(average)'
    ),
}


def trained(folder: Path, *, wrap: str = 'DDP', slow: str = '0', environment: dict[str, str] | None = None) -> Told:
    program = TRAIN.replace('{wrap}', WRAPS[wrap]).replace('{slow}', slow)
    told, ended = run_hooked(folder, program, ranks=2, environment=environment)
    assert [(one.returncode, one.stderr) for one in ended] == [(0, ''), (0, '')]
    assert [beat['faults'] for rank in range(2) for beat in told.of_rank(rank, 'heartbeat') if 'faults' in beat] == []
    return told


def parts_of(told: Told, rank: int) -> list[dict[str, float]]:
    return [step['timingsMs'] for step in told.of_rank(rank, 'step') if step['timingsMs']]


@pytest.mark.parametrize('wrap', WRAPS)
def test_the_rank_that_others_wait_for_computes_and_they_wait_with(wrap: str, tmp_path: Path) -> None:
    told = trained(tmp_path, wrap=wrap, slow='0.4 if rank == 1 else 0.03')
    fast, slow = (
        {name: statistics.median(step[name] for step in parts_of(told, rank)) for name in ('compute', 'communication')}
        for rank in range(2)
    )
    assert slow['compute'] > 400
    # A wait for a processor counts as a rank's own: other programs lengthen both, so one is measured by the other,
    # and what FSDP itself takes of one is little beside it.
    assert fast['compute'] < slow['compute'] / 2
    assert fast['communication'] - slow['communication'] > 150


def test_no_parts_are_told_where_the_job_says_so(tmp_path: Path) -> None:
    told = trained(tmp_path, environment={'HOOK_STEP_PARTS': '0'})
    assert [parts_of(told, rank) for rank in range(2)] == [[], []]
    assert len(told.of_rank(0, 'step')) == 19
