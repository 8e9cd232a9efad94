"""What the hook costs: CPU time of a step, of the look at what is trained, and of the start of a Python.

    python engines/agent/bench/step_cost.py [--steps 10000]

A training whose steps compute next to nothing is run with the hook and without it, each in a process of its own; the difference in CPU time of the whole
process, the writing thread included, is divided by the steps. The launcher's end is a thread of this program that reads and forgets.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'tests'))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'hook'))
from coxswain_hook.own_time import OwnTime  # noqa: E402
from hooked import Told, lay_out_hook  # noqa: E402

TRAIN = """
import sys, time, torch
torch.set_num_threads(1)
model = torch.nn.Sequential(*(torch.nn.Linear(8, 8) for _ in range(8)))
optimizer = torch.optim.AdamW(model.parameters())
rows = torch.ones(2, 8)
def step():
    model(rows).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
for _ in range(10):
    step()
begun = time.process_time()
for _ in range(int(sys.argv[1])):
    step()
print(time.process_time() - begun)
"""
REPEATS = 3
STARTS = 40


def cpu_seconds(folder: Path, steps: int, environment: dict[str, str]) -> float:
    script = folder / 'train.py'
    script.write_text(TRAIN)
    done = subprocess.run(
        [sys.executable, str(script), str(steps)], env=environment, stdout=subprocess.PIPE, check=True, text=True
    )
    return float(done.stdout)


def ms_of_parts(laps: int) -> float:
    """What it takes a rank on a CPU to ask the kernel how long it was at work."""
    own_time = OwnTime()
    begun = time.process_time()
    for _ in range(laps):
        own_time.lap()
    return (time.process_time() - begun) / laps * 1e3


def start_ms(environment: dict[str, str]) -> float:
    taken = []
    for _ in range(STARTS):
        begun = time.perf_counter()
        subprocess.run([sys.executable, '-c', 'pass'], env=environment, check=True)
        taken.append((time.perf_counter() - begun) * 1e3)
    return statistics.median(taken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--steps', type=int, default=10_000)
    steps = parser.parse_args().steps
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        hook = lay_out_hook(folder / 'hook')
        told = Told(folder)
        plain = {'PATH': os.environ['PATH'], 'OMP_NUM_THREADS': '1'}
        idle = {**plain, 'PYTHONPATH': str(hook)}
        awake = {**idle, 'RANK': '0', 'COXSWAIN_REPORT_SOCKET': str(told.path), 'COXSWAIN_BOOT_ID': 'a-boot'}
        runs = [(cpu_seconds(folder, steps, awake), cpu_seconds(folder, steps, plain)) for _ in range(REPEATS)]
        starts = {which: start_ms(environment) for which, environment in (('none', plain), ('idle', idle), ('awake', awake))}
        lines = [line for lines in told.finish().connections for line in lines]
    print(
        json.dumps(
            {
                'steps': steps,
                'cpuMsPerStepWithHook': round(min(run[0] for run in runs) / steps * 1e3, 4),
                'cpuMsPerStepWithout': round(min(run[1] for run in runs) / steps * 1e3, 4),
                'cpuMsPerStepOfHook': round(statistics.median(a - b for a, b in runs) / steps * 1e3, 4),
                'cpuMsPerStepOfParts': round(ms_of_parts(steps), 4),
                'stepsTold': sum(line['kind'] == 'step' for line in lines),
                'stepsDropped': sum(line.get('count', 0) for line in lines if line['kind'] == 'reportsDropped'),
                'pythonStartMs': {which: round(taken, 2) for which, taken in starts.items()},
            },
            indent=2,
        )
    )


if __name__ == '__main__':
    main()
