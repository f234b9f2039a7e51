#!/usr/bin/env bash
# A ddprun server is killed and started again. Its jobs go on with the same workers, unless it comes too
# late, or something else has happened meanwhile.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 4
start_server() { # NAME
  start_on h1 "$1" server --host h1 --port 29400
  node "$1" wait_for_line "listening on .*:29400"
}
kill_server() { # NAME
  kill -KILL "${agents[$1]}"
  node "$1" ends 137 # its port is free only once it has died
}
start_nodes() { # JOB HEARTBEAT OPTION...
  for host in h2 h3 h4; do
    start_on "$host" "$host" --nnodes 2:3 --max-restarts 0 --rdzv-backend c10d --rdzv-id "$1" \
      --rdzv-endpoint h1:29400 --rdzv-conf "heartbeat_timeout=$2" "${@:3}" --no-python sh "$worker"
  done
  wait_for_world h2 h3 h4
  old=("${worker_pids[@]}")
}
all_say() { # TIMES TEXT
  for host in h2 h3 h4; do
    until_true 60 "$host to say '$2'" has_said "$host" "$1" "$2"
  done
}
has_said() { [ "$(grep -cF -- "$3" "$nodes/$1/err")" = "$2" ]; } # NODE TIMES TEXT
back="the coordinator is there again: the workers go on"

ports() { on h1 ss -Htnl | awk '{ print $4 }' | sort; } # at which the server listens

# Nothing but that happens, three times, and nobody notices.
for store in leader local; do
  start_server "server_0_$store"
  start_nodes "same_$store" 20 --store "$store"
  before=$(ports)
  for i in 1 2 3; do
    kill_server "server_$((i - 1))_$store"
    all_say "$i" "lost the coordinator: the workers of this node run on"
    start_server "server_${i}_$store"
    all_say "$i" "$back"
  done
  are_alive "${old[@]}" || fail "a worker was stopped"
  [ "$(ports)" = "$before" ] || fail "the server listened at $before, and listens at $(ports) now"
  let_go
  for host in h2 h3 h4; do
    node "$host" ends 0
    node "$host" says_not err "stopping the workers"
  done
  kill_server "server_3_$store"
done

# All workers end while it is away.
start_server server_a
start_nodes ended 20
kill_server server_a
let_go
all_say 1 "lost the coordinator: the workers of this node run on"
start_server server_b
for host in h2 h3 h4; do node "$host" ends 0; done

# A worker fails while it is away. Its store was away, too, so that does not count as a restart.
start_nodes failed 20
kill_server server_b
kill -KILL "${old[1]}"
start_server server_c
wait_for_world h2 h3 h4
let_go
for host in h2 h3 h4; do node "$host" ends 0; done

# A node is killed while it is away. The others begin again when they know that it has no workers.
start_nodes killed 10
kill_server server_c
kill -KILL "${agents[h4]}"
node h4 ends 137
start_server server_d
wait_for_world h2 h3
node h2 says err "1 of 3 nodes have not come back after the server was started again"
let_go
for host in h2 h3; do node "$host" ends 0; done
nothing_on h4

# It comes too late: nobody's workers are alive when the next ones begin.
start_nodes late 4
kill_server server_d
for pid in "${old[@]}"; do gone "$pid"; done
start_server server_e
wait_for_world h2 h3 h4
let_go
for host in h2 h3 h4; do
  node "$host" ends 0
  node "$host" says err "stopping the workers of this node, then joining again"
done
kill -TERM "${agents[server_e]}"
gone "${agents[server_e]}"
