#!/usr/bin/env bash
# Workers find torchrun's environment, the script's arguments, and nothing else open than 0, 1, 2.
. "$(dirname "$0")/lib.sh"

run 0 --standalone --nproc-per-node 2 --max-restarts 3 --no-python sh -c \
  'echo "$RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $GROUP_RANK $ROLE_NAME $MASTER_ADDR \
$TORCHELASTIC_RESTART_COUNT/$TORCHELASTIC_MAX_RESTARTS $TORCHELASTIC_USE_AGENT_STORE $1"' \
  program 'argument of ${local_rank}'
for rank in 0 1; do
  says out "$rank/2 $rank/2 0 default 127.0.0.1 0/3 True argument of $rank"
done

cat >"$scratch/script.py" <<'PY'
import os, sys
print(sys.argv[1:], sys.flags.unbuffered if hasattr(sys.flags, "unbuffered") else "", __name__)
print("files", sorted(os.listdir("/proc/self/fd"))[:3], len(os.listdir("/proc/self/fd")) - 1)
print("leader", os.getpid() == os.getsid(0) == os.getpgid(0))
PY
exec 9</dev/null # a file that the user's shell has open
run 0 --no-introspection "$scratch/script.py" --flag -- x
says out "['--flag', '--', 'x']"
says out "files ['0', '1', '2'] 3"
says out "leader True"

# Signals are at their default, unless the user wants them ignored.
cat >"$scratch/signals.sh" <<'SH'
grep -E "^Sig(Blk|Ign)" /proc/self/status
SH
run 0 --no-python sh "$scratch/signals.sh"
says out "SigBlk:	0000000000000000"
says out "SigIgn:	0000000000000000"
(
  trap '' HUP
  run 0 --no-python sh "$scratch/signals.sh"
  says out "SigIgn:	0000000000000001"
)
nothing_left
