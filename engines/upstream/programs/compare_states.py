"""Compares dicts of tensors bit by bit: python3 compare_states.py ONE OTHER. Prints how many tensors there are, and how many differ, as JSON."""

import json
import sys

import torch


def is_same(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    bits = [tensor.contiguous().reshape(-1).view(torch.uint8) for tensor in (one, other)]
    return torch.equal(*bits)


def main() -> None:
    one, other = (torch.load(path, map_location='cpu', weights_only=True) for path in sys.argv[1:3])
    names = sorted(one.keys() | other.keys())
    different = [name for name in names if name not in one or name not in other or not is_same(one[name], other[name])]
    print(json.dumps({'tensors': len(names), 'different': different}))


if __name__ == '__main__':
    main()
