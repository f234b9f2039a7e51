# shellcheck shell=bash
# What all scripts share: where things are, how they speak, and how they show long steps. It is
# sourced, not run.
set -euo pipefail

# Each script explains itself at its head, and does nothing else when it is asked for help.
case ${1:-} in
  -h | --help)
    sed -n '1d; /^#/!q; s/^# \{0,1\}//p' "$0"
    exit
    ;;
esac

project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${DDPRUN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ddprun}

# choose_torch: which PyTorch is fetched where there is none, and where it lies. 2.8 is the last one for Python 3.9.
choose_torch() {
  local newest=2.11.0
  ! command -v python3 >/dev/null || python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || newest=2.8.0
  torch_version=${DDPRUN_TORCH_VERSION:-$newest}
  own_torch_env=$cache/torch-$torch_version
}
choose_torch
# CMake and the tests read this: the virtual environment that LibTorch comes from.
export DDPRUN_TORCH_ENV=${DDPRUN_TORCH_ENV:-$own_torch_env}

# workers_torch_env VERSION: the virtual environment whose torch is run under ddprun's tests: 2.11.0, a
# series such as 2.4, or `newest`.
workers_torch_env() {
  case $torch_version in
    "$1" | "$1".*) echo "$DDPRUN_TORCH_ENV" ;;
    *) echo "$cache/torch-$1" ;;
  esac
}

me=$(basename "$0")
say() { printf '%s: %s\n' "$me" "$*"; }
die() {
  printf '%s: %s\n' "$me" "$*" >&2
  exit 1
}

# torch_folder ENVIRONMENT: where its PyTorch lies; nothing where there is none. An unpacked LibTorch, or the folder of
# a PyTorch, may stand for an environment.
torch_folder() {
  local folder
  for folder in "$1" "$1"/lib/python3*/site-packages/torch; do
    if [ -e "$folder/version.py" ] || [ -e "$folder/build-version" ]; then echo "$folder" && return; fi
  done
}

# torch_of ENVIRONMENT: the version of the PyTorch in there; nothing where there is none.
torch_of() {
  local folder
  folder=$(torch_folder "$1")
  { sed -nE "s/^__version__ = '(.*)'.*/\1/p" "$folder/version.py" 2>/dev/null ||
    cat "$folder/build-version" 2>/dev/null || true; } | head -n 1
}

# is_at_least OLDEST VERSION: such as 2.8 and 2.11.0.
is_at_least() { [ "$(printf '%s\n' "$1" "${2:-0}" | sort -V | head -n 1)" = "$1" ]; }

# Headers that those of CUDA include, for an environment whose PyTorch came without them: setup-torch --beside.
cuda_headers=$cache/cuda-headers

# The Python that has the PyTorch which DDPRUN_TORCH_ENV names.
torch_python() { echo "${active_python:-$DDPRUN_TORCH_ENV/bin/python}"; }
active_python=

