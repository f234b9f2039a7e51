#!/usr/bin/env bash
# The wheel as pip installs it, without a network: the program, its other names, and the module.
. "$(dirname "$0")/lib.sh"
DDPRUN=$(realpath "$DDPRUN")
packaging=$(cd "$(dirname "$0")/../../packaging" && pwd)

[ -n "$(command -v python3)" ] || skip "there is no python3"
python3 -m venv "$scratch/venv" 2>"$scratch/err" >&2 || skip "python3 makes no virtual environments"
unset PYTHON_EXEC VIRTUAL_ENV PYTHONPATH

# Two builds write the same bytes, whatever the umask and the time.
make_wheel() { # EXECUTABLE FOLDER
  SOURCE_DATE_EPOCH=1700000000 "$packaging/wheel.py" --binary "$1" --tag "linux_$(uname -m)" --out "$2"
}
wheel=$(make_wheel "$DDPRUN" "$scratch/one")
other=$(umask 077 && cp "$DDPRUN" "$scratch/copy" && make_wheel "$scratch/copy" "$scratch/two")
cmp "$wheel" "$other" || fail "two builds of the wheel differ"

bin=$scratch/venv/bin
"$bin/python" -m pip install --no-index -q "$wheel" >"$scratch/out" 2>"$scratch/err" ||
  fail "pip does not install the wheel"
cmp "$bin/ddprun" "$DDPRUN" || fail "the program in PATH is not the executable itself"
version=$(sed -nE 's/^project\(ddprun VERSION ([0-9.]+).*/\1/p' "$packaging/../CMakeLists.txt")
[ "$("$bin/python" -c 'import ddprun; print(ddprun.__version__)')" = "$version" ] || fail "another version"

# pip brings no package unless the extra for notebooks is asked for.
"$bin/python" -c 'import importlib.metadata as m; print(m.requires("ddprun"))' >"$scratch/out"
says out "[\"cloudpickle; extra == 'notebook'\"]"

# The description is README, whose pages and pictures have no address outside of the clone.
"$bin/python" -c 'import importlib.metadata as m; print(m.metadata("ddprun").get_payload())' >"$scratch/out"
says out "Nothing is published yet"
says_not out "](docs/"
says_not out "<!--"
says_not out "<picture>"

# All names lead to it, also with a PATH that does not, and a link called torchrun is as good.
mkdir "$scratch/links"
ln -s "$bin/ddprun-torchrun" "$scratch/links/alias"
ln -s "$bin/ddprun" "$scratch/links/torchrun"
cd "$scratch"
echo 'import os, sys; print(f"server {sys.argv[1]} has rank {os.environ['"'RANK'"']}"); sys.exit(28)' >server
for way in "$bin/ddprun" "$bin/ddprun-torchrun" "$bin/python -m ddprun" links/alias links/torchrun; do
  # shellcheck disable=SC2086
  [ "$($way --version)" = "$("$DDPRUN" --version)" ] || fail "$way --version says $($way --version)"
done
for way in "$bin/ddprun-torchrun" links/alias links/torchrun; do
  code=0
  PATH=$bin:$PATH "$way" server job7 >out 2>err || code=$?
  [ "$code" = 28 ] || fail "$way ends with $code"
  says out "server job7 has rank 0"
done
code=0
"$bin/python" -m ddprun server --port none >out 2>err || code=$?
[ "$code" = 2 ] || fail "python -m ddprun server ends with $code"

# A job in that environment has the module.
cat >worker.py <<'PY'
import os
import sys

import ddprun

ddprun.heartbeat(3, loss=0.25)
print(f"rank {os.environ['RANK']} of {os.environ['WORLD_SIZE']} in {sys.prefix}")
if ddprun.restart_count() == 0 and os.environ["RANK"] == "1":
    sys.exit(3)
PY
code=0
VIRTUAL_ENV=$scratch/venv "$bin/ddprun" --nproc-per-node 2 --max-restarts 1 worker.py >out 2>err || code=$?
[ "$code" = 0 ] || fail "the job ends with $code"
says out "rank 0 of 2 in $scratch/venv"
says out "rank 1 of 2 in $scratch/venv"
code=0
VIRTUAL_ENV=$scratch/venv "$bin/ddprun" --nproc-per-node 2 worker.py >out 2>err || code=$?
[ "$code" = 3 ] || fail "the job ends with $code"
says err "last heartbeat: step 3, loss 0.25"

"$bin/python" -m pip uninstall -q -y ddprun >out 2>err || fail "pip does not remove it"
[ -z "$(find "$scratch/venv" -name '*ddprun*')" ] || fail "left: $(find "$scratch/venv" -name '*ddprun*')"
nothing_left
