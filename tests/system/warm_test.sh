#!/usr/bin/env bash
# A worker that was forked from the fork server (--warm) sees and does what one does that Python started.
. "$(dirname "$0")/lib.sh"

[ -n "$(command -v python3)" ] || skip "there is no python3"
python3 -c 'import ctypes, sys; sys.exit(sys.version_info < (3, 9))' || skip "python3 is too old"
DDPRUN=$(realpath "$DDPRUN")
unset PYTHON_EXEC VIRTUAL_ENV
programs=$(cd "$(dirname "$0")/programs" && pwd)

# The library notes each import, by the name of the importing process.
mkdir "$scratch/lib"
cat >"$scratch/lib/library.py" <<'PY'
import os
with open(os.environ["IMPORTS"], "a") as imports:
    imports.write(open("/proc/self/comm").read())
PY
export PYTHONPATH=$scratch/lib PYTHONDONTWRITEBYTECODE=1 IMPORTS=$scratch/imports

# compare CODE ARGUMENTS...: the same with and without --warm, up to the order of workers.
compare() {
  local code=$1 stream
  shift
  : >"$IMPORTS"
  run "$code" --nproc-per-node "$workers" "$@"
  for stream in out err; do neutral <"$scratch/$stream" >"$scratch/cold_$stream"; done
  : >"$IMPORTS"
  run "$code" --warm --nproc-per-node "$workers" "$@"
  for stream in out err; do
    neutral <"$scratch/$stream" >"$scratch/warm_$stream"
    diff "$scratch/cold_$stream" "$scratch/warm_$stream" >"$scratch/diff" ||
      fail "std$stream differs with --warm ($*): $(cat "$scratch/diff")"
  done
  [ -s "$scratch/warm_out" ] || fail "there is nothing to compare"
}
neutral() { # faulthandler shows the fork server's own frames below those of the program
  # Since 3.14 Python adds the C functions of a crash, some of which are the fork server's.
  sed -E '/^  Binary file "/d; /File "<(ddprun nursery|string)>"/d; s/(hread 0x)[0-9a-f]+/\1/; s/(pid:?|PID) [0-9]+/\1/; s/[0-9]{4}-.*_[0-9:]+$/now/; s/dpr-nursery/python3/; s/(=|-){40,}/-/' | sort
}
imported() {
  [ "$(sort "$IMPORTS" | uniq -c | xargs)" = "$1" ] || fail "imports were: $(cat "$IMPORTS")"
}

workers=2
cd "$programs"
compare 0 probe.py a "b c" ""
imported "1 dpr-nursery"
compare 0 ./probe.py thread
cp probe.py "$scratch/--probe.py"
compare 0 "$scratch/--probe.py" "$(printf 'Z\303\251 \377')"
compare 0 -m probe --flag
imported "1 dpr-nursery"
ln -s "$programs/probe.py" "$scratch/linked.py"
compare 0 "$scratch/linked.py"

# A folder with __main__.py, and a package whose own modules import the library.
mkdir -p "$scratch/app/parts"
cp probe.py "$scratch/app/__main__.py"
cp probe.py "$scratch/app/parts/deep.py"
echo 'from . import deep' >"$scratch/app/parts/__init__.py"
echo 'import parts.deep; print(parts.deep.library.__file__)' >"$scratch/app/start.py"
compare 0 "$scratch/app"
cd "$scratch/app"
compare 0 -m parts.deep
imported "1 dpr-nursery"
compare 0 start.py
imported "1 dpr-nursery"
cd "$programs"

# A single worker ends in every way there is. (With several, the others would be stopped meanwhile.)
workers=1
compare 1 probe.py raise
says out "atexit: ran"
says_not err "fork server"
compare 1 probe.py exit
says err "a last word"
compare 130 probe.py interrupt
compare 1 probe.py hook
says out "main"
compare 139 probe.py kill
echo 'print("never"' >"$scratch/wrong.py"
run 1 "$scratch/wrong.py"
neutral <"$scratch/err" >"$scratch/cold_err"
run 1 --warm "$scratch/wrong.py"
diff "$scratch/cold_err" <(neutral <"$scratch/err") || fail "a syntax error is shown in another way"

workers=2

# A worker can have streams of its own: files, and a terminal.
compare 0 --log-dir "$scratch/logs" --tee 3 probe.py
compare 0 --pty probe.py
nothing_left

# Every attempt is forked from the same imports; what a process draws at random is its own.
cat >"$scratch/random_numbers.py" <<'PY'
import library, os, random, sys
sys.stdout.write(f"{os.environ['RANK']} {os.environ['TORCHELASTIC_RESTART_COUNT']} {random.random()}\n")
sys.exit(os.environ["RANK"] == "1" and 9)
PY
: >"$IMPORTS"
run 9 --warm --nproc-per-node 3 --max-restarts 5 "$scratch/random_numbers.py"
imported "1 dpr-nursery"
[ "$(cut -d' ' -f3 "$scratch/out" | sort | uniq -d)" = "" ] || fail "random numbers come twice"

# The modules may be named.
: >"$IMPORTS"
run 0 --warm=json,library --nproc-per-node 2 probe.py
imported "1 dpr-nursery"

# Options that make no sense together are refused.
run 2 --warm --no-python true
says err "--warm and --no-python exclude each other"
run 2 --warm --virtual-local-rank probe.py
says err "--warm and --virtual-local-rank exclude each other"
run 2 --warm=a,,b/c probe.py
says err "--warm 'a,,b/c': expected names of Python modules"
