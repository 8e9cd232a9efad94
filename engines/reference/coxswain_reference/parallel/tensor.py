"""Layers whose weights are divided among the tensor-parallel ranks.

A column-parallel layer divides its outputs, a row-parallel one its inputs; one after the other needs a single sum at
the end going forward, and a single sum at the beginning going backward (Shoeybi et al. 2019, arXiv 1909.08053, section
3). The vocabulary is divided too, in the embedding and in the cross-entropy, which never gathers the logits.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from coxswain_reference.parallel.groups import Group
from coxswain_reference.shards import Cut, padded_length, tensor_box


class ShardedParameter(nn.Parameter):
    """This rank's part of a global parameter, knowing how it was cut and how it is to be initialised."""

    cut: Cut
    deviation: float | None
    """Standard deviation of the normal distribution it starts from; None: it starts as ones."""


def sharded_parameter(cut: Cut, group: Group, deviation: float | None) -> ShardedParameter:
    """An uninitialised fp32 parameter of this rank's size."""
    box = tensor_box(cut, group.index, group.size)
    parameter = ShardedParameter(torch.empty(box.sizes))
    parameter.cut, parameter.deviation = cut, deviation
    return parameter


class RmsNorm(nn.Module):
    """Root mean square norm, whole on every rank, computed in fp32."""

    def __init__(self, size: int, group: Group) -> None:
        super().__init__()
        self.weight = sharded_parameter(Cut((size,)), group, deviation=None)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.rms_norm(x.float(), self.weight.shape, self.weight.float(), eps=1e-5).to(x.dtype)


class ColumnParallelLinear(nn.Module):
    """Each rank computes its share of the outputs from all inputs; the outputs stay divided."""

    def __init__(
        self, inputs: int, outputs: int, group: Group, *, deviation: float, padded_to: int | None = None
    ) -> None:
        super().__init__()
        self._group = group
        self.weight = sharded_parameter(Cut((outputs, inputs), axis=0, padded_to=padded_to), group, deviation)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.linear(sum_gradients(x, self._group), self.weight)


class RowParallelLinear(nn.Module):
    """Each rank computes a term of all outputs from its share of the inputs; the terms are summed."""

    def __init__(self, inputs: int, outputs: int, group: Group, *, deviation: float) -> None:
        super().__init__()
        self._group = group
        self.weight = sharded_parameter(Cut((outputs, inputs), axis=1), group, deviation)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return sum_values(F.linear(x, self.weight), self._group)


class VocabularyParallelEmbedding(nn.Module):
    """Each rank holds the rows of its share of the vocabulary and gives zeros for the others'."""

    def __init__(self, vocabulary: int, size: int, group: Group, *, deviation: float) -> None:
        super().__init__()
        self._group = group
        cut = Cut((vocabulary, size), axis=0, padded_to=padded_length(vocabulary, group.size))
        self._first = tensor_box(cut, group.index, group.size).offsets[0]
        self.weight = sharded_parameter(cut, group, deviation)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        if self._group.size == 1:
            return F.embedding(tokens, self.weight)
        local, is_mine = _local_tokens(tokens, self._first, len(self.weight))
        rows = F.embedding(local, self.weight) * is_mine.unsqueeze(-1)
        return sum_values(rows, self._group)


def cross_entropy(logits: torch.Tensor, targets: torch.Tensor, vocabulary: int, group: Group) -> torch.Tensor:
    """Mean loss in nats over `targets` [...], from this rank's share [..., width] of the logits."""
    return _CrossEntropy.apply(logits.float(), targets, vocabulary, group)


def sum_gradients(x: torch.Tensor, group: Group) -> torch.Tensor:
    """`x` going forward; the sum over the group of its gradients going backward."""
    return x if group.size == 1 else _SumGradients.apply(x, group)


def sum_values(x: torch.Tensor, group: Group) -> torch.Tensor:
    """The sum of `x` over the group going forward; the gradient as it is going backward."""
    return x if group.size == 1 else _SumValues.apply(x, group)


class _SumGradients(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, group: Group) -> torch.Tensor:
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return ctx.group.all_reduce(gradient.contiguous().clone()), None


class _SumValues(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, group: Group) -> torch.Tensor:
        return group.all_reduce(x.contiguous().clone())

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return gradient, None


class _CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: torch.Tensor, targets: torch.Tensor, vocabulary: int, group: Group) -> torch.Tensor:
        width = logits.shape[-1]
        first = group.index * width
        existing = max(0, min(vocabulary - first, width))
        if existing < width:
            logits = logits.clone()
            logits[..., existing:] = float('-inf')
        highest = group.all_reduce(logits.amax(-1), dist.ReduceOp.MAX)
        exponentials = (logits - highest.unsqueeze(-1)).exp_()
        local, is_mine = _local_tokens(targets, first, width)
        chosen = (logits.gather(-1, local.unsqueeze(-1)).squeeze(-1) - highest).masked_fill(~is_mine, 0.0)
        sums, chosen = group.all_reduce(torch.stack([exponentials.sum(-1), chosen]))
        ctx.save_for_backward(exponentials, sums, local, is_mine)
        return (sums.log() - chosen).mean()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None, None]:
        exponentials, sums, local, is_mine = ctx.saved_tensors
        result = exponentials / sums.unsqueeze(-1)
        result.scatter_add_(-1, local.unsqueeze(-1), -is_mine.unsqueeze(-1).to(result.dtype))
        return result * (gradient / sums.numel()), None, None, None


def _local_tokens(tokens: torch.Tensor, first: int, width: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens counted from `first`, 0 where they belong to another rank, and whether they are this rank's."""
    local = tokens - first
    is_mine = (local >= 0) & (local < width)
    return local.masked_fill(~is_mine, 0), is_mine
