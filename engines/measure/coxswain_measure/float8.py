"""Linear layers in fp8 by hand: all three products by torch._scaled_mm, each operand scaled as a whole, anew each time.

The forward product is accumulated fast, as frameworks have it; the two of the backward pass exactly. Operands of the
forward pass are e4m3, gradients e5m2. Weights, outputs and what lies between the layers stay bf16.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.autograd.function import FunctionCtx

FORWARD, GRADIENT = torch.float8_e4m3fn, torch.float8_e5m2
_LEAST_AMAX = 1e-12
Scaled = tuple[torch.Tensor, torch.Tensor]
"""A tensor in fp8, and the fp32 scalar by which it is to be multiplied."""


class Float8Linear(nn.Linear):
    """A linear layer whose products are in fp8. Both widths, and the number of tokens, are multiples of 16."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = _Products.apply(x.flatten(0, -2), self.weight).unflatten(0, x.shape[:-1])
        return y if self.bias is None else y + self.bias


def use_float8(module: nn.Module) -> None:
    """Makes every linear layer inside one in fp8; the parameters stay the same."""
    for child in module.modules():
        if type(child) is nn.Linear:
            child.__class__ = Float8Linear


def scaled(x: torch.Tensor, dtype: torch.dtype) -> Scaled:
    """So scaled that the largest element becomes the largest of the format."""
    scale = x.abs().amax().float().clamp(min=_LEAST_AMAX) / torch.finfo(dtype).max
    limit = torch.finfo(dtype).max
    return (x.float() / scale).clamp(-limit, limit).to(dtype), scale


def product(a: Scaled, b: Scaled, *, fast: bool) -> torch.Tensor:
    """a @ b.T in bf16, of [m, k] and [n, k]: the only arrangement that Hopper's fp8 units take."""
    return torch._scaled_mm(a[0], b[0].t(), scale_a=a[1], scale_b=b[1], out_dtype=torch.bfloat16, use_fast_accum=fast)


def _transposed(x: Scaled) -> Scaled:
    return x[0].t().contiguous(), x[1]


class _Products(torch.autograd.Function):
    """Keeps its operands in fp8 until the backward pass, and transposes them there."""

    @staticmethod
    def forward(ctx: FunctionCtx, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        x8, weight8 = scaled(x, FORWARD), scaled(weight, FORWARD)
        ctx.save_for_backward(*x8, *weight8)
        return product(x8, weight8, fast=True)

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x, x_scale, weight, weight_scale = ctx.saved_tensors  # type: ignore[attr-defined]
        gradient8 = scaled(gradient, GRADIENT)
        of_x = product(gradient8, _transposed((weight, weight_scale)), fast=False)
        of_weight = product(_transposed(gradient8), _transposed((x, x_scale)), fast=False)
        return of_x, of_weight
