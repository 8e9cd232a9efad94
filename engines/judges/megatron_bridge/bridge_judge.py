"""Lets Megatron-Bridge judge jobs: `bridge_judge.py BRIDGE MEGATRON`, questions and verdicts a line of JSON each.

Question: `{"id", "files", "args", "env", "worldSize"}`, files by their names. Verdict: `{"id", "why", "changed"}`:
why is null when the rendered program makes its configuration of them and `runtime_config_update`, with which
pretraining begins, takes it; changed names the settings that it changed without a word; what is None follows from
others, and the split of random tokens means nothing. Nothing is built and no process group is made: what shows then
is not judged.
"""

import contextlib
import importlib.util
import io
import json
import os
import sys
import tempfile
from pathlib import Path

from bridge_import import import_bridge

PROGRAM = 'coxswain_megatron_bridge'


def _program(directory: str, files: dict[str, str]):
    for name, text in files.items():
        (Path(directory) / name).write_text(text, encoding='utf-8')
    spec = importlib.util.spec_from_file_location(PROGRAM, Path(directory) / f'{PROGRAM}.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _settings(config, names: list[str]) -> dict[str, str]:
    def read(name: str) -> object:
        section, _, field = name.partition('.')
        return getattr(getattr(config, section), field, None)

    return {name: str(read(name)) for name in names}


def _verdict(bridge, question) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as directory:
        try:
            program = _program(directory, question['files'])
            config = program.configuration(question['args'])
            names = [*program.SAID['settings']]
            before = _settings(config, names)
            bridge.runtime_config_update(config)
        except SystemExit as end:
            return {'why': f'exit {end.code}', 'changed': []}
        except Exception as error:
            return {'why': f'{type(error).__name__}: {error}', 'changed': []}
        after = _settings(config, names)
        changed = [name for name in names if _differs(name, before, after)]
        return {'why': None, 'changed': [f'{name}: {before[name]} became {after[name]}' for name in changed]}


def _differs(name: str, before: dict[str, str], after: dict[str, str]) -> bool:
    if before[name] == 'None' or (name == 'dataset.split' and before['dataset.blend'] == 'None'):
        return False
    # Names of scopes become what they name.
    return after[name] != before[name] and name not in ('model.cuda_graph_scope', 'model.cuda_graph_modules')


def main(checkout: str, megatron: str) -> None:
    verdicts = sys.stdout
    bridge = import_bridge(checkout, megatron)
    clean = dict(os.environ)
    for line in sys.stdin:
        question = json.loads(line)
        os.environ.clear()
        os.environ.update(clean, WORLD_SIZE=str(question['worldSize']), RANK='0', **question['env'])
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            verdict = _verdict(bridge, question)
        print(json.dumps({'id': question['id'], **verdict}), file=verdicts, flush=True)


if __name__ == '__main__':
    main(*sys.argv[1:])
