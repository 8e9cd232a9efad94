"""A transformer of a few thousand weights under DeepSpeed, as a user would write it for the file that Coxswain renders.

    deepspeed_gpt.py --deepspeed --deepspeed_config FILE JOB_FILE, one process for each rank

A Llama, whose tokens Ulysses divides if the file has sequence_parallel_size; or, if the job's model has experts, layers of `deepspeed.moe`. Its losses do not
depend on the number of ranks: every step trains on the same samples. Rank 0 prints a line of JSON for each step.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import deepspeed
import torch
import torch.distributed as dist
from deepspeed.moe.layer import MoE
from deepspeed.moe.utils import split_params_into_different_moe_groups_for_optimizer
from deepspeed.runtime.sequence_parallel.ulysses_sp import UlyssesSPAttentionHF
from torch import nn
from torch.nn import functional as F
from transformers import LlamaConfig, LlamaForCausalLM

SEED = 1234


def main() -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument('--deepspeed', action='store_true')
    parser.add_argument('--deepspeed_config', type=Path, required=True)
    parser.add_argument('job', type=Path)
    options = parser.parse_args()
    config, job = (json.loads(path.read_text()) for path in (options.deepspeed_config, options.job))
    deepspeed.init_distributed(dist_backend='gloo')
    torch.manual_seed(SEED)
    model = Experts(job['model'], job['layout']['expert']) if 'experts' in job['model'] else llama(job['model'])
    sequence = config.get('sequence_parallel_size', 1)
    # It puts itself in the place of the model's attention. None for one rank.
    mesh = UlyssesSPAttentionHF.register_with_transformers(
        model_name_or_path=model,
        core_attn_implementation='sdpa',
        sequence_parallel_size=sequence,
        micro_batch_size=job['training']['microBatchSize'],
        seq_length=job['model']['sequenceLength'],
        seq_length_is_variable=False,
    )
    parameters = model.parameters()
    if isinstance(model, Experts):
        parameters = split_params_into_different_moe_groups_for_optimizer({'params': list(parameters), 'name': 'all'})
    # PyTorch's own: DeepSpeed's would be compiled first.
    optimizer = torch.optim.AdamW(parameters, **numbers_of(config))
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=config, mpu=mesh)
    if dist.get_rank() == 0:
        experts = job['layout']['expert']['expertParallelDegree']
        stage = engine.zero_optimization_stage()
        print(f'ranks {dist.get_world_size()}: ZeRO {stage}, sequence {sequence}, experts over {experts}', flush=True)
    for step in range(1, job['training']['steps'] + 1):
        loss = train_step(engine, job, step, sequence)
        if dist.get_rank() == 0:
            print(json.dumps({'step': step, 'loss': loss}), flush=True)
    dist.destroy_process_group()


def numbers_of(config: dict) -> dict:
    known = config['optimizer']['params']
    return {'lr': known['lr'], 'weight_decay': known['weight_decay']}


def llama(model: dict) -> LlamaForCausalLM:
    sizes = {
        'hidden_size': model['hiddenSize'],
        'intermediate_size': model['ffnHiddenSize'],
        'num_hidden_layers': model['layers'],
        'num_attention_heads': model['attentionHeads'],
        'num_key_value_heads': model['keyValueHeads'],
        'vocab_size': model['vocabularySize'],
        'max_position_embeddings': model['sequenceLength'],
    }
    return LlamaForCausalLM(LlamaConfig(**sizes, attn_implementation='sdpa', use_cache=False))


class Expert(nn.Module):
    def __init__(self, size: int, inner: int) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(size, inner), nn.Linear(inner, size)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(F.gelu(self.up(x)))


class Experts(nn.Module):
    """Bytes, and for each of them the byte before: layers of experts predict the next one without attention."""

    def __init__(self, model: dict, expert: dict) -> None:
        super().__init__()
        size, experts = model['hiddenSize'], model['experts']
        self.embedding = nn.Embedding(model['vocabularySize'], size)
        self.before = nn.Linear(size, size)
        self.norms = nn.ModuleList(nn.LayerNorm(size) for _ in range(model['layers']))
        self.layers = nn.ModuleList(
            MoE(
                size,
                Expert(size, experts['ffnHiddenSize']),
                num_experts=experts['count'],
                ep_size=expert['expertParallelDegree'],
                k=experts['topK'],
                capacity_factor=expert.get('capacityFactor', 1.0),
                use_rts=expert.get('tokenDropOrder') == 'random',
            )
            for _ in range(model['layers'])
        )
        self.head = nn.Linear(size, model['vocabularySize'])

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        x = x + self.before(F.pad(x, (0, 0, 1, 0))[:, :-1])
        for norm, layer in zip(self.norms, self.layers, strict=True):
            x = x + layer(norm(x))[0]
        return self.head(x)


def samples_of(job: dict, step: int) -> torch.Tensor:
    """Each sample counts up from a random start in steps of a random width, in a quarter of the vocabulary: the loss falls within a few steps."""
    generator = torch.Generator().manual_seed(SEED + step)
    count, length = job['training']['globalBatchSize'], job['model']['sequenceLength']
    bytes_used = job['model']['vocabularySize'] // 4
    start = torch.randint(bytes_used, (count, 1), generator=generator)
    width = torch.randint(1, 4, (count, 1), generator=generator)
    return (start + width * torch.arange(length + 1)) % bytes_used


def train_step(engine, job: dict, step: int, sequence: int) -> float:
    """The mean loss of all ranks. Each has its samples and, with Ulysses, its tokens of them."""
    rank, ranks = dist.get_rank(), dist.get_world_size()
    data_index, sequence_index = divmod(rank, sequence)
    own = samples_of(job, step).chunk(ranks // sequence)[data_index]
    total = torch.zeros(())
    is_experts = isinstance(engine.module, Experts)
    parts = own.split(engine.train_micro_batch_size_per_gpu())
    for part in parts:
        given, wanted = (half.chunk(sequence, 1)[sequence_index].contiguous() for half in (part[:, :-1], part[:, 1:]))
        positions = torch.arange(part.shape[1] - 1).chunk(sequence)[sequence_index].expand_as(given).contiguous()
        arguments = {'tokens': given} if is_experts else {'input_ids': given, 'position_ids': positions}
        answer = engine(**arguments)
        logits = answer if is_experts else answer.logits
        # Every rank has as many tokens, and DeepSpeed takes the mean of gradients over all ranks, those of a sequence too.
        loss = F.cross_entropy(logits.flatten(0, 1), wanted.flatten())
        engine.backward(loss)
        engine.step()
        total += loss.detach() / len(parts)
    dist.all_reduce(total)
    return total.item() / ranks


if __name__ == '__main__':
    main()
