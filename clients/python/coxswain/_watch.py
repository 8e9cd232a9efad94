"""Shows a job until it ends: lines in a terminal, one card in a notebook."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ._flows import is_over
from ._text import card, change_line, end_line, wait_line

if TYPE_CHECKING:
    from ._events import Change
    from ._job import AsyncJob, Job

_SHOWN_EVERY_SECONDS = 1.0


class Shown:
    """What was shown of the job so far."""

    def __init__(
        self, job: Job | AsyncJob, print_line: Callable[[str], None], update_card: Callable[[str], None] | None
    ) -> None:
        self._job = job
        self._print = print_line
        self._update_card = update_card
        self._losses: list[tuple[int, float]] = []
        self._waits: str | None = None
        self._shown_at = -_SHOWN_EVERY_SECONDS

    def change(self, change: Change, now: float) -> bool:
        """Shows a change; True: the job has ended."""
        job = self._job
        if change.kind == "job":
            job.data = change.data
        if change.kind == "step" and change.data["loss"] is not None:
            self._losses.append((change.data["step"], change.data["loss"]))
        has_ended = is_over(job.data)
        if self._update_card is not None:
            self._show_card(now, at_once=change.kind != "step" or has_ended)
        else:
            self._print_change(change, now)
        if has_ended and self._update_card is None:
            self._print(end_line(job.data))
        return has_ended

    def _show_card(self, now: float, *, at_once: bool) -> None:
        if self._update_card is not None and (at_once or now - self._shown_at >= _SHOWN_EVERY_SECONDS):
            self._shown_at = now
            self._update_card(card(self._job.data, self._losses))

    def _print_change(self, change: Change, now: float) -> None:
        if change.kind == "job":
            waits = wait_line(self._job.data)
            if waits is not None and waits != self._waits and not is_over(self._job.data):
                self._print(waits)
            self._waits = waits
            return
        if change.kind == "step":
            if now - self._shown_at < _SHOWN_EVERY_SECONDS:
                return
            self._shown_at = now
        line = change_line(change, self._job.data)
        if line is not None:
            self._print(line)


class Watch:
    """Follows a job to its end."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def show(self) -> Job:
        """Returns the job at its end."""
        shown = Shown(self._job, _print_line, notebook_card())
        for change in self._job.changes():
            if shown.change(change, time.monotonic()):
                break
        return self._job


class AsyncWatch:
    """As Watch, with asyncio."""

    def __init__(self, job: AsyncJob) -> None:
        self._job = job

    async def show(self) -> AsyncJob:
        """As Watch.show."""
        shown = Shown(self._job, _print_line, notebook_card())
        async for change in self._job.changes():
            if shown.change(change, time.monotonic()):
                break
        return self._job


def notebook_card() -> Callable[[str], None] | None:
    """Shows HTML in place of what it showed before; None outside of a notebook."""
    ipython = sys.modules.get("IPython")
    shell: Any = None if ipython is None else ipython.get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython.display import HTML, display  # type: ignore[import-not-found]

    handle = display(HTML(""), display_id=True)
    return lambda html: handle.update(HTML(html))


def _print_line(line: str) -> None:
    print(line, flush=True)
