"""Does the planned reader load what PyTorch's reader loads, and read less?"""

from __future__ import annotations

import copy
import io
import logging
import random
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed.checkpoint as dcp
from coxswain_agent import planned_reader
from coxswain_agent.planned_reader import ChunkDamaged, PlannedReader
from torch.distributed.checkpoint.metadata import BytesStorageMetadata, MetadataIndex, TensorStorageMetadata
from torch.distributed.checkpoint.planner import LoadItemType, LoadPlan, ReadItem

FIXTURES = Path(__file__).resolve().parents[3] / 'libs/checkpoint/fixtures'
SAVES = [
    'dcp-2.15.0',
    'dcp-odd-tensors-2.15.0',
    'dcp-odd-tensors-2.13.0',
    'dcp-no-crc-2.15.0',
    'dcp-file-per-item-2.15.0',
]
COMPRESSED = 'dcp-zstd-2.15.0'


class Planner:
    """Takes what a reader gives."""

    def __init__(self, items: list[ReadItem], dtypes: dict[str, torch.dtype], prepare: Any) -> None:
        self.tensors = {
            index: prepare(torch.zeros(item.lengths, dtype=dtypes[item.storage_index.fqn]))
            for index, item in enumerate(items)
            if item.type == LoadItemType.TENSOR
        }
        self.objects: dict[str, bytes] = {}
        self.committed: list[int] = []

    def resolve_tensor(self, item: ReadItem) -> torch.Tensor:
        return self.tensors[item.dest_index.index]

    def commit_tensor(self, item: ReadItem, tensor: torch.Tensor) -> None:
        self.committed.append(item.dest_index.index)

    def load_bytes(self, item: ReadItem, value: io.BytesIO) -> None:
        self.objects[item.dest_index.fqn] = value.read()


def boxes_of(save: str, draw: random.Random) -> tuple[list[ReadItem], dict[str, torch.dtype]]:
    """Each object, and a box of each chunk: all of it, or a random one."""
    metadata = dcp.FileSystemReader(FIXTURES / save).read_metadata()
    items: list[ReadItem] = []
    dtypes = {}
    for fqn, stored in metadata.state_dict_metadata.items():
        if isinstance(stored, BytesStorageMetadata):
            index = MetadataIndex(fqn)
            nothing = torch.Size([0])
            items.append(ReadItem(LoadItemType.BYTE_IO, index, nothing, index, nothing, nothing))
            continue
        dtypes[fqn] = stored.properties.dtype
        for at, chunk in enumerate(stored.chunks):
            starts = [draw.randrange(size + 1) if draw.random() < 0.7 else 0 for size in chunk.sizes]
            sizes = [
                draw.randrange(size - start + 1) if draw.random() < 0.5 else size - start
                for start, size in zip(starts, chunk.sizes, strict=True)
            ]
            items.append(
                ReadItem(
                    LoadItemType.TENSOR,
                    MetadataIndex(fqn, torch.Size(starts), len(items)),
                    torch.Size(starts),
                    MetadataIndex(fqn, chunk.offsets, at),
                    torch.Size(starts),
                    torch.Size(sizes),
                )
            )
    return items, dtypes


def read(reader: dcp.FileSystemReader, items: list[ReadItem], dtypes: dict[str, torch.dtype], prepare: Any) -> Planner:
    planner = Planner(items, dtypes, prepare)
    reader.set_up_storage_reader(reader.read_metadata(), True)
    reader.read_data(LoadPlan(items), planner).wait()
    return planner


def bits(planner: Planner) -> list[Any]:
    return [
        (index, tensor.shape, tensor.clone().contiguous().view(-1).view(torch.uint8).tolist())
        for index, tensor in planner.tensors.items()
    ]


PREPARED = {
    'of the saved dtype': lambda tensor: tensor,
    'that are columns of a wider one': lambda tensor: (
        torch.cat([tensor] * 2, -1).narrow(-1, 0, tensor.shape[-1]) if tensor.ndim else tensor
    ),
    'that are transposed': lambda tensor: tensor.mT.contiguous().mT if tensor.ndim > 1 else tensor,
}


