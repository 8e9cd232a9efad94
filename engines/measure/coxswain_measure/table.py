"""Writes measured rows as CSV, in the columns that the planner's score reads, and a few more."""

from __future__ import annotations

import csv
import re
import statistics
from collections.abc import Iterator
from pathlib import Path

from coxswain_measure.device import DeviceFacts
from coxswain_measure.rows import Row
from coxswain_measure.training import WARMUP_STEPS, Measured

COLUMNS = (
    'id,source,model,params_b,layers,hidden,heads,kv_heads,ffn_hidden,vocab,seq_len,experts,topk,gpu,gpus,'
    'gpus_per_node,intra_node_link,inter_node_link,tp,pp,vpp,dp,cp,ep,etp,sp,zero_stage,recompute,precision,'
    'mbs,gbs,engine,iter_time_s,tflops_per_gpu,tokens_per_s_per_gpu,notes,mem_per_gpu_gib,mem_kind,'
    'flops_convention,iter_time_basis,source_kind,quality,recompute_detail,offload_detail,mem_reserved_gib,'
    'mem_device_gib,iter_time_p10_s,iter_time_p90_s,steps_timed'
).split(',')

FLOPS_CONVENTION = (
    'model FLOPs (no recompute) per token: 6 x (parameters that a token meets, without the embedding table, with the '
    'output matrix) + 6 x layers x heads x head width x seq_len (causal: half of full attention)'
)
GIB = 2**30
_MIXED = 'bf16 weights, fp32 gradients, master weights and moments (18 bytes per parameter)'
_ENGINES = {
    'eager': ('eager', 0, _MIXED),
    'compiled': ('torch.compile', 0, _MIXED),
    'fsdp': ('FSDP2', 3, 'fully_shard per block over one rank, fp32 weights, gradients and moments, computing in bf16'),
    'torchtitan': (
        'TorchTitan 0.2.2',
        0,
        'one GPU as it comes: torch.autocast over fp32 weights, gradients and moments',
    ),
    'torchtitan fsdp': ('TorchTitan 0.2.2', 3, 'apply_fsdp over one rank, fp32 weights, gradients and moments'),
    'torchtitan fsdp compiled': ('TorchTitan 0.2.2', 3, 'apply_fsdp over one rank, blocks and loss compiled'),
    'deepspeed zero-1': ('DeepSpeed 0.18.9', 1, 'bf16 weights and gradients, fp32 master weights and moments'),
    'deepspeed zero-1 fp32': ('DeepSpeed 0.18.9', 1, f'grad_accum_dtype fp32: {_MIXED}'),
    'deepspeed zero-2': ('DeepSpeed 0.18.9', 2, 'bf16 weights and gradients, fp32 master weights and moments'),
}
"""By the engine of a row: its name and release, its stage of ZeRO, the states that it keeps."""


class Table:
    """A CSV file that grows by a row at a time, so that what was measured survives whatever comes next."""

    def __init__(self, path: Path, device: DeviceFacts, source: str) -> None:
        self._path = path
        self._device = device
        self._source = source
        with path.open('w', newline='') as file:
            csv.DictWriter(file, COLUMNS).writeheader()

    def add(self, number: int, row: Row, measured: Measured | None) -> None:
        """`number` makes the row's id. `measured` None: the row ran out of memory."""
        cells = self._stated(number, row)
        if measured is None:
            cells |= {'notes': f'{cells["notes"]}; out of memory', 'quality': 'A', 'params_b': ''}
        else:
            cells |= _answers(row, measured)
            if measured.busiest:
                cells['notes'] = f'{cells["notes"]}; busiest expert {measured.busiest:.2f} times the mean'
        with self._path.open('a', newline='') as file:
            csv.DictWriter(file, COLUMNS).writerow(cells)

    def _stated(self, number: int, row: Row) -> dict[str, object]:
        shape, device = row.shape, self._device
        name, zero_stage, _ = _ENGINES[row.engine]
        return {
            'id': f'{_id_of(self._source)}-{number:04d}',
            'source': self._source,
            'model': shape.name,
            'layers': shape.layers,
            'hidden': shape.hidden,
            'heads': shape.heads,
            'kv_heads': shape.kv_heads,
            'ffn_hidden': shape.ffn_hidden,
            'vocab': shape.vocab,
            'seq_len': row.length,
            'experts': shape.experts or '',
            'topk': shape.topk or '',
            'gpu': device.name,
            **dict.fromkeys(('gpus', 'tp', 'pp', 'vpp', 'dp', 'cp', 'ep'), 1),
            'zero_stage': zero_stage,
            'recompute': 'full' if row.recompute else 'none',
            'precision': row.precision,
            'mbs': row.batch,
            'gbs': row.batch * row.accumulated,
            'engine': f'PyTorch {device.torch} {name} (2026)',
            'notes': '; '.join(_notes(row, device)),
            'source_kind': 'own measurement',
            'quality': 'A',
        }


