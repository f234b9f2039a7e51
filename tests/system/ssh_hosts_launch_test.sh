#!/usr/bin/env bash
# ddprun.launch() calls a function on hosts over ssh: results, an exception, an interrupt. Nothing is left.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"
. "$(dirname "$0")/ssh_hosts.sh"

need_ssh_hosts 2
module=$(realpath "$(dirname "$0")/../../worker_sdk/python")
PATH=$(dirname "$DDPRUN"):$PATH
export PYTHONPATH=$module:$scratch PYTHONDONTWRITEBYTECODE=1

cat >"$scratch/work.py" <<'PY'
import os, socket, time

def place(number):
    return os.environ["RANK"], socket.gethostname(), number, os.environ.get("MINE")

def fails():
    if os.environ["RANK"] == "1":
        raise KeyError("no such shard")
    time.sleep(600)

def stays(ready):
    with open(ready, "w") as pipe:
        pipe.write("runs\n")
    time.sleep(600)
PY
cat >"$scratch/starts.py" <<PY
import ddprun, sys, work

hosts = {"hosts": "h1,h2", "ssh_cmd": "ssh -F $ssh_config", "remote_dir": "$scratch", "env": {"MINE": "my word"}}
if sys.argv[1] == "place":
    print(ddprun.launch(work.place, 7, **hosts))
elif sys.argv[1] == "fails":
    try:
        ddprun.launch(work.fails, **hosts)
    except ddprun.LaunchError as error:
        cause = error.report["cause"]
        print(f"ranks {error.ranks}: {error.__cause__!r}, {cause['kind']} on {cause['node']}")
else:
    ddprun.launch(work.stays, "$ready", **hosts)
PY

# start_script WORD: the script on \`me\`.
start_script() {
  mkdir -p "$nodes/script"
  exec_on me python3 "$scratch/starts.py" "$1" >"$nodes/script/out" 2>"$nodes/script/err" </dev/null &
  agents[script]=$!
}

start_script place
node script ends 0
node script says out "[('0', 'h1', 7, 'my word'), ('1', 'h2', 7, 'my word')]"
nothing_of_the_job_on h1 h2
nothing_on me

start_script fails
node script ends 0
node script says out "ranks [1]: KeyError('no such shard'), exception on h2"
nothing_of_the_job_on h1 h2
nothing_on me

start_script stays
for _ in 1 2; do read -r -t 60 _ <&7 || fail "the workers do not run"; done
for host in me h1 h2; do
  for process in $(processes_on "$host"); do
    [[ ! $(command_of "$process") =~ [0-9a-f]{64} ]] || fail "a command line on $host shows the key"
  done
done
kill -INT "${agents[script]}"
node script ends 130
node script says err KeyboardInterrupt
nothing_of_the_job_on h1 h2
nothing_on me
