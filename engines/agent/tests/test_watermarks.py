"""How far a rank is in each process group, from what PyTorch counts and records."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hooked import run_hooked

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'hook'))
from coxswain_hook.phase import phase_of  # noqa: E402
from coxswain_hook.watermarks import Watermarks, rank_set  # noqa: E402

RECORDED = json.loads((Path(__file__).parent / 'recorded_of_nccl.json').read_text())['stands']
"""What the recorder of NCCL held on an H100, by what was the matter, for each of two ranks (`bench/on_a_gpu.py`)."""

BATCHES = json.loads((Path(__file__).parent / 'recorded_batches_of_nccl.json').read_text())['stands']
"""The same on an H200, of transfers that were given to NCCL at once: the last nine entries of each rank."""

TORCH = '/usr/lib/python3/site-packages/torch/'
C10D = f'{TORCH}distributed/distributed_c10d.py'


def stack(*calls: tuple[str, str], f_locals: dict[str, Any] | None = None) -> Any:
    """Frames of these (file, function), the outermost first; gives the innermost."""
    frame = None
    for file, function in calls:
        code = SimpleNamespace(co_filename=file, co_name=function)
        frame = SimpleNamespace(f_code=code, f_back=frame, f_locals=f_locals or {})
    return frame


MAIN = ('/app/train.py', '<module>')
PHASES: dict[str, tuple[list[tuple[str, str]], str | None]] = {
    'nothing that says so': ([MAIN, ('/app/train.py', 'forward')], None),
    'compiling in a step': ([MAIN, (f'{TORCH}_dynamo/convert_frame.py', '_compile')], 'compiling'),
    'code that was compiled': ([MAIN, (f'{TORCH}_dynamo/eval_frame.py', '_fn')], None),
    'a checkpoint of the engine': ([MAIN, ('/app/megatron/training/checkpointing.py', 'save_checkpoint')], 'saving'),
    'torch.save': ([MAIN, (f'{TORCH}serialization.py', 'save'), (f'{TORCH}storage.py', 'cpu')], 'saving'),
    'torch.load': ([MAIN, (f'{TORCH}serialization.py', 'load')], 'starting'),
    'a save of something else': ([MAIN, ('/app/plots.py', 'save')], None),
    'evaluating, and compiling for it': (
        [MAIN, ('/app/trainer.py', 'evaluation_loop'), (f'{TORCH}_inductor/compile_fx.py', 'compile_fx')],
        'compiling',
    ),
    'evaluating': ([MAIN, ('/app/trainer.py', 'evaluation_loop'), ('/app/model.py', 'forward')], 'evaluating'),
}


@pytest.mark.parametrize('what', PHASES)
def test_the_phase_is_read_off_the_stack_for(what: str) -> None:
    calls, phase = PHASES[what]
    assert phase_of(stack(*calls)) == phase


def test_a_stack_without_end_is_given_up() -> None:
    frame = stack(MAIN)
    frame.f_back = frame
    assert phase_of(frame) is None


RANKS = [
    ([3], '3'), ([0, 1, 2, 3], '0-3'), ([0, 8, 16], '0-16/8'), ([0, 8], '0,8'), ([4, 5], '4-5'),
    ([0, 1, 2, 8, 16, 24], '0-2,8-24/8'), ([3, 1], '3,1'), ([], ''),
]  # fmt: skip


@pytest.mark.parametrize(('ranks', 'text'), RANKS)
def test_ranks_are_written_short(ranks: list[int], text: str) -> None:
    assert rank_set(ranks) == text


class Group:
    def __init__(self, name: str, description: str = 'undefined') -> None:
        self.group_name, self.group_desc, self.count = name, description, 0

    def _get_sequence_number_for_group(self) -> int:
        return self.count


class Place:
    """One rank of four: all of them, and two that share tensors."""

    def __init__(self, backend: str = 'gloo', rank: int = 1) -> None:
        self.world, self.tensor, self.of_others = Group('0', 'default_pg'), Group('1', 'TP'), Group('2', 'TP')
        ranks = {self.world: range(4), self.tensor: (0, 1), self.of_others: (2, 3)}
        of = {group: {rank: index for index, rank in enumerate(members)} for group, members in ranks.items()}
        self.distributed = SimpleNamespace(
            _world=SimpleNamespace(pg_group_ranks=of, pg_map=dict.fromkeys(of, (backend, None)))
        )
        self.now = 100.0
        self.entries: list[dict[str, Any]] = []
        self.dumps = 0
        recorder = SimpleNamespace(_dump_nccl_trace_json=self._dump) if backend == 'nccl' else SimpleNamespace()
        if backend == 'gloo':
            recorder._dump_fr_trace_json = self._dump
        self.marks = Watermarks(self.distributed, recorder, rank, clock=lambda: self.now)

    def _dump(self, _with_collectives: bool, only_active: bool) -> bytes:
        self.dumps += 1
        entries = [one for one in self.entries if not (only_active and one['retired'])]
        return json.dumps({'entries': entries}).encode()

    def look(self, after: float = 1.0, frame: Any = None) -> dict[str, dict[str, Any]]:
        self.now += after
        return {group.pop('group'): group for group in self.marks.look(frame)}


def entry(number: int, name: str, more: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        'record_id': number, 'process_group': [name, ''], 'collective_seq_id': number, 'is_p2p': False, 'retired': False, 'state': 'scheduled',
        'profiling_name': 'gloo:all_reduce', 'input_sizes': [[4, 8]], 'input_dtypes': ['BFloat16'], **(more or {}),
    }  # fmt: skip


def test_groups_that_move_are_taken_for_complete_and_the_recorder_is_left_alone() -> None:
    place = Place()
    for count in range(1, 20):
        place.world.count = count
        told = place.look()
    assert told['0'] == {
        'operation': 'unknown', 'bytes': 0, 'enqueued': 19, 'started': 19, 'completed': 19, 'ageMs': 0,
    }  # fmt: skip
    assert (list(told), place.dumps) == (['0', '1'], 0)
    assert place.marks.groups() == [
        {'group': '0', 'name': 'default_pg', 'ranks': '0-3'},
        {'group': '1', 'name': 'TP', 'ranks': '0-1'},
    ]


def test_where_nothing_moves_what_is_under_way_is_told_with_its_size() -> None:
    place = Place()
    place.world.count, place.tensor.count = 7, 3
    place.entries = [entry(6, '0', {'retired': True}), entry(7, '0'), entry(2, '1', {'state': 'completed'}), entry(3, '1')]
    for _ in range(5):
        assert place.look()['0']['completed'] == 7
    told = place.look()
    assert told['0'] == {
        'operation': 'all_reduce', 'bytes': 64, 'enqueued': 7, 'started': 7, 'completed': 6, 'ageMs': 5000,
    }  # fmt: skip
    assert told['1']['completed'] == 2
    place.world.count = 8
    assert place.look()['0'] == {**told['0'], 'enqueued': 8, 'started': 8, 'completed': 8, 'ageMs': 0}


def test_the_recorder_is_asked_ever_less_often() -> None:
    place = Place()
    for _ in range(600):
        place.look()
    assert place.dumps == 13


LATE = 'a rank comes 15 s late to a collective'
BEHIND_A_KERNEL = 'a kernel before a collective takes long on one rank'
TIMED = 'the same, and the recorder times'
# Of ranks 0 and 1: called, begun on the device, complete.
SEEN_OF_NCCL = {
    # Where collectives are not timed nobody is told what has begun, and what was called is taken for begun.
    LATE: [(4, 4, 3), (3, 3, 3)],
    BEHIND_A_KERNEL: [(4, 4, 3), (4, 4, 3)],
    TIMED: [(4, 4, 3), (4, 3, 3)],
    'each is in another operation': [(4, 4, 3), None],
}


@pytest.mark.parametrize(('what', 'rank'), [(what, rank) for what in SEEN_OF_NCCL for rank in range(2)])
def test_of_what_nccl_recorded_is_read_how_far_a_rank_is_when(what: str, rank: int) -> None:
    seen, recorded = SEEN_OF_NCCL[what][rank], RECORDED[what][rank]
    if seen is None:
        # It had gone on with what the other did not send, and was over before it was asked.
        assert recorded is None
        return
    place = Place('nccl')
    place.entries, place.tensor.count = recorded['entries'], seen[0]
    place.look()
    told = place.look(6)['1']
    assert (told['enqueued'], told['started'], told['completed']) == seen
    if seen[0] > seen[2]:
        assert (told['operation'], told['bytes']) == ('all_reduce', 4 * 1024 * 1024)


def test_what_is_called_and_not_begun_is_told_apart_where_nccl_times() -> None:
    place = Place('nccl')
    place.world.count = 7
    nccl = {'profiling_name': 'nccl:_all_gather_base'}
    place.entries = [entry(6, '0', {**nccl, 'state': 'started'}), entry(7, '0', nccl)]
    place.look()
    told = place.look(6)['0']
    assert told == {'operation': 'all_gather_base', 'bytes': 64, 'enqueued': 7, 'started': 6, 'completed': 5, 'ageMs': 6000}


def test_operations_between_two_are_not_counted_among_those_of_all() -> None:
    place = Place()
    # Two were sent, which gloo counts with the others.
    place.world.count = 9
    place.entries = [entry(6, '0', {'retired': True}), entry(7, '0')]
    place.look()
    assert (place.look(6)['0']['enqueued'], place.look()['0']['completed']) == (7, 6)
    place.world.count = 10
    assert place.look()['0']['enqueued'] == 8


PAIR = {'operation': 'recv', 'enqueued': 1, 'started': 1, 'completed': 0, 'ageMs': 6000}


def test_one_that_waits_for_another_is_told_as_a_group_of_the_two() -> None:
    place = Place('nccl')
    place.world.count = 1
    place.entries = [entry(4, '0', {'is_p2p': True, 'profiling_name': 'nccl:recv 1<-3'})]
    place.look()
    assert place.look(6)['0/1-3'] == {**PAIR, 'bytes': 64}
    assert {'group': '0/1-3', 'name': 'default_pg between two', 'ranks': '1,3'} in place.marks.groups()
    place.world.count = 2
    assert '0/1-3' not in place.look()


WAITS_IN_A_BATCH = 'a rank waits in a batch of transfers for what the other sends 15 s late'


@pytest.mark.parametrize(
    ('what', 'pairs'), [('batches of transfers are over', []), (WAITS_IN_A_BATCH, ['1/0-1'])], ids=['over', 'not over']
)
def test_parts_of_a_batch_are_over_when_the_batch_is(what: str, pairs: list[str]) -> None:
    # NCCL never says so of the parts themselves (pytorch/pytorch#137969).
    place = Place('nccl', rank=0)
    place.tensor.count, place.entries = 3, BATCHES[what][0]['entries']
    place.look()
    told = place.look(6)
    assert [name for name in told if '/' in name] == pairs
    assert (told['1']['enqueued'], told['1']['completed']) == (3, 3)


def test_a_batch_of_collectives_is_one_and_is_told_by_what_it_is_made_of() -> None:
    place = Place('nccl')
    part = {'collective_seq_id': 7, 'profiling_name': 'nccl:_all_gather_base'}
    place.world.count = 7
    place.entries = [
        entry(6, '0', {'retired': True}),
        entry(7, '0', part),
        entry(8, '0', part),
        entry(9, '0', {**part, 'profiling_name': 'nccl:coalesced'}),
    ]
    place.look()
    told = place.look(6)['0']
    assert (told['operation'], told['enqueued'], told['completed']) == ('all_gather_base', 7, 6)


def test_where_only_what_is_under_way_can_be_read_transfers_are_not_taken_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('coxswain_hook.flight_recorder.MAX_DUMP_BYTES', 2_000)
    place = Place('nccl')
    place.tensor.count, place.entries = 3, BATCHES['batches of transfers are over'][0]['entries'][-3:] * 2
    place.look()
    assert [name for name in place.look(6) if '/' in name] == []


def test_what_stood_is_forgotten_when_anything_moves() -> None:
    place = Place()
    place.world.count, place.tensor.count = 7, 3
    place.entries = [entry(7, '0', {'retired': True}), entry(3, '1')]
    place.look()
    assert place.look(6)['1']['completed'] == 2
    place.world.count = 8
    assert place.look()['1']['completed'] == 3


def test_of_a_recorder_that_keeps_more_than_is_read_what_is_under_way_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('coxswain_hook.flight_recorder.MAX_DUMP_BYTES', 1_000)
    place = Place()
    place.world.count = 7
    place.entries = [entry(number, '0', {'retired': True}) for number in range(1, 7)] + [entry(7, '0')]
    place.look()
    assert place.look(6)['0']['completed'] == 6


CALLS: dict[str, tuple[str, dict[str, Any], str, dict[str, Any]]] = {
    'a collective of all': ('all_reduce', {'group': None}, '0', {'operation': 'all_reduce', 'completed': 4}),
    'a collective of a group': ('barrier', {'group': Group('1')}, '1', {'operation': 'barrier', 'completed': 1}),
    'one that receives': ('recv', {'group': None, 'src': 3}, '0/1-3', PAIR),
    # As NCCL stands there until the other has come for the first time, in PyTorch 2.11.
    'one that receives by way of irecv': ('irecv', {'group': None, 'src': 3}, '0/1-3', PAIR),
    'one that sends in its group': ('send', {'group': Group('1'), 'group_dst': 0}, '1/0-1', {'operation': 'send'}),
    'no operation': ('new_group', {}, '0', {'completed': 5}),
}


@pytest.mark.parametrize('what', CALLS)
def test_without_a_recorder_the_call_in_which_the_program_is_tells_of(what: str) -> None:
    function, f_locals, group, want = CALLS[what]
    place = Place('mpi')
    place.world.count, place.tensor.count = 5, 2
    place.look()
    told = place.look(6, stack(MAIN, (C10D, function), f_locals=f_locals))[group]
    assert {key: told[key] for key in want} == want


def test_groups_beyond_so_many_are_left_out_those_last_that_moved() -> None:
    place = Place()
    of = place.distributed._world.pg_group_ranks
    for number in range(3, 60):
        of[Group(str(number))] = {0: 0, 1: 1}
    place.tensor.count = 1
    told = place.look()
    assert (len(told), next(iter(told))) == (32, '1')


STANDS = """
import os, time, torch, torch.distributed as dist
dist.init_process_group('gloo')
rank = dist.get_rank()
pair = dist.new_group([0, 1], group_desc='TP')
rows = torch.ones(16)
for _ in range(3):
    dist.all_reduce(rows, group=pair)
