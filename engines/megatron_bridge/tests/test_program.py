"""What the rendered program does with a configuration; that Megatron-Bridge's own takes it is judged by a campaign."""

import importlib.util
import json
import shutil
import sys
import types
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

PROGRAM = Path(__file__).parents[1] / 'coxswain_megatron_bridge.py'


def _begun():
    """As a recipe of others leaves it."""
    return SimpleNamespace(
        model=SimpleNamespace(num_layers=96, kv_channels=None, window_size=None),
        optimizer=SimpleNamespace(lr=1.0, exp_avg_dtype=None),
        checkpoint=SimpleNamespace(save='nemo_experiments', load='x', ckpt_step=None, exit_on_missing_checkpoint=False),
        comm_overlap='on',
        mixed_precision='bf16_mixed',
        peft=None,
    )


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Makes the program of what a job says, as the launcher writes it, with a recipe beside it."""
    recipe = types.ModuleType('recipes_of_others')
    recipe.large = _begun
    monkeypatch.setitem(sys.modules, 'recipes_of_others', recipe)

    def make(**said):
        shutil.copy(PROGRAM, tmp_path)
        whole = {'recipe': 'recipes_of_others:large', 'sizes': {}, 'settings': {}, **said}
        (tmp_path / 'megatron-bridge.json').write_text(json.dumps(whole))
        spec = importlib.util.spec_from_file_location('program', tmp_path / PROGRAM.name)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return make


def test_settings_stand_over_the_recipe_in_the_forms_that_its_classes_have(program):
    settings = {
        'optimizer.lr': 0.1,
        'optimizer.exp_avg_dtype': {'dtype': 'bfloat16'},
        'model.window_size': {'tuple': [511, 0]},
        'checkpoint.save': None,
    }
    config = program(settings=settings).configuration([])
    assert config.optimizer.lr == 0.1
    assert config.optimizer.exp_avg_dtype is torch.bfloat16
    assert config.model.window_size == (511, 0)
    assert config.checkpoint.save is None


def test_overlap_of_a_recipe_is_taken_away_and_what_the_job_leaves_open_stays(program):
    config = program().configuration([])
    assert config.comm_overlap is None
    assert config.mixed_precision == 'bf16_mixed'
    assert config.optimizer.lr == 1.0


def test_adapters_are_the_class_of_megatron_bridge(program, monkeypatch):
    lora = types.ModuleType('megatron.bridge.peft.lora')
    lora.LoRA = SimpleNamespace
    monkeypatch.setitem(sys.modules, 'megatron.bridge.peft.lora', lora)
    assert program(lora={'dim': 8, 'target_modules': ['linear_qkv']}).configuration([]).peft == SimpleNamespace(
        dim=8, target_modules=['linear_qkv']
    )
    assert program().configuration([]).peft is None


def test_a_resumed_start_loads_that_step_or_ends(program):
    checkpoint = program().configuration(['--load', '/saved', '--ckpt-step', '20']).checkpoint
    assert (checkpoint.load, checkpoint.ckpt_step, checkpoint.exit_on_missing_checkpoint) == ('/saved', 20, True)


def test_a_recipe_of_another_model_ends_the_ranks_and_a_size_that_follows_from_others_does_not(program):
    with pytest.raises(SystemExit, match='recipes_of_others:large has num_layers 96 instead of 8; give the job'):
        program(sizes={'num_layers': 8}).configuration([])
    assert program(sizes={'num_layers': 96, 'kv_channels': 64}).configuration([]).model.num_layers == 96


@pytest.mark.parametrize('name', ['model.nothing_of_the_kind', 'peft.rank', 'dataset.seq_length'])
def test_a_field_that_is_not_there_ends_the_ranks_and_is_named(program, name):
    with pytest.raises(SystemExit, match=f'has no {name.split(".")[1]} here; take an image with the release'):
        program(settings={name: 1}).configuration([])
