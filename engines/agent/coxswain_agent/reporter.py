"""Sends facts to the launcher as JSON lines on its Unix socket, without ever blocking the training.

A thread of its own connects and writes. When the launcher reads slowly the queue fills; then the oldest *step* facts are dropped
first, because a step is one of many while a saved checkpoint is told only once. Dropped facts are counted and the count
is sent with the next chance. When the launcher closes the connection reporting stops for good; the training goes on.

The launcher asks two things: in the middle of what the process is, and that the ranks save now. A second thread waits for that; it answers the first between the
facts, and keeps the second for the engine, which looks at `save_asked` after each step.

Python 3.8 and later: the launcher carries this file into images of others, for the hook.
"""

from __future__ import annotations

import json
import math
import os
import platform
import socket
import threading
import time
import weakref
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Callable, Optional

from . import stacks

REPORT_SOCKET_VARIABLE = 'COXSWAIN_REPORT_SOCKET'
BOOT_ID_VARIABLE = 'COXSWAIN_BOOT_ID'
HELLO_TIMEOUT_SECONDS = 10.0
MAX_ANSWER_BYTES = 4096
MAX_REQUEST_BYTES = 65_536
DEFAULT_CAPACITY = 1024

Connect = Callable[[], Optional[socket.socket]]
"""Gives a connection on which facts may be told, or None where nobody listens or believes."""


