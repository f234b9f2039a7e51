#!/usr/bin/env bash
# Much output of many workers through --tee 3: every byte is in the files and on the terminal, and
# ddprun needs little memory for it. MEGABYTES (default 4) is what each of 64 workers writes to each
# stream.
. "$(dirname "$0")/lib.sh"

megabytes=${MEGABYTES:-4}
workers=64
logs=$scratch/logs
# Lines of 64 bytes that say whose they are; 16384 of them are one megabyte.
cat >"$scratch/worker.sh" <<'SH'
block=$(yes "rank $(printf %02d "$RANK") $1 says 0123456789012345678901234567890123456789012345678" | head -n 1024 | cut -c 1-63; echo x)
block=${block%x}
i=0
while [ $i -lt $((megabytes * 16)) ]; do printf %s "$block"; i=$((i + 1)); done
SH
export megabytes scratch

# The lines of each rank on the terminal are counted as they come, so that none has to be kept.
count() { awk '{ n[substr($0, 1, index($0, ":") - 1) " " length($0)]++ } END { for (k in n) print k, n[k] }' | sort -V; }
mkfifo "$scratch/out_pipe" "$scratch/err_pipe"
count <"$scratch/out_pipe" >"$scratch/out_counts" &
counts=$!
count <"$scratch/err_pipe" >"$scratch/err_counts" &
counts+=" $!"
"$DDPRUN" --nproc-per-node $workers --log-dir "$logs" -t 3 --no-python sh -c '
  sh "$scratch/worker.sh" err >&2 & sh "$scratch/worker.sh" out; wait
  [ "$RANK" != 0 ] || grep VmHWM "/proc/$PPID/status" >"$scratch/memory"' \
  >"$scratch/out_pipe" 2>"$scratch/err_pipe" || fail "exit code $?"
# shellcheck disable=SC2086 # they are two
wait $counts

lines=$((megabytes * 16384))
for ((rank = 0; rank < workers; rank++)); do
  prefix="[default$rank]"
  length=$((63 + ${#prefix} + 1))
  echo "$prefix $length $lines"
done >"$scratch/expected"
for stream in out err; do
  diff "$scratch/expected" "$scratch/${stream}_counts" >"$scratch/diff" || fail "std$stream: $(head -n 3 "$scratch/diff")"
  for ((rank = 0; rank < workers; rank++)); do
    file=$(echo "$logs"/*/attempt_0/$rank/std$stream.log)
    [ "$(stat -c %s "$file")" = $((megabytes * 1048576)) ] || fail "$file has $(stat -c %s "$file") bytes"
    [ "$(sort -u "$file" | wc -l)" = 1 ] || fail "$file holds lines of others"
  done
done
memory=$(tr -dc 0-9 <"$scratch/memory")
echo "peak memory: $((memory / 1024)) MB"
! memory_counts || [ "$memory" -le $((50 * 1024)) ] || fail "ddprun took $memory kB"
