"""Server-sent events (WHATWG HTML, section 9.2), and the changes of a job that they hold."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Change:
    """A change of a job.

    kind: "job" (data: types.Job), "event" (types.JobEvent), "step" (types.StepPoint), or "resync": steps were left out.
    last_event_id: pass it to go on after this change.
    """

    kind: str
    data: Any
    last_event_id: str | None


class EventReader:
    """Puts lines of a stream together to changes."""

    def __init__(self, last_event_id: str | None = None) -> None:
        self.last_event_id = last_event_id
        self._event = "message"
        self._data: list[str] = []

    def line(self, line: str) -> Change | None:
        """The change that this line completes."""
        if line == "":
            return self._complete()
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._event = value
        elif field == "id":
            self.last_event_id = value
        return None

    def _complete(self) -> Change | None:
        event, data = self._event, self._data
        self._event, self._data = "message", []
        if not data:
            return None
        text = "\n".join(data)
        return Change(event, json.loads(text) if text else None, self.last_event_id)
