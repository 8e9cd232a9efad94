"""A transformer of a few thousand weights as a user would write it for engine "custom": it divides data and tokens as `job.json` says.

    custom_gpt.py JOB_FILE, one process for each rank

It is causal and predicts the next byte, or, with attentionMask full, predicts bytes that are hidden from it. Its losses do not depend on the number of ranks:
every step trains on the same samples. Rank 0 prints a line of JSON for each step.
"""

from __future__ import annotations

import json
import sys
from functools import partial as bound
from pathlib import Path

import torch
import torch.distributed as dist
from context_attention import Ring, helped_attention, ring_attention, ring_self_attention, token_ring, ulysses_ring
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

SEED = 1234
# Of a full mask: every fifth byte is hidden and predicted.
HIDDEN_EVERY = 5
KNOWN_OPTIONS = {
    'tensorParallelDegree',
    'pipelineParallelDegree',
    'dataParallelDegree',
    'contextParallelDegree',
    'weightShardDegree',
    'dataParallelShardDegree',
    'worldSize',
    'expert',
    'sequence',
    'kernel',
    'states',
    'memory',
}


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text())
    layout, training = job['layout'], job['training']
    dist.init_process_group('gloo')
    refuse_other_layouts(layout)
    context = layout['contextParallelDegree']
    data_index, context_index = divmod(dist.get_rank(), context)
    attention, tokens = attention_of(layout, job['model']['sequenceLength'], data_index, context_index)
    torch.manual_seed(SEED)
    is_causal = layout.get('kernel', {}).get('attentionMask') != 'full'
    recomputed = layout.get('memory', {}).get('recompute', {}).get('modules', [])
    model = Transformer(job['model'], attention, recomputes_mlp='mlp' in recomputed)
    is_sharded = layout.get('states', {}).get('zeroStage') == 3
    if is_sharded:
        shard(model, layout)
    optimizer = optimizer_of(model, layout, training)
    if dist.get_rank() == 0:
        states = f', states {type(next(model.parameters())).__name__}'
        print(
            f'ranks {dist.get_world_size()}: context {context}, data {layout["dataParallelDegree"]}{states}', flush=True
        )
    for step in range(1, training['steps'] + 1):
        loss = train_step(model, optimizer, job, step, (data_index, tokens), is_causal, is_sharded)
        if dist.get_rank() == 0:
            print(json.dumps({'step': step, 'loss': loss}), flush=True)
    dist.destroy_process_group()


def refuse_other_layouts(layout: dict) -> None:
    """It divides samples and tokens alone."""
    strange = sorted(set(layout) - KNOWN_OPTIONS)
    if strange or layout['tensorParallelDegree'] * layout['pipelineParallelDegree'] != 1:
        raise SystemExit(
            f'this program divides samples and tokens alone, and the layout has {strange or "other degrees"}'
        )
    if layout['worldSize'] != dist.get_world_size():
        raise SystemExit(f'the layout is for {layout["worldSize"]} ranks, and there are {dist.get_world_size()}')


def tokens_of(length: int, parts: int, balance: str) -> list[torch.Tensor]:
    """The positions of each rank: one piece after the other, or an early and a late piece each, so that a causal mask leaves all the same work."""
    if balance in ('none', 'helper'):
        return list(torch.arange(length).chunk(parts))
    pieces = torch.arange(length).chunk(2 * parts)
    return [torch.cat((pieces[part], pieces[-1 - part])) for part in range(parts)]


