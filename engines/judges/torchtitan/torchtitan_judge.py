"""Says what TorchTitan makes of a rendered job, as one line of JSON: where it came to, and why no further.

    python3 torchtitan_judge.py WORLD_SIZE ARGUMENTS...

Stages: `arguments` (its own parser and the checks of its configuration), `dimensions` (ParallelDims for that many ranks), `step` (one process
builds rank 0, wraps, and runs a step; every other rank is played by PyTorch's fake process group). A pipeline ends at `built`: its
stages tell each other their shapes in the first step, which nobody answers there. Release 0.2 ends at `dimensions`.
"""

import json
import os
import sys

from judged import tell


def main() -> None:
    world, arguments = int(sys.argv[1]), sys.argv[2:]
    os.environ.update(NGPU=str(world), WORLD_SIZE=str(world), RANK='0', LOCAL_RANK='0')
    _be_on_cpu()
    reached = 'nothing'
    try:
        from torchtitan.config import ConfigManager

        is_old = not any(argument.startswith('--module') for argument in arguments)
        dry = [] if is_old else ['--comm.mode=fake_backend']
        config = ConfigManager().parse_args([*arguments, *dry])
        reached = 'arguments'
        _dimensions(config.parallelism, world, is_old)
        reached = 'dimensions'
        if not is_old:
            config.dump_folder = f'/tmp/torchtitan-judge-{os.getpid()}'
            reached = _step(config)
    except BaseException as error:
        tell(reached, error)
    else:
        tell(reached, None)


def _be_on_cpu() -> None:
    try:
        from coxswain_torchtitan_cpu.on_cpu import train_on_cpu

        train_on_cpu()
    except ImportError:
        pass  # release 0.2 is only asked for what needs no device


def _dimensions(said, world: int, is_old: bool) -> None:
    from torchtitan.distributed import ParallelDims

    etp = {'etp': said.expert_tensor_parallel_degree} if is_old else {}
    degrees = {
        'dp_replicate': said.data_parallel_replicate_degree,
        'dp_shard': said.data_parallel_shard_degree,
        'cp': said.context_parallel_degree,
        'tp': said.tensor_parallel_degree,
        'pp': said.pipeline_parallel_degree,
        'ep': said.expert_parallel_degree,
    }
    ParallelDims(world_size=world, **degrees, **etp)


def _step(config) -> str:
    config.checkpoint.enable = False
    trainer = config.build()
    if config.parallelism.pipeline_parallel_degree > 1:
        return 'built'
    trainer.config.training.steps = 1
    trainer.train()
    return 'step'


if __name__ == '__main__':
    main()
