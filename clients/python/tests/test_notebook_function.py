"""Functions of notebook cells: IPython compiles each cell under a name of its own, and puts its text into linecache."""

from __future__ import annotations

import linecache
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import coxswain
from coxswain._function_source import function_source


class Notebook:
    """Runs cells as ipykernel does: in one namespace, each as a file that exists nowhere."""

    def __init__(self) -> None:
        self._names: dict[str, Any] = {"__name__": "__main__"}
        self._cells = 0

    def run(self, cell: str) -> None:
        self._cells += 1
        place = f"/tmp/ipykernel_1/{self._cells}.py"
        linecache.cache[place] = (len(cell), None, cell.splitlines(keepends=True), place)
        exec(compile(cell, place, "exec"), self._names)

    def function(self, name: str) -> Callable[..., Any]:
        function: Callable[..., Any] = self._names[name]
        return function


TRAIN = "def train(lr, steps=2):\n    for step in range(steps):\n        print(step, math.sqrt(lr))\n"


def output_of(program: bytes, directory: Path) -> list[str]:
    path = directory / "program.py"
    path.write_bytes(program)
    return subprocess.run([sys.executable, str(path)], capture_output=True, check=True, text=True).stdout.split()


def test_a_function_of_a_cell_runs_with_the_modules_that_another_cell_imported(tmp_path: Path) -> None:
    notebook = Notebook()
    notebook.run("import math\n")
    notebook.run(TRAIN)
    assert output_of(function_source(notebook.function("train"), {"lr": 4.0}), tmp_path) == ["0", "2.0", "1", "2.0"]


def test_a_function_of_a_cell_that_was_run_again_is_the_newest(tmp_path: Path) -> None:
    notebook = Notebook()
    notebook.run("import math\n" + TRAIN)
    notebook.run(TRAIN.replace("math.sqrt(lr)", "lr"))
    assert output_of(function_source(notebook.function("train"), {"lr": 4.0, "steps": 1}), tmp_path) == ["0", "4.0"]


@pytest.mark.parametrize(
    ("cell", "name"),
    [("offset = 3\n", "offset"), ("def helper():\n    return 3\noffset = helper\n", "offset")],
    ids=["a variable", "a function"],
)
def test_what_another_cell_made_is_named_and_refused(cell: str, name: str) -> None:
    notebook = Notebook()
    notebook.run(cell)
    notebook.run("def fit(lr):\n    return offset\n")
    with pytest.raises(coxswain.CoxswainError, match=f"uses {name} from outside"):
        function_source(notebook.function("fit"), {"lr": 1})
