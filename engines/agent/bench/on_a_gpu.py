"""What does the hook see of ranks that talk by NCCL, and what does it cost them? Needs PyTorch for CUDA and one GPU.

    python engines/agent/bench/on_a_gpu.py --out seen.json [--only stands|cost|slow] [--case NAME]

NCCL refuses two ranks on one GPU of one host. Each rank here says that it is a host of its own (`NCCL_HOSTID`), so that they meet over the loopback: slow,
but collectives, recorder and hangs are NCCL's own. Each program ends by itself some seconds after it stands still.
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
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'tests'))
import slow_ranks  # noqa: E402
from hooked import Fact, Told, lay_out_hook, run_hooked  # noqa: E402

HEAD = """
import os, sys
rank = int(os.environ['RANK'])
os.environ.update(NCCL_HOSTID='host-%d' % rank, NCCL_SOCKET_IFNAME='lo', NCCL_IB_DISABLE='1')
import threading, time, torch, torch.distributed as dist
torch.cuda.set_device(0)
dist.init_process_group('nccl')
pair = dist.new_group([0, 1], group_desc='TP')
rows = torch.ones(1024, 1024, device='cuda')
parts = torch.ones(2 * 1024, 1024, device='cuda')
model = torch.nn.Linear(64, 64, device='cuda')
optimizer = torch.optim.AdamW(model.parameters())
def write_down():
    time.sleep(8)
    with open('%s.%d' % (os.environ['DUMPS'], rank), 'wb') as file:
        file.write(torch._C._distributed_c10d._dump_nccl_trace_json(True, False))
    time.sleep(17)
    os._exit(7)
for _ in range(3):
    dist.all_reduce(rows, group=pair)
    torch.cuda.synchronize()
    model(torch.ones(8, 64, device='cuda')).sum().backward()
    optimizer.step()
threading.Thread(target=write_down, daemon=True).start()
"""

AFTER_A_KERNEL = """
if rank == 1:
    torch.cuda._sleep(24_000_000_000)
dist.all_reduce(rows, group=pair)
torch.cuda.synchronize()
"""

EXCHANGE = """
theirs = torch.empty_like(rows)
def exchange():
    both = [dist.P2POp(dist.isend, rows, 1 - rank, group=pair), dist.P2POp(dist.irecv, theirs, 1 - rank, group=pair)]
    for one in dist.batch_isend_irecv(both):
        one.wait()
    torch.cuda.synchronize()
"""

STANDS = {
    'a rank comes 15 s late to a collective': """
if rank == 1:
    time.sleep(15)
dist.all_reduce(rows, group=pair)
rows.sum().item()
""",
    'a kernel before a collective takes long on one rank': AFTER_A_KERNEL,
    'the same, and the recorder times': AFTER_A_KERNEL,
    'a rank waits for what the other sends 15 s late': """
if rank == 1:
    time.sleep(15)
    dist.send(rows, 0, group=pair)
else:
    dist.recv(rows, 1, group=pair)
torch.cuda.synchronize()
""",
    'each is in another operation': """
if rank == 1:
    dist.all_gather_into_tensor(parts, rows, group=pair)
else:
    dist.all_reduce(rows, group=pair)
torch.cuda.synchronize()
""",
    'a rank waits in a batch of transfers for what the other sends 15 s late': EXCHANGE
    + """
if rank == 1:
    time.sleep(15)
exchange()
""",
    'batches of transfers are over': EXCHANGE
    + """
for _ in range(20):
    exchange()
time.sleep(12)
""",
    'nobody waits, and the recorder times': """
for _ in range(20):
    dist.all_reduce(rows, group=pair)
torch.cuda.synchronize()
time.sleep(12)
""",
}

TRAIN = """
import sys, time, torch
model = torch.nn.Sequential(*(torch.nn.Linear(256, 256) for _ in range(8))).cuda()
optimizer = torch.optim.AdamW(model.parameters(), fused=True)
rows = torch.ones(64, 256, device='cuda')
def step():
    model(rows).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
for _ in range(200):
    step()
torch.cuda.synchronize()
begun, cpu = time.perf_counter(), time.process_time()
for _ in range(int(sys.argv[1])):
    step()
