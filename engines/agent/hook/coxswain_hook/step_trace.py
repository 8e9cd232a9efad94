"""What happened in one step on the GPU of this rank, by PyTorch's own profiler: which time went to communication, and which to computing.

It is asked for kernels alone (CUPTI): hosts are steps ahead of their GPUs, and to record their operations costs more. Where anybody else profiles, nothing is asked.
"""

import gc
import os
import sys
import time

# More of them are a step that this is not made for: reading it takes a second.
MAX_EVENTS = 200_000
# In names of kernels that wait for other ranks: NCCL and RCCL, NVSHMEM, PyTorch's symmetric memory, DeepEP.
COMMUNICATION_KERNELS = ('nccl', 'nvshmem', 'multimem', '_shot_all_reduce', 'deep_ep')
# Whoever is told of these profiles the process from outside, and CUPTI serves one.
PROFILED_FROM_OUTSIDE = ('CUDA_INJECTION64_PATH', 'NSYS_PROFILING_SESSION_ID', 'KINETO_USE_DAEMON')
LOG_LEVEL = 'KINETO_LOG_LEVEL'
SILENT = '99'


class Traced:
    """Of one step: how long it took, and spans (begin, end) in nanoseconds by one clock."""

    def __init__(self, seconds):
        self.seconds = seconds
        self.events = 0
        self.communication = []
        self.compute = []


class TooLarge(Exception):
    """The step has more events than are read."""


class StepTrace:
    """One step at a time; begun and ended by the same thread."""

    def __init__(self, torch):
        self._torch = torch
        self._kinds = _profilers(torch)
        self._known = None
        self._began_at = None
        # One that could not be ended, since somebody else's had been put on top of it.
        self._is_left = False
        self._activities = {torch.autograd.ProfilerActivity.CUDA}

    @staticmethod
    def of(torch):
        """None where nothing can be seen, or somebody looks from outside."""
        if any(name in os.environ for name in PROFILED_FROM_OUTSIDE):
            return None
        trace = StepTrace(torch)
        return trace if trace._activities <= set(torch.autograd._supported_activities()) else None

    def begin(self):
        """Whether the step that begins now is traced."""
        if self._is_left:
            self.drop()
        if self._is_left or self._torch.autograd._profiler_enabled() or self._are_others() or self._is_captured():
            return False
        config = self._torch.autograd.profiler.profile(use_kineto=True).config()
        self._known = self._counts()
        self._catch_up()
        self._prepare(config)
        self._torch.autograd._enable_profiler(config, self._activities)
        self._began_at = time.perf_counter()
        return True

    def end(self):
        """What the step was, :class:`Traced`; None where somebody else has begun to profile meanwhile."""
        if self._is_captured() or self._are_others():
            self.drop()
            return None
        self._catch_up()
        traced = Traced(time.perf_counter() - self._began_at)
        self._read(self._torch.autograd._disable_profiler().events(), traced)
        return traced

    def drop(self):
        """Ends it, and looks at nothing. One that somebody else has begun meanwhile lies on top of it, and goes first."""
        self._is_left = any(_is_active(one) for one in self._others())
        if not self._is_left and self._torch.autograd._profiler_enabled():
            self._torch.autograd._disable_profiler()

    def _prepare(self, config):
        """Its words about its beginning and its end are for people who profile; it asks once how much it is to say."""
        is_ours = LOG_LEVEL not in os.environ
        if is_ours:
            os.environ[LOG_LEVEL] = SILENT
        try:
            self._torch.autograd._prepare_profiler(config, self._activities)
        finally:
            if is_ours:
                del os.environ[LOG_LEVEL]

    def _catch_up(self):
        """The host waits for what it has asked of the GPU, on the stream that computes alone: others may wait for what only comes later."""
        event = self._torch.cuda.Event()
        event.record()
        event.synchronize()

    def _is_captured(self):
        return self._torch.cuda.is_current_stream_capturing()

    def _read(self, events, traced):
        traced.events = len(events)
        if traced.events > MAX_EVENTS:
            raise TooLarge
        gpu = self._torch.autograd.DeviceType.CUDA
        for event in events:
            if event.device_type() == gpu:
                _take(event, traced)

    def _are_others(self):
        """Whether any profiler but this is alive. An object holds on to its class: only where more do than did is it looked for."""
        counts = self._counts()
        if counts == self._known:
            return False
        if self._others():
            return True
        self._known = counts
        return False

    def _counts(self):
        return tuple(sys.getrefcount(kind) for kind in self._kinds)

    def _others(self):
        kinds = {}
        found = []
        for one in gc.get_objects():
            kind = type(one)
            is_one = kinds.get(kind)
            if is_one is None:
                is_one = kinds[kind] = issubclass(kind, self._kinds)
            if is_one:
                found.append(one)
        return found


def _profilers(torch):
    found = (
        getattr(torch.autograd.profiler, 'profile', None),
        getattr(torch.profiler, 'profile', None),
        getattr(torch.profiler, '_KinetoProfile', None),
    )
    return tuple(one for one in found if one is not None)


def _is_active(profiler):
    """Of the profilers that are inside of others: that it was entered, it says for ever; what it has seen, once it was left."""
    return getattr(profiler, 'entered', False) and getattr(profiler, 'kineto_results', False) is None


def _take(event, traced):
    name = event.name().lower()
    # The host that waits for the device is told as if it were something on the device.
    if name.endswith(' sync'):
        return
    is_communication = any(part in name for part in COMMUNICATION_KERNELS)
    (traced.communication if is_communication else traced.compute).append(_span(event))


def _span(event):
    # PyTorch before 2.4 tells microseconds.
    if hasattr(event, 'start_ns'):
        begin, lasted = event.start_ns(), event.duration_ns()
    else:
        begin, lasted = event.start_us() * 1000, event.duration_us() * 1000
    return begin, begin + lasted
