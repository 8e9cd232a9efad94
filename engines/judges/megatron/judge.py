"""Lets Megatron-LM judge command lines: `judge.py CHECKOUT`, one question as JSON in each line of standard input, one verdict in each of its output.

Question: `{"id", "args", "env", "worldSize"}`. Verdict: `{"id", "why"}`, where why is null when the parser, its validation and the configuration of the
transformer take it. Nothing is built and no process group is made: what only shows then is not judged.
"""

import contextlib
import io
import json
import os
import sys
import types

from megatron_parser import import_megatron


def _packages_of_an_image():
    """An image has Transformer Engine and nvidia_resiliency_ext, for which validation asks by their version and their name, and nothing else."""
    from megatron.core import utils
    from megatron.core.models.common.embeddings import rope_utils
    from packaging.version import Version

    utils._te_version = Version('2.12.0')
    rope_utils.fused_apply_rotary_pos_emb = rope_utils.fused_apply_rotary_pos_emb or _packages_of_an_image
    rope_utils.fused_apply_rotary_pos_emb_thd = rope_utils.fused_apply_rotary_pos_emb_thd or _packages_of_an_image
    path = 'nvidia_resiliency_ext.checkpointing.local.ckpt_managers.local_manager'.split('.')
    for depth in range(1, len(path) + 1):
        sys.modules['.'.join(path[:depth])] = types.ModuleType(path[depth - 1])
    sys.modules['.'.join(path)].LocalCheckpointManager = object


def _why(arguments, question):
    """What Megatron says against the command line, or None."""
    sys.argv = ['pretrain', *question['args']]
    try:
        args = arguments.parse_args()
        args = arguments.validate_args(args) or args
        arguments.core_transformer_config_from_args(args)
    except SystemExit as end:
        return f'exit {end.code}'
    except Exception as error:
        return f'{type(error).__name__}: {error}'
    return None


def main(checkout):
    verdicts = sys.stdout
    arguments = import_megatron(checkout)
    _packages_of_an_image()
    clean = dict(os.environ)
    for line in sys.stdin:
        question = json.loads(line)
        os.environ.clear()
        os.environ.update(clean, WORLD_SIZE=str(question['worldSize']), RANK='0', **question['env'])
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            why = _why(arguments, question)
        told = said.getvalue().strip().splitlines()
        # argparse says why it ends on standard error alone.
        why = f'{why}: {told[-1]}' if why is not None and why.startswith('exit') and told else why
        print(json.dumps({'id': question['id'], 'why': why}), file=verdicts, flush=True)


if __name__ == '__main__':
    main(*sys.argv[1:])
