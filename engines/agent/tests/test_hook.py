"""The hook wakes in ranks alone, leaves programs as they are, and sees what PyTorch really does on several ranks."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
from hooked import CARRIED, lay_out_hook, run_hooked

TRAIN = """
import torch
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.AdamW(model.parameters())
for _ in range({steps}):
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""

GROUP = """
import os, torch, torch.distributed as dist
dist.init_process_group('gloo')
def train(model, optimizer, steps=3):
    for _ in range(steps):
        model(torch.ones(2, 8)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
def layers():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(8, 16, bias=False), torch.nn.Linear(16, 8, bias=False))
{body}
dist.destroy_process_group()
"""


@pytest.mark.parametrize('name', sorted(json.loads(CARRIED.read_text())['files']))
def test_what_is_carried_is_python_3_8(name: str) -> None:
    ast.parse(json.loads(CARRIED.read_text())['files'][name], feature_version=(3, 8))


def test_steps_are_counted_and_timed_and_what_is_trained_is_told(tmp_path: Path) -> None:
    told, (ended,) = run_hooked(tmp_path, TRAIN.format(steps=4))
    assert (ended.returncode, ended.stderr) == (0, '')
    assert told.hellos() == [0]
    beats = [(beat['step'], beat.get('watermark')) for beat in told.of_rank(0, 'heartbeat')]
    assert (beats[0], beats[-1]) == ((1, None), (4, {'phase': 'ended', 'phaseAgeMs': 0, 'groups': []}))
    steps = told.of_rank(0, 'step')
    assert [step['step'] for step in steps] == [2, 3, 4]
    assert all(step['loss'] is None and step['tokens'] is None and step['stepTimeMs'] > 0 for step in steps)
    (trained,) = told.of_rank(0, 'trained')
    # Two moments in fp32 of 20 parameters, and a step for each of the two tensors.
    assert trained == {
        'kind': 'trained', 'worldSize': 1, 'backend': None, 'groups': [], 'mesh': [], 'wrappers': [],
        'parameters': 20, 'parameterBytes': 80, 'optimizerBytes': 168, 'optimizedParameters': 20,
    }  # fmt: skip


RATES: dict[str, tuple[str, float]] = {
    'a number': ('lr=1e-3', 1e-3),
    'a tensor of the CPU': ('lr=torch.tensor(0.25), foreach=False', 0.25),
    'that of the first of two groups': ('lr=0.5', 0.5),
}


@pytest.mark.parametrize('rate', RATES)
def test_the_learning_rate_of_a_step_is_told_as_the_step_used_it(rate: str, tmp_path: Path) -> None:
    given, want = RATES[rate]
    groups = "[{'params': [model.weight]}, {'params': [model.bias], 'lr': 9.0}]" if 'groups' in rate else 'model.parameters()'
    program = (
        TRAIN.format(steps=3)
        .replace('AdamW(model.parameters())', f'SGD({groups}, {given})')
        # As a scheduler does, after the step.
        .replace('zero_grad()', "zero_grad()\n    optimizer.param_groups[0]['lr'] = optimizer.param_groups[0]['lr'] * 0.5")
    )
    told, (ended,) = run_hooked(tmp_path, program)
    assert (ended.returncode, ended.stderr) == (0, '')
    assert [step['learningRate'] for step in told.of_rank(0, 'step')] == pytest.approx([want / 2, want / 4])


def test_a_training_of_one_step_tells_what_was_trained_as_well(tmp_path: Path) -> None:
    told, _ = run_hooked(tmp_path, TRAIN.format(steps=1))
    assert len(told.of_rank(0, 'trained')) == 1


def test_a_training_of_one_step_on_two_ranks_tells_of_the_group_that_is_gone_by_then(tmp_path: Path) -> None:
    body = 'model = layers()\ntrain(model, torch.optim.SGD(model.parameters()), steps=1)'
    told, _ = run_hooked(tmp_path, GROUP.replace('{body}', body), ranks=2)
    assert [told.of_rank(rank, 'trained')[0]['worldSize'] for rank in range(2)] == [2, 2]


def test_a_rank_that_trains_by_itself_is_told_as_alone_once_it_could_have_met_others(tmp_path: Path) -> None:
    for steps, early in ((9, 0), (10, 1)):
        (tmp_path / str(steps)).mkdir()
        program = TRAIN.format(steps=steps) + 'import os; os._exit(0) if not EARLY else None'.replace('EARLY', str(early))
        told, _ = run_hooked(tmp_path / str(steps), program, environment={'WORLD_SIZE': '4'})
        assert [fact['worldSize'] for fact in told.of_rank(0, 'trained')] == [1] * early


def test_a_program_that_ends_with_an_error_ends_with_its_own(tmp_path: Path) -> None:
    told, (ended,) = run_hooked(tmp_path, TRAIN.format(steps=2) + 'raise SystemExit(7)\n')
    assert ended.returncode == 7
    assert len(told.of_rank(0, 'step')) == 1


