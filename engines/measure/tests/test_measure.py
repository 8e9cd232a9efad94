"""The program on the CPU, with a model of a hundred thousand parameters: what it computes, and what it writes down."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
import torch
from coxswain_measure.device import DeviceFacts
from coxswain_measure.model import Model
from coxswain_measure.primitives import PRIMITIVES, Sizes
from coxswain_measure.rows import GPT_125M, GPT_1B3, LLAMA_1B, LLAMA_3B, TINY, TINY_LLAMA, Row, Shape, table
from coxswain_measure.table import COLUMNS, Table, flops_per_token
from coxswain_measure.training import Measured, MixedState, measure

CPU = torch.device('cpu')
A_GPU = DeviceFacts('NVIDIA H100', '2.11.0', '13.0', '580', 'flash', 132, 0, 'a host', {})


def test_no_two_rows_have_one_name() -> None:
    names = [row.name for row in table()]
    assert len(set(names)) == len(names) >= 40


@pytest.mark.parametrize(
    ('shape', 'billions'),
    [(GPT_125M, 0.1245), (GPT_1B3, 1.3137), (TINY_LLAMA, 1.1000), (LLAMA_1B, 1.2358), (LLAMA_3B, 3.2127)],
    ids=lambda value: value.name if isinstance(value, Shape) else '',
)
def test_a_model_has_as_many_parameters_as_its_published_namesake(shape: Shape, billions: float) -> None:
    with torch.device('meta'):
        model = Model(shape, 1024, recompute=False)
    assert sum(parameter.numel() for parameter in model.parameters()) / 1e9 == pytest.approx(billions, abs=5e-5)


@pytest.mark.parametrize('engine', ['eager', 'fsdp'])
def test_a_row_is_trained_and_its_loss_falls(engine: str) -> None:
    seen = measure(Row(TINY, 32, 2, engine=engine, accumulated=2), CPU, steps=10)
    assert len(seen.step_times_s) == 10
    assert min(seen.step_times_s) > 0
    assert seen.last_loss < seen.first_loss
    assert (seen.allocated, seen.reserved, seen.device) == (0, 0, 0)  # of a CPU's memory nothing is claimed


def test_recomputation_changes_no_loss() -> None:
    plain, recomputed = (measure(Row(TINY, 32, 2, recompute), CPU, steps=2) for recompute in (False, True))
    assert recomputed.last_loss == pytest.approx(plain.last_loss, abs=1e-3)


def test_the_weights_are_the_master_weights_rounded_and_gradients_begin_anew() -> None:
    model = torch.nn.Linear(4, 3).bfloat16()
    state = MixedState(model)
    for _ in range(2):
        model(torch.ones(2, 4, dtype=torch.bfloat16)).sum().backward()
    (master, *_), (gradient, *_) = state._masters, state._gradients
    assert gradient.tolist() == [[4.0] * 4] * 3  # two backward passes, two samples each, added up in fp32
    assert model.weight.grad is None
    state.step()
    assert torch.equal(model.weight, master.bfloat16())
    assert not gradient.any()


def test_a_row_is_written_in_the_columns_of_the_score(tmp_path: Path) -> None:
    written = Table(tmp_path / 'steps.csv', A_GPU, 'Somebody 1')
    row = Row(GPT_125M, 1024, 4, recompute=True, accumulated=2)
    measured = Measured([0.3, 0.1, 0.2], 124_000_000, 2**30, 2**31, 2**32, 10.0, 9.0)
    written.add(7, row, measured)
    written.add(8, row, None)
    with (tmp_path / 'steps.csv').open() as file:
        fits, does_not = csv.DictReader(file)
    assert tuple(fits) == tuple(COLUMNS)
    assert {name: fits[name] for name in ('id', 'mbs', 'gbs', 'recompute', 'iter_time_s', 'mem_per_gpu_gib')} == {
        'id': 'somebody-1-0007',
        'mbs': '4',
        'gbs': '8',
        'recompute': 'full',
        'iter_time_s': '0.200000',
        'mem_per_gpu_gib': '1.000',
    }
    assert does_not['iter_time_s'] == does_not['mem_per_gpu_gib'] == ''
    assert does_not['notes'].endswith('; out of memory')


def test_flops_count_the_output_matrix_once_and_no_table() -> None:
    parameters = 2 * 512 * 64 + 100
    assert flops_per_token(Row(TINY, 32, 1), parameters) == 6 * (512 * 64 + 100) + 6 * 2 * 64 * 32


@pytest.mark.parametrize('name', PRIMITIVES)
def test_a_primitive_is_measured_in_every_case_that_the_device_takes(name: str) -> None:
    points = PRIMITIVES[name](CPU, Sizes.tiny())
    assert points
    for point in points:
        times = [value for key, value in point.items() if key.endswith('seconds')]
        assert 'refused' in point or (times and all(isinstance(one, float) and one > 0 for one in times)), point
