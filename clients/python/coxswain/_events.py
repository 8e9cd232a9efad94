"""Server-sent events (WHATWG HTML, section 9.2), and the changes of a job that they contain."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ._lines import LineReader


@dataclass(frozen=True)
class Change:
    """A change of a job.

    kind: "job" (data: types.Job), "event" (types.JobEvent), "step" (types.StepPoint), or "resync": steps were left out.
    last_event_id: pass it to `changes()` to continue after this change.
    """

    kind: str
    data: Any
    last_event_id: str | None


class EventReader:
    """Reads changes from the bytes of a stream, over several connections."""

    def __init__(self, last_event_id: str | None = None) -> None:
        #: Id of the last complete event.
        self.last_event_id = last_event_id
        #: Whether the stream has sent everything that was missed before it was opened: it then sends an id without an event.
        self.is_caught_up = False
        self.reconnect()

    def reconnect(self) -> None:
        """Drops the incomplete event of a broken connection. The next connection sends it again."""
        self.is_caught_up = False
        self._lines = LineReader()
        self._id: str | None = None
        self._event = "message"
        self._data: list[str] = []

    def read(self, chunk: bytes) -> list[Change]:
        """The changes that this chunk completes."""
        changes = [self._read_line(line.rstrip("\r\n")) for line in self._lines.read(chunk)]
        return [change for change in changes if change is not None]

    def _read_line(self, line: str) -> Change | None:
        if line == "":
            return self._complete()
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._event = value
        elif field == "id":
            self._id = value
        return None

    def _complete(self) -> Change | None:
        event, data, id_ = self._event, self._data, self._id
        self._event, self._data, self._id = "message", [], None
        if id_ is not None:
            self.last_event_id = id_
        if not data:
            self.is_caught_up = self.is_caught_up or id_ is not None
            return None
        text = "\n".join(data)
        return Change(event, json.loads(text) if text else None, self.last_event_id)
