"""Programs with the hook beside them, started as the launcher would, and what it told of them."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
CARRIED = ROOT / 'apps/launcher/src/hook/hook-files.generated.json'
DEADLINE_SECONDS = 600

Fact = dict[str, Any]


def lay_out_hook(folder: Path) -> Path:
    """The files that the launcher carries, as it writes them into a pod."""
    for name, text in json.loads(CARRIED.read_text())['files'].items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


class Told:
    """Listens as a launcher would: one connection of each rank and hook at a time is welcome. `facts` has what each said, hello first."""

    def __init__(self, folder: Path, asks_after: Callable[[Fact], bool] = lambda _: False) -> None:
        """`asks_after`: shown each fact of a hook, and says after which its stacks are wanted, once."""
        self._asks_after = asks_after
        self.path = folder / 'facts'
        self.connections: list[list[Fact]] = []
        self._speaking: set[tuple[int, str]] = set()
        self._threads: list[threading.Thread] = []
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(self.path))
        self._listening.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def of_rank(self, rank: int, kind: str) -> list[Fact]:
        lines = [line for lines in self.connections if lines[0]['rank'] == rank for line in lines]
        return [line for line in lines if line['kind'] == kind]

    def hellos(self) -> list[int]:
        return sorted(lines[0]['rank'] for lines in self.connections)

    def finish(self) -> Told:
        self._listening.close()
        for thread in self._threads:
            thread.join(10)
        return self

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile('rw') as file:
            first = file.readline()
            if not first:
                return
            hello = json.loads(first)
            lines = [hello]
            self.connections.append(lines)
            who = (hello['rank'], hello['hook'])
            is_first = who not in self._speaking
            self._speaking.add(who)
            file.write(json.dumps({'kind': 'welcome' if is_first else 'refused'}) + '\n')
            file.flush()
            if not is_first:
                return
            is_asked = False
            for line in file:
                lines.append(json.loads(line))
                if self._asks_after(lines[-1]) and not is_asked:
                    is_asked = True
                    file.write('{"kind":"newer"}\nno JSON\n{"kind":"stacksWanted","request":7}\n')
                    file.flush()
            self._speaking.discard(who)


def run_hooked(
    folder: Path,
    program: str,
    *,
    ranks: int = 1,
    arguments: tuple[str, ...] = (),
    environment: dict[str, str] | None = None,
    path: tuple[Path, ...] = (),
    python: str = sys.executable,
    asks_after: Callable[[Fact], bool] = lambda _: False,
) -> tuple[Told, list[subprocess.CompletedProcess[str]]]:
    """Runs `program` once a rank, and gives what was told and how each ended. `path`: further folders on PYTHONPATH."""
    hook = lay_out_hook(folder / 'hook')
    script = folder / 'program.py'
    script.write_text(program)
    told = Told(folder, asks_after)
    # Bound until the end and not listened on: the kernel gives it to nobody, and ranks that say the same may take it.
    kept = socket.socket()
    kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    kept.bind(('127.0.0.1', 0))
    port = kept.getsockname()[1]
    processes = [
        subprocess.Popen(
            [python, *arguments, str(script)],
            env={
                'PATH': os.environ['PATH'],
                'OMP_NUM_THREADS': '1',
                'PYTHONDONTWRITEBYTECODE': '1',
                'PYTHONPATH': os.pathsep.join(str(one) for one in (hook, *path)),
                'RANK': str(rank),
                'LOCAL_RANK': str(rank),
                'WORLD_SIZE': str(ranks),
                'MASTER_ADDR': '127.0.0.1',
                'MASTER_PORT': str(port),
                'COXSWAIN_REPORT_SOCKET': str(told.path),
                'COXSWAIN_BOOT_ID': 'a-boot',
                **(environment or {}),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(ranks)
    ]
    ended = []
    for process in processes:
        try:
            out, err = process.communicate(timeout=DEADLINE_SECONDS)
        finally:
            process.kill()
        ended.append(subprocess.CompletedProcess(process.args, process.returncode, out, err))
    kept.close()
    return told.finish(), ended
