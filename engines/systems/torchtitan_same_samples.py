"""TorchTitan on CPU ranks, whose losses do not depend on the number of ranks: `torchtitan_same_samples.py ARGUMENTS`, as rendered for engine "torchtitan".

Two things are changed. Ranks divide the samples of a step, where TorchTitan gives each data-parallel rank a stream of its own. And all runs begin from
the weights in the folder of SEED_CHECKPOINT, because a divided model draws other random numbers; with SEED_CHECKPOINT=make, one rank writes them.
"""

import os
import sys

import torch
from coxswain_torchtitan_cpu.on_cpu import train_on_cpu

SAMPLE_SEED = 1234


def main() -> None:
    sys.path.insert(0, os.environ['COXSWAIN_ENGINE_FILES'])
    train_on_cpu()
    import coxswain_torchtitan as job

    job._Tokens = same_samples(job.SAID['settings'])
    seed = os.environ.get('SEED_CHECKPOINT')
    if seed == 'make':
        sys.argv += ['--checkpoint.create_seed_checkpoint']
    elif seed:
        sys.argv += ['--checkpoint.initial_load_path', seed]
    from torchtitan.train import main as train

    train()


def same_samples(settings: dict) -> type:
    """The samples of a data-parallel rank: its part of those of each step."""
    degrees = (f'parallelism.data_parallel_{kind}_degree' for kind in ('replicate', 'shard'))
    replicate, shard = (settings[name] for name in degrees)
    in_step = settings['training.global_batch_size']
    own = in_step // (replicate * shard)

    class Samples(torch.utils.data.IterableDataset):
        def __init__(self, vocabulary: int, length: int, seed: int) -> None:
            self._vocabulary, self._length, self._seen = vocabulary, length, 0
            # The module counts data-parallel ranks in the seed.
            self._rank = (seed - job_seed()) // 1_000_003

        def __iter__(self):
            while True:
                step, place = divmod(self._seen, own)
                self._seen += 1
                tokens = sample(step * in_step + self._rank * own + place, self._vocabulary, self._length + 1)
                yield {'input': tokens[:-1], 'positions': torch.arange(self._length)}, tokens[1:]

        def state_dict(self) -> dict[str, int]:
            return {'seen': self._seen}

        def load_state_dict(self, state: dict[str, int]) -> None:
            self._seen = state['seen']

    return Samples


def job_seed() -> int:
    import coxswain_torchtitan as job

    return job.SAID['data']['seed']


def sample(number: int, vocabulary: int, length: int) -> torch.Tensor:
    """It counts up from a random start in steps of a random width, in a quarter of the vocabulary: the loss falls within a few steps."""
    generator = torch.Generator().manual_seed(SAMPLE_SEED + number)
    used = vocabulary // 4
    start = torch.randint(used, (1,), generator=generator)
    width = torch.randint(1, 4, (1,), generator=generator)
    return (start + width * torch.arange(length)) % used


if __name__ == '__main__':
    main()
