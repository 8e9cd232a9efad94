"""How much faster are products in fp8, and what does bringing operands into fp8 take?"""

from __future__ import annotations

import torch

from coxswain_measure.float8 import FORWARD, GRADIENT, Scaled, scaled
from coxswain_measure.timing import Point, Sizes, random_bf16, seconds_of


def float8_products(device: torch.device, sizes: Sizes) -> list[Point]:
    """Products [m, k] x [n, k] transposed, the only arrangement that Hopper has, beside bf16 of the same shape.

    `tensorwise`: one scale for each operand. `rowwise`: one for each row of both.
    """
    shapes = [(size, size, size) for size in sizes.squares if size >= 64]
    shapes += [(tokens, outputs, inputs) for tokens in sizes.tokens for outputs, inputs in sizes.layers]
    return [point for m, n, k in shapes for point in _products(device, sizes, m, n, k)]


def _products(device: torch.device, sizes: Sizes, m: int, n: int, k: int) -> list[Point]:
    x, weight = random_bf16(device, m, k), random_bf16(device, n, k)
    points = [_timed('bf16', device, sizes, (m, n, k), lambda: x @ weight.t())]
    by_row = torch.ones(m, 1, device=device), torch.ones(1, n, device=device)
    x8, weight8 = scaled(x, FORWARD), scaled(weight, FORWARD)
    gradient8 = scaled(x, GRADIENT)
    for kind, a, scales, fast in (
        ('tensorwise', x8, (x8[1], weight8[1]), True),
        ('tensorwise, exact', x8, (x8[1], weight8[1]), False),
        ('tensorwise, exact, e5m2', gradient8, (gradient8[1], weight8[1]), False),
        ('rowwise', x8, by_row, True),
        ('rowwise, exact', x8, by_row, False),
    ):
        points.append(_scaled(kind, device, sizes, a, weight8, scales, fast))
    return points


def _scaled(
    kind: str,
    device: torch.device,
    sizes: Sizes,
    a: Scaled,
    b: Scaled,
    scales: tuple[torch.Tensor, torch.Tensor],
    fast: bool,
) -> Point:
    def work() -> torch.Tensor:
        x, y = scales
        return torch._scaled_mm(a[0], b[0].t(), scale_a=x, scale_b=y, out_dtype=torch.bfloat16, use_fast_accum=fast)

    return _timed(kind, device, sizes, (a[0].shape[0], b[0].shape[0], a[0].shape[1]), work)


def _timed(kind: str, device: torch.device, sizes: Sizes, shape: tuple[int, int, int], work: object) -> Point:
    m, n, k = shape
    point: Point = {'kind': kind, 'm': m, 'n': n, 'k': k}
    try:
        seconds = seconds_of(work, device, sizes.window_s, graphed=True)  # type: ignore[arg-type]
    except RuntimeError as error:
        return point | {'refused': str(error).splitlines()[0][:120]}
    return point | {'seconds': seconds, 'tflops': round(2 * m * n * k / seconds / 1e12, 2)}


def float8_scaling(device: torch.device, sizes: Sizes) -> list[Point]:
    """From bf16 to fp8 with a scale for the whole tensor, in eager PyTorch and compiled."""
    compiled = torch.compile(scaled, dynamic=False)
    points = []
    for rows, width in sizes.elementwise:
        x = random_bf16(device, rows, width)
        works = {'eager': scaled} if device.type != 'cuda' else {'eager': scaled, 'compiled': compiled}
        for kind, work in works.items():
            seconds = seconds_of(lambda w=work, x=x: w(x, FORWARD), device, sizes.window_s)
            points.append({'kind': kind, 'rows': rows, 'width': width, 'seconds': seconds})
    return points
