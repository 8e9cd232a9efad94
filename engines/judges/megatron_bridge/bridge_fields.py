"""Writes the fields of Megatron-Bridge's configuration as JSON: `bridge_fields.py BRIDGE MEGATRON RELEASE`.

A field is `section.name`: its kind is `int`, `float`, `bool`, `str`, choices with bars between them, or `other`,
with `?` where None is taken too. Behind the kind of a field of `model` stand the providers that have it, where not
all of them do or one has another kind.
"""

import dataclasses
import json
import sys
import types
import typing

from bridge_import import import_bridge

PLAIN = {bool: 'bool', int: 'int', float: 'float', str: 'str'}


def _kind(hint) -> str:
    arguments = [one for one in typing.get_args(hint) if one is not type(None)]
    union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    if union and len(arguments) < len(typing.get_args(hint)):
        return f'{_kind(typing.Union[tuple(arguments)])}?'  # noqa: UP007 -- made of what is known here alone
    if typing.get_origin(hint) is typing.Literal:
        return '|'.join(str(one) for one in arguments)
    return PLAIN.get(hint, 'other')


def _fields(kind: type) -> dict[str, str]:
    hints = typing.get_type_hints(kind)
    fields = {one.name: _kind(hints[one.name]) for one in dataclasses.fields(kind) if not one.name.startswith('_')}
    properties = {name: one for name in dir(kind) if isinstance(one := getattr(kind, name, None), property)}
    return fields | {name: 'other' for name, one in properties.items() if one.fset is not None and name not in fields}


def _sections(config) -> dict[str, type]:
    from megatron.bridge.training.comm_overlap import CommOverlapConfig
    from megatron.bridge.training.mixed_precision import MixedPrecisionConfig
    from megatron.bridge.training.tokenizers.config import TokenizerConfig

    return {
        'checkpoint': config.CheckpointConfig,
        'comm_overlap': CommOverlapConfig,
        'dataset': config.GPTDatasetConfig,
        'ddp': config.DistributedDataParallelConfig,
        'dist': config.DistributedInitConfig,
        'ft': config.FaultToleranceConfig,
        'inprocess_restart': config.InProcessRestartConfig,
        'logger': config.LoggerConfig,
        'mixed_precision': MixedPrecisionConfig,
        'nvrx_straggler': config.NVRxStragglerDetectionConfig,
        'optimizer': config.OptimizerConfig,
        'profiling': config.ProfilingConfig,
        'rerun_state_machine': config.RerunStateMachineConfig,
        'rng': config.RNGConfig,
        'scheduler': config.SchedulerConfig,
        'straggler': config.StragglerDetectionConfig,
        'tensor_inspect': config.TensorInspectConfig,
        'tokenizer': TokenizerConfig,
        'train': config.TrainingConfig,
    }


def _of_providers() -> dict[str, str]:
    from megatron.bridge.models.gpt_provider import GPTModelProvider
    from megatron.bridge.models.mamba.mamba_provider import MambaModelProvider
    from megatron.bridge.models.mla_provider import MLAModelProvider

    providers = {'gpt': GPTModelProvider, 'latent': MLAModelProvider, 'hybrid': MambaModelProvider}
    fields = {name: _fields(kind) for name, kind in providers.items()}
    names = set().union(*fields.values())
    return {name: _written({one: fields[one].get(name) for one in providers}) for name in names}


def _written(kinds: dict[str, str | None]) -> str:
    distinct = set(kinds.values())
    if len(distinct) == 1:
        return distinct.pop()
    having = {kind: [name for name in kinds if kinds[name] == kind] for kind in kinds.values() if kind is not None}
    return ', '.join(f'{kind} {" ".join(names)}' for kind, names in having.items())


def main(bridge: str, megatron: str, release: str) -> None:
    config = import_bridge(bridge, megatron)
    sections = {section: _fields(one) for section, one in _sections(config).items()}
    fields = {f'{section}.{name}': kind for section, one in sections.items() for name, kind in one.items()}
    fields |= {f'model.{name}': kind for name, kind in _of_providers().items()}
    print(json.dumps({'release': release, 'fields': dict(sorted(fields.items()))}, indent=0))


if __name__ == '__main__':
    main(*sys.argv[1:])