@pytest.mark.parametrize('prepare', PREPARED.values(), ids=PREPARED.keys())
@pytest.mark.parametrize('save', SAVES)
@pytest.mark.parametrize('gap_bytes', [0, 4096])
def test_each_box_has_the_bits_that_pytorch_reads(save: str, prepare: Any, gap_bytes: int, monkeypatch: Any) -> None:
    monkeypatch.setattr(planned_reader, 'GAP_BYTES', gap_bytes)
    monkeypatch.setattr(planned_reader, 'STAGED_BYTES', 64)
    draw = random.Random(save)
    for _ in range(8):
        items, dtypes = boxes_of(save, draw)
        ours = read(PlannedReader(FIXTURES / save), items, dtypes, prepare)
        theirs = read(dcp.FileSystemReader(FIXTURES / save), items, dtypes, prepare)
        assert bits(ours) == bits(theirs)
        assert ours.objects == theirs.objects
        assert sorted(ours.committed) == sorted(theirs.committed)


def test_what_has_another_form_pytorch_reads(monkeypatch: Any) -> None:
    monkeypatch.setattr(planned_reader, '_open_chunk', lambda *_: None)
    items, dtypes = boxes_of('dcp-2.15.0', random.Random(1))
    ours = read(PlannedReader(FIXTURES / 'dcp-2.15.0'), items, dtypes, lambda tensor: tensor)
    theirs = read(dcp.FileSystemReader(FIXTURES / 'dcp-2.15.0'), items, dtypes, lambda tensor: tensor)
    assert (bits(ours), sorted(ours.committed)) == (bits(theirs), sorted(theirs.committed))


def empty_state(save: str, dtype: torch.dtype | None = None) -> dict[str, Any]:
    metadata = dcp.FileSystemReader(FIXTURES / save).read_metadata()
    return {
        fqn: torch.empty(stored.size, dtype=dtype or stored.properties.dtype)
        if isinstance(stored, TensorStorageMetadata)
        else None
        for fqn, stored in metadata.state_dict_metadata.items()
    }


def test_compressed_chunks_are_left_to_pytorch_and_it_says_so_once(monkeypatch: Any, caplog: Any) -> None:
    monkeypatch.setattr(planned_reader, '_said', set())
    problems = []
    with caplog.at_level(logging.WARNING, 'coxswain'):
        for reader in (PlannedReader(FIXTURES / COMPRESSED), dcp.FileSystemReader(FIXTURES / COMPRESSED)):
            state = empty_state(COMPRESSED)
            try:
                dcp.load(state, storage_reader=reader, no_dist=True)
            except dcp.CheckpointException as error:  # where no module reads zstd
                problems.append([str(problem) for problem, _ in error.failures.values()])
            else:
                problems.append([str(value) for value in state.values()])
    assert problems[0] == problems[1]
    assert [record.getMessage() for record in caplog.records if record.name == 'coxswain'] == [
        'A checkpoint has compressed chunks. PyTorch reads those itself, each as a whole.'
    ]


@pytest.mark.parametrize('save', SAVES)
def test_a_load_gives_what_pytorch_loads_also_in_another_dtype(save: str) -> None:
    for dtype in (None, torch.float64):
        ours, theirs = empty_state(save, dtype), empty_state(save, dtype)
        dcp.load(ours, storage_reader=PlannedReader(FIXTURES / save), no_dist=True)
        dcp.load(theirs, checkpoint_id=FIXTURES / save, no_dist=True)
        for fqn, value in theirs.items():
            same = torch.equal(ours[fqn], value) if isinstance(value, torch.Tensor) else ours[fqn] == value
            assert same, fqn


def test_a_load_of_a_key_or_size_that_the_save_has_not_fails_as_that_of_pytorch() -> None:
    save = FIXTURES / 'dcp-2.15.0'
    known = empty_state('dcp-2.15.0')
    fqn = next(name for name, value in known.items() if isinstance(value, torch.Tensor) and value.ndim)
    for state in ({'missing': torch.empty(2)}, {fqn: torch.empty(1000, 7)}):
        problems = []
        for reader in (PlannedReader(save), dcp.FileSystemReader(save)):
            with pytest.raises(dcp.CheckpointException) as caught:
                dcp.load(copy.deepcopy(state), storage_reader=reader, no_dist=True)
            problems.append([(type(error), str(error)) for error, _ in caught.value.failures.values()])
        assert problems[0] == problems[1]


