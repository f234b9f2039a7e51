"""Hugging Face Accelerate trains a model on the CPUs of two workers."""

import gc

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, TensorDataset

from results import checksum, result


def train(accelerator):
    set_seed(0)
    inputs = torch.randn(64, 4)
    data = DataLoader(TensorDataset(inputs, inputs.sum(dim=1, keepdim=True)), batch_size=8, shuffle=True)
    model = torch.nn.Linear(4, 1)
    model, optimizer, data = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.1), data)
    rank = accelerator.process_index
    result(f"rank {rank}: {accelerator.num_processes} ranks, {accelerator.distributed_type}")
    for epoch in range(3):
        for x, y in data:
            loss = torch.nn.functional.mse_loss(model(x), y)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        losses = accelerator.gather(loss.detach().reshape(1))
        result(f"rank {rank}: epoch {epoch} losses {[round(value, 6) for value in losses.tolist()]}")
    accelerator.wait_for_everyone()
    result(f"rank {rank}: checksum {checksum(accelerator.unwrap_model(model).parameters())}")


accelerator = Accelerator(cpu=True)
train(accelerator)
accelerator.free_memory()
gc.collect()  # frees DDP's group: it must not outlive the interpreter
accelerator.end_training()
