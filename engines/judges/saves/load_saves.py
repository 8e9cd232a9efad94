"""Loads saves with the library that people load them with, and prints what it found, one line of JSON for each.

    python3 load_saves.py dcp DIRECTORY [DIRECTORY ...]

Formats: dcp, deepspeed, hugging-face. A save that the library refuses has `error` instead of figures.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections import Counter
from pathlib import Path

import torch


def main(format_name: str, directories: list[str]) -> None:
    load = {'dcp': load_dcp, 'deepspeed': load_deepspeed, 'hugging-face': load_trainer}[format_name]
    for directory in directories:
        # Some libraries print what they do.
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                answer = load(Path(directory))
            except BaseException as error:  # that of a distributed load is no Exception
                answer = {'error': f'{type(error).__name__}: {error}'.splitlines()[0][:200]}
        print(json.dumps({'directory': directory, **answer}), flush=True)


def summary(tensors: dict[str, torch.Tensor]) -> dict[str, object]:
    dtypes = Counter(str(tensor.dtype).removeprefix('torch.') for tensor in tensors.values())
    return {
        'tensors': len(tensors),
        'bytes': sum(tensor.numel() * tensor.element_size() for tensor in tensors.values()),
        'dtypes': dict(dtypes),
        # What two loads of the same bytes have in common.
        'sum': float(sum(tensor.double().sum() for tensor in tensors.values() if tensor.is_floating_point())),
    }


def load_dcp(directory: Path) -> dict[str, object]:
    """Every item at its whole shape, as a program without the model would ask for it."""
    from torch.distributed.checkpoint import FileSystemReader, load
    from torch.distributed.checkpoint.default_planner import DefaultLoadPlanner
    from torch.distributed.checkpoint.metadata import TensorStorageMetadata

    entries = FileSystemReader(directory).read_metadata().state_dict_metadata
    state = {
        key: torch.empty(entry.size, dtype=entry.properties.dtype) if isinstance(entry, TensorStorageMetadata) else None
        for key, entry in entries.items()
    }
    planner = DefaultLoadPlanner(flatten_state_dict=False, flatten_sharded_tensors=False)
    load(state, storage_reader=FileSystemReader(directory), planner=planner, no_dist=True)
    tensors = {key: state[key] for key, entry in entries.items() if isinstance(entry, TensorStorageMetadata)}
    step = next((state[key] for key in ('train_state.step', 'training.step') if key in state), None)
    return {
        **summary(tensors),
        'objects': len(entries) - len(tensors),
        **({} if step is None else {'step': int(step)}),
        'moments': sum('exp_avg' in part for key in tensors for part in key.split('.')),
    }


def load_deepspeed(directory: Path) -> dict[str, object]:
    """DeepSpeed's own converter joins the parts of ZeRO."""
    from deepspeed.utils.zero_to_fp32 import get_fp32_state_dict_from_zero_checkpoint

    masters = get_fp32_state_dict_from_zero_checkpoint(str(directory.parent), tag=directory.name)
    model = torch.load(sorted(directory.glob('*model_states.pt'))[0], weights_only=False)
    parts = [torch.load(path, weights_only=False) for path in sorted(directory.glob('*optim_states.pt'))]
    return {
        # Tied weights have two names.
        **summary({str(id(tensor)): tensor for tensor in masters.values()}),
        'step': model['global_steps'],
        'worldSize': model['dp_world_size'] * model['mp_world_size'],
        'release': f'deepspeed {model["ds_version"]}',
        'parts': len(parts),
    }


def load_trainer(directory: Path) -> dict[str, object]:
    from safetensors.torch import load_file

    weights = load_file(directory / 'model.safetensors')
    optimizer = torch.load(directory / 'optimizer.pt', weights_only=True)
    ranks = [torch.load(path, weights_only=False) for path in sorted(directory.glob('rng_state_*.pth'))]
    state = json.loads((directory / 'trainer_state.json').read_text())
    return {
        **summary(weights),
        'step': state['global_step'],
        'worldSize': len(ranks),
        'moments': sum(name in part for part in optimizer['state'].values() for name in ('exp_avg', 'exp_avg_sq')),
    }


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2:])
