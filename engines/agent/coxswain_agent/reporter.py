"""Sends facts to the launcher as JSON lines on an inherited pipe, without ever blocking the training.

A thread of its own writes. When the launcher reads slowly the queue fills; then the oldest *step* facts are dropped
first, because a step is one of many while a saved checkpoint is told only once. Dropped facts are counted and the count
is sent with the next chance. When the pipe is closed reporting stops for good; the training goes on.
"""

from __future__ import annotations

import json
import math
import os
import threading
import time
from collections import deque
from collections.abc import Mapping
from typing import Any

REPORT_FD_VARIABLE = 'COXSWAIN_REPORT_FD'
DEFAULT_CAPACITY = 1024


class Reporter:
    """Queues facts for a writer thread. All methods return at once but `close` and `wait_until_written`, which wait."""

    def __init__(self, fd: int | None, capacity: int = DEFAULT_CAPACITY) -> None:
        """`fd` is the writing end of a pipe, owned from now on; None gives a reporter that says nothing."""
        self._fd = fd
        self._capacity = capacity
        self._queue: deque[dict[str, Any]] = deque()
        self._changed = threading.Condition()
        self._dropped = 0
        self._dropped_untold = 0
        self._closing = False
        self._thread: threading.Thread | None = None
        if fd is not None:
            os.set_inheritable(fd, False)
            self._thread = threading.Thread(target=self._write_all, name='coxswain-report', daemon=True)
            self._thread.start()

    @staticmethod
    def from_environment(environment: Mapping[str, str] = os.environ) -> Reporter:
        """A reporter on the pipe that COXSWAIN_REPORT_FD names; a silent one where that names no open descriptor."""
        text = environment.get(REPORT_FD_VARIABLE, '')
        if not text.isdigit():
            return Reporter(None)
        try:
            os.fstat(int(text))
        except OSError:
            return Reporter(None)
        return Reporter(int(text))

    @property
    def dropped(self) -> int:
        """How many facts were dropped so far."""
        return self._dropped

    def resumed(self, step: int) -> None:
        """The state after `step` optimizer steps was loaded from a checkpoint."""
        self._put({'kind': 'resumed', 'step': step})

    def step(
        self,
        *,
        step: int,
        rank: int,
        step_time_ms: float,
        tokens: int,
        loss: float | None = None,
        learning_rate: float | None = None,
        grad_norm: float | None = None,
        timings_ms: Mapping[str, float] | None = None,
    ) -> None:
        """One optimizer step is done.

        `step` counts from 1; `tokens` are those of this step over the whole gang; `loss` is the mean over them, None on
        a rank that does not know it; `timings_ms` are disjoint parts of `step_time_ms` on this rank.
        """
        self._put(
            {
                'kind': 'step',
                'step': step,
                'loss': _finite(loss),
                'tokens': tokens,
                'stepTimeMs': round(step_time_ms, 3),
                'rank': rank,
                'timingsMs': {name: round(value, 3) for name, value in (timings_ms or {}).items()},
                'learningRate': _finite(learning_rate),
                'gradNorm': _finite(grad_norm),
            }
        )

    def checkpoint_saved(self, *, step: int, directory: str, size_bytes: int, files: int, manifest_sha256: str) -> None:
        """The checkpoint is complete and durable. `directory` is relative to the save directory."""
        self._put(
            {
                'kind': 'checkpointSaved',
                'step': step,
                'directory': directory,
                'bytes': size_bytes,
                'files': files,
                'manifestSha256': manifest_sha256,
            }
        )

    def checkpoint_fault(self, *, fault: str, path: str, **details: str) -> None:
        """Why this rank is about to exit with 72 (`fault` 'ContentDiffers') or 74 ('FileUnreadable').

        `details`: `expected` and `found` (size or SHA-256), or `errno` (EIO, ESTALE, ...).
        """
        self._put({'kind': 'checkpointFault', 'fault': fault, 'path': path[-256:], **details})

    def close(self, timeout_seconds: float = 5.0) -> None:
        """Writes what is queued, waiting at most `timeout_seconds` for a slow reader, and closes the pipe."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(timeout_seconds)

    def wait_until_written(self, timeout_seconds: float) -> bool:
        """Whether the queue ran empty within `timeout_seconds`. For engines that are about to be killed on purpose."""
        deadline = time.monotonic() + timeout_seconds
        with self._changed:
            return self._changed.wait_for(
                lambda: self._fd is None or not (self._queue or self._dropped_untold),
                max(0.0, deadline - time.monotonic()),
            )

    def _put(self, fact: dict[str, Any]) -> None:
        with self._changed:
            if self._fd is None or self._closing:
                return
            if len(self._queue) >= self._capacity:
                self._drop_one()
            self._queue.append(fact)
            self._changed.notify()

    def _drop_one(self) -> None:
        oldest_step = next((i for i, fact in enumerate(self._queue) if fact['kind'] == 'step'), 0)
        del self._queue[oldest_step]
        self._dropped += 1
        self._dropped_untold += 1

    def _write_all(self) -> None:
        while (line := self._next_line()) is not None:
            if not self._write(line):
                break
        with self._changed:
            fd, self._fd = self._fd, None
            self._queue.clear()
            self._dropped_untold = 0
            self._changed.notify_all()
        if fd is not None:
            os.close(fd)

    def _next_line(self) -> bytes | None:
        """The next line to write; None when closing and nothing is left. Empty queues are told to whoever waits."""
        with self._changed:
            while not self._queue and not self._dropped_untold:
                if self._closing:
                    return None
                self._changed.notify_all()
                self._changed.wait()
            if self._dropped_untold:
                fact: dict[str, Any] = {'kind': 'reportsDropped', 'count': self._dropped_untold}
                self._dropped_untold = 0
            else:
                fact = self._queue.popleft()
        return (json.dumps(fact, separators=(',', ':'), allow_nan=False) + '\n').encode()

    def _write(self, line: bytes) -> bool:
        rest = memoryview(line)
        while rest and self._fd is not None:
            try:
                rest = rest[os.write(self._fd, rest) :]
            except BlockingIOError:
                time.sleep(0.01)  # the launcher made its end non-blocking: this thread alone waits
            except OSError:
                return False
        return True


def _finite(value: float | None) -> float | None:
    """JSON knows neither NaN nor infinity; a diverged loss is told as null."""
    return value if value is not None and math.isfinite(value) else None
