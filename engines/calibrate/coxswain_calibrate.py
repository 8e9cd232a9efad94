"""How fast are these ranks at what training is made of? Every rank runs this program; rank 0 writes one JSON document.

Products of matrices, steps of small models on every rank at once, collectives by size and span, and copies to the host.
It trains no job: what it measures are the constants of a cluster, from which `coxswain calibrate` makes a profile.

It needs PyTorch, `coxswain_calibrate_model.py` and `coxswain_preflight.py`, RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and
MASTER_PORT as torchrun sets them, and writes nothing but `--out`.
"""

import argparse
import datetime
import json
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from coxswain_calibrate_model import Tensor, Training
from coxswain_preflight import backend_here, torch_facts

FORMAT = 1
WINDOWS = 3
MOST_CALLS = 20_000
COLLECTIVES_TIMEOUT = datetime.timedelta(minutes=3)


class Plan:
    """What is measured on a kind of device. Sizes are those that its jobs have: a CPU rank trains toys."""

    def __init__(self, is_gpu):
        self.precision = 'bf16' if is_gpu else 'fp32'
        self.dtype = torch.bfloat16 if is_gpu else torch.float32
        edges = (1024, 2048, 4096, 8192) if is_gpu else (128, 256, 512)
        self.products = [(edge, edge, edge) for edge in edges]
        self.products += [(4 * edge, edge, edge // 2) for edge in edges[:-1]]
        self.alone, *self.shared = _gpu_steps() if is_gpu else _cpu_steps()
        top = 28 if is_gpu else 21
        self.payloads = [2**power for power in range(10, top + 1, 3 if not is_gpu else 2)]
        self.host_copies = [2**power for power in range(16, 29, 4)] if is_gpu else []


def _step(layers, hidden, heads, vocabulary, length, batch, micro_batches=1, tensor=1, data=1):
    return {
        'layers': layers,
        'hidden': hidden,
        'heads': heads,
        'ffn': 4 * hidden,
        'vocabulary': vocabulary,
        'length': length,
        'batch': batch,
        'microBatches': micro_batches,
        'tensor': tensor,
        'data': data,
    }


def _cpu_steps():
    alone = [
        _step(1, 64, 4, 256, 64, 2),
        _step(3, 64, 4, 256, 64, 2),
        _step(1, 128, 4, 256, 128, 2),
        _step(1, 192, 4, 256, 128, 8),
        _step(2, 96, 4, 512, 128, 4, 2),
        _step(1, 64, 4, 4096, 64, 2),
        _step(2, 64, 2, 256, 256, 2),
    ]
    return alone, _step(2, 96, 4, 512, 192, 2), _step(1, 192, 4, 256, 64, 4)


def _gpu_steps():
    alone = [
        _step(1, 1024, 8, 4096, 1024, 2),
        _step(3, 1024, 8, 4096, 1024, 2),
        _step(1, 4096, 32, 4096, 2048, 2),
        _step(2, 4096, 32, 4096, 2048, 2),
        _step(2, 2048, 16, 4096, 4096, 2),
        _step(2, 2048, 16, 4096, 1024, 4, 4),
        _step(1, 2048, 16, 65536, 2048, 2),
    ]
    return alone, _step(2, 4096, 32, 4096, 2048, 2), _step(1, 8192, 64, 4096, 2048, 1)


# How time is taken


class Clock:
    """Times what all ranks do at once, over and over: who shares cores, links or power is timed as it shares them."""

    def __init__(self, device, per_probe_s, now=time.perf_counter):
        self._device = device
        self._now = now
        self._window_s = per_probe_s / WINDOWS

    def seconds(self, work):
        """Of one call: a window over its calls, from the first to the end of the last; median window, mean of ranks."""
        work()
        calls = self._agreed(self._window_s / self._timed(work, 1))
        windows = torch.tensor([self._timed(work, calls) / calls for _ in range(WINDOWS)], device=self._device)
        dist.all_reduce(windows)
        return statistics.median(windows.tolist()) / dist.get_world_size()

    def _timed(self, work, calls):
        dist.barrier()
        began = self._now()
        for _ in range(calls):
            work()
        if self._device.type == 'cuda':
            torch.cuda.synchronize()
        return max(self._now() - began, 1e-9)

    def _agreed(self, calls):
        """As few as any rank asks for: some of them talk to each other, so all make as many."""
        fewest = torch.tensor([float(calls)], device=self._device)
        dist.all_reduce(fewest, op=dist.ReduceOp.MIN)
        return int(max(1, min(MOST_CALLS, fewest.item())))


# What is measured


def products(plan, device, clock):
    for m, n, k in plan.products:
        left = torch.randn(m, k, dtype=plan.dtype, device=device)
        right = torch.randn(n, k, dtype=plan.dtype, device=device)
        seconds = clock.seconds(lambda a=left, b=right: F.linear(a, b))
        yield {'kind': 'product', 'm': m, 'n': n, 'k': k, 'seconds': seconds}


def divisions(world, per_node, heads):
    """Tensor ranks within a node times data ranks of all of them; what no head can be divided by is left out."""
    tensors = [ways for ways in (1, 2, 4, 8) if ways <= per_node and per_node % ways == 0 and heads % ways == 0]
    return [(ways, world // ways) for ways in tensors if world > 1]


def steps(plan, device, clock, world, per_node):
    for step in plan.alone:
        training = Training(step, plan.dtype, device, (Tensor(None, [0], 0), None, 1))
        yield {'kind': 'step', **step, 'seconds': clock.seconds(training.step)}
        del training
    for step in plan.shared:
        for tensor, data in divisions(world, per_node, step['heads']):
            divided = {**step, 'tensor': tensor, 'data': data}
            training = Training(divided, plan.dtype, device, groups_for(tensor, world))
            yield {'kind': 'step', **divided, 'seconds': clock.seconds(training.step)}
            del training


def groups_for(tensor, world):
    """This rank's tensor group, and the ranks that hold the same weights."""
    rank = dist.get_rank()
    group, ranks = my_group(tensor, 1, world)
    data, _ = my_group(world // tensor, tensor, world)
    return Tensor(group, ranks, rank), data, world // tensor


def my_group(size, stride, world):
    """Of all groups of that shape, which every rank makes in the same order, the one of this rank."""
    mine = None
    for ranks in groups_of(size, stride, world):
        group = dist.new_group(ranks, timeout=COLLECTIVES_TIMEOUT)
        if dist.get_rank() in ranks:
            mine = (group, ranks)
    return mine


def spans(world, per_node):
    """Groups of equal size that tile the ranks: neighbours, a node, one rank of each node, everybody."""
    found = []
    for size, stride in ((2, 1), (per_node, 1), (world // per_node, per_node), (world, 1)):
        if size > 1 and world % (size * stride) == 0 and (size, stride) not in found:
            found.append((size, stride))
    return found


def groups_of(size, stride, world):
    """Every group of that shape, in the same order on every rank."""
    block = size * stride
    firsts = [first + offset for first in range(0, world, block) for offset in range(stride)]
    return [list(range(first, first + block - stride + 1, stride)) for first in firsts]


def collectives(plan, device, clock, world, per_node):
    for size, stride in spans(world, per_node):
        group, ranks = my_group(size, stride, world)
        for payload in plan.payloads:
            for operation, work in operations(group, ranks, payload, device).items():
                yield {
                    'kind': 'collective',
                    'operation': operation,
                    'size': size,
                    'stride': stride,
                    'bytes': payload,
                    'seconds': clock.seconds(work),
                }


def operations(group, ranks, payload, device):
    """By name; `payload` is what every rank ends with, or starts from, and what one hands to the next."""
    numbers = max(1, payload // 4 // len(ranks)) * len(ranks)
    whole = torch.ones(numbers, dtype=torch.float32, device=device)
    part = torch.ones(numbers // len(ranks), dtype=torch.float32, device=device)
    found = {
        'allReduce': lambda: dist.all_reduce(whole, group=group),
        'allGather': lambda: dist.all_gather_into_tensor(whole, part, group=group),
        'reduceScatter': lambda: dist.reduce_scatter_tensor(part, whole, group=group),
    }
    if len(ranks) == 2:
        other = ranks[1] if dist.get_rank() == ranks[0] else ranks[0]
        is_first = dist.get_rank() == ranks[0]

        def hand_over():
            if is_first:
                dist.send(whole, other, group=group)
                dist.recv(whole, other, group=group)
            else:
                dist.recv(whole, other, group=group)
                dist.send(whole, other, group=group)

        found['handOver'] = hand_over
    return found


def host_copies(plan, device, clock):
    for payload in plan.host_copies:
        here = torch.empty(payload, dtype=torch.uint8, device=device)
        there = torch.empty(payload, dtype=torch.uint8, pin_memory=True)
        seconds = clock.seconds(lambda a=there, b=here: a.copy_(b, non_blocking=True))
        yield {'kind': 'hostCopy', 'bytes': payload, 'seconds': seconds}


def probes(device, seconds):
    world = dist.get_world_size()
    per_node = int(os.environ.get('LOCAL_WORLD_SIZE') or world)
    plan = Plan(device.type == 'cuda')
    count = len(plan.products) + len(plan.alone) + 4 * len(plan.payloads) * len(spans(world, per_node))
    clock = Clock(device, seconds / max(1, count + len(plan.host_copies)))
    parts = (
        ('matrix products', lambda: products(plan, device, clock)),
        ('steps of small models', lambda: steps(plan, device, clock, world, per_node)),
        ('collectives', lambda: collectives(plan, device, clock, world, per_node)),
        ('copies to the host', lambda: host_copies(plan, device, clock)),
    )
    measured = []
    for name, take in parts:
        began = time.perf_counter()
        found = list(take())
        measured += found
        if dist.get_rank() == 0 and found:
            took = time.perf_counter() - began
            print('%s: %d probes, %.1f s' % (name, len(found), took), file=sys.stderr, flush=True)
    return {
        'format': FORMAT,
        'backend': dist.get_backend(),
        'precision': plan.precision,
        'ranks': world,
        'ranksPerNode': per_node,
        'device': device_name(device),
        'torch': torch_facts()['torch'],
        'probes': measured,
    }


def device_name(device):
    return torch.cuda.get_device_name(device) if device.type == 'cuda' else 'CPU'


def main(arguments):
    parser = argparse.ArgumentParser(prog='coxswain_calibrate', description=__doc__, allow_abbrev=False)
    parser.add_argument('--out', default='-', help='file for what rank 0 writes; - is standard output')
    parser.add_argument('--seconds', type=float, default=60, help='about how long to measure (default: 60)')
    options = parser.parse_args(arguments)
    backend = backend_here()
    if backend is None:
        print('this PyTorch has no torch.distributed', file=sys.stderr)
        return 1
    device = torch.device('cuda', int(os.environ.get('LOCAL_RANK') or 0)) if backend == 'nccl' else torch.device('cpu')
    if device.type == 'cuda':
        torch.cuda.set_device(device)
    dist.init_process_group(backend, init_method='env://', timeout=COLLECTIVES_TIMEOUT)
    document = json.dumps(probes(device, options.seconds), separators=(',', ':'))
    if dist.get_rank() == 0:
        if options.out == '-':
            print(document, flush=True)
        else:
            with open(options.out, 'w') as file:
                file.write(document + '\n')
    dist.barrier()
    dist.destroy_process_group()
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
