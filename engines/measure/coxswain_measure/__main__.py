"""`python -m coxswain_measure steps|primitives`: measures, and writes down what it saw as it goes."""

from __future__ import annotations

import argparse
import fnmatch
import json
import sys
import time
from pathlib import Path

import torch

from coxswain_measure.device import facts_of, state_now
from coxswain_measure.primitives import PRIMITIVES
from coxswain_measure.rows import TINY, TINY_EXPERTS, Row, table
from coxswain_measure.table import Table
from coxswain_measure.timing import Sizes
from coxswain_measure.training import OutOfMemory, measure


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    device = torch.device(options.device)
    if device.type == 'cuda':
        torch.cuda.set_device(device)
    options.out.mkdir(parents=True, exist_ok=True)
    return options.run(options, device)


def _steps(options: argparse.Namespace, device: torch.device) -> int:
    facts = facts_of(device)
    print(json.dumps(facts.to_json()), flush=True)
    written = Table(options.out / 'steps.csv', facts, options.source)
    began = time.monotonic()
    chosen = [(number, row) for number, row in enumerate(_rows(options), 1) if _is_chosen(row.name, options.only)]
    for done, (number, row) in enumerate(chosen):
        if options.seconds and time.monotonic() - began > options.seconds:
            print(f'out of time before {row.name}; {len(chosen) - done} rows are left', flush=True)
            return 3
        try:
            measured = measure(row, device, steps=options.steps)
        except OutOfMemory:
            written.add(number, row, None)
            print(f'{row.name}: out of memory', flush=True)
            continue
        written.add(number, row, measured)
        print(
            f'{time.monotonic() - began:6.1f} s  {row.name}: {measured.median_s * 1e3:.2f} ms, allocated '
            f'{measured.allocated / 2**30:.2f} GiB, reserved {measured.reserved / 2**30:.2f}, '
            f'loss {measured.first_loss:.3f} to {measured.last_loss:.3f}  {state_now()}',
            flush=True,
        )
    return 0


def _rows(options: argparse.Namespace) -> list[Row]:
    if not options.tiny:
        return table()
    shapes = ((TINY, 'bf16'), (TINY, 'fp8'), (TINY_EXPERTS, 'bf16'))
    engines = ('eager', 'compiled')
    return [
        Row(shape, 32, 2, recompute, engine, precision=precision)
        for shape, precision in shapes
        for recompute in (False, True)
        for engine in engines
    ]


def _is_chosen(name: str, patterns: list[str]) -> bool:
    return not patterns or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _primitives(options: argparse.Namespace, device: torch.device) -> int:
    sizes = Sizes.tiny() if options.tiny else Sizes()
    path = options.out / 'primitives.json'
    profile: dict[str, object] = {'device': facts_of(device).to_json(), 'source': options.source}
    for name, take in PRIMITIVES.items():
        if not _is_chosen(name, options.only):
            continue
        began = time.monotonic()
        try:
            profile[name] = take(device, sizes)
        except Exception as error:  # noqa: BLE001 - one probe that this device refuses leaves the others standing
            profile[name] = {'error': f'{type(error).__name__}: {error}'[:300]}
            print(f'{name}: {profile[name]}', flush=True)
        profile[f'state after {name}'] = state_now()
        path.write_text(json.dumps(profile, indent=1) + '\n')
        print(f'{name}: {time.monotonic() - began:.1f} s', flush=True)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='python -m coxswain_measure', description=__doc__, allow_abbrev=False)
    commands = parser.add_subparsers(required=True)
    for name, run, text in (
        ('steps', _steps, 'training steps of whole models: writes steps.csv'),
        ('primitives', _primitives, 'products, copies, launches, attention: writes primitives.json'),
    ):
        command = commands.add_parser(name, help=text, allow_abbrev=False)
        command.set_defaults(run=run)
        command.add_argument('--out', type=Path, required=True, help='directory for what was measured')
        command.add_argument('--source', default='coxswain', help='whose measurement it is; begins the ids of rows')
        command.add_argument('--device', default='cuda:0' if torch.cuda.is_available() else 'cpu')
        command.add_argument('--tiny', action='store_true', help='small sizes, to try the program anywhere')
        command.add_argument('--only', action='append', default=[], help='what, by name, with * and ?; repeatable')
        if name == 'steps':
            command.add_argument('--steps', type=int, help='steps to time in each row (default: by the clock)')
            command.add_argument('--seconds', type=float, help='begin no row after this time')
    return parser


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
