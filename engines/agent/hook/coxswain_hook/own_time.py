"""How long was a thread at work, or wanted to be? As the kernel counts it; the rest of the time it stood and waited.

For ranks on CPUs: in a collective of gloo the thread that trains sleeps until all have come, whoever called it, in Python or in C++.
"""

import os
import threading
import time

# Nanoseconds on a processor, and in the queue for one: a node with too much to do is slow by itself.
SCHEDULED = '/proc/self/task/{}/schedstat'


class OwnTime:
    def __init__(self, read=None, clock=time.perf_counter):
        self._read = read or _scheduled_seconds
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


def _scheduled_seconds():
    """Of the thread that calls. Where the kernel counts no queues, what it was on a processor."""
    try:
        file = os.open(SCHEDULED.format(threading.get_native_id()), os.O_RDONLY)
    except OSError:
        return time.thread_time()
    try:
        run, queued = os.read(file, 128).split()[:2]
    except (OSError, ValueError):
        return time.thread_time()
    finally:
        os.close(file)
    return (int(run) + int(queued)) / 1e9
