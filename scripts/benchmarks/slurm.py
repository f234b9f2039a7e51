"""On a real Slurm of four nodes on this machine (as root): from srun's start to the last worker's
first instruction, one worker a node, under srun alone, ddprun and torchrun, taking turns."""

import statistics
import subprocess

from benchmarks.common import DDPRUN, PROJECT, show

STAMP = str(PROJECT / "build" / "ddprun_stamp")
NEEDS = (DDPRUN, STAMP)


def bench(arguments):
    script = str(PROJECT / "tests" / "system" / "slurm_bench.sh")
    run = subprocess.run(["bash", script, DDPRUN, STAMP, str(arguments.runs),
                          arguments.torchrun or ""], stdout=subprocess.PIPE, text=True)
    if run.returncode != 0:
        print(run.stdout)
        raise SystemExit(run.returncode)
    times = {}
    for line in run.stdout.splitlines():
        name, seconds = line.split()
        times.setdefault(name, []).append(1000 * float(seconds))
    medians = {name: statistics.median(values[1:]) for name, values in times.items()}
    show("srun -> first instruction of the last of 4 workers on 4 nodes", medians)
    print(f"  ddprun adds {medians['ddprun'] - medians['srun']:.1f} ms to srun")
