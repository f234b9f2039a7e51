"""Do programs with well-known libraries give the same results under ddprun as under torchrun?

    python ecosystem_test.py DDPRUN [NAME...]      e.g.  ... build/ddprun lightning_fit

Runs each of programs/ (or those named) with two workers under torchrun, ddprun and ddprun --warm, by
the Python that runs this, whose torchrun is beside it. All must succeed or all fail, and print the same
lines `RESULT ...` in any order. Exits 0, 1 if a program differs, or 77 if none does but one was left out
because its package is missing.
"""

import difflib
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from versions import torch_version

PROGRAMS = Path(__file__).resolve().parent / "programs"
QUICK_TORCH = Path(__file__).resolve().parent.parent / "support/quick_torch"
NAMES = [
    "all_gather_object",
    "monitored_barrier",
    "record_error",
    "reinit_group",
    "fsdp2_cpu",
    "dcp_checkpoint",
    "data_loaders",
    "lightning_fit",
    "accelerate_train",
]
PACKAGES = {"lightning_fit": "pytorch_lightning", "accelerate_train": "accelerate"}

# What a version of torch is too old for, and why.
SINCE = {"fsdp2_cpu": ((2, 6), "FSDP2 is on trial before 2.6, and that of 2.4 needs GPUs")}

# The programs that fail, with what the launcher's own report must then say of the failure.
REPORTS = {"record_error": r"(?s)(Root Cause|the job failed).*\brank\W+1\b.*ValueError: no such batch"}

# A wanted difference: every group meets under the same keys, and torchrun's store still has those of
# the group before, while ddprun's is empty again. The program itself checks what it prints.
DDPRUN_ONLY = {"reinit_group"}

TIMEOUT_S = 400


def kill_all(scratch):
    """The launchers put workers into sessions of their own, so all are found by their scratch folder."""
    mark = f"TMPDIR={scratch}\0".encode()
    found = True
    while found:
        found = False
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (process / "environ").read_bytes():
                    os.kill(int(process.name), signal.SIGKILL)
                    found = True
            except OSError:
                pass  # it ended just now, or is somebody else's


def launch(launcher, name):
    """Returns whether it succeeded, all its output, and the seconds it took."""
    command = [*launcher, "--standalone", "--nproc-per-node", "2", str(PROGRAMS / f"{name}.py")]
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryFile() as written:
        environment = os.environ | {
            "PYTHON_EXEC": sys.executable,
            "PYTHONPATH": str(QUICK_TORCH),
            "PYTHONDONTWRITEBYTECODE": "1",
            "OMP_NUM_THREADS": "1",
            "TMPDIR": scratch,
        }
        process = subprocess.Popen(
            command, cwd=scratch, env=environment, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=written, stderr=subprocess.STDOUT)
        end = ""
        try:
            process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            end = f"\nkilled after {TIMEOUT_S} s"
        finally:
            kill_all(scratch)
        succeeded = process.wait() == 0
        written.seek(0)
        output = written.read().decode(errors="replace") + end
    return succeeded, output, time.monotonic() - begin


def results(output):
    return sorted(line for line in output.splitlines() if line.startswith("RESULT "))


def complaint(name, run):
    """What is wrong with one run, whatever the other launcher did."""
    succeeded, output, _ = run
    if succeeded == (name in REPORTS):
        return "succeeded" if succeeded else "failed"
    if not results(output):
        return "printed no results"
    if name in REPORTS and not re.search(REPORTS[name], output):
        return f"does not report {REPORTS[name]!r}"
    return None


def compare(name, launchers):
    """Runs one program under the launchers and prints how that went; returns whether it went well."""
    runs = {launcher: launch(path, name) for launcher, path in launchers.items()}
    for launcher, run in runs.items():
        wrong = complaint(name, run)
        if wrong:
            print(f"DIFFERS {name}: under {launcher} it {wrong}; the end of its output:")
            print("\n".join("    " + line for line in run[1].splitlines()[-40:]), flush=True)
            return False
    lines = {launcher: results(run[1]) for launcher, run in runs.items()}
    first = next(iter(lines))
    for other in lines:
        if lines[first] != lines[other]:
            print(f"DIFFERS {name}: lines of {first} (-) and {other} (+):")
            diff = difflib.unified_diff(lines[first], lines[other], n=0, lineterm="")
            print("\n".join("    " + line for line in list(diff)[2:]), flush=True)
            return False
    seconds = ", ".join(f"{launcher} {run[2]:.1f} s" for launcher, run in runs.items())
    print(f"ok {name}: {len(lines[first])} equal lines ({seconds})", flush=True)
    return True


def executable(name):
    path = shutil.which(name)
    return os.path.abspath(path) if path else sys.exit(f"there is no program {name}")


def main():
    names = sys.argv[2:] or NAMES
    if len(sys.argv) < 2 or not set(names) <= set(NAMES):
        sys.exit(f"{__doc__}\nThe programs: {' '.join(NAMES)}")
    ddprun = executable(sys.argv[1])
    torchrun = executable(Path(sys.executable).with_name("torchrun"))
    launchers = {"torchrun": [torchrun], "ddprun": [ddprun], "ddprun --warm": [ddprun, "--warm"]}
    only_ddprun = {launcher: launchers[launcher] for launcher in ("ddprun", "ddprun --warm")}
    good = skipped = too_new = 0
    for name in names:
        package = PACKAGES.get(name)
        if package and not importlib.util.find_spec(package):
            print(f"skipped {name}: there is no package {package}: run scripts/setup", flush=True)
            skipped += 1
        elif torch_version() < (since := SINCE.get(name, ((0,), "")))[0]:
            print(f"left out {name}: torch is too old: {since[1]}", flush=True)
            too_new += 1
        elif name in DDPRUN_ONLY:
            good += compare(name, only_ddprun)
        else:
            good += compare(name, launchers)
    differ = len(names) - good - skipped - too_new
    print(f"{len(names)} programs: {good} ok, {differ} differ, {skipped} skipped, "
          f"{too_new} newer than this torch")
    sys.exit(1 if differ else 77 if skipped else 0)


if __name__ == "__main__":
    main()
