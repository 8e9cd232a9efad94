"""What the program finds out by itself, and how pods meet. That gangs are measured is shown by `npm run campaign -- preflight`."""

import hashlib
import json
import socket
import threading

import coxswain_preflight as preflight
import pytest


def at(board, pod, key=None):
    return preflight.Meeting('127.0.0.1:%d' % board.port, key or board.key, pod)


def answer_to(nonsense, board):
    with socket.create_connection(('127.0.0.1', board.port)) as stranger:
        stranger.sendall(nonsense)
        stranger.shutdown(socket.SHUT_WR)
        return json.loads(stranger.recv(100))


def test_facts_fit_the_contract_and_name_what_this_python_is():
    facts = preflight.local_facts()
    assert facts['python'].startswith('3.')
    assert len(facts['packagesSha256']) == 64
    assert facts['sharedMemoryBytes'] > 0
    assert facts['scratchFreeBytes'] > 0
    assert facts['memlockBytes'] is None or facts['memlockBytes'] >= 0


def test_packages_are_known_by_the_folders_of_their_metadata(tmp_path, monkeypatch):
    for name in ('torch-2.15.0+cpu.dist-info', 'nvidia_nccl_cu12-2.30.1.dist-info', 'Old-1.0.egg-info', 'torch'):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(preflight.sys, 'path', [str(tmp_path), str(tmp_path / 'gone')])
    packages = preflight.installed_packages()
    assert packages == ['nvidia_nccl_cu12-2.30.1', 'old-1.0', 'torch-2.15.0+cpu']
    assert preflight.package_versions(packages) == {'torch': '2.15.0+cpu', 'nccl': '2.30.1'}
    assert preflight.sha256_of(['a', 'b']) == hashlib.sha256(b'a\nb').hexdigest()


def test_gpus_are_those_that_nvidia_smi_lists(tmp_path, monkeypatch):
    script = tmp_path / 'nvidia-smi'
    script.write_text('#!/bin/sh\necho "NVIDIA H100 80GB HBM3, 81559, 570.86.15"\necho "nonsense"\n')
    script.chmod(0o755)
    monkeypatch.setenv('PATH', '%s:/usr/bin:/bin' % tmp_path)
    gpu = {'name': 'NVIDIA H100 80GB HBM3', 'memoryBytes': 81559 * 2**20}
    assert preflight.gpu_facts() == {'gpus': [gpu], 'driver': '570.86.15'}


def test_a_gpu_that_is_lost_is_missing_among_those_that_are_listed(tmp_path, monkeypatch):
    script = tmp_path / 'nvidia-smi'
    rows = ('[GPU is lost], [GPU is lost], [GPU is lost]', 'NVIDIA H100, 81559, 570.86.15')
    script.write_text('#!/bin/sh\n%s\nexit 15\n' % '\n'.join('echo "%s"' % row for row in rows))
    script.chmod(0o755)
    monkeypatch.setenv('PATH', '%s:/usr/bin:/bin' % tmp_path)
    gpu = {'name': 'NVIDIA H100', 'memoryBytes': 81559 * 2**20}
    assert preflight.gpu_facts() == {'gpus': [gpu], 'driver': '570.86.15'}


def test_gpus_are_unknown_where_nvidia_smi_is_missing_or_fails(tmp_path, monkeypatch):
    monkeypatch.setenv('PATH', str(tmp_path))
    assert preflight.gpu_facts() == {}
    script = tmp_path / 'nvidia-smi'
    script.write_text('#!/bin/sh\nexit 9\n')
    script.chmod(0o755)
    assert preflight.gpu_facts() == {}


def test_pods_wait_at_the_board_until_all_have_come():
    board = preflight.Board(2)
    seen = {}
    early = threading.Thread(target=lambda: seen.update(early=at(board, 0).all('here', 'zero')))
    early.start()
    early.join(0.05)
    assert 'early' not in seen
    assert at(board, 1).all('here', 'one', 10) == {0: 'zero', 1: 'one'}
    early.join(10)
    assert seen['early'] == {0: 'zero', 1: 'one'}


def test_who_does_not_come_is_waited_for_no_longer_than_is_allowed():
    with pytest.raises(TimeoutError, match='1 pods did not come to "here"'):
        at(preflight.Board(2), 0).all('here', wait_s=0.05)


def test_a_clock_is_read_beside_that_of_the_board(monkeypatch):
    board = preflight.Board(1)
    asked = at(board, 0)
    assert abs(asked.clock()['aheadMs']) < 1000
    real = preflight.time.time
    monkeypatch.setattr(board, 'answer', lambda _: {'time': real() - 5})
    assert asked.clock()['aheadMs'] == pytest.approx(5000, abs=500)


def test_strangers_are_told_nothing():
    board = preflight.Board(1)
    with pytest.raises(ValueError, match='Expecting value'):
        at(board, 0, key='guessed').all('here', wait_s=1)
    for nonsense in (b'{}\n', b'nonsense\n', b'x' * 300_000):
        # Whoever is cut off before it has said all of it hears of that as it goes on.
        with pytest.raises((json.JSONDecodeError, OSError)):
            answer_to(nonsense, board)
    assert at(board, 0).all('here', wait_s=10) == {0: None}
