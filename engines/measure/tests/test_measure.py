"""The program on the CPU, with a model of a hundred thousand parameters: what it computes, and what it writes down."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from coxswain_measure.device import DeviceFacts
from coxswain_measure.experts import Experts
from coxswain_measure.float8 import Float8Linear
from coxswain_measure.framework_row import measure_and_write
from coxswain_measure.model import Model
from coxswain_measure.primitives import PRIMITIVES
from coxswain_measure.rows import (
    DEEPSEEK,
    GPT_1B3,
    GPT_125M,
    LLAMA_1B,
    LLAMA_3B,
    MIXTRAL,
    OLMOE,
    QWEN,
    TINY,
    TINY_EXPERTS,
    TINY_LLAMA,
    Row,
    Shape,
    table,
)
from coxswain_measure.table import COLUMNS, Table, flops_per_token
from coxswain_measure.timing import Sizes
from coxswain_measure.training import Measured, MixedState, measure, times_between

CPU = torch.device('cpu')
A_GPU = DeviceFacts('NVIDIA H100', '2.11.0', '13.0', '580', 'flash', 132, 0, 'a host', {})


@pytest.fixture(scope='module', autouse=True)
def _leaves_no_group() -> Iterator[None]:
    """The program lives for one measurement and lets its process group end with it. Other tests of this process make their own."""
    yield
    if dist.is_initialized():
        dist.destroy_process_group()


def test_no_two_rows_have_one_name() -> None:
    names = [row.name for row in table()]
    assert len(set(names)) == len(names) >= 40


@pytest.mark.parametrize(
    ('shape', 'billions'),
    [
        *((GPT_125M, 0.1245), (GPT_1B3, 1.3137), (TINY_LLAMA, 1.1000), (LLAMA_1B, 1.2358), (LLAMA_3B, 3.2127)),
        *((replace(OLMOE, layers=16), 6.9191), (replace(MIXTRAL, layers=32), 46.7028)),
        *((replace(QWEN, layers=48), 30.5321), (replace(DEEPSEEK, layers=28), 16.3757)),
    ],
    ids=lambda value: value.name if isinstance(value, Shape) else '',
)
def test_a_model_has_as_many_parameters_as_its_published_namesake(shape: Shape, billions: float) -> None:
    with torch.device('meta'):
        model = Model(shape, 1024, recompute=False)
    assert sum(parameter.numel() for parameter in model.parameters()) / 1e9 == pytest.approx(billions, abs=5e-5)


@pytest.mark.parametrize(
    'row',
    [
        Row(TINY, 32, 2, accumulated=2),
        Row(TINY, 32, 2, engine='fsdp', accumulated=2),
        Row(TINY, 32, 2, precision='fp8', accumulated=2),
        Row(TINY_EXPERTS, 32, 2, accumulated=2),
        Row(TINY_EXPERTS, 32, 2, engine='fsdp', accumulated=2),
    ],
    ids=lambda row: row.name,
)
def test_a_row_is_trained_and_its_loss_falls(row: Row) -> None:
    seen = measure(row, CPU, steps=10)
    assert len(seen.step_times_s) == 10
    assert min(seen.step_times_s) > 0
    assert seen.last_loss < seen.first_loss
    assert (seen.allocated, seen.reserved, seen.device) == (0, 0, 0)  # of a CPU's memory nothing is claimed


@pytest.mark.parametrize('shape', [TINY, TINY_EXPERTS], ids=lambda shape: shape.name)
def test_recomputation_changes_no_loss(shape: Shape) -> None:
    plain, recomputed = (measure(Row(shape, 32, 2, recompute), CPU, steps=2) for recompute in (False, True))
    assert recomputed.last_loss == pytest.approx(plain.last_loss, abs=1e-3)


def test_experts_compute_what_a_loop_over_them_computes() -> None:
    torch.manual_seed(1)
    layer = Experts(TINY_EXPERTS).bfloat16()
    x = torch.randn(2, 16, TINY_EXPERTS.hidden, dtype=torch.bfloat16, requires_grad=True)
    gradient = torch.randn_like(x)
    weights = [x, layer.gate, layer.up, layer.down, layer.router.weight]
    seen = [layer(x), *torch.autograd.grad(layer(x), weights, gradient)]
    wanted = _looped(layer, x)
    for one, other in zip(seen, [wanted, *torch.autograd.grad(wanted, weights, gradient)], strict=True):
        assert (one - other).norm() / other.norm() < 0.02
    assert layer.ends[-1] == 2 * 16 * TINY_EXPERTS.topk


def _looped(layer: Experts, x: torch.Tensor) -> torch.Tensor:
    shares, chosen = layer.router(x).float().softmax(-1).topk(TINY_EXPERTS.topk)
    total = torch.zeros_like(x, dtype=torch.float32)
    for number in range(TINY_EXPERTS.experts):
        share = (shares * (chosen == number)).sum(-1, keepdim=True)
        hidden = torch.nn.functional.silu(x @ layer.gate[number].t()) * (x @ layer.up[number].t())
        total = total + share * (hidden @ layer.down[number].t())
    return total.bfloat16()


def test_an_even_load_is_even_whatever_the_router_says() -> None:
    layer = Experts(replace(TINY_EXPERTS, has_even_load=True)).bfloat16()
    layer(torch.ones(1, 16, TINY_EXPERTS.hidden, dtype=torch.bfloat16))
    assert layer.busiest() == 1.0


def test_products_in_fp8_are_those_in_bf16_but_for_rounding() -> None:
    torch.manual_seed(1)
    plain, float8 = torch.nn.Linear(64, 32).bfloat16(), Float8Linear(64, 32).bfloat16()
    float8.load_state_dict(plain.state_dict())
    x = torch.randn(2, 16, 64, dtype=torch.bfloat16, requires_grad=True)
    gradient = torch.randn(2, 16, 32, dtype=torch.bfloat16)
    results = [
        [layer(x), *torch.autograd.grad(layer(x), [x, layer.weight, layer.bias], gradient)] for layer in (plain, float8)
    ]
    for wanted, seen in zip(*results, strict=True):
        assert (seen - wanted).norm() / wanted.norm() < 0.08  # e5m2 has two bits behind the point


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


def test_a_row_of_experts_says_what_the_score_must_know(tmp_path: Path) -> None:
    written = Table(tmp_path / 'steps.csv', A_GPU, 'Somebody')
    measured = Measured([0.1, 0.1], 2_267_039_744, 1, 1, 1, 10.0, 9.0, busiest=1.5)
    written.add(1, Row(DEEPSEEK, 4096, 2), measured)
    with (tmp_path / 'steps.csv').open() as file:
        (cells,) = csv.DictReader(file)
    assert {name: cells[name] for name in ('experts', 'topk', 'ffn_hidden', 'precision')} == {
        'experts': '64',
        'topk': '6',
        'ffn_hidden': '1408',
        'precision': 'bf16',
    }
    for note in ('2 shared experts', '1 dense layer', 'dense layers ffn 10944', 'busiest expert 1.50 times the mean'):
        assert note in cells['notes'].split('; ')


def test_flops_count_the_experts_that_a_token_meets() -> None:
    idle = (TINY_EXPERTS.experts - TINY_EXPERTS.topk) * 3 * 64 * 128  # of the one layer that has experts
    assert flops_per_token(Row(TINY_EXPERTS, 32, 1), 512 * 64 + idle) == 6 * 2 * 64 * 32


def test_flops_count_the_output_matrix_once_and_no_table() -> None:
    parameters = 2 * 512 * 64 + 100
    assert flops_per_token(Row(TINY, 32, 1), parameters) == 6 * (512 * 64 + 100) + 6 * 2 * 64 * 32


def test_a_row_of_another_framework_is_written_like_ours(tmp_path: Path) -> None:
    asked: list[tuple[str, bool]] = []

    def train(engine: str, recompute: bool) -> Measured:
        asked.append((engine, recompute))
        return Measured([0.5, 0.25, 1.0], 10, 0, 0, 0, 2.0, 1.0)

    out = tmp_path / 'row.csv'
    measure_and_write(train, ['torchtitan', 'torchtitan fsdp'], ['torchtitan', '--recompute', '--out', str(out), '--number', '7'], CPU)
    assert asked == [('torchtitan', True)]
    with out.open() as file:
        (cells,) = csv.DictReader(file)
    assert (float(cells['iter_time_s']), cells['recompute'], cells['seq_len']) == (0.5, 'full', '4096')


def test_times_are_those_from_mark_to_mark() -> None:
    assert times_between([1.0, 1.5, 3.0]) == [0.5, 1.5]


@pytest.mark.parametrize('name', PRIMITIVES)
def test_a_primitive_is_measured_in_every_case_that_the_device_takes(name: str) -> None:
    points = PRIMITIVES[name](CPU, Sizes.tiny())
    assert points
    for point in points:
        times = [value for key, value in point.items() if key.endswith('seconds')]
        assert 'refused' in point or (times and all(isinstance(one, float) and one > 0 for one in times)), point
