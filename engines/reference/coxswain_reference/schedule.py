"""The learning rate of a step: linear warm-up, then down to the minimum in the way of a schedule."""

from __future__ import annotations

import math

from coxswain_reference.settings import Training


def learning_rate(step: int, training: Training) -> float:
    """The rate used by optimizer step `step`, counted from 1. At the last step and beyond it is the minimum, unless it is constant."""
    peak, minimum, steps = training.learning_rate, training.min_learning_rate, training.steps
    if step <= training.warmup_steps:
        return peak * step / training.warmup_steps
    if training.schedule == 'constant':
        return peak
    if step >= steps:
        return minimum
    first = steps - training.decay_steps if training.schedule == 'wsd' else training.warmup_steps
    if step <= first:
        return peak
    progress = (step - first) / (steps - first)
    if training.schedule == 'cosine':
        return minimum + 0.5 * (peak - minimum) * (1 + math.cos(math.pi * progress))
    return peak + progress * (minimum - peak)