# use_active_torch: where a Python that ddprun would run scripts with has a PyTorch that is new enough, that is taken,
# and none is fetched: in an environment, or as images and the modules of clusters have it, beside the system's Python.
use_active_torch() {
  local oldest=2.4 python folder version venv=${VIRTUAL_ENV:-} conda=${CONDA_PREFIX:-}
  [ "$DDPRUN_TORCH_ENV" = "$own_torch_env" ] || return 0
  [ "$sdk" != ON ] || oldest=$oldest_torch_of_sdk
  # As ddprun does: what was activated on top comes first in PATH.
  if [ -n "$venv" ] && [ -n "$conda" ] && [[ :${PATH//:/::}: = *":$conda/bin:"*":$venv/bin:"* ]]; then
    venv=$conda conda=$VIRTUAL_ENV
  fi
  for python in "${PYTHON_EXEC:-}" "${venv:+$venv/bin/python3}" "${conda:+$conda/bin/python3}" python3 python; do
    # Without importing it, which takes seconds; and a folder of that name in the current one is none.
    folder=$([ -z "$python" ] || "$python" -c '
import importlib.util, sys
sys.path.pop(0)
print(importlib.util.find_spec("torch").submodule_search_locations[0])' 2>/dev/null) || continue
    version=$([ -z "$folder" ] || torch_of "$folder")
    if [ "$folder" != "$(torch_folder "$own_torch_env")" ] && is_at_least "$oldest" "$version"; then
      active_python=$(command -v "$python")
      say "PyTorch $version of $active_python is used: $folder"
      export DDPRUN_TORCH_ENV=$folder
      return
    fi
  done
}

# Whether a PyTorch is to be there also without the SDK: workers in Python need one, too.
wants_torch=
# The worker SDK needs LibTorch, 5 GB. AUTO: it is built where one is there.
sdk=${DDPRUN_SDK:-AUTO}
case $sdk in
  AUTO | ON | OFF) ;;
  *) die "DDPRUN_SDK is '$sdk', expected AUTO, ON or OFF" ;;
esac
oldest_torch_of_sdk=2.11 # as in worker_sdk/CMakeLists.txt
sdk_needs=
# decide_sdk ON|FOUND: whether it is built, where the user has not said so.
decide_sdk() {
  local folder version=$torch_version
  [ "$sdk" = AUTO ] || return 0
  sdk=OFF
  folder=$(torch_folder "$DDPRUN_TORCH_ENV")
  [ -z "$folder" ] || version=$(torch_of "$DDPRUN_TORCH_ENV")
  if ! is_at_least "$oldest_torch_of_sdk" "$version"; then
    # shellcheck disable=SC2034 # for scripts/build
    sdk_needs=", which needs PyTorch $oldest_torch_of_sdk or newer"
  # conda-forge's PyTorch has LibTorch elsewhere.
  elif [ -e "$folder/lib/libtorch.so" ] || { [ "$1" = ON ] && [ -z "$folder" ]; }; then
    sdk=ON
  fi
}

# install_packages SET: those of the system. A build goes on without some of them: see find_build().
install_packages() {
  local how=()
  [ "$1" != build ] && [ "$1" != python ] || how=(--possible)
  "$project/scripts/setup-packages" "${how[@]}" "$1"
}

# find_build: sets $toolchain to a file for CMake where the system lacks what compiling needs. Then that comes into the
# cache, as packaging/parts.list pins it, and so do cmake and ninja where they are missing.
toolchain=
find_build() {
  local lacking tools toolchains=$project/packaging/toolchain.py
  step "cmake and ninja" "$toolchains" tools
  tools=$("$toolchains" tools)
  [ -z "$tools" ] || PATH=$tools:$PATH
  if ! lacking=$("$project/scripts/setup-packages" --missing launcher 2>&1); then
    echo "${lacking//setup-packages: /$me: }"
    say "so what compiling needs comes into $cache/parts"
    step "compiler and libraries" "$toolchains" cmake
    toolchain=$("$toolchains" cmake)
  fi
  # A build folder belongs to the compiler that it was made with.
  if [ "$(cached CMAKE_TOOLCHAIN_FILE)" != "$toolchain" ]; then
    rm -rf "$project/build/CMakeCache.txt" "$project/build/CMakeFiles"
  fi
}

# cached VARIABLE: the value that CMake has for build/.
cached() { sed -n "s/^$1:[A-Z]*=//p" "$project/build/CMakeCache.txt" 2>/dev/null || true; }

# builds_libtorch: LibTorch goes with the system's compilers alone: zig has another C++ library.
builds_libtorch() { [[ $toolchain != */zig-* ]]; }

# begin_setup LEVEL: installs the system's packages, as setup-packages names them, and begins the step
# PyTorch, if there is something to do, as soon as Python is there. finish_setup waits for it.
begin_setup() {
  step Python install_packages python
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null ||
    die "python3 is missing, or older than 3.9: install a newer one, or put its folder first in PATH"
  local guessed=$own_torch_env
  choose_torch # what Python this is, is known only now
  [ "$DDPRUN_TORCH_ENV" != "$guessed" ] || DDPRUN_TORCH_ENV=$own_torch_env
  if [ "$sdk" = ON ] || [ -n "$wants_torch" ]; then
    local torch=()
    [ "$1" = build ] || torch=(--tests)
    # To build, what the user's own environment has is enough.
    [ "$1" != build ] || [ "$DDPRUN_TORCH_ENV" = "$own_torch_env" ] || [ -z "$(torch_of "$DDPRUN_TORCH_ENV")" ] ||
      torch=(--beside)
    begin PyTorch "$project/scripts/setup-torch" "${torch[@]}"
  fi
  step packages install_packages "$1"
  find_build
}
finish_setup() { [ -z "${step_pid[PyTorch]:-}" ] || finish PyTorch; }

# configure PRESET [CMAKE ARGUMENTS...]: as CMakePresets.json says, with what setup and the user's variables have
# chosen.
configure() {
  local chosen=(-DDDPRUN_SDK="$sdk" "-DDDPRUN_TORCH_ENV=$DDPRUN_TORCH_ENV" "-DDDPRUN_CUDA_HEADERS=$cuda_headers")
  # One that a build remembers may be gone, and the variable is the user's.
  chosen+=("-DCMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER:-}")
  [ -z "$toolchain" ] || chosen+=("-DCMAKE_TOOLCHAIN_FILE=$toolchain")
  (cd "$project" && cmake --preset "$1" "${chosen[@]}" "${@:2}" >/dev/null)
}

# build_preset PRESET [CMAKE ARGUMENTS...]: configures and builds it.
build_preset() {
  configure "$@"
  (cd "$project" && cmake --build --preset "$1")
}

# tidy_units UNITY: what clang-tidy reads: with OFF every source by itself, with ON each room as one unit,
# which takes half of the time where all are read. LibTorch's headers take it a minute a file: it reads
# what is built without them. Headers are read where they are included.
tidy_units() {
  sdk=OFF configure tidy -DDDPRUN_UNITY="$1"
  sed -nE "s|^ *\"file\": \"$project/(.*)\",?$|\1|p" "$project/build/tidy/compile_commands.json" |
    grep -vE '_verify_interface_header_sets/|^build/.*\.cpp$' | sort -u
}

# tidy UNIT: a room as one unit includes its sources, on purpose. Tests are to be read, not fast, and say what a failed
# comparison was about.
tidy() {
  local checks=-bugprone-suspicious-include
  [[ $1 != *tests/* ]] || checks+=',-performance-*,-readability-container-size-empty'
  clang-tidy --quiet --checks="$checks" -p "$project/build/tidy" "$1"
}
export -f tidy
export project

# --- Long steps. What a step writes goes to a log file; people see its last line and its time.

declare -A step_pid step_start
step_logs=
step_watcher=

# begin NAME COMMAND...: starts the step in the background, in a process group of its own: Ctrl-C
# reaches this script alone, which then ends the group.
begin() {
  if [ -z "$step_logs" ]; then
    step_logs=$(mktemp -d)
    trap 'end_steps 2>/dev/null' EXIT
  fi
  step_start[$1]=$SECONDS
  set -m
  (
    trap - EXIT # it is this script's
    set +m
    "${@:2}"
  ) >"$step_logs/$1" 2>&1 </dev/null &
  step_pid[$1]=$!
  set +m
}

# finish NAME: waits for the step, says how long it took, and ends the script with the step's log when
# it has failed.
finish() {
  local code=0 seconds
  watch_step "$1" 2>/dev/null &
  step_watcher=$!
  wait "${step_pid[$1]}" || code=$?
  kill "$step_watcher" 2>/dev/null || true
  wait "$step_watcher" 2>/dev/null || true
  seconds=$((SECONDS - step_start[$1]))
  unset "step_pid[$1]"
  wipe_line
  if [ "$code" != 0 ]; then
    tail -n 60 "$step_logs/$1" >&2
    die "$1: failed after $seconds s, see above"
  fi
  [ "$seconds" -lt 1 ] || say "$1: done in $seconds s"
}

is_running() { kill -0 "${step_pid[$1]:-none}" 2>/dev/null; }

# step NAME COMMAND...: both of it.
step() {
  begin "$@"
  finish "$1"
}

# A terminal shows the last line of the step's log and rewrites it every second; a log file gets such
# a line every 20 s. It waits by reading a FIFO to which nobody writes: a sleep would outlive it.
watch_step() {
  trap - EXIT
  local line never pause=20
  [ ! -t 1 ] || pause=1
  mkfifo "$step_logs/never.$1"
  exec {never}<>"$step_logs/never.$1"
  for (( ; ; )); do
    read -r -t "$pause" -u "$never" _ || true
    line="$me: $1: $((SECONDS - step_start[$1])) s: $(tail -n 1 "$step_logs/$1" | tr -dc '[:print:]')"
    wipe_line
    if [ -t 1 ]; then printf '%.*s' "$(($(tput cols 2>/dev/null || echo 80) - 1))" "$line"; else echo "$line"; fi
  done
}
wipe_line() { [ ! -t 1 ] || printf '\r\033[K'; }

# end_steps: at the script's exit; a script with a trap of its own calls it there.
end_steps() {
  local pid
  for pid in "${step_pid[@]}"; do kill -TERM -- "-$pid" 2>/dev/null || true; done
  [ -z "$step_watcher" ] || kill "$step_watcher" 2>/dev/null || true
  [ -z "$step_logs" ] || rm -rf "$step_logs"
}
