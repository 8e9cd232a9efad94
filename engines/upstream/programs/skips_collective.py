"""Four ranks in pairs, as tensor parallelism has them: each step is a sum over the pair and then one over all. One rank leaves out the sum of its
pair once, as a program does that decides by what only one rank knows; from then on everybody waits for somebody.

    skips_collective.py STEPS RANK STEP
"""

import os
import sys
import time

import torch
import torch.distributed as dist

WIDTH = 64
PAIR = 2
SEED = 1234


def main(steps: int, forgetful_rank: int, at_step: int) -> None:
    dist.init_process_group('gloo')
    rank = dist.get_rank()
    pairs = [dist.new_group([first, first + 1]) for first in range(0, dist.get_world_size(), PAIR)]
    torch.manual_seed(SEED)
    model = torch.nn.Linear(WIDTH, WIDTH)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(1, steps + 1):
        outputs = model(torch.randn(8, WIDTH))
        total = outputs.detach().clone()
        # In its first life alone: who starts again is not to fall into the same pit.
        first_life = os.environ.get('COXSWAIN_EPOCH', '1') == '1' and os.environ.get('COXSWAIN_INCARNATION', '1') == '1'
        if not (first_life and rank == forgetful_rank and step == at_step):
            dist.all_reduce(total, group=pairs[rank // PAIR])
        outputs.square().mean().backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
        optimizer.step()
        optimizer.zero_grad()
        time.sleep(0.1)
    dist.destroy_process_group()


if __name__ == '__main__':
    main(*(int(word) for word in sys.argv[1:4]))
