"""A BERT of a few thousand weights under the Trainer of Transformers: every argument but the first is one of TrainingArguments, as Coxswain renders them.

    trainer_bert.py JOB_FILE ARGUMENTS, one process for each rank

Its losses do not depend on the number of ranks: there is no dropout, and each sample hides as many bytes. Rank 0 prints a line of JSON for each step.
"""

import json
import sys
from pathlib import Path

import torch
from transformers import BertConfig, BertForMaskedLM, HfArgumentParser, Trainer, TrainerCallback, TrainingArguments

SEED = 1234
SAMPLES = 512
HIDDEN_EVERY = 5


class Bytes(torch.utils.data.Dataset):
    """Each sample counts up in a quarter of the vocabulary. The byte after the vocabulary stands for hidden ones."""

    def __init__(self, vocabulary: int, length: int) -> None:
        self.vocabulary, self.length = vocabulary, length

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        places = torch.arange(self.length)
        tokens = (index * 7 + places) % (self.vocabulary // 4)
        hides = places % HIDDEN_EVERY == 0
        return {
            'input_ids': tokens.masked_fill(hides, self.vocabulary),
            'attention_mask': torch.ones_like(tokens),
            'labels': tokens.masked_fill(~hides, -100),
        }


class Lines(TrainerCallback):
    def on_log(self, _arguments, state, _control, logs=None, **_more) -> None:
        if 'loss' in (logs or {}) and state.is_world_process_zero:
            print(json.dumps({'step': state.global_step, 'loss': float(logs['loss'])}), flush=True)


def mean_loss(outputs, labels: torch.Tensor, num_items_in_batch=None) -> torch.Tensor:
    """Over the hidden bytes of a step on all ranks. Trainer divides by nothing if a model may do so, and BERT does not."""
    losses = torch.nn.functional.cross_entropy(outputs.logits.flatten(0, 1), labels.flatten(), reduction='sum')
    return losses / num_items_in_batch


def main() -> None:
    model = json.loads(Path(sys.argv[1]).read_text())['model']
    (arguments,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses(sys.argv[2:])
    torch.manual_seed(SEED)
    config = BertConfig(
        hidden_size=model['hiddenSize'],
        num_hidden_layers=model['layers'],
        num_attention_heads=model['attentionHeads'],
        intermediate_size=model['ffnHiddenSize'],
        vocab_size=model['vocabularySize'] + 1,
        max_position_embeddings=model['sequenceLength'],
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    data = Bytes(model['vocabularySize'], model['sequenceLength'])
    trainer = Trainer(
        model=BertForMaskedLM(config),
        args=arguments,
        train_dataset=data,
        callbacks=[Lines()],
        compute_loss_func=mean_loss,
    )
    trainer.train()
    if trainer.is_world_process_zero():
        print(f'ranks {arguments.world_size}: {type(trainer.model_wrapped).__name__}', flush=True)


if __name__ == '__main__':
    main()
