#!/usr/bin/env bash
# Makes dist/ddprun-VERSION-py3-none-manylinux_2_XX_PROCESSOR.whl for pip: the packaged executable and the
# module for Python. auditwheel says which systems it runs on, and twine whether an index would take it.
#   wheel.sh                    for x86_64
#   wheel.sh --arch aarch64     for 64-bit Arm
# DDPRUN_EXECUTABLE packs that file instead of a fresh packaged executable.
. "$(dirname "$0")/lib.sh"

read_arch "$@"

# Pinned, so that a new version of theirs cannot fail a build of ours.
wanted="auditwheel==6.8.2 twine==7.0.0"
tools=$cache/wheel-tools
set_up_tools() {
  [ "$(cat "$tools/.installed" 2>/dev/null)" != "$wanted" ] || return 0
  "$project/scripts/setup-packages" python
  rm -rf "$tools"
  python3 -m venv "$tools"
  local packages
  read -ra packages <<<"$wanted"
  "$tools/bin/python" -m pip install -q "${packages[@]}"
  echo "$wanted" >"$tools/.installed" # the last: what was interrupted is begun again
}
step "auditwheel and twine" set_up_tools

executable=${DDPRUN_EXECUTABLE:-}
if [ -z "$executable" ]; then
  "$project/packaging/binary.sh" --arch "$arch"
  executable=$(binary_of "$arch")
fi

scratch=$(mktemp -d)
trap 'end_steps 2>/dev/null; rm -rf "$scratch"' EXIT

# write TAG FOLDER: prints the path of the wheel.
write() {
  "$project/packaging/wheel.py" --binary "$executable" --tag "$1" --out "$2"
}

# audited WHEEL: prints the tag that auditwheel grants.
audited() {
  "$tools/bin/auditwheel" show "$1" >"$scratch/audit" 2>&1 || die "auditwheel does not read $1"
  tr '\n' ' ' <"$scratch/audit" | sed -nE 's/.*is consistent with the following platform tag: "([a-z0-9_]+)".*/\1/p'
}

tag=$(audited "$(write "linux_$arch" "$scratch")")
case $tag in
  manylinux_*_"$arch") ;;
  *) die "auditwheel grants '$tag', expected manylinux_2_XX_$arch: $(cat "$scratch/audit")" ;;
esac
rm -f "$dist/ddprun-$version"-py3-none-manylinux_*_"$arch".whl
wheel=$(write "$tag" "$dist")
granted=$(audited "$wheel")
[ "$granted" = "$tag" ] || die "auditwheel grants '$granted' to $wheel"
"$tools/bin/twine" check --strict "$wheel" >"$scratch/twine" || die "$(cat "$scratch/twine")"
say "done: $wheel"
