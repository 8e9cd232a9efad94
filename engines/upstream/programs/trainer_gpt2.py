"""A GPT-2 of a few thousand weights under the Trainer of Transformers, as a user would write it: every argument is one of TrainingArguments.

    python3 trainer_gpt2.py --output_dir DIR --max_steps 12 --save_steps 4 --use_cpu --ddp_backend gloo
"""

import os
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel, HfArgumentParser, Trainer, TrainerCallback, TrainingArguments

VOCABULARY = 256
LENGTH = 32
SAMPLES = 512
SEED = 1234


class Tokens(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        tokens = torch.randint(VOCABULARY, (LENGTH,), generator=torch.Generator().manual_seed(SEED + index))
        return {'input_ids': tokens, 'labels': tokens}


class Slowly(TrainerCallback):
    def on_step_end(self, *_args: object, **_more: object) -> None:
        time.sleep(int(os.environ.get('STEP_DELAY_MS', '0')) / 1000)


def main() -> None:
    (arguments,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
    torch.manual_seed(SEED)
    config = GPT2Config(n_layer=2, n_embd=64, n_head=4, vocab_size=VOCABULARY, n_positions=LENGTH, bos_token_id=0, eos_token_id=0)
    trainer = Trainer(model=GPT2LMHeadModel(config), args=arguments, train_dataset=Tokens(), callbacks=[Slowly()])
    trainer.train(resume_from_checkpoint=arguments.resume_from_checkpoint)


if __name__ == '__main__':
    main()
