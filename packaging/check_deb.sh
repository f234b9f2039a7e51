#!/usr/bin/env bash
# Checks Debian's packages in dist/: two builds have the same bytes, lintian and systemd-analyze are content
# with them, and in a bare Debian 11, 12 and 13 the first is installed, runs a job, and goes without a trace.
. "$(dirname "$0")/lib.sh"

exposure_max=1.5 # of systemd-analyze security, from 0 to 10
packages=("$dist/ddprun_${version}_amd64.deb" "$dist/libddprun-dev_${version}_all.deb")
for package in "${packages[@]}"; do
  [ -e "$package" ] || die "there is no $package: scripts/package deb"
done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp "${packages[@]}" "$scratch/"
"$project/packaging/deb.sh" >"$scratch/log" 2>&1 || die "$(cat "$scratch/log")" # which calls lintian
for package in "${packages[@]}"; do
  cmp "$package" "$scratch/${package##*/}" || die "two builds differ"
  say "${package##*/}: two builds have one hash: $(sha256sum "$package" | cut -c 1-16)..., $(stat -c %s "$package") bytes"
done

# systemd-analyze looks below another root for what the unit names.
root=$scratch/root
dpkg-deb -x "${packages[0]}" "$root"
unit=$(cd "$root" && find . -name ddprun-server.service | sed 's/^.//')
systemd-analyze verify --root="$root" --man=no "$unit" 2>"$scratch/verify" ||
  die "systemd-analyze verify: $(cat "$scratch/verify")"
if grep -F ddprun-server "$scratch/verify"; then die "systemd-analyze verify complains"; fi
exposure=$(systemd-analyze security --offline=true --no-pager "$root$unit" |
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
  say "deb: installed, run and removed in Debian $suite: $(tail -n 1 "$scratch/out")"
done
