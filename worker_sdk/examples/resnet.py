"""The training of resnet.cpp in stock PyTorch: the same model, images and steps, with the same losses.

    ddprun --standalone --nproc-per-node 2 resnet.py --synthetic 5000 --epochs 2
"""

import argparse
import gc
import json
import math
import os
import time
from pathlib import Path

import numpy
import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.data.distributed import DistributedSampler


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--data", type=Path, help="folder of CIFAR-10's binary version")
    source.add_argument("--synthetic", type=int, help="how many images are made up")
    parser.add_argument("--metrics", help="file for JSON lines")
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--batch-size", type=int, default=128, help="of each worker")
    parser.add_argument("--accumulate", type=int, default=1)
    parser.add_argument("--lr", type=float, default=0.2)
    parser.add_argument("--weight-decay", type=float, default=5e-4)
    parser.add_argument("--clip", type=float, default=5.0)
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--seed", type=int, default=1337)
    parser.add_argument("--log-every", type=int, default=10)
    return parser.parse_args()


def convolution(before, after, size, stride):
    return nn.Conv2d(before, after, size, stride, padding=size // 2, bias=False)


class Block(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.conv1 = convolution(before, after, 3, stride)
        self.bn1 = nn.BatchNorm2d(after)
        self.conv2 = convolution(after, after, 3, 1)
        self.bn2 = nn.BatchNorm2d(after)
        self.downsample = None
        if stride != 1 or before != after:
            self.downsample = nn.Sequential(convolution(before, after, 1, stride),
                                            nn.BatchNorm2d(after))

    def forward(self, x):
        inner = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(inner + (self.downsample(x) if self.downsample else x))


class ResNet18(nn.Module):
    def __init__(self, width, seed):
        super().__init__()
        self.conv1 = convolution(3, width, 3, 1)
        self.bn1 = nn.BatchNorm2d(width)
        self.layer1 = nn.Sequential(Block(width, width, 1), Block(width, width, 1))
        for i in (1, 2, 3):
            before, after = width << (i - 1), width << i
            layer = nn.Sequential(Block(before, after, 2), Block(after, after, 1))
            self.add_module(f"layer{i + 1}", layer)
        self.fc = nn.Linear(width * 8, 10)
        torch.manual_seed(seed)
        for weight in self.parameters():
            if weight.dim() == 2:
                nn.init.normal_(weight, 0, 0.01)
            elif weight.dim() == 4:
                nn.init.normal_(weight, 0, math.sqrt(2.0 / (weight.numel() // weight.shape[1])))
        nn.init.zeros_(self.fc.bias)
        self.to(memory_format=torch.channels_last)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean((2, 3)))


def read_cifar10(file):
    records = torch.from_numpy(numpy.fromfile(file, "uint8")).view(-1, 1 + 3 * 32 * 32)
    return records[:, 1:].reshape(-1, 3, 32, 32), records[:, 0].long()


def load(a):
    """Images and labels to train with, and those to test with."""
    if a.data:
        parts = [read_cifar10(a.data / f"data_batch_{i}.bin") for i in range(1, 6)]
        train = [torch.cat(column) for column in zip(*parts)]
        return train, read_cifar10(a.data / "test_batch.bin")
    torch.manual_seed(a.seed)
    everything = a.synthetic + (a.synthetic + 9) // 10
    patterns = torch.randn(10, 3, 4, 4).repeat_interleave(8, 2).repeat_interleave(8, 3)
    labels = torch.randint(10, (everything,))
    noise = torch.randn(everything, 3, 32, 32)
    images = (128 + 32 * patterns[labels] + 32 * noise).clamp(0, 255).to(torch.uint8)
    return ((images[:a.synthetic], labels[:a.synthetic]),
            (images[a.synthetic:], labels[a.synthetic:]))


def augment(images):
    places = torch.randint(9, (len(images), 2, 1))
    mirrored = torch.rand(len(images), 1) < 0.5
    pixels = torch.arange(32)
    rows = places[:, 0] + pixels
    columns = places[:, 1] + torch.where(mirrored, 31 - pixels, pixels)
    which = torch.arange(len(images)).view(-1, 1, 1)
    where = [one.to(images.device) for one in (which, rows.unsqueeze(2), columns.unsqueeze(1))]
    return F.pad(images, (4, 4, 4, 4))[where[0], :, where[1], where[2]].permute(0, 3, 1, 2)


def normalize(images):
    mean = torch.tensor([0.4914, 0.4822, 0.4465], device=images.device).view(3, 1, 1)
    deviation = torch.tensor([0.247, 0.2435, 0.2616], device=images.device).view(3, 1, 1)
    scaled = images.float() / 255
    return ((scaled - mean) / deviation).contiguous(memory_format=torch.channels_last)


def to_device(tensor, device):
    """The CPU does not wait for a copy to the GPU."""
    if device.type == "cuda":
        tensor = tensor.pin_memory()
    return tensor.to(device, non_blocking=True)


def batches(a, images, labels, sampler):
    """This rank's batches, epoch after epoch."""
    epoch = 0
    while True:
        sampler.set_epoch(epoch)
        order = torch.tensor(list(sampler))
        for begin in range(0, len(order) - a.batch_size + 1, a.batch_size):
            wanted = order[begin:begin + a.batch_size]
            yield images[wanted], labels[wanted]
        epoch += 1


@torch.no_grad()
def accuracy(model, images, labels, device):
    """All ranks look at their shares of the test images."""
    model.eval()
    right = torch.zeros((), device=device)
    for begin in range(dist.get_rank() * 500, len(images), dist.get_world_size() * 500):
        logits = model(normalize(images[begin:begin + 500].to(device)))
        right += (logits.argmax(1) == labels[begin:begin + 500].to(device)).sum()
    model.train()
    dist.all_reduce(right)
    return right.item() / len(images)


def train(a, device):
    (images, labels), test = load(a)
    model = ResNet18(a.width, a.seed).to(device)
    ddp = DistributedDataParallel(model)
    sampler = DistributedSampler(images, seed=a.seed)
    source = batches(a, images, labels, sampler)
    steps_an_epoch = len(sampler) // a.batch_size // a.accumulate
    steps = a.epochs * steps_an_epoch
    optimizer = torch.optim.SGD(model.parameters(), lr=a.lr, momentum=0.9, nesterov=True,
                                weight_decay=a.weight_decay, fused=True)
    scheduler = OneCycleLR(optimizer, a.lr, steps)
    out = open(a.metrics, "w") if a.metrics and dist.get_rank() == 0 else None
    torch.manual_seed(a.seed + dist.get_rank())
    start = time.perf_counter()
    for step in range(1, steps + 1):
        total = torch.zeros((), device=device)
        for part in range(a.accumulate):
            ddp.require_backward_grad_sync = part + 1 == a.accumulate
            batch, classes = (to_device(one, device) for one in next(source))
            batch = normalize(augment(batch))
            with torch.autocast(device.type, torch.bfloat16, enabled=a.bf16):
                loss = F.cross_entropy(ddp(batch), classes) / a.accumulate
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
            rate = (a.log_every * a.accumulate * a.batch_size * dist.get_world_size()
                    / (now - start))
            start = now
            if out:
                line = {"step": step, "loss": mean, "lr": lr, "grad_norm": norm.item(),
                        "images_per_second": rate}
                print(json.dumps(line), file=out, flush=True)
            if dist.get_rank() == 0:
                print(f"step {step}/{steps} loss {mean:.4f} {rate:.0f} images/s", flush=True)
        if step % steps_an_epoch == 0:
            begin = time.perf_counter()
            share = accuracy(model, *test, device)
            start += time.perf_counter() - begin
            if dist.get_rank() == 0:
                print(f"step {step}/{steps} test accuracy {100 * share:.2f} %", flush=True)


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
