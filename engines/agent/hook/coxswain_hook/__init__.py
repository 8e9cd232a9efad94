"""Tells the launcher what a rank trains, seen from inside PyTorch and without a word of the engine.

Nothing is replaced that PyTorch computes with. Three modules are waited for; when the program imports them the hook listens where PyTorch lets it: at the end
of an optimizer's step, and by looking whether there is a process group. A program that never imports them is left alone.
"""

_listener = None


def wake(environment):
    """Waits for PyTorch. `environment` names rank and socket."""
    # As it is now: the launcher believes a process by the environment that it was started with.
    began_with = dict(environment)
    from coxswain_hook.late_imports import when_imported
    from coxswain_hook.marks import Marks

    marks = Marks()
    imports = _import_list(began_with)

    def begin():
        global _listener
        if _listener is None:
            from coxswain_hook.listener import Listener

            _listener = Listener.of_environment(began_with, marks, imports)
        return _listener

    when_imported(
        {
            'torch': lambda module: marks.imported(),
            'torch.optim.optimizer': lambda module: begin().listen_to_steps(module),
            'torch.distributed.distributed_c10d': lambda module: begin().look_for_group(module),
        }
    )


def _import_list(environment):
    """Where the launcher wants to know what this rank imports, for its successor."""
    path = environment.get('COXSWAIN_IMPORTS_FILE')
    if not path:
        return None
    from coxswain_hook.imports import ImportList

    return ImportList(path, environment)
