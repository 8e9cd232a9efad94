"""The training of one rank: its state, one step of it, and the loop with its saves and stops."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import torch
from coxswain_agent import Reporter, StepTimer

from coxswain_reference.checkpoint import CheckpointWriter, load, verify_together
from coxswain_reference.data import ByteSamples, samples_of
from coxswain_reference.faults import Fault
from coxswain_reference.manifest import Manifest
from coxswain_reference.memory_saves import MemorySaves
from coxswain_reference.model import GptStage, initialise
from coxswain_reference.optimizer import ShardedAdamW
from coxswain_reference.parallel.groups import Groups, device_of, join
from coxswain_reference.parallel.pipeline import Activations, MicroBatch, Pipeline
from coxswain_reference.progress import Progress
from coxswain_reference.schedule import learning_rate
from coxswain_reference.settings import Settings
from coxswain_reference.stop import StopRequest

PHASES = ('forward', 'backward', 'communication', 'optimizer', 'data')


@dataclass(frozen=True)
class StepResult:
    """What all ranks know after a step."""

    loss: float
    gradient_norm: float
    learning_rate: float
    stop_asked: bool
    save_asked: bool


class Trainer:
    """One rank of a gang, from joining the others to the last save."""

    def __init__(self, settings: Settings, reporter: Reporter, stop: StopRequest, fault: Fault | None) -> None:
        self._settings = settings
        self._reporter = reporter
        self._stop = stop
        self._fault = fault
        self._save_known = 0
        self._save_answered = 0
        self._timer = StepTimer(PHASES)
        self._device = device_of(settings.process.local_rank, torch.cuda.device_count())
        if self._device.type == 'cuda':
            torch.cuda.set_device(self._device)
        self._groups = join(settings.layout, self._device, self._timer)
        self._stage = build_stage(settings, self._groups, self._device)
        training = settings.training
        dtype = compute_dtype(training.precision)
        self._optimizer = ShardedAdamW(self._stage, self._groups, training, dtype=dtype)
        self._pipeline = self._build_pipeline()
        self._samples = ByteSamples(settings.data, settings.model.sequence_length, settings.training.seed)
        self._writer = CheckpointWriter(settings, reporter)
        self._memory = None if settings.memory is None else MemorySaves(settings, settings.memory)
        self._progress = Progress(step=0, samples=0, seed=settings.training.seed)

    def resume(self, manifest: Manifest) -> None:
        """Takes up the state of the checkpoint `settings.resume_from`, whose manifest was read before."""
        directory = self._settings.resume_from
        assert directory is not None
        verify_together(directory, manifest, self._writer.group)
        saved = load(
            directory, self._optimizer, self._writer.group, reads_by_plan=self._settings.reads_by_plan
        )
        self._optimizer.share_weights()
        if saved.seed != self._settings.training.seed:
            self._say(
                f'the seed was {saved.seed} and is now {self._settings.training.seed}: the order of samples changes'
            )
        self._progress = replace(saved, seed=self._settings.training.seed)
        self._reporter.resumed(saved.step)
        self._say(f'resumed after step {saved.step} from {directory}')

    def resume_from_memory(self) -> bool:
        """Takes up the state that these ranks saved in memory. Whether all ranks could; else none has taken up anything."""
        saved = None if self._memory is None else self._memory.restore(self._optimizer, self._writer.group)
        if saved is None:
            return False
        self._optimizer.share_weights()
        self._progress = saved
        self._reporter.resumed(saved.step)
        self._say(f'resumed after step {saved.step} from memory')
        return True

    def run(self) -> bool:
        """Trains to the last step, or until asked to stop. Whether the training is finished; the state is saved."""
        steps = self._settings.training.steps
        self._say(f'training on {describe_device(self._device)}')
        self._say(self._sizes())
        resumed_at = self._progress.step
        while self._progress.step < steps:
            result = self._step()
            self._writer.check()
            if self._memory is not None and self._memory.is_due(self._progress.step):
                self._memory.save(self._optimizer, self._progress)
            self._wait_on_purpose()
            if result.stop_asked:
                break
            is_due = self._settings.save_every and self._progress.step % self._settings.save_every == 0
            if result.save_asked:
                self._say(f'asked to save: saving after step {self._progress.step} and training on')
            if is_due or result.save_asked:
                self._save()
        if self._progress.step not in (self._writer.last_step, resumed_at):
            self._save()
        self._writer.wait()
        return self._report_end()

    def _wait_on_purpose(self) -> None:
        until = self._settings.step_delay_until
        if self._settings.step_delay_ms and not (until is not None and until.exists()):
            time.sleep(self._settings.step_delay_ms / 1e3)

    def _save(self) -> None:
        """Begins to save what is trained by now, which answers whatever was asked before this step was agreed on."""
        self._save_answered = self._save_known
        self._writer.start(self._optimizer, self._progress)

    def _step(self) -> StepResult:
        step = self._progress.step + 1
        self._fail_on_purpose(step)
        began = time.perf_counter()
        self._timer.take_ms()  # what was counted between the steps belongs to none
        with self._timer.phase('data'):
            micro_batches = self._micro_batches()
        training = self._settings.training
        loss = self._pipeline.forward_backward(micro_batches, 1.0 / (len(micro_batches) * self._groups.data.size))
        self._compute_longer_on_purpose(step)
        with self._timer.phase('optimizer'):
            gradients = self._optimizer.reduce_gradients()
            result = self._agree(step, loss, self._optimizer.squared_norm(gradients))
            if math.isfinite(result.gradient_norm):  # else the step is skipped, on all ranks alike
                if training.clip_norm:
                    gradients.mul_(min(1.0, training.clip_norm / (result.gradient_norm + 1e-6)))
                self._optimizer.update(gradients, step=step, learning_rate=result.learning_rate)
                self._optimizer.share_weights()
        self._progress = replace(self._progress, step=step, samples=self._progress.samples + training.global_batch_size)
        self._tell(result, (time.perf_counter() - began) * 1e3)
        return result

    def _agree(self, step: int, loss: float, squared_norm: torch.Tensor) -> StepResult:
        """One sum over all ranks gives the loss, the gradient norm, and whether any rank was asked to stop, or to save and go on."""
        is_told_here = self._settings.layout.is_last_stage and self._groups.tensor.index == 0
        self._save_known = self._reporter.save_asked
        # One save at a time. What is asked while one goes on is passed on when that has ended, so that nobody waits for it.
        asks_anew = self._save_known > self._save_answered and not self._writer.is_saving
        own = [float(squared_norm), loss if is_told_here else 0.0, float(self._stop.is_asked), float(asks_anew)]
        total = self._groups.world.all_reduce(torch.tensor(own, dtype=torch.float64, device=self._device)).tolist()
        training = self._settings.training
        rate = learning_rate(step, training)
        return StepResult(
            loss=total[1],
            gradient_norm=math.sqrt(total[0]),
            learning_rate=rate,
            stop_asked=total[2] > 0,
            save_asked=total[3] > 0,
        )

    def _micro_batches(self) -> list[MicroBatch]:
        settings, training = self._settings, self._settings.training
        batches = []
        for number in range(training.micro_batches(settings.layout.data_parallel_degree)):
            samples = samples_of(
                first_sample=self._progress.samples,
                micro_batch=number,
                micro_batch_size=training.micro_batch_size,
                data_rank=settings.layout.data_rank,
                data_parallel_degree=settings.layout.data_parallel_degree,
            )
            tokens, targets = self._samples.batch(samples)
            batches.append((tokens.to(self._device), targets.to(self._device)))
        return batches

    def _build_pipeline(self) -> Pipeline:
        model, training = self._settings.model, self._settings.training
        shape = (training.micro_batch_size, model.sequence_length, model.hidden_size)
        activations = Activations(shape, compute_dtype(training.precision), self._device)
        return Pipeline(self._stage, self._groups.pipeline, activations, self._timer)

    def _fault_of(self, step: int) -> Fault | None:
        process, fault = self._settings.process, self._fault
        if fault is None or not fault.happens(
            rank=process.rank, step=step, epoch=process.epoch, incarnation=process.incarnation
        ):
            return None
        return fault

    def _fail_on_purpose(self, step: int) -> None:
        fault = self._fault_of(step)
        if fault is None or fault.kind == 'slow':
            return
        self._reporter.wait_until_written(timeout_seconds=1.0)
        fault.perform()

    def _compute_longer_on_purpose(self, step: int) -> None:
        fault = self._fault_of(step)
        if fault is None or fault.kind != 'slow':
            return
        computed_ms = self._timer.so_far_ms('forward', 'backward')
        with self._timer.phase('backward'):
            time.sleep(fault.share * computed_ms / 1e3)

    def _tell(self, result: StepResult, step_time_ms: float) -> None:
        settings, step = self._settings, self._progress.step
        tokens = settings.training.global_batch_size * settings.model.sequence_length
        self._reporter.step(
            step=step,
            rank=settings.process.rank,
            step_time_ms=step_time_ms,
            tokens=tokens,
            loss=result.loss,
            learning_rate=result.learning_rate,
            grad_norm=result.gradient_norm,
            timings_ms=self._timer.take_ms(),
        )
        self._say(
            f'step {step}/{settings.training.steps}  loss {result.loss:.4f}  gradient norm {result.gradient_norm:.3f}  '
            f'learning rate {result.learning_rate:.2e}  {step_time_ms:.0f} ms  '
            f'{tokens / step_time_ms * 1e3:,.0f} tokens/s'
        )

    def _sizes(self) -> str:
        layout, training = self._settings.layout, self._settings.training
        degrees = f'tensor {layout.tensor_parallel_degree}, pipeline {layout.pipeline_parallel_degree}, data {layout.data_parallel_degree}'
        batch = f'batch {training.global_batch_size} in micro-batches of {training.micro_batch_size}'
        return f'layout: {degrees}; {batch}; {training.precision}'

    def _report_end(self) -> bool:
        is_finished = self._progress.step >= self._settings.training.steps
        self._say(f'{"finished" if is_finished else "stopped as asked"} after step {self._progress.step}')
        return is_finished

    def _say(self, text: str) -> None:
        if self._settings.process.rank == 0:
            print(text, flush=True)


def build_stage(settings: Settings, groups: Groups, device: torch.device) -> GptStage:
    """This rank's part of the model with its initial weights, in fp32 on `device`."""
    stage = GptStage(settings.model, settings.layout, groups.tensor)
    initialise(stage, settings.training.seed, groups.tensor)
    return stage.to(device)


def describe_device(device: torch.device) -> str:
    """`cpu`, or `cuda:0 (NVIDIA H100 80GB HBM3)`."""
    return str(device) if device.type == 'cpu' else f'{device} ({torch.cuda.get_device_name(device)})'


def compute_dtype(precision: str) -> torch.dtype:
    """The type of weights and activations; optimizer state and gradient sums are always fp32."""
    return torch.bfloat16 if precision == 'bf16' else torch.float32
