"""Trains a small model of characters with DDP, saves, and resumes from its newest save. It knows nothing of Coxswain; torchrun runs it as well."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

TEXT = 'the quick brown fox jumps over the lazy dog. ' * 200
CHARACTERS = sorted(set(TEXT))
LENGTH = 64


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(len(CHARACTERS), 64)
        self.recurrent = nn.GRU(64, 128, batch_first=True)
        self.output = nn.Linear(128, len(CHARACTERS))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        hidden, _ = self.recurrent(self.embedding(tokens))
        return self.output(hidden)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument('--lr', type=float, default=3e-3)
    parser.add_argument('--steps', type=int, default=200)
    parser.add_argument('--log-every', type=int, default=10)
    parser.add_argument('--save-every', type=int, default=50)
    parser.add_argument('--out', default='out', help='directory of this run; a restart of the program finds its save there')
    args = parser.parse_args()

    dist.init_process_group('nccl' if torch.cuda.is_available() else 'gloo')
    device = torch.device('cuda', int(os.environ['LOCAL_RANK'])) if torch.cuda.is_available() else torch.device('cpu')
    is_first = dist.get_rank() == 0
    torch.manual_seed(dist.get_rank())
    model = DistributedDataParallel(Net().to(device))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
    parts = {'model': model.module, 'optimizer': optimizer, 'schedule': schedule}
    path = os.path.join(args.out, 'last.pt')
    start = 0
    if os.path.exists(path):
        saved = torch.load(path, map_location=device)
        for name, part in parts.items():
            part.load_state_dict(saved[name])
        start = saved['step'] + 1
    tokens = torch.tensor([CHARACTERS.index(character) for character in TEXT], device=device)
    for step in range(start, args.steps):
        begins = torch.randint(0, len(tokens) - LENGTH - 1, (16,)).tolist()
        inputs = torch.stack([tokens[at : at + LENGTH] for at in begins])
        targets = torch.stack([tokens[at + 1 : at + LENGTH + 1] for at in begins])
        loss = nn.functional.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if is_first and step % args.log_every == 0:
            print(f'step {step}: loss {loss.item():.4f}, norm {norm.item():.3f}', flush=True)
        if is_first and (step + 1) % args.save_every == 0:
            os.makedirs(args.out, exist_ok=True)
            torch.save({**{name: part.state_dict() for name, part in parts.items()}, 'step': step}, path + '.new')
            # A crash leaves the save before or this one, and never a part of it.
            os.replace(path + '.new', path)
    dist.destroy_process_group()


if __name__ == '__main__':
    main()
