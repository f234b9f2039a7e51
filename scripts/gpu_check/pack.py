"""gpu-check --pack: a folder to carry to a bare machine with a GPU driver, Python and PyTorch."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from .machine import TORCH_VERSION

PROGRAMS = ("ddprun", "ddp_steps", "elastic_worker", "failing_worker", "gpt", "hang_worker", "sdk_collective_tests",
            "sdk_device_tests", "train_digits")
ELASTIC_LOOP = "tests/worker_sdk/python/elastic_train.py"
MODULE = "worker_sdk/python"  # beside the loop as in the project
BYTES_MAX = 64 * 1024 * 1024
# What programs may need beside what they bring: the C library, the C++ library, which PyTorch's wheel
# takes from the system, too, and that wheel's libraries.
OF_SYSTEM = {"libc.so.6", "libm.so.6", "libdl.so.2", "librt.so.1", "libpthread.so.0", "libutil.so.1",
             "libstdc++.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"}
OF_TORCH = re.compile(r"^lib(torch|torch_cpu|torch_cuda|torch_python|c10|c10_cuda)\.so$")


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needs_of(program):
    """The libraries that a program names, and the newest versions of glibc and libstdc++ it asks for."""
    libraries = re.findall(r"\(NEEDED\).*\[(.*)\]", output_of("readelf", "--dynamic", "--wide", program))
    versions = output_of("readelf", "--version-info", "--wide", program)
    def newest(name):
        found = re.findall(rf"\b{name}_(\d+(?:\.\d+)+)\b", versions)
        return max(found, key=lambda version: [int(part) for part in version.split(".")], default=None)
    return libraries, newest("GLIBC"), newest("GLIBCXX")


def check_needs(program):
    """Says what a packed program needs of the other machine; an error where it needs too much."""
    libraries, glibc, glibcxx = needs_of(program)
    strange = [name for name in libraries if name not in OF_SYSTEM and not OF_TORCH.match(name)]
    if strange:
        sys.exit(f"gpu-check: {program.name} needs {', '.join(strange)}, which a bare machine may lack: "
                 "link them statically")
    return {"glibc": glibc, "libstdc++": glibcxx, "bytes": program.stat().st_size}


def pack(build, folder, digits):
    """Makes `folder`, which must not exist, out of the programs of `build`."""
    here = Path(__file__).resolve().parent
    missing = [name for name in PROGRAMS if not (build / name).exists()]
    if missing:
        sys.exit(f"gpu-check: {build} has no {', '.join(missing)}: run scripts/build --tests")
    if folder.exists():
        sys.exit(f"gpu-check: {folder} is already there")
    programs = folder / "programs"
    programs.mkdir(parents=True)
    facts = {}
    for name in PROGRAMS:
        shutil.copy2(build / name, programs / name)
        subprocess.run(["strip", programs / name], check=True)
        facts[name] = check_needs(programs / name)
    shutil.copytree(here, folder / "gpu_check", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy2(here.parent / "gpu-check", folder / "gpu-check")
    for twin in ("tests/worker_sdk/ddp_steps.py", "worker_sdk/examples/gpt.py"):
        shutil.copy2(here.parent.parent / twin, folder)
    loop = folder / ELASTIC_LOOP
    loop.parent.mkdir(parents=True)
    shutil.copy2(here.parent.parent / ELASTIC_LOOP, loop)
    shutil.copytree(here.parent.parent / MODULE, folder / MODULE, ignore=shutil.ignore_patterns("__pycache__"))
    if digits:  # scikit-learn may not be there
        shutil.copy2(digits, folder / "digits.csv.gz")
    version = output_of(programs / "ddprun", "--version").splitlines()[0]
    manifest = {"ddprun": version, "torch": TORCH_VERSION, "programs": facts}
    (folder / "pack.json").write_text(json.dumps(manifest, indent=1) + "\n")
    return check_size(folder, manifest)


def check_size(folder, manifest):
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    if size > BYTES_MAX:
        sys.exit(f"gpu-check: {folder} has {size} bytes, and {BYTES_MAX} may travel")
    glibc = max((facts["glibc"] for facts in manifest["programs"].values()),
                key=lambda version: [int(part) for part in version.split(".")])
    print(f"gpu-check: {folder}: {size / 2**20:.1f} MiB of {manifest['ddprun']}. It needs glibc {glibc} "
          f"and a Python with PyTorch {manifest['torch']}; there: {folder.name}/gpu-check")
