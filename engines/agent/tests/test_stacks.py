"""What each thread is in the middle of is told by another one, also where the first one waits in C code, in bounds."""

from __future__ import annotations

import gc
import itertools
import json
import os
import sys
import threading
import time
import types
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from coxswain_agent import Reporter, stacks
from hooked import run_hooked

TWO_RANKS = """
import os, threading, torch, torch.distributed as dist
from coxswain_hook.reporter import Reporter
dist.init_process_group('gloo')
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

def forgets_the_barrier():
    # Opened by the other end once both have answered.
    open(os.environ['ANSWERED']).close()

def step():
    optimizer.step()
    # Says something while the first thread stands: then it is asked.
    threading.Timer(1.5, lambda: Reporter.from_environment(os.environ).resumed(1)).start()
    if dist.get_rank() == 1:
        forgets_the_barrier()
    dist.barrier()

step()
dist.destroy_process_group()
"""


def waits_for_event(thread: threading.Thread) -> bool:
    """Whether it has come to where an Event waits, two functions deep."""
    frame = sys._current_frames().get(thread.ident or 0)
    return frame is not None and all(
        one is not None and (one.f_code.co_filename, one.f_code.co_name) == (threading.__file__, 'wait')
        for one in (frame, frame.f_back)
    )


@contextmanager
def waiting(body: Callable[[threading.Event], None], name: str) -> Iterator[None]:
    over = threading.Event()
    thread = threading.Thread(target=body, args=(over,), name=name)
    thread.start()
    while not waits_for_event(thread):
        time.sleep(0.01)
    try:
        yield
    finally:
        over.set()
        thread.join()


def of(name: str) -> dict[str, Any]:
    (found,) = [thread for thread in stacks.take() if thread['thread'] == name]
    return found


def test_a_name_of_characters_that_take_two_units_is_cut_by_units() -> None:
    name = 'n' + 40 * '\U0001f6a3'
    with waiting(lambda over: over.wait() and None, name):
        (told,) = [thread['thread'] for thread in stacks.take() if thread['thread'].startswith('n\U0001f6a3')]
    assert told == 'n' + 31 * '\U0001f6a3'
    assert len(told.encode('utf-16-le')) // 2 <= 64


class Tensor:
    """What a step holds."""


def test_nothing_that_a_thread_holds_is_kept_though_nobody_collects_garbage() -> None:
    held: list[weakref.ref[Tensor]] = []
    asked = threading.Event()

    def step(over: threading.Event) -> None:
        tensor = Tensor()
        held.append(weakref.ref(tensor))
        asked.set()
        over.wait()

    gc.disable()
    try:
        with waiting(step, 'trains'):
            asked.wait()
            assert of('trains')['frames']
        assert held[0]() is None
    finally:
        gc.enable()


def test_the_first_thread_comes_first_and_others_say_where_they_wait_innermost_first() -> None:
    def waits_for_data(over: threading.Event) -> None:
        over.wait()

    with waiting(waits_for_data, 'loader'):
        first, *_ = stacks.take()
        loader = of('loader')
    assert (first['thread'], first['isMain']) == ('MainThread', True)
    here = 'test_the_first_thread_comes_first_and_others_say_where_they_wait_innermost_first'
    assert any(frame.startswith(here) for frame in first['frames'])
    assert loader['isMain'] is False
    assert 'wait (threading.py:' in loader['frames'][0]
    assert 'waits_for_data (test_stacks.py:' in loader['frames'][2]
    assert 'isCut' not in loader


def test_our_own_threads_are_left_out() -> None:
    with waiting(lambda over: over.wait() and None, 'coxswain-report'):
        assert not [thread for thread in stacks.take() if thread['thread'].startswith('coxswain-')]


def test_a_deep_stack_is_told_by_its_innermost_functions() -> None:
    def deeper(over: threading.Event, left: int) -> None:
        if left > 0:
            return deeper(over, left - 1)
        over.wait()

    with waiting(lambda over: deeper(over, 200), 'deep'):
        deep = of('deep')
    assert (len(deep['frames']), deep['isCut']) == (stacks.MAX_FRAMES, True)
    assert '.deeper (' in deep['frames'][-1] or 'deeper (' in deep['frames'][-1]


@pytest.mark.parametrize('name', ['x' * 5_000, '\x1b[2J\n\r\u202e', '\ud800'])
def test_names_are_anything_and_the_answer_is_a_line_of_json_in_its_bounds(name: str) -> None:
    def waits(over: threading.Event, left: int = 60) -> None:
        over.wait() if left == 0 else called(over, left - 1)

    called = types.FunctionType(waits.__code__.replace(co_name=name), globals(), name, (60,), waits.__closure__)
    threads = [waiting(called, f'{name[:100]}{index}') for index in range(10)]
    for one in threads:
        one.__enter__()
    try:
        told = stacks.take()
    finally:
        for one in threads:
            one.__exit__(None, None, None)
    line = json.dumps(told)
    assert '\n' not in line and len(line.encode()) <= stacks.MAX_BYTES + 2
    assert told[0]['isMain'] is True
    assert max(len(frame) for thread in told for frame in thread['frames']) <= 256


def test_a_path_that_cannot_be_read_is_no_end_of_the_answer_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Odd:
        def __str__(self) -> str:
            raise OSError

    reporter, told = Reporter(None), []
    monkeypatch.setattr(reporter, '_put', told.append)
    with monkeypatch.context() as broken:
        broken.setattr('sys.path', [Odd()])
        reporter._answer(b'{"kind":"stacksWanted","request":1}')
    for line in (b'', b'7', b'{"kind":"newer"}', b'{"kind":"stacksWanted"}', b'{"kind":"stacksWanted","request":2}'):
        reporter._answer(line)
    assert [(fact['request'], fact['threads'][0]['thread']) for fact in told] == [(2, 'MainThread')]


def test_a_rank_that_waits_in_a_collective_answers_and_so_does_the_one_for_which_it_waits(tmp_path: Path) -> None:
    answered = tmp_path / 'answered'
    os.mkfifo(answered)
    count = itertools.count(1)

    def hears(fact: dict[str, Any]) -> bool:
        if fact['kind'] == 'stacks' and next(count) == 2:
            answered.write_text('')
        return fact['kind'] == 'resumed'

    environment = {'ANSWERED': str(answered)}
    told, ended = run_hooked(tmp_path, TWO_RANKS, ranks=2, environment=environment, asks_after=hears)
    assert [one.returncode for one in ended] == [0, 0]
    answers = [told.of_rank(rank, 'stacks') for rank in range(2)]
    assert [[answer['request'] for answer in one] for one in answers] == [[7], [7]]
    waits, forgets = [answer[0]['threads'][0]['frames'] for answer in answers]
    assert any(frame.startswith('barrier (torch/distributed/distributed_c10d.py:') for frame in waits), waits
    assert forgets[0].startswith('forgets_the_barrier (program.py:'), forgets
    assert forgets[1].startswith('step (program.py:'), forgets
