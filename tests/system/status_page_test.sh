#!/usr/bin/env bash
# A running job is found, shown, followed and stopped by commands, and shows itself over HTTP. A real browser
# sees its ranks, the restart after a killed worker, and how it ends.
. "$(dirname "$0")/lib.sh"
here=$(dirname "$0")

cat >"$scratch/worker.sh" <<'SH'
echo "rank $RANK says its first words"
[ "$RANK" != 1 ] || echo "rank 1 complains" >&2
echo ready >"$ready"
exec sleep infinity
SH

exec 7<>"$ready"
mark_processes
start --nproc-per-node 3 --max-restarts 2 --rdzv-id job-7 --status-addr 0 --no-python sh "$scratch/worker.sh"
wait_ready 3
url=$(sed -n 's/.*the status page is at //p' "$scratch/err")
[ -n "$url" ] || fail "the address of the page is not said"
url=${url%/}

# --- Commands ---
# Other jobs of this user may run meanwhile, and are in /tmp.
ask() { # WHAT ARGUMENTS...: a second ddprun, whose words are in $scratch/answer
  "$DDPRUN" "$@" >"$scratch/answer" 2>&1 || fail "ddprun $* has failed: $(cat "$scratch/answer")"
}
answers() { grep -qE -- "$1" "$scratch/answer" || fail "no '$1' in the answer: $(cat "$scratch/answer")"; }
ask ls
answers '^ +job-7 +running .* 1/1 .* sh$'
ask ls --json
answers '"run_id":"job-7"'
ask status job-7
answers 'job job-7: running, round 1, attempt 0, 2 restarts left'
ask status job- --json
answers '"schema":"ddprun.status/1"'
ask status "$url"
answers 'job job-7: running'
ask logs job-7 1
answers 'rank 1 says its first words'
answers 'rank 1 complains'
if "$DDPRUN" status nobody >"$scratch/answer" 2>&1; then fail "a job that is not there was found"; fi
answers "no running job begins with 'nobody'; running: .*'job-7' \(process $pid\)"
if "$DDPRUN" logs job-7 9 >"$scratch/answer" 2>&1; then fail "a rank that is not there has a log"; fi
answers 'no worker of this node has rank 9'
# What goes on writing ends with its reader, also where there is nothing to write.
for endless in "top job-7" "top job-7 --interval 3600" "logs job-7 1 -f"; do
  # shellcheck disable=SC2086
  timeout 60 "$DDPRUN" $endless 2>&1 | head -n 1 >"$scratch/answer" ||
    fail "ddprun $endless does not end well when its reader has gone"
  answers 'job job-7: running|rank 1 '
done
[ "$(stat -c %a "$TMPDIR/ddprun-$(id -u)")" = 700 ] || fail "the folder of jobs is not private"

# --- HTTP ---
get() { curl -sS --max-time 20 "$@" >"$scratch/answer" || fail "curl $*"; }
if [ -n "$(command -v curl)" ]; then
  get "$url/healthz"
  answers '^ok$'
  get "$url/status.json"
  answers '"state":"running"'
  get "$url/log?rank=2&stream=out"
  answers 'rank 2 says its first words'
  get -i -H 'Host: evil.example.com' "$url/status.json"
  answers '^HTTP/1.1 421'
  get "$url/metrics"
  answers '^# EOF$'
  if [ -n "$(command -v promtool)" ]; then
    promtool check metrics <"$scratch/answer" >"$scratch/checked" 2>&1 || fail "promtool: $(cat "$scratch/checked")"
  fi
fi

# --- A browser ---
python3 "$here/status_page.py" "$url" "$(worker_pid 1)" || {
  [ $? = 77 ] || fail "the page is not as it should be"
  kill -KILL "$(worker_pid 1)"
}
wait_ready 3

# --- The end ---
! "$DDPRUN" stop >"$scratch/answer" 2>&1 || fail "a job is stopped that nobody has named"
answers "no job is named, so none is stopped"
grep -q "job-7" "$scratch/answer" || fail "stop does not list the jobs: $(cat "$scratch/answer")"
printf 'no such job\n' | script -qec "'$DDPRUN' stop" /dev/null >"$scratch/answer" || :
answers "no running job begins with 'no such job'"
ask stop job-7
answers "stopping job job-7 \(process $pid\)"
ends 130
no_process_left "after ddprun stop"
ask ls
if grep -q job-7 "$scratch/answer"; then fail "a job that has ended is listed"; fi
# Jobs of other tests may be there, in any state: then there is a table.
grep -q ' SCRIPT' "$scratch/answer" || answers 'no job of this user runs on this machine'
nothing_left
