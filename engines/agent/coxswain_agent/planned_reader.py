"""Loads checkpoints of PyTorch DCP by reading only the bytes that each rank needs.

`FileSystemReader` of PyTorch reads a whole saved chunk and narrows it in memory, also if a rank needs a few of its rows.
Where a save was divided for other ranks, that is 2 to 128 times the bytes. `PlannedReader` reads the ranges that a rank
needs, each once, into the tensors of the rank. It compares chunks that it reads whole with the CRC-32 that the save has.

    dcp.load(state, storage_reader=PlannedReader('checkpoint/step-1000'))

Or for all loads of a process, if the engine makes its own reader: `coxswain_agent.planned_reader.install()`.

What it does not know, PyTorch's reader reads: objects, compressed items, other file systems, other releases of PyTorch.
It needs PyTorch, which the other modules of this package do not.
More than 400 lines: the whole reader, with what it takes from a save, in the order in which it is used.
"""

from __future__ import annotations

import ctypes
import dataclasses
import io
import itertools
import logging
import math
import os
import pickle
import sys
import threading
import zipfile
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import torch
from torch.distributed.checkpoint.filesystem import FileSystem, FileSystemReader
from torch.distributed.checkpoint.planner import LoadItemType, LoadPlan, LoadPlanner, ReadItem
from torch.futures import Future

KNOWN_RELEASES = ((2, 6), (2, 15))
"""The first and the last release of PyTorch whose reader and files are known here."""

GAP_BYTES = 4096
"""Ranges with less between them are read as one: a page of the kernel's cache costs as much as its part."""

STAGED_BYTES = 64 << 20
"""So much is read at a time if it cannot be read into the tensor itself."""

THREADS = 4
END_BYTES = 2048
"""The records around the elements of a chunk are in so many bytes of each of its ends."""

_log = logging.getLogger('coxswain')
_said: set[str] = set()


class ChunkDamaged(RuntimeError):
    """A chunk has other bytes than were saved."""


class PlannedReader(FileSystemReader):
    """Reads as `FileSystemReader` does, but only what the rank needs."""

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        return read_planned(self, plan, planner, super().read_data)


