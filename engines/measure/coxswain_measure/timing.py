"""How is the time of an operation taken, and at which sizes?"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

WINDOWS = 7
_MOST_GRAPHED_CALLS = 50
Point = dict[str, object]
"""One measured case: what was done, and `seconds` or a rate."""


@dataclass(frozen=True)
class Sizes:
    """Which cases are measured. `window_s`: seconds of work per timed window."""

    squares: tuple[int, ...] = (256, 512, 1024, 2048, 4096, 8192, 16384)
    rows: tuple[int, ...] = (1024, 4096, 16384)
    hidden: tuple[int, ...] = (768, 1024, 1536, 2048, 2560, 4096, 5120, 8192)
    odd: tuple[int, ...] = (4094, 4095, 4100, 4104, 4112, 4128)
    vocabularies: tuple[int, ...] = (32_000, 50_257, 50_304, 128_256)
    copies: tuple[int, ...] = tuple(2**power for power in range(20, 33, 2))
    host_copies: tuple[int, ...] = tuple(2**power for power in range(12, 31, 3))
    elementwise: tuple[tuple[int, int], ...] = ((2048, 2048), (8192, 2048), (8192, 4096), (16384, 8192))
    attention: tuple[tuple[int, int, int, int, int], ...] = (
        *((batch, 16, 16, length, 128) for batch, length in ((16, 1024), (8, 2048), (4, 4096), (2, 8192), (1, 16384))),
        *((batch, 32, 32, length, 64) for batch, length in ((16, 1024), (4, 4096), (2, 8192))),
        *((batch, 32, 8, length, 128) for batch, length in ((4, 2048), (2, 4096), (1, 8192))),
        (4, 32, 32, 2048, 80),
        (1, 12, 12, 1024, 64),
    )
    """Batch, heads, key-value heads, length, head width."""
    optimizer: tuple[int, ...] = (10_000_000, 100_000_000, 1_000_000_000)
    layers: tuple[tuple[int, int], ...] = (
        *((2048, 2048), (6144, 4096), (4096, 4096), (14_336, 4096), (4096, 14_336)),
        *((10_240, 8192), (28_672, 8192), (8192, 28_672)),
    )
    """Outputs and inputs of linear layers; those of Llama 8B and 70B among them."""
    tokens: tuple[int, ...] = (2048, 8192, 16_384)
    experts: tuple[tuple[int, int, int, int], ...] = (
        *((64, 8, 2048, 1024), (64, 6, 2048, 1408), (128, 8, 2048, 768), (8, 2, 4096, 14_336), (256, 8, 7168, 2048)),
    )
    """Experts, those for each token, hidden size, width of one: OLMoE, DeepSeekMoE, Qwen3, Mixtral, DeepSeek-V3."""
    window_s: float = 0.005

    @staticmethod
    def tiny() -> Sizes:
        return Sizes(
            squares=(64,),
            rows=(32,),
            hidden=(32,),
            odd=(33,),
            vocabularies=(100,),
            copies=(4096,),
            host_copies=(4096,),
            elementwise=((16, 32),),
            attention=((1, 2, 1, 32, 16),),
            optimizer=(1000,),
            layers=((32, 48),),
            tokens=(64,),
            experts=((4, 2, 32, 16),),
            window_s=0.0001,
        )


def seconds_of(work: Callable[[], object], device: torch.device, window_s: float, *, graphed: bool = False) -> float:
    """Seconds of one call of `work`: median over windows of as many calls as fill `window_s`.

    `graphed` replays the calls from a CUDA graph, where there is CUDA.
    """
    for _ in range(3):
        work()
    once = _window(work, device, 1)
    if graphed and device.type == 'cuda':
        inside = max(1, min(_MOST_GRAPHED_CALLS, round(window_s / once)))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(inside):
                work()
        return seconds_of(graph.replay, device, window_s) / inside
    calls = max(1, min(1000, round(window_s / max(once, 1e-7))))
    return statistics.median(_window(work, device, calls) for _ in range(WINDOWS)) / calls


def _window(work: Callable[[], object], device: torch.device, calls: int) -> float:
    if device.type != 'cuda':
        began = time.perf_counter()
        for _ in range(calls):
            work()
        return time.perf_counter() - began
    first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    first.record()
    for _ in range(calls):
        work()
    last.record()
    last.synchronize()
    return first.elapsed_time(last) / 1e3


def random_bf16(device: torch.device, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.bfloat16, device=device)
