# shellcheck shell=bash disable=SC2154 # scratch and keepers are those of lib.sh and hosts.sh
# A real Slurm on the hosts of hosts.sh: slurmd on each, slurmctld and munged on one more, ctl, where
# users sit. A test sources this file after lib.sh and hosts.sh.
#
# Debian's programs look for their files in fixed directories. On a host these are covered by
# directories of the test's own, so that it needs no configuration outside and disturbs no other Slurm.
slurm=$scratch/slurm
export seconds_left=840 # ctest gives these tests 15 minutes: Slurm's clocks tick in seconds and minutes
unset SLURM_CONF

fail() {
  local file
  tail -n 15 "$slurm/log"/* || true
  for file in "$slurm"/out/*; do
    [ ! -s "$file" ] || { echo "--- output of job ${file##*/}" && tail -n 60 "$file"; }
  done
  echo "FAILED: $*"
  exit 1
}

# need_slurm N: nodes h1 to hN, each with 72 CPUs and 4 GPUs, which are made up.
need_slurm() {
  local i daemon host
  for daemon in slurmctld slurmd munged sbatch; do
    [ -n "$(command -v "$daemon")" ] ||
      skip "there is no $daemon (Debian: slurmctld slurmd slurm-client munge)"
  done
  case $(stat -f -c %T /sys/fs/cgroup) in
    cgroup2fs | tmpfs) ;; # tmpfs holds the controllers of version 1
    *) skip "no control groups are mounted at /sys/fs/cgroup, without which slurmd does not start" ;;
  esac
  need_hosts "$1"
  echo "10.77.0.200 ctl" >>"$scratch/etc_hosts"
  join_bridge ctl 200 ''
  mkdir -p "$slurm"/{etc,log,state,munge,out}
  write_slurm_conf "$1"
  (umask 077 && head -c 128 /dev/urandom >"$slurm/munge/munge.key")
  cover ctl /etc/slurm etc /var/log/slurm log /var/lib/munge munge /var/lib/slurm/slurmctld state
  for ((i = 1; i <= $1; i++)); do
    mkdir -p "$slurm/spool/h$i"
    cover "h$i" /etc/slurm etc /var/log/slurm log /var/lib/munge munge /var/lib/slurm/slurmd "spool/h$i"
  done
  in_background munged ctl munged --foreground --socket=/var/lib/munge/munge.sock \
    --key-file=/var/lib/munge/munge.key --seed-file=/var/lib/munge/seed \
    --pid-file=/var/lib/munge/munged.pid --log-file=/var/lib/munge/munged.log
  until_true 120 munged on ctl munge -S /var/lib/munge/munge.sock -n -o /dev/null
  in_background slurmctld ctl slurmctld -D
  until_true 120 slurmctld on ctl scontrol ping
  for ((i = 1; i <= $1; i++)); do in_background "slurmd.h$i" "h$i" slurmd -D; done
  until_true 120 slurmd all_idle "$1"
}
all_idle() { [ "$(on ctl sinfo -h -N -t idle -o %N | sort -u | wc -l)" = "$1" ]; }

write_slurm_conf() { # N
  local i
  for i in 0 1 2 3; do ln -s /dev/null "$slurm/etc/gpu$i"; done
  echo 'Name=gpu File=/etc/slurm/gpu[0-3]' >"$slurm/etc/gres.conf"
  : >"$slurm/etc/cgroup.conf"
  # Short times: tests of lost nodes should not take minutes. A requeued job waits for cred_expire.
  cat >"$slurm/etc/slurm.conf" <<CONF
ClusterName=test
SlurmctldHost=ctl
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=/var/lib/munge/munge.sock,cred_expire=5
StateSaveLocation=/var/lib/slurm/slurmctld
SlurmdSpoolDir=/var/lib/slurm/slurmd
SlurmctldPidFile=/var/lib/slurm/slurmctld/slurmctld.pid
SlurmdPidFile=/var/lib/slurm/slurmd/slurmd.pid
SlurmctldLogFile=/var/log/slurm/slurmctld.log
SlurmdLogFile=/var/log/slurm/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
GresTypes=gpu
MailProg=/bin/true
PropagateResourceLimits=NONE
ReturnToService=2
MinJobAge=86400
SlurmdTimeout=10
MessageTimeout=10
KillWait=15
SchedulerParameters=sched_interval=1,sched_min_interval=0,batch_sched_delay=0,bf_interval=1
NodeName=h[1-$1] CPUs=72 RealMemory=2000 Gres=gpu:4 State=UNKNOWN
PartitionName=gpu Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
}

cover() { # HOST DIRECTORY OURS ...
  local host=$1
  shift
  while [ $# -gt 0 ]; do
    [ -d "$1" ] || skip "there is no directory $1 (Debian: slurmctld slurmd munge)"
    on "$host" mount --bind "$slurm/$2" "$1"
    shift 2
  done
}

in_background() { # NAME HOST COMMAND...
  exec_on "${@:2}" </dev/null >"$slurm/log/$1.out" 2>&1 7>&- &
  disown $!
}

# --- Jobs.

job='' # the last one submitted

# submit WORD...: sbatch as on ctl; the output goes to $slurm/out/JOB, also that of a second run.
submit() {
  job=$(on ctl sbatch --parsable --chdir="$slurm" --open-mode=append --output="$slurm/out/%j" "$@") ||
    fail "sbatch $*"
  touch "$slurm/out/$job"
}
job_is() { # JOB STATE[|STATE...]
  on ctl scontrol show job "$1" | grep -qE " *JobState=($2) "
}
field() { on ctl scontrol show job "$1" | grep -oE "\b$2=[^ ]+" | head -n 1 | cut -d= -f2-; } # JOB NAME

job_ends() { # JOB STATE: it does, in that state
  until_true 120 "the end of job $1" job_is "$1" \
    "COMPLETED|FAILED|CANCELLED|TIMEOUT|NODE_FAIL|OUT_OF_MEMORY|PREEMPTED"
  job_is "$1" "$2" || job_failed "$1" "it is not $2 but $(field "$1" JobState), $(field "$1" ExitCode)"
}
job_says() { grep -qE -- "$2" "$slurm/out/$1" || job_failed "$1" "it does not say '$2'"; }
job_says_not() { ! grep -qE -- "$2" "$slurm/out/$1" || job_failed "$1" "it says '$2'"; }
wait_until_job_says() { until_true 120 "job $1 says '$2'" grep -qE -- "$2" "$slurm/out/$1"; }
job_failed() { fail "job $1: $2"; }

# no_process_of TEXT: none whose command line has it is left on any node.
no_process_of() {
  until_true 120 "the end of every $1" none_runs "$1"
}
none_runs() {
  local host process
  for host in "${!keepers[@]}"; do
    for process in $(processes_on "$host"); do
      ! tr '\0' ' ' <"/proc/$process/cmdline" 2>/dev/null | grep -qF -- "$1" || return 1
    done
  done
}
