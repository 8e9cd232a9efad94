"""Which of two ranks on one GPU is slow, as the hook tells it, and what it costs to look. Run by `on_a_gpu.py --only slow`.

Two processes share the GPU by turns, so that all that one computes takes up to twice as long while the other computes, or waits, which NCCL does by computing.
"""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

from hooked import Told, run_hooked

TRAINED_SECONDS = 25
# More often than in a training, to have some samples in so short a time.
SAMPLES_EVERY_SECONDS = 1.5

HEAD = """
import os, sys
rank = int(os.environ['RANK'])
os.environ.update(NCCL_HOSTID='host-%d' % rank, NCCL_SOCKET_IFNAME='lo', NCCL_IB_DISABLE='1')
import json, time, torch, torch.distributed as dist
from torch.distributed.fsdp import fully_shard
import coxswain_hook.step_samples as samples
samples.EVERY_SECONDS, samples.COST_SHARE = OFTEN, 1.0
torch.cuda.set_device(0)
dist.init_process_group('nccl')
torch.manual_seed(0)
# A GPU that is shared takes turns between processes: the fewer rows, the more of a step is NCCL's.
rows = torch.ones(32768, 1024, device='cuda')
model = torch.nn.Sequential(*(torch.nn.Linear(1024, 1024, device='cuda') for _ in range(8)))
SHARD
optimizer = torch.optim.AdamW(model.parameters(), fused=True)
weights = torch.ones(1024, 1024, device='cuda')
def compute_longer():
    with torch.no_grad():
        for _ in range(12):
            rows @ weights
def step():
    loss = model(rows).sum()
    SLOW
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
def all_go_on(until):
    go = torch.tensor([float(time.time() < until)], device='cuda')
    dist.all_reduce(go, op=dist.ReduceOp.MIN)
    return go.item() > 0
for _ in range(5):
    step()
torch.cuda.synchronize()
until, begun, steps = time.time() + LONG, time.perf_counter(), 0
BEFORE
while all_go_on(until):
    for _ in range(4):
        step()
        AFTER
        steps += 1
torch.cuda.synchronize()
print(json.dumps({'steps': steps, 'stepMs': (time.perf_counter() - begun) / steps * 1e3, DONE}))
"""
SHARDED = 'for layer in model: fully_shard(layer)\nfully_shard(model)'
NOTHING = {'SHARD': SHARDED, 'SLOW': 'pass', 'BEFORE': '', 'AFTER': 'pass', 'DONE': ''}
CASES: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    'nobody is slow': ({}, {}),
    'nobody is slow, and no step is looked into': ({}, {'HOOK_STEP_PARTS': '0'}),
    'kernels of rank 1 take half as long again': ({'SLOW': 'compute_longer() if rank == 1 else None'}, {}),
    'both take half as long again': ({'SLOW': 'compute_longer()'}, {}),
    'the host of rank 1 has 0.1 s of work of its own': (
        {'SLOW': 'loss.item()\n    time.sleep(0.1) if rank == 1 else None'},
        {},
    ),
    'the program profiles itself from time to time': (
        {
            'BEFORE': 'seen = []\nprofiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA],'
            ' schedule=torch.profiler.schedule(wait=5, warmup=2, active=2),'
            ' on_trace_ready=lambda one: seen.append(len(one.events())))\nprofiler.start()',
            'AFTER': 'profiler.step()',
            'DONE': "'eventsOfItsOwnTraces': seen[:8]",
        },
        {},
    ),
    'the program begins to profile in a step that is looked into': (
        {
            'BEFORE': 'seen = []',
            'AFTER': """if steps % 16 == 0:
            with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
                step()
                torch.cuda.synchronize()
            seen.append(len(profiler.events()))
            del profiler""",
            'DONE': "'eventsOfItsOwnTraces': seen[:8]",
        },
        {},
    ),
    'layers run as CUDA graphs': (
        {
            'SHARD': """model = torch.cuda.make_graphed_callables(model, (rows.clone().requires_grad_(),))
def sum_gradients(parameter):
    dist.all_reduce(parameter.grad)
for parameter in model.parameters():
    parameter.register_post_accumulate_grad_hook(sum_gradients)
rows.requires_grad_()""",
        },
        {},
    ),
}


def see(name: str, environment: dict[str, str], folder: Path) -> dict[str, Any]:
    changed, own = CASES[name]
    program = HEAD
    for word, text in {**NOTHING, **changed}.items():
        program = program.replace(word, text)
    program = program.replace('OFTEN', str(SAMPLES_EVERY_SECONDS)).replace('LONG', str(TRAINED_SECONDS))
    told, ended = run_hooked(folder, program, ranks=2, environment={**environment, 'HOOK_STEP_PARTS': '1', **own})
    return {
        'ranks': [of_rank(told, rank) for rank in range(2)],
        'said': [_json(one.stdout) for one in ended],
        'ended': [[one.returncode, one.stderr[-1500:]] for one in ended],
    }


def of_rank(told: Told, rank: int) -> dict[str, Any]:
    """Medians in milliseconds. What it costs to begin is in the step that is looked into, and what it costs to end and to read in the one after."""
    steps = told.of_rank(rank, 'step')
    looked = [index for index, step in enumerate(steps) if step['timingsMs']]
    after = [index + 1 for index in looked if index + 1 < len(steps)]
    usual = [step['stepTimeMs'] for index, step in enumerate(steps[20:], 20) if index not in {*looked, *after}]
    faults = [beat['faults'] for beat in told.of_rank(rank, 'heartbeat') if beat.get('faults')]
    return {
        'steps': len(steps),
        'samples': len(looked),
        'usualMs': _median(usual),
        'lookedIntoMs': _median(steps[index]['stepTimeMs'] for index in looked),
        'afterMs': _median(steps[index]['stepTimeMs'] for index in after),
        'partsMs': {
            part: _median(steps[index]['timingsMs'][part] for index in looked)
            for part in ('compute', 'host', 'communication')
        },
        'faults': faults[-1:],
    }


def _median(values: Any) -> float | None:
    taken = list(values)
    return round(statistics.median(taken), 2) if taken else None


def _json(text: str) -> Any:
    try:
        return json.loads(text.splitlines()[-1])
    except (IndexError, ValueError):
        return text[-500:]
