#!/usr/bin/env bash
# A job on hosts over ssh has the right environment, output and exit code, and leaves nothing.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"
. "$(dirname "$0")/ssh_hosts.sh"

need_ssh_hosts 3
export SECRET='s3cr"et  with blanks'
start_hosts job --hosts h1,h2:2,h3 -x SECRET -x PLAIN=1=2 --remote-dir "$scratch" --no-python sh -c '
  echo "rank $RANK of $WORLD_SIZE, local $LOCAL_RANK of $LOCAL_WORLD_SIZE, node $GROUP_RANK"
  echo "to err" >&2
  echo "$SECRET|$PLAIN|$MASTER_ADDR|$PWD"
  . "$0"' "$worker"
wait_for_world h1 h2 h2 h3

# Ranks follow the order of the hosts, and nothing secret is on any command line.
[ "${worker_hosts[*]}" = "h1 h2 h2 h3" ] || fail "ranks are on ${worker_hosts[*]}"
for host in me h1 h2 h3; do
  for process in $(processes_on "$host"); do
    [[ $(command_of "$process") != *s3cr* ]] || fail "a command line on $host shows a secret"
  done
done

# The hosts have a secret of their own, which no other process knows.
port=$(on h1 ss -Hltn 'src 10.77.0.1' | sed -E 's/.* 10\.77\.0\.1:([0-9]+) .*/\1/')
answer=$(on h2 timeout 60 bash -c 'exec 3<>"/dev/tcp/10.77.0.1/$0"; echo "{}" >&3; cat <&3' "$port")
[[ $answer == *"this job has a secret"* ]] || fail "a stranger at port $port was answered: $answer"
node job says_not err "there is no secret"
let_go
node job ends 0
node job says out "[h1] rank 0 of 4, local 0 of 1, node 0"
node job says out "[h2] rank 2 of 4, local 1 of 2, node 1"
node job says out "[h3] rank 3 of 4, local 0 of 1, node 2"
for host in h1 h2 h3; do
  node job says out "[$host] $SECRET|1=2|127.0.0.1|$scratch"
  node job says err "[$host] to err"
done
nothing_of_the_job_on h1 h2 h3
nothing_on me

# The exit code is the job's, and the failure is reported once.
start_hosts failed --hosts h1,h2 --report-file "$scratch/why.json" --remote-dir / --no-python sh -c '[ $RANK = 0 ] && exec sleep 100; echo "disk is full" >&2; exit 28'
node failed ends 28
node failed says err "[h1] ddprun: the job failed: rank 1 on h2 exited with code 28: disk is full"
[ "$(grep -c "Root Cause" "$nodes/failed/err")" = 1 ] || fail "the failure is reported more than once"
[ "$(grep -c "stopping all workers" "$nodes/failed/err")" = 1 ] || fail "all of them print the same"

# The report for programs comes to the host that started the job.
grep -qF '"sentence": "rank 1 on h2 exited with code 28: disk is full"' "$scratch/why.json" ||
  fail "the report says: $(cat "$scratch/why.json")"
grep -qF '"exit_code": 28' "$scratch/why.json" || fail "the report has another exit code"

# This is so even for 255, which is ssh's own code for failures.
start_hosts code --hosts h1,h2 --no-python sh -c 'exit 255'
node code ends 255

# A worker that fails is started again on all hosts.
start_hosts again --hosts h1,h2 --max-restarts 1 --no-python sh -c \
  'echo "attempt $TORCHELASTIC_RESTART_COUNT on $(uname -n)"; [ $TORCHELASTIC_RESTART_COUNT = 1 ] || [ $RANK = 0 ]'
node again ends 0
node again says out "[h1] attempt 1 on h1"
node again says out "[h2] attempt 1 on h2"

# A hostfile names the hosts, and what they write arrives byte for byte.
printf '# ours\nh1 slots=2\nh3:1\n' >"$scratch/hostfile"
start_hosts bytes --hostfile "$scratch/hostfile" --no-python sh -c \
  'i=0; while [ $i -lt 20000 ]; do echo "$RANK $i"; i=$((i + 1)); done; printf "\377\n"'
node bytes ends 0
seq 0 19999 >"$scratch/expected"
for rank in 0 1 2; do
  sed -nE "s/^\[h[13]\] $rank //p" "$nodes/bytes/out" | cmp - "$scratch/expected" || fail "lines of rank $rank"
done
[ "$(LC_ALL=C grep -cE $'^\\[h[13]\\] \xff$' "$nodes/bytes/out")" = 3 ] || fail "bytes are lost"
[ "$(wc -l <"$nodes/bytes/out")" = 60003 ] || fail "lines are torn"
nothing_of_the_job_on h1 h2 h3
nothing_left
