#!/usr/bin/env bash
# ddprun store says where it listens, serves torch's own client, and ends on a signal.
. "$(dirname "$0")/lib.sh"

start store --host 127.0.0.1 --port 0 --port-file "$scratch/port"
wait_for_line "listening on 127.0.0.1:"
port=$(<"$scratch/port")
[ "$(<"$scratch/out")" = "listening on 127.0.0.1:$port" ] || fail "said: $(<"$scratch/out")"

python=${DDPRUN_WORKERS_TORCH_ENV:-${DDPRUN_TORCH_ENV:-}}/bin/python
if [ -x "$python" ]; then
  "$python" - "$port" <<'PY' || fail "torch's client was not served"
import sys
from datetime import timedelta
import torch.distributed as dist

patience = timedelta(seconds=60)
one, two = (dist.TCPStore("127.0.0.1", int(sys.argv[1]), None, False, patience) for _ in range(2))
one.set("key", "value")
assert two.get("key") == b"value"
assert two.add("count", 2) == 2 and one.add("count", 3) == 5
PY
fi

"$DDPRUN" store --host 127.0.0.1 --port "$port" >"$scratch/second" 2>&1 && fail "took a port twice"
grep -q "cannot listen on 127.0.0.1 port $port" "$scratch/second" || fail "$(<"$scratch/second")"
kill -TERM "$pid"
ends 0
[ ! -e "$scratch/port" ] || fail "the port file is still there"

run 0 store --help
says out "Usage: ddprun store"
run 2 store --port 65536
says err "--port '65536'"
