"""A plain script for torchrun: DDP over a small network, saved by PyTorch's distributed checkpoints. It knows nothing of Coxswain but two directories.

    torchrun plain_ddp.py 12 4     (steps, steps between checkpoints)

STEP_DELAY_MS slows it down, so that there is time to meet it; with a LEARNING_RATE of 1e37 its weights overflow, and its loss is no number.
"""

import os
import sys
import time

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

WIDTH = 64
SEED = 1234


def state_of(model: torch.nn.Module, optimizer: torch.optim.Optimizer, step: int) -> dict[str, object]:
    weights, moments = get_state_dict(model, optimizer)
    return {'model': weights, 'optimizer': moments, 'step': torch.tensor([step])}


def main(steps: int, save_every: int) -> None:
    dist.init_process_group('gloo')
    torch.manual_seed(SEED)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.Tanh()))
    optimizer = torch.optim.AdamW(model.parameters(), lr=float(os.environ.get('LEARNING_RATE', '1e-3')))
    state = state_of(model, optimizer, step=0)
    resume = os.environ.get('COXSWAIN_RESUME_FROM')
    if resume is not None:
        dcp.load(state, checkpoint_id=resume)
        set_state_dict(model, optimizer, model_state_dict=state['model'], optim_state_dict=state['optimizer'])
        print(f'goes on from step {state["step"].item()}', flush=True)
    for step in range(int(state['step'].item()) + 1, steps + 1):
        inputs = torch.randn(8, WIDTH, generator=torch.Generator().manual_seed(SEED + step))
        loss = (model(inputs) - inputs).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        # In the words of TorchTitan, whose lines the launcher reads.
        print(f'step: {step:2}  loss: {loss.item():8.5f}  grad_norm:  1.0  memory: 0GiB(0%)  tps: 1  tflops: 0  mfu: 0%', flush=True)
        time.sleep(int(os.environ.get('STEP_DELAY_MS', '0')) / 1000)
        save_directory = os.environ.get('COXSWAIN_SAVE_DIR')
        if save_directory is not None and step % save_every == 0:
            dcp.save(state_of(model, optimizer, step), checkpoint_id=f'{save_directory}/step-{step}')
    dist.destroy_process_group()


if __name__ == '__main__':
    main(int(sys.argv[1]), int(sys.argv[2]))
