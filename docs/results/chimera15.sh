#!/usr/bin/env bash
# All of chimera15 at the standard scale: its claims and trends, Table 2 kernel by kernel, and why ours differ where they do.
# usage: docs/results/chimera15.sh build/release/bin/gpumux DATABASE [SCALE] >docs/results/chimera15.md    (half an hour on two cores)
set -euo pipefail
(($# == 2 || $# == 3)) || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
here=$(dirname "${BASH_SOURCE[0]}")
scale=${3:-standard}
"$here/tables.sh" chimera15 "chimera15-fermi30" "$1" "$2" "$scale"
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
"$1" reproduce chimera15/table2 --scale "$scale" --db "$2" --json "$folder/table2.json" --quiet >/dev/null
python3 - "$folder/table2.json" "$here/../../experiments/claims/chimera15.toml" <<'PY'
import json
import sys
import tomllib

with open(sys.argv[1], encoding="utf-8") as file:
    quantities = {each["name"]: each["value"] for each in json.load(file)["experiments"][0]["quantities"]}
with open(sys.argv[2], "rb") as file:
    rows = [row for row in tomllib.load(file)["benchmark"] if row["table"] == "Table 2"]
lines, within = [], 0
for row in rows:
    app, kernel = row["name"].split(".")
    ours = quantities[f"drain{kernel}_{app}"]
    paper = row["average_drain_us"]
    near = abs(ours - paper) <= paper / 3
    within += near
    lines.append(f"| {row['name']} | {row['kernel'].replace('_', chr(92) + '_')} | {paper} | {ours:.4g} | {ours / paper:.2f} | {'yes' if near else ''} |")
print(f"\n## Table 2: average drain time, us\n\n{within} of {len(rows)} are within a third of the paper's.\n")
print("| kernel | name in the paper | paper | ours | ours / paper | within a third |")
print("|---|---|---:|---:|---:|---|")
print("\n".join(lines))
PY
cat <<'TEXT'

## Why

@WHY@
TEXT
echo
"$here/fingerprint.py" chimera15.md
