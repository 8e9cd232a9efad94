"""`python -m coxswain_measure.deepspeed_row ENGINE --out FILE.csv`: a Llama of 1.1 B by DeepSpeed on one GPU."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import deepspeed
import torch

from coxswain_measure.device import facts_of
from coxswain_measure.model import Model, next_token_loss
from coxswain_measure.rows import TINY_LLAMA, Row
from coxswain_measure.table import Table
from coxswain_measure.training import (
    MAX_GRADIENT_NORM,
    WARMUP_STEPS,
    Measured,
    adam,
    mark,
    memory_of,
    seconds_between,
)

_LENGTH, _BATCH, _STEPS = 4096, 2, 35


def _run(engine: str, recompute: bool, out: Path, source: str, number: int) -> None:
    device, shape = torch.device('cuda:0'), TINY_LLAMA
    config = {
        'train_micro_batch_size_per_gpu': _BATCH,
        'bf16': {'enabled': True},
        'gradient_clipping': MAX_GRADIENT_NORM,
        'zero_optimization': {'stage': 2 if 'zero-2' in engine else 1},
        **({'data_types': {'grad_accum_dtype': 'fp32'}} if 'fp32' in engine else {}),
    }
    torch.manual_seed(1)
    with device:
        model = Model(shape, _LENGTH, recompute=recompute)
    parameters = sum(one.numel() for one in model.parameters())
    trained, *_ = deepspeed.initialize(model=model, optimizer=adam(model.parameters()), config=config)
    tokens = torch.randint(shape.vocab, (_BATCH, _LENGTH + 1), device=device)
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    marks, losses = [], []
    for _ in range(_STEPS):
        loss = next_token_loss(trained(tokens[:, :-1]), tokens[:, 1:])
        trained.backward(loss)
        trained.step()
        marks.append(mark(device))
        losses.append(loss.detach())
    torch.cuda.synchronize()
    marks = marks[WARMUP_STEPS - 1 :]
    times = [seconds_between(a, b) for a, b in zip(marks, marks[1:], strict=False)]
    measured = Measured(times, parameters, *memory_of(device), float(losses[0]), float(losses[-1]))
    row = Row(shape, _LENGTH, _BATCH, recompute, engine)
    Table(out, facts_of(device), source).add(number, row, measured)
    print(row.name, measured)


if __name__ == '__main__':
    os.environ |= {
        'RANK': '0',
        'LOCAL_RANK': '0',
        'WORLD_SIZE': '1',
        'MASTER_ADDR': '127.0.0.1',
        'MASTER_PORT': '29512',
    }
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('engine', choices=['deepspeed zero-1', 'deepspeed zero-1 fp32', 'deepspeed zero-2'])
    parser.add_argument('--recompute', action='store_true')
    parser.add_argument('--out', type=Path, required=True)
    parser.add_argument('--source', default='coxswain')
    parser.add_argument('--number', type=int, default=1)
    _run(**vars(parser.parse_args()))
