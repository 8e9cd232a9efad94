"""Of one step in many: how long did the GPU of this rank compute, and how long did it wait in collectives?

All ranks look into the same steps, by number, so that each of them costs the job once.
"""

import statistics
import threading
import time
from collections import deque

from coxswain_hook.step_trace import TooLarge
from coxswain_hook.waits import exposed, length

# Six or more in a window of a minute.
EVERY_SECONDS = 8.0
# What a sample costs, of the time to the next.
COST_SHARE = 0.005
# Before it steps compile, and learn how to talk to each other.
FIRST_AT_STEP = 10
# Whose mean is the length of a step: a host runs steps ahead of its GPU, and stands in one of them for all.
USUAL_STEPS = 64
SAMPLES_KEPT = 5
# What each event costs while it is recorded. Ours.
EVENT_SECONDS = 2e-6
# Times the usual sample: whoever evaluates, saves or compiles within a step does not compute as usual.
LONGEST = 2.0
# And after so many it is not waited for its end, which may be hours away.
GIVEN_UP_AFTER = 4.0
GIVEN_UP_LEAST_SECONDS = 10.0
MOST_FAILURES = 3


class StepSamples:
    """Called by the thread that trains at the end of each step; `watch` by another. `trace_of`: gives a StepTrace, or None where there is nothing to trace."""

    def __init__(self, trace_of, later=None, clock=time.perf_counter):
        self._trace_of = trace_of
        # Has a function called by Python's first thread.
        self._later = later or call_in_first_thread
        self._clock = clock
        self._trace = None
        self._is_off = False
        self._is_under_way = False
        self._is_disturbed = False
        self._is_given_up = False
        self._began_at = 0.0
        self._begin_cost = 0.0
        self._usual = deque(maxlen=USUAL_STEPS)
        self._costs = deque(maxlen=SAMPLES_KEPT)
        self._looked_into = deque(maxlen=SAMPLES_KEPT)
        self._calls = 0
        self._taken = 0
        self._failures = 0

    def ended(self, seconds):
        """The parts of the step that has just ended, in milliseconds; None where it was no sample. `seconds`: how long it took."""
        self._calls += 1
        was_disturbed, self._is_disturbed = self._is_disturbed, False
        if not self._is_under_way:
            # An evaluation of half an hour would make all steps around it look longer, and be looked into too often.
            if not was_disturbed:
                self._usual.append(seconds)
            return None
        self._is_under_way = False
        began = self._clock()
        try:
            traced = self._trace.end()
            parts = None if was_disturbed else self._parts(traced)
        except TooLarge:
            self._is_off = True
            return None
        except Exception:
            self._failed()
            raise
        self._taken += 1
        # The first has CUPTI loaded.
        if traced is not None and self._taken > 1:
            self._costs.append(self._begin_cost + self._clock() - began + traced.events * EVENT_SECONDS)
        return parts if self._taken > 1 else None

    def begin_if_due(self, step):
        """`step`: the number of the one that has just ended."""
        if self._is_off or self._is_under_way or self._calls < FIRST_AT_STEP or not self._usual:
            return
        if step % self._stride() != 0 or threading.current_thread() is not threading.main_thread():
            return
        began = self._clock()
        try:
            if self._trace is None:
                self._trace = self._trace_of()
                self._is_off = self._trace is None
            if self._is_off or not self._trace.begin():
                return
        except Exception:
            self._failed()
            raise
        self._is_given_up = False
        self._is_under_way = True
        self._began_at = self._clock()
        self._begin_cost = self._began_at - began

    def watch(self, phase):
        """What the rank is in the middle of, now and then."""
        if phase != 'training':
            self._is_disturbed = True
        if not self._is_under_way:
            return
        longest = max(GIVEN_UP_LEAST_SECONDS, GIVEN_UP_AFTER * statistics.mean(self._usual))
        if self._clock() - self._began_at > longest and not self._is_given_up:
            self._is_given_up = True
            self._later(self._give_up)

    def close(self):
        """The program ends: by its first thread. A profiler that is left on is one that the end of PyTorch stumbles over."""
        self._give_up()

    def _give_up(self):
        if self._is_under_way:
            self._is_under_way = False
            self._trace.drop()

    def _parts(self, traced):
        if traced is None:
            return None
        self._looked_into.append(traced.seconds)
        if traced.seconds > LONGEST * statistics.median(self._looked_into):
            return None
        compute = min(traced.seconds, length(traced.compute) / 1e9)
        waited = min(traced.seconds - compute, exposed(traced.communication, traced.compute) / 1e9)
        # Neither: the host that has its data to fetch, its log to write, or is slow itself.
        host = traced.seconds - compute - waited
        return {'compute': compute * 1e3, 'host': host * 1e3, 'communication': waited * 1e3}

    def _stride(self):
        """Steps from one sample to the next: a power of two, so that the steps of a rank that samples less often are among those of the others. Two at least, for there to be a usual step."""
        cost = statistics.median(self._costs) if self._costs else 0.0
        steps = max(EVERY_SECONDS, cost / COST_SHARE) / max(1e-6, statistics.mean(self._usual))
        stride = 2
        while stride * 2 <= steps:
            stride *= 2
        return stride

    def _failed(self):
        self._failures += 1
        self._is_off = self._failures >= MOST_FAILURES


# What C calls must not be collected.
_CALLED_BY_C = []


def call_in_first_thread(function):
    """A profiler can be ended by the thread alone that began it. That one comes by here between two instructions of its own."""
    import ctypes

    def call(_):
        try:
            function()
        except Exception:
            pass
        return 0

    _CALLED_BY_C.append(ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(call))
    ctypes.pythonapi.Py_AddPendingCall(_CALLED_BY_C[-1], None)
