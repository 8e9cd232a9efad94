"""Bytes and seconds to load a save at another layout: by plan, and as PyTorch's own reader does.

python planned_reads.py [MIB [ROUNDS]]

Ranks are gloo processes. Bytes are those that the kernel counts for them (`rchar`). The last line is one JSON object;
`readOverNeeded` is what ranks read over what they hold, and `seconds` is the median of rounds that take turns.
"""

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing as mp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from coxswain_agent.planned_reader import PlannedReader  # noqa: E402 - needs the path above

ROWS, COLUMNS = 2048, 4096
CASES = {
    'rows 4 to 2': (4, 2, 0),
    'rows 2 to 4': (2, 4, 0),
    'rows 4 to columns 2': (4, 2, 1),
    'rows 1 to columns 4': (1, 4, 1),
    'rows 4 to replicas 2': (4, 2, None),
}


def state_of(rank: int, world: int, dim: int | None, count: int) -> dict[str, DTensor]:
    """So many matrices of 32 MiB, divided along `dim`; None: each rank holds all of them."""
    mesh = init_device_mesh('cpu', (world,))
    sizes = [ROWS, COLUMNS]
    if dim is not None:
        sizes[dim] //= world
    placement = [Replicate() if dim is None else Shard(dim)]
    shape, stride = torch.Size([ROWS, COLUMNS]), (COLUMNS, 1)
    return {
        f'layers.{index}.weight': DTensor.from_local(
            torch.rand(sizes), mesh, placement, run_check=False, shape=shape, stride=stride
        )
        for index in range(count)
    }


def join(rank: int, world: int) -> None:
    os.environ.update(MASTER_ADDR='127.0.0.1', MASTER_PORT='29558')
    torch.set_num_threads(1)
    dist.init_process_group('gloo', rank=rank, world_size=world)


def save(rank: int, world: int, folder: str, count: int) -> None:
    join(rank, world)
    dcp.save(state_of(rank, world, 0, count), checkpoint_id=folder)


def bytes_read() -> int:
    return int(Path('/proc/self/io').read_text().partition('\n')[0].partition(' ')[2])


def load(rank: int, world: int, dim: int | None, folder: str, count: int, rounds: int) -> None:
    """Loads by both readers in turn, and compares what they loaded bit for bit."""
    join(rank, world)
    costs: dict[str, list[tuple[float, float]]] = {'planned': [], 'pytorch': []}
    loaded = {}
    for _ in range(rounds):
        for name, kind in (('planned', PlannedReader), ('pytorch', dcp.FileSystemReader)):
            state = state_of(rank, world, dim, count)
            dist.barrier()
            before, start = bytes_read(), time.perf_counter()
            dcp.load(state, storage_reader=kind(folder))
            cost = torch.tensor([time.perf_counter() - start, float(bytes_read() - before)], dtype=torch.float64)
            needed = torch.tensor(float(sum(value.to_local().nbytes for value in state.values())))
            dist.all_reduce(needed)
            slowest = cost[0].clone()
            dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
            dist.all_reduce(cost)
            costs[name].append((slowest.item(), cost[1].item() / needed.item()))
            loaded[name] = state
    for key, value in loaded['pytorch'].items():
        assert torch.equal(value.to_local(), loaded['planned'][key].to_local()), key
    if rank == 0:
        result = {
            name: {
                'seconds': statistics.median(seconds for seconds, _ in runs),
                'readOverNeeded': statistics.median(ratio for _, ratio in runs),
            }
            for name, runs in costs.items()
        }
        Path(folder, 'result.json').write_text(json.dumps(result))


def main() -> None:
    mib = int(sys.argv[1]) if len(sys.argv) > 1 else 512
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    results = {}
    for name, (old, new, dim) in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            mp.spawn(save, args=(old, folder, mib // 32), nprocs=old)
            mp.spawn(load, args=(new, dim, folder, mib // 32, rounds), nprocs=new)
            results[name] = json.loads(Path(folder, 'result.json').read_text())
        print(name, results[name], file=sys.stderr)
    print(json.dumps({'mib': mib, 'rounds': rounds, 'cases': results}))


if __name__ == '__main__':
    main()