class Reporter:
    """Queues facts for a writer thread. All methods return at once but `close` and `wait_until_written`, which wait."""

    def __init__(self, connect: Connect | None, capacity: int = DEFAULT_CAPACITY) -> None:
        """`connect` is called once, by the thread that writes; None gives a reporter that says nothing."""
        self._save_asked = 0
        self._connect = connect
        self._is_open = connect is not None
        self._capacity = capacity
        self._queue: deque[dict[str, Any]] = deque()
        self._changed = threading.Condition()
        self._dropped = 0
        self._dropped_untold = 0
        self._closing = False
        self._connection: socket.socket | None = None
        self._thread: threading.Thread | None = None
        if connect is not None:
            _REPORTERS.add(self)
            self._thread = threading.Thread(target=self._write_all, name='coxswain-report', daemon=True)
            self._thread.start()

    @staticmethod
    def from_environment(
        environment: Mapping[str, str] = os.environ, *, hook: str = 'engine', saves_when_asked: bool = False
    ) -> Reporter:
        """A reporter on the socket that COXSWAIN_REPORT_SOCKET names; a silent one where there is no launcher.

        `hook`: 'engine' where the engine itself calls, 'sitecustomize' where it is watched from beside. `saves_when_asked`: the engine
        looks at `save_asked`; where it does not, nobody asks.
        """
        return Reporter(launcher_socket(environment, hook=hook, saves_when_asked=saves_when_asked))

    @property
    def dropped(self) -> int:
        """How many facts were dropped so far."""
        return self._dropped

    @property
    def save_asked(self) -> int:
        """The newest request to save before the next save is due, from 1; 0: none yet.

        One rank of the gang is asked. An engine has its ranks agree, saves once for each new number, and trains on.
        """
        return self._save_asked

    def resumed(self, step: int, *, late: bool = False) -> None:
        """The state after `step` optimizer steps was loaded from a checkpoint. `late`: not just now, the rank has made a step since."""
        self._put({'kind': 'resumed', 'step': step, **({'late': True} if late else {})})

    def step(
        self,
        *,
        step: int,
        rank: int,
        step_time_ms: float,
        tokens: int | None,
        loss: float | None = None,
        learning_rate: float | None = None,
        grad_norm: float | None = None,
        timings_ms: Mapping[str, float] | None = None,
    ) -> None:
        """One optimizer step is done.

        `step` counts from 1; `tokens` are those of this step over the whole gang; `loss` is the mean over them, None on
        a rank that does not know it; a figure that is no finite number is told as such; `timings_ms` are disjoint parts of `step_time_ms` on this rank.
        """
        not_finite = {name: word for name, word in (('loss', _not_finite(loss)), ('gradNorm', _not_finite(grad_norm))) if word}
        self._put(
            {
                'kind': 'step',
                'step': step,
                'loss': _finite(loss),
                'tokens': tokens,
                'stepTimeMs': round(step_time_ms, 3),
                'rank': rank,
                'timingsMs': {name: round(value, 3) for name, value in (timings_ms or {}).items()},
                'learningRate': _finite(learning_rate),
                'gradNorm': _finite(grad_norm),
                **({'notFinite': not_finite} if not_finite else {}),
            }
        )

    def heartbeat(
        self,
        *,
        step: int | None = None,
        faults: int = 0,
        watermark: Mapping[str, Any] | None = None,
        process_groups: Sequence[Mapping[str, str]] | None = None,
    ) -> None:
        """The process lives. `step`: its newest; `faults`: how often its hook had to give something up.

        `watermark`: what it is doing and how far it is in each process group, of which `process_groups` says what they
        are, where that has changed. The README beside this package has their fields.
        """
        fact: dict[str, Any] = {'kind': 'heartbeat'}
        if step is not None:
            fact['step'] = step
        if faults > 0:
            fact['faults'] = faults
        if watermark is not None:
            fact['watermark'] = watermark
        if process_groups:
            fact['processGroups'] = process_groups
        self._put(fact)

    def marks(self, ages_ms: Mapping[str, float | None]) -> None:
        """How far the rank has come: `imported`, `met`, `loaded` and how long ago in milliseconds; None: passed, and not seen when."""
        self._put({'kind': 'marks', **ages_ms})

    def trained(self, facts: Mapping[str, Any]) -> None:
        """What is really trained on this rank; the README beside this package has the fields."""
        self._put({'kind': 'trained', **facts})

    def checkpoint_saved(self, *, step: int, directory: str, size_bytes: int, files: int, manifest_sha256: str) -> None:
        """The checkpoint is complete and durable. `directory` is relative to the save directory."""
        self._put(
            {
                'kind': 'checkpointSaved',
                'step': step,
                'directory': directory,
                'bytes': size_bytes,
                'files': files,
                'manifestSha256': manifest_sha256,
            }
        )

    def checkpoint_fault(self, *, fault: str, path: str, **details: str) -> None:
        """Why this rank is about to exit with 72 (`fault` 'ContentDiffers') or 74 ('FileUnreadable').

        `details`: `expected` and `found` (size or SHA-256), or `errno` (EIO, ESTALE, ...).
        """
        self._put({'kind': 'checkpointFault', 'fault': fault, 'path': path[-256:], **details})

    def close(self, timeout_seconds: float = 5.0) -> None:
        """Writes what is queued, waiting at most `timeout_seconds` for a slow reader, and closes the connection."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(timeout_seconds)

    def wait_until_written(self, timeout_seconds: float) -> bool:
        """Whether the queue ran empty within `timeout_seconds`. For engines that are about to be killed on purpose."""
        deadline = time.monotonic() + timeout_seconds
        with self._changed:
            return self._changed.wait_for(
                lambda: not self._is_open or not (self._queue or self._dropped_untold),
                max(0.0, deadline - time.monotonic()),
            )

    def _put(self, fact: dict[str, Any]) -> None:
        with self._changed:
            if not self._is_open or self._closing:
                return
            if len(self._queue) >= self._capacity:
                self._drop_one()
            self._queue.append(fact)
            self._changed.notify()

    def _drop_one(self) -> None:
        oldest_step = next((i for i, fact in enumerate(self._queue) if fact['kind'] == 'step'), 0)
        del self._queue[oldest_step]
        self._dropped += 1
        self._dropped_untold += 1

    def _write_all(self) -> None:
        connection = self._connect() if self._connect is not None else None
        if connection is not None:
            self._connection = connection
            self._listen(connection)
            while (line := self._next_line()) is not None:
                try:
                    connection.sendall(line)
                except OSError:
                    break
            self._connection = None
            _hang_up(connection)
        with self._changed:
            self._is_open = False
            self._queue.clear()
            self._dropped_untold = 0
            self._changed.notify_all()

    def _listen(self, connection: socket.socket) -> None:
        """Facts come first: a program that is about to end, or may have no more threads, is merely never asked."""
        try:
            threading.Thread(target=self._answer_all, args=(connection,), name='coxswain-asked', daemon=True).start()
        except RuntimeError:
            pass

    def _answer_all(self, connection: socket.socket) -> None:
        """Until the launcher has no more to ask. What is asked in words that nobody knows here is left alone."""
        unread = b''
        while True:
            try:
                read = connection.recv(MAX_ANSWER_BYTES)
            except OSError:
                return
            *lines, unread = (unread + read).split(b'\n')
            for line in lines:
                self._answer(line)
            if not read or len(unread) > MAX_REQUEST_BYTES:
                return

    def _answer(self, line: bytes) -> None:
        try:
            asked = json.loads(line)
            if asked.get('kind') == 'stacksWanted':
                self._put({'kind': 'stacks', 'request': asked['request'], 'threads': stacks.take()})
            elif asked.get('kind') == 'saveWanted':
                self._save_asked = max(self._save_asked, int(asked['request']))
        except Exception:
            pass  # Whatever a program has made of its path or its threads: it is asked again, and nothing of ours ends in it.

    def _forget_in_child(self) -> None:
        """In a process that was forked the parent speaks on, and who held the lock then is not here to give it back."""
        self._changed = threading.Condition()
        self._queue = deque()
        self._dropped_untold = 0
        self._is_open = False
        self._thread = None
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()  # this process's hold on it alone

    def _next_line(self) -> bytes | None:
        """The next line to write; None when closing and nothing is left. Empty queues are told to whoever waits."""
        with self._changed:
            while not self._queue and not self._dropped_untold:
                if self._closing:
                    return None
                self._changed.notify_all()
                self._changed.wait()
            if self._dropped_untold:
                fact: dict[str, Any] = {'kind': 'reportsDropped', 'count': self._dropped_untold}
                self._dropped_untold = 0
            else:
                fact = self._queue.popleft()
        return _line(fact)


_REPORTERS: weakref.WeakSet[Reporter] = weakref.WeakSet()


def _forget_in_child() -> None:
    for reporter in list(_REPORTERS):
        reporter._forget_in_child()


os.register_at_fork(after_in_child=_forget_in_child)


def launcher_socket(environment: Mapping[str, str], *, hook: str, saves_when_asked: bool = False) -> Connect | None:
    """How this process reaches its launcher as its rank, or None where it has none. `hook`: who speaks, 'engine' or 'sitecustomize'."""
    path, boot_id = environment.get(REPORT_SOCKET_VARIABLE), environment.get(BOOT_ID_VARIABLE)
    rank = environment.get('RANK', '')
    if not path or not boot_id or not rank.isdigit():
        return None
    hello = {
        'kind': 'hello',
        'version': 1,
        'pid': os.getpid(),
        'bootId': boot_id,
        'rank': int(rank),
        'hook': hook,
        'python': platform.python_version(),
        'reads': ['stacks', 'saves'] if saves_when_asked else ['stacks'],
    }
    return lambda: _say_hello(path, hello)


def _say_hello(path: str, hello: dict[str, Any]) -> socket.socket | None:
    """A connection that the launcher has welcomed: it looks at the process, so whoever exits before would not be believed."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(HELLO_TIMEOUT_SECONDS)
        connection.connect(path)
        connection.sendall(_line(hello))
        # Unbuffered: what the launcher asks after it must not be read with it.
        with connection.makefile('rb', buffering=0) as answers:
            answer = json.loads(answers.readline(MAX_ANSWER_BYTES))
        if answer.get('kind') == 'welcome':
            connection.settimeout(None)
            return connection
    except (OSError, ValueError, AttributeError):
        pass
    connection.close()
    return None


def _hang_up(connection: socket.socket) -> None:
    """The thread that waits for questions would keep it open."""
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # The launcher has gone.
    connection.close()


def _line(fact: Mapping[str, Any]) -> bytes:
    return (json.dumps(fact, separators=(',', ':'), allow_nan=False) + '\n').encode()


def _finite(value: float | None) -> float | None:
    """JSON knows neither NaN nor infinity; they are told as null, and by their word beside it."""
    return value if value is not None and math.isfinite(value) else None


def _not_finite(value: float | None) -> str | None:
    """The word of JavaScript for a figure that is not finite."""
    if value is None or math.isfinite(value):
        return None
    if math.isnan(value):
        return 'NaN'
    return 'Infinity' if value > 0 else '-Infinity'
