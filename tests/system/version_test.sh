#!/usr/bin/env bash
# ddprun says which version and commit it is, and a build learns the commit without compiling again for
# nothing.
. "$(dirname "$0")/lib.sh"
write_commit=$(cd "$(dirname "$0")/../../cmake" && pwd)/WriteCommit.cmake

run 0 --version
head -n 1 "$scratch/out" | grep -qE '^ddprun [0-9]+\.[0-9]+\.[0-9]+ \(commit [0-9A-Za-z._-]+\)$' ||
  fail "the first line is another one"
says out "speaks protocol "
cp "$scratch/out" "$scratch/version"
run 0 --nproc-per-node 2 --version no-such-script.py
cmp "$scratch/out" "$scratch/version" || fail "it says something else beside other options"

for tool in git cmake; do
  command -v "$tool" >/dev/null || skip "there is no $tool, so how builds learn the commit is not tested"
done
unset DDPRUN_COMMIT
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
commit_of() { # FOLDER: what a build of the sources there says
  cmake -DSOURCE="$1" -DFILE="$scratch/commit.cpp" -P "$write_commit" || fail "the file is not written"
  sed -nE 's/.*kCommit\[\] = "(.*)";/\1/p' "$scratch/commit.cpp"
}
repository=$scratch/repository
mkdir -p "$scratch/tarball" "$repository/vendored"
[ "$(commit_of "$scratch/tarball")" = unknown ] || fail "a folder outside of git has a commit"
[ "$(DDPRUN_COMMIT=0123456789ab commit_of "$scratch/tarball")" = 0123456789ab ] || fail "it is not the given one"
[ "$(DDPRUN_COMMIT='"; x' commit_of "$scratch/tarball")" = unknown ] || fail "it takes any text"

in_repository() { git -C "$repository" -c user.name=x -c user.email=x@example.org "$@" >"$scratch/out" 2>&1; }
in_repository init
echo one >"$repository/file"
in_repository add file
in_repository commit -m one
commit=$(git -C "$repository" rev-parse --short=12 HEAD)
[ "$(commit_of "$repository")" = "$commit" ] || fail "it is not the commit"
touch -d '2020-01-01' "$scratch/commit.cpp"
commit_of "$repository" >"$scratch/out"
[ "$(date -r "$scratch/commit.cpp" +%Y)" = 2020 ] || fail "the file is written again without need"
in_repository tag v9.9.9
[ "$(commit_of "$repository")" = "$commit" ] || fail "a tag hides the commit"
echo two >"$repository/file"
[ "$(commit_of "$repository")" = "$commit-dirty" ] || fail "a change that is not committed is not told"
[ "$(commit_of "$repository/vendored")" = unknown ] || fail "it is the commit of somebody else's repository"
