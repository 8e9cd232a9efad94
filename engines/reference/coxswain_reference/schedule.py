"""The learning rate of a step: linear warm-up, then half a cosine down to the minimum."""

from __future__ import annotations

import math


def learning_rate(step: int, *, peak: float, minimum: float, warmup_steps: int, steps: int) -> float:
    """The rate used by optimizer step `step`, counted from 1. At `steps` and beyond it is `minimum`."""
    if step <= warmup_steps:
        return peak * step / warmup_steps
    if step >= steps:
        return minimum
    progress = (step - warmup_steps) / (steps - warmup_steps)
    return minimum + 0.5 * (peak - minimum) * (1 + math.cos(math.pi * progress))
