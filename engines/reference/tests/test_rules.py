"""The rules that need no process: settings, rank order, cuts, sample order, learning rate."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pytest
from coxswain_reference.data import ByteSamples, permuted, samples_of
from coxswain_reference.errors import NoDevice, WrongRequest
from coxswain_reference.layout import Layout
from coxswain_reference.needs import FUNCTIONS, check_torch
from coxswain_reference.parallel.groups import device_of
from coxswain_reference.schedule import learning_rate
from coxswain_reference.settings import read_settings
from coxswain_reference.shards import Cut, padded_length, row_part, row_ranges, tensor_box, without_padding

RANK = {'RANK': '0', 'WORLD_SIZE': '1', 'MASTER_ADDR': '127.0.0.1', 'MASTER_PORT': '1'}


def arguments(text: Path, flags: dict[str, object]) -> list[str]:
    given = {'data': text, 'save-dir': 'unused'} | {name.replace('_', '-'): value for name, value in flags.items()}
    return [part for name, value in given.items() for part in (f'--{name}', str(value))]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / 'text'
    path.write_bytes(b'x' * 1000)
    return path


@pytest.mark.parametrize(
    ('flags', 'environment', 'want'),
    [
        ({'tensor_parallel': 3}, {'WORLD_SIZE': '3'}, '--tensor-parallel 3 does not divide --attention-heads 4.'),
        ({'pipeline_parallel': 3}, {'WORLD_SIZE': '3'}, '--pipeline-parallel 3 does not divide --layers 4.'),
        ({'data_parallel': 3}, {'WORLD_SIZE': '3'}, '= 12 does not divide --global-batch-size 16.'),
        ({'tensor_parallel': 2}, {}, '= 2 is not WORLD_SIZE 1; they must be equal.'),
        ({'attention_heads': 3}, {}, '--attention-heads 3 does not divide --hidden-size 128.'),
        ({'hidden_size': 12}, {}, '--hidden-size 12 / --attention-heads 4 = 3 is odd'),
        ({'min_learning_rate': 1}, {}, '--min-learning-rate 1.0 is above --learning-rate 0.001'),
        ({'steps': 5, 'warmup_steps': 10}, {}, '--warmup-steps 10 is above --steps 5'),
        ({'beta1': 1}, {}, 'argument --beta1: 1 must be below 1.'),
        ({'clip_norm': -1}, {}, 'argument --clip-norm: -1 must be finite and not negative.'),
        ({'schedule': 'step'}, {}, "argument --schedule: invalid choice: 'step'"),
        ({'schedule': 'wsd'}, {}, '--decay-steps 0 with --schedule wsd; wsd needs it'),
        ({'decay_steps': 5}, {}, '--decay-steps 5 with --schedule cosine; wsd needs it, and no other has it.'),
        (
            {'schedule': 'wsd', 'decay_steps': 5, 'steps': 8, 'warmup_steps': 4},
            {},
            '--warmup-steps 4 + --decay-steps 5 are above --steps 8',
        ),
        ({'layers': 0}, {}, 'argument --layers: 0 is below 1, the least allowed.'),
        ({'layers': 'four'}, {}, "argument --layers: 'four' is not a whole number."),
        ({'learning_rate': 'nan'}, {}, 'argument --learning-rate: nan must be finite and not negative.'),
        ({'precision': 'fp8'}, {}, "argument --precision: invalid choice: 'fp8'"),
        ({'sequence_length': 1000}, {}, 'has 1000 bytes; --sequence-length 1000 needs at least 1001.'),
        ({'colour': 'red'}, {}, 'unrecognized arguments: --colour red.'),
        ({'data': '/nowhere/text'}, {}, '--data /nowhere/text cannot be read: No such file or directory'),
        ({'data': '/'}, {}, '--data / is not a file'),
        ({}, {'RANK': '1'}, 'RANK 1 is not below WORLD_SIZE 1'),
        ({}, {'RANK': 'first'}, "RANK 'first' is not a whole number"),
        ({}, {'MASTER_PORT': ''}, 'MASTER_PORT is not set'),
    ],
)
def test_a_wrong_request_is_refused_in_one_sentence(
    flags: dict[str, object], environment: dict[str, str], want: str, data: Path
) -> None:
    with pytest.raises(WrongRequest) as refusal:
        read_settings(arguments(data, flags), RANK | environment)
    assert want in str(refusal.value)
    assert '\n' not in str(refusal.value)


def test_a_launcher_says_where_to_save_and_begin_by_the_environment_and_a_flag_overrides_it(data: Path) -> None:
    said = RANK | {'COXSWAIN_SAVE_DIR': '/c/epoch-1-2', 'COXSWAIN_RESUME_FROM': '/c/epoch-1/step-00000010'}
    told = read_settings(['--data', str(data)], said)
    assert (told.save_dir, told.resume_from) == (Path('/c/epoch-1-2'), Path('/c/epoch-1/step-00000010'))
    asked = read_settings(['--data', str(data), '--save-dir', '/d'], said)
    assert asked.save_dir == Path('/d')
    assert read_settings(['--data', str(data), '--save-dir', '/d'], RANK).resume_from is None


@pytest.mark.parametrize(('reader', 'by_plan'), [('', True), ('planned', True), ('pytorch', False)])
def test_the_environment_chooses_the_reader_of_checkpoints(reader: str, by_plan: bool, data: Path) -> None:
    settings = read_settings(arguments(data, {}), RANK | {'COXSWAIN_CHECKPOINT_READER': reader})
    assert settings.reads_by_plan is by_plan


def test_nowhere_to_save_is_refused(data: Path) -> None:
    with pytest.raises(WrongRequest, match='--save-dir'):
        read_settings(['--data', str(data)], RANK)


def test_ranks_are_ordered_tensor_then_data_then_pipeline() -> None:
    layouts = [Layout(rank, 2, 2, 2) for rank in range(8)]
    assert [layout.tensor_group for layout in layouts[::2]] == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert [layouts[rank].data_group for rank in (0, 1, 4, 5)] == [[0, 2], [1, 3], [4, 6], [5, 7]]
    assert [layouts[rank].pipeline_group for rank in range(4)] == [[0, 4], [1, 5], [2, 6], [3, 7]]
    assert list(layouts[5].layers_of_stage(6)) == [3, 4, 5]


@pytest.mark.parametrize('cut', [Cut((7,)), Cut((12, 5), axis=0), Cut((5, 12), axis=1), Cut((256, 2), axis=0)])
@pytest.mark.parametrize(('tensor', 'data'), list(product((1, 2, 3), (1, 2, 5))))
def test_the_shards_of_all_ranks_cover_a_tensor_exactly_once(cut: Cut, tensor: int, data: int) -> None:
    if cut.shape[0] == 256:
        cut = Cut(cut.shape, cut.axis, padded_length(256, tensor))
    covered = []
    for rank in range(tensor if cut.axis is not None else 1):
        box = tensor_box(cut, rank, tensor)
        for begin, end in row_ranges(box.sizes[0], data):
            part = without_padding(row_part(box, begin, end), cut)
            ranges = [range(o, o + s) for o, s in zip(part.offsets, part.sizes, strict=True)]
            covered += list(product(*ranges))
    assert sorted(covered) == list(product(*(range(size) for size in cut.shape)))


@pytest.mark.parametrize('length', [1, 2, 3, 16, 100, 1000])
def test_each_pass_over_the_text_visits_every_window_once(length: int) -> None:
    assert sorted(permuted(n, length, 'key') for n in range(length)) == list(range(length))
    if length >= 16:
        assert [permuted(n, length, 'key') for n in range(length)] != [
            permuted(n, length, 'other') for n in range(length)
        ]


def test_a_step_trains_on_the_same_samples_at_every_data_parallel_degree() -> None:
    def step(degree: int) -> list[int]:
        return [
            sample
            for micro_batch, rank in product(range(12 // (2 * degree)), range(degree))
            for sample in samples_of(
                first_sample=36,
                micro_batch=micro_batch,
                micro_batch_size=2,
                data_rank=rank,
                data_parallel_degree=degree,
            )
        ]

    assert step(1) == step(2) == step(3) == list(range(36, 48))


def test_targets_are_the_bytes_after_the_tokens(tmp_path: Path) -> None:
    path = tmp_path / 'text'
    path.write_bytes(bytes(range(101)))
    samples = ByteSamples(path, 10, seed=1)
    tokens, targets = samples.batch(list(range(samples.windows)))
    assert samples.windows == 10
    assert (targets == tokens + 1).all()
    assert sorted(tokens[:, 0].tolist()) == list(range(0, 100, 10))


@pytest.mark.parametrize(
    ('flags', 'rates'),
    [
        ({}, {1: 0.25, 2: 0.5, 4: 1.0, 8: 0.55, 12: 0.1, 13: 0.1}),
        ({'schedule': 'cosine'}, {6: 0.868198, 8: 0.55}),
        ({'schedule': 'linear'}, {2: 0.5, 4: 1.0, 6: 0.775, 8: 0.55, 12: 0.1, 13: 0.1}),
        ({'schedule': 'constant'}, {2: 0.5, 5: 1.0, 12: 1.0, 13: 1.0}),
        ({'schedule': 'wsd', 'decay_steps': 4}, {2: 0.5, 5: 1.0, 8: 1.0, 10: 0.55, 12: 0.1, 13: 0.1}),
        ({'schedule': 'linear', 'warmup_steps': 0}, {6: 0.55}),
    ],
)
def test_the_learning_rate_warms_up_and_then_follows_its_schedule(
    flags: dict[str, object], rates: dict[int, float], data: Path
) -> None:
    given = {'learning_rate': 1.0, 'min_learning_rate': 0.1, 'warmup_steps': 4, 'steps': 12} | flags
    training = read_settings(arguments(data, given), RANK).training
    assert {step: learning_rate(step, training) for step in rates} == pytest.approx(rates, abs=1e-6)


def test_what_is_not_said_of_the_optimizer_is_as_it_always_was(data: Path) -> None:
    training = read_settings(arguments(data, {}), RANK).training
    assert (training.beta1, training.beta2, training.epsilon, training.clip_norm) == (0.9, 0.95, 1e-8, 1.0)


@pytest.mark.parametrize(
    ('local_rank', 'gpus', 'want'),
    [(0, 0, 'cpu'), (3, 0, 'cpu'), (0, 1, 'cuda:0'), (7, 8, 'cuda:7')],
    ids=['no GPU', 'no GPU, many ranks', 'one GPU', 'the last of eight'],
)
def test_each_rank_has_a_gpu_of_its_own_or_all_use_the_cpu(local_rank: int, gpus: int, want: str) -> None:
    assert str(device_of(local_rank, gpus)) == want


def test_a_rank_beyond_the_last_gpu_is_refused_in_one_sentence_that_blames_no_request() -> None:
    with pytest.raises(NoDevice, match='^LOCAL_RANK 1 has no GPU: CUDA shows 1, and each rank needs one') as refused:
        device_of(1, 1)
    assert refused.value.exit_code == 1  # not 93: on another node, or once the GPU is back, the same request works


def torch_with(*functions: str) -> SimpleNamespace:
    return SimpleNamespace(__version__='2.6.0', distributed=SimpleNamespace(**dict.fromkeys(functions)))


def test_a_torch_that_is_too_old_is_refused_before_anything_is_loaded() -> None:
    check_torch(torch_with(*FUNCTIONS))
    told = r'PyTorch 2\.6\.0 of this image lacks torch\.distributed\.all_gather_single; .* 2\.15 or later'
    with pytest.raises(WrongRequest, match=told):
        check_torch(torch_with('reduce_scatter_single'))
