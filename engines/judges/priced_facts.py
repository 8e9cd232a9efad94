"""Reads back, by the engines' own parsers, what Coxswain priced and rendered: one line of JSON for each job.

    python3 priced_facts.py < JOBS

A job is a line of JSON: `engine`, `directory` of its rendered files, `args` behind `python3 PROGRAM`, and `data`, its data-parallel degree.
Names of facts are those of `PricedFacts` in libs/planner. One process reads all jobs: importing the engines takes
longer than parsing.
"""

import json
import os
import sys
from pathlib import Path

OF_DTYPE = {'float32': 4, 'bfloat16': 2, 'float16': 2}


def main() -> None:
    os.environ.update(DS_ACCELERATOR='cpu', RANK='0', WORLD_SIZE='1', LOCAL_RANK='0', MASTER_ADDR='127.0.0.1', MASTER_PORT='29511')
    readers = {'deepspeed': _deepspeed, 'hugging-face': _hugging_face, 'torchtitan': _torchtitan}
    for line in sys.stdin:
        job = json.loads(line)
        try:
            answer = {'facts': readers[job['engine']](job)}
        except BaseException as error:
            answer = {'why': f'{type(error).__name__}: {error}'.strip()[:600]}
        print('READ ' + json.dumps(answer), flush=True)
    sys.stdout.flush()
    os._exit(0)  # engines leave threads behind


class _Mesh:
    """DeepSpeed asks for nothing else of a mesh to divide its batches."""

    def __init__(self, ranks: int) -> None:
        self._ranks = ranks

    def get_data_parallel_world_size(self) -> int:
        return self._ranks


def _be_among_ranks() -> None:
    """Without a group, DeepSpeed takes itself for one rank and asks no mesh."""
    import torch
    from deepspeed import comm
    from torch.testing._internal.distributed.fake_pg import FakeStore

    if not torch.distributed.is_initialized():
        torch.distributed.init_process_group('fake', rank=0, world_size=1, store=FakeStore())
    if not comm.is_initialized():
        comm.init_distributed(dist_backend='gloo', dist_init_required=False)


def _deepspeed(job: dict) -> dict:
    said = json.loads((Path(job['directory']) / 'deepspeed.json').read_text(encoding='utf-8'))
    return _of_deepspeed(said, job['data'])


def _of_deepspeed(said: dict, data: int) -> dict:
    import torch
    from deepspeed.runtime.config import DeepSpeedConfig
    from deepspeed.runtime.config import DtypeEnum

    _be_among_ranks()
    config = DeepSpeedConfig(said, mpu=_Mesh(data))
    zero = config.zero_config
    half = torch.float16 if config.float16_config.enabled else torch.bfloat16 if config.bfloat16_config.enabled else torch.float32
    # As get_data_types of deepspeed/runtime/engine.py.
    gradients = half if config.grad_accum_dtype is None else DtypeEnum(config.grad_accum_dtype).value
    return {
        'data': config.world_size,
        'microBatchSize': config.train_micro_batch_size_per_gpu,
        'zeroStage': int(zero.stage),
        'overlapGradReduce': bool(zero.overlap_comm),
        'overlapParamGather': bool(zero.overlap_comm),
        'offloadOptimizer': 0 if zero.offload_optimizer is None else zero.offload_optimizer.ratio,
        'offloadWeights': 0 if zero.offload_param is None else 1,
        'offloadActivations': int(config.activation_checkpointing_config.cpu_checkpointing),
        'precision': {torch.float16: 'fp16', torch.bfloat16: 'bf16', torch.float32: 'fp32'}[half],
        'gradientBytes': torch.finfo(gradients).bits // 8,
    }


def _hugging_face(job: dict) -> dict:
    from transformers import HfArgumentParser, TrainingArguments

    arguments = [*job['args'], '--use_cpu=true']
    file = [one for one in arguments if one.startswith('--deepspeed=')]
    # Its plugin asks for a device of DeepSpeed; the file is read by DeepSpeed's own class here.
    plain = [one for one in arguments if one not in file]
    parsed, others = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses(args=plain, return_remaining_strings=True)
    # Adapters are options of the script (ModelConfig of TRL).
    unread = [one for one in others if one.startswith('--') and not one.startswith(('--use_peft', '--lora_'))]
    if unread:
        raise ValueError(f'TrainingArguments has no {unread}')
    facts = {
        'microBatchSize': parsed.per_device_train_batch_size,
        'recompute': 'full' if parsed.gradient_checkpointing else 'none',
        'precision': 'bf16' if parsed.bf16 else 'fp16' if parsed.fp16 else 'fp32',
    }
    if parsed.fsdp:
        # FSDP recomputes by an option of its own.
        return {**facts, 'zeroStage': 3, 'recompute': 'full' if parsed.fsdp_config.get('activation_checkpointing') else 'none'}
    if not file:
        return {**facts, 'zeroStage': 0}
    said = json.loads(Path(file[0].partition('=')[2]).read_text(encoding='utf-8'))
    # The Trainer fills these in from its own arguments (transformers/integrations/deepspeed.py).
    filled = {
        'train_micro_batch_size_per_gpu': parsed.per_device_train_batch_size,
        'gradient_accumulation_steps': parsed.gradient_accumulation_steps,
        'train_batch_size': parsed.per_device_train_batch_size * parsed.gradient_accumulation_steps * job['data'],
    }
    whole = {name: filled.get(name) if value == 'auto' else value for name, value in {**filled, **said}.items()}
    read = _of_deepspeed(whole, job['data'])
    del read['gradientBytes']  # one price stands for the Trainer with and without DeepSpeed
    return {**read, **facts}


def _torchtitan(job: dict) -> dict:
    from torchtitan.config import ConfigManager

    # Each job has a module of the same name.
    sys.path.insert(0, job['directory'])
    try:
        config = ConfigManager().parse_args(job['args'])
    finally:
        sys.path.remove(job['directory'])
        sys.modules.pop('coxswain_torchtitan', None)
    parallel, training = config.parallelism, config.training
    recompute = config.activation_checkpoint
    mode = 'none' if recompute is None else {'FullAC': 'full'}.get(type(recompute).__qualname__.split('.')[0])
    return {
        'tensor': parallel.tensor_parallel_degree,
        'context': parallel.context_parallel_degree,
        'pipeline': parallel.pipeline_parallel_degree,
        'data': parallel.data_parallel_replicate_degree * parallel.data_parallel_shard_degree,
        'zeroStage': 3 if parallel.data_parallel_shard_degree > 1 else 0,
        'offloadWeights': int(training.enable_cpu_offload),
        'overlapTensor': config.compile.enable_async_tensor_parallel,
        'gradientBytes': OF_DTYPE[training.mixed_precision_reduce],
        # Chosen operations are priced as some layers, which no option says.
        **({} if mode is None else {'recompute': mode}),
    }


if __name__ == '__main__':
    main()
