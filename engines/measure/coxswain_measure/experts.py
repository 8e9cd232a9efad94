"""Mixture of experts in plain PyTorch: a top-k router, tokens sorted by expert, grouped products, no token dropped."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd.function import FunctionCtx

from coxswain_measure.shape import Shape

_DEVIATION = 0.02


class Experts(nn.Module):
    """`topk` of `count` gated MLPs for each token, each weighted with its share of the router's softmax over all.

    `ends`: after a forward pass, where the tokens of each expert ended in the sorted order.
    """

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self._topk = shape.topk
        self._has_even_load = shape.has_even_load
        self.router = nn.Linear(shape.hidden, shape.experts, bias=False)
        self.gate = nn.Parameter(torch.empty(shape.experts, shape.ffn_hidden, shape.hidden))
        self.up = nn.Parameter(torch.empty(shape.experts, shape.ffn_hidden, shape.hidden))
        self.down = nn.Parameter(torch.empty(shape.experts, shape.hidden, shape.ffn_hidden))
        for weight in (self.gate, self.up, self.down):
            nn.init.normal_(weight, std=_DEVIATION)
        self.register_buffer('ends', torch.zeros(shape.experts, dtype=torch.int32), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        tokens = x.flatten(0, 1)
        shares, order, inverse, ends = routed(self.router(tokens), self._topk, even=self._has_even_load)
        self.ends.copy_(ends)
        inputs = Dispatch.apply(tokens, order, inverse, self._topk)
        hidden = F.silu(_grouped(inputs, self.gate, ends)) * _grouped(inputs, self.up, ends)
        # The products after it are linear: weighting here is weighting the output, on narrower tensors.
        hidden = hidden * shares.index_select(0, order).unsqueeze(1)
        return Combine.apply(_grouped(hidden, self.down, ends), order, inverse, self._topk).view_as(x)

    def busiest(self) -> float:
        """Tokens of the busiest expert over the mean of all, in the last forward pass."""
        loads = self.ends.diff(prepend=self.ends.new_zeros(1)).float()
        return float(loads.max() / loads.mean())


def routed(
    logits: torch.Tensor, topk: int, *, even: bool = False
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Of logits [tokens, experts]: share of each of the tokens x topk choices, and how they are sorted by expert.

    `order[i]` is the choice that stands at i, `inverse` where each choice stands; `ends`: where those of each expert
    end, int32. `even` makes the choice and then deals the tokens out in turn, as Megatron's
    `--moe-router-force-load-balancing` does.
    """
    probabilities = logits.float().softmax(dim=-1)
    shares, chosen = probabilities.topk(topk, dim=-1)
    numbers = torch.arange(logits.shape[1], device=logits.device)
    if even:
        chosen = torch.arange(chosen.numel(), device=logits.device).remainder(logits.shape[1]).view_as(chosen)
        shares = probabilities.gather(-1, chosen)
    by_expert, order = chosen.flatten().sort(stable=True)
    ends = torch.searchsorted(by_expert, numbers, right=True, out_int32=True)
    return shares.flatten().to(logits.dtype), order, order.argsort(), ends


class Dispatch(torch.autograd.Function):
    """Copies each token to the places of its choices. Both passes only gather: no two threads add to one place."""

    @staticmethod
    def forward(
        ctx: FunctionCtx, tokens: torch.Tensor, order: torch.Tensor, inverse: torch.Tensor, topk: int
    ) -> torch.Tensor:
        ctx.save_for_backward(inverse)
        ctx.topk = topk  # type: ignore[attr-defined]
        return tokens.index_select(0, order // topk)

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None, None]:
        (inverse,) = ctx.saved_tensors  # type: ignore[attr-defined]
        return _summed(gradient, inverse, ctx.topk), None, None, None  # type: ignore[attr-defined]


class Combine(torch.autograd.Function):
    """Adds up what the chosen experts made of each token: `Dispatch` the other way round."""

    @staticmethod
    def forward(
        ctx: FunctionCtx, outputs: torch.Tensor, order: torch.Tensor, inverse: torch.Tensor, topk: int
    ) -> torch.Tensor:
        ctx.save_for_backward(order)
        ctx.topk = topk  # type: ignore[attr-defined]
        return _summed(outputs, inverse, topk)

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None, None]:
        (order,) = ctx.saved_tensors  # type: ignore[attr-defined]
        return gradient.index_select(0, order // ctx.topk), None, None, None  # type: ignore[attr-defined]


def _summed(outputs: torch.Tensor, inverse: torch.Tensor, topk: int) -> torch.Tensor:
    return outputs.index_select(0, inverse).unflatten(0, (-1, topk)).sum(1)


def _grouped(x: torch.Tensor, weights: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
    return F.grouped_mm(x, weights.transpose(-2, -1), offs=ends)
