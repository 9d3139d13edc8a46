#!/usr/bin/env bash
# All of kayiran14 at the quick scale: its claims and trends, and why ours differ where they do.
# usage: docs/results/kayiran14.sh build/release/bin/gpumux DATABASE >docs/results/kayiran14.md    (33 minutes on two cores)
set -euo pipefail
[ $# -eq 2 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
"$(dirname "${BASH_SOURCE[0]}")/tables.sh" kayiran14 "kayiran14-hetero and -small3x3" "$1" "$2"
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
"$1" reproduce kayiran14/pairs --scale quick --db "$2" --markdown "$folder/pairs.md" --quiet
echo
awk '/by application \(/ { print ""; print; print ""; table = 1; next } table && /^\|/ { print; seen = 1; next } table && seen { table = seen = 0 }' "$folder/pairs.md"
cat <<'TEXT'

## Why

WHY
TEXT
