"""A program of two ranks over gloo that knows nothing of Coxswain. What it prints is the same in each run; times go to a file."""

import os
import sys
import time

import torch
import torch.distributed as dist

steps = int(os.environ['TEST_STEPS'])
pause_seconds = float(os.environ.get('TEST_PAUSE_SECONDS', '0'))
rank = int(os.environ['RANK'])
torch.set_num_threads(1)
torch.manual_seed(0)
dist.init_process_group('gloo')
width = int(os.environ.get('TEST_WIDTH', '512'))
model = torch.nn.Linear(width, width)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
batch = torch.ones(256, width)
times = open(os.environ['TEST_TIMES'] + f'.{rank}', 'w')
for step in range(1, steps + 1):
    began = time.perf_counter()
    loss = model(batch).square().mean()
    loss.backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
    optimizer.step()
    optimizer.zero_grad()
    times.write(f'{time.perf_counter() - began}\n')
    times.flush()
    if step % 20 == 0:
        print(f'step {step} loss {loss.item():.6f}', flush=True)
    time.sleep(pause_seconds)
print('the last line has no end', end='', file=sys.stderr)
sys.exit(int(os.environ.get('TEST_EXIT_CODE', '0')))
