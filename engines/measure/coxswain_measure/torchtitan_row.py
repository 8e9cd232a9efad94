"""`python -m coxswain_measure.torchtitan_row ENGINE --out FILE.csv`: a Llama of 1.1 B trained by TorchTitan on one GPU.

TorchTitan leaves FSDP away on a single rank and computes under autocast. `torchtitan fsdp` puts its own `apply_fsdp`
back, over a mesh of one. Its data loader is replaced by random tokens, its tokenizer by none; the rest is its own.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule
from torchtitan.components.dataloader import ParallelAwareDataloader
from torchtitan.config import ConfigManager, JobConfig
from torchtitan.models import llama3
from torchtitan.models.llama3.infra.parallelize import apply_fsdp
from torchtitan.protocols import train_spec
from torchtitan.tools.logging import init_logger
from torchtitan.train import Trainer

from coxswain_measure.framework_row import BATCH, LENGTH, SHAPE, STEPS, measure_and_write
from coxswain_measure.training import WARMUP_STEPS, Measured, mark, memory_of, times_between


class _Tokens(torch.utils.data.IterableDataset):
    def __iter__(self) -> Iterator[tuple[dict[str, torch.Tensor], torch.Tensor]]:
        while True:
            tokens = torch.randint(SHAPE.vocab, (LENGTH + 1,))
            yield {'input': tokens[:-1]}, tokens[1:]


def _loader(dp_world_size: int, dp_rank: int, tokenizer: None, job_config: JobConfig) -> ParallelAwareDataloader:
    return ParallelAwareDataloader(_Tokens(), dp_rank, dp_world_size, batch_size=BATCH)


def _sharded(model: nn.Module, parallel_dims: object, job_config: JobConfig) -> nn.Module:
    model = llama3.parallelize_llama(model, parallel_dims, job_config)
    mesh = init_device_mesh('cuda', (1,), mesh_dim_names=('fsdp',))
    apply_fsdp(model, mesh, param_dtype=torch.bfloat16, reduce_dtype=torch.float32, pp_enabled=False)
    return model


class _TimedTrainer(Trainer):
    seen: Measured

    def __init__(self, job_config: JobConfig) -> None:
        super().__init__(job_config)
        if isinstance(self.model_parts[0], FSDPModule):
            self.maybe_enable_amp = contextlib.nullcontext()

    def train(self) -> None:
        self._marks: list[torch.cuda.Event | float] = []
        super().train()
        torch.cuda.synchronize()
        allocated, reserved, device = memory_of(self.device)
        times = times_between(self._marks[WARMUP_STEPS - 1 :])
        parameters = sum(one.numel() for one in self.model_parts[0].parameters())
        self.seen = Measured(times, parameters, allocated, reserved, device, 0.0, 0.0)

    def train_step(self, data_iterator: Iterator[tuple[dict[str, torch.Tensor], torch.Tensor]]) -> None:
        super().train_step(data_iterator)
        self._marks.append(mark(self.device))


def _trained(engine: str, recompute: bool) -> Measured:
    sizes = llama3.TransformerModelArgs(
        dim=SHAPE.hidden,
        n_layers=SHAPE.layers,
        n_heads=SHAPE.heads,
        n_kv_heads=SHAPE.kv_heads,
        vocab_size=SHAPE.vocab,
        multiple_of=256,
        rope_theta=500_000,
    )
    spec = llama3.get_train_spec()
    spec = dataclasses.replace(
        spec,
        model_args={'1B': sizes},
        parallelize_fn=_sharded if 'fsdp' in engine else spec.parallelize_fn,
        build_dataloader_fn=_loader,
        build_tokenizer_fn=None,
        state_dict_adapter=None,
    )
    train_spec.register_train_spec('measured', spec)
    options = {
        'model.name': 'measured',
        'model.flavor': '1B',
        'training.seq_len': LENGTH,
        'training.local_batch_size': BATCH,
        'training.steps': STEPS,
        'activation_checkpoint.mode': 'full' if recompute else 'none',
        # Each line of its log waits for the device and resets the peaks of memory.
        'metrics.log_freq': 1000,
        'job.dump_folder': '/tmp/torchtitan',
    }
    compiled = ['--compile.enable'] if 'compiled' in engine else []
    init_logger()
    config = ConfigManager().parse_args([*(f'--{name}={value}' for name, value in options.items()), *compiled])
    trainer = _TimedTrainer(config)
    trainer.train()
    trainer.close()
    return trainer.seen


if __name__ == '__main__':
    measure_and_write(_trained, ['torchtitan', 'torchtitan fsdp', 'torchtitan fsdp compiled'])