def _notes(row: Row, device: DeviceFacts) -> Iterator[str]:
    yield from (
        _ENGINES[row.engine][2],
        f'attention kernel {device.attention}',
        'fused AdamW',
        f'driver {device.driver}',
    )
    shape = row.shape
    if shape.experts:
        load = 'tokens spread evenly by force' if shape.has_even_load else 'no balancing loss'
        yield f'no token dropped, torch grouped_mm, {load}'
    if shape.shared:
        yield f'{shape.shared} shared expert{"s"[: shape.shared > 1]}'
    if shape.dense_layers:
        yield f'{shape.dense_layers} dense layer{"s"[: shape.dense_layers > 1]}; dense layers ffn {shape.dense_ffn}'
    if row.precision == 'fp8':
        yield 'linear layers of the blocks by torch._scaled_mm, forward and backward, dynamic tensorwise scaling'


def _answers(row: Row, measured: Measured) -> dict[str, object]:
    seconds, tokens = measured.median_s, row.batch * row.accumulated * row.length
    tenths = statistics.quantiles(measured.step_times_s, n=10)
    answers: dict[str, object] = {
        'params_b': f'{measured.parameters / 1e9:.4f}',
        'iter_time_s': f'{seconds:.6f}',
        'tflops_per_gpu': f'{flops_per_token(row, measured.parameters) * tokens / seconds / 1e12:.1f}',
        'tokens_per_s_per_gpu': f'{tokens / seconds:.1f}',
        'flops_convention': FLOPS_CONVENTION,
        'iter_time_basis': f'measured (median; {WARMUP_STEPS} steps of warm-up)',
        'iter_time_p10_s': f'{tenths[0]:.6f}',
        'iter_time_p90_s': f'{tenths[-1]:.6f}',
        'steps_timed': len(measured.step_times_s),
    }
    if measured.allocated > 0:
        answers |= {
            'mem_per_gpu_gib': f'{measured.allocated / GIB:.3f}',
            'mem_kind': 'allocated (max_memory_allocated)',
            'mem_reserved_gib': f'{measured.reserved / GIB:.3f}',
            'mem_device_gib': f'{measured.device / GIB:.3f}',
        }
    return answers


def flops_per_token(row: Row, parameters: int) -> float:
    """See `FLOPS_CONVENTION`."""
    shape = row.shape
    table = 0 if shape.is_tied else shape.vocab * shape.hidden
    positions = row.length * shape.hidden if shape.kind == 'gpt' else 0
    idle = (shape.layers - shape.dense_layers) * (shape.experts - shape.topk) * 3 * shape.hidden * shape.ffn_hidden
    attention = 6 * shape.layers * shape.heads * shape.head_size * row.length
    return 6 * (parameters - table - positions - idle) + attention


def _id_of(source: str) -> str:
    """The first words of the source, as the prefix of ids: rows of one prefix count as one source."""
    return re.sub(r'[^a-z0-9]+', '-', source.lower()).strip('-')[:24].rstrip('-')
