"""Does every layout train the same model, and does every layout read every other's checkpoint?"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from gang import Degrees, Gang, run_gang
from torch.distributed.checkpoint.default_planner import _EmptyStateDictLoadPlanner
from torch.distributed.checkpoint.filesystem import FileSystemReader
from torch.distributed.checkpoint.state_dict_loader import _load_state_dict

TOLERANCE = 1e-5
"""Largest difference of loss, in nats, allowed between layouts in fp32; sums in another order differ by rounding."""


def largest_difference(gang: Gang, reference: Gang) -> float:
    seen, want = gang.losses(), reference.losses()
    assert seen
    difference = max(abs(loss - want[step]) for step, loss in seen.items())
    print(f'largest difference of loss over {len(seen)} steps: {difference:.2e}')
    return difference


@pytest.mark.parametrize('degrees', [(1, 2, 2), (2, 2, 1)], ids=['pp2 x dp2', 'tp2 x pp2'])
def test_the_loss_curve_is_that_of_one_process(degrees: Degrees, undisturbed: Gang, runs: Path) -> None:
    gang = run_gang(runs / 'curve-{}-{}-{}'.format(*degrees), degrees)
    assert len(gang.losses()) == 20
    assert largest_difference(gang, undisturbed) < TOLERANCE


def test_the_loss_curve_at_tp2_x_dp2_is_that_of_one_process(tensor_and_data: Gang, undisturbed: Gang) -> None:
    assert len(tensor_and_data.losses()) == 20
    assert largest_difference(tensor_and_data, undisturbed) < TOLERANCE


def test_the_model_learns(undisturbed: Gang) -> None:
    losses = undisturbed.losses()
    assert losses[20] < losses[1] - 1.0


def test_resuming_at_other_layouts_continues_the_undisturbed_curve(
    tensor_and_data: Gang, undisturbed: Gang, runs: Path
) -> None:
    second = run_gang(runs / 'tp1dp2', (1, 1, 2), save_every=5, resume_from=step_10(tensor_and_data))
    third = run_gang(runs / 'pp2dp2', (1, 2, 2), resume_from=second.save_dir / 'step-00000015')
    assert list(second.losses()) == list(range(11, 21))
    assert list(third.losses()) == list(range(16, 21))
    assert second.ranks[0].of_kind('resumed') == [{'kind': 'resumed', 'step': 10}]
    assert largest_difference(second, undisturbed) < TOLERANCE
    assert largest_difference(third, undisturbed) < TOLERANCE


def test_a_checkpoint_passed_through_other_layouts_keeps_every_bit(tensor_and_data: Gang, runs: Path) -> None:
    module = (str(Path(__file__).with_name('resave.py')),)
    padded = run_gang(runs / 'resave-tp3', (3, 1, 1), module=module, resume_from=step_10(tensor_and_data))
    uneven = run_gang(runs / 'resave-pp2dp3', (1, 2, 3), module=module, resume_from=step_10(padded))
    want = whole_state(step_10(tensor_and_data))
    assert len(want) == 3 * (1 + 4 * 6 + 2) + 3  # embedding; six in each layer; final norm and head; scalars
    for gang in (padded, uneven):
        seen = whole_state(step_10(gang))
        assert seen.keys() == want.keys()
        assert [key for key in want if not torch.equal(seen[key], want[key])] == []


def test_bf16_trains_close_to_fp32(undisturbed: Gang, runs: Path) -> None:
    gang = run_gang(runs / 'bf16', (2, 1, 1), precision='bf16')
    difference = largest_difference(gang, undisturbed)
    assert 0 < difference < 0.05


def step_10(gang: Gang) -> Path:
    return gang.save_dir / 'step-00000010'


def whole_state(directory: Path) -> dict[str, torch.Tensor]:
    """All tensors of a checkpoint, whole, read by PyTorch's own reader."""
    state: dict[str, torch.Tensor] = {}
    reader = FileSystemReader(directory)
    _load_state_dict(state, storage_reader=reader, planner=_EmptyStateDictLoadPlanner(), no_dist=True)
    flat: dict[str, torch.Tensor] = {}

    def flatten(prefix: str, value: object) -> None:
        if isinstance(value, torch.Tensor):
            flat[prefix] = value
        elif isinstance(value, dict):
            for key, inner in value.items():
                flatten(f'{prefix}.{key}', inner)

    flatten('', state)
    return flat
