"""A model that two cores train in seconds, from files that the run makes itself: nothing is fetched."""

from __future__ import annotations

import json
import os
from pathlib import Path

from torchtitan.config import TrainingConfig
from torchtitan.hf_datasets.text_datasets import HuggingFaceTextDataLoader
from torchtitan.models.llama3.config_registry import llama3_debugmodel
from torchtitan.trainer import Trainer

CORPUS = 'One boat and many oars that pull one way. '
LINES = 400


def tiny() -> Trainer.Config:
    """`--module coxswain_torchtitan_cpu.tiny --config tiny`: TorchTitan's debug Llama over bytes."""
    assets = Path(os.environ['COXSWAIN_TINY_ASSETS'])
    make_assets(assets)
    config = llama3_debugmodel()
    config.hf_assets_path = str(assets)
    config.dataloader = HuggingFaceTextDataLoader.Config(dataset='c4_test', dataset_path=str(assets / 'corpus'))
    config.training = TrainingConfig(local_batch_size=2, seq_len=128, steps=10, disable_cuda_graphs=True)
    config.validator.enable = False
    return config


def make_assets(assets: Path) -> None:
    """A tokenizer of bytes and a corpus, whole or not at all: every rank makes them."""
    if assets.exists():
        return
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    scratch = assets.with_name(f'{assets.name}.{os.getpid()}')
    (scratch / 'corpus').mkdir(parents=True)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: index for index, token in enumerate(['<bos>', '<eos>', *alphabet])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.save(str(scratch / 'tokenizer.json'))
    (scratch / 'tokenizer_config.json').write_text(json.dumps({'bos_token': '<bos>', 'eos_token': '<eos>'}))
    lines = (json.dumps({'text': f'{index}. {CORPUS * 8}'}) for index in range(LINES))
    (scratch / 'corpus' / 'train.jsonl').write_text('\n'.join(lines))
    try:
        scratch.rename(assets)
    except OSError:
        pass  # another rank was first
