"""DDP of the SDK and DDP of Python, from the same weights on the same batches, have the same loss in
every step: in float32 to 1e-5, also with Adam, and nearly so with communication hooks and autocast.

    python_ddp_test.py DDPRUN DDP_STEPS RANKS
"""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

STEPS = 12
CASES = [(["--model", "small"], 1e-5),
         (["--model", "small", "--optimizer", "adam"], 1e-5),
         (["--model", "medium"], 1e-5),
         # A last bit that differs in float32 is rounded to one of 2^-8 in bfloat16.
         (["--model", "small", "--hook", "fp16"], 1e-3),
         (["--model", "medium", "--hook", "bf16"], 1e-3),
         (["--model", "small", "--autocast", "bfloat16"], 1e-3),
         (["--model", "small", "--autocast", "float16"], 1e-3)]


def losses(ddprun, ranks, program, options):
    command = [ddprun, "--standalone", "--nproc-per-node", ranks, *program, "--backend", "gloo",
               "--steps", str(STEPS), "--warm-up", "0", *options]
    environment = {**os.environ, "PYTHON_EXEC": sys.executable, "OMP_NUM_THREADS": "1"}
    run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True,
                         timeout=120)
    result = json.loads(run.stdout)["losses"]
    assert len(result) == STEPS and all(map(math.isfinite, result)), result
    return result


def main():
    ddprun, ddp_steps, ranks = sys.argv[1:]
    python = [str(Path(__file__).with_name("ddp_steps.py"))]
    failed = False
    for options, tolerance in CASES:
        ours = losses(ddprun, ranks, ["--no-python", ddp_steps], options)
        theirs = losses(ddprun, ranks, python, options)
        worst = max(abs(a - b) for a, b in zip(ours, theirs))
        print(f"{' '.join(options)}: loss {ours[0]:.6f} -> {ours[-1]:.6f}, "
              f"greatest difference {worst:.1e}, allowed {tolerance:.0e}")
        failed |= worst > tolerance or ours[0] == ours[-1]
    sys.exit("the losses differ" if failed else 0)


if __name__ == "__main__":
    main()
