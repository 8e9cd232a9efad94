"""Which training runs are measured? Each is one row of the table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from coxswain_measure.shape import Shape

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
LLAMA_8B_CUT = Shape('Llama-3.1-8B cut to 8 layers', 'llama', 8, 4096, 32, 8, 14_336, 128_256, is_tied=False)
OLMOE = Shape('OLMoE-1B-7B cut to 4 layers', 'llama', 4, 2048, 16, 16, 1024, 50_304, is_tied=False, experts=64, topk=8)
MIXTRAL = Shape(
    'Mixtral-8x7B cut to 1 layer', 'llama', 1, 4096, 32, 8, 14_336, 32_000, is_tied=False, experts=8, topk=2
)
MIXTRAL_2 = replace(MIXTRAL, name='Mixtral-8x7B cut to 2 layers', layers=2)
QWEN = Shape(
    'Qwen3-30B-A3B cut to 3 layers',
    'llama',
    3,
    2048,
    32,
    4,
    768,
    151_936,
    is_tied=False,
    experts=128,
    topk=8,
    head_width=128,
)
DEEPSEEK = Shape(
    'DeepSeekMoE-16B cut to 4 layers',
    *('llama', 4, 2048, 16, 16, 1408, 102_400),
    is_tied=False,
    experts=64,
    topk=6,
    shared=2,
    dense_layers=1,
    dense_ffn=10_944,
)
TINY = Shape('tiny', 'llama', 2, 64, 4, 2, 128, 512, is_tied=False)
TINY_EXPERTS = replace(TINY, name='tiny with experts', experts=4, topk=2, shared=1, dense_layers=1, dense_ffn=96)
"""Both tiny ones: for trying the program on a CPU; in no table."""


@dataclass(frozen=True)
class Row:
    """One run: micro-batch of `batch` samples of `length` tokens, `accumulated` of them per optimizer step.

    `engine`: 'eager' and 'compiled' keep bf16 weights with fp32 gradients, master weights and moments (18 bytes per
    parameter); 'fsdp' is PyTorch's fully_shard over one rank, which keeps fp32 weights, gradients and moments.
    `precision`: 'bf16', or 'fp8' for the linear layers of the blocks.
    """

    shape: Shape
    length: int
    batch: int
    recompute: bool = False
    engine: str = 'eager'
    accumulated: int = 1
    precision: str = 'bf16'

    @property
    def name(self) -> str:
        """Unique among the rows; what `--only` is matched against."""
        recompute = 'full' if self.recompute else 'none'
        name = f'{self.shape.name}/s{self.length}/b{self.batch}/a{self.accumulated}/{recompute}/{self.engine}'
        marks = [self.precision] * (self.precision != 'bf16') + ['even'] * self.shape.has_even_load
        return '/'.join([name, *marks])


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
_OF_EXPERTS: list[Row] = [
    *(
        Row(OLMOE, length, batch)
        for length, batch in ((2048, 1), (2048, 4), (4096, 1), (4096, 2), (4096, 4), (8192, 1))
    ),
    *(Row(MIXTRAL, length, batch) for length, batch in ((2048, 2), (4096, 1), (4096, 4), (8192, 2))),
    *(Row(MIXTRAL_2, length, batch) for length, batch in ((2048, 2), (4096, 2))),
    *(Row(QWEN, length, batch) for length, batch in ((2048, 2), (4096, 1), (4096, 2), (8192, 1))),
    *(Row(DEEPSEEK, length, batch) for length, batch in ((2048, 2), (4096, 1), (4096, 2), (8192, 1))),
    *(Row(OLMOE, length, batch, recompute=True) for length, batch in ((4096, 4), (8192, 4))),
    *(Row(shape, 4096, 2, recompute=True) for shape in (MIXTRAL_2, QWEN)),
    *(Row(shape, 4096, 4, recompute=True) for shape in (QWEN, DEEPSEEK)),
    *(Row(shape, 4096, 1, accumulated=8) for shape in (OLMOE, MIXTRAL, DEEPSEEK)),
    *(Row(shape, 4096, 2, engine='fsdp') for shape in (OLMOE, MIXTRAL)),
    *(Row(shape, 4096, 2, engine='compiled') for shape in (OLMOE, MIXTRAL, QWEN, DEEPSEEK)),
]
_IN_FP8: list[Row] = [
    Row(LLAMA_8B_CUT, 4096, 2),
    Row(LLAMA_8B_CUT, 4096, 4, recompute=True, engine='compiled'),
    *(Row(LLAMA_8B_CUT, length, batch, engine='compiled') for length, batch in ((4096, 1), (4096, 2), (8192, 1))),
    *(Row(GPT_2B7, 2048, 2, engine='compiled'), Row(LLAMA_3B, 2048, 1, engine='compiled')),
    Row(LLAMA_1B, 4096, 2, engine='compiled'),
]
"""Each of them is measured in bf16 as well."""


def table() -> list[Row]:
    """Every row, those of one kind together: first what takes least time to begin. What is added goes to the end."""
    dense = list(_dense_rows())
    twins = [row for row in _IN_FP8 if row not in dense]
    float8 = [replace(row, precision='fp8') for row in _IN_FP8]
    return [*dense, *_OF_EXPERTS, *twins, *float8, *map(_with_even_load, _OF_EXPERTS)]


def _with_even_load(row: Row) -> Row:
    return replace(row, shape=replace(row.shape, has_even_load=True))


def _dense_rows() -> Iterator[Row]:
    for recompute, sizes in ((False, _PLAIN), (True, _RECOMPUTED)):
        for shape, runs in sizes.items():
            yield from (Row(shape, length, batch, recompute) for length, batch in runs)
    yield from (Row(shape, length, batch, accumulated=many) for shape, length, batch, many in _ACCUMULATED)
    for engine, runs in (('fsdp', _SHARDED), ('compiled', _COMPILED)):
        yield from (Row(shape, length, batch, recompute, engine) for shape, length, batch, recompute in runs)
