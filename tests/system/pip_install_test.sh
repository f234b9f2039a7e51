#!/usr/bin/env bash
# `pip install .` in a clone, also editable, and from its sdist, with the executable that is there already: what it
# takes to compile is scripts/check-systems' part.
. "$(dirname "$0")/lib.sh"
project=$(cd "$(dirname "$0")/../.." && pwd)

python3 -c 'import ensurepip, venv' 2>/dev/null || skip "python3 cannot make virtual environments (Debian: python3-venv)"
export DDPRUN_EXECUTABLE=$DDPRUN PIP_DISABLE_PIP_VERSION_CHECK=1
unset PYTHONPATH VIRTUAL_ENV PIP_FIND_LINKS

# install ARGUMENTS...: by pip, without an index.
python3 -m venv "$scratch/venv"
install() {
  "$scratch/venv/bin/pip" install -q --no-index --no-compile --force-reinstall "$@" >"$scratch/out" 2>"$scratch/err" ||
    fail "pip install $*"
}
inside() { (cd "$scratch" && PATH=$scratch/venv/bin:$PATH "$@"); }
# It is what was built, and the module beside it starts jobs by it.
works() {
  [ "$(inside ddprun --version)" = "$("$DDPRUN" --version)" ] || fail "$1: another ddprun is installed"
  [ "$(inside ddprun-torchrun --version)" = "$("$DDPRUN" --version)" ] || fail "$1: ddprun-torchrun finds another one"
  inside python -c 'import ddprun; print(ddprun.launch(len, "abc", nproc_per_node=2))' >"$scratch/out" ||
    fail "$1: launch() fails"
  [ "$(cat "$scratch/out")" = "[3, 3]" ] || fail "$1: launch() gives no [3, 3]"
}
where() { inside python -c 'import ddprun, os; print(os.path.dirname(ddprun.__file__))'; }

install "$project"
works "a clone"
[[ $(where) == $scratch/venv/* ]] || fail "a clone: the module is not in the environment, but in $(where)"
inside pip uninstall -q -y ddprun
[ -z "$(find "$scratch/venv" -iname '*ddprun*')" ] || fail "left behind: $(find "$scratch/venv" -iname '*ddprun*')"

install --editable "$project"
works "an editable clone"
[ "$(where)" = "$project/worker_sdk/python/ddprun" ] || fail "an editable clone: the module is in $(where)"

# The sdist has all that a wheel is made of: that of the unpacked one has the same bytes.
call() { # FOLDER HOOK
  (cd "$1/packaging" && python3 -B -c "import build_backend; print(build_backend.$2('$scratch/$2'))") | tail -n 1
}
mkdir "$scratch/build_sdist" "$scratch/build_wheel" "$scratch/unpacked"
sdist=$scratch/build_sdist/$(call "$project" build_sdist)
wheel=$scratch/build_wheel/$(call "$project" build_wheel)
mv "$wheel" "$scratch/"
tar -xf "$sdist" -C "$scratch/unpacked" --strip-components=1
if [ -e "$project/.git" ]; then
  # git is not asked there: its answer would be that of a repository above.
  cmake -DSOURCE="$scratch/unpacked" -DFILE="$scratch/commit.cpp" -P "$project/cmake/WriteCommit.cmake"
  grep -q "\"$(git -C "$project" describe --always --dirty --abbrev=12 --exclude='*')\"" "$scratch/commit.cpp" ||
    fail "the sdist does not know its commit"
fi
call "$scratch/unpacked" build_wheel >"$scratch/out"
cmp "$wheel" "$scratch/${wheel##*/}" || fail "the wheel of the sdist is another one"

# Where the wheel finds no room, the folder is named, and no half of it stays.
! (ulimit -f 1000 && call "$project" build_wheel) >"$scratch/out" 2>"$scratch/err" ||
  fail "there is a wheel of more bytes than a file may have"
says err "ddprun: $scratch/build_wheel takes no more: File too large"
[ ! -e "$wheel" ] || fail "half a wheel is left"

# Where the system lacks headers and the parts cannot be had, it says what to install and what is missing of them.
if [ -n "$(command -v apt-get)" ]; then
  mkdir "$scratch/fake" "$scratch/parts"
  printf '#!/bin/sh\nexit 1\n' >"$scratch/fake/dpkg-query"
  chmod +x "$scratch/fake/dpkg-query"
  ! env -u DDPRUN_EXECUTABLE PATH="$scratch/fake:$PATH" DDPRUN_PARTS="$scratch/parts" DDPRUN_CACHE="$scratch/cache" \
    "$scratch/venv/bin/pip" install --no-index --no-build-isolation "$project" >"$scratch/out" 2>"$scratch/err" ||
    fail "it installs where nothing is there to compile with"
  cat "$scratch/out" >>"$scratch/err"
  grep -q "packages are missing.* apt-get install g++ " "$scratch/err" || fail "it does not name the packages"
  grep -q "DDPRUN_PARTS=$scratch/parts has no libboost" "$scratch/err" || fail "it does not name the part"
fi
echo passed
