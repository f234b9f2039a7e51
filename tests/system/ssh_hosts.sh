# shellcheck shell=bash
# Hosts that ssh leads to: a test sources this file after hosts.sh.
#
# Every host has an sshd of its own, with its own key and configuration in the test's scratch folder;
# `me` is a further host, where the user's ddprun runs.

ssh_config=${scratch:?}/ssh_config

# need_ssh_hosts N: h1 to hN with an sshd each, and `me`.
need_ssh_hosts() {
  local i
  for i in sshd ssh ssh-keygen; do
    [ -n "$(command -v "$i")" ] || skip "there is no $i (Debian: openssh-server, openssh-client)"
  done
  need_hosts "$1"
  join_me
  make_key user
  cp "$scratch/user.pub" "$scratch/authorized_keys"
  cat >"$ssh_config" <<EOF
Host *
  User root
  IdentityFile $scratch/user
  IdentitiesOnly yes
  UserKnownHostsFile $scratch/known_hosts
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
EOF
  for ((i = 1; i <= $1; i++)); do
    make_key "h$i"
    echo "h$i $(cut -d' ' -f1,2 "$scratch/h$i.pub")" >>"$scratch/known_hosts"
    start_sshd "h$i"
  done
}

# The bridge's other hosts are numbered from 1 on.
join_me() {
  echo "10.77.0.250 me" >>"$scratch/etc_hosts"
  join_bridge me 250 ""
}

make_key() { ssh-keygen -q -t ed25519 -N '' -C "$1" -f "$scratch/$1" </dev/null; }

start_sshd() { # HOST
  local i
  cat >"$scratch/$1.sshd_config" <<EOF
ListenAddress 0.0.0.0
HostKey $scratch/$1
AuthorizedKeysFile $scratch/authorized_keys
PidFile none
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
StrictModes no
PermitRootLogin prohibit-password
PrintMotd no
EOF
  # sshd wants an empty directory of a fixed name; this one is of the host's namespace alone.
  on "$1" mount -t tmpfs none /run
  on "$1" mkdir -m 755 /run/sshd
  exec_on "$1" setpriv --pdeathsig KILL "$(command -v sshd)" -D -f "$scratch/$1.sshd_config" \
    -E "$scratch/$1.sshd_log" </dev/null >/dev/null 2>&1 &
  disown $!
  until_true 60 "sshd on $1" \
    grep -q "Server listening" "$scratch/$1.sshd_log"
}

# start_hosts NAME ARGUMENTS...: runs ddprun on `me`, with this test's ssh.
start_hosts() { start_on me "$1" --ssh-cmd "ssh -F $ssh_config" -x TMPDIR -x ready "${@:2}"; }

command_of() { # PID: its command line; nothing of one that is gone
  { tr '\0' ' ' <"/proc/$1/cmdline"; } 2>/dev/null || true
}

agent_on() { # HOST: the process id of its agent
  local process
  for process in $(processes_on "$1"); do
    if [[ $(command_of "$process") == "$DDPRUN agent " ]] &&
      ! grep -q guardian "/proc/$process/comm"; then
      echo "$process"
      return
    fi
  done
  fail "no agent on $1"
}

# nothing_of_the_job_on HOST...: waits until only its sshd is left there.
nothing_of_the_job_on() {
  local host process
  for host; do
    for process in $(processes_on "$host"); do
      [[ $(command_of "$process") == "sshd: "*"[listener]"* ]] || gone "$process"
    done
  done
}
