"""The ResNet of the examples has the losses of its Python twin, in float32 and bfloat16, on images that
are made up and on files as CIFAR-10's; and goes on from a checkpoint with the same losses to the bit.

    resnet_test.py DDPRUN RESNET RESNET_PY
"""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

EPOCHS, STEPS = 3, 30
SMALL = ["--width", "8", "--batch-size", "8", "--accumulate", "2", "--lr", "0.1", "--log-every", "1"]
IMAGES = ["--synthetic", "320"]
MADE_UP = [*SMALL, "--epochs", str(EPOCHS), *IMAGES]
CHECKPOINT_EVERY = 7
LAST_CHECKPOINT = STEPS // CHECKPOINT_EVERY * CHECKPOINT_EVERY


def run(ddprun, program, *options):
    """What it says, and what it says about accuracy."""
    command = [ddprun, "--standalone", "--nproc-per-node", "2", *program, *map(str, options)]
    environment = {**os.environ, "PYTHON_EXEC": sys.executable, "OMP_NUM_THREADS": "1"}
    result = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True,
                            timeout=200)
    return [line for line in result.stdout.splitlines() if "accuracy" in line]


def read(metrics):
    lines = [json.loads(line) for line in metrics.read_text().splitlines()]
    assert [line["step"] for line in lines] == list(range(1, len(lines) + 1)), lines
    return [(line["loss"], line["lr"], line["grad_norm"]) for line in lines]


def compare(ddprun, resnet, resnet_py, folder, steps, options):
    our_accuracy = run(ddprun, ["--no-python", resnet], "--metrics", folder / "cpp", *options)
    their_accuracy = run(ddprun, [resnet_py], "--metrics", folder / "python", *options)
    ours, theirs = read(folder / "cpp"), read(folder / "python")
    assert len(ours) == len(theirs) == steps, (ours, theirs)
    worst = max(abs(a[0] - b[0]) for a, b in zip(ours, theirs))
    print(f"{' '.join(map(str, options))}: loss {ours[0][0]:.4f} -> {ours[-1][0]:.4f}, "
          f"greatest difference from Python's {worst:.1e}")
    assert worst <= 1e-4, (ours, theirs)
    assert max(abs(a[1] - b[1]) for a, b in zip(ours, theirs)) <= 1e-12
    assert our_accuracy == their_accuracy and our_accuracy, (our_accuracy, their_accuracy)
    return ours


def write_cifar10(folder):
    dice = random.Random(5)
    for name in ["data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5",
                 "test_batch"]:
        records = (bytes([dice.randrange(10)]) + dice.randbytes(3 * 32 * 32) for _ in range(32))
        (folder / f"{name}.bin").write_bytes(b"".join(records))


def refuses_damaged(ddprun, resnet, folder):
    file = folder / "data_batch_3.bin"
    file.write_bytes(file.read_bytes()[:-1])
    command = [ddprun, "--standalone", "--no-python", resnet, "--data", str(folder)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert result.returncode == 1, result
    assert f"'{file}' is no file of CIFAR-10: it has 98335 bytes" in result.stderr, result.stderr


def resumed(ddprun, resnet, folder):
    """The checkpoint is in the middle of a pass over the images."""
    options = [*MADE_UP, "--metrics", folder / "metrics", "--checkpoint-dir", folder / "checkpoints",
               "--checkpoint-every", CHECKPOINT_EVERY]
    accuracy = run(ddprun, ["--no-python", resnet], *options)
    straight = read(folder / "metrics")
    assert len(straight) == STEPS
    shutil.rmtree(folder / "checkpoints" / f"checkpoint-{LAST_CHECKPOINT:012}")
    (folder / "metrics").write_text("".join(
        json.dumps({"step": step + 1, "loss": loss, "lr": lr, "grad_norm": norm}) + "\n"
        for step, (loss, lr, norm) in enumerate(straight[:LAST_CHECKPOINT - CHECKPOINT_EVERY])))
    assert run(ddprun, ["--no-python", resnet], *options) == accuracy[-1:]
    assert read(folder / "metrics") == straight
    print("from the checkpoint on, all losses are the same")


def main():
    ddprun, resnet, resnet_py = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        losses = compare(ddprun, resnet, resnet_py, folder, STEPS, MADE_UP)
        assert losses[-1][0] < losses[0][0] - 0.5, "it does not learn"
        compare(ddprun, resnet, resnet_py, folder, STEPS // EPOCHS, [*SMALL, "--epochs", "1", *IMAGES, "--bf16"])
        write_cifar10(folder)
        compare(ddprun, resnet, resnet_py, folder, 5, [*SMALL, "--epochs", "1", "--data", folder])
        refuses_damaged(ddprun, resnet, folder)
        resumed(ddprun, resnet, folder)


if __name__ == "__main__":
    main()
