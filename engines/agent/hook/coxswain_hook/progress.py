"""What is this rank doing, and is it news?"""

import sys
import threading
import time

from coxswain_hook.phase import phase_of
from coxswain_hook.watermarks import Watermarks


class Progress:
    """Looks at the thread that Python began with and at the process groups. For one thread alone. `distributed`: torch.distributed.distributed_c10d."""

    def __init__(self, distributed, rank, clock=time.perf_counter):
        self._distributed = distributed
        self._rank = rank
        self._clock = clock
        self._watermarks = None
        self._phase = 'starting'
        self._phase_since = clock()
        self._step = None
        self._watermark = None
        self._told = None
        self._told_at = None
        self._told_groups = None

    @property
    def phase(self):
        return self._phase

    def look(self, step, stepped_at):
        """`step`: the newest that is complete, None before the first; `stepped_at`: when it was, by the clock of this."""
        self._watermark = None
        frame = sys._current_frames().get(threading.main_thread().ident)
        self._step = step
        self._enter(phase_of(frame) or ('starting' if step is None else 'training'))
        if self._watermarks is None:
            self._watermarks = Watermarks(self._distributed, sys.modules.get('torch._C._distributed_c10d'), self._rank)
        groups = self._watermarks.look(frame) if self._distributed.is_initialized() else []
        self._watermark = {'phase': self._phase, 'phaseAgeMs': self._age_ms(stepped_at), 'groups': groups}

    def is_news(self, at_the_latest_seconds):
        """Whether it is other than what was told last, or that is long ago."""
        is_due = self._told_at is None or self._clock() - self._told_at >= at_the_latest_seconds
        return is_due or self._without_ages() != self._told

    def take(self):
        """What is to be told of it, which counts as told."""
        self._told_at = self._clock()
        self._told = self._without_ages()
        if self._watermark is None:
            return {}
        taken = {'watermark': self._watermark}
        groups = self._watermarks.groups()
        if groups != self._told_groups:
            self._told_groups = taken['process_groups'] = groups
        return taken

    def take_end(self):
        """The program has nothing more to do, and waits in no group."""
        return {'watermark': {'phase': 'ended', 'phaseAgeMs': 0, 'groups': []}}

    def _enter(self, phase):
        if phase != self._phase:
            self._phase, self._phase_since = phase, self._clock()

    def _age_ms(self, stepped_at):
        """Since the phase began or, in training, since the last step was complete, whichever was later."""
        since = self._phase_since
        if self._phase == 'training' and stepped_at is not None:
            since = max(since, stepped_at)
        return round(max(0.0, self._clock() - since) * 1e3)

    def _without_ages(self):
        if self._watermark is None:
            return None
        groups = [{key: value for key, value in group.items() if key != 'ageMs'} for group in self._watermark['groups']]
        # In order of their names: that in which they are told changes with their ages.
        return self._step, self._phase, sorted(groups, key=lambda group: group['group'])