def a_matrix(folder: Path) -> tuple[Path, int]:
    """A save of one matrix of 1 MiB."""
    matrix = torch.arange(1 << 18, dtype=torch.float32).view(512, 512)
    dcp.save({'w': matrix}, checkpoint_id=folder, no_dist=True)
    return folder, matrix.nbytes


def bytes_read() -> int:
    return int(Path('/proc/self/io').read_text().partition('\n')[0].partition(' ')[2])


@pytest.mark.parametrize(
    ('starts', 'sizes'),
    [((128, 0), (64, 512)), ((0, 0), (512, 512)), ((0, 256), (512, 256)), ((511, 511), (1, 1))],
    ids=['rows', 'all', 'columns', 'one element'],
)
def test_it_reads_no_more_than_the_box(
    starts: tuple[int, int], sizes: tuple[int, int], tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(planned_reader, 'GAP_BYTES', 256)
    save, _ = a_matrix(tmp_path)
    index = MetadataIndex('w', torch.Size([0, 0]), 0)
    item = ReadItem(
        LoadItemType.TENSOR, replace(index, index=0), torch.Size([0, 0]), index, torch.Size(starts), torch.Size(sizes)
    )
    reader = PlannedReader(save)
    reader.set_up_storage_reader(reader.read_metadata(), True)
    planner = Planner([item], {'w': torch.float32}, lambda tensor: tensor)
    before = bytes_read()
    reader.read_data(LoadPlan([item]), planner).wait()
    assert bytes_read() - before < 4 * sizes[0] * sizes[1] + 6000
    want = torch.arange(1 << 18, dtype=torch.float32).view(512, 512).narrow(0, starts[0], sizes[0])
    assert torch.equal(planner.tensors[0], want.narrow(1, starts[1], sizes[1]))


def test_a_chunk_that_has_other_bytes_than_were_saved_is_not_loaded(tmp_path: Path) -> None:
    save, size = a_matrix(tmp_path)
    file = next(save.glob('*.distcp'))
    content = bytearray(file.read_bytes())
    content[size // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(dcp.CheckpointException) as caught:
        dcp.load({'w': torch.empty(512, 512)}, storage_reader=PlannedReader(save), no_dist=True)
    [(problem, _)] = caught.value.failures.values()
    assert isinstance(problem, ChunkDamaged)
    assert str(problem).startswith(f'w in {file.name} has other bytes than were saved')


def test_a_file_that_was_cut_is_not_loaded(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / 'dcp-2.15.0', tmp_path / 'save')
    for file in (tmp_path / 'save').glob('*.distcp'):
        file.write_bytes(file.read_bytes()[:-1000])
    with pytest.raises(dcp.CheckpointException):
        dcp.load(empty_state('dcp-2.15.0'), storage_reader=PlannedReader(tmp_path / 'save'), no_dist=True)


@pytest.mark.parametrize(
    ('name', 'value', 'words'),
    [
        ('KNOWN_RELEASES', ((1, 0), (1, 9)), f'Checkpoints of PyTorch {torch.__version__} are not known'),
        ('FileSystem', str, 'FileSystem is not read by coxswain_agent'),
    ],
)
def test_what_it_does_not_know_pytorch_reads_and_it_says_so_once(
    name: str, value: Any, words: str, monkeypatch: Any, caplog: Any
) -> None:
    monkeypatch.setattr(planned_reader, name, value)
    monkeypatch.setattr(planned_reader, '_said', set())
    monkeypatch.setattr(planned_reader, '_open_chunk', None)
    with caplog.at_level(logging.WARNING, 'coxswain'):
        for _ in range(2):
            state = empty_state('dcp-2.15.0')
            dcp.load(state, storage_reader=PlannedReader(FIXTURES / 'dcp-2.15.0'), no_dist=True)
    assert [words in record.getMessage() for record in caplog.records] == [True]


def test_it_reads_for_readers_that_an_engine_makes(monkeypatch: Any) -> None:
    opened = []
    monkeypatch.setattr(planned_reader.FileSystemReader, 'read_data', planned_reader.FileSystemReader.read_data)
    real = planned_reader._open_chunk
    monkeypatch.setattr(planned_reader, '_open_chunk', lambda *place: opened.append(place) or real(*place))
    planned_reader.install()
    planned_reader.install()
    state = empty_state('dcp-2.15.0')
    dcp.load(state, checkpoint_id=FIXTURES / 'dcp-2.15.0', no_dist=True)
    assert opened
