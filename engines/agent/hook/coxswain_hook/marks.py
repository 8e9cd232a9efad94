"""How far has this rank come on its way to the first step: PyTorch imported, process group initialised, checkpoint loaded?

Ages are reported, because clocks of two machines are never compared. Nothing of PyTorch is replaced: the first two are seen where PyTorch shows them, and the
third by the functions in which the main thread is (`phase.py`).
"""

import time


class Marks:
    """The marks of one rank. Each is noted once, by the clock of this process."""

    def __init__(self, clock=time.monotonic):
        self._clock = clock
        self._passed = {}
        self._loading_seen_at = None
        self._told = set()

    def imported(self):
        """PyTorch was imported."""
        self._note('imported', self._clock())

    def met(self):
        """There is a process group."""
        self._note('met', self._clock())

    def look(self, phase):
        """`phase`: of `phase_of`, before the first step. It names loading alone as `starting`."""
        if phase == 'starting':
            self._loading_seen_at = self._clock()

    def stepped(self):
        """The first step is complete: what was not seen to be loaded by now was loaded unseen, or nothing was loaded."""
        self._note('loaded', self._loading_seen_at)

    def take_news(self):
        """Ages in milliseconds of the marks that were not taken before; None: passed, and not seen when."""
        now = self._clock()
        news = {name: at for name, at in self._passed.items() if name not in self._told}
        self._told.update(news)
        return {name: None if at is None else round((now - at) * 1e3, 3) for name, at in news.items()}

    def _note(self, name, at):
        self._passed.setdefault(name, at)
