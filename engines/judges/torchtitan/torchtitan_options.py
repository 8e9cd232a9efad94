"""Prints the options of the TorchTitan that is installed, as `libs/engines` keeps them: dotted name to flag, value or list.

    python3 torchtitan_options.py > libs/engines/src/adapters/torchtitan/options-v0.3.0.json
"""

import dataclasses
import json
import types
import typing
from importlib.metadata import PackageNotFoundError, version

import tyro


def main() -> None:
    try:
        release = f'v{version("torchtitan")}'
    except PackageNotFoundError:
        release = 'v0.2.2'
    options = dict(sorted(_options(_configuration())))
    print(json.dumps({'release': release, 'options': options}, separators=(',', ':')))


def _configuration() -> type:
    try:
        from torchtitan.trainer import Trainer
    except ImportError:
        from torchtitan.config.job_config import JobConfig

        return JobConfig
    return Trainer.Config


def _options(config: type, before: str = ''):
    hints = typing.get_type_hints(config, include_extras=True)
    for field in dataclasses.fields(config):
        hint, name = hints[field.name], f'{before}{field.name}'
        if tyro.conf.Suppress in getattr(hint, '__metadata__', ()):
            continue
        section = _section(field, hint)
        if section is None:
            yield name, _kind(hint)
        else:
            yield from _options(section, f'{name}.')


def _section(field: dataclasses.Field, hint: object) -> type | None:
    """The class of what stands there by default, where it has options of its own: a field may be declared as its base."""
    if field.default_factory is not dataclasses.MISSING:
        made = field.default_factory()
        return type(made) if dataclasses.is_dataclass(made) else None
    return hint if isinstance(hint, type) and dataclasses.is_dataclass(hint) else None


def _kind(hint: object) -> str:
    if hint is bool:
        return 'flag'
    # Lists of words are parted by commas, in one value (torchtitan/config/manager.py).
    if hint == list[str]:
        return 'value'
    parts = typing.get_args(hint) if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union else [hint]
    return 'list' if any(typing.get_origin(part) in (list, tuple, dict) for part in parts) else 'value'


if __name__ == '__main__':
    main()
