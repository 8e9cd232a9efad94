"""Two ranks measure each other for a second: is every probe there, and is each time one?"""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ENGINES = Path(__file__).parents[2]
PROGRAM = ENGINES / 'calibrate' / 'coxswain_calibrate.py'


@pytest.fixture(scope='module')
def measured(tmp_path_factory: pytest.TempPathFactory) -> dict:
    out = tmp_path_factory.mktemp('calibrate') / 'measured.json'
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        port = free.getsockname()[1]
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
        _, errors = rank.communicate(timeout=300)
        assert rank.returncode == 0, errors.decode()
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


def test_larger_products_take_longer(measured: dict) -> None:
    squares = sorted((p['m'], p['seconds']) for p in measured['probes'] if p['kind'] == 'product' and p['m'] == p['k'])
    assert [seconds for _, seconds in squares] == sorted(seconds for _, seconds in squares)


def test_a_program_without_ranks_says_what_it_lacks() -> None:
    bare = {key: value for key, value in os.environ.items() if key not in ('RANK', 'WORLD_SIZE')}
    ended = subprocess.run(
        [sys.executable, str(PROGRAM), '--seconds', '1'],
        env={**bare, 'PYTHONPATH': str(ENGINES / 'preflight')},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode != 0
    assert 'RANK' in ended.stderr
