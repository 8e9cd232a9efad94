"""Prints the arguments of the transformers that is installed, as `libs/engines` keeps them: name to flag, value or list.

    python3 trainer_options.py > libs/engines/src/adapters/hugging-face/options-v5.23.0.json
"""

import json

import transformers
from transformers import HfArgumentParser, TrainingArguments


def main() -> None:
    parser = HfArgumentParser(TrainingArguments)
    options = {action.dest: _kind(action.nargs) for action in parser._actions if action.dest != 'help'}
    print(json.dumps({'release': f'v{transformers.__version__}', 'options': options}, sort_keys=True, separators=(',', ':')))


def _kind(nargs: object) -> str:
    """A flag of HfArgumentParser may have its value behind it."""
    return {None: 'value', '?': 'list', '+': 'list', '*': 'list', 0: 'flag'}[nargs]


if __name__ == '__main__':
    main()
