"""Shows a job until it ends: lines in a terminal, one card in a notebook."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import aclosing, closing
from typing import TYPE_CHECKING, Any

from ._flows import is_over
from ._text import card, change_line, end_line, losses_of, wait_line

if TYPE_CHECKING:
    from ._events import Change
    from ._job import AsyncJob, Job

_SHOWN_EVERY_SECONDS = 1.0
#: A card draws as many points, up to twice as many.
LOSS_POINTS = 200


class Shown:
    """What was shown of the job so far."""

    def __init__(
        self, job: Job | AsyncJob, print_line: Callable[[str], None], update_card: Callable[[str], None] | None
    ) -> None:
        self._job = job
        self._print = print_line
        self._update_card = update_card
        #: The loss curve so far.
        self.losses: list[tuple[int, float]] = []
        self._waits: str | None = None
        self._shown_at = -_SHOWN_EVERY_SECONDS

    @property
    def is_card(self) -> bool:
        return self._update_card is not None

    def change(self, change: Change, now: float) -> None:
        """Shows a change."""
        job = self._job
        if change.kind == "job":
            job.data = change.data
        if change.kind == "step" and change.data["loss"] is not None:
            self._add_loss(change.data["step"], change.data["loss"])
        if self.is_card:
            self._show_card(now, at_once=change.kind != "step" or is_over(job.data))
        else:
            self._print_change(change, now)

    def end(self) -> None:
        """Shows how the job ended."""
        if not self.is_card:
            self._print(end_line(self._job.data))

    def _add_loss(self, step: int, loss: float) -> None:
        # A restarted job trains steps again.
        while self.losses and self.losses[-1][0] >= step:
            self.losses.pop()
        self.losses.append((step, loss))
        if len(self.losses) >= 2 * LOSS_POINTS:
            self.losses = self.losses[::2]

    def _show_card(self, now: float, *, at_once: bool) -> None:
        if self._update_card is not None and (at_once or now - self._shown_at >= _SHOWN_EVERY_SECONDS):
            self._shown_at = now
            self._update_card(card(self._job.data, self.losses))

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
        line = change_line(change, self._job.data, self.losses[-1][1] if self.losses else None)
        if line is not None:
            self._print(line)


class Watch:
    """Follows a job to its end."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def show(self) -> None:
        """Returns at the end of the job."""
        shown = Shown(self._job, _print_line, notebook_card())
        if shown.is_card:
            shown.losses = losses_of(self._job.step_points(max_points=LOSS_POINTS))
        with closing(self._job.changes()) as changes:
            for change in changes:
                if shown.is_card and change.kind == "resync":
                    shown.losses = losses_of(self._job.step_points(max_points=LOSS_POINTS))
                shown.change(change, time.monotonic())
        shown.end()


class AsyncWatch:
    """As Watch, with asyncio."""

    def __init__(self, job: AsyncJob) -> None:
        self._job = job

    async def show(self) -> None:
        """As Watch.show."""
        shown = Shown(self._job, _print_line, notebook_card())
        if shown.is_card:
            shown.losses = losses_of(await self._job.step_points(max_points=LOSS_POINTS))
        async with aclosing(self._job.changes()) as changes:
            async for change in changes:
                if shown.is_card and change.kind == "resync":
                    shown.losses = losses_of(await self._job.step_points(max_points=LOSS_POINTS))
                shown.change(change, time.monotonic())
        shown.end()


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
