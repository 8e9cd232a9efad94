"""How a rank ends: stopped on request, refused, crashed; and what it says about it."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import socket
import statistics
import tempfile
from pathlib import Path

import pytest
from coxswain_reference.faults import Fault
from coxswain_reference.manifest import check_contents, check_sizes, describe_file, read_manifest
from gang import Gang, run_gang


def test_one_sigterm_to_any_rank_stops_all_at_one_step_with_their_state_saved(tmp_path: Path) -> None:
    with Gang(tmp_path, (2, 1, 2), steps=100_000) as gang:
        gang.wait_until(lambda: len(gang.ranks[2].of_kind('step')) >= 3)
        gang.terminate(2)
        assert gang.wait() == [75] * 4
    (saved,) = gang.ranks[0].of_kind('checkpointSaved')
    assert {rank.of_kind('step')[-1]['step'] for rank in gang.ranks} == {saved['step']}
    assert read_manifest(gang.save_dir / saved['directory']).step == saved['step']
    assert f'stopped as asked after step {saved["step"]}' in gang.log(0)


def test_a_request_to_any_rank_saves_all_at_one_step_once_and_the_training_goes_on(tmp_path: Path) -> None:
    with Gang(tmp_path, (2, 1, 2), steps=100_000) as gang:
        gang.wait_until(lambda: len(gang.ranks[2].of_kind('step')) >= 3)
        for request in (1, 1, 1):
            gang.ask_to_save(2, request)
        gang.wait_until(lambda: bool(gang.ranks[0].of_kind('checkpointSaved')))
        (saved,) = gang.ranks[0].of_kind('checkpointSaved')
        gang.wait_until(lambda: gang.ranks[0].of_kind('step')[-1]['step'] >= saved['step'] + 3)
        assert gang.ranks[0].of_kind('checkpointSaved') == [saved]
        gang.ask_to_save(2, 2)
        gang.wait_until(lambda: len(gang.ranks[0].of_kind('checkpointSaved')) == 2)
        gang.terminate(0)
        assert gang.wait() == [75] * 4
    assert saved['step'] >= 3
    assert read_manifest(gang.save_dir / saved['directory']).step == saved['step']
    assert f'asked to save: saving after step {saved["step"]} and training on' in gang.log(0)


def test_a_request_during_a_save_holds_nobody_up_and_is_answered_by_a_save_of_its_own(tmp_path: Path) -> None:
    module = (str(Path(__file__).with_name('held_save.py')),)
    with Gang(tmp_path, (1, 1, 2), steps=100_000, module=module) as gang:
        steps = gang.ranks[0].of_kind
        gang.wait_until(lambda: len(steps('step')) >= 2)
        gang.ask_to_save(0, 1)
        gang.wait_until(lambda: all((tmp_path / f'held-{rank}').exists() for rank in (0, 1)))
        gang.ask_to_save(0, 2)
        asked_at = steps('step')[-1]['step']
        gang.wait_until(lambda: steps('step')[-1]['step'] >= asked_at + 10)
        assert steps('checkpointSaved') == []
        (tmp_path / 'go-on').touch()
        gang.wait_until(lambda: len(steps('checkpointSaved')) == 2)
        first, second = (saved['step'] for saved in steps('checkpointSaved'))
        gang.wait_until(lambda: steps('step')[-1]['step'] >= second + 3)
        assert len(steps('checkpointSaved')) == 2
        gang.terminate(0)
        assert gang.wait() == [75] * 2
    assert first <= asked_at
    assert second >= asked_at + 10


def test_a_second_sigterm_ends_a_rank_at_once_though_its_peer_hangs(tmp_path: Path) -> None:
    fault = {'ENGINE_FAULT': json.dumps({'rank': 1, 'step': 3, 'kind': 'hang'})}
    with Gang(tmp_path, (2, 1, 1), steps=100, environment=fault) as gang:
        gang.wait_until(lambda: all(len(rank.of_kind('step')) == 2 for rank in gang.ranks))
        for rank in gang.ranks:
            while rank.process.poll() is None:  # two signals sent at once may arrive as one
                gang.terminate(gang.ranks.index(rank))
        assert gang.wait() == [143, 143]
    assert not gang.save_dir.exists()


@pytest.mark.parametrize(
    ('fault', 'want'),
    [
        ({'kind': 'exit', 'code': 9}, 9),
        ({'kind': 'traceback'}, 1),
        ({'kind': 'sigkill'}, -9),
        ({'kind': 'exit', 'code': 9, 'epoch': 4}, 0),
    ],
    ids=['exit', 'traceback', 'sigkill', 'a fault of another epoch does not happen'],
)
def test_a_fault_ends_the_rank_as_described(fault: dict[str, object], want: int, tmp_path: Path) -> None:
    environment = {'ENGINE_FAULT': json.dumps({'rank': 0, 'step': 4, **fault}), 'COXSWAIN_EPOCH': '3'}
    with Gang(tmp_path, (1, 1, 1), steps=5, environment=environment) as gang:
        assert gang.wait() == [want]
    assert list(gang.losses()) == ([1, 2, 3] if want else [1, 2, 3, 4, 5])


@pytest.mark.parametrize(('incarnation', 'want'), [(1, True), (2, False)])
def test_a_fault_of_an_epoch_happens_in_its_first_incarnation_alone(incarnation: int, want: bool) -> None:
    where = {'rank': 0, 'step': 4, 'incarnation': incarnation}
    assert Fault(rank=0, step=4, kind='exit', epoch=3).happens(epoch=3, **where) is want
    assert Fault(rank=0, step=4, kind='exit').happens(epoch=3, **where)


def test_a_rank_that_is_to_be_slow_computes_longer_from_that_step_on_and_trains_to_its_end(tmp_path: Path) -> None:
    fault = {'ENGINE_FAULT': json.dumps({'rank': 0, 'step': 6, 'kind': 'slow', 'share': 9})}
    with Gang(tmp_path, (1, 1, 1), steps=10, environment=fault) as gang:
        assert gang.wait() == [0]
    ratios = [
        step['timingsMs']['backward'] / step['timingsMs']['forward'] for step in gang.ranks[0].of_kind('step')
    ]
    assert len(ratios) == 10
    assert min(ratios[5:]) > 2 * statistics.median(ratios[1:5])


def test_a_taken_port_ends_rank_0_with_71_and_a_sentence(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(('0.0.0.0', 0))
        taken.listen()
        with Gang(tmp_path, (1, 1, 1), port=taken.getsockname()[1]) as gang:
            assert gang.wait() == [71]
    assert gang.log(0).startswith('MASTER_PORT is taken by another process')


def test_a_checkpoint_says_what_it_holds_and_when_it_was_complete(tensor_and_data: Gang) -> None:
    facts = tensor_and_data.ranks[0].facts
    kinds = [fact['kind'] for fact in facts if fact['kind'] != 'step']
    assert kinds == ['checkpointSaved'] * 2
    saved = tensor_and_data.ranks[0].of_kind('checkpointSaved')[0]
    directory = tensor_and_data.save_dir / saved['directory']
    manifest = read_manifest(directory)
    check_sizes(directory, manifest)
    check_contents(directory, manifest.files)
    assert manifest.tokens_seen == 10 * 12 * 32
    assert manifest.layout == {'tensorParallelDegree': 2, 'pipelineParallelDegree': 1, 'dataParallelDegree': 2}
    assert saved['bytes'] == sum(entry.bytes for entry in manifest.files)
    assert saved['files'] == len(manifest.files) == 5
    on_disk = {path.name for path in directory.iterdir()}
    assert on_disk == {'manifest.json', *(entry.path for entry in manifest.files)}


def test_every_rank_reports_its_own_times_and_they_do_not_exceed_the_step(tensor_and_data: Gang) -> None:
    for number, rank in enumerate(tensor_and_data.ranks):
        steps = rank.of_kind('step')
        assert [fact['step'] for fact in steps] == list(range(1, 21))
        assert {fact['rank'] for fact in steps} == {number}
        assert {fact['tokens'] for fact in steps} == {12 * 32}
        for fact in steps:
            assert set(fact['timingsMs']) == {'forward', 'backward', 'communication', 'optimizer', 'data'}
            assert 0 < sum(fact['timingsMs'].values()) <= fact['stepTimeMs'] * 1.001


def cut_off(directory: Path) -> None:
    (directory / 'manifest.json').unlink()


def shorten(directory: Path) -> None:
    file = directory / '__1_0.distcp'
    file.write_bytes(file.read_bytes()[:-1])


def lose(directory: Path) -> None:
    (directory / '__2_0.distcp').unlink()


def flip_a_bit(directory: Path) -> None:
    file = directory / '__3_0.distcp'
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


class Payload:
    """Would make a file, were it unpickled by the ordinary rules."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(PLANTED),)


