"""Which training runs are measured? Each is one row of the table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from coxswain_measure.model import Shape

GPT_VOCABULARY = 50_304


def _gpt(name: str, layers: int, hidden: int, heads: int) -> Shape:
    return Shape(name, 'gpt', layers, hidden, heads, heads, 4 * hidden, GPT_VOCABULARY, is_tied=True)


GPT_125M = _gpt('GPT-125M', 12, 768, 12)
GPT_350M = _gpt('GPT-350M', 24, 1024, 16)
GPT_760M = _gpt('GPT-760M', 24, 1536, 16)
GPT_1B3 = _gpt('GPT-1.3B', 24, 2048, 16)
GPT_2B7 = _gpt('GPT-2.7B', 32, 2560, 32)
TINY_LLAMA = Shape('TinyLlama-1.1B', 'llama', 22, 2048, 32, 4, 5632, 32_000, is_tied=False)
LLAMA_1B = Shape('Llama-3.2-1B', 'llama', 16, 2048, 32, 8, 8192, 128_256, is_tied=True)
LLAMA_3B = Shape('Llama-3.2-3B', 'llama', 28, 3072, 24, 8, 8192, 128_256, is_tied=True)
TINY = Shape('tiny', 'llama', 2, 64, 4, 2, 128, 512, is_tied=False)
"""For trying the program on a CPU; in no table."""

ENGINES = ('eager', 'compiled', 'fsdp')


@dataclass(frozen=True)
class Row:
    """One run: micro-batch of `batch` samples of `length` tokens, `accumulated` of them per optimizer step.

    `engine`: 'eager' and 'compiled' keep bf16 weights with fp32 gradients, master weights and moments (18 bytes per
    parameter); 'fsdp' is PyTorch's fully_shard over one rank, which keeps fp32 weights, gradients and moments.
    """

    shape: Shape
    length: int
    batch: int
    recompute: bool = False
    engine: str = 'eager'
    accumulated: int = 1

    @property
    def name(self) -> str:
        """Unique among the rows; what `--only` is matched against."""
        recompute = 'full' if self.recompute else 'none'
        return f'{self.shape.name}/s{self.length}/b{self.batch}/a{self.accumulated}/{recompute}/{self.engine}'


_PLAIN: dict[Shape, list[tuple[int, int]]] = {
    GPT_125M: [(1024, 1), (1024, 4), (1024, 16), (2048, 8), (1024, 32)],
    GPT_350M: [(1024, 2), (1024, 8), (1024, 16), (2048, 4), (4096, 4)],
    GPT_760M: [(1024, 4), (1024, 16), (2048, 4), (4096, 2)],
    GPT_1B3: [(1024, 1), (1024, 4), (1024, 8), (2048, 2), (2048, 4), (4096, 2), (8192, 1), (4096, 8)],
    GPT_2B7: [(2048, 1), (2048, 2), (4096, 1), (2048, 8)],
    TINY_LLAMA: [(2048, 1), (2048, 2), (2048, 4), (2048, 8), (4096, 2), (8192, 1), (8192, 4)],
    LLAMA_1B: [(1024, 1), (2048, 1), (2048, 2), (2048, 4), (4096, 1), (4096, 2), (8192, 1)],
    LLAMA_3B: [(1024, 1), (2048, 1), (8192, 2)],
}
_RECOMPUTED: dict[Shape, list[tuple[int, int]]] = {
    GPT_125M: [(1024, 16)],
    GPT_350M: [(1024, 16)],
    GPT_760M: [(2048, 8)],
    GPT_1B3: [(2048, 8), (1024, 16)],
    GPT_2B7: [(2048, 4), (2048, 8), (4096, 2)],
    TINY_LLAMA: [(2048, 8), (4096, 4), (8192, 2)],
    LLAMA_1B: [(4096, 4), (8192, 2)],
    LLAMA_3B: [(2048, 2), (4096, 1), (8192, 1)],
}
_COMPILED: list[tuple[Shape, int, int, bool]] = [
    (GPT_125M, 1024, 16, False),
    (GPT_350M, 1024, 8, False),
    (GPT_760M, 2048, 4, False),
    (GPT_1B3, 2048, 4, False),
    (GPT_1B3, 2048, 8, True),
    (GPT_2B7, 2048, 2, False),
    (TINY_LLAMA, 2048, 4, False),
    (LLAMA_1B, 4096, 2, False),
    (LLAMA_3B, 2048, 1, False),
]
_SHARDED: list[tuple[Shape, int, int, bool]] = [
    (GPT_125M, 1024, 16, False),
    (GPT_1B3, 2048, 4, False),
    (GPT_1B3, 2048, 8, True),
    (TINY_LLAMA, 2048, 4, False),
    (TINY_LLAMA, 2048, 8, True),
    (LLAMA_1B, 4096, 2, False),
    (LLAMA_3B, 4096, 1, True),
]
_ACCUMULATED: list[tuple[Shape, int, int, int]] = [
    (GPT_125M, 1024, 4, 8),
    (GPT_350M, 2048, 4, 8),
    (GPT_1B3, 2048, 2, 8),
    (TINY_LLAMA, 2048, 4, 4),
    (LLAMA_1B, 4096, 1, 8),
]


def table() -> list[Row]:
    """Every row, those of one kind together: first what takes least time to begin."""
    return list(_rows())


def _rows() -> Iterator[Row]:
    for recompute, sizes in ((False, _PLAIN), (True, _RECOMPUTED)):
        for shape, runs in sizes.items():
            yield from (Row(shape, length, batch, recompute) for length, batch in runs)
    yield from (Row(shape, length, batch, accumulated=many) for shape, length, batch, many in _ACCUMULATED)
    for engine, runs in (('fsdp', _SHARDED), ('compiled', _COMPILED)):
        yield from (Row(shape, length, batch, recompute, engine) for shape, length, batch, recompute in runs)
