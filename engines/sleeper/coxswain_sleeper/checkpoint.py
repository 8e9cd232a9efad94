"""Checkpoints of an engine that has nothing to save: small real files, and a manifest that completes them."""

from __future__ import annotations

import hashlib
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

from coxswain_sleeper.endings import CheckpointRefused, CheckpointUnreadable

MANIFEST = 'manifest.json'
FORMAT = 'sleeper'


@dataclass(frozen=True)
class Saved:
    directory: str
    size_bytes: int
    files: int
    manifest_sha256: str


def save(save_directory: Path, *, step: int, tokens_seen: int, world_size: int, payload_bytes: int, save_ms: float) -> Saved:
    """Writes the files, pausing for `save_ms` over all of them, and then the manifest by rename."""
    directory = save_directory / f'step-{step:08d}'
    directory.mkdir(parents=True, exist_ok=True)
    entries = []
    for rank in range(world_size):
        data = hashlib.sha256(f'{step}:{rank}'.encode()).digest() * (payload_bytes // 32 + 1)
        data = data[:payload_bytes]
        name = f'rank-{rank:05d}.bin'
        _write_durably(directory / name, data)
        entries.append({'path': name, 'bytes': len(data), 'sha256': hashlib.sha256(data).hexdigest()})
        time.sleep(save_ms / 1000 / world_size)
    manifest = {
        'formatVersion': 1,
        'engine': FORMAT,
        'format': FORMAT,
        'step': step,
        'tokensSeen': tokens_seen,
        'layout': {'tensorParallelDegree': 1, 'pipelineParallelDegree': 1, 'dataParallelDegree': world_size},
        'model': {'layers': 0, 'hiddenSize': 0, 'attentionHeads': 0, 'sequenceLength': 0},
        'training': {},
        'files': entries,
    }
    content = (json.dumps(manifest, indent=2) + '\n').encode()
    _write_durably(directory / MANIFEST, content)
    _sync_directory(save_directory)
    size = sum(entry['bytes'] for entry in entries)
    return Saved(directory.name, size, len(entries), hashlib.sha256(content).hexdigest())


def resume(directory: Path) -> tuple[int, int]:
    """Step and tokens of a checkpoint whose every file is as its manifest says."""
    try:
        manifest = json.loads((directory / MANIFEST).read_bytes())
        if manifest['format'] != FORMAT:
            raise CheckpointRefused(f'{directory} has format {manifest["format"]!r}; this engine reads {FORMAT!r}.')
        for entry in manifest['files']:
            data = (directory / entry['path']).read_bytes()
            found = hashlib.sha256(data).hexdigest()
            if found != entry['sha256']:
                fault = {'fault': 'ContentDiffers', 'path': str(directory / entry['path'])}
                fault.update(expected=f'SHA-256 {entry["sha256"]}', found=f'SHA-256 {found}')
                raise CheckpointRefused(f'{directory / entry["path"]} is damaged.', fault)
        return int(manifest['step']), int(manifest['tokensSeen'])
    except OSError as error:
        raise CheckpointUnreadable(f'{directory} cannot be read: {type(error).__name__} {error}.') from error
    except (ValueError, KeyError, TypeError) as error:
        raise CheckpointRefused(f'{directory} cannot be read: {type(error).__name__} {error}.') from error


def _write_durably(path: Path, data: bytes) -> None:
    temporary = path.with_name(f'.{path.name}.tmp')
    with temporary.open('wb') as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)
    _sync_directory(path.parent)


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
