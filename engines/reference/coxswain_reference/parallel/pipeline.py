"""One forward and backward pass of all micro-batches through the pipeline stages, in 1F1B order.

A stage first runs as many forward passes as there are stages after it, then one forward and one backward in turn, then
the backward passes that are left. So a stage never holds the activations of more micro-batches than there are stages
from it to the end (Narayanan et al. 2021, arXiv 2104.04473, section 2.2).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist
from coxswain_agent import StepTimer

from coxswain_reference.model import GptStage
from coxswain_reference.parallel.groups import Group

MicroBatch = tuple[torch.Tensor, torch.Tensor]
"""Tokens and targets, int64, each [samples, sequence length]."""


@dataclass(frozen=True)
class Activations:
    """What is sent from stage to stage for one micro-batch."""

    shape: tuple[int, int, int]
    dtype: torch.dtype
    device: torch.device

    def empty(self) -> torch.Tensor:
        return torch.empty(self.shape, dtype=self.dtype, device=self.device)


class Pipeline:
    """Runs one rank's stage among its neighbours."""

    def __init__(self, stage: GptStage, group: Group, activations: Activations, timer: StepTimer) -> None:
        self._stage = stage
        self._group = group
        self._activations = activations
        self._timer = timer
        self._sending: list[tuple[dist.Work, torch.Tensor]] = []
        self._held: deque[tuple[torch.Tensor, torch.Tensor]] = deque()
        self._loss = 0.0

    @property
    def _is_first(self) -> bool:
        return self._group.index == 0

    @property
    def _is_last(self) -> bool:
        return self._group.index == self._group.size - 1

    def forward_backward(self, micro_batches: Sequence[MicroBatch], loss_scale: float) -> float:
        """Adds the gradients of `loss_scale` x the summed losses to the parameters.

        Returns `loss_scale` x the summed losses on the last stage, 0 on the others.
        """
        self._loss = 0.0
        coming = deque(micro_batches)
        ahead = min(self._group.size - 1 - self._group.index, len(micro_batches))
        for _ in range(ahead):
            activations = self._exchange(receive_activations=True)[0]
            output = self._forward(coming.popleft(), activations, loss_scale)
            self._exchange(send_activations=output)
        alternating = len(micro_batches) - ahead
        activations = self._exchange(receive_activations=alternating > 0)[0]
        for turn in range(alternating):
            output = self._forward(coming.popleft(), activations, loss_scale)
            gradient = self._exchange(send_activations=output, receive_gradient=True)[1]
            to_previous = self._backward(gradient)
            more = turn + 1 < alternating
            activations = self._exchange(send_gradient=to_previous, receive_activations=more)[0]
        for _ in range(ahead):
            gradient = self._exchange(receive_gradient=True)[1]
            self._exchange(send_gradient=self._backward(gradient))
        self._finish_sending()
        return self._loss

    def _forward(self, micro_batch: MicroBatch, activations: torch.Tensor | None, loss_scale: float) -> torch.Tensor:
        tokens, targets = micro_batch
        inputs = tokens if activations is None else activations.requires_grad_()
        with self._timer.phase('forward'):
            output = self._stage(inputs, targets)
            if self._is_last:
                output = output * loss_scale
                self._loss += output.item()
        self._held.append((inputs, output))
        return output

    def _backward(self, gradient: torch.Tensor | None) -> torch.Tensor | None:
        """Gradient of the oldest held micro-batch's inputs; None on the first stage, whose inputs are tokens."""
        inputs, output = self._held.popleft()
        with self._timer.phase('backward'):
            torch.autograd.backward(output, gradient)
        return inputs.grad

    def _exchange(
        self,
        *,
        send_activations: torch.Tensor | None = None,
        send_gradient: torch.Tensor | None = None,
        receive_activations: bool = False,
        receive_gradient: bool = False,
    ) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        """Activations from the previous stage and gradient from the next, where asked for and where there is one."""
        here = self._group.index
        sends: list[tuple[torch.Tensor, int]] = []
        if send_activations is not None and not self._is_last:
            sends.append((send_activations.detach().contiguous(), here + 1))
        if send_gradient is not None and not self._is_first:
            sends.append((send_gradient.contiguous(), here - 1))
        activations = self._activations.empty() if receive_activations and not self._is_first else None
        gradient = self._activations.empty() if receive_gradient and not self._is_last else None
        receives: list[tuple[torch.Tensor, int]] = []
        if activations is not None:
            receives.append((activations, here - 1))
        if gradient is not None:
            receives.append((gradient, here + 1))
        works = self._group.exchange(send=sends, receive=receives)
        self._sending += [(work, tensor) for work, (tensor, _) in zip(works, sends, strict=False)]
        return activations, gradient

    def _finish_sending(self) -> None:
        """Sent tensors must live until they have left."""
        with self._timer.phase('communication'):
            for work, _ in self._sending:
                work.wait()
        self._sending.clear()
