#!/usr/bin/env bash
# In a batch script of PBS or LSF ddprun starts itself on the job's hosts over ssh.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"
. "$(dirname "$0")/ssh_hosts.sh"

need_ssh_hosts 2
printf 'h2\nh2\nh1\nh1\n' >"$scratch/nodefile" # as PBS and LSF write it: a line for each place

export PBS_JOBID=42.server PBS_NODEFILE=$scratch/nodefile PBS_ENVIRONMENT=PBS_BATCH PBS_TASKNUM=1 PBS_NODENUM=0
start_hosts pbs --no-python sh "$worker"
wait_for_world h1 h2
[ "${worker_hosts[*]}" = "h2 h1" ] || fail "ranks are on ${worker_hosts[*]}"
let_go
node pbs ends 0
node pbs says err "PBS job 42.server: starting on 2 nodes over ssh"

code=3 start_hosts fails -x code --no-python sh -c 'exit "$code"'
node fails ends 3
unset "${!PBS_@}"

export LSB_JOBID=7 LSB_MCPU_HOSTS='h1 2 h2 2'
start_hosts lsf --nproc-per-node 2 --no-python sh "$worker"
wait_for_world h1 h1 h2 h2
let_go
node lsf ends 0
node lsf says err "LSF job 7: starting on 2 nodes over ssh"
nothing_of_the_job_on h1 h2
nothing_on me
