#!/usr/bin/env bash
# A program of the SDK runs under plain mpirun, without ddprun: it takes rank and sizes from Open MPI,
# and the place to meet from -x.
. "$(dirname "$0")/lib.sh"

[ -n "$(command -v mpirun)" ] || skip "there is no mpirun (Debian: openmpi-bin)"
mpirun --version | grep -q 'Open MPI' || skip "mpirun is not Open MPI's"
programs=$(dirname "$DDPRUN")
[ -x "$programs/step6_elastic" ] || skip "built without the worker SDK: there are no examples"

unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT
export OMP_NUM_THREADS=1
port=$(own_port)
under_mpirun() { # WORKERS WORD...
  timeout 120 mpirun --allow-run-as-root --oversubscribe -n "$1" "${@:2}" \
    >"$scratch/out" 2>"$scratch/err" </dev/null
}
last_epoch() { grep '^epoch' "$scratch/out" | tail -n 1; }

under_mpirun 1 -x MASTER_ADDR=127.0.0.1 -x "MASTER_PORT=$port" "$programs/step6_elastic" \
  "$scratch/one" || fail "step6_elastic under mpirun -n 1"
alone=$(last_epoch)
[[ "$alone" == "epoch 4 loss 0."* ]] || fail "it ends with '$alone'"
under_mpirun 2 -x MASTER_ADDR=127.0.0.1 -x "MASTER_PORT=$port" "$programs/step6_elastic" \
  "$scratch/two" || fail "step6_elastic under mpirun -n 2"
# The order of a sum may change the last digit.
[ "$(grep -c '^epoch' "$scratch/out")" = 4 ] || fail "not one rank reported four epochs"
awk -v a="${alone##* }" -v b="$(last_epoch | sed 's/.* //')" \
  'BEGIN { exit !(a - b < 2e-5 && b - a < 2e-5) }' || fail "two ranks end with '$(last_epoch)'"
grep -q '"world_size": *2' "$scratch"/two/checkpoint-*4/manifest.json || fail "the two did not meet"

if under_mpirun 2 "$programs/step6_elastic" "$scratch/none"; then fail "it needs no place to meet"; fi
says err "MASTER_ADDR is not set"
says err "mpirun -x MASTER_ADDR=HOST -x MASTER_PORT=PORT"
