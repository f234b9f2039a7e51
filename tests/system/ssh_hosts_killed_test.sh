#!/usr/bin/env bash
# When hosts are lost, the job goes on where --nnodes allows for it, and nothing is left anywhere.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"
. "$(dirname "$0")/ssh_hosts.sh"

need_ssh_hosts 4
elastic() { # NAME MIN ARGUMENTS...
  start_hosts "$1" --hosts h1,h2,h3,h4 --nnodes "$2:4" "${@:3}" --no-python sh "$worker"
}

# One loses its agent, one its connection, and one is switched off.
elastic job 1
wait_for_world h1 h2 h3 h4
kill -KILL "$(agent_on h2)"
wait_for_world h1 h3 h4
node job wait_for_message "h2 is lost: its agent was killed, or the connection to it has ended"
for process in $(processes_on h3); do
  [[ $(command_of "$process") != sshd*": root@notty"* ]] || kill -KILL "$process"
done
wait_for_world h1 h4
node job wait_for_message "h3 is lost"
nothing_of_the_job_on h2 h3
cut_off h4
wait_for_world h1
let_go
node job ends 0
heal h4
nothing_of_the_job_on h1 h2 h3 h4
nothing_on me

# All hosts are needed by default.
start_hosts all --hosts h1,h2,h4 --no-python sh "$worker"
wait_for_world h1 h2 h4
kill -KILL "$(agent_on h2)"
node all ends 75
node all says err "h2 is lost"
node all says err "2 of 3 hosts are left, and the job needs 3"
nothing_of_the_job_on h1 h2 h4

# The host of the coordinator may be lost as well, and the next one too.
elastic first 2
wait_for_world h1 h2 h3 h4
kill -KILL "$(agent_on h1)"
wait_for_world h2 h3 h4
node first wait_for_message "h1 is lost: its agent was killed"
kill -KILL "$(agent_on h2)"
wait_for_world h3 h4
node first wait_for_message "h2 is lost: its agent was killed"
let_go
node first ends 0
nothing_of_the_job_on h1 h2 h3 h4

# Two hosts have no majority without the coordinator's.
start_hosts two --hosts h1,h2 --nnodes 1:2 --no-python sh "$worker"
wait_for_world h1 h2
kill -KILL "$(agent_on h1)"
node two ends 69
node two says err "h1 hosted the coordinator: without it the job cannot go on"
nothing_of_the_job_on h1 h2

# Without the launcher nobody wants the job.
elastic orphan 1
wait_for_world h1 h2 h3 h4
kill -KILL "${agents[orphan]}"
node orphan ends 137
nothing_of_the_job_on h1 h2 h3 h4
nothing_on me
