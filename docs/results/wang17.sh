#!/usr/bin/env bash
# All of wang17 at the quick scale: its claims and trends, and why ours differ where they do.
# usage: docs/results/wang17.sh build/release/bin/gpumux DATABASE >docs/results/wang17.md    (20 minutes on two cores)
set -euo pipefail
[ $# -eq 2 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
gpumux=$1
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
"$gpumux" reproduce wang17 --scale quick --db "$2" --markdown "$folder/all.md" --quiet
echo "# wang17 at the quick scale: ours beside the paper's"
echo
echo "Made by \`docs/results/wang17.sh\` with $("$gpumux" --version), on wang17-16sm and wang17-56sm. All quantities: \`gpumux reproduce wang17\`."
# The tables of claims and trends alone, their repeated notes left out.
awk '/^### Not answered/ { rest = 1; print "" } rest { print; next }
     /^[0-9]+ of [0-9]+ directions/ { print ""; print }
     /^###/ { print ""; print }
     /^\| claim \|/ || /^\| trend \|/ { table = 1; print "" }
     /^$/ { table = 0 }
     table { gsub(/(; )?scale quick: runs of [0-9]+ cycles/, ""); print }' "$folder/all.md"
cat <<'TEXT'

## Why
TEXT