def test_after_a_checkpoint_steps_go_on_and_a_state_that_was_loaded_is_told(tmp_path: Path) -> None:
    loaded = TRAIN.format(steps=2).replace('for _', 'STATE\nfor _')
    state = 'optimizer.state_dict()'
    program = loaded.replace(
        'STATE',
        'for p in model.parameters(): p.grad = torch.zeros_like(p)\n'
        f"optimizer.register_step_post_hook(lambda *a: None)\nstate = {state}\n"
        "state['state'] = {i: {'step': torch.tensor(20.0), 'exp_avg': torch.zeros_like(p),"
        " 'exp_avg_sq': torch.zeros_like(p)} for i, p in enumerate(model.parameters())}\n"
        'optimizer.load_state_dict(state)',
    )
    # Without the variable the program has found the save itself: its steps go on all the same, and nothing was asked that it could have resumed from.
    for environment, resumed in (({'COXSWAIN_RESUME_STEP': '20'}, [20]), ({}, [])):
        folder = tmp_path / str(len(environment))
        folder.mkdir()
        told, (ended,) = run_hooked(folder, program, environment=environment)
        assert (ended.returncode, ended.stderr) == (0, '')
        assert [fact['step'] for fact in told.of_rank(0, 'resumed')] == resumed
        assert [fact['step'] for fact in told.of_rank(0, 'step')] == [22]


def test_a_state_that_was_not_loaded_is_not_told_as_resumed(tmp_path: Path) -> None:
    told, _ = run_hooked(tmp_path, TRAIN.format(steps=2), environment={'COXSWAIN_RESUME_STEP': '20'})
    assert told.of_rank(0, 'resumed') == []


NOT_WOKEN: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    'python -I, which takes no PYTHONPATH': (('-I',), {}),
    'python -S, which loads no sitecustomize': (('-S',), {}),
    'no RANK': ((), {'RANK': ''}),
    'no socket': ((), {'COXSWAIN_REPORT_SOCKET': ''}),
}


@pytest.mark.parametrize('why', NOT_WOKEN)
def test_nothing_speaks_in_a_process_with(why: str, tmp_path: Path) -> None:
    arguments, environment = NOT_WOKEN[why]
    # -S finds no PyTorch either; whether a hook has woken shows without.
    program = "import sys; print('coxswain_hook' in sys.modules)"
    told, (ended,) = run_hooked(tmp_path, program, arguments=arguments, environment=environment)
    assert ended.returncode == 0
    assert told.hellos() == []


def test_the_sitecustomize_that_it_stands_before_is_run_and_takes_its_name(tmp_path: Path) -> None:
    theirs = tmp_path / 'theirs'
    theirs.mkdir()
    (theirs / 'sitecustomize.py').write_text("import os\nos.environ['THEIRS'] = 'was run'\nanswer = 42\n")
    (theirs / 'usercustomize.py').write_text("import os\nos.environ['USERS'] = 'was run'\n")
    program = "import os, sitecustomize\nprint(os.environ['THEIRS'], sitecustomize.answer, sitecustomize.__file__)\n"
    for environment in ({}, {'COXSWAIN_REPORT_SOCKET': ''}):
        folder = tmp_path / str(len(environment))
        folder.mkdir()
        _, (ended,) = run_hooked(folder, program, path=(theirs,), environment=environment)
        assert ended.stdout == f'was run 42 {theirs}/sitecustomize.py\n', ended.stderr


def test_a_hook_that_is_broken_is_not_the_programs_trouble(tmp_path: Path) -> None:
    hook = lay_out_hook(tmp_path / 'broken')
    (hook / 'coxswain_hook/listener.py').write_text('raise ValueError\n')
    told, (ended,) = run_hooked(tmp_path, TRAIN.format(steps=2), environment={'PYTHONPATH': str(hook)})
    assert (ended.returncode, ended.stderr, told.hellos()) == (0, '', [])


@pytest.mark.parametrize('method', ['fork', 'spawn', 'forkserver'])
def test_loaders_of_data_say_nothing_and_leave_the_rank_its_connection(method: str, tmp_path: Path) -> None:
    program = """
import torch
class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, index):
        assert 'coxswain_hook' in __import__('sys').modules
        optimizer.step() if METHOD == 'fork' else None
        return torch.ones(4)
METHOD = '{method}'
if __name__ == '__main__':
    model = torch.nn.Linear(4, 4)
    optimizer = torch.optim.AdamW(model.parameters())
    def step(rows):
        model(rows).sum().backward()
        optimizer.step()
    step(torch.ones(2, 4))
    for rows in torch.utils.data.DataLoader(Rows(), batch_size=4, num_workers=2, multiprocessing_context=METHOD):
        step(rows)
""".replace('{method}', method)
    told, (ended,) = run_hooked(tmp_path, program)
    assert (ended.returncode, ended.stderr) == (0, '')
    assert told.hellos() == [0]
    assert [step['step'] for step in told.of_rank(0, 'step')] == [2, 3]