def install() -> None:
    """Has all file system readers of this process read by plan, also those that an engine makes."""
    original = FileSystemReader.read_data
    if getattr(original, 'is_planned', False):
        return

    def read_data(self: FileSystemReader, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        return read_planned(self, plan, planner, lambda *arguments: original(self, *arguments))

    read_data.is_planned = True  # type: ignore[attr-defined]
    FileSystemReader.read_data = read_data  # type: ignore[method-assign]


Original = Callable[[LoadPlan, LoadPlanner], Future]


def read_planned(reader: FileSystemReader, plan: LoadPlan, planner: LoadPlanner, original: Original) -> Future[None]:
    """Reads the items of a plan that are known here; `original` reads the others."""
    problem = _unknown(reader)
    if problem is not None:
        _say_once(f'{problem}. PyTorch reads this checkpoint itself, which can read more than is needed')
        return original(plan, planner)
    tensors = [item for item in plan.items if _is_plain_tensor(item, reader.storage_data[item.storage_index])]
    own = {id(item) for item in tensors}
    others = [item for item in plan.items if id(item) not in own]
    targets = [planner.resolve_tensor(item).detach() for item in tensors]
    with _OpenFiles(reader) as files, ThreadPoolExecutor(THREADS) as pool:
        chunks = _Chunks(files, reader.storage_data)
        for item, target, is_read in zip(tensors, targets, pool.map(chunks.read, tensors, targets), strict=True):
            if is_read:
                planner.commit_tensor(item, target)
            else:
                others.append(item)
    if others:
        return original(dataclasses.replace(plan, items=others), planner)
    done: Future[None] = Future()
    done.set_result(None)
    return done


def _unknown(reader: FileSystemReader) -> str | None:
    release = tuple(int(part) for part in torch.__version__.split('.')[:2])
    if not KNOWN_RELEASES[0] <= release <= KNOWN_RELEASES[1]:
        return f'Checkpoints of PyTorch {torch.__version__} are not known to coxswain_agent'
    if type(reader.fs) is not FileSystem:
        return f'{type(reader.fs).__name__} is not read by coxswain_agent'
    return None


def _say_once(text: str) -> None:
    if text not in _said:
        _said.add(text)
        _log.warning('%s.', text)


def _is_plain_tensor(item: ReadItem, info: Any) -> bool:
    if item.type == LoadItemType.BYTE_IO:
        return False
    if getattr(info, 'transform_descriptors', None):
        _say_once('A checkpoint has compressed chunks. PyTorch reads those itself, each as a whole')
        return False
    return True


class _OpenFiles:
    """The files of a save, each opened once."""

    def __init__(self, reader: FileSystemReader) -> None:
        self._reader = reader
        self._handles: dict[str, int] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> _OpenFiles:
        return self

    def __exit__(self, *_: object) -> None:
        for handle in self._handles.values():
            os.close(handle)

    def handle(self, path: str) -> int:
        with self._lock:
            if path not in self._handles:
                self._handles[path] = os.open(self._reader.fs.concat_path(self._reader.path, path), os.O_RDONLY)
            return self._handles[path]


@dataclass(frozen=True)
class _Chunk:
    """Where the elements of a chunk are."""

    handle: int
    begin: int
    """The first byte of the first element in its file."""
    dtype: torch.dtype
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    crc32: int | None
    """Of all elements; None if the save has none."""


class _Chunks:
    """Reads parts of chunks."""

    def __init__(self, files: _OpenFiles, places: dict[Any, Any]) -> None:
        self._files = files
        self._places = places

    def read(self, item: ReadItem, target: torch.Tensor) -> bool:
        """Fills `target`. False: the chunk is in a form that is not known here."""
        place = self._places[item.storage_index]
        chunk = _open_chunk(self._files.handle(place.relative_path), place.offset, place.length)
        if chunk is None or len(chunk.sizes) != len(item.lengths):
            _say_once('A checkpoint has chunks in a form that is not known here. PyTorch reads those itself')
            return False
        if target.size() != item.lengths:
            raise AssertionError(f'req {item.storage_index} mismatch sizes {target.size()} vs {item.lengths}')
        found = _read_part(chunk, tuple(item.storage_offsets), tuple(item.lengths), target)
        if found is not None and chunk.crc32 is not None and found != chunk.crc32:
            raise ChunkDamaged(
                f'{item.storage_index.fqn} in {place.relative_path} has other bytes than were saved '
                f'(CRC-32 {found:08x}, saved {chunk.crc32:08x}). Use another checkpoint.'
            )
        return True


def _open_chunk(handle: int, offset: int, length: int) -> _Chunk | None:
    """Reads both ends of the archive that `torch.save` wrote; None if it is another one."""
    ends = _Ends(handle, offset, length)
    try:
        records = {name.partition('/')[2]: info for name, info in zipfile.ZipFile(ends).NameToInfo.items()}
        form = _FormReader(io.BytesIO(ends.record(records['data.pkl']))).load()
        if not isinstance(form, _Form):
            return None
        storage = records[f'data/{form.key}']
        begin = ends.begin_of(storage)
        if ends.record(records['byteorder']) != b'little' or sys.byteorder != 'little':
            return None
    except (zipfile.BadZipFile, pickle.UnpicklingError, KeyError, ValueError, TypeError, EOFError):
        return None
    elements = math.prod(form.sizes)
    in_order = sorted(zip(form.strides, form.sizes, strict=True), key=lambda dim: -dim[0])
    is_known = storage.compress_type == zipfile.ZIP_STORED and (
        elements == 0 or _is_dense([stride for stride, _ in in_order], [size for _, size in in_order])
    )
    if not is_known or (form.storage_offset + elements) * form.dtype.itemsize > storage.file_size:
        return None
    is_whole = storage.file_size == elements * form.dtype.itemsize
    has_crc = any(info.CRC != 0 for info in records.values())
    return _Chunk(
        handle=handle,
        begin=offset + begin + form.storage_offset * form.dtype.itemsize,
        dtype=form.dtype,
        sizes=form.sizes,
        strides=form.strides,
        crc32=storage.CRC if is_whole and has_crc else None,
    )


class _Ends(io.RawIOBase):
    """A chunk's archive as a file. Both of its ends are read at once; what lies between is read when it is asked for."""

    def __init__(self, handle: int, offset: int, length: int) -> None:
        self._handle, self._offset, self._length = handle, offset, length
        self._at = 0
        self._head = os.pread(handle, min(length, END_BYTES), offset)
        self._tail_at = max(0, length - END_BYTES)
        self._tail = (
            self._head if self._tail_at == 0 else os.pread(handle, length - self._tail_at, offset + self._tail_at)
        )

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._length}[whence]
        if base + offset < 0:
            raise OSError('before the start of a chunk')
        self._at = base + offset
        return self._at

    def read(self, size: int = -1) -> bytes:
        end = self._length if size is None or size < 0 else min(self._length, self._at + size)
        begin, self._at = self._at, max(self._at, end)
        if end <= begin:
            return b''
        if end <= len(self._head):
            return self._head[begin:end]
        if begin >= self._tail_at:
            return self._tail[begin - self._tail_at : end - self._tail_at]
        return os.pread(self._handle, end - begin, self._offset + begin)

    def begin_of(self, info: zipfile.ZipInfo) -> int:
        """Where the bytes of a record begin. Its own header has other extra fields than the directory."""
        self.seek(info.header_offset)
        header = self.read(30)
        if header[:4] != b'PK\x03\x04' or len(header) < 30:
            raise zipfile.BadZipFile('no record')
        name, extra = int.from_bytes(header[26:28], 'little'), int.from_bytes(header[28:30], 'little')
        return info.header_offset + 30 + name + extra

    def record(self, info: zipfile.ZipInfo) -> bytes:
        if info.compress_type != zipfile.ZIP_STORED or info.file_size > 1 << 20:
            raise zipfile.BadZipFile('no record of torch.save')
        self.seek(self.begin_of(info))
        return self.read(info.file_size)


