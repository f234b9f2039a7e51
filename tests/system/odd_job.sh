# shellcheck shell=bash
# One job that is run wherever something is missing. A test that takes something away sources this file
# in place of lib.sh. What it prints are the rows of a table, and docs/systems.md has to agree with them.
TMPDIR=/var/tmp # what lies in /tmp is not there where another one is mounted
export TMPDIR
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[ "$(id -u)" = 0 ] || skip "only root can make these places"
case $(uname -m) in x86_64 | aarch64) ;; *) skip "old_kernel.py does not know the system calls here" ;; esac
memory_counts || skip "a sanitizer needs what is taken away here"
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
cp "$DDPRUN" "$scratch/real" # whose folder another user may not enter
real=$scratch/real
export TEST_MARK=$scratch # no_process_left needs more of the environment than there is everywhere
chmod 711 "$scratch"
chmod 777 "$TMPDIR"
chmod 666 "$ready" "$alive"

# Rank 1 fails once. Each worker has a daemon that leaves its session. No variable is needed for the paths.
cat >"$scratch/worker.sh" <<SH2
[ "\$RANK\$TORCHELASTIC_RESTART_COUNT" != 10 ] || { echo "last words" >&2; exit 3; }
[ "\$TORCHELASTIC_RESTART_COUNT" = 1 ] || exec sleep 1000
cat || exit 4
exec 9>"$alive"
[ ! -e /proc/self ] || setsid sleep 1000 & # nobody finds it without /proc
echo "worker of \$WORLD_SIZE"
echo >"$ready"
exec sleep 1000
SH2

# wrap COMMAND...: from here on ddprun runs by that command.
wrap() {
  {
    printf '#!/bin/bash\nexec '
    printf '%q ' "$@" "$real"
    echo '"$@"'
  } >"$scratch/ddprun"
  chmod 755 "$scratch/ddprun"
  DDPRUN=$scratch/ddprun
}

# without CALLS [--refuse]: runs it without these system calls. --refuse: they answer EPERM.
without() { wrap python3 "$here/programs/old_kernel.py" "${@:2}" --without "$1"; }

# in_mounts COMMANDS COMMAND...: runs it where the commands have changed mounts. Nobody else sees them.
in_mounts() { wrap unshare --mount sh -euc "$1"' && exec "$@"' sh "${@:2}"; }

# in_net COMMANDS: runs it in a network of its own, which the commands set up.
in_net() { wrap unshare --net sh -euc "$1"' && exec "$@"' sh; }

ddpruns() {
  local process
  for process in /proc/[0-9]*; do
    [ ! "$process/exe" -ef "$real" ] || echo "${process#/proc/}: $(tr '\0' ' ' <"$process/cmdline")"
  done 2>/dev/null
}
no_ddprun() { [ -z "$(ddpruns)" ]; }

# whole_job: runs it twice: until SIGTERM, and until ddprun itself is killed.
whole_job() {
  local signal
  for signal in ${signals:-TERM KILL}; do
    watch_lives
    start --nproc-per-node 2 --max-restarts 1 --no-python sh "$scratch/worker.sh"
    wait_ready 2
    kill -s "$signal" "$pid"
    ends $((128 + $(kill -l "$signal"))) 2>"$scratch/killed" # bash says so
    all_dead
    until_true 60 "ddprun's own processes to end: $(ddpruns)" no_ddprun
    [[ $signal == KILL || ${mute:-} == *out* ]] || says out "worker of 2"
    [[ ${mute:-} == *err* ]] || says err "restart 1 of 1: starting 2 workers again"
    [ "$signal" = KILL ] || nothing_left
    rm -rf "${TMPDIR:?}"/*
  done
}

# row WHAT HAPPENS: prints a row of the table.
row() { echo "| $1 | $2 |" | tee -a "$scratch/rows"; }

# works WHAT [SENTENCE]: the job runs as anywhere. SENTENCE: ddprun says so on the way.
works() {
  whole_job
  [ -z "${2:-}" ] || says err "$2"
  row "$1" "works${2:+; \`$2\`}"
}

# refuses WHAT CODE SENTENCE: ddprun ends with that code and says that. It leaves nothing.
refuses() {
  run "$2" --nproc-per-node 2 --no-python true
  says err "$3"
  nothing_left
  no_ddprun || fail "left: $(ddpruns)"
  row "$1" "exit code $2: \`$3\`"
}

# rows_are_in HEADING: fails unless the page has these rows below that heading, and no others. Places where a job just
# works are a paragraph, "These work: one; two.", and what happens in the others is a table.
rows_are_in() {
  sed -n "/^## $1/,/^## [^#]/p" "$here/../../docs/systems.md" >"$scratch/section"
  {
    sed -n '/^These work/,/^$/p' "$scratch/section" | tr '\n' ' ' |
      sed 's/^These work[^:]*: //; s/\. *$/\n/; s/; /\n/g' | sed '/./!d; s/.*/| & | works |/'
    grep '^| [^-]' "$scratch/section" | tail -n +2
  } | sort >"$scratch/page"
  sort "$scratch/rows" | diff "$scratch/page" - || fail "the page docs/systems.md says something else of '$1'"
}
