#!/usr/bin/env bash
# A disk of logs that hangs on the coordinator's node costs no node its place: the node says which disk it is, and
# when it works again, nothing is missing there.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 2
disk=$scratch/disk
mkdir "$disk"
for tool in mkfs.ext4 fsfreeze; do
  [ -n "$(command -v $tool)" ] || skip "there is no $tool (Debian: e2fsprogs, util-linux)"
done
truncate -s 32M "$scratch/image"
mkfs.ext4 -q "$scratch/image"
on h1 mount -o loop "$scratch/image" "$disk" 2>"$scratch/why" ||
  skip "no file system can be mounted here: $(cat "$scratch/why")"
# A process that waits for the disk cannot be killed as long as the disk hangs.
leave_no_disk() {
  [ "$BASHPID" = $$ ] || return 0
  on h1 fsfreeze --unfreeze "$disk" 2>/dev/null || true
  on h1 umount --lazy "$disk"
  leave_no_host
}
trap leave_no_disk EXIT

cat >"$scratch/writer.sh" <<'SH'
while :; do echo "a line for the log"; sleep 0.02; done &
. "$worker"
SH
export worker
for host in h1 h2; do
  start_on "$host" "$host" --nnodes 1:2 --rdzv-backend c10d --rdzv-endpoint h1:29400 --rdzv-id job \
    --rdzv-conf keep_alive_interval=2,keep_alive_max_attempt=5,last_call_timeout=0 \
    --tee 1 --log-dir "$([ $host = h1 ] && echo "$disk" || echo "$scratch/logs")" \
    --no-python bash "$scratch/writer.sh"
done
wait_for_world h1 h2
on h1 fsfreeze --freeze "$disk"
node h1 wait_for_message "no answer for 20 s from '$disk"
on h1 fsfreeze --unfreeze "$disk"
node h1 wait_for_message "answers again; nothing is missing"
let_go
for host in h1 h2; do
  node "$host" ends 0
  node "$host" says_not err "lost"
done
