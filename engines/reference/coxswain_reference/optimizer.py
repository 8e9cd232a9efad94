"""AdamW whose fp32 weights and moments are divided among the data-parallel ranks (ZeRO stage 1, arXiv 1910.02054).

Each parameter's rows are dealt out to the data-parallel ranks. A flat buffer holds all gradients, ordered by owner:

    owner 0: [matrix a rows | matrix b rows | ... | vector c rows | ...]  owner 1: [...]  ...

Every owner's part has the same length (the shorter ones end in zeros), so one reduce-scatter brings each rank the
summed gradients of what it owns, and after the update one all-gather brings everybody the new weights. Matrices stand
first, because weight decay is theirs alone; the vectors are the norms' weights, which tensor-parallel peers hold in
common.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from coxswain_reference.model import GptStage
from coxswain_reference.parallel.groups import Groups
from coxswain_reference.parallel.tensor import ShardedParameter
from coxswain_reference.settings import Training
from coxswain_reference.shards import Box, Cut, row_part, row_ranges, tensor_box

STATES = ('master', 'exp_avg', 'exp_avg_sq')
"""fp32 weights, and the running means of the gradients and of their squares."""


@dataclass(frozen=True)
class OwnedShard:
    """A part of one parameter whose optimizer state this rank keeps, at `begin`..`end` of the flat state tensors."""

    name: str
    cut: Cut
    box: Box
    begin: int
    end: int


@dataclass(frozen=True)
class _Placed:
    """A parameter and, per owner, its rows and where they begin in that owner's part."""

    name: str
    parameter: ShardedParameter
    rows: list[tuple[int, int]]
    begins: list[int]


class ShardedAdamW:
    """Owns the optimizer state of one rank, collects its gradients, and writes the weights of its stage."""

    def __init__(self, stage: GptStage, groups: Groups, training: Training, *, dtype: torch.dtype) -> None:
        """Takes the initial weights of `stage`, which are fp32, and from then on keeps the stage's own in `dtype`."""
        self._groups = groups
        self._training = training
        parameters = sorted(stage.sharded_parameters(), key=lambda named: named[1].ndim == 1)
        self._device = parameters[0][1].device
        self._placed, lengths, matrices = _place(parameters, groups.data.size)
        self._part_length = max(lengths)
        self._matrices_end = matrices[groups.data.index]
        self.owned = [self._owned(placed) for placed in self._placed]
        self.states = {name: torch.zeros(self._part_length, device=self._device) for name in STATES}
        self._gradients = torch.zeros(self._part_length * groups.data.size, device=self._device)
        self._take_weights(dtype)
        self._collect_gradients()

    def reduce_gradients(self) -> torch.Tensor:
        """The gradients of what this rank owns, summed over the data-parallel ranks; collecting starts anew."""
        part = self._groups.data.reduce_scatter(self._gradients)
        if part is self._gradients:
            part = part.clone()
        self._gradients.zero_()
        return part

    def squared_norm(self, gradients: torch.Tensor) -> torch.Tensor:
        """This rank's term of the squared global norm, fp64: summed over all ranks, each parameter counts once."""
        counted = gradients if self._groups.tensor.index == 0 else gradients[: self._matrices_end]
        return torch.linalg.vector_norm(counted, dtype=torch.float64) ** 2

    @torch.no_grad()
    def update(self, gradients: torch.Tensor, *, step: int, learning_rate: float) -> None:
        """One AdamW step (arXiv 1711.05101) on what this rank owns; `step` counts from 1. Shares no weights."""
        master, mean, square = (self.states[name] for name in STATES)
        beta1, beta2 = self._training.beta1, self._training.beta2
        mean.lerp_(gradients, 1 - beta1)
        square.mul_(beta2).addcmul_(gradients, gradients, value=1 - beta2)
        master[: self._matrices_end].mul_(1 - learning_rate * self._training.weight_decay)
        denominator = square.div(1 - beta2**step).sqrt_().add_(self._training.epsilon)
        master.addcdiv_(mean, denominator, value=-learning_rate / (1 - beta1**step))

    @torch.no_grad()
    def share_weights(self) -> None:
        """Gives every rank of the data-parallel group the weights that the owners hold, in the model's precision."""
        dtype = self._placed[0].parameter.dtype
        whole = self._groups.data.all_gather(self.states['master'].to(dtype))
        for placed in self._placed:
            for (first, last), piece in zip(placed.rows, self._pieces(whole, placed), strict=True):
                placed.parameter[first:last].copy_(piece)

    def _collect_gradients(self) -> None:
        """Adds each gradient to the buffer in fp32 as soon as autograd has it, whatever the model's precision."""
        for placed in self._placed:
            pieces = self._pieces(self._gradients, placed)
            placed.parameter.register_post_accumulate_grad_hook(_adder(pieces, placed.rows))

    @torch.no_grad()
    def _take_weights(self, dtype: torch.dtype) -> None:
        index = self._groups.data.index
        for placed, shard in zip(self._placed, self.owned, strict=True):
            first, last = placed.rows[index]
            self.states['master'][shard.begin : shard.end].copy_(placed.parameter[first:last].flatten())
            placed.parameter.data = placed.parameter.data.to(dtype)

    def _pieces(self, whole: torch.Tensor, placed: _Placed) -> list[torch.Tensor]:
        """Views of `whole`, a flat tensor of all owners' parts, on the rows of one parameter, one view per owner."""
        row_shape = placed.parameter.shape[1:]
        pieces = []
        for owner, ((first, last), begin) in enumerate(zip(placed.rows, placed.begins, strict=True)):
            start = owner * self._part_length + begin
            pieces.append(whole[start : start + (last - first) * row_shape.numel()].view(last - first, *row_shape))
        return pieces

    def _owned(self, placed: _Placed) -> OwnedShard:
        data, tensor = self._groups.data, self._groups.tensor
        cut = placed.parameter.cut
        box = row_part(tensor_box(cut, tensor.index, tensor.size), *placed.rows[data.index])
        begin = placed.begins[data.index]
        return OwnedShard(placed.name, cut, box, begin, begin + box.elements)


def _place(parameters: list[tuple[str, ShardedParameter]], owners: int) -> tuple[list[_Placed], list[int], list[int]]:
    """Where everything lies; and per owner the length of its part, and where its matrices end."""
    lengths = [0] * owners
    matrices = [0] * owners
    placed = []
    for name, parameter in parameters:
        rows = row_ranges(len(parameter), owners)
        placed.append(_Placed(name, parameter, rows, list(lengths)))
        for owner, (first, last) in enumerate(rows):
            lengths[owner] += (last - first) * parameter.shape[1:].numel()
        if parameter.ndim > 1:
            matrices = list(lengths)
    return placed, lengths, matrices


def _adder(pieces: list[torch.Tensor], rows: list[tuple[int, int]]):  # noqa: ANN202 - a hook, typed by its use
    def add(parameter: torch.Tensor) -> None:
        gradient = parameter.grad
        assert gradient is not None
        for piece, (first, last) in zip(pieces, rows, strict=True):
            piece.add_(gradient[first:last])
        parameter.grad = None

    return add