@dataclass(frozen=True)
class _Form:
    """What the pickle of a chunk says about its elements."""

    key: str
    dtype: torch.dtype
    storage_offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]


def _rebuilt_v2(storage: Any, offset: int, sizes: Sequence[int], strides: Sequence[int], *_: object) -> _Form:
    return _Form(storage[2], storage[1], offset, tuple(sizes), tuple(strides))


def _rebuilt_v3(storage: Any, offset: int, sizes: Sequence[int], strides: Sequence[int], *others: Any) -> _Form:
    return _Form(storage[2], others[2], offset, tuple(sizes), tuple(strides))


class _FormReader(pickle.Unpickler):
    """Reads the pickle of a plain tensor, and nothing else: no class of the pickle is called."""

    def find_class(self, module: str, name: str) -> Any:
        if module == 'torch._utils' and name in _FORMS:
            return _FORMS[name]
        if (module, name) == ('collections', 'OrderedDict'):
            return OrderedDict
        if (module, name) == ('torch.storage', 'UntypedStorage'):
            return None
        found = getattr(torch, name, None) if module == 'torch' else None
        # The class of a storage stands for its dtype.
        dtype = getattr(found, '_dtype', None) if name.endswith('Storage') else found
        if isinstance(dtype, torch.dtype):
            return dtype
        raise pickle.UnpicklingError(f'{module}.{name}')

    def persistent_load(self, pid: Any) -> Any:
        return pid


_FORMS = {'_rebuild_tensor_v2': _rebuilt_v2, '_rebuild_tensor_v3': _rebuilt_v3}


