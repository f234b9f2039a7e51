"""A small training with the elastic loop, for elastic_test.py: `elastic_train.py FOLDER '{"steps": 20}'`

It saves FOLDER/run.pt, and writes what each worker has used in a counted step to FOLDER/used.RANK.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

import torch
import torch._dynamo  # noqa: F401  DDP imports it: a test that forks workers has it once for all of them
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, Dataset

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "worker_sdk" / "python"))

import ddprun  # noqa: E402
from ddprun._world import World  # noqa: E402

os.environ.setdefault("DDPRUN_CHECK_STATE", "1")

SAMPLES = 50
OPTIONS = {
    "batches": {"global_batch": 12, "seed": 7},
    "steps": 20,
    "save_every": 4,
    "loader_processes": 0,
    "dies": [],  # [rank, step] of each attempt, in their order: what ends there
    "where": "behind backward",  # or "before backward", "within the update", "behind the update"
    "how": "SIGKILL",  # or another signal; "error": an exception
    "waits": [[], 0, ""],  # these ranks wait at that step, and there, until the test releases them
    "catches": False,  # each step's errors, and goes on
    "loads": None,  # the rank that alone loads run.pt
    "init": 0,  # the seed of the first weights
    "strays": None,  # the rank that changes what it has loaded
    "enters_late": None,  # the rank that waits, where it gets a state while it enters a world, until it is released
    "resize": True,
    "device": "cpu",
    "deaf": None,  # the rank that nothing frees from a collective
    # [step, size]: from that step on, a world of fewer members does none before it is held. A worker in the place
    # of another one comes no sooner.
    "whole": [0, 0],
    "ended": [],  # the ranks that have left their last world before anybody comes in place of another one
}


class Numbers(Dataset):
    def __len__(self):
        return SAMPLES

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        return torch.randn(8, generator=generator), index % 3, index


class Gate:
    """A part of the state, through which the rank passes that enters late."""

    def __init__(self, folder, rank):
        self.folder = folder
        self.rank = rank

    def state_dict(self):
        return {}

    def load_state_dict(self, state):
        if torch.distributed.is_initialized() and self.rank == int(os.environ["RANK"]):
            wait_until_released(self.folder, self.rank)


def make_run(options):
    torch.manual_seed(options["init"])
    model = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Dropout(0.2), nn.ReLU(), nn.Linear(16, 3))
    model.to(options["device"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, [5, 9])
    batches = ddprun.Batches(SAMPLES, **options["batches"])
    run = ddprun.ElasticRun(model=model, optimizer=optimizer, schedule=schedule, batches=batches, seed=3,
                            resize=options["resize"])
    return run, model, optimizer, schedule, batches


def note_open(file):
    """Writes down how many descriptors and threads this process has in which round."""
    note = [os.getpid(), len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))]
    with open(file, "a") as notes:
        print(json.dumps([*note, os.environ.get("DDPRUN_ROUND", "")]), file=notes)


def wait_for_step(file, step):
    while not file.exists() or f"[{step}, [" not in file.read_text():
        time.sleep(0.01)


def come_late(folder, options):
    """A worker that is started in place of another one waits for what the options say."""
    if not ddprun.restart_count():
        return
    if options["whole"][0]:
        wait_for_step(folder / "used.0", options["whole"][0])
    while not all((folder / f"end.{rank}.pt").exists() for rank in options["ended"]):
        time.sleep(0.01)


def wait_for_others(run, world, step, size):
    while run.step >= step and world.size < size and run._membership.held < 0:
        run._membership.require_unchanged()
        time.sleep(0.01)


def wait_until_released(folder, rank):
    (folder / f"waits.{rank}").touch()
    while not (folder / f"released.{rank}").exists():
        time.sleep(0.01)


class Fate:
    """What happens to this worker, at which places of which steps."""

    def __init__(self, folder, options, run):
        self.folder = folder
        self.options = options
        self.run = run

    def enter(self, world):
        self.world = world
        self.begun = self.run.step

    def reach(self, where):
        options, here = self.options, [self.run.step, where]
        if self.world.rank in options["waits"][0] and here == options["waits"][1:]:
            if where == "before backward":
                self.wait_for_notes()
            wait_until_released(self.folder, self.world.rank)
        deaths = options["dies"][ddprun.restart_count() :]
        if where != options["where"] or [self.world.rank, self.run.step] not in deaths[:1]:
            return
        self.wait_for_notes()
        if options["how"] == "error":
            raise ValueError("an error of the program's own")
        os.kill(os.getpid(), signal.Signals[options["how"]])

    def wait_for_notes(self):
        """Until the others have noted the last step, too. A slow one could still drop it, and take it from another."""
        if self.run.step > self.begun:
            for rank in set(range(self.world.size)) - {self.world.rank}:
                wait_for_step(self.folder / f"used.{rank}", self.run.step)


def train(folder, options):
    options = {**OPTIONS, **options}
    come_late(folder, options)
    if options["deaf"] == int(os.environ.get("RANK", "0")):
        World._free = lambda world: None
    run, model, optimizer, schedule, batches = make_run(options)
    run.keep("gate", Gate(folder, options["enters_late"]))
    fate = Fate(folder, options, run)
    processes = options["loader_processes"]
    loader = DataLoader(Numbers(), batch_sampler=batches, num_workers=processes, persistent_workers=processes > 0)
    saved = folder / "run.pt"
    if saved.exists() and options["loads"] in (None, int(os.environ.get("RANK", "0"))):
        run.load_state_dict(torch.load(saved))
        if options["strays"] == int(os.environ.get("RANK", "0")):
            model[0].bias.data += 1

    def backward(inputs, labels):
        wait_for_others(run, world, *options["whole"])
        loss = cross_entropy(ddp(inputs.to(options["device"])), labels.to(options["device"])) / world.parts
        fate.reach("before backward")
        loss.backward()

    for world in run.worlds("gloo" if options["device"] == "cpu" else "nccl", timeout=120):
        with world, open(folder / f"used.{world.rank}", "a") as used:
            note_open(folder / f"open.{world.rank}")
            fate.enter(world)
            ddp = world.wrap(model)
            indices = []
            for inputs, labels, index in world.batches(loader, steps=options["steps"]):
                try:
                    backward(inputs, labels)
                except Exception:
                    if not options["catches"]:
                        raise
                indices += index.tolist()
                if not world.last_part:
                    continue
                fate.reach("behind backward")
                with world.update():
                    optimizer.step()
                    fate.reach("within the update")
                    optimizer.zero_grad()
                    schedule.step()
                fate.reach("behind the update")
                print(json.dumps([run.step, indices]), file=used, flush=True)
                indices = []
                if run.step % options["save_every"] == 0 and world.rank == 0:
                    torch.save(run.state_dict(), folder / "run.new")
                    os.replace(folder / "run.new", saved)
    torch.save(run.state_dict(), folder / f"end.{world.rank}.pt")


if __name__ == "__main__":
    torch.set_num_threads(1)
    train(Path(sys.argv[1]), json.loads(sys.argv[2]))
