"""How a rank of this engine ends: its exit codes, and the errors that carry them."""

from __future__ import annotations

EXIT_FINISHED = 0
EXIT_TRACEBACK = 1
EXIT_ADDRESS_TAKEN = 71
EXIT_CHECKPOINT_REFUSED = 72
EXIT_CHECKPOINT_IO = 74
EXIT_STOPPED = 75
EXIT_WRONG_REQUEST = 93
EXIT_TERMINATED = 143
"""128 + SIGTERM: ended at once by a second SIGTERM, nothing saved."""


class EngineError(Exception):
    """An end with a reason that one sentence explains; it is printed without a traceback."""

    exit_code = EXIT_TRACEBACK


class WrongRequest(EngineError):
    """The settings cannot work however often they are tried. The sentence names field, value and rule."""

    exit_code = EXIT_WRONG_REQUEST


class AddressTaken(EngineError):
    """Another process listens on MASTER_PORT; a new port would help."""

    exit_code = EXIT_ADDRESS_TAKEN


class NoDevice(EngineError):
    """This rank has no GPU of its own where others have. Elsewhere, or once the GPU is back, the same request works."""


class CheckpointRefused(EngineError):
    """The checkpoint to resume from is incomplete, damaged or of another model.

    `fault` is the evidence, where content differs: without it nobody condemns the checkpoint.
    """

    exit_code = EXIT_CHECKPOINT_REFUSED

    def __init__(self, message: str, fault: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.fault = fault


class CheckpointUnreadable(CheckpointRefused):
    """The checkpoint to resume from cannot be read from here, which says nothing of its content."""

    exit_code = EXIT_CHECKPOINT_IO
