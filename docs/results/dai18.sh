#!/usr/bin/env bash
# Figure 12 of dai18 over all 78 pairs, 2 million cycles each, and why headlines differ where they do (dai18-why.md).
# usage: docs/results/dai18.sh build/release/bin/gpumux DATABASE [JOBS] >docs/results/dai18.md   (40 minutes on two cores)
# Runs that the database has are not repeated. From the root of the project.
set -euo pipefail
gpumux=$1
database=$2
jobs=${3:-2}
page=$(mktemp)
trap 'rm -f "$page"' EXIT
"$gpumux" reproduce dai18/fig12 --scale paper --db "$database" --jobs "$jobs" --quiet --markdown "$page"
echo "# dai18, figure 12: all 78 pairs, 2 million cycles each"
echo
echo "Made by \`docs/results/dai18.sh\` with $(sed -n 's/^Scale paper, \(.*\)\.$/\1/p' "$page"), on dai18-maxwell."
echo
sed -n '/^### dai18\/fig12/,/^### Not answered/{/^### Not answered/!p}' "$page"
echo
python3 - "$database" <<'PY'
import json
import sqlite3
import sys

C = {"cp", "hs", "dc", "pf", "bp", "bs", "st"}
pairs = {}
for policy, text in sqlite3.connect(sys.argv[1]).execute(
        "select policy, result from runs where state = 'done' and cycle_limit = 2000000"):
    result = json.loads(text)
    apps = tuple(app["app"].split("/")[1] for app in result["apps"])
    if len(apps) == 2:
        pairs.setdefault(apps, {})[policy] = result
policies = ["spatial:surplus=keep", "ws", "ws,memory=qbmi", "ws,memory=dmil"]
pairs = {apps: of for apps, of in pairs.items() if all(policy in of for policy in policies)}
rest = [of for apps, of in pairs.items() if "ax" not in apps]
print(f"mean weighted speedup of the {len(rest)} pairs without ax (ratio):\n\n| policy | |\n|---|---:|")
for policy in policies:
    print(f"| {policy} | {sum(of[policy]['metrics']['weighted_speedup'] for of in rest) / len(rest):.4g} |")
mixed = [(apps, of, 0 if apps[0] in C else 1) for apps, of in pairs.items() if len(C & set(apps)) == 1 and apps[0] != apps[1]]
def compute(of, policy, i):
    return of[policy]["apps"][i]
slower = sum(compute(of, policies[3], i)["normalized_ipc"] < compute(of, "ws", i)["normalized_ipc"] for _, of, i in mixed)
held = [f"{a}+{b}" for (a, b), of, i in mixed
        if sum(l == 1 for l in compute(of, policies[3], i)["memory_control"]["limits"]) * 2
        >= len(compute(of, policies[3], i)["memory_control"]["limits"])]
print(f"\nOf {len(mixed)} C+M pairs: kernel C slower with DMIL than without in {slower}; at a limit of 1 on half of the SMs or "
      f"more at the end of the run in {len(held)}: {', '.join(sorted(held))}.")
PY
cat docs/results/dai18-why.md
echo
"$(dirname "${BASH_SOURCE[0]}")/fingerprint.py" dai18.md
