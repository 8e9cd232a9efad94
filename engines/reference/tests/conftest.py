"""Puts the engine, the agent and the tests' own helpers on the path, and shares the gangs that many tests look at."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
ENGINES = TESTS.parents[1]
sys.path[:0] = [str(TESTS), str(ENGINES / 'reference'), str(ENGINES / 'agent')]

from gang import Gang, run_gang  # noqa: E402 - needs the path above


@pytest.fixture(scope='session')
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp('runs')


@pytest.fixture(scope='session')
def undisturbed(runs: Path) -> Gang:
    """The curve that all others are held against: one process, 20 steps, fp32."""
    return run_gang(runs / 'undisturbed', (1, 1, 1), save_every=10)


@pytest.fixture(scope='session')
def tensor_and_data(runs: Path) -> Gang:
    """tp2 x dp2, with a checkpoint after step 10."""
    return run_gang(runs / 'tp2dp2', (2, 1, 2), save_every=10)
