"""One replica group of a training with torchft, a single worker on Gloo: the model and the step of elastic_step.py.
Each step that counts is printed as `counted GROUP PARTICIPANTS SECONDS`, of CLOCK_MONOTONIC. While not enough have
died (DEATHS, argument 1; FILE, argument 2, has a byte for each), group 1 dies in the step after 20 steps in a row of
all 3 groups, and says when. After the last death all groups leave behind such a step."""

import os
import signal
import sys
import time
from datetime import timedelta
from pathlib import Path

import torch
from torch.utils.data import DataLoader, TensorDataset
from torchft import DistributedDataParallel, DistributedSampler, Manager, Optimizer, ProcessGroupGloo

GROUPS = 3
STEPS = 20  # all groups make this many between two deaths

group = int(os.environ["REPLICA_GROUP_ID"])
deaths, died = int(sys.argv[1]), Path(sys.argv[2])


def say(what, *facts):
    now = time.clock_gettime(time.CLOCK_MONOTONIC)
    sys.stdout.write(f"{what} {group} {' '.join(map(str, facts))} {now:.6f}\n")
    sys.stdout.flush()


def die():
    with died.open("ab") as file:
        file.write(b"x")
    say("death", GROUPS)
    os.kill(os.getpid(), signal.SIGKILL)


def endless(loader):
    while True:
        yield from loader


torch.manual_seed(0)
model = torch.nn.Linear(16, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = TensorDataset(torch.ones(1024, 16))
sampler = DistributedSampler(data, replica_rank=group, num_replica_groups=GROUPS, group_rank=0, num_replicas=1)


def load_state_dict(state):
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])


manager = Manager(  # the times are those of torchft's own example, or its defaults
    pg=ProcessGroupGloo(timeout=timedelta(seconds=5)), min_replica_size=GROUPS - 1, load_state_dict=load_state_dict,
    state_dict=lambda: {"model": model.state_dict(), "optimizer": optimizer.state_dict()},
    replica_id=f"group_{group}", timeout=timedelta(seconds=30))
ddp = DistributedDataParallel(manager, model)
managed = Optimizer(manager, optimizer)
together, lost = 0, 0  # steps of all groups in a row since the last death, and how many have died
for (inputs,) in endless(DataLoader(data, batch_size=8, sampler=sampler)):
    if (now_lost := died.stat().st_size) != lost:
        together, lost = 0, now_lost
    before = manager.current_step()
    managed.zero_grad()  # asks who takes part
    ddp(inputs).sum().backward()
    if group == 1 and together == STEPS and lost < deaths:
        die()
    managed.step()
    if manager.current_step() > before:
        participants = manager.num_participants()
        together = min(together + 1, STEPS) if participants == GROUPS else 0
        say("counted", participants)
    if together == STEPS and lost == deaths:
        os._exit(0)  # all leave behind this step
    time.sleep(0.005)
