"""Puts the CPU in the place of the accelerator that TorchTitan takes for granted.

To be called before anything of TorchTitan is imported, since it looks for its device when it is. Each part says what TorchTitan 0.3.0 does that
no CPU answers. Nothing of how layers, gradients, optimizer states or checkpoints are divided among ranks is touched.
"""

from __future__ import annotations

import resource
from types import SimpleNamespace
from typing import Any

import torch

KIB = 1024


def train_on_cpu() -> None:
    """TorchTitan imported after this finds a CPU wherever it looks for a GPU."""
    _be_the_device()
    _answer_for_memory()
    _meet_without_device_ids()
    _attend_without_kernels()
    _sum_gradients_plainly()


def _be_the_device() -> None:
    """It asks PyTorch for its accelerator, and takes CUDA where there is none."""
    torch._utils._get_available_device_type = lambda: 'cpu'


def _answer_for_memory() -> None:
    """Its step lines tell of the device's memory; torch.cpu has no such calls. Here it is the memory of the process."""
    capacity = SimpleNamespace(total_memory=_total_bytes())
    stubs: dict[str, Any] = {
        'get_device_name': lambda _device=None: 'CPU',
        'get_device_properties': lambda _device=None: capacity,
        'reset_peak_memory_stats': lambda _device=None: None,
        'empty_cache': lambda: None,
        'memory_stats': lambda _device=None: {
            'active_bytes.all.peak': _peak_bytes(),
            'reserved_bytes.all.peak': _peak_bytes(),
            'num_alloc_retries': 0,
            'num_ooms': 0,
        },
    }
    for name, stub in stubs.items():
        if not hasattr(torch.cpu, name):
            setattr(torch.cpu, name, stub)


def _meet_without_device_ids() -> None:
    """It names the device at barriers; torch.cpu.current_device() is a word, where gloo wants no device at all."""
    barrier = torch.distributed.barrier

    def barrier_on_cpu(*args: Any, **named: Any) -> Any:
        named.pop('device_ids', None)
        return barrier(*args, **named)

    torch.distributed.barrier = barrier_on_cpu


def _attend_without_kernels() -> None:
    """Its attention is compiled kernels alone, which have no backward pass on a CPU: the same mask as a dense one for PyTorch's plain attention."""
    from torch.nn.attention.flex_attention import create_block_mask, create_mask
    from torchtitan.models.common import attention

    def attend(query: Any, key: Any, value: Any, *, block_mask: Any, scale: Any, enable_gqa: bool, **_: Any) -> Any:
        batch, _, length, _ = query.shape
        mask = create_mask(block_mask.mask_mod, batch, 1, length, key.shape[2], device='cpu')
        out = torch.nn.functional.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, scale=scale, enable_gqa=enable_gqa
        )
        return out, SimpleNamespace(lse=None)

    attention.FlexAttention.compiled_flex_attn = staticmethod(attend)
    attention._compiled_create_block_mask = create_block_mask


def _sum_gradients_plainly() -> None:
    """FSDP scales gradients while it sums them, an operation that gloo lacks."""
    from torch.distributed.fsdp import FSDPModule

    divide = FSDPModule.set_gradient_divide_factor

    def divide_after_the_sum(module: Any, factor: float) -> None:
        divide(module, factor)
        module.set_force_sum_reduction_for_comms(True)

    FSDPModule.set_gradient_divide_factor = divide_after_the_sum


def _total_bytes() -> int:
    with open('/proc/meminfo', encoding='ascii') as meminfo:
        return int(meminfo.readline().split()[1]) * KIB


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIB
