#!/usr/bin/env bash
# The node that coordinates the job is killed, and then the one that has followed it. The others go on
# with new workers, it does not count as a restart, and no other service helps. When the first one is there again, it
# joins the others, and begins no job of its own.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 5
start_one() {
  start_on "$1" "$1" --nnodes 2:5 --max-restarts 0 --rdzv-backend c10d \
    --rdzv-endpoint h1:29400 --rdzv-id job --status-addr 0.0.0.0:8080 --no-python sh "$worker"
}
for host in h1 h2 h3 h4 h5; do start_one "$host"; done
wait_for_world h1 h2 h3 h4 h5
kill -KILL "${agents[h1]}"
node h1 ends 137
wait_for_world h2 h3 h4 h5
nothing_on h1
node h2 wait_for_message "the status page is at http://h2:8080/"
page_tells() { grep -q "job job: running" < <(on h5 "$DDPRUN" status http://h2:8080/); }
until_true 60 "the page to go along" page_tells
ls_tells() { # of this test's jobs: others may run on the machine
  on h5 "$DDPRUN" ls --json | python3 -c '
import json, sys
jobs = [job for job in json.load(sys.stdin)["jobs"] if str(job["pid"]) in sys.argv[1:]]
assert [job["host"] for job in jobs if job["coordinator_here"]] == ["h2"], jobs
assert {job["coordinator"] for job in jobs} == {"10.77.0.2:29400"}, jobs
assert {job["host"]: job["status_url"] for job in jobs if job.get("status_url")} == {"h2": "http://h2:8080/"}, jobs' \
    "${agents[@]}" 2>"$scratch/why"
}
until_true 60 "the list to name the coordinator and the page that there are now" ls_tells

kill -KILL "${agents[h2]}"
node h2 ends 137
wait_for_world h3 h4 h5
nothing_on h2
start_one h1
wait_for_world h1 h3 h4 h5
let_go
node h1 ends 0
for host in h3 h4 h5; do
  node "$host" ends 0
  node "$host" says err "lost the coordinator"
  node "$host" says err "the coordinator is at 10.77.0.2:29400 now"
  node "$host" says err "the coordinator is at 10.77.0.3:29400 now"
  node "$host" says_not err "restart 1 of"
done
