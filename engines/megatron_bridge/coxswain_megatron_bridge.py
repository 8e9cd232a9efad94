"""What a job says, as Megatron-Bridge's configuration. Made for releases 0.3.1 and 0.5.1.

The launcher writes this file beside `megatron-bridge.json`, which holds everything that the job says; here stands only
how Megatron-Bridge is told. As a program it trains:

    python3 coxswain_megatron_bridge.py [--load DIRECTORY --ckpt-step STEP] [section.field=VALUE ...]

A program of one's own takes `configuration()` of this module, whose directory is on Python's path.
"""

import argparse
import json
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

SAID = json.loads((Path(__file__).parent / 'megatron-bridge.json').read_text(encoding='utf-8'))


def configuration(arguments: list[str]) -> Any:
    """The ConfigContainer that the job says, begun by its recipe if it has one, under the settings of arguments."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument('--load')
    parser.add_argument('--ckpt-step', type=int)
    resumed, overrides = parser.parse_known_args(arguments)
    recipe = SAID.get('recipe')
    config = _plain() if recipe is None else _recipe(recipe)
    # What it would set over the fields that the layout sets.
    config.comm_overlap = None
    for name, value in SAID['settings'].items():
        _set(config, name, _value(value))
    if 'mixed_precision' in SAID:
        from megatron.bridge.training.mixed_precision import MixedPrecisionConfig

        formats = {name: _value(one) for name, one in SAID['mixed_precision'].items()}
        config.mixed_precision = MixedPrecisionConfig(**formats)
    if 'lora' in SAID:
        from megatron.bridge.peft.lora import LoRA

        config.peft = LoRA(**SAID['lora'])
    if resumed.load is not None:
        config.checkpoint.load = resumed.load
        config.checkpoint.ckpt_step = resumed.ckpt_step
        config.checkpoint.exit_on_missing_checkpoint = True
    return _overridden(config, overrides) if overrides else config


def _overridden(config: Any, overrides: list[str]) -> Any:
    from megatron.bridge.training.utils.omegaconf_utils import process_config_with_overrides

    return process_config_with_overrides(config, cli_overrides=overrides)


def _recipe(name: str) -> Any:
    module, _, function = name.partition(':')
    config = getattr(import_module(module), function)()
    _hold_against(SAID['sizes'], config.model)
    return config


def _hold_against(said: dict[str, Any], model: Any) -> None:
    """Ends where a recipe's model is not the one that the job says, for which its layout was planned and checked.

    What is None there follows from other sizes.
    """
    has = {name: getattr(model, name, None) for name in said}
    wrong = [f'{name} {has[name]} instead of {said[name]}' for name in said if has[name] not in (None, said[name])]
    if wrong:
        raise SystemExit(f'the model of {SAID["recipe"]} has {", ".join(wrong)}; give the job the sizes of its recipe')


def _plain() -> Any:
    from megatron.bridge.training import config as parts

    dataset = parts.GPTDatasetConfig(
        seq_length=SAID['settings']['dataset.seq_length'],
        random_seed=SAID['settings']['dataset.random_seed'],
        reset_position_ids=False,
        reset_attention_mask=False,
        eod_mask_loss=False,
        num_dataset_builder_threads=1,
        dataloader_type='single',
    )
    return parts.ConfigContainer(
        train=parts.TrainingConfig(),
        model=_provider(SAID['provider']),
        optimizer=parts.OptimizerConfig(),
        ddp=parts.DistributedDataParallelConfig(check_for_nan_in_grad=True),
        scheduler=parts.SchedulerConfig(),
        dataset=dataset,
        logger=parts.LoggerConfig(),
        tokenizer=parts.TokenizerConfig(),
        checkpoint=parts.CheckpointConfig(),
    )


def _provider(said: dict[str, Any]) -> Any:
    """The model's sizes are settings; here is what no value can say: which class it is of, and its functions."""
    from torch.nn import functional

    module, _, name = {
        'gpt': 'megatron.bridge.models.gpt_provider:GPTModelProvider',
        'latent': 'megatron.bridge.models.mla_provider:MLAModelProvider',
        'hybrid': 'megatron.bridge.models.mamba.mamba_provider:MambaModelProvider',
    }[said['kind']].partition(':')
    provider = getattr(import_module(module), name)()
    provider.activation_func = functional.silu if said['gated'] else functional.gelu
    if said['layers_differ']:
        from megatron.core.models.gpt.gpt_layer_specs import get_gpt_decoder_block_spec

        provider.transformer_layer_spec = partial(get_gpt_decoder_block_spec, use_transformer_engine=True)
    return provider


def _set(config: Any, name: str, value: Any) -> None:
    section, _, field = name.partition('.')
    part = getattr(config, section, None)
    if part is None or not hasattr(part, field):
        of = '' if part is None else f', a {type(part).__name__},'
        raise SystemExit(
            f'{section}{of} has no {field} here; take an image with the release that the job names, '
            f'or a recipe whose {section} is that of text'
        )
    setattr(part, field, value)


def _value(said: Any) -> Any:
    """What JSON has no word for says what it is: {"dtype": "bfloat16"}, {"tuple": [...]}, {"attention": "flash"}."""
    if not isinstance(said, dict):
        return said
    ((kind, value),) = said.items()
    if kind == 'tuple':
        return tuple(_value(one) for one in value)
    if kind == 'dtype':
        import torch

        return getattr(torch, value)
    from megatron.core.transformer.enums import AttnBackend

    return AttnBackend[value]


def main() -> None:
    import sys

    from megatron.bridge.training.gpt_step import forward_step
    from megatron.bridge.training.pretrain import pretrain

    pretrain(config=configuration(sys.argv[1:]), forward_step_func=forward_step)


if __name__ == '__main__':
    main()
