#!/usr/bin/env bash
# Checks the wheel in dist/: two builds have the same bytes, auditwheel and twine are content with it, and in
# a bare Debian 11, 12 and 13 with Python it takes at most 5 s from `pip install` to the first worker.
. "$(dirname "$0")/lib.sh"

seconds_max=5
wheel=$(echo "$dist/ddprun-$version"-py3-none-manylinux_*_x86_64.whl)
[ -e "$wheel" ] || die "there is no wheel in $dist: scripts/package wheel"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp "$wheel" "$scratch/"
"$project/packaging/wheel.sh" >"$scratch/log" || die "$(cat "$scratch/log")"
cmp "$wheel" "$scratch/${wheel##*/}" || die "two builds of the wheel differ"
say "wheel: two builds have one hash: $(sha256sum "$wheel" | cut -c 1-16)..., $(stat -c %s "$wheel") bytes"

cat >"$scratch/worker.py" <<'PY'
import os
import sys
import time

import ddprun

now = time.monotonic()
with open("/root/began", "a") as began:
    began.write(f"{now}\n")
ddprun.heartbeat(1, loss=0.5)
if ddprun.restart_count() == 0 and os.environ["RANK"] == "1":
    sys.exit(7)
print(f"rank {os.environ['RANK']} of {os.environ['WORLD_SIZE']} after {ddprun.restart_count()} restarts")
PY
# In the bare system. The clock begins before pip.
cat >"$scratch/install.sh" <<'SH'
set -e
python3 -m venv --help >/dev/null
python3 -m venv venv
. venv/bin/activate
began=$(python3 -c 'import time; print(time.monotonic())')
pip install -q --no-index --disable-pip-version-check ddprun-*.whl
ddprun --nproc-per-node 2 --max-restarts 1 worker.py >out 2>err || { cat out err; exit 1; }
[ "$(grep -c '^rank [01] of 2 after 1 restarts$' out)" = 2 ] || { cat out err; exit 1; }
python -m ddprun --version | head -n 1 >version
ddprun-torchrun --version | head -n 1 | cmp - version
python3 -c "import sys; print('%d.%d.%d' % sys.version_info[:3], '%.2f' % (min(map(float, open('/root/began'))) - $began))"
SH
for suite in bullseye bookworm trixie; do
  "$project/packaging/rootfs.sh" "$suite" --with python3,python3-venv,python3-pip --bring "$wheel" \
    --bring "$scratch/worker.py" --bring "$scratch/install.sh" -- sh install.sh >"$scratch/out" 2>&1 ||
    die "$suite: $(cat "$scratch/out")"
  read -r python seconds < <(tail -n 1 "$scratch/out")
  say "wheel: Debian $suite, Python $python: $seconds s from pip install to the first worker"
  python3 -c "import sys; sys.exit($seconds > $seconds_max)" ||
    die "$suite: it takes $seconds s, expected $seconds_max at most"
done
