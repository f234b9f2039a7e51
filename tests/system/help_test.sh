#!/usr/bin/env bash
# Users can look before they run anything: at the help, the man page, completions and a dry run.
. "$(dirname "$0")/lib.sh"

run 0 --help
says out "Usage: ddprun [OPTIONS] SCRIPT"
says out "Examples:"
run 0 -h
says out "  --max-restarts N=0"
says out "--help shows all options"
run 0 --version
run 0 --man
says out ".SH EXIT STATUS"
if command -v man >/dev/null && command -v groff >/dev/null; then
  man --warnings -l "$scratch/out" >"$scratch/page" 2>"$scratch/err" || fail "man does not read the man page"
  [ ! -s "$scratch/err" ] || fail "man complains about the man page"
fi

for command in ls status top logs dump stop explain server secret topo trace checkpoint store; do
  run 0 "$command" --help
  says out "Usage: ddprun $command"
  says out "  ddprun $command" # an example
  ! grep -qE '^.{81}' "$scratch/out" || fail "the help of $command is wider than 80 columns"
done
run 0 checkpoint verify --help
says out "Usage: ddprun checkpoint verify [OPTIONS] DIR"
run 0 logs --help
says out "  -h, --help           print this help"
says out "  -c, --bytes N=16384  show at most"
run 0 top --help
says out "  -n, --interval SECONDS=1  time"

# `ddprun help` is a command unless there is such a script.
run 0 help
says out "Usage: ddprun [OPTIONS] SCRIPT"
run 0 help stop
says out "Usage: ddprun stop [OPTIONS] [JOB]"
run 2 help stpo
says err "help: there is no command 'stpo'; did you mean stop?"
(
  cd "$scratch"
  echo 'print("a script of this name")' >help
  run 0 help
  says out "a script of this name"
)

# As torchrun it has no commands, and its help shows none.
ln -s "$DDPRUN" "$scratch/torchrun"
"$scratch/torchrun" --help >"$scratch/out"
says_not out "ddprun COMMAND"
says_not out "Commands for running jobs"

# A mistake in the words of a command is reported in a sentence, with the help that has more.
run 2 logs --folow 1
says err "logs: there is no option '--folow'; did you mean --follow? (see ddprun logs --help)"
run 2 checkpoint rm x
says err "checkpoint: there is no command 'rm'; expected ls or verify (see ddprun checkpoint --help)"
run 2 logs 0x1
says err "logs: '0x1' is no rank"
run 0 topo --nproc 2

# complete WORDS...: prints what bash offers for the last of them.
complete() {
  cd "$scratch" || return  # files of the folder are offered, too
  bash --norc -c '
    eval "$("$0" --completion bash)"
    compopt() { :; }
    COMP_WORDS=("$0" "$@") COMP_CWORD=$#
    _ddprun
    printf "%s\n" "${COMPREPLY[@]}"' "$DDPRUN" "$@"
}
[ "$(complete --nproc-p)" = --nproc-per-node ] || fail "bash completes --nproc-p to $(complete --nproc-p)"
[ "$(complete --nproc_per_node g)" = gpu ] || fail "bash offers no gpu"
[ "$(complete --rdzv-backend c)" = c10d ] || fail "bash offers no c10d"
[ -z "$(complete train.py --nproc-p)" ] || fail "bash completes the script's own arguments"
[ "$(complete launch --use)" = --use-env ] || fail "bash does not complete after launch"
[ "$(complete st | tr '\n' ' ')" = "status stop store " ] || fail "bash offers no commands: $(complete st)"
[ "$(complete logs --fol)" = --follow ] || fail "bash offers no options of a command"
[ "$(complete checkpoint v)" = verify ] || fail "bash offers no commands of a command"
[ -z "$(complete stop no-such-jo)" ] || fail "bash offers jobs that are not there"
if command -v fish >/dev/null; then
  "$DDPRUN" --completion fish >"$scratch/completion"
  # complete_in_fish WORDS: prints what fish offers for the last of them, without what it says of it.
  complete_in_fish() {
    PATH="$(dirname "$DDPRUN"):$PATH" fish --no-config -c "
      source $scratch/completion
      complete -C '$1'" | cut -f 1
  }
  [[ " $(complete_in_fish 'ddprun sta' | tr '\n' ' ')" == *" status "* ]] || fail "fish offers no commands"
  [ "$(complete_in_fish 'ddprun logs --fol')" = --follow ] || fail "fish offers no options of a command"
  [ "$(complete_in_fish 'ddprun --nproc-p')" = --nproc-per-node ] || fail "fish offers no options"
fi
for shell in zsh fish tcsh; do
  run 0 --print-completion "$shell"
  cp "$scratch/out" "$scratch/as_torchrun"
  run 0 --completion "$shell"
  cp "$scratch/out" "$scratch/completion"
  cmp "$scratch/completion" "$scratch/as_torchrun" || fail "--print-completion prints something else"
  ! command -v "$shell" >/dev/null || "$shell" -n "$scratch/completion" || fail "$shell does not read its completion"
done

# A dry run prints commands that do what a run does.
run 0 --nproc-per-node 2 --dry-run --no-python sh -c 'echo "it is $RANK of $WORLD_SIZE, ${0}"' "a  b"
cp "$scratch/out" "$scratch/commands"
sh "$scratch/commands" >"$scratch/out"
says out "it is 0 of 2, a  b"
says out "it is 1 of 2, a  b"
nothing_left

# An option without effect is named, and the job runs.
run 0 --standalone --monitor-interval 1 --rdzv-id x --logs-specs mine --no-python true
says err "--monitor-interval has no effect"
says err "--rdzv-id has no effect: with --standalone"
says err "--logs-specs has no effect: a plug-in in Python, which ddprun does not run: use --log-dir"
run 0 --rdzv-backend c10d --rdzv-endpoint localhost:29400 --rdzv-conf "'is_host=false,use_libuv=1'" \
  --no-python true
says err "--rdzv-endpoint has no effect: a job of one node takes a free port"
says err "--rdzv-conf is_host=false has no effect"
says err "--rdzv-conf use_libuv has no effect"
