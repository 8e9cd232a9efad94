"""What do the parts of a layer of experts take: grouped products, routing, bringing tokens to experts and back?"""

from __future__ import annotations

import torch
import torch.nn.functional as F

from coxswain_measure.experts import Combine, Dispatch, routed
from coxswain_measure.timing import Point, Sizes, random_bf16, seconds_of


def grouped_products(device: torch.device, sizes: Sizes) -> list[Point]:
    """bf16 products of `rows` tokens, each with the matrix [n, k] of its expert: all three products of a training step.

    `even`: each expert has as many. `random`: as many as an even router's chance gives it. `one`: the product with one
    matrix for all, for comparison.
    """
    points = []
    for count, topk, hidden, ffn in sizes.experts:
        for tokens in sizes.tokens:
            for n, k in ((ffn, hidden), (hidden, ffn)):
                for load in ('even', 'random', 'one'):
                    points += _grouped(device, sizes, load, count, tokens * topk, n, k)
    return points


def _grouped(device: torch.device, sizes: Sizes, load: str, count: int, rows: int, n: int, k: int) -> list[Point]:
    groups = 1 if load == 'one' else count
    x, gradient = random_bf16(device, rows, k), random_bf16(device, rows, n)
    weights, ends = random_bf16(device, groups, n, k), _ends(device, load, groups, rows)
    works = {
        'forward': lambda: F.grouped_mm(x, weights.transpose(-2, -1), offs=ends),
        'input gradient': lambda: F.grouped_mm(gradient, weights, offs=ends),
        'weight gradient': lambda: F.grouped_mm(gradient.t(), x, offs=ends),
    }
    if load == 'one':
        weight = weights[0]
        works = {
            'forward': lambda: x @ weight.t(),
            'input gradient': lambda: gradient @ weight,
            'weight gradient': lambda: gradient.t() @ x,
        }
    points = []
    for kind, work in works.items():
        seconds = seconds_of(work, device, sizes.window_s)
        case: Point = {'kind': kind, 'load': load, 'experts': groups, 'rows': rows, 'n': n, 'k': k}
        points.append(case | {'seconds': seconds, 'tflops': round(2 * rows * n * k / seconds / 1e12, 2)})
    return points


def _ends(device: torch.device, load: str, groups: int, rows: int) -> torch.Tensor:
    if load == 'random':
        expert = torch.randint(groups, (rows,), device=device).sort().values
        return torch.searchsorted(expert, torch.arange(groups, device=device), right=True, out_int32=True)
    return (torch.arange(1, groups + 1, device=device) * rows // groups).int()


def routing(device: torch.device, sizes: Sizes) -> list[Point]:
    """Softmax, choice and sorting; then the copies of tokens to their experts and back, forward and backward."""
    points = []
    for count, topk, hidden, _ in sizes.experts:
        for tokens in sizes.tokens:
            x = random_bf16(device, tokens, hidden).requires_grad_()
            logits = random_bf16(device, tokens, count)
            _, order, inverse, _ = routed(logits, topk)
            there = Dispatch.apply(x, order, inverse, topk)
            outputs = random_bf16(device, tokens * topk, hidden).requires_grad_()
            back = Combine.apply(outputs, order, inverse, topk)
            wide, narrow = torch.randn_like(there), torch.randn_like(x)
            works = {
                'route': lambda a=logits, k=topk: routed(a, k),
                'dispatch': lambda a=x, o=order, i=inverse, k=topk: Dispatch.apply(a, o, i, k),
                'dispatch, backward': lambda y=there, a=x, g=wide: torch.autograd.grad(y, a, g, retain_graph=True),
                'combine': lambda a=outputs, o=order, i=inverse, k=topk: Combine.apply(a, o, i, k),
                'combine, backward': lambda y=back, a=outputs, g=narrow: torch.autograd.grad(
                    y, a, g, retain_graph=True
                ),
            }
            for kind, work in works.items():
                case: Point = {'kind': kind, 'experts': count, 'topk': topk, 'tokens': tokens, 'hidden': hidden}
                points.append(case | {'seconds': seconds_of(work, device, sizes.window_s)})
    return points
