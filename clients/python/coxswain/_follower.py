"""Follows the changes of a job over several connections. Nothing here sends anything."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

from ._errors import CoxswainError
from ._events import Change, EventReader
from ._flows import is_over, is_temporary

_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 10.0

_logger = logging.getLogger("coxswain")


class Follower:
    """What was received of a job's changes, and when to stop."""

    def __init__(self, last_event_id: str | None, timeout: float | None, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._deadline = None if timeout is None else clock() + timeout
        self._reader = EventReader(last_event_id)
        self._pause = _FIRST_PAUSE_SECONDS
        self._is_job_over = False

    @property
    def seconds_left(self) -> float | None:
        """Until the timeout; None: there is no timeout."""
        return None if self._deadline is None else max(self._deadline - self._clock(), 0)

    @property
    def is_done(self) -> bool:
        """Whether the timeout is over, or the job ended and its last steps were read."""
        return self.seconds_left == 0 or (self._is_job_over and self._reader.is_caught_up)

    @property
    def has_ended(self) -> bool:
        """After a connection: whether no other connection is needed."""
        return self._is_job_over or self.is_done

    def connect(self) -> dict[str, str]:
        """Headers of the next connection."""
        self._reader.reconnect()
        last = self._reader.last_event_id
        return {} if last is None else {"last-event-id": last}

    def read(self, chunk: bytes) -> Iterator[Change]:
        """The changes that this chunk completes."""
        for change in self._reader.read(chunk):
            self._pause = _FIRST_PAUSE_SECONDS
            self._is_job_over = self._is_job_over or (change.kind == "job" and is_over(change.data))
            yield change

    def fail(self, error: CoxswainError) -> None:
        """Takes note of a broken connection. Raises the error if another connection cannot help."""
        if not is_temporary(error):
            raise error
        if self._pause == _FIRST_PAUSE_SECONDS and not self.has_ended:
            _logger.warning("%s Trying again.", error)

    def pause(self) -> float:
        """Seconds to wait before the next connection."""
        pause, self._pause = self._pause, min(self._pause * 2, _LONGEST_PAUSE_SECONDS)
        left = self.seconds_left
        return pause if left is None else min(pause, left)
