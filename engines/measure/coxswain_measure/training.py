"""Trains one row for a few steps: how long does a step take, and how much memory at its peak?"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn

from coxswain_measure.experts import Experts
from coxswain_measure.float8 import use_float8
from coxswain_measure.model import Model, next_token_loss
from coxswain_measure.rows import Row

WARMUP_STEPS = 5
LEAST_STEPS, MOST_STEPS = 10, 40
ENOUGH_SECONDS = 1.5
"""Steps are timed until this time is over, or `MOST_STEPS` are; never fewer than `LEAST_STEPS`."""
MAX_GRADIENT_NORM = 1.0


@dataclass(frozen=True)
class Measured:
    """Step times in seconds, each from the end of one step to the end of the next; memory in bytes.

    `allocated` and `reserved` are the peaks of PyTorch's allocator over all steps, the first included; `device` is what
    the device had in use at the end, CUDA context and libraries included. Without an accelerator memory is 0.
    `busiest`: tokens of the busiest expert over the mean, in the worst layer of the last step; 0 without experts.
    """

    step_times_s: list[float]
    parameters: int
    allocated: int
    reserved: int
    device: int
    first_loss: float
    last_loss: float
    busiest: float = 0.0

    @property
    def median_s(self) -> float:
        return statistics.median(self.step_times_s)


class OutOfMemory(Exception):
    """The row does not fit into the device's memory."""


def measure(row: Row, device: torch.device, *, steps: int | None = None) -> Measured:
    """Builds the model, trains it, and leaves nothing on the device. `steps`: how many to time, if not by the clock."""
    _clear(device)
    try:
        return _measure(row, device, steps)
    except torch.OutOfMemoryError as error:
        reason = str(error)
    finally:
        _clear(device)
    raise OutOfMemory(reason)


def _measure(row: Row, device: torch.device, steps: int | None) -> Measured:
    torch.manual_seed(1)
    trainer = _Trainer(row, device)
    first_loss = trainer.step()
    for _ in range(WARMUP_STEPS - 1):
        trainer.step()
    times = _timed(trainer.step, device, steps)
    last_loss = trainer.step()
    allocated, reserved, in_use = memory_of(device)
    return Measured(
        step_times_s=times,
        parameters=trainer.parameters,
        allocated=allocated,
        reserved=reserved,
        device=in_use,
        first_loss=float(first_loss),
        last_loss=float(last_loss),
        busiest=trainer.busiest(),
    )


def memory_of(device: torch.device) -> tuple[int, int, int]:
    """Peaks of what the allocator handed out and held since they were reset, and what the device has in use now."""
    if device.type != 'cuda':
        return 0, 0, 0
    free, total = torch.cuda.mem_get_info(device)
    return torch.cuda.max_memory_allocated(device), torch.cuda.max_memory_reserved(device), total - free


def _timed(step: Callable[[], object], device: torch.device, steps: int | None) -> list[float]:
    """Times of steps that follow each other without the host waiting for each, as in a training that logs rarely."""
    marks = [mark(device)]
    began = time.perf_counter()
    while len(marks) <= (steps or MOST_STEPS):
        step()
        marks.append(mark(device))
        if steps is None and len(marks) > LEAST_STEPS:
            _await(marks[-2])  # at most one step ahead of the device, so that the clock means something
            if time.perf_counter() - began > ENOUGH_SECONDS:
                break
    _await(marks[-1])
    return times_between(marks)


def times_between(marks: Sequence[torch.cuda.Event | float]) -> list[float]:
    """Seconds from each mark to the next; the device has passed them all."""
    return [_seconds_between(a, b) for a, b in zip(marks, marks[1:], strict=False)]


def mark(device: torch.device) -> torch.cuda.Event | float:
    if device.type != 'cuda':
        return time.perf_counter()
    event = torch.cuda.Event(enable_timing=True)
    event.record()
    return event


def _await(mark: torch.cuda.Event | float) -> None:
    if not isinstance(mark, float):
        mark.synchronize()


