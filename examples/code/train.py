"""Fits a line to noisy points by gradient descent. Needs no package, so it runs in any image with Python."""

import os
import random

LEARNING_RATE = 0.05
STEPS = 60

rank = int(os.environ.get("RANK", "0"))
random.seed(rank)
points = [(x / 10, 3 * x / 10 + 1 + random.gauss(0, 0.1)) for x in range(-10, 11)]
slope = offset = 0.0
for step in range(1, STEPS + 1):
    errors = [(slope * x + offset - y, x) for x, y in points]
    slope -= LEARNING_RATE * 2 * sum(error * x for error, x in errors) / len(errors)
    offset -= LEARNING_RATE * 2 * sum(error for error, _ in errors) / len(errors)
    loss = sum(error * error for error, _ in errors) / len(errors)
    print(f"step: {step}  loss: {loss:.4f}", flush=True)
print(f"learning rate {LEARNING_RATE}: slope {slope:.2f}, offset {offset:.2f}", flush=True)
