"""DataFrames, where pandas is installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ._errors import CoxswainError

if TYPE_CHECKING:
    import pandas

    from . import types

#: Columns that an engine may leave out: without a number they would have no type that can be drawn.
_NUMBERS = ("loss", "tokensPerSecond", "stepTimeMs", "gradNorm", "learningRate")


def data_frame(rows: Sequence[Mapping[str, Any]], index: str) -> pandas.DataFrame:
    """The rows as a DataFrame with that index."""
    try:
        import pandas
    except ImportError:
        raise CoxswainError("A DataFrame needs pandas: pip install pandas") from None
    frame = pandas.DataFrame(list(rows))
    return frame if frame.empty else frame.set_index(index)


def step_frame(points: Sequence[types.StepPoint]) -> pandas.DataFrame:
    """The loss curve as a DataFrame by step. A job without steps has the same columns, so that its plot is empty."""
    columns = ("step", "at", *_NUMBERS)
    frame = data_frame(points or [dict.fromkeys(columns)], "step")[: len(points)]
    numbers = {key: "float64" for key in _NUMBERS if key in frame}
    return frame.astype({"at": "datetime64[ns, UTC]", **numbers})
