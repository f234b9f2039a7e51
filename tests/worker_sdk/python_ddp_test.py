"""DDP of the SDK and DDP of Python, from the same weights on the same batches, have the same loss in
every step: in float32 to 1e-5, also with Adam, and nearly so with communication hooks and autocast. With a
SyncBatchNorm, which Python's DDP lacks on the CPU, they are those of one process with a BatchNorm and
all ranks' rows.

    python_ddp_test.py DDPRUN DDP_STEPS RANKS
"""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

STEPS = 12
ROWS = 16  # in a worker's batch
CASES = [(["--model", "small"], 1e-5),
         (["--model", "small", "--optimizer", "adam"], 1e-5),
         (["--model", "medium"], 1e-5),
         # A last bit that differs in float32 is rounded to one of 2^-8 in bfloat16.
         (["--model", "small", "--hook", "fp16"], 1e-3),
         (["--model", "medium", "--hook", "bf16"], 1e-3),
         (["--model", "small", "--hook", "powersgd"], 1e-5),
         (["--model", "small", "--hook", "powersgd", "--power-sgd-rank", "2",
           "--power-sgd-forgetful"], 1e-5),
         (["--model", "small", "--hook", "powersgd", "--power-sgd-rank", "4",
           "--optimizer", "adam"], 1e-4),
         (["--model", "small", "--autocast", "bfloat16"], 1e-3),
         (["--model", "small", "--autocast", "float16"], 1e-3)]


def losses(ddprun, ranks, program, *options):
    """Those of each training that the program tells."""
    command = [ddprun, "--standalone", "--nproc-per-node", ranks, *program, "--backend", "gloo",
               "--steps", str(STEPS), "--warm-up", "0", *options]
    environment = {**os.environ, "PYTHON_EXEC": sys.executable, "OMP_NUM_THREADS": "1"}
    run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True,
                         timeout=200)
    results = [json.loads(line)["losses"] for line in run.stdout.splitlines()]
    for result in results:
        assert len(result) == STEPS and all(map(math.isfinite, result)), result
    return results


def agree(options, ours, theirs, tolerance):
    worst = max(abs(a - b) for a, b in zip(ours, theirs))
    print(f"{' '.join(options)}: loss {ours[0]:.6f} -> {ours[-1]:.6f}, "
          f"greatest difference {worst:.1e}, allowed {tolerance:.0e}")
    return worst <= tolerance and ours[0] != ours[-1]


def main():
    ddprun, ddp_steps, ranks = sys.argv[1:]
    cpp = ["--no-python", ddp_steps]
    python = [str(Path(__file__).with_name("ddp_steps.py"))]
    all_theirs = losses(ddprun, ranks, python, *(f"--case={' '.join(options)}" for options, _ in CASES))
    all_agree = len(all_theirs) == len(CASES)
    for (options, tolerance), theirs in zip(CASES, all_theirs):
        [ours] = losses(ddprun, ranks, cpp, *options)
        all_agree &= agree(options, ours, theirs, tolerance)
    [ours] = losses(ddprun, ranks, cpp, "--sync-batch-norm")
    [theirs] = losses(ddprun, "1", python, "--batch-norm", "--rows", str(ROWS * int(ranks)))
    all_agree &= agree(["--sync-batch-norm"], ours, theirs, 1e-5)
    sys.exit(0 if all_agree else "the losses differ")


if __name__ == "__main__":
    main()
