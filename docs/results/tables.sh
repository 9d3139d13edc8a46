#!/usr/bin/env bash
# A paper at the quick scale: the tables of its claims and trends, as the head of its page here.
# usage: docs/results/tables.sh PAPER MACHINES build/release/bin/gpumux DATABASE; of docs/results/PAPER.sh
set -euo pipefail
[ $# -eq 4 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
paper=$1 machines=$2 gpumux=$3 database=$4
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
"$gpumux" reproduce "$paper" --scale quick --db "$database" --markdown "$folder/all.md" --quiet
echo "# $paper at the quick scale: ours beside the paper's"
echo
echo "Made by \`docs/results/$paper.sh\` with $("$gpumux" --version), on $machines. All quantities: \`gpumux reproduce $paper\`."
# The tables of claims and trends alone, their repeated notes left out.
awk '/^### Not answered/ { rest = 1; print "" } rest { print; next }
     /^[0-9]+ of [0-9]+ directions/ { print ""; print }
     /^###/ { print ""; print }
     /^\| claim \|/ || /^\| trend \|/ { table = 1; print "" }
     /^$/ { table = 0 }
     table { gsub(/(; )?scale quick: runs of [0-9]+ cycles/, ""); print }' "$folder/all.md"
