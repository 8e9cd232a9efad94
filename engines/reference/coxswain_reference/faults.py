"""Failures made on purpose, so that tests can see what the gang and its launcher do about them."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass

from coxswain_reference.errors import WrongRequest

KINDS = ('exit', 'traceback', 'sigkill', 'hang', 'slow')


@dataclass(frozen=True)
class Fault:
    """What goes wrong on which rank at the beginning of which step; of `slow`, from that step on.

    `epoch` is the number of an attempt: the fault happens once, in the first incarnation of its ranks.
    None: it happens in every attempt and incarnation.
    """

    rank: int
    step: int
    kind: str
    code: int = 1
    epoch: int | None = None
    # Of `slow`: by how much of its time the rank computes longer.
    share: float = 0.5

    def happens(self, *, rank: int, step: int, epoch: int | None, incarnation: int) -> bool:
        is_now = self.epoch is None or (self.epoch, incarnation) == (epoch, 1)
        at_step = step >= self.step if self.kind == 'slow' else step == self.step
        return is_now and self.rank == rank and at_step

    def perform(self) -> None:
        """Does not return, except by raising for `traceback`. Not for `slow`, which ends nothing."""
        if self.kind == 'exit':
            os._exit(self.code)
        if self.kind == 'sigkill':
            os.kill(os.getpid(), signal.SIGKILL)
        while self.kind == 'hang':
            time.sleep(3600)
        raise RuntimeError(f'fault injected at step {self.step} on rank {self.rank}')


def fault_from_environment(environment: Mapping[str, str]) -> Fault | None:
    """The fault that ENGINE_FAULT describes, e.g. `{"rank":1,"step":7,"kind":"exit","code":1}`."""
    text = environment.get('ENGINE_FAULT')
    if not text:
        return None
    try:
        fault = Fault(**json.loads(text))
    except (ValueError, TypeError) as error:
        raise WrongRequest(f'ENGINE_FAULT {text!r} is not a fault: {error}.') from error
    if fault.kind not in KINDS:
        raise WrongRequest(f'ENGINE_FAULT kind {fault.kind!r} is unknown; it is one of {", ".join(KINDS)}.')
    return fault
