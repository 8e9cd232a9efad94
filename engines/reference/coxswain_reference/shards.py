"""Which part of a global tensor a rank holds, as boxes.

Two cuts are made. The tensor-parallel cut divides one axis evenly. The data-parallel cut divides the rows (axis 0) of
what is left among the data-parallel ranks, for the optimizer alone. Both give boxes, so every shard that is ever saved
is a box of a tensor with a layout-independent name and shape: that is what lets any layout read another's checkpoint.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod


@dataclass(frozen=True)
class Box:
    """A rectangular part of a global tensor."""

    offsets: tuple[int, ...]
    sizes: tuple[int, ...]

    @property
    def elements(self) -> int:
        return prod(self.sizes)


@dataclass(frozen=True)
class Cut:
    """How one parameter is divided among the tensor-parallel ranks.

    `shape` is the true global shape, free of padding. `axis` is None where every rank holds the whole. `padded_to` is
    the length of axis 0 after padding (only the vocabulary is padded); the padding is never saved.
    """

    shape: tuple[int, ...]
    axis: int | None = None
    padded_to: int | None = None

    @property
    def padded_shape(self) -> tuple[int, ...]:
        return self.shape if self.padded_to is None else (self.padded_to, *self.shape[1:])


def padded_length(length: int, degree: int) -> int:
    """The smallest multiple of `degree` that is at least `length`."""
    return -(-length // degree) * degree


def tensor_box(cut: Cut, rank: int, degree: int) -> Box:
    """What tensor-parallel rank `rank` of `degree` holds, padding included."""
    shape = cut.padded_shape
    if cut.axis is None or degree == 1:
        return Box((0,) * len(shape), shape)
    part = shape[cut.axis] // degree
    offsets = tuple(rank * part if axis == cut.axis else 0 for axis in range(len(shape)))
    sizes = tuple(part if axis == cut.axis else size for axis, size in enumerate(shape))
    return Box(offsets, sizes)


def row_ranges(rows: int, degree: int) -> list[tuple[int, int]]:
    """Divides `rows` into `degree` consecutive ranges [begin, end), the earlier ones longer by at most one row."""
    short, longer = divmod(rows, degree)
    ends = [short * (rank + 1) + min(rank + 1, longer) for rank in range(degree)]
    return list(zip([0, *ends[:-1]], ends, strict=True))


def row_part(box: Box, begin: int, end: int) -> Box:
    """Rows `begin` to `end` of `box`, counted within it."""
    return Box((box.offsets[0] + begin, *box.offsets[1:]), (end - begin, *box.sizes[1:]))


def without_padding(box: Box, cut: Cut) -> Box:
    """The part of `box` that exists in the true tensor; perhaps with no rows."""
    rows = max(0, min(box.offsets[0] + box.sizes[0], cut.shape[0]) - box.offsets[0])
    return Box(box.offsets, (rows, *box.sizes[1:]))