def save_checkpoint():
    time.sleep(9)
if rank == 1:
    save_checkpoint()
dist.all_reduce(rows, group=pair)
dist.destroy_process_group()
"""


def test_a_rank_that_waits_for_another_says_in_what_and_the_other_that_it_saves(tmp_path: Path) -> None:
    told, ended = run_hooked(tmp_path, STANDS, ranks=2)
    assert [(one.returncode, one.stderr) for one in ended] == [(0, '')] * 2
    marks = [[beat['watermark'] for beat in told.of_rank(rank, 'heartbeat')] for rank in range(2)]
    waits = [group for mark in marks[0] for group in mark['groups'] if group['completed'] < group['enqueued']]
    want = {'group': '1', 'operation': 'all_reduce', 'bytes': 64, 'enqueued': 4, 'started': 4, 'completed': 3}
    assert {key: waits[-1][key] for key in want} == want
    assert waits[-1]['ageMs'] >= 4_000
    saves = [mark for mark in marks[1] if mark['phase'] == 'saving']
    assert [group['enqueued'] for mark in saves for group in mark['groups'] if group['group'] == '1'][-1] == 3
    assert [mark[-1]['phase'] for mark in marks] == ['ended', 'ended']
    assert all('faults' not in beat for rank in range(2) for beat in told.of_rank(rank, 'heartbeat'))
    said = [beat['processGroups'] for beat in told.of_rank(0, 'heartbeat') if 'processGroups' in beat]
    assert {'group': '1', 'name': 'TP', 'ranks': '0-1'} in said[-1]
    # Once a second where it moves, and else every 10 s.
    assert all(len(mark) < 10 for mark in marks)
