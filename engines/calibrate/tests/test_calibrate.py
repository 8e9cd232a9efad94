"""Two ranks measure each other for a second: is every probe there, and is each time one?"""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

ENGINES = Path(__file__).parents[2]
PROGRAM = ENGINES / 'calibrate' / 'coxswain_calibrate.py'
sys.path[:0] = [str(ENGINES / 'calibrate'), str(ENGINES / 'preflight')]

from coxswain_calibrate import Clock  # noqa: E402 - needs the path above


@pytest.fixture(scope='module')
def measured(tmp_path_factory: pytest.TempPathFactory) -> dict:
    out = tmp_path_factory.mktemp('calibrate') / 'measured.json'
    # Bound until the end and not listened on: the kernel gives it to nobody, and ranks that say the same may take it.
    kept = socket.socket()
    kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    kept.bind(('127.0.0.1', 0))
    port = kept.getsockname()[1]
    shared = {
        **os.environ,
        'PYTHONPATH': str(ENGINES / 'preflight'),
        'OMP_NUM_THREADS': '1',
        'WORLD_SIZE': '2',
        'LOCAL_WORLD_SIZE': '2',
        'MASTER_ADDR': '127.0.0.1',
        'MASTER_PORT': str(port),
    }
    command = [sys.executable, str(PROGRAM), '--seconds', '1', '--out', str(out)]
    ranks = [
        subprocess.Popen(command, env={**shared, 'RANK': str(rank), 'LOCAL_RANK': str(rank)}, stderr=subprocess.PIPE)
        for rank in range(2)
    ]
    for rank in ranks:
        _, errors = rank.communicate(timeout=900)
        assert rank.returncode == 0, errors.decode()
    kept.close()
    return json.loads(out.read_text())


def test_says_where_it_measured(measured: dict) -> None:
    assert {key: measured[key] for key in ('format', 'backend', 'precision', 'ranks', 'ranksPerNode')} == {
        'format': 1,
        'backend': 'gloo',
        'precision': 'fp32',
        'ranks': 2,
        'ranksPerNode': 2,
    }


def test_each_kind_of_probe_has_times(measured: dict) -> None:
    kinds = {probe['kind'] for probe in measured['probes']}
    assert kinds == {'product', 'step', 'collective'}
    assert all(0 < probe['seconds'] < 60 for probe in measured['probes'])


def test_steps_are_measured_alone_and_divided(measured: dict) -> None:
    divisions = {(probe['tensor'], probe['data']) for probe in measured['probes'] if probe['kind'] == 'step'}
    assert divisions == {(1, 1), (1, 2), (2, 1)}


def test_products_of_every_shape_are_measured(measured: dict) -> None:
    shapes = [(p['m'], p['n'], p['k']) for p in measured['probes'] if p['kind'] == 'product']
    assert shapes == [(128, 128, 128), (256, 256, 256), (512, 512, 512), (512, 128, 64), (1024, 256, 128)]


@pytest.fixture
def alone() -> Iterator[None]:
    dist.init_process_group('gloo', store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


@pytest.mark.parametrize(
    ('calls_s', 'seconds'),
    [
        pytest.param([0.01], 0.01, id='work that always takes as long is that long, however many calls a window has'),
        pytest.param([3.0], 3.0, id='work that is longer than its window is called once in each'),
        pytest.param([9.0, 0.2, 0.1, 5.0, 0.3], 0.3, id='a warming call and one slow window of three are not the answer'),
    ],
)
@pytest.mark.usefixtures('alone')
def test_a_probe_is_the_seconds_of_one_call(calls_s: list[float], seconds: float) -> None:
    now_s = 0.0
    left = iter(calls_s)

    def work() -> None:
        nonlocal now_s
        now_s += next(left, calls_s[-1])

    assert Clock(torch.device('cpu'), 0.3, lambda: now_s).seconds(work) == pytest.approx(seconds, rel=1e-5)


def test_a_program_without_ranks_says_what_it_lacks() -> None:
    bare = {key: value for key, value in os.environ.items() if key not in ('RANK', 'WORLD_SIZE')}
    ended = subprocess.run(
        [sys.executable, str(PROGRAM), '--seconds', '1'],
        env={**bare, 'PYTHONPATH': str(ENGINES / 'preflight')},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ended.returncode != 0
    assert 'RANK' in ended.stderr
