"""DataFrames, where pandas is installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ._errors import CoxswainError

if TYPE_CHECKING:
    import pandas


def data_frame(rows: Sequence[Mapping[str, Any]], index: str) -> pandas.DataFrame:
    """The rows as a DataFrame with that index. Times are times."""
    try:
        import pandas
    except ImportError:
        raise CoxswainError("A DataFrame needs pandas: pip install coxswain[notebook]") from None
    frame = pandas.DataFrame(list(rows))
    if frame.empty:
        return frame
    if "at" in frame:
        frame["at"] = pandas.to_datetime(frame["at"])
    return frame.set_index(index)
