"""Which bytes does sample n hold? A pure function of the text, the seed and n.

The text is cut into windows that follow one another; each pass over the text visits every window once, in an order that
depends on the seed and the number of the pass. Nothing is remembered between samples, so a resumed run at any data
parallel degree goes on with exactly the samples that the undisturbed run would have seen.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import torch

_FEISTEL_ROUNDS = 4


class ByteSamples:
    """Samples of `sequence_length` bytes with their successors, from a memory-mapped file."""

    def __init__(self, path: Path, sequence_length: int, seed: int) -> None:
        """The file holds at least `sequence_length + 1` bytes (checked with the settings)."""
        self._text = np.memmap(path, dtype=np.uint8, mode='r')
        self._sequence_length = sequence_length
        self._seed = seed
        self.windows = (len(self._text) - 1) // sequence_length

    def window_of(self, sample: int) -> int:
        """Where in the text sample number `sample` (from 0, never ending) lies."""
        a_pass, position = divmod(sample, self.windows)
        return permuted(position, self.windows, f'{self._seed}/{a_pass}')

    def batch(self, samples: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
        """Tokens and their successors, int64, each of shape [samples, sequence_length]."""
        length = self._sequence_length
        starts = [self.window_of(sample) * length for sample in samples]
        windows = np.stack([self._text[start : start + length + 1] for start in starts]).astype(np.int64)
        tokens = torch.from_numpy(windows)
        return tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()


def samples_of(
    *, first_sample: int, micro_batch: int, micro_batch_size: int, data_rank: int, data_parallel_degree: int
) -> list[int]:
    """The samples of one micro-batch of one data-parallel rank, in a step that begins with `first_sample`."""
    begin = first_sample + (micro_batch * data_parallel_degree + data_rank) * micro_batch_size
    return list(range(begin, begin + micro_batch_size))


def permuted(position: int, length: int, key: str) -> int:
    """Where `position` goes in a shuffle of `range(length)`, without making the shuffle: constant memory and time.

    A Feistel network permutes the next even power of two; positions that fall outside are sent through it again
    (cycle walking), which keeps it a permutation of the range.
    """
    half_bits = max(1, (max(length - 1, 1).bit_length() + 1) // 2)
    mask = (1 << half_bits) - 1
    while True:
        left, right = position >> half_bits, position & mask
        for round_number in range(_FEISTEL_ROUNDS):
            left, right = right, left ^ (_scramble(f'{key}/{round_number}/{right}') & mask)
        position = left << half_bits | right
        if position < length:
            return position


def _scramble(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), 'little')
