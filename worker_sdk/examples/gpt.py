"""The training of gpt.cpp in stock PyTorch: the same model, batches and steps, with the same losses.

    ddprun --standalone --nproc-per-node 2 gpt.py --data train.bin --steps 200 --metrics metrics.jsonl
"""

import argparse
import gc
import json
import math
import os
import time

import numpy
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.optim import AdamW
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR
from torch.utils.checkpoint import checkpoint
from torch.utils.data.distributed import DistributedSampler


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, nargs="+", help="files of tokens")
    parser.add_argument("--token-bytes", type=int, choices=[1, 2], default=1)
    parser.add_argument("--metrics", help="file for JSON lines")
    parser.add_argument("--vocab-size", type=int, default=256)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--context", type=int, default=64)
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--batch-size", type=int, default=12, help="of each worker")
    parser.add_argument("--accumulate", type=int, default=1)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--warm-up", type=int, default=100)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--min-lr", type=float, default=1e-4)
    parser.add_argument("--weight-decay", type=float, default=0.1)
    parser.add_argument("--clip", type=float, default=1.0)
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--zero", action="store_true", help="spread the optimizer's state")
    parser.add_argument("--checkpoint-activations", action="store_true")
    parser.add_argument("--seed", type=int, default=1337)
    parser.add_argument("--log-every", type=int, default=10)
    return parser.parse_args()


class Block(nn.Module):
    def __init__(self, a):
        super().__init__()
        self.heads, self.dropout = a.heads, a.dropout
        self.ln_1 = nn.LayerNorm(a.width)
        self.c_attn = nn.Linear(a.width, 3 * a.width)
        self.c_proj = nn.Linear(a.width, a.width)
        self.ln_2 = nn.LayerNorm(a.width)
        self.c_fc = nn.Linear(a.width, 4 * a.width)
        self.c_out = nn.Linear(4 * a.width, a.width)

    def attention(self, x):
        rows, tokens, width = x.shape
        q, k, v = (one.view(rows, tokens, self.heads, width // self.heads).transpose(1, 2)
                   for one in self.c_attn(x).split(width, 2))
        dropout = self.dropout if self.training else 0.0
        mixed = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=True)
        return self.c_proj(mixed.transpose(1, 2).contiguous().view(rows, tokens, width))

    def drop(self, x):
        return F.dropout(x, self.dropout, self.training)

    def forward(self, x):
        x = x + self.drop(self.attention(self.ln_1(x)))
        return x + self.drop(self.c_out(F.gelu(self.c_fc(self.ln_2(x)))))


class GPT(nn.Module):
    def __init__(self, a):
        super().__init__()
        self.dropout, self.checkpoint = a.dropout, a.checkpoint_activations
        self.wte = nn.Embedding(a.vocab_size, a.width)
        self.wpe = nn.Embedding(a.context, a.width)
        self.h = nn.ModuleList(Block(a) for _ in range(a.layers))
        self.ln_f = nn.LayerNorm(a.width)
        torch.manual_seed(a.seed)
        for name, parameter in self.named_parameters():
            onto_residual = name.endswith(("c_proj.weight", "c_out.weight"))
            if parameter.dim() > 1:
                nn.init.normal_(parameter, 0.0,
                                0.02 / math.sqrt(2 * a.layers) if onto_residual else 0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(self, tokens, targets):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        x = F.dropout(x, self.dropout, self.training)
        for block in self.h:
            x = checkpoint(block, x, use_reentrant=False) if self.checkpoint else block(x)
        logits = F.linear(self.ln_f(x), self.wte.weight)
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


class Tokens:
    """The windows of the files, side by side."""

    def __init__(self, a):
        dtype = {1: numpy.uint8, 2: numpy.uint16}[a.token_bytes]
        self.files = [numpy.memmap(path, dtype, mode="r") for path in a.data]
        self.context = a.context
        self.places = [(file, window * a.context) for file in self.files
                       for window in range((len(file) - 1) // a.context)]

    def __len__(self):
        return len(self.places)

    def batch(self, windows):
        rows = torch.stack([torch.from_numpy(file[begin:begin + self.context + 1].astype("int64"))
                            for file, begin in (self.places[i] for i in windows)])
        return rows[:, :-1].contiguous(), rows[:, 1:].contiguous()


def to_device(tensor, device):
    """The CPU does not wait for a copy to the GPU."""
    if device.type == "cuda":
        tensor = tensor.pin_memory()
    return tensor.to(device, non_blocking=True)


def batches(a, tokens):
    """This rank's batches, epoch after epoch."""
    sampler = DistributedSampler(tokens, seed=a.seed)
    epoch = 0
    while True:
        sampler.set_epoch(epoch)
        order = list(sampler)
        for begin in range(0, len(order) - a.batch_size + 1, a.batch_size):
            yield tokens.batch(order[begin:begin + a.batch_size])
        epoch += 1


def make_optimizer(a, model):
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": a.weight_decay},
              {"params": others, "weight_decay": 0.0}]
    options = {"lr": a.lr, "betas": (0.9, 0.95), "fused": True}
    if a.zero:
        return ZeroRedundancyOptimizer(groups, AdamW, parameters_as_bucket_view=True, **options)
    return AdamW(groups, **options)


def make_scheduler(a, optimizer):
    return SequentialLR(optimizer,
                        [LinearLR(optimizer, 1 / (a.warm_up + 1), 1.0, a.warm_up),
                         CosineAnnealingLR(optimizer, max(1, a.steps - a.warm_up), a.min_lr)],
                        [a.warm_up])


def train(a, device):
    model = GPT(a).to(device)
    ddp = DistributedDataParallel(model)
    optimizer = make_optimizer(a, model)
    scheduler = make_scheduler(a, optimizer)
    source = batches(a, Tokens(a))
    out = open(a.metrics, "w") if a.metrics and dist.get_rank() == 0 else None
    torch.manual_seed(a.seed + dist.get_rank())
    start = time.perf_counter()
    for step in range(1, a.steps + 1):
        total = torch.zeros((), device=device)
        for part in range(a.accumulate):
            ddp.require_backward_grad_sync = part + 1 == a.accumulate
            inputs, targets = (to_device(one, device) for one in next(source))
            with torch.autocast(device.type, torch.bfloat16, enabled=a.bf16):
                loss = ddp(inputs, targets) / a.accumulate
            loss.backward()
            total += loss.detach()
        norm = nn.utils.clip_grad_norm_(model.parameters(), a.clip)
        lr = scheduler.get_last_lr()[0]
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        if step % a.log_every == 0:
            dist.all_reduce(total)
            mean = total.item() / dist.get_world_size()
            now = time.perf_counter()
            rate = (a.log_every * a.accumulate * a.batch_size * a.context
                    * dist.get_world_size() / (now - start))
            start = now
            if out:
                line = {"step": step, "loss": mean, "lr": lr, "grad_norm": norm.item(),
                        "tokens_per_second": rate}
                print(json.dumps(line), file=out, flush=True)
            if dist.get_rank() == 0:
                print(f"step {step}/{a.steps} loss {mean:.4f} {rate:.0f} tokens/s", flush=True)


def main():
    a = parse_arguments()
    on_gpu = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if on_gpu else torch.device("cpu")
    if on_gpu:
        torch.cuda.set_device(device)
    else:
        torch.set_num_threads(1)
    dist.init_process_group("nccl" if on_gpu else "gloo")
    train(a, device)
    gc.collect()  # DDP is part of a cycle, and must be gone before its group
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
