#!/usr/bin/env bash
# Checks what lies in dist/: see the check_*.sh of each kind. Needs root.
#   check.sh [binary|wheel|deb]
. "$(dirname "$0")/lib.sh"

case ${1:-} in
  '') kinds=(binary wheel deb) ;;
  binary | wheel | deb) kinds=("$1") ;;
  *) die "'$1' is not known: binary, wheel or deb" ;;
esac
for kind in "${kinds[@]}"; do "$project/packaging/check_$kind.sh"; done
