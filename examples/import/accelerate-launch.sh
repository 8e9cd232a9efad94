#!/usr/bin/env bash
# accelerate launch on two machines, once on each: NODE_RANK=0 ./accelerate-launch.sh. Its settings are in accelerate-fsdp2.yaml.
#   coxswain import examples/import/accelerate-launch.sh --image ghcr.io/me/sft:1 --out job.yaml
set -euo pipefail

export HF_HOME=/mnt/nfs/hf-cache
export WANDB_PROJECT=sft
export TOKENIZERS_PARALLELISM=false

accelerate launch --config_file accelerate-fsdp2.yaml --machine_rank ${NODE_RANK:-0} \
    sft.py \
    --model_name_or_path Qwen/Qwen2.5-7B \
    --dataset_name HuggingFaceH4/ultrachat_200k \
    --per_device_train_batch_size 2 --gradient_accumulation_steps 4 \
    --learning_rate 1e-5 --num_train_epochs 1 --bf16 --gradient_checkpointing \
    --save_strategy steps --save_steps 200 --report_to wandb \
    --output_dir /mnt/nfs/runs/qwen-7b-sft
