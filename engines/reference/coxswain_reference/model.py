"""The model: a decoder-only GPT with rotary positions, RMS norms, GELU and untied embeddings, one pipeline stage of it.

Parameters are named by what they are in the whole model (layer numbers are global), and each starts from random numbers
that depend on the seed and that name alone. So every layout begins with the same model.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import nn

from coxswain_reference.layout import Layout
from coxswain_reference.parallel.groups import Group
from coxswain_reference.parallel.tensor import (
    ColumnParallelLinear,
    RmsNorm,
    RowParallelLinear,
    ShardedParameter,
    VocabularyParallelEmbedding,
    cross_entropy,
)
from coxswain_reference.settings import MLP_EXPANSION, ModelSpec
from coxswain_reference.shards import padded_length, tensor_box

_ROTARY_BASE = 10_000.0
_DEVIATION = 0.02


class GptStage(nn.Module):
    """The layers of one pipeline stage; the first stage also embeds, the last also gives the loss."""

    def __init__(self, shape: ModelSpec, layout: Layout, tensor_group: Group) -> None:
        super().__init__()
        self.shape = shape
        self._group = tensor_group
        self.embedding: VocabularyParallelEmbedding | None = None
        self.final_norm: RmsNorm | None = None
        self.head: ColumnParallelLinear | None = None
        vocabulary, hidden = shape.vocabulary_size, shape.hidden_size
        if layout.is_first_stage:
            self.embedding = VocabularyParallelEmbedding(vocabulary, hidden, tensor_group, deviation=_DEVIATION)
        numbers = layout.layers_of_stage(shape.layers)
        self.layers = nn.ModuleDict({str(number): Block(shape, tensor_group) for number in numbers})
        if layout.is_last_stage:
            self.final_norm = RmsNorm(hidden, tensor_group)
            padded = padded_length(vocabulary, tensor_group.size)
            self.head = ColumnParallelLinear(hidden, vocabulary, tensor_group, deviation=_DEVIATION, padded_to=padded)
        cosines, sines = rotary_tables(shape.sequence_length, shape.head_size)
        self.register_buffer('_cosines', cosines, persistent=False)
        self.register_buffer('_sines', sines, persistent=False)

    def sharded_parameters(self) -> Iterator[tuple[str, ShardedParameter]]:
        """This rank's parameters with their global names, in the same order on all its data-parallel peers."""
        for name, parameter in self.named_parameters():
            assert isinstance(parameter, ShardedParameter)
            yield name, parameter

    def forward(self, x: torch.Tensor, targets: torch.Tensor | None) -> torch.Tensor:
        """From tokens (first stage) or activations to activations, or to the mean loss (last stage)."""
        if self.embedding is not None:
            x = self.embedding(x)
        for layer in self.layers.values():
            x = layer(x, self._cosines, self._sines)
        if self.final_norm is None or self.head is None:
            return x
        assert targets is not None
        return cross_entropy(self.head(self.final_norm(x)), targets, self.shape.vocabulary_size, self._group)


class Block(nn.Module):
    """Attention and a feed-forward network, each added to its input."""

    def __init__(self, shape: ModelSpec, group: Group) -> None:
        super().__init__()
        wide = MLP_EXPANSION * shape.hidden_size
        self.attention_norm = RmsNorm(shape.hidden_size, group)
        self.attention = Attention(shape, group)
        self.mlp_norm = RmsNorm(shape.hidden_size, group)
        self.up = ColumnParallelLinear(shape.hidden_size, wide, group, deviation=_DEVIATION)
        self.down = RowParallelLinear(wide, shape.hidden_size, group, deviation=_into_residual(shape))

    def forward(self, x: torch.Tensor, cosines: torch.Tensor, sines: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.attention_norm(x), cosines, sines)
        return x + self.down(F.gelu(self.up(self.mlp_norm(x))))


class Attention(nn.Module):
    """Causal self-attention; each tensor-parallel rank has its own heads."""

    def __init__(self, shape: ModelSpec, group: Group) -> None:
        super().__init__()
        self._heads = shape.attention_heads // group.size
        self._head_size = shape.head_size
        # Rows go head by head, with query, key and value inside each: an even cut never splits a head.
        self.qkv = ColumnParallelLinear(shape.hidden_size, 3 * shape.hidden_size, group, deviation=_DEVIATION)
        self.output = RowParallelLinear(shape.hidden_size, shape.hidden_size, group, deviation=_into_residual(shape))

    def forward(self, x: torch.Tensor, cosines: torch.Tensor, sines: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        heads = self.qkv(x).view(batch, length, self._heads, 3, self._head_size)
        query, key, value = (part.transpose(1, 2) for part in heads.unbind(3))
        query, key = rotated(query, cosines, sines), rotated(key, cosines, sines)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.output(mixed.transpose(1, 2).reshape(batch, length, self._heads * self._head_size))


def rotary_tables(length: int, head_size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosines and sines of the rotary angles, fp32, each [length, head_size / 2] (Su et al. 2021, arXiv 2104.09864)."""
    frequencies = _ROTARY_BASE ** (-torch.arange(0, head_size, 2, dtype=torch.float64) / head_size)
    angles = torch.arange(length, dtype=torch.float64).unsqueeze(1) * frequencies
    return angles.cos().float(), angles.sin().float()


def rotated(x: torch.Tensor, cosines: torch.Tensor, sines: torch.Tensor) -> torch.Tensor:
    """Turns each pair (i, i + half) of the last axis of `x` [batch, heads, length, head size] by its angle."""
    cosines, sines = cosines.to(x.dtype), sines.to(x.dtype)
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cosines - second * sines, second * cosines + first * sines], dim=-1)


@torch.no_grad()
def initialise(stage: GptStage, seed: int, tensor_group: Group) -> None:
    """Fills every parameter with its part of the layout-independent start. Holds one whole tensor at a time."""
    for name, parameter in stage.sharded_parameters():
        if parameter.deviation is None:
            parameter.fill_(1.0)
            continue
        whole = torch.zeros(parameter.cut.padded_shape)
        rows = whole[: parameter.cut.shape[0]]
        rows.normal_(0.0, parameter.deviation, generator=_generator(seed, name))
        box = tensor_box(parameter.cut, tensor_group.index, tensor_group.size)
        part = whole
        for axis, (offset, size) in enumerate(zip(box.offsets, box.sizes, strict=True)):
            part = part.narrow(axis, offset, size)
        parameter.copy_(part)


def _generator(seed: int, name: str) -> torch.Generator:
    digest = hashlib.sha256(f'{seed}/{name}'.encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8], 'little') >> 1)


def _into_residual(shape: ModelSpec) -> float:
    """Smaller by the root of the number of terms summed up in the residual stream, as in GPT-2."""
    return _DEVIATION / math.sqrt(2 * shape.layers)
