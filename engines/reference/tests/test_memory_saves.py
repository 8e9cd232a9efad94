"""Saves in memory: ranks that restart from one go on bit for bit, and none is ever worth a failure."""

from __future__ import annotations

import json
import resource
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.distributed as dist
from coxswain_reference.memory_saves import MemorySaves
from coxswain_reference.progress import Progress
from coxswain_reference.settings import MemorySettings
from gang import Gang, run_gang

LAYOUT = (2, 1, 2)
KILLED_AT = 15
SAVED = 12
"""In memory; the checkpoint has step 10."""


def memory(folder: Path, **more: object) -> dict[str, str]:
    """What the launcher gives its ranks."""
    return {
        'COXSWAIN_MEMORY_DIR': str(folder),
        'COXSWAIN_MEMORY_SAVE_EVERY': '4',
        'COXSWAIN_MEMORY_SAVE_BYTES': str(1 << 30),
    } | {f'COXSWAIN_{name}': str(value) for name, value in more.items()}


def saves(folder: Path) -> list[list[str]]:
    return [sorted(path.name for path in (folder / f'rank-{rank}').glob('*')) for rank in range(4)]


@pytest.fixture(scope='module')
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a gang with a killed rank has left in memory."""
    folder = tmp_path_factory.mktemp('killed')
    fault = json.dumps({'rank': 3, 'step': KILLED_AT, 'kind': 'sigkill'})
    environment = memory(folder / 'memory', INCARNATION=1) | {'ENGINE_FAULT': fault}
    with Gang(folder, LAYOUT, environment=environment) as gang:
        gang.ranks[3].process.wait()
    return folder / 'memory'


def restart(folder: Path, tensor_and_data: Gang) -> Gang:
    """The ranks that follow those that were killed."""
    environment = memory(folder / 'memory', INCARNATION=2, MEMORY_RESUME=f'1-{SAVED}')
    return run_gang(folder, LAYOUT, environment=environment, resume_from=tensor_and_data.save_dir / 'step-00000010')


def test_ranks_restart_from_memory_bit_for_bit(tmp_path: Path, killed: Path, tensor_and_data: Gang) -> None:
    assert saves(killed) == [['1-12', '1-8']] * 4
    shutil.copytree(killed, tmp_path / 'memory')
    again = restart(tmp_path, tensor_and_data)
    assert [fact['step'] for rank in again.ranks for fact in rank.of_kind('resumed')] == [SAVED] * 4
    assert again.losses() == {step: loss for step, loss in tensor_and_data.losses().items() if step > SAVED}
    assert saves(tmp_path / 'memory') == [['2-16', '2-20']] * 4


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def test_all_ranks_begin_from_the_checkpoint_if_one_cannot_read_its_save(
    tmp_path: Path, killed: Path, tensor_and_data: Gang
) -> None:
    shutil.copytree(killed, tmp_path / 'memory')
    cut(tmp_path / 'memory' / 'rank-3' / f'1-{SAVED}')
    again = restart(tmp_path, tensor_and_data)
    assert [fact['step'] for rank in again.ranks for fact in rank.of_kind('resumed')] == [10] * 4
    assert again.losses() == {step: loss for step, loss in tensor_and_data.losses().items() if step > 10}
    assert 'All ranks begin from the checkpoint: rank 3 cannot begin from save 1-12 in memory' in again.log(0)
    assert saves(tmp_path / 'memory') == [['2-16', '2-20']] * 4


def saving(folder: Path, *, incarnation: int = 1, resume: str | None = None, most_bytes: int = 1 << 30) -> MemorySaves:
    settings: Any = SimpleNamespace(
        process=SimpleNamespace(rank=0, incarnation=incarnation),
        layout=SimpleNamespace(tensor_parallel_degree=1, pipeline_parallel_degree=1, data_parallel_degree=1),
        model=SimpleNamespace(layers=2),
    )
    return MemorySaves(settings, MemorySettings(folder, 1, most_bytes, resume))


def state(value: float = 0.0) -> Any:
    return SimpleNamespace(states={name: torch.full((4096,), value) for name in ('master', 'exp_avg')})


def kept(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / 'rank-0').glob('*'))


@pytest.fixture(scope='module')
def alone() -> Iterator[dist.ProcessGroup]:
    dist.init_process_group('gloo', store=dist.HashStore(), rank=0, world_size=1)
    yield dist.group.WORLD
    dist.destroy_process_group()


def test_a_save_is_read_back_as_it_was(tmp_path: Path, alone: dist.ProcessGroup) -> None:
    saving(tmp_path).save(state(3.5), Progress(7, 70, 1))
    read = state()
    assert saving(tmp_path, incarnation=2, resume='1-7').restore(read, alone) == Progress(7, 70, 1)
    assert all(bool((one == 3.5).all()) for one in read.states.values())


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    ('damage', 'complaint'),
    [
        (cut, 'it has 36863 bytes, and 36864 are expected'),
        (flip, 'content is not what was saved'),
        (Path.unlink, 'No such file'),
        (lambda path: path.write_bytes(path.with_name('1-6').read_bytes()), 'it is that of step 6'),
        (lambda path: path.write_bytes(path.read_bytes().replace(b'"layers": 2', b'"layers": 3')), 'another model'),
        (lambda path: path.write_bytes(path.read_bytes().replace(b'"seed": 1', b'"seed": 2')), 'not what was saved'),
        (lambda path: path.write_bytes(b'[' + path.read_bytes()[1:]), 'cannot begin'),
        (lambda path: path.write_bytes(b'{}'.ljust(36864)), 'cannot begin'),
    ],
    ids=['cut', 'flipped', 'gone', 'of an older step', 'of another model', 'progress', 'no JSON', 'empty'],
)
def test_nothing_is_taken_up_from_a_save_that_is(
    tmp_path: Path,
    alone: dist.ProcessGroup,
    capsys: pytest.CaptureFixture[str],
    damage: Callable[[Path], object],
    complaint: str,
) -> None:
    before = saving(tmp_path)
    before.save(state(2.0), Progress(6, 60, 1))
    before.save(state(3.5), Progress(7, 70, 1))
    damage(tmp_path / 'rank-0' / '1-7')
    read = state()
    assert saving(tmp_path, incarnation=2, resume='1-7').restore(read, alone) is None
    assert all(bool((one == 0).all()) for one in read.states.values())
    assert complaint in capsys.readouterr().err
    assert kept(tmp_path) == []


@pytest.mark.parametrize(
    ('folder', 'most_bytes', 'complaint'),
    [
        ('memory', 36863, 'it takes 36864 bytes on rank 0, and checkpoint.memory.sizePerGpu allows 36863; raise it.'),
        ('/proc/none', 1 << 30, 'No such file or directory'),
    ],
    ids=['too large', 'no such place'],
)
def test_training_goes_on_without_a_save_and_is_told_why_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], folder: str, most_bytes: int, complaint: str
) -> None:
    memory_saves = saving(tmp_path / folder, most_bytes=most_bytes)
    for step in (1, 2, 3):
        memory_saves.save(state(), Progress(step, step, 1))
    printed = capsys.readouterr().err
    assert printed.count('cannot be saved in memory, and training goes on') == 1
    assert complaint in printed


def test_a_full_memory_leaves_the_save_before_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    memory_saves = saving(tmp_path)
    memory_saves.save(state(), Progress(1, 1, 1))
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, most))
    try:
        memory_saves.save(state(), Progress(2, 2, 1))
        memory_saves.save(state(), Progress(3, 3, 1))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    assert kept(tmp_path) == ['1-1']
    assert capsys.readouterr().err.count('cannot be saved in memory') == 1
    memory_saves.save(state(), Progress(4, 4, 1))
    assert kept(tmp_path) == ['1-1', '1-4']
