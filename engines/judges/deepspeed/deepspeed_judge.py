"""Says what DeepSpeed's own classes make of a rendered file, as one line of JSON, for as many ranks as it is meant for.

    python3 deepspeed_judge.py WORLD_SIZE PIPELINE_RANKS FILE

Every other rank is played by PyTorch's fake process group. The classes take keys that nobody reads; those are refused here.
"""

import json
import os
import sys

from judged import tell

# Read by the engine or by scripts, not by DeepSpeedConfig._initialize_params.
READ_ELSEWHERE = {'sequence_parallel_size'}


def main() -> None:
    world, stages = int(sys.argv[1]), int(sys.argv[2])
    os.environ['DS_ACCELERATOR'] = 'cpu'
    reached, read = 'nothing', {}
    try:
        said = json.loads(open(sys.argv[3], encoding='utf-8').read())
        _be_among(world)
        config = _config(said, world, stages)
        reached = 'classes'
        read = {
            'data': config.world_size,
            'stage': int(config.zero_config.stage),
            'tensor': config.tensor_parallel_config.autotp_size,
            'batch': [
                config.train_batch_size,
                config.train_micro_batch_size_per_gpu,
                config.gradient_accumulation_steps,
            ],
        }
        _nothing_unread(said)
        reached = 'keys'
        _folding(config, said, world, stages)
        reached = 'folding'
        _scheduler(said)
        reached = 'schedule'
    except BaseException as error:
        tell(reached, error, **read)
    else:
        tell(reached, None, **read)


def _be_among(world: int) -> None:
    import torch
    from deepspeed import comm
    from torch.testing._internal.distributed.fake_pg import FakeStore

    torch.distributed.init_process_group('fake', rank=0, world_size=world, store=FakeStore())
    comm.init_distributed(dist_backend='gloo', dist_init_required=False)


class _Mesh:
    """As far as the configuration asks: ranks of tensors and stages see the same samples."""

    def __init__(self, world: int, not_data: int) -> None:
        if world % not_data:
            raise ValueError(f'{not_data} tensor, context and pipeline ranks do not divide {world} ranks')
        self._data = world // not_data

    def get_data_parallel_world_size(self) -> int:
        return self._data


def _config(said: dict, world: int, stages: int):
    from deepspeed.runtime.config import DeepSpeedConfig

    tensor = said.get('tensor_parallel', {}).get('autotp_size', 1)
    context = said.get('sequence_parallel_size', 1)
    return DeepSpeedConfig(said, mpu=_Mesh(world, tensor * context * stages))


def _nothing_unread(said: dict) -> None:
    """By its source: each key at the top is the text of a constant or of a look-up there."""
    from deepspeed.runtime import config as source
    from deepspeed.runtime.activation_checkpointing import config as recompute

    texts = {value for module in (source, recompute) for value in vars(module).values() if isinstance(value, str)}
    texts |= READ_ELSEWHERE | {'pipeline', 'tensor_parallel', 'bf16', 'fp16', 'zero_optimization', 'compile'}
    unread = set(said) - texts
    if unread:
        raise ValueError(f'nobody reads {sorted(unread)}')


def _folding(config, said: dict, world: int, stages: int) -> None:
    experts = config.expert_parallel_config
    if not experts.enabled:
        return
    from deepspeed.module_inject.auto_ep_config import validate_autoep_config

    zero = config.zero_config
    tensor = max(config.tensor_parallel_config.autotp_size, 1)
    validate_autoep_config(
        experts,
        world,
        stages,
        tensor,
        said.get('sequence_parallel_size', 1),
        zero_stage=int(zero.stage),
        zero_offload_optimizer=zero.offload_optimizer is not None,
        zero_offload_param=zero.offload_param is not None,
    )


def _scheduler(said: dict) -> None:
    """Built over one parameter: names and values of its arguments are looked at only then."""
    if 'scheduler' not in said:
        return
    import torch
    from deepspeed.runtime import lr_schedules

    optimizer = torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))], lr=said['optimizer']['params']['lr'])
    getattr(lr_schedules, said['scheduler']['type'])(optimizer, **said['scheduler']['params'])


if __name__ == '__main__':
    main()
