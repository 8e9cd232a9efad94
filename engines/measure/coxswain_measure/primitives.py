"""What can the device do at all? Times of the operations that training steps are made of, one table per kind.

Times are medians over several windows of many repetitions. Products are replayed from a CUDA graph, so they are the
device's own times. The others are queued one by one, as eager PyTorch does: what takes the device less than the host
needs to queue it shows the host's time. Operands are random: a GPU multiplies zeros faster.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from coxswain_measure.primitives_of_experts import grouped_products, routing
from coxswain_measure.primitives_of_float8 import float8_products, float8_scaling
from coxswain_measure.timing import WINDOWS, Point, Sizes, random_bf16, seconds_of

_BACKENDS = {
    'flash': SDPBackend.FLASH_ATTENTION,
    'cudnn': SDPBackend.CUDNN_ATTENTION,
    'efficient': SDPBackend.EFFICIENT_ATTENTION,
}


def products(device: torch.device, sizes: Sizes) -> list[Point]:
    """bf16 products [m, k] x [k, n] as layers make them: forward, gradient of the input, gradient of the weight."""
    shapes = {(size, size, size) for size in sizes.squares}
    side = max(sizes.squares) // 4
    shapes |= {(side, size, side) for size in sizes.odd} | {(side, side, size) for size in sizes.odd}
    for rows in sizes.rows:
        for hidden in sizes.hidden:
            shapes |= {(rows, 3 * hidden, hidden), (rows, 4 * hidden, hidden), (rows, hidden, 4 * hidden)}
            shapes.add((rows, hidden, hidden))
    shapes |= {(sizes.rows[0], vocabulary, hidden) for vocabulary in sizes.vocabularies for hidden in sizes.hidden[::3]}
    return [point for m, n, k in sorted(shapes) for point in _product(device, sizes, m, n, k)]


def _product(device: torch.device, sizes: Sizes, m: int, n: int, k: int) -> list[Point]:
    x, weight, gradient = random_bf16(device, m, k), random_bf16(device, n, k), random_bf16(device, m, n)
    works = {
        'forward': lambda: F.linear(x, weight),
        'input gradient': lambda: gradient @ weight,
        'weight gradient': lambda: gradient.t() @ x,
    }
    points = []
    for kind, work in works.items():
        seconds = seconds_of(work, device, sizes.window_s, graphed=True)
        tflops = 2 * m * n * k / seconds / 1e12
        points.append({'kind': kind, 'm': m, 'n': n, 'k': k, 'seconds': seconds, 'tflops': round(tflops, 2)})
    return points


def copies(device: torch.device, sizes: Sizes) -> list[Point]:
    """Memory bandwidth of the device: bytes read and written, over seconds."""
    points = []
    for size in sizes.copies:
        source = torch.randn(size // 2, device=device).bfloat16()
        target = torch.empty_like(source)
        works = {
            'copy': (lambda s=source, t=target: t.copy_(s), 2),
            'read (sum)': (lambda s=source: s.sum(dtype=torch.float32), 1),
            'write (fill)': (lambda t=target: t.fill_(1.0), 1),
            'add': (lambda s=source, t=target: torch.add(s, 1.0, out=t), 2),
        }
        for kind, (work, passes) in works.items():
            seconds = seconds_of(work, device, sizes.window_s)
            rate = passes * size / seconds / 1e9
            points.append({'kind': kind, 'bytes': size, 'seconds': seconds, 'gb_per_s': round(rate, 1)})
    return points


def host_copies(device: torch.device, sizes: Sizes) -> list[Point]:
    """Copies between host and device, from and to pinned and pageable memory, and both ways at once."""
    points = []
    for size in sizes.host_copies:
        there = torch.empty(size, dtype=torch.uint8, device=device)
        for is_pinned in (True, False):
            here = torch.ones(size, dtype=torch.uint8, pin_memory=is_pinned and device.type == 'cuda')
            works = {
                'host to device': lambda h=here, t=there, p=is_pinned: t.copy_(h, non_blocking=p),
                'device to host': lambda h=here, t=there, p=is_pinned: h.copy_(t, non_blocking=p),
            }
            for kind, work in works.items():
                points.append(_host_copy(kind, is_pinned, size, seconds_of(work, device, sizes.window_s)))
    if device.type == 'cuda':
        size = max(sizes.host_copies)
        points.append(_host_copy('both ways at once, each', True, size, _both_ways(device, size)))
    return points


def _host_copy(kind: str, is_pinned: bool, size: int, seconds: float) -> Point:
    rate = round(size / seconds / 1e9, 2)
    return {'kind': kind, 'pinned': is_pinned, 'bytes': size, 'seconds': seconds, 'gb_per_s': rate}


def _both_ways(device: torch.device, size: int) -> float:
    up, down = torch.cuda.Stream(device), torch.cuda.Stream(device)
    here = [torch.ones(size, dtype=torch.uint8, pin_memory=True) for _ in range(2)]
    there = [torch.empty(size, dtype=torch.uint8, device=device) for _ in range(2)]
    times = []
    for _ in range(5):
        torch.cuda.synchronize()
        began = time.perf_counter()
        with torch.cuda.stream(up):
            there[0].copy_(here[0], non_blocking=True)
        with torch.cuda.stream(down):
            here[1].copy_(there[1], non_blocking=True)
        torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def launches(device: torch.device, sizes: Sizes) -> list[Point]:
    """What the host needs per operation: queueing one, queueing one and waiting for it, replaying it from a graph."""
    one = torch.ones(1, device=device)
    many = 1000 if sizes.window_s > 0.001 else 10

    def wait() -> None:
        if device.type == 'cuda':
            torch.cuda.synchronize()

    def queue() -> None:
        for _ in range(many):
            one.add_(1.0)

    def queue_and_wait() -> None:
        for _ in range(many):
            one.add_(1.0)
            wait()

    points = [_launched('queued', many, queue, wait), _launched('queued and awaited', many, queue_and_wait, wait)]
    if device.type == 'cuda':
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            queue()
        points.append(_launched('replayed from a graph', many, graph.replay, wait))
    return points


def _launched(kind: str, many: int, work: Callable[[], object], wait: Callable[[], None]) -> Point:
    times = []
    for _ in range(WINDOWS):
        wait()
        began = time.perf_counter()
        work()
        wait()
        times.append((time.perf_counter() - began) / many)
    return {'kind': kind, 'seconds': statistics.median(times[1:])}


def attention(device: torch.device, sizes: Sizes) -> list[Point]:
    """Causal attention forward and backward, by each of PyTorch's fused kernels that takes the case.

    Rates count half of the full square: 2 x batch x heads x length^2 x width forward, 2.5 times that backward.
    """
    points = []
    for batch, heads, kv_heads, length, width in sizes.attention:
        for name, backend in _BACKENDS.items():
            case: Point = {'kernel': name, 'batch': batch, 'heads': heads, 'kv_heads': kv_heads, 'length': length}
            case['head_width'] = width
            try:
                with sdpa_kernel(backend):
                    case |= _attention(device, sizes, batch, heads, kv_heads, length, width)
            except RuntimeError as error:
                case['refused'] = str(error).splitlines()[0][:120]
            points.append(case)
    return points


def _attention(
    device: torch.device, sizes: Sizes, batch: int, heads: int, kv_heads: int, length: int, width: int
) -> Point:
    query = random_bf16(device, batch, heads, length, width).requires_grad_()
    key, value = (random_bf16(device, batch, kv_heads, length, width).requires_grad_() for _ in range(2))

    def forward() -> torch.Tensor:
        return F.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=kv_heads < heads)

    output = forward()
    gradient = torch.randn_like(output)
    there = seconds_of(forward, device, sizes.window_s)
    back = seconds_of(
        lambda: torch.autograd.grad(output, (query, key, value), gradient, retain_graph=True), device, sizes.window_s
    )
    flops = 2 * batch * heads * length**2 * width
    return {
        'forward_seconds': there,
        'forward_tflops': round(flops / there / 1e12, 1),
        'backward_seconds': back,
        'backward_tflops': round(2.5 * flops / back / 1e12, 1),
    }


def elementwise(device: torch.device, sizes: Sizes) -> list[Point]:
    """Norms, activations, softmax, loss: forward and backward in bf16; the loss in fp32 from bf16 logits."""
    points = []
    for rows, width in sizes.elementwise:
        x = random_bf16(device, rows, width).requires_grad_()
        y = random_bf16(device, rows, width).requires_grad_()
        weight = random_bf16(device, width).requires_grad_()
        works = {
            'rms_norm': lambda: F.rms_norm(x, (width,), weight),
            'layer_norm': lambda: F.layer_norm(x, (width,), weight, weight),
            'gelu': lambda: F.gelu(x, approximate='tanh'),
            'silu times': lambda: F.silu(x) * y,
            'residual': lambda: x + y,
            'softmax': lambda: torch.softmax(x, -1),
        }
        for kind, work in works.items():
            points.append({'kind': kind, 'rows': rows, 'width': width, **_both_passes(device, sizes, work, [x])})
    for vocabulary in sizes.vocabularies:
        rows = sizes.elementwise[0][0]
        logits = random_bf16(device, rows, vocabulary).requires_grad_()
        targets = torch.randint(vocabulary, (rows,), device=device)
        passes = _both_passes(device, sizes, lambda: F.cross_entropy(logits.float(), targets), [logits])
        points.append({'kind': 'cross entropy', 'rows': rows, 'width': vocabulary, **passes})
    return points


def _both_passes(
    device: torch.device, sizes: Sizes, work: Callable[[], torch.Tensor], inputs: list[torch.Tensor]
) -> Point:
    output = work()
    gradient = torch.randn_like(output)
    return {
        'forward_seconds': seconds_of(work, device, sizes.window_s),
        'backward_seconds': seconds_of(
            lambda: torch.autograd.grad(output, inputs, gradient, retain_graph=True), device, sizes.window_s
        ),
    }


def optimizer(device: torch.device, sizes: Sizes) -> list[Point]:
    """Fused AdamW in fp32, and the copy of fp32 weights to bf16 ones, per number of parameters."""
    points = []
    for parameters in sizes.optimizer:
        weight = torch.randn(parameters, device=device)
        weight.grad = torch.randn(parameters, device=device)
        half = weight.bfloat16()
        adam = torch.optim.AdamW([weight], lr=1e-4, fused=True)
        step = seconds_of(adam.step, device, sizes.window_s)
        copy = seconds_of(lambda h=half, w=weight: h.copy_(w), device, sizes.window_s)
        points.append({'parameters': parameters, 'adamw_seconds': step, 'copy_to_bf16_seconds': copy})
    return points


PRIMITIVES: dict[str, Callable[[torch.device, Sizes], list[Point]]] = {
    'products': products,
    'copies': copies,
    'host_copies': host_copies,
    'launches': launches,
    'attention': attention,
    'elementwise': elementwise,
    'optimizer': optimizer,
    'float8_products': float8_products,
    'float8_scaling': float8_scaling,
    'grouped_products': grouped_products,
    'routing': routing,
}
