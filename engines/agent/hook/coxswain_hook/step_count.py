"""Which call of an optimizer ends a step of the training?"""


class StepCount:
    """Counts steps from the calls of optimizers of which a training may have many.

    A model in parts has an optimizer for each, DeepSpeed calls one for each group of parameters, and an optimizer inside another ends first: the step is
    counted when whoever was first to be called is called again. Where that one is never called again, because the engine has made another, the first of the
    others that is called twice takes its place.
    """

    def __init__(self, first_step):
        self._step = first_step - 1
        self._leader = None
        self._others = set()

    def called(self, key):
        """The number of the step that begins to be applied with this call; None where the call belongs to one that was counted."""
        if key != self._leader:
            if self._leader is not None and key not in self._others:
                self._others.add(key)
                return None
            self._leader = key
        self._others.clear()
        self._step += 1
        return self._step
