"""Lines of a text that comes in pieces."""

from __future__ import annotations


class LineReader:
    """Splits bytes at line feeds. Every other character stays in its line, such as the carriage returns of a progress bar."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []

    def read(self, chunk: bytes) -> list[str]:
        """The lines that this chunk completes, with their line ends. Bytes that are not UTF-8 become U+FFFD."""
        *lines, rest = chunk.split(b"\n")
        if lines:
            lines[0] = b"".join([*self._rest, lines[0]])
            self._rest = []
        if rest:
            self._rest.append(rest)
        return [_text(line + b"\n") for line in lines]

    def end(self) -> list[str]:
        """The last line, if it has no line end."""
        rest, self._rest = b"".join(self._rest), []
        return [_text(rest)] if rest else []


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace")
