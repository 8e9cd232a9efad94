"""Was this rank asked to stop? The first SIGTERM asks, the second ends the process at once.

A thread waits for the signal, because a Python handler does not run while the main thread waits inside a collective; a
rank whose peer is gone could then not even be ended by its second SIGTERM.
"""

from __future__ import annotations

import os
import signal
import threading

from coxswain_reference.errors import EXIT_TERMINATED


class StopRequest:
    """Counts SIGTERMs from the moment `watch` is called. Call it before any other thread is started."""

    def __init__(self) -> None:
        self._asked = threading.Event()

    def watch(self) -> None:
        """Blocks SIGTERM in every thread started from now on, and waits for it in a thread of its own."""
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        threading.Thread(target=self._wait, name='stop-request', daemon=True).start()

    @property
    def is_asked(self) -> bool:
        return self._asked.is_set()

    def _wait(self) -> None:
        signal.sigwait({signal.SIGTERM})
        self._asked.set()
        signal.sigwait({signal.SIGTERM})
        os._exit(EXIT_TERMINATED)
