"""How an error travels from the rank that met it to the others.

PyTorch gathers errors of checkpoints with the frames of their tracebacks, by pickle. From Python 3.13 on a frame may hold its code object, which pickle
refuses: every rank then ends with "cannot pickle code objects", and nobody hears the cause. A frame travels here as file, line, function and text.
"""

from __future__ import annotations

import copyreg
import traceback


def _frame(filename: str, lineno: int | None, name: str, line: str | None) -> traceback.FrameSummary:
    return traceback.FrameSummary(filename, lineno, name, lookup_line=False, line=line)


def _parts(frame: traceback.FrameSummary) -> tuple[object, tuple[object, ...]]:
    return _frame, (frame.filename, frame.lineno, frame.name, frame.line)


def let_errors_travel() -> None:
    """Registers how frames are pickled in this process. Again is harmless."""
    copyreg.pickle(traceback.FrameSummary, _parts)
