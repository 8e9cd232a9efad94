"""What is the device, and what software runs on it?"""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import asdict, dataclass

import torch
import torch.nn.functional as F

_QUERY = (
    'name,driver_version,power.limit,clocks.max.sm,clocks.max.mem,memory.total,pcie.link.gen.max,pcie.link.width.max'
)


@dataclass(frozen=True)
class DeviceFacts:
    """`attention`: name of the kernel that PyTorch's attention chooses by itself. `more`: what nvidia-smi says."""

    name: str
    torch: str
    cuda: str
    driver: str
    attention: str
    processors: int
    memory_bytes: int
    host: str
    more: dict[str, str]

    def to_json(self) -> dict[str, object]:
        return asdict(self)


def facts_of(device: torch.device) -> DeviceFacts:
    python = platform.python_version()
    host = f'{os.cpu_count()} CPUs, {platform.machine()}, Linux {platform.release()}, Python {python}'
    version = torch.__version__.split('+')[0]
    if device.type != 'cuda':
        return DeviceFacts('CPU', version, '', '', 'not looked at', 0, 0, host, {})
    properties = torch.cuda.get_device_properties(device)
    smi = _nvidia_smi(_QUERY)
    return DeviceFacts(
        name=properties.name,
        torch=version,
        cuda=torch.version.cuda or '',
        driver=smi.get('driver_version', ''),
        attention=_attention_kernel(device),
        processors=properties.multi_processor_count,
        memory_bytes=properties.total_memory,
        host=host,
        more=smi,
    )


def state_now() -> dict[str, str]:
    """Clocks, power and heat at this moment; empty without nvidia-smi."""
    return _nvidia_smi('clocks.sm,clocks.mem,power.draw,temperature.gpu,clocks_event_reasons.active')


def _nvidia_smi(query: str) -> dict[str, str]:
    try:
        command = ['nvidia-smi', f'--query-gpu={query}', '--format=csv,noheader', '--id=0']
        values = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout
    except (OSError, subprocess.SubprocessError):
        return {}
    return dict(zip(query.split(','), (value.strip() for value in values.split(',')), strict=False))


def _attention_kernel(device: torch.device) -> str:
    from torch.profiler import ProfilerActivity, profile

    query = torch.randn(2, 16, 2048, 128, dtype=torch.bfloat16, device=device)
    F.scaled_dot_product_attention(query, query, query, is_causal=True)
    try:
        with profile(activities=[ProfilerActivity.CUDA]) as profiled:
            F.scaled_dot_product_attention(query, query, query, is_causal=True)
            torch.cuda.synchronize()
    except RuntimeError:  # a machine may keep its profiling counters to itself
        return 'unknown'
    events = sorted(profiled.key_averages(), key=lambda event: -event.device_time_total)
    return events[0].key[:80].split('<')[0].split('::')[-1].removeprefix('void ') if events else 'unknown'
