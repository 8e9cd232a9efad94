"""The hook tells facts in order, never blocks, and drops steps rather than facts that are told once."""

from __future__ import annotations

import json
import os
import socket
import threading
from pathlib import Path

import pytest
from coxswain_agent import Reporter, StepTimer

ONLY_FOR_WHAT_HANGS_SECONDS = 60


def a_step(reporter: Reporter, step: int, **other: object) -> None:
    facts = {'step': step, 'rank': 0, 'step_time_ms': 1.0, 'tokens': 8, 'loss': 2.5} | other
    reporter.step(**facts)  # type: ignore[arg-type]


def read_all(connection: socket.socket) -> list[dict[str, object]]:
    with connection, connection.makefile() as lines:
        return [json.loads(line) for line in lines]


class Launcher:
    """Listens as a launcher would, answers the first line of one connection, and reads the rest."""

    def __init__(self, path: Path, answer: dict[str, str] | None) -> None:
        self.environment = {'COXSWAIN_REPORT_SOCKET': str(path), 'COXSWAIN_BOOT_ID': 'a-boot', 'RANK': '3'}
        self.lines: list[dict[str, object]] = []
        self._answer = answer
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(path))
        self._listening.listen()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def told(self) -> list[dict[str, object]]:
        self._thread.join(10)
        self._listening.close()
        return self.lines

    def _serve(self) -> None:
        connection, _ = self._listening.accept()
        with connection, connection.makefile('rw') as file:
            self.lines.append(json.loads(file.readline()))
            if self._answer is None:
                return
            file.write(json.dumps(self._answer) + '\n')
            file.flush()
            self.lines += [json.loads(line) for line in file]


@pytest.mark.parametrize(('saves', 'reads'), [(False, ['stacks']), (True, ['stacks', 'saves'])])
def test_a_hook_says_which_questions_it_answers(saves: bool, reads: list[str], tmp_path: Path) -> None:
    launcher = Launcher(tmp_path / 'facts', {'kind': 'welcome'})
    Reporter.from_environment(launcher.environment, saves_when_asked=saves).close()
    assert launcher.told()[0]['reads'] == reads


def test_the_newest_request_to_save_is_kept_for_the_engine_whatever_else_is_said() -> None:
    reporter = Reporter(None)
    assert reporter.save_asked == 0
    for line in (
        b'{"kind":"saveWanted","request":2}',
        b'{"kind":"saveWanted","request":1}',
        b'{"kind":"saveWanted"}',
        b'{"kind":"saveWanted","request":"many"}',
        b'{"kind":"newer","request":9}',
    ):
        reporter._answer(line)
    assert reporter.save_asked == 2


def test_facts_arrive_in_order_one_json_object_a_line(tmp_path: Path) -> None:
    launcher = Launcher(tmp_path / 'facts', {'kind': 'welcome'})
    reporter = Reporter.from_environment(launcher.environment)
    reporter.resumed(4)
    a_step(reporter, 5, timings_ms={'forward': 0.5})
    reporter.checkpoint_saved(step=5, directory='step-00000005', size_bytes=10, files=2, manifest_sha256='ab')
    reporter.close()
    hello, *facts = launcher.told()
    assert hello.pop('python')
    assert hello == {
        'kind': 'hello', 'version': 1, 'pid': os.getpid(), 'bootId': 'a-boot', 'rank': 3, 'hook': 'engine',
        'reads': ['stacks'],
    }  # fmt: skip
    assert facts == [
        {'kind': 'resumed', 'step': 4},
        {
            'kind': 'step', 'step': 5, 'loss': 2.5, 'tokens': 8, 'stepTimeMs': 1.0, 'rank': 0,
            'timingsMs': {'forward': 0.5}, 'learningRate': None, 'gradNorm': None,
        },
        {
            'kind': 'checkpointSaved', 'step': 5, 'directory': 'step-00000005',
            'bytes': 10, 'files': 2, 'manifestSha256': 'ab',
        },
    ]  # fmt: skip


def test_facts_are_told_where_no_further_thread_can_be_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name == 'coxswain-asked':
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, 'start', refuse)
    launcher = Launcher(tmp_path / 'facts', {'kind': 'welcome'})
    reporter = Reporter.from_environment(launcher.environment)
    reporter.resumed(4)
    reporter.close()
    assert [fact['kind'] for fact in launcher.told()] == ['hello', 'resumed']


