#!/usr/bin/env bash
# What the ledger of interference says that victims lose, beside what they do lose.
# usage: docs/results/ledger.sh build/release/bin/gpumux >docs/results/ledger.md    (3 minutes on two cores)
set -euo pipefail
[ $# -eq 1 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
python3 - "$1" <<'PYTHON'
import json, math, os, subprocess, sys, tempfile
from concurrent.futures import ThreadPoolExecutor

gpumux = sys.argv[1]
folder = tempfile.TemporaryDirectory()
cycles = 200_000
machine = "dai18-maxwell"


def run(name, *arguments):
    path = f"{folder.name}/{name}.json"
    subprocess.run([gpumux, "run", *arguments, "--machine", machine, "--cycles", str(cycles), "--json", path, "--quiet",
                    "--baseline", "off"], check=True)
    return json.load(open(path))


listed = json.loads(subprocess.run([gpumux, "list", "apps", "--json"], check=True, capture_output=True).stdout)
apps = [app["name"] for app in listed["apps"] if "/" not in app["name"]]
# Each meets those that come 1, 3, 7 and 11 behind it in the list, each on half of the SMs; alone, it has as many.
pairs = [(i, (i + step) % len(apps)) for i in range(len(apps)) for step in (1, 3, 7, 11)]
interval = 1000
with ThreadPoolExecutor(os.cpu_count()) as pool:
    alone = list(pool.map(lambda i: run(f"alone-{i}", apps[i], "add:at=1s", "--policy", "mps:50/50", "--series", str(interval)), range(len(apps))))
    together = list(pool.map(lambda p: run(f"pair-{p[0]}-{p[1]}", apps[p[0]], apps[p[1]], "--policy", "mps:50/50", "--ledger", "on"), pairs))


def cycles_alone(app, instructions):
    """Core cycles until the application has so many alone."""
    before = 0
    for i, added in enumerate(alone[app]["series"]["apps"][0]["thread_instructions"]):
        if before + added >= instructions:
            return (i + (instructions - before) / max(added, 1)) * interval
        before += added
    return cycles


rows = []
for (victim, culprit), shared in zip(pairs, together):
    for who, other in ((0, 1), (1, 0)):
        app = (victim, culprit)[who]
        done = shared["apps"][who]["thread_instructions"]
        if not done:
            continue
        lost = 1 - cycles_alone(app, done) / cycles
        said = {e["place"]: e["lost_share"] for e in shared["ledger"] if e["victim"] == who}
        place = max(said, key=said.get) if said else "-"
        rows.append((apps[app], apps[(victim, culprit)[other]], lost, sum(said.values()), place))


def correlation(pairs):
    n = len(pairs)
    mx, my = sum(x for x, _ in pairs) / n, sum(y for _, y in pairs) / n
    over = sum((x - mx) * (y - my) for x, y in pairs)
    return over / math.sqrt(sum((x - mx) ** 2 for x, _ in pairs) * sum((y - my) ** 2 for _, y in pairs))


version = subprocess.run([gpumux, "--version"], check=True, capture_output=True, text=True).stdout.strip()
print("# The ledger of interference beside measured slowdowns\n")
print(f"Made by `docs/results/ledger.sh` with {version}, on {machine}: runs of {cycles:,} cycles, two applications on 8 of the 16 SMs "
      "each (`mps:50/50`), beside each alone on its 8 SMs. Lost: 1 - cycles that it takes alone for as many instructions / "
      "cycles together. Said: what [the ledger](../ledger.md) adds up to for the victim.\n")
print(f"Correlation of the two over {len(rows)} victims: **{correlation([(r[2], r[3]) for r in rows]):.3f}**; "
      f"mean of |lost - said|: {100 * sum(abs(r[2] - r[3]) for r in rows) / len(rows):.1f} points.\n")
shown = 50
print(f"The {shown} that lose most:\n")
print("| victim | beside | lost | said | most at |")
print("|---|---|---:|---:|---|")
for row in sorted(rows, key=lambda r: -r[2])[:shown]:
    print(f"| {row[0]} | {row[1]} | {100 * row[2]:.1f}% | {100 * row[3]:.1f}% | {row[4]} |")
PYTHON
echo
"$(dirname "${BASH_SOURCE[0]}")/fingerprint.py" ledger.md
