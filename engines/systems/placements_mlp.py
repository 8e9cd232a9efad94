"""Layers of a few thousand weights, each placed on the ranks as `layout.tensorPlacements` says: a program of a user for engine "custom".

    placements_mlp.py JOB_FILE, one process for each rank

PyTorch's DTensor has the placements of OneFlow: split is Shard, broadcast is Replicate, partial-sum is Partial. What a layer computes has to come out placed
as the job says. Losses do not depend on the number of ranks. Rank 0 prints a line of JSON for each step.
"""

from __future__ import annotations

import json
import sys
from fnmatch import fnmatch
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.nn import functional as F

SEED = 1234
AXES = ('data', 'tensor')


class Placements:
    """Of tensors by name; what no rule names is whole on every rank."""

    def __init__(self, layout: dict) -> None:
        degrees = [layout[f'{axis}ParallelDegree'] for axis in AXES]
        if dist.get_world_size() != layout['worldSize'] or layout['pipelineParallelDegree'] != 1:
            raise SystemExit('this program has tensor and data ranks alone, as many as the layout')
        self.mesh = init_device_mesh('cpu', tuple(degrees), mesh_dim_names=AXES)
        self.rules = layout.get('tensorPlacements', [])
        self.used: set[str] = set()

    def of(self, name: str) -> list:
        for rule in self.rules:
            if fnmatch(name, rule['match']):
                self.used.add(rule['match'])
                by_axis = {one['axis']: placement(one) for one in rule['axes']}
                return [by_axis.get(axis, Replicate()) for axis in AXES]
        return [Replicate()] * len(AXES)


def placement(one: dict):
    kinds = {'broadcast': Replicate, 'partial-sum': Partial}
    return Shard(one['dimension']) if one['placement'] == 'split' else kinds[one['placement']]()


class Mlp(nn.Module):
    def __init__(self, size: int, inner: int) -> None:
        super().__init__()
        self.dense_h_to_4h = nn.Linear(size, inner, bias=False)
        self.dense_4h_to_h = nn.Linear(inner, size, bias=False)


class Layer(nn.Module):
    def __init__(self, size: int, inner: int) -> None:
        super().__init__()
        self.norm, self.mlp = nn.LayerNorm(size), Mlp(size, inner)


class Model(nn.Module):
    """The next byte from a byte and the one before it, without attention."""

    def __init__(self, model: dict) -> None:
        super().__init__()
        size = model['hiddenSize']
        self.embedding = nn.Embedding(model['vocabularySize'], size)
        self.before = nn.Embedding(model['vocabularySize'], size)
        self.layers = nn.ModuleList(Layer(size, model['ffnHiddenSize']) for _ in range(model['layers']))
        self.head = nn.Linear(size, model['vocabularySize'], bias=False)

    def forward(self, tokens: DTensor, before: DTensor, placements: Placements, is_divided: bool) -> DTensor:
        x = self.embedding(tokens) + self.before(before)
        for index, layer in enumerate(self.layers):
            hidden = F.gelu(layer.mlp.dense_h_to_4h(layer.norm(x)))
            out = layer.mlp.dense_4h_to_h(hidden)
            name = f'layers.{index}.mlp.output'
            if is_divided and list(out.placements) != placements.of(name):
                raise SystemExit(f'{name} came out as {out.placements}, and the job says {placements.of(name)}')
            x = x + out.redistribute(placements=x.placements)
        return self.head(x)


def divided(model: nn.Module, placements: Placements) -> None:
    """Each rank keeps its part of each parameter."""
    for name, module in model.named_modules():
        for own, parameter in list(module.named_parameters(recurse=False)):
            place = placements.of(f'{name}.{own}')
            tensor = distribute_tensor(parameter.detach(), placements.mesh, place)
            module.register_parameter(own, nn.Parameter(tensor))


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text())
    training, model_sizes = job['training'], job['model']
    dist.init_process_group('gloo')
    placements = Placements(job['layout'])
    torch.manual_seed(SEED)
    model = Model(model_sizes)
    divided(model, placements)
    is_divided = job['layout']['tensorParallelDegree'] > 1
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=training['learningRate'], weight_decay=training['weightDecay'], foreach=False
    )
    for step in range(1, training['steps'] + 1):
        loss = train_step(model, optimizer, job, step, placements, is_divided)
        if dist.get_rank() == 0:
            print(json.dumps({'step': step, 'loss': loss}), flush=True)
    if dist.get_rank() == 0:
        weight = model.layers[0].mlp.dense_4h_to_h.weight
        print(f'{len(placements.used)} rules; a rank has {tuple(weight.to_local().shape)} of {tuple(weight.shape)}')
    dist.destroy_process_group()


def train_step(model: Model, optimizer, job: dict, step: int, placements: Placements, is_divided: bool) -> float:
    """The mean loss over the bytes of all samples."""
    generator = torch.Generator().manual_seed(SEED + step)
    used, length = job['model']['vocabularySize'] // 4, job['model']['sequenceLength']
    start = torch.randint(used, (job['training']['globalBatchSize'], 1), generator=generator)
    width = torch.randint(1, 4, (len(start), 1), generator=generator)
    samples = (start + width * torch.arange(length + 2)) % used
    own = [Shard(0), Replicate()]
    before, tokens, wanted = (
        distribute_tensor(samples[:, first : first + length].contiguous(), placements.mesh, own) for first in range(3)
    )
    logits = model(tokens, before, placements, is_divided).redistribute(placements=own).to_local()
    loss = F.cross_entropy(logits.flatten(0, 1), wanted.to_local().flatten(), reduction='sum') / wanted.numel()
    optimizer.zero_grad()
    loss.backward()
    for parameter in model.parameters():
        parameter.grad = parameter.grad.redistribute(placements=parameter.placements)
    optimizer.step()
    total = loss.detach()
    dist.all_reduce(total, group=placements.mesh.get_group('data'))
    return total.item()


if __name__ == '__main__':
    main()
