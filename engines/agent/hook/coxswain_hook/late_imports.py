"""Calls back when a module has been imported, which may be never."""

import sys


def when_imported(callbacks):
    """`callbacks`: by name of a module, what is called with it right after it was executed and before whoever imports it goes on."""
    waiting = dict(callbacks)
    for name in list(waiting):
        if name in sys.modules:
            _call(waiting.pop(name), sys.modules[name])
    if waiting:
        sys.meta_path.insert(0, _Finder(waiting))


class _Finder:
    """Stands before the finders, finds by asking them, and goes away when nothing is waited for."""

    def __init__(self, waiting):
        self._waiting = waiting

    def find_spec(self, name, path=None, target=None):
        if name not in self._waiting:
            return None
        for finder in list(sys.meta_path):
            find = getattr(finder, 'find_spec', None)
            spec = find(name, path, target) if finder is not self and find is not None else None
            if spec is not None:
                # Only now is nothing waited for any more: a program may look for a module and not import it.
                _call_after(spec.loader, lambda module: self._imported(name, module))
                return spec
        return None

    def _imported(self, name, module):
        callback = self._waiting.pop(name, None)
        if not self._waiting and self in sys.meta_path:
            sys.meta_path.remove(self)
        if callback is not None:
            callback(module)


def _call_after(loader, callback):
    """The loader stays what it is, since others ask it for sources; only this one execution is followed by a call."""
    execute = getattr(loader, 'exec_module', None)
    if execute is None:
        return

    def exec_module(module):
        del loader.exec_module
        execute(module)
        _call(callback, module)

    try:
        loader.exec_module = exec_module
    except (AttributeError, TypeError):
        # A class of the interpreter itself: no module of PyTorch is loaded by one.
        return


def _call(callback, module):
    try:
        callback(module)
    except Exception:
        # Never the importer's trouble.
        return
