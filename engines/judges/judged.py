"""The line in which a judge says how far an engine came, and why no further."""

import json
import os
import sys


def tell(reached: str, error: BaseException | None, **read: object) -> None:
    """Ends the process: engines leave threads behind."""
    why = None if error is None else f'{type(error).__name__}: {error}'.strip()[:600]
    print('\nJUDGED ' + json.dumps({'reached': reached, 'why': why, 'read': read}), flush=True)
    sys.stdout.flush()
    os._exit(0)
