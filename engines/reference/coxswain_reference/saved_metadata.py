"""Reads a checkpoint's `.metadata`, which is a pickle, without letting the pickle run anything.

A pickle names functions and classes that its reader then calls, so whoever wrote the file would choose what runs here. This
reader hands out the few names that PyTorch's metadata needs, and no others.

One name has to be answered by something safer than itself. Early releases of Python 3.11, such as the 3.11.2 of Debian 12,
write the member of an enum as `getattr(the enum, 'MEMBER')`, later ones as `the enum(value)`. The real `getattr` would open
everything that any object leads to; here the name stands for a look-up of a member in one enum.
"""

from __future__ import annotations

import pickle
from pathlib import Path, PosixPath
from typing import TYPE_CHECKING, Any

from coxswain_reference.errors import CheckpointRefused

if TYPE_CHECKING:
    from torch.distributed.checkpoint.metadata import Metadata

_ALLOWED_NAMES = {
    ('torch.distributed.checkpoint.metadata', name)
    for name in (
        'Metadata',
        'TensorStorageMetadata',
        'BytesStorageMetadata',
        'ChunkStorageMetadata',
        'TensorProperties',
        'MetadataIndex',
        'StorageMeta',
        '_MEM_FORMAT_ENCODING',
    )
} | {
    ('torch.distributed.checkpoint.filesystem', '_StorageInfo'),
    ('torch.serialization', '_get_layout'),
    ('torch', 'Size'),
    ('torch', 'float32'),
    ('torch', 'int64'),
    ('collections', 'OrderedDict'),
}


class _EnumMember:
    """Stands for `getattr` in a pickle: gives the member of the one enum that metadata holds, and nothing else."""

    __slots__ = ()  # so that a pickle cannot set attributes of it

    def __call__(self, *arguments: object) -> object:
        from torch.distributed.checkpoint.metadata import _MEM_FORMAT_ENCODING

        if len(arguments) == 2 and arguments[0] is _MEM_FORMAT_ENCODING and type(arguments[1]) is str:
            member = _MEM_FORMAT_ENCODING.__members__.get(arguments[1])
            if member is not None:
                return member
        raise CheckpointRefused(
            '.metadata asks for an attribute other than a member of _MEM_FORMAT_ENCODING, '
            'which no checkpoint of this engine does.'
        )


_REPLACED_NAMES: dict[tuple[str, str], object] = {
    ('builtins', 'getattr'): _EnumMember(),
    ('pathlib', 'PosixPath'): PosixPath,
    ('pathlib._local', 'PosixPath'): PosixPath,  # as Python 3.13 writes it; 3.11 and 3.12 have no such module
}


class _MetadataUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _REPLACED_NAMES:
            return _REPLACED_NAMES[(module, name)]
        if (module, name) not in _ALLOWED_NAMES:
            raise CheckpointRefused(f'.metadata refers to {module}.{name}, which no checkpoint of this engine does.')
        return super().find_class(module, name)


def read_metadata(directory: Path) -> Metadata:
    """What `directory/.metadata` says; raises CheckpointRefused when it is no metadata, or is more than that."""
    from torch.distributed.checkpoint.metadata import Metadata

    file_name = directory / '.metadata'
    try:
        with file_name.open('rb') as file:
            metadata = _MetadataUnpickler(file).load()
    except CheckpointRefused:
        raise
    except Exception as error:  # noqa: BLE001 - a malformed pickle may raise anything
        raise CheckpointRefused(f'{file_name} cannot be read: {type(error).__name__} {error}.') from error
    if not isinstance(metadata, Metadata):
        raise CheckpointRefused(f'{file_name} holds {type(metadata).__name__}, not the metadata of a checkpoint.')
    return metadata
