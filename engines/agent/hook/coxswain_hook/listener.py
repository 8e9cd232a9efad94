"""Listens to one rank: its process group, its optimizers, and that it is alive."""

import atexit
import os
import sys
import threading
import time
import weakref

from coxswain_hook import what_is_trained
from coxswain_hook.marks import Marks
from coxswain_hook.phase import phase_of
from coxswain_hook.progress import Progress
from coxswain_hook.reporter import Reporter
from coxswain_hook.step_count import StepCount
from coxswain_hook.step_parts import StepParts

HEARTBEAT_SECONDS = 10.0
# How often it is looked whether there is a process group and whether the rank loads, until the first step.
LOOK_SECONDS = 0.1
# A program without a step for so long is looked at no more often than any other: it may serve a model.
LOOK_CLOSELY_SECONDS = 1800.0
# How often it is looked how far the rank is, once it speaks; told where it is not as it was.
PROGRESS_SECONDS = 1.0
# The first has made the optimizer's states: from the second on all is there that a step needs.
LOOK_AT_STEP = 2
# And from here on although there is no process group, where there are to be several ranks: some programs warm up before they make one.
LOOK_ALONE_AT_STEP = 10
LAST_WORD_SECONDS = 1.0
# In the environment of a rank, 0: nobody asks what its steps are made of. 1: nor is it left alone on a GPU, where who has looked once stays attached (CUPTI),
# and what that costs each kernel of a job nobody has measured.
PARTS_VARIABLE = 'HOOK_STEP_PARTS'


