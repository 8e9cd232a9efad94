"""How a rank ends: its exit codes, and the errors that carry them."""

from __future__ import annotations

EXIT_FINISHED = 0
EXIT_FAILED = 1
EXIT_PORT_TAKEN = 71
EXIT_CHECKPOINT_REFUSED = 72
EXIT_CHECKPOINT_IO = 74
EXIT_STOPPED = 75
EXIT_WRONG_REQUEST = 93
EXIT_TERMINATED = 143


class Ending(Exception):
    """An end with a reason that one sentence explains."""

    exit_code = EXIT_FAILED


class PortTaken(Ending):
    exit_code = EXIT_PORT_TAKEN


class CheckpointRefused(Ending):
    """`fault` is the evidence, where content differs."""

    exit_code = EXIT_CHECKPOINT_REFUSED

    def __init__(self, message: str, fault: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.fault = fault


class CheckpointUnreadable(Ending):
    exit_code = EXIT_CHECKPOINT_IO


class WrongRequest(Ending):
    exit_code = EXIT_WRONG_REQUEST