PLANTED = Path(tempfile.gettempdir()) / f'planted-{os.getpid()}'


def plant_code(directory: Path) -> None:
    """Replaces the metadata by a pickle that runs code, and makes the manifest vouch for it."""
    (directory / '.metadata').write_bytes(pickle.dumps(Payload()))
    manifest = json.loads((directory / 'manifest.json').read_text())
    (entry,) = [entry for entry in manifest['files'] if entry['path'] == '.metadata']
    entry.update(vars(describe_file(directory, '.metadata')))
    (directory / 'manifest.json').write_text(json.dumps(manifest))


def tear_the_manifest(directory: Path) -> None:
    file = directory / 'manifest.json'
    file.write_bytes(file.read_bytes()[:100])


@pytest.mark.parametrize(
    ('damage', 'flags', 'want'),
    [
        (cut_off, {}, 'holds no manifest.json'),
        (tear_the_manifest, {}, 'cannot be read'),
        (shorten, {}, 'the manifest says'),
        (lose, {}, 'No such file'),
        (flip_a_bit, {}, 'is damaged'),
        (plant_code, {}, '.metadata refers to posix.mkdir'),
        (None, {'layers': 8}, 'layers 4, this run has layers 8'),
        (None, {'hidden-size': 96}, 'hiddenSize 48, this run has hiddenSize 96'),
        (None, {'sequence-length': 64}, 'sequenceLength 32, this run has sequenceLength 64'),
    ],
    ids=['cut off', 'torn manifest', 'short file', 'lost file', 'flipped bit', 'code', 'layers', 'width', 'length'],
)
def test_a_checkpoint_that_does_not_verify_is_refused_with_72_and_one_that_cannot_be_read_with_74(
    damage, flags: dict[str, int], want: str, tensor_and_data: Gang, tmp_path: Path
) -> None:
    directory = tmp_path / 'checkpoint'
    shutil.copytree(tensor_and_data.save_dir / 'step-00000010', directory)
    if damage:
        damage(directory)
    with Gang(tmp_path, (1, 1, 1), resume_from=directory, **flags) as gang:
        assert gang.wait() == [74 if damage in (cut_off, lose) else 72]
    assert want in gang.log(0)
    assert not PLANTED.exists()
    assert gang.log(0).count('\n') == 1


def test_a_save_directory_in_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / 'save' / 'step-00000001').mkdir(parents=True)
    with Gang(tmp_path, (1, 1, 1)) as gang:
        assert gang.wait() == [93]
    assert 'already holds step-00000001' in gang.log(0)


def test_a_run_resumed_at_its_last_step_is_finished_and_saves_nothing(undisturbed: Gang, tmp_path: Path) -> None:
    gang = run_gang(tmp_path, (1, 1, 1), resume_from=undisturbed.save_dir / 'step-00000020')
    assert [fact['kind'] for fact in gang.ranks[0].facts] == ['resumed']
    assert 'finished after step 20' in gang.log(0)
    assert 'training on cpu\nlayout: tensor 1, pipeline 1, data 1; batch ' in gang.log(0)
    assert not gang.save_dir.exists()
