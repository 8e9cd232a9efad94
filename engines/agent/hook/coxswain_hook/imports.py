"""Which modules did a rank import, and which variables did its program set? A successor of the rank imports these modules before it takes over.

Modules of the program itself are left out: they may read what only a running rank knows. Importing a module of a library has the side effects that it had in the
rank, except for those named below.
"""

import json
import os
import sys
import sysconfig
import time

# How often it is looked whether there are more. A look costs a comparison of two numbers unless there are.
LOOK_SECONDS = 2.0
MAX_MODULES = 8192
# Their import connects to other processes, or uses a GPU.
NEVER = frozenset(('mpi4py', 'pycuda'))
OURS = frozenset(('__main__', 'sitecustomize', 'usercustomize', 'coxswain_hook', 'coxswain_agent'))


class ImportList:
    """Writes the list of one rank into a file, again whenever there are more modules."""

    def __init__(self, path, began_with, clock=time.monotonic):
        self._path = path
        self._began_with = dict(began_with)
        self._clock = clock
        self._looked_at = None
        self._seen = 0

    def look(self):
        now = self._clock()
        if self._looked_at is not None and now - self._looked_at < LOOK_SECONDS:
            return
        self._looked_at = now
        if len(sys.modules) == self._seen:
            return
        self._seen = len(sys.modules)
        found = {'modules': library_modules(dict(sys.modules)), 'environment': changed(self._began_with, os.environ)}
        half = f'{self._path}.{os.getpid()}'
        with open(half, 'w') as file:
            json.dump(found, file)
        os.replace(half, self._path)


def library_modules(modules):
    """Names of modules that were installed as libraries, in the order in which their imports ended."""
    main = getattr(modules.get('__main__'), '__spec__', None)
    left_out = OURS | NEVER | ({main.name.partition('.')[0]} if main is not None else set())
    folders = tuple(folder.rstrip(os.sep) + os.sep for folder in library_folders())
    names = [name for name, module in modules.items() if _is_file_of(module, name, folders)]
    return [name for name in names if name.partition('.')[0] not in left_out][:MAX_MODULES]


def library_folders():
    """Folders of the standard library and of installed packages."""
    installed = [one for one in sys.path if os.path.basename(one.rstrip(os.sep)) in ('site-packages', 'dist-packages')]
    return [*{sysconfig.get_path('stdlib'), sysconfig.get_path('platstdlib')}, *installed]


def _is_file_of(module, name, folders):
    spec = getattr(module, '__spec__', None)
    origin = getattr(spec, 'origin', None)
    # Another name than its own: an alias that somebody has put among the modules.
    return isinstance(origin, str) and spec.name == name and origin.startswith(folders)


def changed(before, now):
    """Variables with another value than before; None: no longer set."""
    return {name: now.get(name) for name in {*before, *now} if before.get(name) != now.get(name)}
