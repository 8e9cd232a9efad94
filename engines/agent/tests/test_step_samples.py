"""Of one step in many a rank tells how long its GPU computed, and how long it waited for others."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'hook'))
from coxswain_hook.step_samples import StepSamples  # noqa: E402
from coxswain_hook.step_trace import StepTrace, Traced  # noqa: E402
from coxswain_hook.waits import exposed, length  # noqa: E402

SPANS: dict[str, tuple[list[tuple[int, int]], list[tuple[int, int]], int]] = {
    'nothing at all': ([], [], 0),
    'nothing computed beside it': ([(10, 20)], [], 10),
    'all of it hidden behind computing': ([(10, 20)], [(0, 30)], 0),
    'the same time waited for twice': ([(10, 20), (12, 18), (15, 25)], [], 15),
    'computing that begins and ends within it': ([(10, 30)], [(12, 15), (20, 25)], 12),
    'computing that overlaps its begin and its end': ([(10, 30)], [(0, 12), (28, 40)], 16),
    'two, and one computation over both': ([(10, 20), (30, 40)], [(15, 35)], 10),
    'computing told in any order, some of it twice': ([(0, 100)], [(60, 70), (10, 20), (10, 15), (65, 70)], 80),
}


@pytest.mark.parametrize('what', SPANS)
def test_time_in_which_a_rank_only_waits_is_found_with(what: str) -> None:
    communication, compute, left = SPANS[what]
    assert exposed(communication, compute) == left


def test_time_that_spans_share_counts_once() -> None:
    assert length([(5, 10), (0, 3), (8, 12)]) == 10


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Trace:
    """Sees steps of which a fifth is waiting and a half computing, in bursts; beginning and ending cost `cost` seconds each."""

    def __init__(self, clock: Clock, cost: float = 0.0) -> None:
        self._clock = clock
        self._cost = cost
        self.step_seconds = 1.0
        self.events = 10
        self.is_free = True
        self.is_broken = False
        self.dropped = 0

    def begin(self) -> bool:
        if self.is_broken:
            raise RuntimeError
        self._clock.now += self._cost
        return self.is_free

    def end(self) -> Traced:
        self._clock.now += self._cost
        traced = Traced(self.step_seconds)
        traced.events = self.events
        traced.compute = [(0, int(0.5e9 * self.step_seconds))]
        traced.communication = [(int(0.5e9 * self.step_seconds), int(0.7e9 * self.step_seconds))]
        return traced

    def drop(self) -> None:
        self.dropped += 1


class Training:
    """Steps of one second, unless said otherwise."""

    def __init__(self, cost: float = 0.0) -> None:
        self.clock = Clock()
        self.trace = Trace(self.clock, cost)
        self.later: list[Any] = []
        self.samples = StepSamples(lambda: self.trace, self.later.append, self.clock)
        self.step = 0
        self.faults = 0

    def run(self, steps: int, seconds: float = 1.0) -> dict[int, Any]:
        """By number of a step the parts that were told of it."""
        told = {}
        for _ in range(steps):
            self.step += 1
            self.clock.now += seconds
            try:
                parts = self.samples.ended(seconds)
                if parts is not None:
                    told[self.step] = parts
                self.samples.begin_if_due(self.step)
            except RuntimeError:
                self.faults += 1
        return told


def test_a_step_every_eight_seconds_is_told_in_parts_and_the_first_that_is_looked_into_is_not() -> None:
    told = Training().run(50)
    # The one after step 16 is the first: it has the profiler loaded.
    assert list(told) == [25, 33, 41, 49]
    assert told[25] == pytest.approx({'compute': 500, 'host': 300, 'communication': 200})


def test_ranks_that_look_less_often_look_at_steps_at_which_the_others_look_too() -> None:
    often, seldom = set(Training().run(600)), set(Training(cost=0.1).run(600))
    assert seldom < often


@pytest.mark.parametrize('cost', [0.001, 0.02, 0.1, 1.0])
def test_looking_takes_at_most_a_hundredth_of_the_time(cost: float) -> None:
    training = Training(cost)
    told = training.run(20_000)
    assert len(told) > 10
    assert 2 * cost * len(told) <= 0.01 * 20_000


def test_of_steps_of_a_minute_every_second_one_is_looked_into() -> None:
    training = Training()
    training.trace.step_seconds = 60.0
    assert list(training.run(20, 60.0)) == [13, 15, 17, 19]


def test_the_events_of_a_step_count_as_costs() -> None:
    training = Training()
    training.trace.events = 150_000
    # 0.3 s: a minute's share, and from the first one on every 32nd step.
    assert list(training.run(140)) == [25, 33, 65, 97, 129]


def test_a_step_twice_as_long_as_others_is_not_told_in_parts() -> None:
    training = Training()
    training.run(30)
    training.trace.step_seconds = 2.1
    assert training.run(8) == {}
    training.trace.step_seconds = 1.9
    assert list(training.run(8)) == [41]


def test_hosts_that_run_ahead_of_their_gpus_are_sampled_as_often_and_their_steps_are_told() -> None:
    training = Training()
    told: dict[int, Any] = {}
    training.trace.step_seconds = 1.4
    # Of ten steps nine are asked for in a tenth of a second each, and one waits for the GPU.
    for _ in range(12):
        told |= training.run(9, 0.1)
        told |= training.run(1, 13.1)
    assert [step for step in told if step > 100] == [101, 105, 109, 113, 117]
    assert told[101] == pytest.approx({'compute': 700, 'host': 420, 'communication': 280})


def test_a_step_in_which_the_rank_was_seen_to_do_something_else_is_not_told_in_parts() -> None:
    training = Training()
    training.run(32)
    training.samples.watch('saving')
    training.samples.watch('training')
    assert training.run(8) == {}
    training.samples.watch('training')
    assert list(training.run(8)) == [41]


def test_a_step_that_does_not_end_is_not_waited_for() -> None:
    training = Training()
    training.run(32)
    training.clock.now += 9
    training.samples.watch('training')
    assert training.later == []
    training.clock.now += 2
    training.samples.watch('evaluating')
    training.samples.watch('evaluating')
    (give_up,) = training.later
    give_up()
    assert training.trace.dropped == 1
    assert training.run(1, 11.0) == {}
    # Nor do its eleven seconds make steps look longer.
    assert list(training.run(17)) == [41, 49]


def test_steps_are_not_looked_into_more_often_for_an_evaluation_of_half_an_hour() -> None:
    training = Training()
    training.run(30)
    training.samples.watch('evaluating')
    training.run(1, 1800.0)
    assert list(training.run(25)) == [33, 41, 49]


def test_where_others_profile_nothing_is_looked_into_until_they_are_gone() -> None:
    training = Training()
    training.trace.is_free = False
    assert training.run(40) == {}
    training.trace.is_free = True
    assert list(training.run(24)) == [57]


def test_a_step_with_too_many_events_is_the_last_that_is_looked_into() -> None:
    from coxswain_hook.step_trace import TooLarge

    training = Training()
    training.run(32)
    training.trace.end = lambda: (_ for _ in ()).throw(TooLarge())  # type: ignore[method-assign]
    training.run(1)
    assert training.faults == 0
    training.trace.is_broken = True
    training.run(100)
    assert training.faults == 0


def test_what_fails_three_times_is_not_tried_again() -> None:
    training = Training()
    training.trace.is_broken = True
    training.run(200)
    assert training.faults == 3


KERNELS: dict[str, tuple[str, str, str | None]] = {
    'a product': ('CUDA', 'void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16>', 'compute'),
    'a copy on the device': ('CUDA', 'Memcpy DtoD (Device -> Device)', 'compute'),
    'NCCL': ('CUDA', 'ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)', 'communication'),
    'NCCL of before': ('CUDA', 'ncclKernel_AllReduce_RING_LL_Sum_float', 'communication'),
    'symmetric memory': ('CUDA', 'void two_shot_all_reduce_kernel<float, 4>', 'communication'),
    'a host that waits for the device': ('CUDA', 'Context Sync', None),
    'a call of the host': ('CPU', 'cudaLaunchKernel', None),
}

class Event:
    def __init__(self, device: str, name: str) -> None:
        self.device_type = lambda: device
        self.name = lambda: name
        self.start_ns = lambda: 5
        self.duration_ns = lambda: 7


class OldEvent:
    """As PyTorch before 2.4 tells it."""

    def __init__(self, device: str, name: str) -> None:
        self.device_type = lambda: device
        self.name = lambda: name
        self.start_us = lambda: 5
        self.duration_us = lambda: 7


@pytest.mark.parametrize('what', KERNELS)
def test_what_is_computing_and_what_is_communication_is_known_of(what: str) -> None:
    device, name, expected = KERNELS[what]
    for kind, span in ((Event, (5, 12)), (OldEvent, (5000, 12000))):
        seen = read_by([kind(device, name)])
        assert {'compute': seen.compute, 'communication': seen.communication} == {
            'compute': [span] if expected == 'compute' else [],
            'communication': [span] if expected == 'communication' else [],
        }


class Profiler:
    """As `torch.autograd.profiler.profile` says of itself whether it records."""

    def __init__(self, **_: Any) -> None:
        self.entered = False
        self.kineto_results: Any = None

    def config(self) -> dict[str, Any]:
        return {}


class Torch:
    """A PyTorch that has recorded `events`, and notes how many traces are under way."""

    def __init__(self, events: list[Any] | None = None, *, is_captured: bool = False) -> None:
        self.under_way = 0
        self.autograd = SimpleNamespace(
            ProfilerActivity=SimpleNamespace(CUDA='CUDA'),
            DeviceType=SimpleNamespace(CUDA='CUDA'),
            profiler=SimpleNamespace(profile=Profiler),
            _profiler_enabled=lambda: self.under_way > 0,
            _prepare_profiler=lambda *_: None,
            _enable_profiler=lambda *_: self._count(1),
            _disable_profiler=lambda: self._count(-1) or SimpleNamespace(events=lambda: events or []),
            _supported_activities=lambda: ['CPU', 'CUDA'],
        )
        self.profiler = SimpleNamespace()
        self.cuda = SimpleNamespace(
            Event=lambda: SimpleNamespace(record=lambda: None, synchronize=lambda: None),
            is_current_stream_capturing=lambda: is_captured,
        )

    def _count(self, more: int) -> None:
        self.under_way += more


def read_by(events: list[Any]) -> Traced:
    """What a trace makes of events of a PyTorch that has recorded just these."""
    torch = Torch(events)
    trace = StepTrace(torch)
    assert trace.begin()
    traced = trace.end()
    assert traced is not None
    assert torch.under_way == 0
    return traced


def test_where_the_program_has_a_profiler_no_trace_is_begun_until_it_is_gone() -> None:
    torch = Torch()
    trace = StepTrace(torch)
    theirs = Profiler()
    assert not trace.begin()
    del theirs
    assert trace.begin()


def test_of_a_step_in_which_the_program_made_a_profiler_nothing_is_told_and_no_trace_is_left() -> None:
    torch = Torch()
    trace = StepTrace(torch)
    assert trace.begin()
    theirs = Profiler()
    assert trace.end() is None
    assert (torch.under_way, theirs.entered) == (0, False)


def test_a_trace_of_the_program_is_not_ended_and_ours_below_it_is_once_theirs_is_over() -> None:
    torch = Torch()
    trace = StepTrace(torch)
    assert trace.begin()
    theirs = Profiler()
    theirs.entered = True
    torch.autograd._enable_profiler()
    assert trace.end() is None
    assert torch.under_way == 2
    assert not trace.begin()
    torch.autograd._disable_profiler()
    theirs.kineto_results = 'all that it saw'
    assert not trace.begin()
    assert torch.under_way == 0
    del theirs
    assert trace.begin()


def test_nothing_is_begun_while_a_graph_is_captured() -> None:
    assert not StepTrace(Torch(is_captured=True)).begin()


def test_nothing_is_looked_into_where_somebody_looks_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    assert StepTrace.of(Torch()) is not None
    monkeypatch.setenv('NSYS_PROFILING_SESSION_ID', '7')
    assert StepTrace.of(Torch()) is None


def test_a_program_that_ends_in_a_step_that_is_looked_into_leaves_no_profiler_behind() -> None:
    training = Training()
    training.run(32)
    training.samples.close()
    training.samples.close()
    assert training.trace.dropped == 1
