#!/usr/bin/env bash
# Makes the wheel twice and checks it: the two have the same bytes, auditwheel and twine are content with it, and in
# a bare Debian 11, 12 and 13 with Python it takes at most 5 s from `pip install` to the first worker.
. "$(dirname "$0")/lib.sh"

seconds_max=5
scratch=$(mktemp -d)
trap 'end_steps 2>/dev/null; rm -rf "$scratch"' EXIT
step wheel "$project/packaging/wheel.sh" # which calls auditwheel and twine
wheel=$(echo "$dist/ddprun-$version"-py3-none-manylinux_*_x86_64.whl)
cp "$wheel" "$scratch/"
step "wheel again" "$project/packaging/wheel.sh"
cmp "$wheel" "$scratch/${wheel##*/}" || die "two builds of the wheel differ"
say "wheel: two builds have one hash: $(sha256sum "$wheel" | cut -c 1-16)..., $(stat -c %s "$wheel") bytes"

cat >"$scratch/worker.py" <<'PY'
import os
import sys
import time

import ddprun

now = time.monotonic()
with open("began", "a") as began:
    began.write(f"{now}\n")
ddprun.heartbeat(1, loss=0.5)
if ddprun.restart_count() == 0 and os.environ["RANK"] == "1":
    sys.exit(7)
print(f"rank {os.environ['RANK']} of {os.environ['WORLD_SIZE']} after {ddprun.restart_count()} restarts")
PY
# In the bare system. The clock begins before pip.
cat >"$scratch/install.py" <<'PY'
import glob
import os
import platform
import subprocess
import time

subprocess.run(["python3", "-m", "venv", "venv"], check=True)
os.environ["PATH"] = "/root/venv/bin:" + os.environ["PATH"]
os.environ["VIRTUAL_ENV"] = "/root/venv"
cpu_before = sum(os.times()[2:4])
began = time.monotonic()
subprocess.run(["pip", "install", "-q", "--no-index", "--disable-pip-version-check", *glob.glob("*.whl")],
               check=True)
done = subprocess.run(["ddprun", "--nproc-per-node", "2", "--max-restarts", "1", "worker.py"],
                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
first_worker = min(map(float, open("began")))
cpu = sum(os.times()[2:4]) - cpu_before
assert done.returncode == 0 and done.stdout.count("of 2 after 1 restarts") == 2, done.stdout
versions = {subprocess.check_output([*way, "--version"]) for way in (
    ["ddprun"], ["ddprun-torchrun"], ["python", "-m", "ddprun"])}
assert len(versions) == 1, versions
launched = subprocess.check_output(["python", "-c", "import ddprun, platform\nprint(ddprun.launch(platform.node))"])
assert platform.node().encode() in launched, launched
wrapped = subprocess.check_output(["ddprun-wrap", "torchrun", "--version"])
assert wrapped in versions, wrapped
print(platform.python_version(), f"{first_worker - began:.2f}", f"{cpu:.2f}")
PY
for suite in bullseye bookworm trixie; do
  "$project/packaging/rootfs.sh" "$suite" --with python3,python3-venv,python3-pip --bring "$wheel" \
    --bring "$scratch/worker.py" --bring "$scratch/install.py" -- python3 install.py >"$scratch/out" 2>&1 ||
    die "$suite: $(cat "$scratch/out")"
  read -r python seconds cpu < <(tail -n 1 "$scratch/out")
  say "wheel: Debian $suite, Python $python: $seconds s from pip install to the first worker," \
    "$cpu s of processors for all of it"
  # On a machine that does other things as well the clock says little: then its processors' time decides.
  python3 -c "import sys; sys.exit(min($seconds, $cpu) > $seconds_max)" ||
    die "$suite: it takes $seconds s, expected $seconds_max at most"
done