torch.cuda.synchronize()
print(time.perf_counter() - begun, time.process_time() - cpu)
"""
REPEATS = 3
LIBRARIES = ('LD_LIBRARY_PATH', 'HOME', 'CUDA_HOME')


def of_this_machine() -> dict[str, str]:
    return {name: os.environ[name] for name in LIBRARIES if name in os.environ}


def stands(fact: Fact) -> bool:
    """Whether it says that nothing goes on."""
    return fact.get('watermark', {}).get('phaseAgeMs', 0) > 4_000 and fact['watermark']['phase'] == 'training'


def see(name: str, folder: Path) -> dict[str, Any]:
    dumps = folder / 'dump'
    timing = '1' if 'times' in name else '0'
    environment = {**of_this_machine(), 'DUMPS': str(dumps), 'TORCH_NCCL_ENABLE_TIMING': timing}
    told, ended = run_hooked(folder, HEAD + STANDS[name], ranks=2, environment=environment, asks_after=stands)
    recorded = [folder / f'dump.{rank}' for rank in range(2)]
    return {
        'told': {str(lines[0]['rank']): lines for lines in told.connections},
        'recorder': [json.loads(path.read_bytes()) if path.exists() else None for path in recorded],
        'ended': [[one.returncode, one.stdout[-500:], one.stderr[-1500:]] for one in ended],
    }


def cost(steps: int, folder: Path) -> dict[str, float]:
    """Of a step that the host queues, with the hook and without: both clocks, in milliseconds."""
    hook = lay_out_hook(folder / 'hook')
    told = Told(folder)
    script = folder / 'train.py'
    script.write_text(TRAIN)
    plain = {'PATH': os.environ['PATH'], 'OMP_NUM_THREADS': '1', **of_this_machine()}
    awake = {**plain, 'PYTHONPATH': str(hook), 'RANK': '0', 'COXSWAIN_REPORT_SOCKET': str(told.path)}
    runs: dict[str, list[list[float]]] = {'With': [], 'Without': []}
    for _ in range(REPEATS):
        for which, environment in (('With', {**awake, 'COXSWAIN_BOOT_ID': 'a-boot'}), ('Without', plain)):
            done = subprocess.run(
                [sys.executable, str(script), str(steps)], env=environment, stdout=subprocess.PIPE, check=True, text=True
            )
            runs[which].append([float(word) / steps * 1e3 for word in done.stdout.split()])
    told.finish()
    return {
        f'{clock}MsPerStep{which}Hook': round(statistics.median(run[index] for run in taken), 4)
        for which, taken in runs.items()
        for index, clock in enumerate(('wall', 'cpu'))
    }


def software() -> dict[str, str]:
    import torch

    version = '.'.join(str(part) for part in torch.cuda.nccl.version())
    return {'gpu': torch.cuda.get_device_name(0), 'torch': str(torch.__version__), 'nccl': version}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--out', type=Path, required=True)
    parser.add_argument('--steps', type=int, default=5_000)
    parser.add_argument('--only', choices=('stands', 'cost', 'slow'))
    parser.add_argument('--case', action='append', help='of `stands` or `slow`, one of its cases; may be said more than once')
    options = parser.parse_args()
    seen: dict[str, Any] = software()

    def look(kind: str, name: str, how: Callable[[Path], Any]) -> None:
        begun = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            seen.setdefault(kind, {})[name] = how(Path(folder))
        print(f'{name}: {time.perf_counter() - begun:.0f} s', file=sys.stderr, flush=True)
        options.out.write_text(json.dumps(seen) + '\n')

    if options.only in (None, 'stands'):
        for name in options.case or STANDS:
            look('stands', name, partial(see, name))
    if options.only in (None, 'slow'):
        for name in options.case or slow_ranks.CASES:
            look('slow', name, partial(slow_ranks.see, name, of_this_machine()))
            print(json.dumps({name: seen['slow'][name]}, indent=1), flush=True)
    if options.only in (None, 'cost'):
        look('cost', 'of a step', partial(cost, options.steps))
        print(json.dumps(seen['cost'], indent=2))


if __name__ == '__main__':
    main()
