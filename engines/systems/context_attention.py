"""Attention over the tokens of several ranks, with the algorithms of `layout.sequence.contextAlgorithm`, in plain PyTorch.

Each rank has queries, keys and values of its own tokens, `[samples, heads, tokens, size]`, and gets the attention of its own queries over the tokens of all
ranks. Every rank sends and receives in the same order in the forward and in the backward pass. So a rank also computes pairs of blocks that its mask hides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.distributed as dist

# A score that no query attends to. Finite, because a row may hide all tokens of another rank: infinities would make it NaN.
HIDDEN = -1e30
Allowed = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class Ring:
    """The ranks that divide the tokens of a sample, in their order, and which tokens each of them has."""

    group: dist.ProcessGroup
    ranks: list[int]
    index: int
    tokens: list[torch.Tensor]

    @property
    def size(self) -> int:
        return len(self.ranks)


class _Rotate(torch.autograd.Function):
    """Sends a tensor `distance` ranks ahead and returns the one from as far behind. Gradients go the other way."""

    @staticmethod
    def forward(ctx, tensor: torch.Tensor, ring: Ring, distance: int) -> torch.Tensor:
        ctx.ring, ctx.distance = ring, distance
        return _exchange(tensor, ring, distance)

    @staticmethod
    def backward(ctx, gradient: torch.Tensor):
        return _exchange(gradient, ctx.ring, -ctx.distance), None, None


def _exchange(tensor: torch.Tensor, ring: Ring, distance: int) -> torch.Tensor:
    ahead, behind = (ring.ranks[(ring.index + step) % ring.size] for step in (distance, -distance))
    received = torch.empty_like(tensor, memory_format=torch.contiguous_format)
    send = dist.P2POp(dist.isend, tensor.contiguous(), ahead, ring.group)
    receive = dist.P2POp(dist.irecv, received, behind, ring.group)
    for work in dist.batch_isend_irecv([send, receive]):
        work.wait()
    return received


def rotate(tensor: torch.Tensor, ring: Ring, distance: int) -> torch.Tensor:
    return tensor if distance % ring.size == 0 else _Rotate.apply(tensor, ring, distance)


class _AllToAll(torch.autograd.Function):
    """The n-th part of the first dimension goes to the n-th rank. It is its own inverse, and so are its gradients."""

    @staticmethod
    def forward(ctx, tensor: torch.Tensor, group: dist.ProcessGroup) -> torch.Tensor:
        ctx.group = group
        received = torch.empty_like(tensor, memory_format=torch.contiguous_format)
        dist.all_to_all_single(received, tensor.contiguous(), group=group)
        return received

    @staticmethod
    def backward(ctx, gradient: torch.Tensor):
        return _AllToAll.apply(gradient, ctx.group), None


@dataclass
class Partial:
    """Attention over some of the keys, and the logarithm of the sum of their exponential scores."""

    out: torch.Tensor
    weight: torch.Tensor

    def merged(self, other: Partial) -> Partial:
        weight = torch.logaddexp(self.weight, other.weight)
        out = self.out * (self.weight - weight).exp() + other.out * (other.weight - weight).exp()
        return Partial(out, weight)


def _scores(query: torch.Tensor, key: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor:
    scores = query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5
    return scores.masked_fill(~allowed, HIDDEN)


def partial(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, allowed: torch.Tensor) -> Partial:
    scores = _scores(query, key, allowed)
    weight = scores.logsumexp(-1, keepdim=True)
    return Partial((scores - weight).exp() @ value, weight)


def ring_attention(query, key, value, ring: Ring, allowed: Allowed) -> torch.Tensor:
    """Keys and values travel around the ring (algorithm `ring`)."""
    moving = torch.stack((key, value))
    own, result = ring.tokens[ring.index], None
    for step in range(ring.size):
        block = partial(query, *moving, allowed(own, ring.tokens[ring.index - step]))
        result = block if result is None else result.merged(block)
        if step + 1 < ring.size:
            moving = rotate(moving, ring, 1)
    return result.out


def ring_self_attention(query, key, value, ring: Ring, allowed: Allowed) -> torch.Tensor:
    """Keys travel around once, for whole rows of scores, and then values do (`ring-self-attention`)."""
    own, rows = ring.tokens[ring.index], []
    for step in range(ring.size):
        rows.append(_scores(query, key, allowed(own, ring.tokens[ring.index - step])))
        if step + 1 < ring.size:
            key = rotate(key, ring, 1)
    shares = torch.cat(rows, -1).softmax(-1).split([row.shape[-1] for row in rows], -1)
    out = 0
    for step, share in enumerate(shares):
        out = out + share @ value
        if step + 1 < ring.size:
            value = rotate(value, ring, 1)
    return out


def helped_attention(query, key, value, ring: Ring, allowed: Allowed) -> torch.Tensor:
    """A causal ring of half as many steps, in which ranks without earlier keys compute for later ranks (`dist-flash` with `helper`)."""
    own, kept = ring.tokens[ring.index], torch.stack((key, value))
    result = partial(query, key, value, allowed(own, own))
    for step in range(1, ring.size // 2 + 1):
        moved, far = rotate(kept, ring, step), rotate(query, ring, step)
        works_for_itself = ring.index >= step
        of_query = ring.index if works_for_itself else ring.index - step + ring.size
        of_key = ring.index - step if works_for_itself else ring.index
        # At half the ring the other rank computes this pair for itself.
        is_needed = works_for_itself or 2 * step < ring.size
        mask = allowed(ring.tokens[of_query], ring.tokens[of_key]) & torch.tensor(is_needed)
        here = torch.tensor(works_for_itself)
        block = partial(torch.where(here, query, far), *torch.where(here, moved, kept), mask)
        back = rotate(torch.cat((block.out, block.weight), -1), ring, -step)
        helper_worked = (ring.index + step) % ring.size < step
        returned = Partial(back[..., :-1], torch.where(torch.tensor(helper_worked), back[..., -1:], HIDDEN))
        result = result.merged(Partial(block.out, torch.where(here, block.weight, HIDDEN))).merged(returned)
    return result.out


def token_ring(query, key, value, ring: Ring, allowed: Allowed) -> torch.Tensor:
    """Queries travel one way, and what they attended to goes back to their rank (`token-ring`)."""
    own, result = ring.tokens[ring.index], None
    for step in range(ring.size):
        block = partial(query, key, value, allowed(ring.tokens[ring.index - step], own))
        back = rotate(torch.cat((block.out, block.weight), -1), ring, -step)
        returned = Partial(back[..., :-1], back[..., -1:])
        result = returned if result is None else result.merged(returned)
        if step + 1 < ring.size:
            query = rotate(query, ring, 1)
    return result.out


def heads_for_tokens(tensor: torch.Tensor, ring: Ring) -> torch.Tensor:
    """All heads of own tokens become some heads of all tokens (Ulysses)."""
    samples, heads, tokens, size = tensor.shape
    parts = tensor.reshape(samples, ring.size, heads // ring.size, tokens, size).movedim(1, 0)
    received = _AllToAll.apply(parts, ring.group)
    return received.movedim(0, 2).reshape(samples, heads // ring.size, ring.size * tokens, size)


def tokens_for_heads(tensor: torch.Tensor, ring: Ring) -> torch.Tensor:
    """The inverse of {heads_for_tokens}."""
    samples, heads, tokens, size = tensor.shape
    parts = tensor.reshape(samples, heads, ring.size, tokens // ring.size, size).movedim(2, 0)
    received = _AllToAll.apply(parts, ring.group)
    return received.movedim(0, 1).reshape(samples, heads * ring.size, tokens // ring.size, size)


def ulysses_ring(query, key, value, *, inner: Ring, outer: Ring, allowed: Allowed) -> torch.Tensor:
    """All-to-all among the ranks of `inner`, a ring of keys and values among those of `outer` (`ulysses-ring`; `ulysses` where `outer` is one rank)."""
    query, key, value = (heads_for_tokens(tensor, inner) for tensor in (query, key, value))
    return tokens_for_heads(ring_attention(query, key, value, outer, allowed), inner)
