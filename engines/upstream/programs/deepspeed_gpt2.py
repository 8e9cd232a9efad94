"""A GPT-2 of a few thousand weights that DeepSpeed trains, as a user would write it: nothing here knows of CPUs but the name of the backend.

    python3 deepspeed_gpt2.py --deepspeed_config FILE --steps 12 --save-every 4 [--llama]
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import deepspeed
import torch
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

VOCABULARY = 256
LENGTH = 32
SEED = 1234


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument('--deepspeed', action='store_true')
    parser.add_argument('--deepspeed_config', required=True)
    parser.add_argument('--steps', type=int, required=True)
    parser.add_argument('--save-every', type=int, required=True)
    parser.add_argument('--step-delay-ms', type=int, default=0)
    parser.add_argument('--llama', action='store_true', help='AutoTP splits the layers of a Llama')
    return parser.parse_args()


def build(llama: bool) -> torch.nn.Module:
    torch.manual_seed(SEED)
    if not llama:
        size = {'n_layer': 4, 'n_embd': 64, 'n_head': 4, 'vocab_size': VOCABULARY, 'n_positions': LENGTH}
        # DeepSpeed saves no random states: without dropout, a run that resumes has the losses of one that did not stop.
        dropout = {'resid_pdrop': 0.0, 'embd_pdrop': 0.0, 'attn_pdrop': 0.0}
        return GPT2LMHeadModel(GPT2Config(**size, **dropout, bos_token_id=0, eos_token_id=0))
    return LlamaForCausalLM(
        LlamaConfig(
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            vocab_size=VOCABULARY,
            max_position_embeddings=LENGTH,
        )
    )


def converted(checkpoint: Path, into: Path) -> Path:
    """The checkpoint as DeepSpeed's own converter writes it for any number of ranks; rank 0 makes it, the others wait.

    Coxswain may have converted it before: the converter takes no universal checkpoint.
    """
    if (checkpoint / 'zero').is_dir():
        return checkpoint
    universal = into / f'{checkpoint.name}_universal'
    if torch.distributed.get_rank() == 0:
        into.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, '-m', 'deepspeed.checkpoint.ds_to_universal', '--inject_missing_state']
        places = ['--input_folder', str(checkpoint), '--output_folder', str(universal)]
        # What names this rank is not for a program of its own.
        names = ('RANK', 'LOCAL_RANK', 'WORLD_SIZE', 'MASTER_ADDR', 'MASTER_PORT')
        plain = {name: value for name, value in os.environ.items() if name not in names}
        subprocess.run([*command, *places], check=True, env=plain)
        (into / 'latest_universal').write_text(universal.name)
    torch.distributed.barrier()
    return universal


def main() -> None:
    options = arguments()
    config = json.loads(Path(options.deepspeed_config).read_text())
    deepspeed.init_distributed(dist_backend='gloo')
    model = build(options.llama)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    engine, _, _, _ = deepspeed.initialize(model=model, optimizer=optimizer, config=config)
    save_directory = os.environ.get('COXSWAIN_SAVE_DIR')
    resume = os.environ.get('COXSWAIN_RESUME_FROM')
    if resume is not None:
        checkpoint = Path(resume)
        if config.get('checkpoint', {}).get('load_universal'):
            checkpoint = converted(checkpoint, Path(save_directory or '/tmp') / 'converted')
        engine.load_checkpoint(str(checkpoint.parent), tag=checkpoint.name)
        print(f'goes on from step {engine.global_steps}', flush=True)
    for step in range(engine.global_steps + 1, options.steps + 1):
        started = time.perf_counter()
        generator = torch.Generator().manual_seed(SEED + step)
        for _ in range(engine.gradient_accumulation_steps()):
            tokens = torch.randint(VOCABULARY, (engine.train_micro_batch_size_per_gpu(), LENGTH), generator=generator)
            loss = engine(input_ids=tokens, labels=tokens).loss
            engine.backward(loss)
            engine.step()
        print(f'[r{engine.global_rank}] step {step} loss {loss.item():.4f} dt {time.perf_counter() - started:.3f}', flush=True)
        time.sleep(options.step_delay_ms / 1000)
        if save_directory is not None and step % options.save_every == 0:
            engine.save_checkpoint(save_directory)
    torch.distributed.destroy_process_group()


if __name__ == '__main__':
    main()
