#!/usr/bin/env bash
# All of dai18 at the standard scale: its claims and trends, and why ours differ where they do.
# usage: docs/results/dai18.sh build/release/bin/gpumux DATABASE [SCALE] >docs/results/dai18.md    (an hour and a half on two cores)
set -euo pipefail
(($# == 2 || $# == 3)) || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
"$(dirname "${BASH_SOURCE[0]}")/tables.sh" dai18 "dai18-maxwell" "$1" "$2" "${3:-standard}"
python3 - "$2" "${3:-standard}" <<'PY'
import collections
import json
import re
import sqlite3
import sys

COMPUTE = {"cp", "hs", "dc", "pf", "bp", "bs", "st"}
# applications -> policy -> result
pairs = collections.defaultdict(dict)
with sqlite3.connect(sys.argv[1]) as database:
    for policy, result in database.execute(
            "SELECT policy, result FROM sweep_runs JOIN sweeps ON sweeps.id = sweep_id JOIN runs ON runs.id = run_id"
            " WHERE sweeps.name = 'dai18/fig12' AND scale = ? AND role = 'run' AND state = 'done' ORDER BY position", sys.argv[2:3]):
        result = json.loads(result)
        pairs[tuple(app["app"].split("/")[1] for app in result["apps"])][policy] = result
    alone = {app.split("/")[1]: json.loads(result)["gpu"] for app, result in database.execute(
        "SELECT alone.app, runs.result FROM sweep_runs JOIN sweeps ON sweeps.id = sweep_id JOIN apps ON apps.run_id = sweep_runs.run_id"
        " JOIN runs ON runs.id = apps.isolated_run_id JOIN apps alone ON alone.run_id = runs.id"
        " WHERE sweeps.name = 'dai18/fig12' AND scale = ? GROUP BY alone.app", sys.argv[2:3])}
policies = {"spatial": "spatial:surplus=keep", "ws": "ws", "ws-qbmi": "ws,memory=qbmi", "ws-dmil": "ws,memory=dmil"}
pairs = {apps: of for apps, of in pairs.items() if all(policy in of for policy in policies.values())}


def row(*cells):
    print("| " + " | ".join(map(str, cells)) + " |")


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def classes(apps):
    return "+".join(sorted("C" if app in COMPUTE else "M" for app in apps))


def metric(of, policy, name):
    return of[policies[policy]]["metrics"][name]


print("\n## Without one application\n")
print("Figure 12: mean weighted speedup of the pairs that do not have the application, and what DMIL and QBMI add to Warped-Slicer.\n")
row("without", "pairs", *policies, "DMIL adds, %", "QBMI adds, %")
print("|---|" + "---:|" * (len(policies) + 3))
everyone = sorted({app for apps in pairs for app in apps}, key=lambda app: (app not in COMPUTE, app))
for without in [None] + everyone:
    chosen = [of for apps, of in pairs.items() if without not in apps]
    speedups = {policy: mean(metric(of, policy, "weighted_speedup") for of in chosen) for policy in policies}
    row(without or "-", len(chosen), *(f"{speedup:.3f}" for speedup in speedups.values()),
        f"{100 * (speedups['ws-dmil'] / speedups['ws'] - 1):.1f}", f"{100 * (speedups['ws-qbmi'] / speedups['ws'] - 1):.1f}")

print("\n## What DMIL does to whom\n")
print("Figure 12: normalized IPC, mean over the application's pairs. *Starved*: pairs in which it is below a quarter of its speed alone. Last: what it")
print("uses when it is alone, in percent of the issue slots and of the DRAM's bandwidth.\n")
row("application", "class", "ws", "ws-qbmi", "ws-dmil", "faster with DMIL", "slower", "starved in ws", "starved in ws-dmil", "alone: issue", "DRAM")
print("|---|---|" + "---:|" * 9)
for name in everyone:
    ipcs = collections.defaultdict(list)
    for apps, of in pairs.items():
        if name in apps:
            for policy in policies:
                ipcs[policy].append(of[policies[policy]]["apps"][apps.index(name)]["normalized_ipc"])
    row(name, "C" if name in COMPUTE else "M", *(f"{mean(ipcs[policy]):.2f}" for policy in ("ws", "ws-qbmi", "ws-dmil")),
        sum(after > 1.02 * before for before, after in zip(ipcs["ws"], ipcs["ws-dmil"])),
        sum(after < 0.98 * before for before, after in zip(ipcs["ws"], ipcs["ws-dmil"])),
        sum(ipc < 0.25 for ipc in ipcs["ws"]), sum(ipc < 0.25 for ipc in ipcs["ws-dmil"]),
        round(100 * alone[name]["scheduler_cycles"]["issued"] / sum(alone[name]["scheduler_cycles"].values())),
        round(100 * alone[name]["dram_bandwidth_utilization"]))

print("\n## By class of the pair\n")
print("Figure 12: means over the pairs. In brackets without the pairs of ax.\n")
row("classes", "pairs", *(f"{metric_name}: {policy}" for metric_name in ("weighted speedup", "ANTT", "fairness") for policy in ("ws", "ws-qbmi", "ws-dmil")))
print("|---|---:|" + "---:|" * 9)
for kind in ("C+C", "C+M", "M+M"):
    def cell(policy, name):
        of_kind = [(apps, metric(of, policy, name)) for apps, of in pairs.items() if classes(apps) == kind]
        without = [value for apps, value in of_kind if "ax" not in apps]
        both = mean(value for _, value in of_kind)
        return f"{both:.2f}" if len(without) == len(of_kind) else f"{both:.2f} ({mean(without):.2f})"
    row(kind, sum(classes(apps) == kind for apps in pairs),
        *(cell(policy, name) for name in ("weighted_speedup", "antt", "fairness") for policy in ("ws", "ws-qbmi", "ws-dmil")))

held = collections.Counter()
for apps, of in pairs.items():
    for app in of[policies["ws-dmil"]]["apps"]:
        limits = app.get("memory_control", {}).get("limits", [])
        if limits and 2 * sum(limit == 1 for limit in limits) >= len(limits):
            held[classes(apps), app["app"].split("/")[1]] += 1
print("\nAt the end of the run, DMIL allows one memory instruction at a time on at least half of the SMs to: "
      + (", ".join(f"{name} in {count} pairs ({of})" for (of, name), count in sorted(held.items())) or "nobody") + ".")
PY
echo
"$(dirname "${BASH_SOURCE[0]}")/fingerprint.py" dai18.md
