"""The models that are measured: a GPT and a Llama in plain PyTorch, as users write them, without kernels of our own.

GPT: LayerNorm, biases, GELU, learned positions, embedding tied to the output layer, no dropout. Llama: RMSNorm, rotary
positions, grouped queries, a gated MLP or experts, no biases, untied unless its published configuration ties them.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from coxswain_measure.experts import Experts
from coxswain_measure.shape import Shape

_ROTARY_BASE = 500_000.0
_DEVIATION = 0.02


class Model(nn.Module):
    """From token numbers [batch, length] to logits [batch, length, vocab]."""

    def __init__(self, shape: Shape, length: int, *, recompute: bool) -> None:
        super().__init__()
        self._recompute = recompute
        is_gpt = shape.kind == 'gpt'
        self.embedding = nn.Embedding(shape.vocab, shape.hidden)
        self.positions = nn.Embedding(length, shape.hidden) if is_gpt else None
        self.blocks = nn.ModuleList(Block(shape, number) for number in range(shape.layers))
        self.norm = _norm(shape)
        self.head = nn.Linear(shape.hidden, shape.vocab, bias=False)
        if shape.is_tied:
            self.head.weight = self.embedding.weight
        self.apply(_initialise)
        cosines, sines = (None, None) if is_gpt else _rotary_tables(length, shape.head_size)
        self.register_buffer('cosines', cosines, persistent=False)
        self.register_buffer('sines', sines, persistent=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        if self.positions is not None:
            x = x + self.positions.weight
        for block in self.blocks:
            if self._recompute:
                x = checkpoint(block, x, self.cosines, self.sines, use_reentrant=False)
            else:
                x = block(x, self.cosines, self.sines)
        return self.head(self.norm(x))


class Block(nn.Module):
    """One transformer layer, the `number`th."""

    def __init__(self, shape: Shape, number: int) -> None:
        super().__init__()
        self.attention_norm = _norm(shape)
        self.attention = Attention(shape)
        self.mlp_norm = _norm(shape)
        self.mlp = _mlp(shape, has_experts=shape.experts > 0 and number >= shape.dense_layers)

    def forward(self, x: torch.Tensor, cosines: torch.Tensor | None, sines: torch.Tensor | None) -> torch.Tensor:
        x = x + self.attention(self.attention_norm(x), cosines, sines)
        return x + self.mlp(self.mlp_norm(x))


class Attention(nn.Module):
    """Causal attention by PyTorch's scaled_dot_product_attention."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self._widths = [shape.heads, shape.kv_heads, shape.kv_heads]
        self._head_size = shape.head_size
        self._is_grouped = shape.kv_heads < shape.heads
        has_bias = shape.kind == 'gpt'
        self.qkv = nn.Linear(shape.hidden, sum(self._widths) * shape.head_size, bias=has_bias)
        self.output = nn.Linear(shape.heads * shape.head_size, shape.hidden, bias=has_bias)

    def forward(self, x: torch.Tensor, cosines: torch.Tensor | None, sines: torch.Tensor | None) -> torch.Tensor:
        batch, length, _ = x.shape
        heads = self.qkv(x).view(batch, length, -1, self._head_size).transpose(1, 2)
        query, key, value = heads.split(self._widths, dim=1)
        if cosines is not None and sines is not None:
            query, key = _rotated(query, cosines, sines), _rotated(key, cosines, sines)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=self._is_grouped)
        return self.output(mixed.transpose(1, 2).reshape(batch, length, -1))


class GeluMlp(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.up = nn.Linear(shape.hidden, shape.ffn_hidden)
        self.down = nn.Linear(shape.ffn_hidden, shape.hidden)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(F.gelu(self.up(x), approximate='tanh'))


class GatedMlp(nn.Module):
    def __init__(self, hidden: int, width: int) -> None:
        super().__init__()
        self.gate = nn.Linear(hidden, width, bias=False)
        self.up = nn.Linear(hidden, width, bias=False)
        self.down = nn.Linear(width, hidden, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(F.silu(self.gate(x)) * self.up(x))


class SharedAndRoutedExperts(nn.Module):
    """Experts that every token meets, as one wide MLP, beside those that are chosen for it."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shared = GatedMlp(shape.hidden, shape.shared * shape.ffn_hidden)
        self.routed = Experts(shape)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.shared(x) + self.routed(x)


def next_token_loss(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Mean cross entropy in nats, computed in fp32."""
    return F.cross_entropy(logits.float().flatten(0, 1), targets.flatten())


def _mlp(shape: Shape, *, has_experts: bool) -> nn.Module:
    if shape.kind == 'gpt':
        return GeluMlp(shape)
    if has_experts:
        return SharedAndRoutedExperts(shape) if shape.shared else Experts(shape)
    return GatedMlp(shape.hidden, shape.dense_ffn or shape.ffn_hidden)


def _initialise(module: nn.Module) -> None:
    if isinstance(module, (nn.Linear, nn.Embedding)):
        nn.init.normal_(module.weight, std=_DEVIATION)


def _norm(shape: Shape) -> nn.Module:
    return nn.LayerNorm(shape.hidden) if shape.kind == 'gpt' else nn.RMSNorm(shape.hidden, eps=1e-5)


def _rotary_tables(length: int, head_size: int) -> tuple[torch.Tensor, torch.Tensor]:
    frequencies = _ROTARY_BASE ** (-torch.arange(0, head_size, 2, dtype=torch.float32) / head_size)
    angles = torch.arange(length, dtype=torch.float32).unsqueeze(1) * frequencies
    return angles.cos(), angles.sin()


def _rotated(x: torch.Tensor, cosines: torch.Tensor, sines: torch.Tensor) -> torch.Tensor:
    """Turns each pair (i, i + half) of the last axis; `x` is [batch, heads, length, head size]."""
    cosines, sines = cosines.to(x.dtype), sines.to(x.dtype)
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cosines - second * sines, second * cosines + first * sines], dim=-1)
