"""In the middle of what is each thread of this process? Names of functions, files and lines: never a value, an argument or a line of source.

A thread that waits in C code (a collective, a system call) has let go of the interpreter, so that another one can look. Where one holds on to it, or the
process is stopped, nobody looks, and whoever asked says that there was no answer.

Python 3.8 and later: the launcher carries this file into images of others, for the hook.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from types import FrameType
from typing import Any, Optional

MAX_FRAMES = 64
MAX_THREADS = 64
MAX_BYTES = 16_384
"""Of all threads together, as JSON; the first thread comes first."""
MAX_FUNCTION = 100
MAX_FILE = 120
MAX_THREAD_NAME = 64
OWN_THREADS = 'coxswain-'
"""Names of our own threads begin so: they are always in the middle of looking."""


def take() -> list[dict[str, Any]]:
    """The threads of this process, the first one first and then by name, each with its functions, innermost first."""
    frames = sys._current_frames()
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    main = threading.main_thread().ident
    seen = [
        _thread(names.get(ident, 'unnamed'), ident == main, frame)
        for ident, frame in frames.items()
        if not names.get(ident, '').startswith(OWN_THREADS)
    ]
    # This very frame is among them, so that it would hold them, with all that their threads hold, until the next collection of garbage.
    frames.clear()
    seen.sort(key=lambda thread: (not thread['isMain'], thread['thread']))
    return _fitting(seen[:MAX_THREADS])


def _thread(name: str, is_main: bool, frame: Optional[FrameType]) -> dict[str, Any]:
    functions: list[str] = []
    while frame is not None and len(functions) < MAX_FRAMES:
        functions.append(_words(frame))
        frame = frame.f_back
    told: dict[str, Any] = {'thread': _units(str(name), slice(0, MAX_THREAD_NAME)), 'isMain': is_main, 'frames': functions}
    if frame is not None:
        told['isCut'] = True
    return told


def _words(frame: FrameType) -> str:
    code = frame.f_code
    function = getattr(code, 'co_qualname', code.co_name)
    file = _units(_short(code.co_filename), slice(-MAX_FILE, None))
    return '{} ({}:{})'.format(_units(function, slice(-MAX_FUNCTION, None)), file, frame.f_lineno)


def _units(text: str, part: slice) -> str:
    """A part of it in UTF-16 code units, of which the launcher counts how long a text is."""
    wide = text.encode('utf-16-le', 'surrogatepass')
    start, stop = (None if end is None else 2 * end for end in (part.start, part.stop))
    return wide[start:stop].decode('utf-16-le', 'ignore')


def _short(path: str) -> str:
    """Below the folder of Python's path that it was imported from, as `torch/nn/modules/module.py`."""
    folders = [str(one) for one in sys.path if one and path.startswith(str(one).rstrip(os.sep) + os.sep)]
    return path[len(max(folders, key=len).rstrip(os.sep)) + 1 :] if folders else path


def _fitting(threads: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As many as fit. Of the first thread the outermost functions go until it fits: what it is in the middle of is innermost."""
    kept: list[dict[str, Any]] = []
    left = MAX_BYTES
    for thread in threads:
        while not kept and _bytes(thread) > left and thread['frames']:
            thread = {**thread, 'frames': thread['frames'][:-1], 'isCut': True}
        left -= _bytes(thread)
        if left < 0:
            break
        kept.append(thread)
    return kept


def _bytes(thread: dict[str, Any]) -> int:
    return len(json.dumps(thread)) + 2
