"""How far is the training?"""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Progress:
    """How far the training is. The seed is the whole state of the random numbers: nothing draws any after the start."""

    step: int
    samples: int
    seed: int

    def to_tensors(self) -> dict[str, torch.Tensor]:
        return {f'training.{name}': torch.tensor(value) for name, value in vars(self).items()}
