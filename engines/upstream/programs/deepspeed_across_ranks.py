"""A GPT-2 of a few thousand weights whose losses do not depend on the number of DeepSpeed's ranks, for tests that change it.

    torchrun --nproc-per-node 4 deepspeed_across_ranks.py --stage 2 --steps 12 --save-at 6 --directory DIRECTORY [--resume TAG_DIRECTORY]

Each step trains on the same sequences: ranks divide them. Rank 0 prints a line of JSON for each step. `DIRECTORY/state-saved.pt` gets the float32 weights and
both moments as DeepSpeed joins them, when the save is made. `DIRECTORY/state-loaded.pt` gets the same after a resume.
"""

import argparse
import json
import os
import signal
from pathlib import Path

import deepspeed
import torch
from deepspeed.utils import safe_get_full_fp32_param, safe_get_full_optimizer_state
from transformers import GPT2Config, GPT2LMHeadModel

VOCABULARY = 256
LENGTH = 32
GLOBAL_BATCH = 8
SEED = 1234


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument('--stage', type=int, required=True)
    parser.add_argument('--precision', choices=('fp32', 'bf16'), default='fp32')
    parser.add_argument('--steps', type=int, required=True)
    parser.add_argument('--save-at', type=int)
    parser.add_argument('--kill-after', type=int, help='rank 0 ends by SIGKILL after this step')
    parser.add_argument('--directory', type=Path, required=True)
    parser.add_argument('--resume', type=Path)
    return parser.parse_args()


def start(options: argparse.Namespace) -> deepspeed.DeepSpeedEngine:
    deepspeed.init_distributed(dist_backend='gloo')
    torch.manual_seed(SEED)
    size = {'n_layer': 4, 'n_embd': 64, 'n_head': 4, 'vocab_size': VOCABULARY, 'n_positions': LENGTH}
    dropout = {'resid_pdrop': 0.0, 'embd_pdrop': 0.0, 'attn_pdrop': 0.0}
    model = GPT2LMHeadModel(GPT2Config(**size, **dropout, bos_token_id=0, eos_token_id=0))
    config = {
        'train_micro_batch_size_per_gpu': GLOBAL_BATCH // torch.distributed.get_world_size(),
        'train_batch_size': GLOBAL_BATCH,
        'optimizer': {'type': 'AdamW', 'params': {'lr': 0.005, 'torch_adam': True}},
        'scheduler': {
            'type': 'WarmupCosineLR',
            'params': {'total_num_steps': 20, 'warmup_num_steps': 4, 'warmup_type': 'linear'},
        },
        'zero_optimization': {'stage': options.stage, 'stage3_param_persistence_threshold': 0},
        'bf16': {'enabled': options.precision == 'bf16'},
        'checkpoint': {'load_universal': options.resume is not None},
    }
    engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)
    return engine


def dump(engine: deepspeed.DeepSpeedEngine, path: Path) -> None:
    """All ranks take part: in stage 3 each has a part of each parameter."""
    state = {}
    for name, parameter in engine.module.named_parameters():
        state[f'fp32.{name}'] = safe_get_full_fp32_param(parameter)
        for moment in ('exp_avg', 'exp_avg_sq'):
            state[f'{moment}.{name}'] = safe_get_full_optimizer_state(parameter, moment)
    if engine.global_rank == 0:
        torch.save({name: tensor.detach().clone() for name, tensor in state.items()}, path)


def main() -> None:
    options = arguments()
    engine = start(options)
    if options.resume is not None:
        engine.load_checkpoint(str(options.resume.parent), tag=options.resume.name)
        dump(engine, options.directory / 'state-loaded.pt')
    for step in range(engine.global_steps + 1, options.steps + 1):
        generator = torch.Generator().manual_seed(SEED + step)
        # Each sequence counts up from a random start, so that the loss falls within a few steps.
        starts = torch.randint(VOCABULARY, (GLOBAL_BATCH, 1), generator=generator)
        tokens = (starts + torch.arange(LENGTH)) % VOCABULARY
        own = tokens.chunk(torch.distributed.get_world_size())[engine.global_rank]
        loss = engine(input_ids=own, labels=own).loss
        engine.backward(loss)
        engine.step()
        mean = loss.detach().float().clone()
        torch.distributed.all_reduce(mean)
        if engine.global_rank == 0:
            print(json.dumps({'step': step, 'loss': mean.item() / torch.distributed.get_world_size()}), flush=True)
        if step == options.save_at:
            engine.save_checkpoint(str(options.directory))
            dump(engine, options.directory / 'state-saved.pt')
            torch.distributed.barrier()
        if step == options.kill_after and engine.global_rank == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    torch.distributed.destroy_process_group()


if __name__ == '__main__':
    main()
