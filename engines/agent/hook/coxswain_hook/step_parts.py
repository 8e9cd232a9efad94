"""What of a step was this rank's own, and what was waiting for others? Ranks that wait for each other are equally long in a step, so its length tells nothing of them."""

from coxswain_hook.own_time import OwnTime
from coxswain_hook.step_samples import StepSamples
from coxswain_hook.step_trace import StepTrace


class StepParts:
    """Called by the thread that trains at the end of each step; `watch` by another. `world_size`: as the environment of the rank says."""

    def __init__(self, modules, world_size, looks_into_gpus):
        """`modules`: those that the program has imported, by name."""
        self._modules = modules
        self._looks_into_gpus = looks_into_gpus
        self._world_size = world_size
        # None until there is a process group.
        self._how = None

    def ended(self, seconds):
        """Parts of the step that has just ended, in milliseconds; None where they are not known. `seconds`: how long it took."""
        return None if self._how is None else self._how.ended(seconds)

    def begin(self, step):
        """`step`: the number of the one that has just ended."""
        if self._how is None:
            self._how = self._choose()
        if self._how is not None:
            self._how.begin_if_due(step)

    def watch(self, phase):
        """What the rank is in the middle of, now and then."""
        if self._how is not None:
            self._how.watch(phase)

    def close(self):
        if self._how is not None:
            self._how.close()

    def _choose(self):
        """None where it is not known yet. By the words of the backends of the groups: `nccl`, `gloo`, `cpu:gloo,cuda:nccl`."""
        if self._world_size == 1 or 'coxswain_agent' in self._modules:
            # Nobody to wait for, or an engine that tells of its waiting by itself.
            return Nothing()
        distributed = self._modules.get('torch.distributed.distributed_c10d')
        if distributed is None or not distributed.is_initialized():
            return None
        backends = {str(entry[0]) for entry in list(distributed._world.pg_map.values())}
        torch = self._modules['torch']
        if any('nccl' in backend for backend in backends):
            return StepSamples(lambda: StepTrace.of(torch)) if self._looks_into_gpus else Nothing()
        is_on_gpu = torch.cuda.is_available() and torch.cuda.is_initialized()
        return OwnSteps() if not is_on_gpu and any('gloo' in backend for backend in backends) else Nothing()


class Nothing:
    def ended(self, seconds):
        return None

    def begin_if_due(self, step):
        pass

    def watch(self, phase):
        pass

    def close(self):
        pass


class OwnSteps:
    """Of ranks on CPUs: each step."""

    def __init__(self, own_time=None):
        self._own_time = own_time or OwnTime()
        self._is_disturbed = False

    def ended(self, seconds):
        lap = self._own_time.lap()
        was_disturbed, self._is_disturbed = self._is_disturbed, False
        if lap is None or was_disturbed:
            return None
        passed, own = lap
        return {'compute': own * 1e3, 'communication': (passed - own) * 1e3}

    def begin_if_due(self, step):
        pass

    def watch(self, phase):
        if phase != 'training':
            self._is_disturbed = True

    def close(self):
        pass
