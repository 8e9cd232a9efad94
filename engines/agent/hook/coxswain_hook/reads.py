"""Which environment variables are read, by whom, and what did they find?

Code that reads all variables, such as a copy for another process, is not counted: it depends on none.
"""

import os
import sys

# Through these, others read variables.
_BETWEEN = ('os', '_collections_abc', 'collections.abc')


class Reads:
    """Notes the first read of each variable while it is open."""

    def __init__(self):
        # By name: what was found (None: not set), and which line of which file asked.
        self.found = {}
        self._iterating = None

    def __enter__(self):
        kind = type(os.environ)
        self._originals = kind.__getitem__, kind.__iter__
        read, iterate = self._originals
        note = self._note

        def __getitem__(environ, key):
            try:
                value = read(environ, key)
            except KeyError:
                note(key, None)
                raise
            note(key, value)
            return value

        def __iter__(environ):
            self._iterating = _place()
            return iterate(environ)

        kind.__getitem__, kind.__iter__ = __getitem__, __iter__
        return self

    def __exit__(self, *_):
        kind = type(os.environ)
        kind.__getitem__, kind.__iter__ = self._originals
        self._iterating = None

    def differing(self, now, but=()):
        """Of the variables that were read, each that has another value in `now`, and who read it."""
        return {
            name: reader for name, (value, reader) in self.found.items() if name not in but and now.get(name) != value
        }

    def _note(self, key, value):
        name, text = (os.fsdecode(one) if isinstance(one, bytes) else one for one in (key, value))
        if not isinstance(name, str) or name in self.found:
            return
        place = _place()
        if place != self._iterating:
            frame = place[0]
            self.found[name] = text, f'{frame.f_code.co_filename}:{frame.f_lineno}'


def _place():
    """The frame that reads, and the instruction in it: the same ones read on while they walk through all variables."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get('__name__') in (*_BETWEEN, __name__):
        frame = frame.f_back
    return frame, frame.f_lasti
