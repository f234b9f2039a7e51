#!/usr/bin/env bash
# The output of ddprun may be a file, as that of a batch job is, whose disk or server hangs: the job is stopped and ends
# as always, and nothing is missing when the disk answers again. If a folder of logs hangs, its readers get a note. A
# job whose program is there can be stopped, and goes on when the disk answers.
. "$(dirname "$0")/lib.sh"
threads_may_be_left

programs=$(dirname "$(realpath "$0")")/programs
folder=$scratch/folder
hang=$scratch/hang # while it exists, the folder gives no answer
mkdir "$folder"
python3 "$programs/hanging_files.py" "$folder" "$hang" true || skip "no folder can be made to hang here"
export DDPRUN folder hang scratch

# inside CODE: runs the script on its standard input where the folder may hang. Held, it would be for ever.
inside() {
  local code=0
  rm -f "$hang"
  cat >"$scratch/inside.sh"
  timeout -s KILL 120 python3 "$programs/hanging_files.py" "$folder" "$hang" bash "$scratch/inside.sh" \
    >"$scratch/out" 2>"$scratch/err" || code=$?
  [ "$code" = "$1" ] || fail "exit code $code, expected $1"
}

# --- A signal ends the job ---
exec 7<>"$ready"
inside 143 <<'SH'
"$DDPRUN" --no-python sh -c 'touch "$hang"; echo here >"$ready"; while :; do echo words; done' \
  >"$folder/out" 2>&1 &
read -r _ <"$ready"
sleep 0.5 # until words have filled all that holds them
kill -TERM "$!"
wait "$!"
SH

# --- The job ends by itself, and the rest of its output comes when the file answers again ---
inside 3 <<'SH'
"$DDPRUN" --no-python sh -c 'touch "$hang"; echo "first words"; exit 3' >"$folder/out" 2>&1 &
until [ -e "$hang" ]; do sleep 0.02; done
sleep 0.5
[ -e "/proc/$!" ] || exit 9
rm "$hang"
code=0
wait "$!" || code=$?
cat "$folder/out"
exit "$code"
SH
says out "first words"
says out "exited with code 3"

# --- Logs that are looked at while their folder hangs ---
inside 143 <<'SH'
"$DDPRUN" --log-dir "$folder/logs" -t 3 --no-python sh -c 'echo words; echo here >"$ready"; exec sleep 1000' &
pid=$!
read -r _ <"$ready"
touch "$hang"
"$DDPRUN" logs "$pid" 0 && exit 9
"$DDPRUN" status "$pid" || exit 9
"$DDPRUN" logs "$pid" 0 -f &
follows=$!
sleep 0.5
kill -TERM "$pid"
code=0
wait "$pid" || code=$?
kill "$follows" 2>/dev/null
exit "$code"
SH
says err "no answer from '$folder/logs/"
says out running

# --- Workers are restarted, and the disk of their program hangs ---
for end in stopped answers; do
  export end
  inside 143 <<'SH'
cp "$(command -v sleep)" "$folder/sleeper"
chmod 755 "$folder/sleeper"
"$DDPRUN" --max-restarts 1 --no-python "$folder/sleeper" 1000 &
pid=$!
until worker=$(pgrep -P "$pid" -x sleeper); do sleep 0.02; done
touch "$hang"
kill -KILL "$worker"
until grep -q "no answer for 5 s from '$folder/sleeper'" "$scratch/err"; do sleep 0.1; done
"$DDPRUN" status "$pid" || exit 9
if [ "$end" = answers ]; then
  rm "$hang"
  until pgrep -P "$pid" -x sleeper; do sleep 0.02; done
fi
kill -TERM "$pid"
wait "$pid"
SH
done