def _seconds_between(first: torch.cuda.Event | float, second: torch.cuda.Event | float) -> float:
    if isinstance(first, float) or isinstance(second, float):
        return second - first  # type: ignore[operator]
    return first.elapsed_time(second) / 1e3


class _Trainer:
    """A model with its optimizer, and random tokens to train on."""

    def __init__(self, row: Row, device: torch.device) -> None:
        self._row = row
        self._tokens = torch.randint(row.shape.vocab, (row.accumulated, row.batch, row.length + 1), device=device)
        with torch.device(device):
            model = Model(row.shape, row.length, recompute=row.recompute)
        self.parameters = sum(parameter.numel() for parameter in model.parameters())
        if row.precision == 'fp8':
            use_float8(model.blocks)
        self._loss = next_token_loss
        self._state = _sharded(model, device) if row.engine == 'fsdp' else MixedState(model.bfloat16())
        if row.engine == 'compiled':
            torch._dynamo.reset()
            for block in model.blocks:
                block.compile(dynamic=False)
            self._loss = torch.compile(next_token_loss, dynamic=False)
        self._model = model
        _forget_the_building(device)

    def step(self) -> torch.Tensor:
        """One optimizer step; the mean loss of its last micro-batch, still on the device."""
        for part in self._tokens:
            loss = self._loss(self._model(part[:, :-1]), part[:, 1:]) / self._row.accumulated
            loss.backward()
        self._state.step()
        return loss.detach() * self._row.accumulated

    def busiest(self) -> float:
        return max((part.busiest() for part in self._model.modules() if isinstance(part, Experts)), default=0.0)


class MixedState:
    """bf16 weights, and in fp32: gradients added up over the micro-batches, master weights, both moments of Adam."""

    def __init__(self, model: nn.Module) -> None:
        self._weights = list(model.parameters())
        self._masters = [weight.detach().float() for weight in self._weights]
        self._gradients = [torch.zeros_like(master) for master in self._masters]
        for master, gradient in zip(self._masters, self._gradients, strict=True):
            master.grad = gradient
        self._adam = adam(self._masters)
        for weight, gradient in zip(self._weights, self._gradients, strict=True):
            weight.register_post_accumulate_grad_hook(_adds_to(gradient))

    @torch.no_grad()
    def step(self) -> None:
        nn.utils.clip_grad_norm_(self._masters, MAX_GRADIENT_NORM)
        self._adam.step()
        torch._foreach_copy_(self._weights, self._masters)
        torch._foreach_zero_(self._gradients)


class _Fp32State:
    """fp32 weights, gradients and moments, as fully_shard keeps them."""

    def __init__(self, model: nn.Module) -> None:
        self._weights = list(model.parameters())
        self._adam = adam(self._weights)

    def step(self) -> None:
        nn.utils.clip_grad_norm_(self._weights, MAX_GRADIENT_NORM)
        self._adam.step()
        self._adam.zero_grad()


def _sharded(model: Model, device: torch.device) -> _Fp32State:
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    if not dist.is_initialized():
        backend = 'nccl' if device.type == 'cuda' else 'gloo'
        dist.init_process_group(backend, store=dist.HashStore(), rank=0, world_size=1)
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in model.blocks:
        fully_shard(block, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    return _Fp32State(model)


def adam(weights: Iterable[torch.Tensor]) -> torch.optim.Optimizer:
    return torch.optim.AdamW(weights, lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)


def _adds_to(gradient: torch.Tensor) -> Callable[[torch.Tensor], None]:
    def add(weight: torch.Tensor) -> None:
        assert weight.grad is not None
        gradient.add_(weight.grad)
        weight.grad = None

    return add


def _clear(device: torch.device) -> None:
    gc.collect()
    if device.type == 'cuda':
        torch._C._cuda_clearCublasWorkspaces()
        _forget_the_building(device)


def _forget_the_building(device: torch.device) -> None:
    """Blocks that only the building of the model needed go back, and peaks count from here."""
    if device.type == 'cuda':
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)
