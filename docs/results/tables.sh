#!/usr/bin/env bash
# A paper at a scale: the tables of its claims and trends, as the head of its page here.
# usage: docs/results/tables.sh PAPER MACHINES build/release/bin/gpumux DATABASE [SCALE]; of docs/results/PAPER.sh. Scale: quick
set -euo pipefail
(($# == 4 || $# == 5)) || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
paper=$1 machines=$2 gpumux=$3 database=$4 scale=${5:-quick}
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
"$gpumux" reproduce "$paper" --scale "$scale" --db "$database" --markdown "$folder/all.md" --quiet
echo "# $paper at the $scale scale: ours beside the paper's"
echo
echo "Made by \`docs/results/$paper.sh\` with $("$gpumux" --version), on $machines. All quantities: \`gpumux reproduce $paper\`."
python3 - "$database" "$paper" "$scale" <<'PY'
import sqlite3
import sys

with sqlite3.connect(sys.argv[1]) as database:
    count, seconds = database.execute(
        "SELECT count(*), sum(wall_seconds) FROM runs WHERE id IN (SELECT run_id FROM sweep_runs JOIN sweeps ON sweeps.id = sweep_id"
        " WHERE (sweeps.name LIKE ?1 || '/%' OR sweeps.file LIKE ?1 || '%') AND sweeps.scale = ?2)", sys.argv[2:4]).fetchone()
print(f"{count} runs, {(seconds or 0) / 3600:.1f} hours of one core.")
PY
# The tables of claims and trends alone, their repeated notes left out.
awk '/^### Not answered/ { rest = 1; print "" } rest { print; next }
     /^[0-9]+ of [0-9]+ directions/ { print ""; print }
     /^###/ { print ""; print }
     /^\| claim \|/ || /^\| trend \|/ { table = 1; print "" }
     /^$/ { table = 0 }
     table { gsub(/(; )?scale [a-z]+: runs of [0-9]+ cycles(, a sample of [0-9]+ cases)?/, ""); print }' "$folder/all.md"
