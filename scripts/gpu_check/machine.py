"""What gpu-check finds on this machine: a Python with PyTorch, its libraries and its GPUs."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

TORCH_VERSION = os.environ.get("DDPRUN_TORCH_VERSION", "2.11.0")
ASK_TORCH = """
import glob, json, os, torch
site = os.path.dirname(os.path.dirname(torch.__file__))
cuda = torch.cuda.is_available()
print(json.dumps({
    "version": torch.__version__.split("+")[0], "cuda": torch.version.cuda,
    "gpus": [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())],
    "nccl": ".".join(map(str, torch.cuda.nccl.version())) if cuda else None,
    "libraries": [site + "/torch/lib", *sorted(glob.glob(site + "/nvidia/*/lib"))],
    "digits": next(iter(glob.glob(site + "/sklearn/datasets/data/digits.csv.gz")), None)}))
"""


def candidates():
    cache = os.environ.get("DDPRUN_CACHE", str(Path.home() / ".cache" / "ddprun"))
    folder = os.environ.get("DDPRUN_TORCH_ENV", f"{cache}/torch-{TORCH_VERSION}")
    return [path for path in (f"{folder}/bin/python", shutil.which("python3"), shutil.which("python"))
            if path and Path(path).exists()]


def find_torch():
    """(python, what it says about itself) of a Python with PyTorch of our version."""
    for python in candidates():
        run = subprocess.run([python, "-c", ASK_TORCH], capture_output=True, text=True)
        if run.returncode == 0:
            about = json.loads(run.stdout.splitlines()[-1])
            if about["version"] == TORCH_VERSION:
                return python, about
            print(f"gpu-check: {python} has PyTorch {about['version']}, expected {TORCH_VERSION}")
    sys.exit(f"gpu-check: there is no Python with PyTorch {TORCH_VERSION}: run scripts/setup, or set "
             "DDPRUN_TORCH_ENV to a virtual environment that has it")
