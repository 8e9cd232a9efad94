"""A checkpoint's metadata is read whichever Python wrote it, and a pickle that asks for more is refused."""

from __future__ import annotations

import os
import pickle
import shutil
import tempfile
from pathlib import Path

import pytest
from coxswain_reference.errors import CheckpointRefused
from coxswain_reference.saved_metadata import read_metadata

FIXTURES = sorted((Path(__file__).parent / 'saved_metadata').glob('*.metadata'))
METADATA = 'torch.distributed.checkpoint.metadata'
PLANTED = Path(tempfile.gettempdir()) / f'planted-by-metadata-{os.getpid()}'


@pytest.mark.parametrize('fixture', FIXTURES, ids=lambda fixture: fixture.stem)
def test_metadata_is_read_whichever_python_wrote_it(fixture: Path, tmp_path: Path) -> None:
    import torch

    shutil.copyfile(fixture, tmp_path / '.metadata')
    metadata = read_metadata(tmp_path)
    assert set(metadata.state_dict_metadata) == {
        'model.weight',
        'training.step',
        'training.samples',
        'training.seed',
    }
    weight = metadata.state_dict_metadata['model.weight']
    assert (weight.size, weight.properties.dtype) == (torch.Size((4, 3)), torch.float32)
    assert weight.properties.memory_format is torch.contiguous_format
    assert weight.properties.layout is torch.strided
    assert [(chunk.offsets, chunk.sizes) for chunk in weight.chunks] == [((2, 0), (2, 3))]
    assert sorted(info.relative_path for info in metadata.storage_data.values()) == ['__0_0.distcp'] * 4


def test_there_is_a_fixture_of_each_python_that_can_run_the_engine() -> None:
    minors = {fixture.stem.removeprefix('python-').rpartition('.')[0] for fixture in FIXTURES}
    assert minors == {'3.11', '3.12', '3.13', '3.14'}
    assert any(b'getattr' in fixture.read_bytes() for fixture in FIXTURES)


def the_name(module: str, name: str) -> bytes:
    """The instructions of a pickle that push what `name` of `module` stands for."""
    return text(module) + text(name) + pickle.STACK_GLOBAL


def text(value: str) -> bytes:
    encoded = value.encode()
    return pickle.SHORT_BINUNICODE + bytes([len(encoded)]) + encoded


def called(function: bytes, *arguments: bytes) -> bytes:
    return function + pickle.MARK + b''.join(arguments) + pickle.TUPLE + pickle.REDUCE


GETATTR = the_name('builtins', 'getattr')
ENUM = the_name(METADATA, '_MEM_FORMAT_ENCODING')
MEMBER = text('TORCH_CONTIGUOUS_FORMAT')
MKDIR = called(the_name('posix', 'mkdir'), text(str(PLANTED)))
OF_AN_ENUM = 'asks for an attribute other than a member'


@pytest.mark.parametrize(
    ('instructions', 'want'),
    [
        pytest.param(MKDIR, 'refers to posix.mkdir', id='a function of the system'),
        pytest.param(called(the_name('builtins', 'eval'), text('1')), 'refers to builtins.eval', id='eval'),
        pytest.param(
            called(GETATTR, the_name('posix', 'mkdir'), MEMBER), 'refers to posix.mkdir', id='an attribute of a function'
        ),
        pytest.param(
            called(GETATTR, the_name('builtins', 'object'), MEMBER), 'refers to builtins.object', id='of a builtin'
        ),
        pytest.param(called(GETATTR, the_name(METADATA, 'Metadata'), text('__init__')), OF_AN_ENUM, id='of metadata'),
        pytest.param(
            called(GETATTR, the_name(METADATA, 'StorageMeta'), MEMBER), OF_AN_ENUM, id='a member, of another class'
        ),
        pytest.param(called(GETATTR, the_name('torch', 'Size'), text('count')), OF_AN_ENUM, id='of a size'),
        pytest.param(called(GETATTR, ENUM, text('__class__')), OF_AN_ENUM, id='the class of the enum'),
        pytest.param(called(GETATTR, ENUM, text('__init__')), OF_AN_ENUM, id='a method of the enum'),
        pytest.param(called(GETATTR, ENUM, text('_member_map_')), OF_AN_ENUM, id='what the enum keeps for itself'),
        pytest.param(called(GETATTR, ENUM, text('NOT_A_MEMBER')), OF_AN_ENUM, id='a member that is not there'),
        pytest.param(
            called(GETATTR, ENUM, text('TORCH_CONTIGUOUS_FORMAT.value')), OF_AN_ENUM, id='a dotted name of a member'
        ),
        pytest.param(
            called(GETATTR, called(GETATTR, ENUM, MEMBER), text('__class__')), OF_AN_ENUM, id='of what it gave before'
        ),
        pytest.param(called(GETATTR, GETATTR, text('__call__')), OF_AN_ENUM, id='of itself'),
        pytest.param(called(GETATTR, ENUM), OF_AN_ENUM, id='without a name'),
        pytest.param(called(GETATTR, ENUM, text('NO'), MEMBER), OF_AN_ENUM, id='with a default'),
        pytest.param(called(GETATTR, ENUM, pickle.EMPTY_LIST), OF_AN_ENUM, id='by a name that is no text'),
        pytest.param(b'cbuiltins\ngetattr\n(ctorch\nSize\nVcount\ntR', OF_AN_ENUM, id='in the words of protocol 0'),
        pytest.param(b'c__builtin__\ngetattr\n', 'refers to __builtin__.getattr', id='in the words of Python 2'),
        pytest.param(the_name('builtins', 'getattr.__class__'), 'refers to builtins.getattr.__class__', id='dotted getattr'),
        pytest.param(
            the_name(METADATA, '_MEM_FORMAT_ENCODING.__class__'), '_MEM_FORMAT_ENCODING.__class__', id='dotted enum'
        ),
        pytest.param(the_name(METADATA, 'os.mkdir'), 'refers to torch', id='a module that metadata itself imports'),
        pytest.param(the_name('pathlib', 'os.mkdir'), 'refers to pathlib.os.mkdir', id='a module that pathlib imports'),
        pytest.param(
            GETATTR + pickle.EMPTY_DICT + text('x') + text('y') + pickle.SETITEM + pickle.BUILD,
            'cannot be read',
            id='an attribute set on getattr',
        ),
        pytest.param(called(GETATTR, ENUM, MEMBER), 'not the metadata of a checkpoint', id='a member alone'),
        pytest.param(GETATTR, 'not the metadata of a checkpoint', id='getattr alone'),
        pytest.param(text('x'), 'holds str, not the metadata', id='a text'),
        pytest.param(b'\xff', 'cannot be read', id='no pickle at all'),
    ],
)
def test_a_pickle_that_asks_for_more_is_refused_before_anything_runs(
    instructions: bytes, want: str, tmp_path: Path
) -> None:
    (tmp_path / '.metadata').write_bytes(pickle.PROTO + b'\x04' + instructions + pickle.STOP)
    with pytest.raises(CheckpointRefused, match=want):
        read_metadata(tmp_path)
    assert not PLANTED.exists()
