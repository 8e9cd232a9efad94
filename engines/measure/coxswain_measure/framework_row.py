"""How is a row of another framework measured and written down? Each trains the same Llama, alone on one GPU."""

from __future__ import annotations

import argparse
import inspect
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from coxswain_measure.device import facts_of
from coxswain_measure.rows import TINY_LLAMA, Row
from coxswain_measure.table import Table
from coxswain_measure.training import Measured

SHAPE, LENGTH, BATCH, STEPS = TINY_LLAMA, 4096, 2, 35

_ONE_RANK = {
    'RANK': '0',
    'LOCAL_RANK': '0',
    'WORLD_SIZE': '1',
    'MASTER_ADDR': '127.0.0.1',
    'MASTER_PORT': '29511',
}


def measure_and_write(
    train: Callable[[str, bool], Measured],
    engines: Sequence[str],
    arguments: Sequence[str] | None = None,
    device: torch.device | None = None,
) -> None:
    """`train(engine, recompute)` measures one of `engines`; the command line says which, and where to write it."""
    parser = argparse.ArgumentParser(description=inspect.getdoc(inspect.getmodule(train)))
    parser.add_argument('engine', choices=engines)
    parser.add_argument('--recompute', action='store_true')
    parser.add_argument('--out', type=Path, required=True)
    parser.add_argument('--source', default='coxswain')
    parser.add_argument('--number', type=int, default=1)
    asked = parser.parse_args(arguments)
    os.environ |= _ONE_RANK
    measured = train(asked.engine, asked.recompute)
    row = Row(SHAPE, LENGTH, BATCH, asked.recompute, asked.engine)
    Table(asked.out, facts_of(device or torch.device('cuda:0')), asked.source).add(asked.number, row, measured)
    print(row.name, measured)
