"""`python -m coxswain_measure.deepspeed_row ENGINE --out FILE.csv`: a Llama of 1.1 B by DeepSpeed on one GPU."""

from __future__ import annotations

import deepspeed
import torch

from coxswain_measure.framework_row import BATCH, LENGTH, SHAPE, STEPS, measure_and_write
from coxswain_measure.model import Model, next_token_loss
from coxswain_measure.training import (
    MAX_GRADIENT_NORM,
    WARMUP_STEPS,
    Measured,
    adam,
    mark,
    memory_of,
    times_between,
)


def _trained(engine: str, recompute: bool) -> Measured:
    device = torch.device('cuda:0')
    config = {
        'train_micro_batch_size_per_gpu': BATCH,
        'bf16': {'enabled': True},
        'gradient_clipping': MAX_GRADIENT_NORM,
        'zero_optimization': {'stage': 2 if 'zero-2' in engine else 1},
        **({'data_types': {'grad_accum_dtype': 'fp32'}} if 'fp32' in engine else {}),
    }
    torch.manual_seed(1)
    with device:
        model = Model(SHAPE, LENGTH, recompute=recompute)
    parameters = sum(one.numel() for one in model.parameters())
    trained, *_ = deepspeed.initialize(model=model, optimizer=adam(model.parameters()), config=config)
    tokens = torch.randint(SHAPE.vocab, (BATCH, LENGTH + 1), device=device)
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    marks, losses = [], []
    for _ in range(STEPS):
        loss = next_token_loss(trained(tokens[:, :-1]), tokens[:, 1:])
        trained.backward(loss)
        trained.step()
        marks.append(mark(device))
        losses.append(loss.detach())
    torch.cuda.synchronize()
    times = times_between(marks[WARMUP_STEPS - 1 :])
    return Measured(times, parameters, *memory_of(device), float(losses[0]), float(losses[-1]))


if __name__ == '__main__':
    measure_and_write(_trained, ['deepspeed zero-1', 'deepspeed zero-1 fp32', 'deepspeed zero-2'])
