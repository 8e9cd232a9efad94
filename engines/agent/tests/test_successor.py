"""A process that waits to take over as a rank, with a made-up PyTorch: when does it become the rank, and when must it not?"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hooked import lay_out_hook

sys.path.insert(0, str(Path(__file__).parents[1] / 'hook'))
from coxswain_hook.imports import changed, library_modules  # noqa: E402

DEADLINE_SECONDS = 60
TORCH = {
    '__init__.py': 'from torch import cuda, distributed\n',
    'cuda.py': 'is_initialized = lambda: False\n',
    'distributed/__init__.py': 'is_available = lambda: True\nis_initialized = lambda: False\n',
}
PROGRAM = """
import json, os, sys, torch
import late
print(json.dumps({
    'argv': sys.argv,
    'path': sys.path,
    'environment': dict(os.environ),
    'late': late.__file__,
    'library': 'library' in sys.modules,
    'comm': open('/proc/self/comm').read().strip(),
}))
"""


class Waiting:
    """A successor of rank 3, and the launcher's end of its channel."""

    def __init__(
        self,
        folder: Path,
        *,
        torch: str = '',
        library: str = '',
        part: str = '',
        listed: dict[str, Any] | str | None = None,
        alone: bool = False,
        hook: tuple[str, str] = ('', ''),
    ) -> None:
        """`part`: a module of the package torch. `hook`: a text in the hook's own module, and what stands there instead."""
        self.folder = folder
        self.hook = lay_out_hook(folder / 'hook')
        own_module = self.hook / 'coxswain_hook/successor.py'
        assert hook[0] in own_module.read_text()
        own_module.write_text(own_module.read_text().replace(*hook))
        image = folder / 'image'
        for name, text in TORCH.items():
            _write(image / 'torch' / name, text + (torch if name == '__init__.py' else ''))
        _write(image / 'torch/part.py', part)
        _write(image / 'library.py', library)
        _write(image / 'sitecustomize.py', 'import os\nos.environ["FROM_THE_IMAGE"] = os.environ["RANK"]\n')
        _write(folder / 'before' / 'late.py', '')
        _write(folder / 'after' / 'late.py', '')
        _write(folder / 'program.py', PROGRAM)
        self.image = image
        imports = folder / 'imports'
        if not isinstance(listed, str):
            listed = json.dumps({'modules': [], 'environment': {}, **(listed or {})})
        imports.write_text(listed)
        own, theirs = socket.socketpair()
        own.settimeout(DEADLINE_SECONDS)
        self.channel = own.makefile('rw')
        self._own = own
        given = self.environment('before')
        self.process = subprocess.Popen(
            [sys.executable, '-u', str(folder / 'program.py'), '--to', 'before'],
            env={
                **given,
                # As what starts Python may set it, such as a script of that name.
                'FROM_A_WRAPPER': '1',
                'COXSWAIN_SUCCESSOR_OF': '3',
                'COXSWAIN_SUCCESSOR_CHANNEL': str(theirs.fileno()),
            },
            pass_fds=[theirs.fileno()],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        theirs.close()
        # It may have ended before it reads this.
        with contextlib.suppress(OSError):
            self.tell({'given': given, 'environment': {'RANK': '3'}, 'imports': str(imports), 'isPyTorchAlone': alone})

    def environment(self, start: str) -> dict[str, str]:
        path = os.pathsep.join(str(one) for one in (self.hook, self.image, self.folder / start))
        port = {'before': '1', 'after': '2'}[start]
        fixed = {'PATH': os.environ['PATH'], 'PYTHONDONTWRITEBYTECODE': '1', 'PYTHONNOUSERSITE': '1', 'FIXED': '1'}
        return {**fixed, 'PYTHONPATH': path, 'MASTER_PORT': port}

    def tell(self, message: dict[str, Any]) -> None:
        self.channel.write(json.dumps(message) + '\n')
        self.channel.flush()

    def answer(self) -> dict[str, Any]:
        """The next one after that it is here."""
        with contextlib.suppress(ConnectionResetError):
            for line in self.channel:
                if json.loads(line) != {'kind': 'here'}:
                    return json.loads(line)
        return {'kind': 'gone'}

    def release(self) -> dict[str, Any]:
        """Gives what it answers to the new start, or what it said before."""
        answer = self.answer()
        if answer['kind'] != 'ready':
            return answer
        environment = {**self.environment('after'), 'RANK': '3'}
        self.tell({'environment': environment, 'arguments': ['--to', 'after', '--resume']})
        return self.answer()

    def hang_up(self) -> None:
        self.channel.close()
        self._own.close()

    def end(self) -> tuple[str, str]:
        try:
            return self.process.communicate(timeout=DEADLINE_SECONDS)
        finally:
            self.process.kill()


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_it_takes_over_as_a_process_that_has_just_started(tmp_path: Path) -> None:
    waiting = Waiting(tmp_path, listed={'modules': ['library', 'not_there']})
    before = Path(f'/proc/{waiting.process.pid}/environ').read_bytes().split(b'\0')
    assert waiting.release() == {'kind': 'taken'}
    out, err = waiting.end()
    assert (waiting.process.returncode, err) == (0, '')
    seen = json.loads(out)
    assert seen['argv'] == [str(tmp_path / 'program.py'), '--to', 'after', '--resume']
    assert seen['late'] == str(tmp_path / 'after/late.py')
    assert str(tmp_path / 'before') not in seen['path']
    assert [one for one in seen['path'] if one.startswith(str(tmp_path))] == [
        str(tmp_path),
        *(str(tmp_path / name) for name in ('hook', 'image', 'after')),
    ]
    assert seen['library']
    assert not seen['comm'].startswith('successor')
    environment = seen['environment']
    assert (environment['RANK'], environment['MASTER_PORT']) == ('3', '2')
    assert not [name for name in environment if name.startswith('COXSWAIN_SUCCESSOR')]
    assert not [entry for entry in before if entry.startswith(b'RANK=')]


def test_it_keeps_what_imports_have_set_as_they_are_not_executed_again(tmp_path: Path) -> None:
    torch = """
import os
os.environ['NCCL_CUMEM_ENABLE'] = '0'
os.environ['NCCL_CUMEM_ENABLE']
os.environ['MASTER_PORT'] = '7'
os.environ['PYTHONPATH'] += ':/from/torch'
del os.environ['FIXED']
"""
    waiting = Waiting(tmp_path, torch=torch)
    assert waiting.release() == {'kind': 'taken'}
    environment = json.loads(waiting.end()[0])['environment']
    # What the new start sets to another value than the old one is as that says.
    now = {**waiting.environment('after'), 'RANK': '3'}
    del now['FIXED']
    # Python sets this one itself.
    assert {name: value for name, value in environment.items() if name != 'LC_CTYPE'} == {
        **now,
        'NCCL_CUMEM_ENABLE': '0',
        'FROM_THE_IMAGE': '3',
        'FROM_A_WRAPPER': '1',
    }


READS_PORT = 'import os\nos.environ.get("MASTER_PORT")\n'
READS_LEVEL = 'import os\nos.getenv("LEVEL")\n'
# A device that every machine has stands for the GPU.
OPENS_GPU = ("'/dev/nvidia', ", "'/dev/full', ")


@pytest.mark.parametrize(
    ('files', 'why'),
    [
        ({'torch': 'raise RuntimeError("no CPU")'}, 'RuntimeError: no CPU'),
        ({'torch': READS_PORT}, 'an import read a variable that has another value in each start: MASTER_PORT ('),
        ({'torch': 'cuda.is_initialized = lambda: True'}, 'CUDA was initialised by an import'),
        ({'torch': 'distributed.is_initialized = lambda: True'}, 'a process group was made by an import'),
        (
            {'library': READS_LEVEL, 'listed': {'modules': ['library'], 'environment': {'LEVEL': '1'}}},
            'an import read a variable that the program sets: LEVEL (',
        ),
        (
            {'listed': {'environment': {'OMP_NUM_THREADS': '4'}}},
            'the program sets OMP_NUM_THREADS, which libraries read when they are loaded; set it in engine.env',
        ),
        (
            {'alone': True, 'listed': {'environment': {'OMP_NUM_THREADS': '4'}}},
            'the program sets OMP_NUM_THREADS, which libraries read when they are loaded; set it in engine.env',
        ),
        ({'library': '1 / 0', 'listed': {'modules': ['library']}}, 'ZeroDivisionError: division by zero'),
        (
            {'part': 'kept = open("/dev/full")', 'listed': {'modules': ['torch.part']}, 'hook': OPENS_GPU},
            'the import of a library opened /dev/full, so it uses a GPU',
        ),
        ({'listed': '{"modules": ['}, 'which variables the program sets is not known: its list of imports cannot'),
        ({'listed': '{}'}, 'which variables the program sets is not known: its list of imports cannot'),
    ],
    ids=[
        'an import fails',
        'an import reads what differs in each start',
        'CUDA is in use',
        'it is in a process group',
        'an import reads what the program sets later',
        'the program sets what a library in C reads',
        'the same, and only PyTorch is imported',
        'a library that the rank has imported fails here',
        'a module of a package opens a GPU',
        'the list of the rank is broken',
        'the list of the rank has nothing',
    ],
)
def test_it_says_why_it_is_no_rank_and_ends_where(tmp_path: Path, files: dict[str, Any], why: str) -> None:
    waiting = Waiting(tmp_path, **files)
    answer = waiting.release()
    out, _ = waiting.end()
    assert (answer['kind'], answer['why'][: len(why)], out) == ('unfit', why, '')
    assert waiting.process.returncode == 1


@pytest.mark.parametrize(
    'files',
    [
        {'torch': 'import os\nassert os.environ["RANK"] == "3"\n'},
        {'torch': 'import os\ndict(os.environ), os.environ.copy(), sorted(os.environ.items())\n'},
        {'torch': READS_LEVEL, 'listed': {'environment': {'OTHER': '1'}}},
        {'torch': 'import os\nos.environ["MADE_BY_TORCH"] = "1"\n', 'listed': {'environment': {'MADE_BY_TORCH': '1'}}},
        {'listed': {'environment': {'TORCH_NCCL_TRACE_BUFFER_SIZE': '9'}}},
        {'listed': {'modules': ['torch.cuda', 'gone.for.good']}},
        {'library': '1 / 0', 'listed': {'modules': ['library']}, 'alone': True},
        {'hook': ('/proc/self/comm', '/proc/self/comm/not')},
    ],
    ids=[
        'an import reads its rank, which stays',
        'an import copies all variables',
        'an import reads what is not set',
        'an import sets what it set in the rank',
        'the program sets what is read with the process group',
        'a module is no longer there',
        'only PyTorch is to be imported',
        'its name cannot be set',
    ],
)
def test_it_becomes_the_rank_where(tmp_path: Path, files: dict[str, Any]) -> None:
    waiting = Waiting(tmp_path, **files)
    assert waiting.release() == {'kind': 'taken'}
    assert waiting.end()[0] != ''


@pytest.mark.parametrize(
    'hook',
    [
        ('import socket', 'import of_no_module'),
        ("channel.write({'kind': 'here'})", 'raise KeyboardInterrupt'),
        ('before = _folders(', 'before = of_no_name('),
    ],
    ids=['cannot be imported', 'fails before it reads anything', 'fails while it takes over'],
)
def test_it_ends_and_runs_no_program_where_its_hook(tmp_path: Path, hook: tuple[str, str]) -> None:
    waiting = Waiting(tmp_path, hook=hook)
    assert waiting.release() == {'kind': 'gone'}
    out, err = waiting.end()
    assert (waiting.process.returncode, out) == (1, '')
    assert err.startswith('The hook of a successor failed: ')


def test_it_says_that_it_is_here_before_it_reads_and_imports(tmp_path: Path) -> None:
    waiting = Waiting(tmp_path, torch='raise RuntimeError')
    assert json.loads(waiting.channel.readline()) == {'kind': 'here'}
    waiting.end()


def test_it_goes_with_its_launcher(tmp_path: Path) -> None:
    waiting = Waiting(tmp_path)
    assert waiting.answer() == {'kind': 'ready'}
    waiting.hang_up()
    assert waiting.end() == ('', '')
    assert waiting.process.returncode == 0


def test_modules_of_libraries_are_listed_in_their_order_and_those_of_the_program_are_not(tmp_path: Path) -> None:
    _write(tmp_path / 'site-packages/lib/__init__.py', 'import lib.part')
    _write(tmp_path / 'site-packages/lib/part.py', '')
    _write(tmp_path / 'site-packages/engine/__init__.py', '')
    _write(tmp_path / 'site-packages/engine/train.py', 'import lib, own, engine.parts')
    _write(tmp_path / 'site-packages/engine/parts.py', '')
    _write(tmp_path / 'site-packages/mpi4py.py', '')
    _write(tmp_path / 'own.py', 'import mpi4py, json.tool')
    code = (
        'import sys, json\n'
        'from coxswain_hook.imports import library_modules\n'
        'import engine.train\n'
        'main = type(sys)("__main__"); main.__spec__ = engine.train.__spec__\n'
        'found = library_modules({**sys.modules, "__main__": main, "alias": sys.modules["lib"]})\n'
        'print(json.dumps(found))'
    )
    hook = Path(__file__).parents[1] / 'hook'
    path = os.pathsep.join(str(one) for one in (hook, tmp_path / 'site-packages', tmp_path))
    ended = subprocess.run(
        [sys.executable, '-c', code], env={'PYTHONPATH': path}, capture_output=True, text=True, timeout=DEADLINE_SECONDS
    )
    found = json.loads(ended.stdout)
    own = ('lib', 'own', 'engine', 'mpi4py', 'alias')
    assert [name for name in found if name.partition('.')[0] in own] == ['lib.part', 'lib']
    assert 'json.tool' in found


def test_variables_that_a_program_has_set_or_removed_are_known() -> None:
    assert changed({'A': '1', 'B': '2', 'C': '3'}, {'A': '1', 'B': '4', 'D': '5'}) == {'B': '4', 'C': None, 'D': '5'}


def test_no_module_is_listed_of_nothing() -> None:
    assert library_modules({}) == []
