"""Writes `python-<version>.metadata` beside itself: the `.metadata` of a small checkpoint, as the running Python writes it.

    python write.py              with PyTorch, through the same functions as the engine
    python write.py OTHER_FILE   without PyTorch: reads the fixture of another version and writes it again. For a Python that
                                 PyTorch is not built for; the classes are stand-ins, their names and fields are PyTorch's.
"""

from __future__ import annotations

import pickle
import platform
import shutil
import sys
import tempfile
from dataclasses import dataclass, make_dataclass
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).resolve().parent
REFERENCE = HERE.parents[1]


def save_with_pytorch(target: Path) -> None:
    import torch
    import torch.distributed.checkpoint as dcp

    sys.path[:0] = [str(REFERENCE), str(REFERENCE.parent / 'agent')]
    from coxswain_reference.checkpoint import Progress, _part_of_global

    folder = Path(tempfile.mkdtemp())
    half = _part_of_global(torch.ones(2, 3), (4, 3), (2, 0))
    tensors = {'model.weight': half, **Progress(step=10, samples=120, seed=7).to_tensors()}
    dcp.save(tensors, storage_writer=dcp.FileSystemWriter(folder), no_dist=True)
    shutil.copyfile(folder / '.metadata', target)
    shutil.rmtree(folder)


class Size(tuple):
    def __reduce__(self) -> Any:
        return Size, (tuple(self),)


@dataclass(frozen=True)
class GlobalName:
    """Something that pickles as its name alone, as data types do."""

    name: str

    def __reduce__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Layout:
    name: str

    def __reduce__(self) -> Any:
        return _get_layout, (self.name,)


def _get_layout(name: str) -> Layout:
    return Layout(name)


class _MEM_FORMAT_ENCODING(Enum):
    TORCH_CONTIGUOUS_FORMAT = 0
    TORCH_CHANNELS_LAST = 1
    TORCH_PRESERVE_FORMAT = 2


class TensorProperties:
    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.state = state

    def __getstate__(self) -> tuple[Any, ...]:
        return self.state


def write_again(source: Path, target: Path) -> None:
    metadata = ('ChunkStorageMetadata', 'TensorStorageMetadata', 'BytesStorageMetadata', 'StorageMeta', 'Metadata')
    stand_ins = {
        'torch': {'Size': Size, 'float32': GlobalName('float32'), 'int64': GlobalName('int64')},
        'torch.distributed': {},
        'torch.distributed.checkpoint': {},
        'torch.serialization': {'_get_layout': _get_layout},
        'torch.distributed.checkpoint.filesystem': {'_StorageInfo': make_dataclass('_StorageInfo', [])},
        'torch.distributed.checkpoint.metadata': {
            **{name: make_dataclass(name, []) for name in metadata},
            'MetadataIndex': make_dataclass('MetadataIndex', [], eq=False),
            '_MEM_FORMAT_ENCODING': _MEM_FORMAT_ENCODING,
            'TensorProperties': TensorProperties,
        },
    }
    for module_name, contents in stand_ins.items():
        module = sys.modules[module_name] = ModuleType(module_name)
        for name, value in contents.items():
            setattr(module, name, value)
            if isinstance(value, GlobalName):
                object.__setattr__(value, '__module__', module_name)
            else:
                value.__module__ = module_name
    with source.open('rb') as file:
        value = pickle.load(file)  # noqa: S301 - a fixture of this folder
    with target.open('wb') as file:
        pickle.dump(value, file)


if __name__ == '__main__':
    fixture = HERE / f'python-{platform.python_version()}.metadata'
    if len(sys.argv) > 1:
        write_again(Path(sys.argv[1]), fixture)
    else:
        save_with_pytorch(fixture)
    print(fixture.name)
