"""Writes the options of Megatron-LM's own parser as JSON: `megatron_options.py CHECKOUT RELEASE`.

An option is `arity kind [dest]`: arity as argparse has it (0 for a switch), kind a type, `a|b` for choices, or the value that a switch sets. The
name under which the value is kept is given where it does not follow from the flag. `!` before it all: deprecated.
"""

import enum
import json
import sys

from megatron_parser import import_megatron, parser_of


def _choice(value):
    return value.name if isinstance(value, enum.Enum) else str(value)


def _kind(action, flag):
    if action.nargs == 0:
        if type(action).__name__ == 'BooleanOptionalAction':
            return 'false' if flag.startswith('--no-') else 'true'
        return json.dumps(action.const) if isinstance(action.const, bool) else 'set'
    if action.choices is not None:
        return '|'.join(_choice(one) for one in action.choices)
    return action.type.__name__ if action.type in (int, float) else 'text'


def _written(action, flag):
    arity = 1 if action.nargs is None else action.nargs
    dest = '' if flag.lstrip('-').replace('-', '_') == action.dest else f' {action.dest}'
    deprecated = '!' if action.dest.endswith('_deprecated') or 'deprecated' in (action.help or '').lower() else ''
    return f'{deprecated}{arity} {_kind(action, flag)}{dest}'


def main(checkout, release):
    parser = parser_of(import_megatron(checkout))
    options = {
        flag: _written(action, flag) for action in parser._actions for flag in action.option_strings if flag not in ('-h', '--help')
    }
    print(json.dumps({'release': release, 'options': dict(sorted(options.items()))}, indent=0))


if __name__ == '__main__':
    main(*sys.argv[1:])
