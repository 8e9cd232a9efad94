"""Runs a gang of ranks on this machine, as the launcher would, and gives what each rank reported and how it ended."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ENGINES = Path(__file__).resolve().parents[2]
DEADLINE_SECONDS = 900.0

Degrees = tuple[int, int, int]
"""Tensor, pipeline and data parallel degree."""

MODEL_FLAGS = {
    'layers': 4,
    'hidden-size': 48,
    'attention-heads': 6,
    'sequence-length': 32,
    'global-batch-size': 12,
    'micro-batch-size': 2,
    'warmup-steps': 3,
    'steps': 20,
    'learning-rate': 0.003,
    'seed': 7,
}


@dataclass
class Rank:
    """One process of a gang; `facts` grows while it runs."""

    process: subprocess.Popen[bytes]
    facts: list[dict[str, Any]] = field(default_factory=list)
    connection: socket.socket | None = None

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        return [fact for fact in self.facts if fact['kind'] == kind]


class Gang:
    """Ranks started together. Use as a context manager: no rank outlives the block."""

    def __init__(
        self,
        folder: Path,
        degrees: Degrees,
        *,
        environment: dict[str, str] | None = None,
        module: tuple[str, ...] = ('-m', 'coxswain_reference.train'),
        port: int | None = None,
        **flags: Any,
    ) -> None:
        self.save_dir = folder / 'save'
        self._folder = folder
        self._changed = threading.Condition()
        self._readers: list[threading.Thread] = []
        folder.mkdir(parents=True, exist_ok=True)
        (folder / 'text').write_bytes(text())
        tensor, pipeline, data = degrees
        world_size, port = tensor * pipeline * data, port or free_port()
        arguments = [*module, *flag_arguments(folder, self.save_dir, degrees, flags)]
        self.ranks = [
            self._start(arguments, environment or {}, {'RANK': rank, 'WORLD_SIZE': world_size, 'MASTER_PORT': port})
            for rank in range(world_size)
        ]

    def __enter__(self) -> Gang:
        return self

    def __exit__(self, *_: object) -> None:
        for rank in self.ranks:
            rank.process.kill()
            rank.process.wait()
        for reader in self._readers:
            reader.join()

    def wait(self) -> list[int]:
        """The exit codes of all ranks, by rank."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        codes = [rank.process.wait(max(0.1, deadline - time.monotonic())) for rank in self.ranks]
        for reader in self._readers:
            reader.join()
        return codes

    def wait_until(self, holds: Callable[[], bool]) -> None:
        """Returns once `holds`, which is asked again whenever a rank reports something."""
        with self._changed:
            assert self._changed.wait_for(holds, DEADLINE_SECONDS), self.log(0)

    def terminate(self, rank: int) -> None:
        self.ranks[rank].process.send_signal(signal.SIGTERM)

    def ask_to_save(self, rank: int, request: int) -> None:
        """As the launcher asks; the rank has reported something."""
        connection = self.ranks[rank].connection
        assert connection is not None
        connection.sendall(json.dumps({'kind': 'saveWanted', 'request': request}).encode() + b'\n')

    def log(self, rank: int) -> str:
        """What a rank wrote to stdout and stderr."""
        return (self._folder / f'log-{rank}').read_text()

    def losses(self) -> dict[int, float]:
        """Loss by step, as rank 0 reported it."""
        return {fact['step']: fact['loss'] for fact in self.ranks[0].of_kind('step')}

    def _start(self, arguments: list[str], environment: dict[str, str], variables: dict[str, int]) -> Rank:
        listening = socket.socket(socket.AF_UNIX)
        # Below a short path: that of a socket has at most 107 bytes.
        path = f'{tempfile.mkdtemp(prefix="rank-", dir="/tmp")}/facts'  # noqa: S108
        listening.bind(path)
        listening.listen()
        with (self._folder / f'log-{variables["RANK"]}').open('wb') as log:
            process = subprocess.Popen(
                [sys.executable, *arguments],
                env=rank_environment(variables, path) | environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        rank = Rank(process)
        reader = threading.Thread(target=self._read, args=(listening, rank), daemon=True)
        reader.start()
        self._readers.append(reader)
        return rank

    def _read(self, listening: socket.socket, rank: Rank) -> None:
        """The facts of a rank's connection; it may also end without ever opening one."""
        with listening:
            listening.settimeout(0.2)
            connection = None
            while connection is None:
                has_ended = rank.process.poll() is not None
                try:
                    connection, _ = listening.accept()
                except TimeoutError:
                    if has_ended:
                        return
        with connection, connection.makefile('rw') as lines:
            lines.readline()
            lines.write('{"kind":"welcome"}\n')
            lines.flush()
            rank.connection = connection
            for line in lines:
                with self._changed:
                    rank.facts.append(json.loads(line))
                    self._changed.notify_all()


def run_gang(folder: Path, degrees: Degrees, **options: Any) -> Gang:
    """A gang that ran to its end with every rank's exit code 0."""
    with Gang(folder, degrees, **options) as gang:
        codes = gang.wait()
        assert set(codes) == {0}, (codes, gang.log(0), gang.log(len(codes) - 1))
        return gang


def flag_arguments(folder: Path, save_dir: Path, degrees: Degrees, flags: dict[str, Any]) -> list[str]:
    names = ('tensor-parallel', 'pipeline-parallel', 'data-parallel')
    given = {name.replace('_', '-'): value for name, value in flags.items()}
    merged = (
        MODEL_FLAGS | dict(zip(names, degrees, strict=True)) | {'data': folder / 'text', 'save-dir': save_dir} | given
    )
    return [part for name, value in merged.items() for part in (f'--{name}', str(value))]


def rank_environment(variables: dict[str, int], report_socket: str) -> dict[str, str]:
    """What the launcher gives a rank."""
    rank = {name: str(value) for name, value in variables.items()}
    return (
        os.environ
        | rank
        | {
            'LOCAL_RANK': rank['RANK'],
            'LOCAL_WORLD_SIZE': rank['WORLD_SIZE'],
            'GROUP_RANK': '0',
            'MASTER_ADDR': '127.0.0.1',
            'OMP_NUM_THREADS': '1',
            'COXSWAIN_REPORT_SOCKET': report_socket,
            'COXSWAIN_BOOT_ID': 'a-boot',
            'PYTHONPATH': os.pathsep.join([str(ENGINES / 'reference'), str(ENGINES / 'agent')]),
        }
    )


def text() -> bytes:
    """A text with something to learn in it."""
    return b''.join(b'the %d boat and the %d oar pull one way. ' % (n % 7, n * n % 11) for n in range(600))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]
