"""Saves the state of each rank in the memory of its pod, from which ranks of the same layout restart in the same pods.

A rank writes its own state alone, as it is: one file `rank-R/I-S` for step S of incarnation I. The file gets that name
once it is whole, so a rank that is killed while it writes leaves the file before as it was. Each rank keeps two. Every
rank has completed the save before when any rank begins the next one, because the steps between them are made together.
So all ranks have at least one save in common.

A save in memory is never worth a failure: what goes wrong is said once, and training goes on. What is read is believed
only if its length, its layout and its CRC-32 are right on every rank; else all ranks begin from the checkpoint.
"""

from __future__ import annotations

import json
import mmap
import os
import re
import shutil
import sys
import zlib
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from coxswain_reference.optimizer import ShardedAdamW
from coxswain_reference.progress import Progress
from coxswain_reference.settings import MemorySettings, Settings

HEADER_BYTES = 4096
KEPT = 2
PARTIAL = 'partial'
NAME = re.compile(r'([0-9]+)-([0-9]+)')


class Unusable(Exception):
    """A save that this rank cannot begin from, with a sentence that says why."""


class MemorySaves:
    """The saves in memory of one rank. Every rank calls the same methods in the same order."""

    def __init__(self, settings: Settings, memory: MemorySettings) -> None:
        self._settings = settings
        self._memory = memory
        self._folder = memory.directory / f'rank-{settings.process.rank}'
        self._has_complained = False

    def is_due(self, step: int) -> bool:
        return step % self._memory.every == 0

    def save(self, optimizer: ShardedAdamW, progress: Progress) -> None:
        """Writes the state; the ranks train on when it is written. Complains once if it cannot be, and raises nothing."""
        try:
            self._save(optimizer, progress)
        except (OSError, Unusable, BufferError) as error:
            if not self._has_complained:
                _say(f'Step {progress.step} cannot be saved in memory, and training goes on: {error}')
            self._has_complained = True

    def restore(self, optimizer: ShardedAdamW, group: dist.ProcessGroup) -> Progress | None:
        """Fills the optimizer's state from the save that all ranks were given. None: they begin from the checkpoint."""
        rank, incarnation, name = self._settings.process.rank, self._settings.process.incarnation, self._memory.resume
        if incarnation == 1:
            return None
        found, problem = None, None
        try:
            found = None if name is None else self._read(name, optimizer)
        except (OSError, Unusable, ValueError, KeyError, TypeError) as error:
            problem = f'rank {rank} cannot begin from save {name} in memory: {error}'
        everyones: list[tuple[str | None, str | None]] = [(None, None)] * dist.get_world_size(group)
        dist.all_gather_object(everyones, (name, problem), group=group)
        problems = [problem for _, problem in everyones if problem is not None]
        if found is not None and not problems and len({given for given, _ in everyones}) == 1:
            progress, memory = found
            with memory:
                _copy(memory, optimizer, into=False)
            return progress
        # Steps that are made anew have other values.
        shutil.rmtree(self._folder, ignore_errors=True)
        if problem is not None or (problems and rank == 0):
            _say(f'All ranks begin from the checkpoint: {problem or problems[0]}')
        return None

    def _save(self, optimizer: ShardedAdamW, progress: Progress) -> None:
        states = optimizer.states
        size = HEADER_BYTES + sum(state.nbytes for state in states.values())
        if size > self._memory.most_bytes:
            raise Unusable(
                f'it takes {size} bytes on rank {self._settings.process.rank}, and checkpoint.memory.sizePerGpu allows '
                f'{self._memory.most_bytes}; raise it.'
            )
        self._folder.mkdir(parents=True, exist_ok=True)
        for outdated in self._complete()[: -(KEPT - 1)]:
            outdated.unlink()
        partial = self._folder / PARTIAL
        try:
            self._write(partial, size, optimizer, progress)
        except OSError:
            partial.unlink(missing_ok=True)
            raise
        partial.replace(self._folder / f'{self._settings.process.incarnation}-{progress.step}')

    def _write(self, path: Path, size: int, optimizer: ShardedAdamW, progress: Progress) -> None:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            # To write into a mapping for which there is no memory would end the process.
            os.posix_fallocate(descriptor, 0, size)
            with mmap.mmap(descriptor, size) as memory:
                _copy(memory, optimizer, into=True)
                about = self._about(optimizer, progress)
                header = json.dumps({'about': about, 'crc32': _digest(about, memory)}).encode()
                memory[:HEADER_BYTES] = header.ljust(HEADER_BYTES)
        finally:
            os.close(descriptor)

    def _read(self, name: str, optimizer: ShardedAdamW) -> tuple[Progress, mmap.mmap]:
        """How far that save is, and its content, which is what was saved."""
        with (self._folder / name).open('rb') as file:
            size = os.fstat(file.fileno()).st_size
            expected = HEADER_BYTES + sum(state.nbytes for state in optimizer.states.values())
            if size != expected:
                raise Unusable(f'it has {size} bytes, and {expected} are expected.')
            memory = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY)
        header = json.loads(memory[:HEADER_BYTES])
        about = header['about']
        progress = Progress(**about['progress'])
        if about != self._about(optimizer, progress):
            raise Unusable('another model, layout or rank saved it.')
        if name.rpartition('-')[2] != str(progress.step):
            raise Unusable(f'it is that of step {progress.step}.')
        if header['crc32'] != _digest(about, memory):
            raise Unusable('its content is not what was saved.')
        return progress, memory

    def _about(self, optimizer: ShardedAdamW, progress: Progress) -> dict[str, Any]:
        layout = self._settings.layout
        return {
            'version': 1,
            'rank': self._settings.process.rank,
            'layout': [layout.tensor_parallel_degree, layout.pipeline_parallel_degree, layout.data_parallel_degree],
            'model': vars(self._settings.model),
            'states': {name: state.numel() for name, state in optimizer.states.items()},
            'progress': vars(progress),
        }

    def _complete(self) -> list[Path]:
        """Oldest first."""
        named = [(NAME.fullmatch(path.name), path) for path in self._folder.iterdir()]
        return [path for _, path in sorted((tuple(map(int, found.groups())), path) for found, path in named if found)]


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def _copy(memory: mmap.mmap, optimizer: ShardedAdamW, *, into: bool) -> None:
    at = HEADER_BYTES
    for state in optimizer.states.values():
        # The view is gone when this returns: a mapping with views cannot be closed.
        saved = torch.frombuffer(memory, dtype=state.dtype, count=state.numel(), offset=at)
        if into:
            saved.copy_(state.detach())
        else:
            state.copy_(saved)
        at += state.nbytes
        del saved


def _digest(about: dict[str, Any], memory: mmap.mmap) -> int:
    with memoryview(memory) as whole, whole[HEADER_BYTES:] as states:
        return zlib.crc32(states, zlib.crc32(json.dumps(about, sort_keys=True).encode()))