def mask_of(kind: str, length: int):
    """Whether a query may attend to a key, by their positions. Documents end after three and after six eighths of a sample."""

    def allowed(query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
        query, key = query[:, None], key[None, :]
        if kind == 'full':
            return torch.ones(query.shape[0], key.shape[1], dtype=torch.bool)
        is_earlier = query >= key
        return is_earlier & (document(query) == document(key)) if kind == 'document' else is_earlier

    def document(position: torch.Tensor) -> torch.Tensor:
        return position * 8 // (3 * length)

    return allowed


def attention_of(layout: dict, length: int, data_index: int, context_index: int):
    """The attention of this rank, and the positions of its tokens."""
    context, sequence = layout['contextParallelDegree'], layout.get('sequence', {})
    algorithm = sequence.get('contextAlgorithm', 'ring')
    tokens = tokens_of(length, context, sequence.get('causalBalance', 'head-tail'))
    allowed = mask_of(layout.get('kernel', {}).get('attentionMask', 'causal'), length)
    inner_size = {'ulysses': context, 'ulysses-ring': sequence.get('ulyssesDegree')}.get(algorithm, 1)
    outer_index, inner_index = divmod(context_index, inner_size)
    if algorithm in ('ulysses', 'ulysses-ring'):
        shared = [torch.cat(tokens[first : first + inner_size]) for first in range(0, context, inner_size)]
        inner = ring_of(layout, data_index, lambda index: index // inner_size, context_index, tokens)
        outer = ring_of(layout, data_index, lambda index: index % inner_size, context_index, shared)
        return bound(ulysses_ring, inner=inner, outer=outer, allowed=allowed), tokens[context_index]
    functions = {
        'ring': ring_attention,
        'ring-self-attention': ring_self_attention,
        'dist-flash': helped_attention,
        'token-ring': token_ring,
    }
    if algorithm not in functions:
        raise SystemExit(f'this program has no contextAlgorithm {algorithm}')
    ring = ring_of(layout, data_index, lambda _index: 0, context_index, tokens)
    return bound(functions[algorithm], ring=ring, allowed=allowed), tokens[context_index]


def ring_of(layout: dict, data_index: int, key, context_index: int, tokens: list[torch.Tensor]) -> Ring:
    """The ring of this rank: context ranks of its data index for which `key` is the same. Every rank makes all groups, as PyTorch asks."""
    context, own = layout['contextParallelDegree'], None
    for data in range(layout['dataParallelDegree']):
        for value in sorted({key(index) for index in range(context)}):
            members = [index for index in range(context) if key(index) == value]
            ranks = [data * context + index for index in members]
            group = dist.new_group(ranks)
            if data == data_index and context_index in members:
                own = Ring(group, ranks, members.index(context_index), tokens)
    return own


class Block(nn.Module):
    def __init__(self, size: int, heads: int, attention, recomputes_mlp: bool) -> None:
        super().__init__()
        self.heads, self.attention, self.recomputes_mlp = heads, attention, recomputes_mlp
        self.first_norm, self.second_norm = nn.LayerNorm(size), nn.LayerNorm(size)
        self.qkv, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.up, self.down = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)

    def mlp(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(F.gelu(self.up(self.second_norm(x))))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        samples, tokens, size = x.shape
        parts = self.qkv(self.first_norm(x)).view(samples, tokens, 3, self.heads, size // self.heads)
        attended = self.attention(*parts.permute(2, 0, 3, 1, 4))
        x = x + self.out(attended.transpose(1, 2).reshape(samples, tokens, size))
        return x + (checkpoint(self.mlp, x, use_reentrant=False) if self.recomputes_mlp else self.mlp(x))


class Transformer(nn.Module):
    def __init__(self, model: dict, attention, recomputes_mlp: bool) -> None:
        super().__init__()
        size, vocabulary = model['hiddenSize'], model['vocabularySize']
        # One more: the byte that stands for a hidden one.
        self.embedding = nn.Embedding(vocabulary + 1, size)
        self.positions = nn.Embedding(model['sequenceLength'], size)
        blocks = (Block(size, model['attentionHeads'], attention, recomputes_mlp) for _ in range(model['layers']))
        self.blocks = nn.Sequential(*blocks)
        self.norm, self.head = nn.LayerNorm(size), nn.Linear(size, vocabulary)

    def forward(self, tokens: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        return self.head(self.norm(self.blocks(self.embedding(tokens) + self.positions(positions))))


def shard(model: Transformer, layout: dict) -> None:
    """FSDP2 over data and context ranks, whose gradients it adds: in groups of dataParallelShardDegree ranks, or over all."""
    degree = layout.get('dataParallelShardDegree', layout['worldSize'])
    mesh = init_device_mesh('cpu', (layout['worldSize'] // degree, degree), mesh_dim_names=('replicate', 'shard'))
    for module in (*model.blocks, model):
        fully_shard(module, mesh=mesh)
    for module in (*model.blocks, model):
        module.set_gradient_divide_factor(1.0)
        # gloo has no sum that scales.
        module.set_force_sum_reduction_for_comms(True)


def optimizer_of(model: nn.Module, layout: dict, training: dict) -> torch.optim.Optimizer:
    arguments = {'lr': training['learningRate'], 'weight_decay': training['weightDecay']}
    stage = layout.get('states', {}).get('zeroStage', 0)
    if stage == 2:
        raise SystemExit(f'this program has no zeroStage {stage}')
    if stage == 1:
        return ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, **arguments)
    return torch.optim.AdamW(model.parameters(), **arguments)


def samples_of(job: dict, step: int) -> torch.Tensor:
    """Each sample counts up from a random start in steps of a random width, in a quarter of the vocabulary: the loss falls within a few steps."""
    generator = torch.Generator().manual_seed(SEED + step)
    vocabulary, length = job['model']['vocabularySize'], job['model']['sequenceLength']
    count = job['training']['globalBatchSize']
    start = torch.randint(vocabulary, (count, 1), generator=generator)
    width = torch.randint(1, 4, (count, 1), generator=generator)
    return (start + width * torch.arange(length + 1)) % (vocabulary // 4)


def train_step(
    model, optimizer, job: dict, step: int, place: tuple[int, torch.Tensor], is_causal: bool, is_sharded: bool
):
    """The loss of all ranks, as a mean over the predicted bytes."""
    data_index, positions = place
    samples, vocabulary = samples_of(job, step), job['model']['vocabularySize']
    length = samples.shape[1] - 1
    own = samples.chunk(job['layout']['dataParallelDegree'])[data_index]
    hides = torch.arange(length) % HIDDEN_EVERY == 0
    given = own[:, :-1] if is_causal else own[:, :-1].masked_fill(hides, vocabulary)
    wanted = own[:, 1:] if is_causal else own[:, :-1].masked_fill(~hides, -100)
    predicted = len(samples) * (length if is_causal else int(hides.sum()))
    total = torch.zeros(())
    optimizer.zero_grad()
    for micro in zip(
        *(part[:, positions].split(job['training']['microBatchSize']) for part in (given, wanted)), strict=True
    ):
        logits = model(micro[0], positions.expand_as(micro[0]))
        loss = F.cross_entropy(logits.flatten(0, 1), micro[1].flatten(), reduction='sum') / predicted
        loss.backward()
        total += loss.detach()
    if not is_sharded:
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
    optimizer.step()
    dist.all_reduce(total)
    return total.item()


if __name__ == '__main__':
    main()
