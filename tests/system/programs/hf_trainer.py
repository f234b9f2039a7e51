"""A stock Hugging Face training: a tiny GPT-2 made on the spot, random tokens, nothing of ddprun."""

import tempfile

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

config = GPT2Config(vocab_size=64, n_positions=16, n_embd=16, n_layer=1, n_head=2)
tokens = torch.randint(0, 64, (512, 16), generator=torch.Generator().manual_seed(0))
data = [{"input_ids": row, "labels": row} for row in tokens]
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(folder, max_steps=100_000, logging_steps=5, per_device_train_batch_size=2,
                                  report_to="none", save_strategy="no", use_cpu=True, disable_tqdm=True)
    Trainer(GPT2LMHeadModel(config), arguments, train_dataset=data).train()
