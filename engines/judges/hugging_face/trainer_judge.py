"""Says what transformers makes of rendered arguments, as one line of JSON with what it read.

    python3 trainer_judge.py ARGUMENTS...
"""

import os
import sys

from judged import tell

READ = (
    'max_steps per_device_train_batch_size gradient_accumulation_steps learning_rate weight_decay warmup_steps seed bf16 save_steps '
    'lr_scheduler_type lr_scheduler_kwargs optim max_grad_norm adam_beta1 adam_beta2 gradient_checkpointing'
).split()


def main() -> None:
    os.environ.update(DS_ACCELERATOR='cpu', RANK='0', WORLD_SIZE='1', LOCAL_RANK='0', MASTER_ADDR='127.0.0.1', MASTER_PORT='29511')
    reached, read = 'nothing', {}
    try:
        from transformers import HfArgumentParser, TrainingArguments

        # Devices that are not here are no concern of the arguments.
        arguments = [*sys.argv[1:], '--use_cpu=true']
        (parsed,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses(args=arguments)
        reached = 'arguments'
        read = {name: _plain(getattr(parsed, name)) for name in READ}
        read['fsdp'] = getattr(parsed, 'fsdp_plugin_args', None) if parsed.fsdp else None
        _schedule(parsed)
        reached = 'schedule'
    except BaseException as error:
        tell(reached, error, **read)
    else:
        tell(reached, None, **read)


def _plain(value: object) -> object:
    return getattr(value, 'value', value)


def _schedule(parsed) -> None:
    import torch
    from transformers import get_scheduler

    optimizer = torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))], lr=parsed.learning_rate)
    get_scheduler(
        parsed.lr_scheduler_type,
        optimizer,
        num_warmup_steps=parsed.get_warmup_steps(parsed.max_steps),
        num_training_steps=parsed.max_steps,
        scheduler_specific_kwargs=parsed.lr_scheduler_kwargs,
    )


if __name__ == '__main__':
    main()
