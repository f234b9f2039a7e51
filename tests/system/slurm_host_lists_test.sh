#!/usr/bin/env bash
# Lists of hosts are expanded as Slurm expands them.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"
. "$(dirname "$0")/slurm.sh"

expand=$(dirname "$DDPRUN")/ddprun_expand_hosts
need_slurm 1
# Newer versions than Debian 12's may have something behind the last bracket; ours takes it, too.
for list in h0 'h[0,2-3]' 'n[001-002,010]' 'ctl,h[0-1]' 'gpu-1-[01-02],gpu-2-01' \
  'n[001-003,7],gpu-a[1-2]' 'rack[1-2]n[08-11]' 'n[098-101]' 'x[0-3,5]y[01-02],z' 'n[9-11]'; do
  on ctl scontrol show hostnames "$list" >"$scratch/theirs" || fail "scontrol refuses $list"
  "$expand" "$list" >"$scratch/ours"
  diff "$scratch/theirs" "$scratch/ours" || fail "$list is expanded in another way"
done