def test_a_reader_that_does_not_read_never_blocks_the_training_and_loses_steps_only() -> None:
    reading, writing = socket.socketpair()
    reporter = Reporter(lambda: writing, capacity=50)

    def train() -> None:
        reporter.checkpoint_saved(step=0, directory='d', size_bytes=1, files=1, manifest_sha256='ab')
        for step in range(1, 5001):
            a_step(reporter, step)
        reporter.checkpoint_saved(step=5000, directory='e', size_bytes=1, files=1, manifest_sha256='ab')

    training = threading.Thread(target=train, daemon=True)
    training.start()
    training.join(ONLY_FOR_WHAT_HANGS_SECONDS)
    # Nothing is read before the training has ended: one that waits for its reader would never end.
    assert not training.is_alive()
    assert reporter.dropped > 3000
    reporter.close(timeout_seconds=0)
    seen = read_all(reading)
    kinds = [fact['kind'] for fact in seen]
    told_once = [kind for kind in kinds if kind not in ('step', 'reportsDropped')]
    assert told_once == ['checkpointSaved', 'checkpointSaved'] and kinds[-1] == 'checkpointSaved'
    told = sum(fact['count'] for fact in seen if fact['kind'] == 'reportsDropped')  # type: ignore[misc]
    assert told == reporter.dropped
    assert kinds.count('step') + told == 5000


@pytest.mark.parametrize(
    'environment',
    [
        {},
        {'COXSWAIN_REPORT_SOCKET': '/no/such/socket', 'COXSWAIN_BOOT_ID': 'a-boot', 'RANK': '0'},
        {'COXSWAIN_REPORT_SOCKET': '/no/such/socket', 'COXSWAIN_BOOT_ID': 'a-boot'},
        {'COXSWAIN_REPORT_SOCKET': '/no/such/socket', 'COXSWAIN_BOOT_ID': 'a-boot', 'RANK': 'first'},
        {'COXSWAIN_REPORT_SOCKET': '/x' * 100, 'COXSWAIN_BOOT_ID': 'a-boot', 'RANK': '0'},
    ],
)
def test_without_a_launcher_the_reporter_is_silent(environment: dict[str, str]) -> None:
    reporter = Reporter.from_environment(environment)
    a_step(reporter, 1)
    assert reporter.wait_until_written(5.0)
    reporter.close()


@pytest.mark.parametrize('answer', [{'kind': 'refused', 'why': 'rank 3 is not one of this pod'}, None])
def test_whoever_is_not_believed_falls_silent(tmp_path: Path, answer: dict[str, str] | None) -> None:
    launcher = Launcher(tmp_path / 'facts', answer)
    reporter = Reporter.from_environment(launcher.environment)
    a_step(reporter, 1)
    assert reporter.wait_until_written(5.0)
    reporter.close()
    assert [line['kind'] for line in launcher.told()] == ['hello']


def test_a_launcher_that_is_gone_ends_the_reports_and_not_the_training() -> None:
    reading, writing = socket.socketpair()
    reading.close()
    reporter = Reporter(lambda: writing)
    for step in range(100):
        a_step(reporter, step)
    assert reporter.wait_until_written(5.0)
    a_step(reporter, 101)
    reporter.close()


def test_figures_that_are_not_finite_are_told_by_their_word() -> None:
    reading, writing = socket.socketpair()
    reporter = Reporter(lambda: writing)
    a_step(reporter, 1, loss=float('nan'), grad_norm=float('inf'))
    a_step(reporter, 2, loss=float('-inf'), grad_norm=None)
    a_step(reporter, 3, loss=1.5, grad_norm=2.5)
    reporter.close()
    facts = read_all(reading)
    assert [(fact['loss'], fact['gradNorm'], fact.get('notFinite')) for fact in facts] == [
        (None, None, {'loss': 'NaN', 'gradNorm': 'Infinity'}),
        (None, None, {'loss': '-Infinity'}),
        (1.5, 2.5, None),
    ]


def test_a_phase_inside_another_pauses_it() -> None:
    times = iter([0.0, 1.0, 5.0, 7.0])
    timer = StepTimer(('forward', 'communication'), clock=lambda: next(times))
    with timer.phase('forward'), timer.phase('communication'):
        pass
    assert timer.take_ms() == {'forward': 3000.0, 'communication': 4000.0}
    assert timer.take_ms() == {'forward': 0.0, 'communication': 0.0}
