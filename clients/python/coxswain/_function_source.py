"""A function as a program: its source, and what that needs."""

from __future__ import annotations

import ast
import builtins
import dis
import inspect
import json
import textwrap
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any, cast

from ._errors import WorkdirError

#: Module of a function that a job runs.
FUNCTION_FILE = "coxswain_function.py"
#: Of class bodies, default values, and Python 3.12 and later too.
_LOADS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})


def function_source(function: Callable[..., Any], arguments: Mapping[str, Any]) -> bytes:
    """A program that calls the function: its source, imports of the modules that it uses, and its arguments as JSON.

    Raises WorkdirError if the function uses anything else from outside, because its source alone does not have it.
    """
    name = function.__name__
    if inspect.isclass(function) or not inspect.isfunction(function) or name == "<lambda>":
        raise WorkdirError(f"{function!r} is no function with a name; write it with def.")
    try:
        source = textwrap.dedent(inspect.getsource(function))
    except OSError:
        raise WorkdirError(f"The source of {name} is not known; define it in a notebook cell or a file.") from None
    if source.startswith("@"):
        raise WorkdirError(f"{name} has a decorator, which may need more than its source; call it from a function without one.")
    used = _used_from_outside(function, source)
    modules = {alias: value for alias, value in used.items() if isinstance(value, ModuleType)}
    others = sorted(alias for alias in used if alias not in modules)
    if others:
        raise WorkdirError(
            f"{name} uses {', '.join(others)} from outside of it, and a job gets only the source of the function. "
            "Move them into the function, pass values by args=, or put the code into a file and ship its directory by workdir=."
        )
    try:
        given = json.dumps(dict(arguments), allow_nan=False, sort_keys=True)
    except (TypeError, ValueError) as error:
        raise WorkdirError(f"args of {name} must be values of JSON: {error}") from None
    imports = [
        f"import {module.__name__} as {alias}" if module.__name__ != alias else f"import {alias}"
        for alias, module in sorted(modules.items())
    ]
    call = f"{name}(**json.loads({given!r}))"
    lines = ["from __future__ import annotations", "", "import json", *imports, "", "", source.rstrip(), "", ""]
    return "\n".join([*lines, 'if __name__ == "__main__":', f"    {call}", ""]).encode()


def _used_from_outside(function: Callable[..., Any], source: str) -> dict[str, Any]:
    """Names of the function, of code inside of it and of its default values, with what they are.

    Annotations do not count: the program does not evaluate them.
    """
    plain = cast("FunctionType", function)
    cells = dict(zip(plain.__code__.co_freevars, plain.__closure__ or ()))
    names = set(_loaded(plain.__code__))
    evaluated = {name for default in _defaults(source) for name in _loaded(default)}
    used: dict[str, Any] = {}
    for name in (names | evaluated | set(cells)) - {plain.__name__, "__name__"}:
        if name in cells:
            used[name] = _content(cells[name])
        elif name in plain.__globals__:
            used[name] = plain.__globals__[name]
        elif name in evaluated and not hasattr(builtins, name):
            # A variable of the function around it.
            used[name] = None
    return used


def _loaded(code: CodeType) -> Iterator[str]:
    instructions = list(dis.get_instructions(code))
    own = {each.argval for each in instructions if each.opname == "STORE_NAME"}
    yield from (each.argval for each in instructions if each.opname in _LOADS and each.argval not in own)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _loaded(inner)


def _defaults(source: str) -> Iterator[CodeType]:
    function = ast.parse(source).body[0]
    if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        for default in [*function.args.defaults, *function.args.kw_defaults]:
            if default is not None:
                yield compile(ast.Expression(default), "default", "eval")


def _content(cell: Any) -> Any:
    """None: it has none yet."""
    try:
        return cell.cell_contents
    except ValueError:
        return None
