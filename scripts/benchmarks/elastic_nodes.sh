#!/usr/bin/env bash
# elastic_nodes.sh DDPRUN PROGRAM NODES HOSTS HOW: runs an elastic loop on hosts, of which h1 coordinates. Once all have
# made a step, HOSTS (such as h2,h3) are `killed`, `frozen`, or `cut` off from the others and `back` again; or they are
# started now, so that they have `joined`. It prints when, and what the workers have printed.
program=$2
count=$3
changing=${4//,/ }
how=$5
. "$(dirname "$0")/../../tests/system/lib.sh"
. "$(dirname "$0")/../../tests/system/hosts.sh"

start() {
  start_on "$1" "$1" --nnodes "2:$count" --rdzv-backend c10d --rdzv-endpoint h1:29400 --rdzv-id job "$program" 0 wait
}
# mark WORD [SIGNAL PROCESS...]: prints when, and then sends the signal.
mark() {
  python3 -c 'import os, signal, sys, time
print(f"{sys.argv[1]} {time.clock_gettime(time.CLOCK_MONOTONIC):.6f}", flush=True)
for process in sys.argv[3:]:
    os.kill(int(process), getattr(signal, sys.argv[2]))' "$@"
}
# await_world WORKERS HOST...: until each has made the first step of such a world, which none has made before.
await_world() {
  local host
  for host in "${@:2}"; do node "$host" wait_for_line "^step 0 $1 "; done
}
has_made_two() { [ "$(grep -c "^step 0 $count " "$nodes/$1/out")" -ge 2 ]; } # HOST

need_hosts "$count"
others=()
for ((i = 1; i <= count; i++)); do
  [[ " $changing " = *" h$i "* ]] || others+=("h$i")
done
before=$count after=${#others[@]}
[ "$how" != joined ] || before=${#others[@]} after=$count
for host in "${others[@]}"; do start "$host"; done
[ "$how" = joined ] || for host in $changing; do start "$host"; done
await_world "$before" "${others[@]}"
sleep 2 # of training
case $how in
  killed)
    # shellcheck disable=SC2046
    mark "$how" SIGKILL $(for host in $changing; do echo "${agents[$host]}"; done)
    ;;
  frozen)
    # shellcheck disable=SC2046
    mark "$how" SIGSTOP $(for host in $changing; do processes_on "$host"; done)
    ;;
  cut)
    mark "$how"
    for host in $changing; do cut_off "$host"; done
    ;;
  joined)
    mark "$how"
    for host in $changing; do start "$host"; done
    ;;
esac
await_world "$after" "${others[@]}"
if [ "$how" = cut ]; then
  sleep 2
  mark back
  for host in $changing; do heal "$host"; done
  for host in "${others[@]}"; do until_true 60 "a world of all again on $host" has_made_two "$host"; done
fi
cat "$nodes"/*/out
