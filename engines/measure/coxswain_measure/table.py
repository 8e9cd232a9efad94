"""Writes measured rows as CSV, in the columns that the planner's score reads, and a few more."""

from __future__ import annotations

import csv
import re
import statistics
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
    'model FLOPs (no recompute) per token: 6 x (parameters without the embedding table, with the output matrix) '
    '+ 6 x layers x hidden x seq_len (causal: half of full attention)'
)
GIB = 2**30
_STATES = {
    'eager': 'bf16 weights, fp32 gradients, master weights and moments (18 bytes per parameter)',
    'compiled': 'bf16 weights, fp32 gradients, master weights and moments (18 bytes per parameter)',
    'fsdp': 'fully_shard per block over one rank, fp32 weights, gradients and moments, computing in bf16',
}
_ENGINES = {'eager': 'eager', 'compiled': 'torch.compile', 'fsdp': 'FSDP2'}


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
        with self._path.open('a', newline='') as file:
            csv.DictWriter(file, COLUMNS).writerow(cells)

    def _stated(self, number: int, row: Row) -> dict[str, object]:
        shape, device = row.shape, self._device
        engine = f'PyTorch {device.torch} {_ENGINES[row.engine]} (2026)'
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
            'gpu': device.name,
            **dict.fromkeys(('gpus', 'tp', 'pp', 'vpp', 'dp', 'cp', 'ep'), 1),
            'zero_stage': 3 if row.engine == 'fsdp' else 0,
            'recompute': 'full' if row.recompute else 'none',
            'precision': 'bf16',
            'mbs': row.batch,
            'gbs': row.batch * row.accumulated,
            'engine': engine,
            'notes': f'{_STATES[row.engine]}; attention kernel {device.attention}; fused AdamW; driver {device.driver}',
            'source_kind': 'own measurement',
            'quality': 'A',
        }


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
    return 6 * (parameters - table - positions) + 6 * shape.layers * shape.hidden * row.length


def _id_of(source: str) -> str:
    """The first words of the source, as the prefix of ids: rows of one prefix count as one source."""
    return re.sub(r'[^a-z0-9]+', '-', source.lower()).strip('-')[:24].rstrip('-')