def test_ranks_that_a_program_spawns_under_other_numbers_do_not_speak_as_this_one(tmp_path: Path) -> None:
    program = """
import os, torch
def rank(number):
    global torch
    os.environ.update(RANK=str(number), WORLD_SIZE='2')
    torch.distributed.init_process_group('gloo')
    {train}
    torch.distributed.destroy_process_group()
if __name__ == '__main__':
    torch.multiprocessing.spawn(rank, nprocs=2)
""".replace('{train}', TRAIN.format(steps=2).strip().replace('\n', '\n    '))
    told, (ended,) = run_hooked(tmp_path, program)
    assert ended.returncode == 0, ended.stderr
    assert told.hellos() == [0]
    assert len(told.of_rank(0, 'step')) == 1


def test_a_step_that_is_compiled_is_compiled_as_without_the_hook(tmp_path: Path) -> None:
    program = (
        TRAIN.format(steps=3)
        .replace('optimizer.step()', 'step()')
        .replace('import torch', 'import torch\ntorch.manual_seed(0)')
        .replace('for _', "step = torch.compile(lambda: optimizer.step(), backend='eager')\nfor _")
    ) + 'print(torch._dynamo.utils.counters, [one.tolist() for one in model.parameters()])\n'
    said = []
    for name, environment in (('with', {}), ('without', {'COXSWAIN_REPORT_SOCKET': ''})):
        (tmp_path / name).mkdir()
        told, (ended,) = run_hooked(tmp_path / name, program, environment=environment)
        assert ended.returncode == 0, ended.stderr
        said.append((ended.stdout, len(told.of_rank(0, 'step'))))
    (with_hook, steps), (without, _) = said
    assert with_hook == without != ''
    assert steps == 2


TRAINED: dict[str, tuple[int, str, dict[str, Any]]] = {
    'DDP': (
        2,
        'model = torch.nn.parallel.DistributedDataParallel(layers())\n'
        'train(model, torch.optim.AdamW(model.parameters()))',
        {
            'worldSize': 2, 'backend': 'gloo', 'mesh': [],
            'wrappers': ['torch.nn.parallel.distributed.DistributedDataParallel'],
            'parameters': 256, 'parameterBytes': 1024, 'optimizedParameters': 256,
        },
    ),
    'FSDP2 on a mesh with a dimension of replicas': (
        4,
        "from torch.distributed.fsdp import fully_shard\n"
        "mesh = torch.distributed.init_device_mesh('cpu', (2, 2), mesh_dim_names=('dp_replicate', 'dp_shard'))\n"
        'model = layers()\n'
        'for layer in model: fully_shard(layer, mesh=mesh)\n'
        'fully_shard(model, mesh=mesh)\n'
        'train(model, torch.optim.AdamW(model.parameters()))',
        {
            'worldSize': 4, 'mesh': [{'name': 'dp_replicate', 'size': 2}, {'name': 'dp_shard', 'size': 2}],
            'wrappers': ['torch.distributed.fsdp.FSDPModule'],
            'parameters': 128, 'parameterBytes': 512, 'optimizedParameters': 128,
        },
    ),
    'FSDP that became a replica': (
        2,
        'from torch.distributed._composable.replicate_with_fsdp import replicate\n'
        'model = layers()\nreplicate(model)\n'
        'train(model, torch.optim.AdamW(model.parameters()))',
        {
            'wrappers': ['torch.distributed._composable.replicate_with_fsdp.ReplicateModule'],
            'parameters': 256, 'optimizedParameters': 256,
        },
    ),
    'tensor parallel': (
        2,
        'from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module\n'
        "mesh = torch.distributed.init_device_mesh('cpu', (2,), mesh_dim_names=('tp',))\n"
        "model = parallelize_module(layers(), mesh, {'0': ColwiseParallel(), '1': RowwiseParallel()})\n"
        'train(model, torch.optim.AdamW(model.parameters(), foreach=False))',
        {'mesh': [{'name': 'tp', 'size': 2}], 'wrappers': [], 'parameters': 128, 'optimizedParameters': 128},
    ),
    'ZeRO-1 of PyTorch': (
        2,
        'from torch.distributed.optim import ZeroRedundancyOptimizer\n'
        'model = torch.nn.parallel.DistributedDataParallel(layers())\n'
        'train(model, ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.AdamW))',
        {'parameters': 256, 'optimizedParameters': 128},
    ),
    'groups with names': (
        2,
        "dist.new_group([0, 1], group_desc='TENSOR_MODEL_PARALLEL_GROUP')\n"
        'model = layers()\ntrain(model, torch.optim.SGD(model.parameters()))',
        {'groups': [{'name': 'TENSOR_MODEL_PARALLEL_GROUP', 'size': 2}], 'optimizerBytes': 0},
    ),
}  # fmt: skip


@pytest.mark.parametrize('what', TRAINED)
def test_what_is_trained_is_seen_for(what: str, tmp_path: Path) -> None:
    ranks, body, expected = TRAINED[what]
    told, ended = run_hooked(tmp_path, GROUP.replace('{body}', body), ranks=ranks)
    assert [one.returncode for one in ended] == [0] * ranks, ended[0].stderr
    assert told.hellos() == list(range(ranks))
    for rank in range(ranks):
        (trained,) = told.of_rank(rank, 'trained')
        assert {key: trained[key] for key in expected} == expected
        assert [step['step'] for step in told.of_rank(rank, 'step')] == [2, 3]
