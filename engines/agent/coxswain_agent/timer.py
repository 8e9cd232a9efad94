"""Splits the time of a training step into named, disjoint parts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class StepTimer:
    """Adds up wall time per phase. A phase inside another pauses the outer one, so the parts never overlap.

    Not for use by two threads at once. On an accelerator these are the host's times: queued work counts where it is
    awaited.
    """

    def __init__(self, phases: tuple[str, ...], clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._seconds = dict.fromkeys(phases, 0.0)
        self._open: list[str] = []
        self._since = 0.0

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Counts the time of the `with` block to `name`."""
        self._charge()
        self._open.append(name)
        try:
            yield
        finally:
            self._charge()
            self._open.pop()

    def so_far_ms(self, *names: str) -> float:
        """Milliseconds in these phases together since the last `take_ms`, those that are open left out."""
        return sum(self._seconds[name] for name in names) * 1e3

    def take_ms(self) -> dict[str, float]:
        """Milliseconds per phase since the last call; starts again from zero."""
        taken = {name: seconds * 1e3 for name, seconds in self._seconds.items()}
        self._seconds = dict.fromkeys(self._seconds, 0.0)
        return taken

    def _charge(self) -> None:
        now = self._clock()
        if self._open:
            self._seconds[self._open[-1]] += now - self._since
        self._since = now
