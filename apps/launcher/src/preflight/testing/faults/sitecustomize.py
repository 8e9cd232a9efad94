"""Faults of a node, planted under the Python of an image: what is measured is wrong, and not whoever measures it."""

import builtins
import os
import time

# Where a job says the same to all of its pods: on which node.
NODE = os.environ.get('PLANTED_NODE')
IS_HERE = NODE is None or os.environ.get('COXSWAIN_NODE_NAME') == NODE
FAULT = os.environ.get('PLANTED_FAULT') if IS_HERE else None
SHORT_BYTES = 64 * 1024 * 1024
CLOCK_S = 5
SLOW_BYTES_PER_SECOND = 2_000_000

if FAULT == 'shm':
    real_statvfs = os.statvfs

    def statvfs(path):
        real = real_statvfs(path)
        if path != '/dev/shm':
            return real
        return os.statvfs_result((real[0], real[1], SHORT_BYTES // real[1], *real[3:]))

    os.statvfs = statvfs

if FAULT == 'clock':
    real_time = time.time
    time.time = lambda: real_time() + CLOCK_S

if FAULT in ('torch', 'link'):
    real_import = builtins.__import__

    def spoil(torch):
        torch.planted = True
        if FAULT == 'torch':
            torch.__version__ = '2.0.0'
            return
        import torch.distributed as dist

        real_all_reduce = dist.all_reduce

        def all_reduce(tensor, *args, **kwargs):
            time.sleep(tensor.numel() * tensor.element_size() / SLOW_BYTES_PER_SECOND)
            return real_all_reduce(tensor, *args, **kwargs)

        dist.all_reduce = all_reduce

    def import_and_spoil(name, *args, **kwargs):
        module = real_import(name, *args, **kwargs)
        torch = os.sys.modules.get('torch')
        # While it is being loaded PyTorch imports itself.
        if name == 'torch' and not torch.__spec__._initializing and not hasattr(torch, 'planted'):
            spoil(torch)
        return module

    builtins.__import__ = import_and_spoil
