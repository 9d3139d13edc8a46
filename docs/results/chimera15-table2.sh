#!/usr/bin/env bash
# The drain times of chimera15's Table 2, kernel by kernel, beside the paper's, and why ours differ where they do.
# usage: docs/results/chimera15-table2.sh build/release/bin/gpumux DATABASE >docs/results/chimera15-table2.md    (ten minutes on two cores)
set -euo pipefail
(($# == 2)) || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
here=$(dirname "${BASH_SOURCE[0]}")
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
"$1" reproduce chimera15/table2 --scale standard --db "$2" --json "$folder/table2.json" --quiet >/dev/null
echo "# chimera15: Table 2"
echo
echo "Made by \`docs/results/chimera15-table2.sh\` with $("$1" --version), on chimera15-fermi30: each benchmark alone until its kernels have run"
echo "(\`gpumux reproduce chimera15/table2\`). *Drain*: half of the mean time of a block. Contexts, blocks of an SM and idempotence are the paper's for all 27"
echo "kernels, switching times but for LUD.1 and LC.1 (12 and 8%): \`Chimera15Table2.BlocksCountForWhatItSays\` compares them."
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
    ours, paper = quantities[f"drain{kernel}_{app}"], row["average_drain_us"]
    near = abs(ours - paper) <= paper / 3
    within += near
    name = row["kernel"].replace("_", "\\_")
    lines.append(f"| {row['name']} | {name} | {paper} | {ours:.4g} | {ours / paper:.2f} | {'yes' if near else ''} |")
print(f"\n{within} of {len(rows)} are within a third of the paper's.\n")
print("| kernel | name in the paper | paper, us | ours, us | ours / paper | within a third |")
print("|---|---|---:|---:|---:|---|")
print("\n".join(lines))
PY
cat <<'TEXT'

## Why

- **FWT.0** cannot be so fast on the machine of Table 1: its blocks read and write 8 KB, and 150 of them at a time in 4.6 us are 267 GB/s, where 177.4 GB/s is the
  peak. Ours uses 64% of that. BP.1's 1.8 us are 96% of it.
- **FWT.1, BS** issue more than the SM of Table 1 can: at 8 lanes and 1.4 GHz, 7.2 us are 105 warp instructions for each of the 48 warps of an SM. A transform of 2048
  elements in shared memory has 300. With twice the lanes (`--set sm.schedulers=2 --set unit.sp.count=2`) FWT.1 takes 7.7 us and BP.0 3.4, but HS and LC.1
  take half of the table's times.
- **BP.0** has its tree as Rodinia writes it, with an integer remainder at each level, which takes 145 cycles of GPGPU-Sim's clock. Without the remainder, unrolled, it takes 2.9 us.
- **HW.0** is the first launch, whose blocks cut out the templates. Those of a later frame drain in 1.7 ms: the table's number is not theirs.
- **KM.0, ST.0** are bound by memory: KM.0 uses 84% of the DRAM's peak, ST.0 61% of it with 56% row hits, so that nearly each line opens a row. With twice the
  queue of DRAM requests (`--set dram.queue=32`) both take a tenth less; that its columns are written in the order of the original makes a fifth of ST.0's time.
- **LC.2** takes 113 us an iteration, and our frames converge in some 420 of at most 500; the paper's time is that of 180. Its frames are not published with their
  iterations.
- **MUM.0** fetches 6 KB of nodes and letters a query from DRAM. The paper's time asks for seven times as much; matches of at least 10 letters (`least=10`) make it 2.2 times
  as long, a reference of four million letters 1.07 times. Neither is said. **MUM.1** has a thread for the six starts of a query, the original one for each match.
- **SAD.0** thrashes the 12 KB texture cache: the eight blocks of an SM lie 120 pixels apart, and their search windows take 280 lines where there are 96.
  L2's ports give 240 of the 268 GB/s that they can. **SAD.1, SAD.2** use 63% of the DRAM's peak, since their rows of 2192 bytes make L2 fetch lines that they write in part; a queue of 64
  requests instead of 16 makes it 75%.
TEXT
echo
"$here/fingerprint.py" chimera15-table2.md
