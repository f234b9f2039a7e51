"""A stock PyTorch program that uses the store in many ways: DDP, FSDP2, groups, objects, big values,
waits. The last line of rank 0 is a digest of all results. With RANK_TO_DIE the agent of that rank is
killed in the first round, while the others wait in the store. With $go, rank 0 says in $ready that all
have met, and everybody waits until somebody writes to $go."""

import hashlib
import os
import signal
import threading

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

try:
    from torch.distributed.fsdp import fully_shard
except ImportError:  # before torch 2.6 it is on trial, and that of 2.4 needs GPUs
    fully_shard = None

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
store = dist.distributed_c10d._get_default_store()
digest = hashlib.sha256()


def train(wrap):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
    model = wrap(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(5):
        torch.manual_seed(100 * step + rank)
        optimizer.zero_grad()
        loss = model(torch.randn(4, 8)).square().mean()
        loss.backward()
        optimizer.step()
        losses = [torch.empty(()) for _ in range(size)]
        dist.all_gather(losses, loss.detach())
        digest.update(repr([value.item() for value in losses]).encode())


def connect():
    """Another connection; those that are made here share their keys."""
    if hasattr(store, "clone"):  # torch 2.11 has it, 2.7 does not
        return store.clone()
    return dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), None, False)


def wake_each_other():
    """Each waits for a key that its neighbour sets once it is seen to wait."""
    woken = []
    own, waiting = connect(), connect()
    waiter = threading.Thread(target=lambda: woken.append(waiting.get(f"wake/{rank}")))
    waiter.start()
    own.set(f"waits/{rank}", "")
    own.wait([f"waits/{other}" for other in range(size)])
    own.set(f"wake/{(rank + 1) % size}", str(rank))
    waiter.join(60)
    assert woken == [str((rank - 1) % size).encode()], woken


if "RANK_TO_DIE" in os.environ and os.environ["DDPRUN_ROUND"] == "1":
    if rank == int(os.environ["RANK_TO_DIE"]):
        os.kill(os.getppid(), signal.SIGKILL)
    store.wait(["never"])

train(DistributedDataParallel)
if fully_shard:
    train(fully_shard)

objects = [None] * size
dist.all_gather_object(objects, {"rank": rank, "text": "x" * 1000 * rank})
assert [o["rank"] for o in objects] == list(range(size))
digest.update(repr(objects).encode())
pairs = [dist.new_group([first, second]) for first in range(size) for second in range(first)]
for pair in pairs:
    if rank in dist.get_process_group_ranks(pair):
        total = torch.tensor([rank + 1.0])
        dist.all_reduce(total, group=pair)

if rank == 0:
    store.set("big", "".join(chr(ord("a") + i % 26) * 1_000_000 for i in range(7)))
big = store.get("big")
assert len(big) == 7_000_000 and big[6_999_999:] == b"g"
digest.update(big)
wake_each_other()
if hasattr(store, "queue_push"):
    store.queue_push(f"queue/{(rank + 1) % size}", f"from {rank}")
    assert store.queue_pop(f"queue/{rank}") == f"from {(rank - 1) % size}".encode()
assert store.add("count", 1) <= size
dist.barrier()
assert store.add("count", 0) == size
assert store.compare_set("swap", "", "first") == b"first"
dist.barrier()
if rank == 0 and "go" in os.environ:
    with open(os.environ["ready"], "w") as ready:
        ready.write("met\n")
    with open(os.environ["go"]) as go:
        go.read()
if rank == 0:
    store.set("go", "")
store.wait(["go"])
print(f"rank {rank} of {size} has met the others, store at {os.environ['MASTER_ADDR']}\n", end="", flush=True)
if rank == 0:
    print(f"digest {digest.hexdigest()}\n", end="", flush=True)
dist.barrier()
os._exit(0)  # Python 3.11 sometimes aborts while it shuts down with Gloo's threads; see ddp.py
