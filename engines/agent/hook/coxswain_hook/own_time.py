"""How long was a thread at work, or wanted to be? As the kernel counts it; the rest of the time it stood and waited.

For ranks on CPUs: in a collective of gloo the thread that trains sleeps until all have come, whoever called it, in Python or in C++.
"""

import os
import threading
import time

# Nanoseconds on a processor, and in the queue for one: a node with too much to do is slow by itself.
SCHEDULED = '/proc/self/task/{}/schedstat'


class OwnTime:
    """Of the thread that asks."""

    def __init__(self, read=None, clock=time.perf_counter):
        self._read = read or _Scheduled().seconds
        self._clock = clock
        self._last = None

    def lap(self):
        """Of the time since it was asked last: (all of it, in which this thread was at work), in seconds; None where nobody knows."""
        thread, own = threading.get_native_id(), self._read()
        now = self._clock()
        before, self._last = self._last, (thread, now, own)
        if before is None or own is None or before[2] is None or before[0] != thread:
            return None
        passed = now - before[1]
        return passed, min(passed, max(0.0, own - before[2]))


class _Scheduled:
    """Keeps the file of one thread open: to open it costs ten times what it costs to read."""

    def __init__(self):
        self._thread = None
        self._file = None

    def seconds(self):
        """Where the kernel counts no queues, what the thread was on a processor."""
        thread = threading.get_native_id()
        if thread != self._thread:
            self._open(thread)
        if self._file is None:
            return time.thread_time()
        run, queued = self._file.read_at_begin().split()[:2]
        return (int(run) + int(queued)) / 1e9

    def _open(self, thread):
        self._thread = thread
        try:
            file = _Reread(SCHEDULED.format(thread))
            file.read_at_begin().split()[1]
        except (OSError, IndexError):
            file = None
        self._file = file


class _Reread:
    _descriptor = None

    def __init__(self, path):
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def read_at_begin(self):
        return os.pread(self._descriptor, 128, 0)

    def __del__(self):
        if self._descriptor is not None:
            os.close(self._descriptor)
