"""Failures made on purpose."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass

from coxswain_sleeper.endings import WrongRequest

KINDS = ('exit', 'traceback', 'sigkill', 'hang')


@dataclass(frozen=True)
class Fault:
    """What goes wrong on which rank at the beginning of which step.

    `epoch` is the number of an attempt: the fault happens once, in the first incarnation of its ranks.
    None: it happens in every attempt and incarnation.
    """

    rank: int
    step: int
    kind: str
    code: int = 1
    epoch: int | None = None

    def happens(self, *, rank: int, step: int, epoch: int | None, incarnation: int) -> bool:
        is_now = self.epoch is None or (self.epoch, incarnation) == (epoch, 1)
        return is_now and (self.rank, self.step) == (rank, step)

    def perform(self) -> None:
        """Does not return, except by raising for `traceback`."""
        if self.kind == 'exit':
            os._exit(self.code)
        if self.kind == 'sigkill':
            os.kill(os.getpid(), signal.SIGKILL)
        while self.kind == 'hang':
            time.sleep(3600)
        raise RuntimeError(f'fault injected at step {self.step} on rank {self.rank}')


def parse_fault(text: str) -> Fault:
    """A fault from RANK:STEP:KIND[:CODE][@EPOCH]."""
    where, _, epoch = text.partition('@')
    parts = where.split(':')
    try:
        rank, step, kind = int(parts[0]), int(parts[1]), parts[2]
        code = int(parts[3]) if len(parts) > 3 else 1
        return _checked(Fault(rank, step, kind, code, int(epoch) if epoch else None))
    except (ValueError, IndexError):
        raise WrongRequest(f'--fail-at {text!r} is not RANK:STEP:KIND[:CODE][@EPOCH].') from None


def fault_from_environment(environment: Mapping[str, str]) -> list[Fault]:
    """The fault that ENGINE_FAULT describes, if any."""
    text = environment.get('ENGINE_FAULT')
    if not text:
        return []
    try:
        return [_checked(Fault(**json.loads(text)))]
    except (ValueError, TypeError) as error:
        raise WrongRequest(f'ENGINE_FAULT {text!r} is not a fault: {error}.') from error


def _checked(fault: Fault) -> Fault:
    if fault.kind not in KINDS:
        raise WrongRequest(f'a fault of kind {fault.kind!r} is unknown; it is one of {", ".join(KINDS)}.')
    return fault
