"""What makes a directory a checkpoint: a manifest, written last, that names every file with its size and SHA-256.

A directory without one is a save that never ended. Standard library only: whoever wants to know whether a checkpoint is
whole needs no PyTorch.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coxswain_reference.errors import CheckpointRefused, CheckpointUnreadable
from coxswain_reference.settings import ModelSpec, Settings

MANIFEST = 'manifest.json'
FORMAT_VERSION = 1
ENGINE = 'reference'
FORMAT = 'torch_dcp'
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class FileEntry:
    """A file of the checkpoint; `path` is relative to the checkpoint's directory."""

    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """A manifest as read from disk, with the fields that a resuming run needs."""

    step: int
    tokens_seen: int
    model: dict[str, Any]
    training: dict[str, Any]
    layout: dict[str, Any]
    files: tuple[FileEntry, ...]


def step_directory(step: int) -> str:
    """The checkpoint's directory under the save directory."""
    return f'step-{step:08d}'


def describe_file(directory: Path, name: str) -> FileEntry:
    """Size and SHA-256 of a file as it is on disk."""
    digest = hashlib.sha256()
    size = 0
    with (directory / name).open('rb') as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
            size += len(chunk)
    return FileEntry(name, size, digest.hexdigest())


def write_manifest(
    directory: Path, settings: Settings, *, step: int, tokens_seen: int, files: Sequence[FileEntry]
) -> str:
    """Makes `directory` a checkpoint, durably and at once, and gives the SHA-256 of the manifest.

    All files must be durable already.
    """
    layout, training = settings.layout, settings.training
    content = {
        'formatVersion': FORMAT_VERSION,
        'engine': ENGINE,
        'format': FORMAT,
        'step': step,
        'tokensSeen': tokens_seen,
        'layout': {
            'tensorParallelDegree': layout.tensor_parallel_degree,
            'pipelineParallelDegree': layout.pipeline_parallel_degree,
            'dataParallelDegree': layout.data_parallel_degree,
        },
        'model': model_fields(settings.model),
        'training': {
            'globalBatchSize': training.global_batch_size,
            'microBatchSize': training.micro_batch_size,
            'steps': training.steps,
            'learningRate': training.learning_rate,
            'minLearningRate': training.min_learning_rate,
            'warmupSteps': training.warmup_steps,
            'weightDecay': training.weight_decay,
            'seed': training.seed,
            'precision': training.precision,
        },
        'files': [vars(entry) for entry in sorted(files, key=lambda entry: entry.path)],
    }
    data = (json.dumps(content, indent=2) + '\n').encode()
    _write_durably(directory / MANIFEST, data)
    return hashlib.sha256(data).hexdigest()


def model_fields(model: ModelSpec) -> dict[str, int]:
    """The shape as the manifest tells it."""
    return {
        'layers': model.layers,
        'hiddenSize': model.hidden_size,
        'attentionHeads': model.attention_heads,
        'sequenceLength': model.sequence_length,
        'vocabularySize': model.vocabulary_size,
    }


def read_manifest(directory: Path) -> Manifest:
    """The manifest of a checkpoint, or CheckpointUnreadable where none can be read, CheckpointRefused where it is not one of this engine's."""
    try:
        content = json.loads((directory / MANIFEST).read_bytes())
    except FileNotFoundError as error:
        fault = unreadable(directory / MANIFEST, error).fault
        raise CheckpointUnreadable(f'{directory} holds no {MANIFEST}: it is no complete checkpoint.', fault) from None
    except OSError as error:
        raise unreadable(directory / MANIFEST, error) from error
    except ValueError as error:
        raise CheckpointRefused(f'{directory / MANIFEST} cannot be read: {error}.') from error
    try:
        _check_kind(directory, content)
        return Manifest(
            step=int(content['step']),
            tokens_seen=int(content['tokensSeen']),
            model=dict(content['model']),
            training=dict(content['training']),
            layout=dict(content['layout']),
            files=tuple(_file_entry(directory, entry) for entry in content['files']),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointRefused(f'{directory / MANIFEST} is malformed: {type(error).__name__} {error}.') from error


def check_model(manifest: Manifest, model: ModelSpec) -> None:
    """Refuses a checkpoint of another model; the message names the first field that differs, with both values."""
    for field, value in model_fields(model).items():
        saved = manifest.model.get(field)
        if saved != value:
            raise CheckpointRefused(
                f'The checkpoint was saved with {field} {saved}, this run has {field} {value}; they must be equal.'
            )


def check_sizes(directory: Path, manifest: Manifest) -> None:
    """Refuses a checkpoint with a missing, shortened or lengthened file. Reads no contents."""
    if not any(entry.path == '.metadata' for entry in manifest.files):
        raise CheckpointRefused(f'{directory / MANIFEST} does not list .metadata: it describes no checkpoint.')
    for entry in manifest.files:
        try:
            size = (directory / entry.path).stat().st_size
        except OSError as error:
            raise unreadable(directory / entry.path, error) from error
        if size != entry.bytes:
            raise CheckpointRefused(
                f'{directory / entry.path} has {size} bytes; the manifest says {entry.bytes}.',
                _differs(directory / entry.path, expected=f'{entry.bytes} bytes', found=f'{size} bytes'),
            )


def check_contents(directory: Path, entries: Sequence[FileEntry]) -> None:
    """Refuses files whose SHA-256 is not the manifest's."""
    for entry in entries:
        try:
            found = describe_file(directory, entry.path).sha256
        except OSError as error:
            raise unreadable(directory / entry.path, error) from error
        if found != entry.sha256:
            raise CheckpointRefused(
                f"{directory / entry.path} is damaged: its SHA-256 is not the manifest's.",
                _differs(directory / entry.path, expected=f'SHA-256 {entry.sha256}', found=f'SHA-256 {found}'),
            )


def unreadable(path: Path, error: OSError) -> CheckpointUnreadable:
    """What the system answered: the trouble of this node until another one has it too."""
    name = errno.errorcode.get(error.errno or 0, 'EIO')
    fault = {'fault': 'FileUnreadable', 'path': str(path), 'errno': name}
    return CheckpointUnreadable(f'{path} cannot be read: {error.strerror}.', fault)


def _differs(path: Path, *, expected: str, found: str) -> dict[str, str]:
    return {'fault': 'ContentDiffers', 'path': str(path), 'expected': expected, 'found': found}


def sync_directory(path: Path) -> None:
    """Makes the names in a directory durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _check_kind(directory: Path, content: dict[str, Any]) -> None:
    wanted = {'formatVersion': FORMAT_VERSION, 'engine': ENGINE, 'format': FORMAT}
    for field, want in wanted.items():
        if content[field] != want:
            raise CheckpointRefused(
                f'{directory / MANIFEST} has {field} {content[field]!r}; this engine reads {want!r}.'
            )


def _file_entry(directory: Path, entry: dict[str, Any]) -> FileEntry:
    path = str(entry['path'])
    if path.startswith('/') or '..' in Path(path).parts:
        raise CheckpointRefused(f'{directory / MANIFEST} names {path!r}, which lies outside the checkpoint.')
    return FileEntry(path, int(entry['bytes']), str(entry['sha256']))


def _write_durably(path: Path, data: bytes) -> None:
    temporary = path.with_name(f'.{path.name}.tmp')
    with temporary.open('wb') as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)
    sync_directory(path.parent)
    sync_directory(path.parent.parent)
