"""One rank of a sick job. The argument names what is wrong with it; `cases.ts` has what Coxswain must say about it."""

import multiprocessing
import os
import queue
import signal
import struct
import sys
import threading
import time
import traceback
from datetime import timedelta

import torch
import torch.distributed as dist

RANK = int(os.environ['RANK'])


def train(steps, before_step):
    """Runs steps without an optimizer, as many loops of users do, and prints them."""
    dist.init_process_group('gloo')
    for step in range(1, steps + 1):
        loss = before_step(step)
        time.sleep(0.05)
        dist.all_reduce(torch.ones(8))
        print(f'step {step}/{steps} loss {3 / step if loss is None else loss:.4f}', flush=True)


def hard_world():
    """The number of ranks is a constant of another cluster."""
    dist.init_process_group('gloo', init_method='env://', world_size=8, rank=RANK, timeout=timedelta(seconds=15))


def dead_prefetcher():
    """The thread that reads batches ends with an exception, and the program waits for its queue."""
    batches = queue.Queue(2)

    def prefetch():
        for number in range(10**6):
            row = {'text': 'x'} if RANK == 1 and number == 25 else {'input_ids': number}
            batches.put(row['input_ids'])

    threading.Thread(target=prefetch, daemon=True).start()
    train(10**6, lambda step: batches.get() * 0)


def tokenize(step):
    if step == 20 and RANK == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return 0.0


def killed_worker():
    """The kernel kills a worker of a pool, and `map` never returns."""
    pool = multiprocessing.get_context('fork').Pool(2)
    train(10**6, lambda step: pool.map(tokenize, [step])[0])


def other_version():
    """Rank 3 has another version of the model."""
    dist.init_process_group('gloo')
    layers = [torch.nn.Linear(8, 8) for _ in range(3 if RANK == 3 else 2)]
    torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers))


def not_a_number():
    """The loss is NaN from step 20 on, and the program trains to its end."""
    train(60, lambda step: float('nan') if step >= 20 else None)


def caught():
    """The program catches its exception, prints it and exits with 0."""

    def fail(step):
        if step == 30:
            raise ValueError('optimizer got an empty parameter list')

    try:
        train(200, fail)
    except ValueError:
        traceback.print_exc()
        sys.exit(0)


def poisoned():
    """Each attempt fails at the same batch, with an exception whose name does not end in Error."""

    def read(step):
        if step == 47 and RANK == 1:
            struct.unpack('<I', b'\x00\x01')

    train(300, read)


def background():
    """A shell starts the program with & and ends."""
    for step in range(1, 51):
        time.sleep(0.5)
        print(f'step {step} loss 2.0', flush=True)


def instruction():
    """A wheel is built for a CPU that the node does not have."""
    time.sleep(1)
    if RANK == 2:
        os.kill(os.getpid(), signal.SIGILL)
    time.sleep(600)


def index_beside_data():
    """The program writes its index beside the data."""
    open('/coxswain/data/corpus.idx', 'w')


if __name__ == '__main__':
    {
        'hard-world': hard_world,
        'dead-prefetcher': dead_prefetcher,
        'killed-worker': killed_worker,
        'other-version': other_version,
        'not-a-number': not_a_number,
        'caught': caught,
        'poisoned': poisoned,
        'background': background,
        'instruction': instruction,
        'index-beside-data': index_beside_data,
    }[sys.argv[1]]()
