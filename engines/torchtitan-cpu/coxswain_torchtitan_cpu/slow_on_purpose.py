"""Ranks that compute longer on purpose, so that tests can see who is named for it."""

from __future__ import annotations

import json
import os
import time

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook


def compute_longer_if_asked() -> None:
    """As SLOW_ON_PURPOSE says, e.g. `{"ranks": [3], "step": 20, "share": 0.5}`: from that step on half as much again as the rank has computed in the step."""
    text = os.environ.get('SLOW_ON_PURPOSE')
    if not text:
        return
    asked = json.loads(text)
    if int(os.environ['RANK']) not in asked['ranks']:
        return
    step = 0
    computed_until = time.thread_time()
    one = torch.ones(64, 64)

    def before_update(*_: object) -> None:
        nonlocal step, computed_until
        step += 1
        computed = time.thread_time() - computed_until
        until = time.thread_time() + asked['share'] * computed * (step >= asked['step'])
        while time.thread_time() < until:
            one @ one
        computed_until = time.thread_time()

    register_optimizer_step_pre_hook(before_update)