def _read_part(chunk: _Chunk, offsets: tuple[int, ...], lengths: tuple[int, ...], target: torch.Tensor) -> int | None:
    """Reads a box of a chunk into `target`. Returns the CRC-32 of what was read if that is all of the chunk."""
    if math.prod(lengths) == 0:
        return None
    # In the order in which its elements are stored, a transposed chunk is one like all others.
    order = sorted(range(len(lengths)), key=lambda dim: -chunk.strides[dim])
    strides, starts, sizes = ([values[dim] for dim in order] for values in (chunk.strides, offsets, lengths))
    in_order = target.permute(order)
    crc = 0 if lengths == chunk.sizes and chunk.crc32 is not None else None
    for skipped, taken in _parts(chunk, sizes):
        part = in_order.narrow(0, skipped, taken) if order else in_order
        crc = _read_box(chunk, strides, [starts[0] + skipped, *starts[1:]] if order else [], part, crc)
    return crc


def _parts(chunk: _Chunk, sizes: list[int]) -> Iterator[tuple[int, int]]:
    """Ranges of the first dim that are small enough to be held in memory."""
    if not sizes:
        yield 0, 1
        return
    row_bytes = max(1, math.prod(sizes[1:]) * chunk.dtype.itemsize)
    rows = max(1, STAGED_BYTES // row_bytes)
    for begin in range(0, sizes[0], rows):
        yield begin, min(rows, sizes[0] - begin)


def _read_box(chunk: _Chunk, strides: list[int], starts: list[int], box: torch.Tensor, crc: int | None) -> int | None:
    """Reads a box that begins at `starts`. `crc` is that of the elements before it; None: it is not wanted."""
    sizes = list(box.shape)
    item = chunk.dtype.itemsize
    dims, has_gaps = _dims_read_at_once(strides, sizes, item)
    outer = len(sizes) - dims
    span = 1 + sum((size - 1) * stride for size, stride in zip(sizes[outer:], strides[outer:], strict=True))
    first = sum(start * stride for start, stride in zip(starts, strides, strict=True))
    is_direct = (
        not has_gaps
        # Tensors that wrap others have their bytes elsewhere.
        and type(box) is torch.Tensor
        and box.device.type == 'cpu'
        and box.dtype == chunk.dtype
        and _is_dense(box.stride()[outer:], sizes[outer:])
    )
    staged = None if is_direct else torch.empty(span, dtype=chunk.dtype)
    for index in itertools.product(*(range(size) for size in sizes[:outer])):
        at = first + sum(place * stride for place, stride in zip(index, strides, strict=False))
        into = box[index] if staged is None else staged
        view = _bytes_of(into.data_ptr(), span * item)
        _read_exactly(chunk.handle, view, chunk.begin + at * item)
        if crc is not None:
            crc = zlib.crc32(view, crc)
        if staged is not None:
            box[index].copy_(staged.as_strided(sizes[outer:], strides[outer:]))
    return crc


def _dims_read_at_once(strides: list[int], sizes: list[int], item: int) -> tuple[int, bool]:
    """How many of the last dims are read as one range, and whether that range holds elements that are not needed."""
    span, has_gaps = 1, False
    for dims, (stride, size) in enumerate(zip(reversed(strides), reversed(sizes), strict=True)):
        gap = (stride - span) * item
        if size > 1 and gap > GAP_BYTES:
            return dims, has_gaps
        has_gaps = has_gaps or (size > 1 and gap > 0)
        span += (size - 1) * stride
    return len(sizes), has_gaps


def _is_dense(strides: Sequence[int], sizes: Sequence[int]) -> bool:
    span = 1
    for stride, size in zip(reversed(strides), reversed(sizes), strict=True):
        if size > 1 and stride != span:
            return False
        span *= size
    return True


def _bytes_of(address: int, length: int) -> memoryview:
    return memoryview((ctypes.c_char * length).from_address(address)).cast('B')


def _read_exactly(handle: int, view: memoryview, offset: int) -> None:
    while len(view) > 0:
        count = os.preadv(handle, [view], offset)
        if count == 0:
            raise EOFError('A file of the checkpoint ends before it should.')
        view, offset = view[count:], offset + count