class Listener:
    """Speaks for the rank once this process shows that it is the rank: it is in the process group under that number, or optimizes.

    Loaders of data, torchrun, and whatever else inherits the environment of a rank do neither, so they say nothing.
    """

    def __init__(self, rank, world_size, first_step, make_reporter, *, parts_asked='', marks=None, imports=None):
        self._rank = rank
        self._marks = Marks() if marks is None else marks
        # Kept for the successor of this rank, where the launcher wants one.
        self._imports = imports
        self._parts = None if parts_asked == '0' else StepParts(sys.modules, world_size, parts_asked == '1')
        self._world_size = world_size
        self._make_reporter = make_reporter
        self._reporter = None
        self._lock = threading.Lock()
        self._step = None
        self._count = StepCount(first_step)
        self._first_step = first_step
        self._optimizers = weakref.WeakSet()
        self._calls = 0
        self._stepped_at = None
        # Of the process group, as long as there was one: at the end of the program it is gone.
        self._group = None
        self._looked = False
        self._progress = None
        self._pid = os.getpid()
        self._over = threading.Event()
        # What went wrong inside of here, told with each heartbeat.
        self.faults = 0

    @staticmethod
    def of_environment(environment, marks=None, imports=None):
        rank = int(environment['RANK'])
        resumed = environment.get('COXSWAIN_RESUME_STEP', '')
        first_step = int(resumed) + 1 if resumed.isdigit() else 1
        world_size = environment.get('WORLD_SIZE', '')
        ranks = int(world_size) if world_size.isdigit() else 1
        return Listener(
            rank,
            ranks,
            first_step,
            lambda: Reporter.from_environment(environment, hook='sitecustomize'),
            parts_asked=environment.get(PARTS_VARIABLE, ''),
            marks=marks,
            imports=imports,
        )

    def listen_to_steps(self, optimizer_module):
        """`optimizer_module`: torch.optim.optimizer."""
        register = getattr(optimizer_module, 'register_optimizer_step_post_hook', None)
        if register is None:
            # PyTorch before 2.0.
            return
        compiler = getattr(sys.modules['torch'], 'compiler', None)
        is_compiling = getattr(compiler, 'is_compiling', None) or (lambda: False)

        def after_step(optimizer, args, kwargs):
            # A step that is being compiled must not have this in it: it is traced once, and run without us. Its lines in the log tell of it.
            if is_compiling():
                return
            self.stepped(optimizer)

        _leave_uncompiled(after_step.__code__)
        register(after_step)

    def look_for_group(self, distributed_module):
        """`distributed_module`: torch.distributed.distributed_c10d."""
        self._progress = Progress(distributed_module, self._rank)
        beat = threading.Thread(target=self._beat, args=(distributed_module,), name='coxswain-hook', daemon=True)
        beat.start()

    def stepped(self, optimizer):
        """An optimizer has done a step of its own."""
        if self._pid != os.getpid():
            # A child that was forked: its parent speaks on.
            return
        try:
            self._stepped(optimizer)
        except Exception:
            self.faults += 1

    def _stepped(self, optimizer):
        now = time.perf_counter()
        self._optimizers.add(optimizer)
        groups = optimizer.param_groups
        # DeepSpeed puts one group after the other into the same optimizer.
        key = (id(optimizer), id(groups[0]) if groups else 0)
        if self._step is None and self._first_step == 1:
            self._count = StepCount(_steps_of(optimizer) or 1)
        step = self._count.called(key)
        if step is None:
            return
        before, self._stepped_at, self._step = self._stepped_at, now, step
        reporter = self._speak()
        if reporter is None:
            return
        self._calls += 1
        if before is None:
            if self._is_met():
                self._marks.met()
            self._marks.stepped()
            self._tell_marks(reporter)
            # How long the first one took nobody can say who has not seen it begin.
            self._tell_resumed(reporter, optimizer)
            reporter.heartbeat(step=step)
        else:
            self._tell_step(reporter, step, now - before, _rate_of(groups))
        self._see_group()
        if not self._looked and self._calls >= (LOOK_AT_STEP if self._is_in_group() else LOOK_ALONE_AT_STEP):
            self._look(reporter)
        if self._parts is not None and before is not None:
            self._parts.begin(step)

    def _tell_step(self, reporter, step, seconds, rate):
        parts = None
        try:
            parts = self._parts.ended(seconds) if self._parts is not None else None
        finally:
            reporter.step(
                step=step, rank=self._rank, step_time_ms=seconds * 1e3, tokens=None, learning_rate=rate, timings_ms=parts
            )

    def _tell_resumed(self, reporter, optimizer):
        """One that has just done the step after the checkpoint's has loaded that state."""
        if self._first_step > 1 and _steps_of(optimizer) == self._first_step:
            reporter.resumed(self._first_step - 1, late=True)

    def _look(self, reporter):
        self._looked = True
        group = self._group or {'worldSize': 1, 'backend': None, 'groups': []}
        reporter.trained({**group, **what_is_trained.look(sys.modules['torch'], list(self._optimizers))})

    def _is_in_group(self):
        return self._group is not None or self._world_size == 1

    def _see_group(self):
        if not self._looked and self._is_met():
            self._group = what_is_trained.group_facts(sys.modules['torch'].distributed)

    def _is_met(self):
        distributed = sys.modules['torch'].distributed
        return distributed.is_available() and distributed.is_initialized()

    def _speak(self):
        """The reporter of this rank; None where this process is not that rank."""
        with self._lock:
            if self._reporter is None:
                if not self._is_rank():
                    return None
                self._reporter = self._make_reporter()
                self._tell_marks(self._reporter)
                atexit.register(self._end)
            return self._reporter

    def _is_rank(self):
        """A program that gives its processes other numbers than their environment says speaks of ranks that are not this one."""
        distributed = sys.modules.get('torch.distributed.distributed_c10d')
        if distributed is None or not distributed.is_initialized():
            return True
        return distributed.get_rank() == self._rank

    def _tell_marks(self, reporter):
        news = self._marks.take_news()
        if news:
            reporter.marks(news)

    def _beat(self, distributed_module):
        began_at = told_at = time.monotonic()
        while True:
            was_heard = self._reporter is not None
            now = time.monotonic()
            is_early = self._step is None and now - began_at < LOOK_CLOSELY_SECONDS
            if self._over.wait(LOOK_SECONDS if is_early else PROGRESS_SECONDS):
                return
            try:
                if is_early:
                    self._look_closely(distributed_module)
                if self._imports is not None and (was_heard or distributed_module.is_initialized()):
                    self._imports.look()
                if was_heard and time.monotonic() - told_at < PROGRESS_SECONDS:
                    continue
                # Whoever was not heard when this wait began, and is now, has just said so with a step.
                if not was_heard and (self._reporter is not None or not distributed_module.is_initialized()):
                    continue
                reporter = self._speak()
                if reporter is not None:
                    told_at = time.monotonic()
                    self._tell_progress(reporter)
            except Exception:
                self.faults += 1

    def _look_closely(self, distributed_module):
        """Before the first step: is there a process group now, and does the main thread load a checkpoint?"""
        if distributed_module.is_initialized():
            self._marks.met()
        self._marks.look(phase_of(sys._current_frames().get(threading.main_thread().ident)))
        if self._reporter is not None:
            self._tell_marks(self._reporter)

    def _tell_progress(self, reporter):
        """Also where it cannot be seen how far the rank is: it lives."""
        try:
            self._progress.look(self._step, self._stepped_at)
        except Exception:
            self.faults += 1
        if self._parts is not None:
            self._parts.watch(self._progress.phase)
        if self._progress.is_news(HEARTBEAT_SECONDS):
            reporter.heartbeat(step=self._step, faults=self.faults, **self._progress.take())

    def _end(self):
        """What was told last is still under way."""
        self._over.set()
        if self._pid != os.getpid() or self._reporter is None:
            return
        try:
            if self._parts is not None:
                self._parts.close()
            if self._calls > 0 and not self._looked:
                self._look(self._reporter)
            if self._progress is not None:
                self._reporter.heartbeat(step=self._step, faults=self.faults, **self._progress.take_end())
            self._reporter.close(LAST_WORD_SECONDS)
        except Exception:
            self.faults += 1


def _steps_of(optimizer):
    """Adam counts its steps in its state, so a program that has loaded a save of its own goes on there. None where there is no count, or it is on an
    accelerator, which would have to be waited for."""
    for state in optimizer.state.values():
        count = state.get('step') if isinstance(state, dict) else None
        is_here = isinstance(count, (int, float)) or getattr(getattr(count, 'device', None), 'type', '') == 'cpu'
        return int(count) if is_here else None
    return None


def _rate_of(groups):
    """The learning rate of the first group: schedulers set it after this. None where it is on an accelerator, which would have to be waited for."""
    rate = groups[0].get('lr') if groups else None
    if getattr(getattr(rate, 'device', None), 'type', '') == 'cpu' and rate.numel() == 1:
        return float(rate)
    return float(rate) if isinstance(rate, (int, float)) else None


def _leave_uncompiled(code):
    """Inside of a compiled step, where that calls hooks of its own, neither this nor what it calls is compiled. PyTorch 2.7 and later know how."""
    try:
        from torch._C._dynamo.eval_frame import _FrameAction, _FrameExecStrategy, set_code_exec_strategy
    except ImportError:
        return
    set_code_exec_strategy(code, _FrameExecStrategy(_FrameAction.SKIP, _FrameAction.SKIP))
