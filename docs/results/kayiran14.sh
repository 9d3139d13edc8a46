#!/usr/bin/env bash
# All of kayiran14 at the standard scale: its claims and trends, application by application, and why ours differ where they do.
# usage: docs/results/kayiran14.sh build/release/bin/gpumux DATABASE [SCALE] >docs/results/kayiran14.md    (three hours on two cores)
set -euo pipefail
(($# == 2 || $# == 3)) || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
here=$(dirname "${BASH_SOURCE[0]}") scale=${3:-standard}
"$here/tables.sh" kayiran14 "kayiran14-hetero and -small3x3" "$1" "$2" "$scale"
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
"$1" reproduce kayiran14 --scale "$scale" --db "$2" --json "$folder/quantities.json" --quiet
PYTHONPATH="$here" python3 - "$2" "$here/../.." "$scale" "$folder/quantities.json" <<'PY'
import collections
import json
import pathlib
import sqlite3
import sys
import tomllib

from page_tables import head, number, quantities, row

database, root, scale = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
values = quantities(sys.argv[4])
printed = {kernel["name"].lower(): kernel for kernel in tomllib.loads((root / "experiments/claims/kayiran14.toml").read_text())["benchmark"]
           if kernel["table"] == "Table II"}


with sqlite3.connect(database) as connection:
    def runs(experiment):
        """Applications, policy, counters by scope and name, result of each run."""
        for run, policy, result in connection.execute(
                "SELECT runs.id, policy, result FROM sweep_runs JOIN sweeps ON sweeps.id = sweep_id JOIN runs ON runs.id = run_id"
                " WHERE sweeps.name = ? AND scale = ? AND role = 'run' AND state = 'done' ORDER BY position", (experiment, scale)).fetchall():
            counters = {(scope, name): value for scope, name, value in connection.execute(
                "SELECT scope, name, value FROM metrics JOIN counters ON counters.id = counter_id WHERE run_id = ?"
                " AND scope IN ('gpu', 'partitions')", (run,))}
            result = json.loads(result)
            yield [app["app"].split("/")[-1] for app in result["apps"]], policy, counters, result

    print("\n## Applications alone\n")
    print("By the limit of warps on each SM (Table II): the limits that the paper finds best and that are best here, what the best gains over 48 warps, and with 48")
    print("warps: LLC accesses that miss, and the part of DRAM's bandwidth that is used. Thousands of cycles: how long the counted instructions take.\n")
    head("application", "type", "paper: best", "best", "gain, %", "LLC misses, %", "DRAM, %", "thousands of cycles", text=2)
    alone = collections.defaultdict(dict)
    for apps, policy, counters, result in runs("kayiran14/tlp"):
        if apps:
            alone[apps[0]][int(policy.rsplit(":", 1)[1])] = (counters, result)
    for name, of in alone.items():
        cycles = {limit: result["cycles"] for limit, (_, result) in of.items()}
        best = min(cycles, key=lambda limit: (cycles[limit], -limit))
        counters, result = of[48]
        row(name, printed[name]["type"], printed[name]["optimal_tlp"], best, number(100 * (cycles[48] / cycles[best] - 1), 0),
            number(100 * counters["gpu", "l2_misses"] / max(1, counters["gpu", "l2_accesses"]), 0),
            number(100 * result["gpu"]["dram_bandwidth_utilization"], 0), number(cycles[48] / 1000, 0))

    pairs = values["pairs"]
    schemes = {"dyncta": "DYNCTA", "cpu": "CM-CPU", "bal1": "CM-BAL1", "bal2": "CM-BAL2", "bal3": "CM-BAL3", "bal4": "CM-BAL4"}
    names = [name for name in printed if f"app_gpu_{name}_cpu" in pairs and pairs[f"app_gpu_{name}_cpu"] is not None]
    for title, quantity, text in (("GPU speedup", "app_gpu", "GPU speedup over no scheme, mean over the mixes of CPU programs."),
                                  ("CPU weighted speedup", "app_cpus", "CPU weighted speedup over no scheme, mean over the mixes."),
                                  ("Warps", "app_warps", "Mean limit of warps on an SM.")):
        columns = {scheme: label for scheme, label in schemes.items() if any(f"{quantity}_{name}_{scheme}" in pairs for name in names)}
        print(f"\n## {title} by application\n\n{text}\n")
        head("application", "type", *columns.values(), text=2)
        for name in names:
            row(name, printed[name]["type"], *(number(pairs.get(f"{quantity}_{name}_{scheme}"), 1 if quantity == "app_warps" else 2) for scheme in columns))

    levels = values["levels"]
    print("\n## What the memory side waits for\n")
    print("Beside 14 omnetpp with 48 warps, of the eight partitions, on average over time (Figure 8): those whose controller's queue is full (stall_MC, section 3.2.1:")
    print("requests that stall since a controller is full), those that take no packet for any reason, and those whose replies find the network full (stall_net).\n")
    head("application", "queue full", "partition takes none", "network full")
    for name in printed:
        if levels.get(f"mc_{name}_w48") is not None:
            row(name, *(number(levels.get(f"{what}_{name}_w48"), 3) for what in ("mc", "partition", "net")))
PY
echo
"$here/fingerprint.py" kayiran14.md
