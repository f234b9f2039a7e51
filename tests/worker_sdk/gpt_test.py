"""The GPT of the examples has the losses of its Python twin, in float32 and bfloat16, and with the
optimizer's state spread over the ranks; killed in the middle, it goes on with the same numbers to
the bit, also with that.

    gpt_test.py DDPRUN GPT GPT_PY
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STEPS = 100
OPTIONS = ["--steps", str(STEPS), "--log-every", "1", "--warm-up", "10", "--batch-size", "4",
           "--accumulate", "2", "--layers", "2", "--width", "64", "--context", "32"]
KILL_AFTER = 30  # steps
CHECKPOINT_EVERY = 20
ENVIRONMENT = {**os.environ, "PYTHON_EXEC": sys.executable, "OMP_NUM_THREADS": "1"}


def write_text(path):
    """Words in a random order: the model learns their letters."""
    dice = random.Random(5)
    words = "the of and to in is you that it he was for on are as with his they at be".split()
    path.write_text(" ".join(dice.choice(words) for _ in range(6000)))


def command(ddprun, program, text, metrics, *options):
    return [ddprun, "--standalone", "--nproc-per-node", "2", "--max-restarts", "1", *program,
            "--data", str(text), "--metrics", str(metrics), *OPTIONS, *options]


def run(line):
    subprocess.run(line, env=ENVIRONMENT, stdout=subprocess.DEVNULL, check=True, timeout=200)


def read(metrics):
    lines = [json.loads(line) for line in metrics.read_text().splitlines()]
    assert [line["step"] for line in lines] == list(range(1, STEPS + 1)), lines
    return [(line["loss"], line["lr"], line["grad_norm"]) for line in lines]


def compare(ddprun, gpt, gpt_py, text, folder, options):
    run(command(ddprun, ["--no-python", gpt], text, folder / "cpp", *options))
    run(command(ddprun, [gpt_py], text, folder / "python", *options))
    ours, theirs = read(folder / "cpp"), read(folder / "python")
    worst = max(abs(a[0] - b[0]) for a, b in zip(ours, theirs))
    print(f"{' '.join(options) or 'float32'}: loss {ours[0][0]:.4f} -> {ours[-1][0]:.4f}, "
          f"greatest difference from Python's {worst:.1e}")
    assert worst <= 1e-4, (ours, theirs)
    assert max(abs(a[1] - b[1]) for a, b in zip(ours, theirs)) <= 1e-12
    assert ours[-1][0] < ours[0][0] - 1, "it does not learn"


def checkpointed(ddprun, gpt, text, folder):
    """Activations that are computed again are the same, with the same dropout."""
    run(command(ddprun, ["--no-python", gpt], text, folder / "kept", "--dropout", "0.1"))
    run(command(ddprun, ["--no-python", gpt], text, folder / "again", "--dropout", "0.1",
                "--checkpoint-activations"))
    assert read(folder / "again") == read(folder / "kept")
    print("with --checkpoint-activations, all losses and gradients' norms are the same")


def steps_in(metrics):
    return metrics.read_text().count("\n") if metrics.exists() else 0


def children(pid):
    """Those of all its threads."""
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for one in lists for child in one.read_text().split()]


def kill_in_the_middle(line, metrics, gpt):
    """Whether a worker was killed; false if the job has ended before."""
    job = subprocess.Popen(line, env=ENVIRONMENT, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 100
        while steps_in(metrics) < KILL_AFTER and job.poll() is None:
            assert time.monotonic() < deadline, "it takes too long"
            time.sleep(0.002)
        if job.poll() is None:
            workers = [child for child in children(job.pid)
                       if os.path.realpath(f"/proc/{child}/exe") == os.path.realpath(gpt)]
            if workers:
                os.kill(workers[-1], signal.SIGKILL)
        assert job.wait(timeout=100) == 0
    finally:
        job.kill()
        job.wait()
    manifest = metrics.parent / "checkpoints" / f"checkpoint-{STEPS:012}" / "manifest.json"
    return json.loads(manifest.read_text())["attempt"] == 1


def killed(ddprun, gpt, text, folder):
    def files(name):
        (folder / name).mkdir()
        return folder / name / "metrics", [
            "--dropout", "0.1", "--zero", "--checkpoint-every", str(CHECKPOINT_EVERY),
            "--checkpoint-dir", str(folder / name / "checkpoints")]

    metrics, options = files("straight")
    run(command(ddprun, ["--no-python", gpt], text, metrics, *options))
    straight = read(metrics)
    for attempt in range(10):  # a job that has ended before the signal came proves nothing
        metrics, options = files(f"killed{attempt}")
        line = command(ddprun, ["--no-python", gpt], text, metrics, *options)
        if kill_in_the_middle(line, metrics, gpt):
            break
    else:
        sys.exit("no worker could be killed in the middle")
    assert read(metrics) == straight
    model = f"checkpoints/checkpoint-{STEPS:012}/model.safetensors"
    assert (metrics.parent / model).read_bytes() == (folder / "straight" / model).read_bytes()
    print("killed in the middle, all losses and all weights are the same")


def main():
    ddprun, gpt, gpt_py = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = folder / "text"
        write_text(text)
        compare(ddprun, gpt, gpt_py, text, folder, [])
        compare(ddprun, gpt, gpt_py, text, folder, ["--bf16"])
        compare(ddprun, gpt, gpt_py, text, folder, ["--zero"])
        checkpointed(ddprun, gpt, text, folder)
        killed(ddprun, gpt, text, folder)


if __name__ == "__main__":
    main()
