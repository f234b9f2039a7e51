#!/usr/bin/env bash
# Makes Debian's packages twice and checks them: both times they have the same bytes, lintian and
# systemd-analyze are content with them, the first is installed in a bare Debian 11, 12 and 13, runs a job
# and goes without a trace, and a project is built with the second.
. "$(dirname "$0")/lib.sh"

exposure_max=1.5 # of systemd-analyze security, from 0 to 10
packages=("$dist/ddprun_${version}_amd64.deb" "$dist/libddprun-dev_${version}_all.deb")

scratch=$(mktemp -d)
trap 'end_steps 2>/dev/null; rm -rf "$scratch"' EXIT
step "Debian's packages" "$project/packaging/deb.sh" # which calls lintian
cp "${packages[@]}" "$scratch/"
step "Debian's packages again" "$project/packaging/deb.sh"
for package in "${packages[@]}"; do
  cmp "$package" "$scratch/${package##*/}" || die "two builds differ"
  say "${package##*/}: two builds have one hash: $(sha256sum "$package" | cut -c 1-16)..., $(stat -c %s "$package") bytes"
done

# It looks for the executable where the unit says, so the unit says where it is unpacked.
root=$scratch/root
dpkg-deb -x "${packages[0]}" "$root"
unit=$scratch/ddprun-server.service
sed "s|/usr/bin/ddprun|$root&|" "$root/lib/systemd/system/ddprun-server.service" >"$unit"
systemd-analyze verify --man=no "$unit" >"$scratch/verify" 2>&1 || echo "it fails" >>"$scratch/verify"
[ ! -s "$scratch/verify" ] || die "systemd-analyze verify: $(cat "$scratch/verify")"
exposure=$(systemd-analyze security --offline=true --no-pager "$unit" |
  sed -nE 's/.*Overall exposure level for .*: ([0-9.]+).*/\1/p')
python3 -c "import sys; sys.exit($exposure > $exposure_max)" ||
  die "systemd-analyze security: $exposure, expected $exposure_max at most"
say "deb: systemd-analyze verify has nothing to say, and security says $exposure"

cat >"$scratch/install.sh" <<'SH'
set -e
find / -xdev -path /proc -prune -o -name '*ddprun*' -print | sort >before
dpkg -i ddprun_*.deb >/dev/null
[ "$(ddprun --nproc-per-node 2 --no-python sh -c 'echo "rank $RANK"' | sort | tr '\n' ' ')" = "rank 0 rank 1 " ]
[ "$(ddprun-torchrun --version)" = "$(ddprun --version)" ]
ls /usr/share/bash-completion/completions/ddprun /usr/share/zsh/vendor-completions/_ddprun \
  /usr/share/fish/vendor_completions.d/ddprun.fish /lib/systemd/system/ddprun-server.service \
  /etc/default/ddprun-server /usr/share/man/man1/ddprun.1.gz >/dev/null
[ ! -e /etc/systemd/system/multi-user.target.wants/ddprun-server.service ]
ddprun --version | head -n 1
dpkg --purge ddprun >/dev/null
find / -xdev -path /proc -prune -o -name '*ddprun*' -print | sort | diff before -
SH
for suite in bullseye bookworm trixie; do
  "$project/packaging/rootfs.sh" "$suite" --bring "${packages[0]}" --bring "$scratch/install.sh" -- \
    sh install.sh >"$scratch/out" 2>&1 || die "$suite: $(cat "$scratch/out")"
  say "deb: installed, run and removed in Debian $suite: $(grep '^ddprun ' "$scratch/out")"
done

# If there is a PyTorch, a project of a user is built with the SDK's sources, and run.
if [ ! -x "$DDPRUN_TORCH_ENV/bin/python" ]; then
  say "deb: the SDK's sources were not compiled, for there is no PyTorch in $DDPRUN_TORCH_ENV"
  exit
fi
build_outside() {
  cmake -S "$project/tests/worker_sdk/outside_project" -B "$scratch/outside" -G Ninja \
    -DCMAKE_PREFIX_PATH="$scratch/sdk/usr"
  cmake --build "$scratch/outside"
}
dpkg-deb -x "${packages[1]}" "$scratch/sdk"
step "a project with the SDK's sources" build_outside
"$root/usr/bin/ddprun" --standalone --nproc-per-node 2 --no-python "$scratch/outside/outside" >"$scratch/out"
grep -F 'the sum is 3' "$scratch/out" >/dev/null || die "the project says: $(cat "$scratch/out")"
say "deb: a project was built with the SDK's sources, and its two ranks have met"
