#!/usr/bin/env bash
# A host that cannot be reached is reported at once, in one sentence that says what to do.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"
. "$(dirname "$0")/ssh_hosts.sh"

need_ssh_hosts 2
echo "10.77.0.9 nobody" >>"$scratch/etc_hosts"

# refused NAME TEXT ARGUMENTS...: fails unless the job ends with TEXT; h1 is there, and the other is needed.
refused() {
  start_hosts "$1" "${@:3}" --no-python sh -c 'echo never'
  node "$1" ends 69
  node "$1" says err "$2"
  node "$1" says err "1 of 2 hosts is left, and the job needs 2"
  node "$1" says_not out never
  nothing_of_the_job_on h1 h2
  nothing_on me
}
refused unknown "no host is known by the name h9: is it spelled right?" --hosts h1,h9
refused silent "no ssh server listens on me" --hosts h1,me
refused port "no ssh server listens on h2" --hosts h1,h2 --ssh-cmd \
  "$(printf '#!/bin/sh\nfor w; do [ "$w" != h2 ] || exec ssh -F "%s" -p 23 "$@"; done\nexec ssh -F "%s" "$@"\n' \
    "$ssh_config" "$ssh_config" >"$scratch/ssh" && chmod +x "$scratch/ssh" && echo "$scratch/ssh")"
sed -i '/^h2 /d' "$scratch/known_hosts"
refused key_of_host "the host key of h2 is unknown here or has changed" --hosts h1,h2
echo "h2 $(cut -d' ' -f1,2 "$scratch/h2.pub")" >>"$scratch/known_hosts"
make_key stranger
cat >"$scratch/refused_config" <<EOF
Host h2
  IdentityFile $scratch/stranger
  IdentitiesOnly yes
  UserKnownHostsFile $scratch/known_hosts
EOF
cat "$ssh_config" >>"$scratch/refused_config"
sed -i '0,/Host \*/s//Host h1/' "$scratch/refused_config"
refused key "h2 refuses the key: 'ssh h2' has to work without a password" --hosts h1,h2 \
  --ssh-cmd "ssh -F $scratch/refused_config"

# There is no ddprun at that place, or another one.
start_hosts path --hosts h1 --remote-path /nowhere/ddprun --no-python true
node path ends 69
node path says err "ddprun is not at /nowhere/ddprun on h1: --remote-path says where it is"
touch "$scratch/not_a_program"
start_hosts denied --hosts h1 --remote-path "$scratch/not_a_program" --no-python true
node denied ends 69
node denied says err "$scratch/not_a_program on h1 cannot be executed there"
printf '#!/bin/sh\necho "{\\"type\\":\\"hello\\",\\"protocol\\":1,\\"version\\":\\"0.0.7\\"}"\nread -r _\n' \
  >"$scratch/older"
chmod +x "$scratch/older"
start_hosts version --hosts h1 --remote-path "$scratch/older" --no-python true
node version ends 69
node version says err "$scratch/older on h1 is ddprun 0.0.7, and this is 0.1.0: install the same there"

# Some mistakes only the hosts can know.
start_hosts directory --hosts h1,h2 --remote-dir /nowhere --no-python true
node directory ends 71
node directory says err "cannot work in '/nowhere' on this host: No such file or directory"
start_hosts script --hosts h1,h2 --nnodes 1:2 no_such_script.py
node script ends 127
node script says err "there is no script 'no_such_script.py'"
start_hosts script --hosts h1,h2 --tee 7 --no-python true
node script ends 2
node script says err "--tee '7': expected"

# With MIN:MAX the others run without it.
start_hosts fewer --hosts h9,h1,h2 --nnodes 2:3 --rdzv-conf last_call_timeout=0 --no-python \
  sh -c 'echo "rank $RANK of $WORLD_SIZE"'
node fewer ends 0
node fewer says err "no host is known by the name h9"
node fewer says out "of 2"
nothing_of_the_job_on h1 h2
nothing_on me
nothing_left
