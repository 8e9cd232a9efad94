"""Python loads this at its start where the launcher has put this folder first on PYTHONPATH.

It wakes the hook in processes of a rank, and then runs the sitecustomize that it stands before. Python 3.8 and later, standard library only.
"""

import os
import sys


def _wake():
    """Whatever is wrong here is no reason for a training to end; the launcher says that no hook has spoken."""
    try:
        import coxswain_hook

        coxswain_hook.wake(os.environ)
    except Exception:
        pass


def _run_shadowed():
    """The next module of this name on the path takes this one's place. What it raises is Python's to tell, as without us."""
    # Loaded in every Python before this: the public names of the same would cost each process an import of a millisecond.
    from _frozen_importlib import module_from_spec
    from _frozen_importlib_external import PathFinder

    here = os.path.dirname(os.path.abspath(__file__))
    spec = PathFinder.find_spec('sitecustomize', [folder for folder in sys.path if os.path.abspath(folder) != here])
    if spec is None or spec.loader is None:
        return
    module = module_from_spec(spec)
    sys.modules['sitecustomize'] = module
    spec.loader.exec_module(module)


def _wait_as_successor():
    """Whatever is raised here, Python would go on with the program, as a second copy of it beside the rank. So this process ends instead."""
    try:
        from coxswain_hook.successor import serve

        serve(_run_shadowed)
    except BaseException as error:
        try:
            os.write(2, f'The hook of a successor failed: {type(error).__name__}: {error}\n'.encode())
        finally:
            os._exit(1)


_is_successor = 'COXSWAIN_SUCCESSOR_OF' in os.environ
if _is_successor:
    _wait_as_successor()
if 'RANK' in os.environ and 'COXSWAIN_REPORT_SOCKET' in os.environ:
    _wake()
if not _is_successor:
    _run_shadowed()
