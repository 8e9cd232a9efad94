"""What was this rank asked to do? Flags and rank environment, parsed once, checked against each other, frozen.

Nothing here imports PyTorch, so that a wrong request is refused before the seconds that its import takes.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from coxswain_reference.errors import WrongRequest
from coxswain_reference.layout import Layout

BYTE_VOCABULARY = 256
MLP_EXPANSION = 4
SCHEDULES = ('cosine', 'linear', 'constant', 'wsd')


@dataclass(frozen=True)
class ModelSpec:
    """What must be equal between a checkpoint and the run that resumes from it."""

    layers: int
    hidden_size: int
    attention_heads: int
    sequence_length: int
    vocabulary_size: int = BYTE_VOCABULARY

    @property
    def head_size(self) -> int:
        return self.hidden_size // self.attention_heads


@dataclass(frozen=True)
class Training:
    """How the model is trained. Batch sizes count samples; the global batch is what one optimizer step sees.

    `clip_norm` 0 leaves gradients as they are; `decay_steps` are the last ones, of schedule wsd alone.
    """

    global_batch_size: int
    micro_batch_size: int
    steps: int
    learning_rate: float
    min_learning_rate: float
    warmup_steps: int
    weight_decay: float
    seed: int
    precision: str
    beta1: float
    beta2: float
    epsilon: float
    clip_norm: float
    schedule: str
    decay_steps: int

    def micro_batches(self, data_parallel_degree: int) -> int:
        """Micro-batches per step and data-parallel rank."""
        return self.global_batch_size // (self.micro_batch_size * data_parallel_degree)


@dataclass(frozen=True)
class Process:
    """This process among the others, as the launcher told it."""

    rank: int
    world_size: int
    local_rank: int
    epoch: int | None
    incarnation: int


@dataclass(frozen=True)
class MemorySettings:
    """Saves in the memory of the pod. `resume`: name of the one to begin from; None: the checkpoint."""

    directory: Path
    every: int
    most_bytes: int
    resume: str | None


@dataclass(frozen=True)
class Settings:
    """Everything that one rank needs to know. `save_every` 0 saves at the end only. `memory` None: no saves in memory.

    `reads_by_plan` False: PyTorch's own reader reads checkpoints.
    """

    process: Process
    layout: Layout
    model: ModelSpec
    training: Training
    data: Path
    save_dir: Path
    save_every: int
    resume_from: Path | None
    memory: MemorySettings | None
    reads_by_plan: bool
    step_delay_ms: float
    step_delay_until: Path | None


def read_settings(arguments: Sequence[str], environment: Mapping[str, str]) -> Settings:
    """Settings that hold together, or WrongRequest with one sentence that names field, value and rule."""
    flags = _parser(environment).parse_args(arguments)
    process = _process(environment)
    settings = Settings(
        process=process,
        layout=Layout(
            rank=process.rank,
            tensor_parallel_degree=flags.tensor_parallel,
            pipeline_parallel_degree=flags.pipeline_parallel,
            data_parallel_degree=flags.data_parallel,
        ),
        model=ModelSpec(flags.layers, flags.hidden_size, flags.attention_heads, flags.sequence_length),
        training=Training(
            global_batch_size=flags.global_batch_size,
            micro_batch_size=flags.micro_batch_size,
            steps=flags.steps,
            learning_rate=flags.learning_rate,
            min_learning_rate=flags.learning_rate / 10 if flags.min_learning_rate is None else flags.min_learning_rate,
            warmup_steps=min(10, flags.steps) if flags.warmup_steps is None else flags.warmup_steps,
            weight_decay=flags.weight_decay,
            seed=flags.seed,
            precision=flags.precision,
            beta1=flags.beta1,
            beta2=flags.beta2,
            epsilon=flags.epsilon,
            clip_norm=flags.clip_norm,
            schedule=flags.schedule,
            decay_steps=flags.decay_steps or 0,
        ),
        data=flags.data,
        save_dir=flags.save_dir,
        save_every=flags.save_every,
        resume_from=flags.resume_from,
        memory=_memory(environment),
        reads_by_plan=environment.get('COXSWAIN_CHECKPOINT_READER') != 'pytorch',
        step_delay_ms=flags.step_delay_ms,
        step_delay_until=flags.step_delay_until,
    )
    _check(settings)
    return settings


def _check(settings: Settings) -> None:
    for rule in (_check_layout, _check_model, _check_training, _check_data):
        rule(settings)


def _check_layout(settings: Settings) -> None:
    layout, model, training = settings.layout, settings.model, settings.training
    tensor, pipeline, data = (
        layout.tensor_parallel_degree,
        layout.pipeline_parallel_degree,
        layout.data_parallel_degree,
    )
    if layout.world_size != settings.process.world_size:
        raise WrongRequest(
            f'--tensor-parallel {tensor} x --pipeline-parallel {pipeline} x --data-parallel {data} = '
            f'{layout.world_size} is not WORLD_SIZE {settings.process.world_size}; they must be equal.'
        )
    if model.attention_heads % tensor:
        raise WrongRequest(f'--tensor-parallel {tensor} does not divide --attention-heads {model.attention_heads}.')
    if model.layers % pipeline:
        raise WrongRequest(f'--pipeline-parallel {pipeline} does not divide --layers {model.layers}.')
    if training.global_batch_size % (training.micro_batch_size * data):
        raise WrongRequest(
            f'--micro-batch-size {training.micro_batch_size} x --data-parallel {data} = '
            f'{training.micro_batch_size * data} does not divide --global-batch-size {training.global_batch_size}.'
        )


def _check_model(settings: Settings) -> None:
    model = settings.model
    if model.hidden_size % model.attention_heads:
        raise WrongRequest(
            f'--attention-heads {model.attention_heads} does not divide --hidden-size {model.hidden_size}.'
        )
    if model.head_size % 2:
        raise WrongRequest(
            f'--hidden-size {model.hidden_size} / --attention-heads {model.attention_heads} = {model.head_size} is odd'
            '; rotary positions need an even head size.'
        )


def _check_training(settings: Settings) -> None:
    training = settings.training
    if training.min_learning_rate > training.learning_rate:
        raise WrongRequest(
            f'--min-learning-rate {training.min_learning_rate} is above --learning-rate {training.learning_rate}; '
            'it must not exceed it.'
        )
    if training.warmup_steps > training.steps:
        raise WrongRequest(
            f'--warmup-steps {training.warmup_steps} is above --steps {training.steps}; it must not exceed it.'
        )
    if (training.schedule == 'wsd') != (training.decay_steps > 0):
        raise WrongRequest(
            f'--decay-steps {training.decay_steps} with --schedule {training.schedule}; wsd needs it, and no other has it.'
        )
    if training.warmup_steps + training.decay_steps > training.steps:
        raise WrongRequest(
            f'--warmup-steps {training.warmup_steps} + --decay-steps {training.decay_steps} are above --steps '
            f'{training.steps}; they must not exceed it.'
        )


def _check_data(settings: Settings) -> None:
    needed = settings.model.sequence_length + 1
    try:
        size = settings.data.stat().st_size
    except OSError as error:
        raise WrongRequest(
            f'--data {settings.data} cannot be read: {error.strerror}; it must be a text file.'
        ) from error
    if not settings.data.is_file():
        raise WrongRequest(f'--data {settings.data} is not a file; it must be a text file.')
    if size < needed:
        raise WrongRequest(
            f'--data {settings.data} has {size} bytes; --sequence-length {settings.model.sequence_length} '
            f'needs at least {needed}.'
        )


def _process(environment: Mapping[str, str]) -> Process:
    for name in ('MASTER_ADDR', 'MASTER_PORT'):
        if not environment.get(name):
            raise WrongRequest(f'{name} is not set; a launcher sets it for every rank.')
    rank, world_size = _whole(environment, 'RANK'), _whole(environment, 'WORLD_SIZE')
    if rank >= world_size:
        raise WrongRequest(f'RANK {rank} is not below WORLD_SIZE {world_size}; ranks count from 0.')
    local_rank = _whole(environment, 'LOCAL_RANK') if environment.get('LOCAL_RANK') else 0
    epoch = environment.get('COXSWAIN_EPOCH', '')
    incarnation = environment.get('COXSWAIN_INCARNATION', '')
    return Process(
        rank,
        world_size,
        local_rank,
        epoch=int(epoch) if epoch.isdigit() else None,
        incarnation=int(incarnation) if incarnation.isdigit() else 1,
    )


def _memory(environment: Mapping[str, str]) -> MemorySettings | None:
    directory = environment.get('COXSWAIN_MEMORY_DIR')
    if not directory:
        return None
    every, most_bytes = _whole(environment, 'COXSWAIN_MEMORY_SAVE_EVERY'), _whole(environment, 'COXSWAIN_MEMORY_SAVE_BYTES')
    if every < 1:
        raise WrongRequest('COXSWAIN_MEMORY_SAVE_EVERY 0 is below 1, the least allowed.')
    return MemorySettings(Path(directory), every, most_bytes, environment.get('COXSWAIN_MEMORY_RESUME') or None)


def _whole(environment: Mapping[str, str], name: str) -> int:
    text = environment.get(name, '')
    if not text.isdigit():
        raise WrongRequest(f'{name} {text!r} is not a whole number; a launcher sets it for every rank.')
    return int(text)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise WrongRequest(f'{message}.')


def _parser(environment: Mapping[str, str]) -> argparse.ArgumentParser:
    parser = _Parser(prog='python -m coxswain_reference.train', description=__doc__, allow_abbrev=False)
    add = parser.add_argument
    add('--layers', type=_positive, default=4)
    add('--hidden-size', type=_positive, default=128)
    add('--attention-heads', type=_positive, default=4)
    add('--sequence-length', type=_positive, default=128)
    add('--tensor-parallel', type=_positive, default=1, help='degree of tensor parallelism')
    add('--pipeline-parallel', type=_positive, default=1, help='pipeline stages')
    add('--data-parallel', type=_positive, default=1, help='degree of data parallelism')
    add('--global-batch-size', type=_positive, default=16, help='samples per optimizer step, over all ranks')
    add('--micro-batch-size', type=_positive, default=4, help='samples per forward pass of one rank')
    add('--steps', type=_positive, default=200, help='optimizer steps of the whole training, those resumed included')
    add('--learning-rate', type=_rate, default=1e-3)
    add('--min-learning-rate', type=_rate, help='absent: a tenth of the learning rate')
    add('--warmup-steps', type=_not_negative, help='absent: 10, or all steps where there are fewer')
    add('--weight-decay', type=_rate, default=0.1)
    add('--beta1', type=_share, default=0.9, help="AdamW's running mean of gradients")
    add('--beta2', type=_share, default=0.95, help="AdamW's running mean of their squares")
    add('--epsilon', type=_rate, default=1e-8, help="added to AdamW's denominator")
    add('--clip-norm', type=_rate, default=1.0, help='largest global norm of the gradients; 0: as they are')
    add('--schedule', choices=SCHEDULES, default='cosine', help='how the learning rate falls after the warm-up')
    add('--decay-steps', type=_positive, help='last steps, in which schedule wsd falls')
    add('--seed', type=_not_negative, default=1)
    add('--precision', choices=('fp32', 'bf16'), default='fp32')
    add('--data', type=Path, required=True, help='the text to train on; its bytes are the tokens')
    saves_to = environment.get('COXSWAIN_SAVE_DIR')
    belongs = 'a directory for checkpoints that belongs to this run alone; absent: COXSWAIN_SAVE_DIR'
    add('--save-dir', type=Path, required=saves_to is None, default=saves_to, help=belongs)
    add('--save-every', type=_not_negative, default=0, help='steps between checkpoints; 0: at the end only')
    resumes_from = environment.get('COXSWAIN_RESUME_FROM')
    begins = 'a checkpoint directory; absent: COXSWAIN_RESUME_FROM, without that from scratch'
    add('--resume-from', type=Path, default=resumes_from, help=begins)
    add('--step-delay-ms', type=_rate, default=0.0, help='for tests: sleep after each step')
    add('--step-delay-until', type=Path, help='for tests: no longer sleep once this file exists')
    return parser


def _positive(text: str) -> int:
    value = _integer(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f'{text} is below 1, the least allowed')
    return value


def _not_negative(text: str) -> int:
    value = _integer(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f'{text} is negative; 0 is the least allowed')
    return value


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f'{text!r} is not a whole number') from None


def _rate(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f'{text!r} is not a number') from None
    if not math.isfinite(value) or value < 0:
        raise argparse.ArgumentTypeError(f'{text} must be finite and not negative')
    return value


def _share(text: str) -> float:
    value = _rate(text)
    if value >= 1:
        raise argparse.ArgumentTypeError(f'{text} must be below 1')
    return value
