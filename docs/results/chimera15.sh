#!/usr/bin/env bash
# All of chimera15 at the standard scale: its claims and trends, and why ours differ where they do.
# usage: docs/results/chimera15.sh build/release/bin/gpumux DATABASE [SCALE] >docs/results/chimera15.md    (half an hour on two cores)
set -euo pipefail
(($# == 2 || $# == 3)) || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
"$(dirname "${BASH_SOURCE[0]}")/tables.sh" chimera15 "chimera15-fermi30" "$1" "$2" "${3:-standard}"
python3 - "$2" "${3:-standard}" <<'PY'
import collections
import json
import re
import sqlite3
import sys

# experiment -> benchmarks -> technique -> result
runs = collections.defaultdict(lambda: collections.defaultdict(dict))
with sqlite3.connect(sys.argv[1]) as database:
    discarded = dict(database.execute(
        "SELECT run_id, value FROM metrics JOIN counters ON counters.id = counter_id"
        " WHERE scope = 'app' AND name = 'discarded_thread_instructions' AND app = 0"))
    for experiment, run, policy, result in database.execute(
            "SELECT sweeps.name, runs.id, policy, result FROM sweep_runs JOIN sweeps ON sweeps.id = sweep_id JOIN runs ON runs.id = run_id"
            " WHERE sweeps.name LIKE 'chimera15/%' AND scale = ? AND role = 'run' AND state = 'done' ORDER BY sweeps.name, position",
            sys.argv[2:3]):
        result = json.loads(result)
        result["discarded"] = discarded.get(run, 0)
        apps = tuple(re.split("[/:]", app["app"])[1] for app in result["apps"])
        technique = re.search(r"preempt=([a-z-]+)", policy)
        technique = (technique[1] if technique else policy) + (" (sm)" if "switch_overhead=sm" in policy else "")
        limit = re.search(r"limit=(\d+)us", policy)
        runs[experiment[10:]][apps][technique, int(limit[1]) if limit else 0] = result


def row(*cells):
    print("| " + " | ".join(map(str, cells)) + " |")


def late(result):
    """Per cent of preempted SMs that were handed over late or not at all."""
    policy = result["metrics"]["policy"]
    given_up = policy["preemptions_given_up"]
    return 100 * (policy["preemptions_over_limit"] + given_up) / max(1, policy["preemptions"] + given_up)


def useful(result):
    app = result["apps"][0]
    return app["thread_instructions"] - result["discarded"] - app["policy"]["late_thread_instructions"]


def mean(values):
    values = list(values)
    return sum(values) / len(values)


periodic = runs["periodic"]
techniques = ["switch", "drain", "flush", "chimera"]
print("\n## The periodic task, by benchmark\n")
print("Late: per cent of the preempted SMs that were handed over after 15 us, or not at all. Overhead: throughput lost, in per cent. `(sm)`:")
print("Chimera with `switch_overhead=sm`.\n")
row("benchmark", "SMs preempted", *(f"late: {t}" for t in techniques), *(f"overhead: {t}" for t in techniques + ["chimera (sm)"]))
print("|---|" + "---:|" * (2 * len(techniques) + 2))
rows = []
for (benchmark, _), of in periodic.items():
    cells = [of["chimera", 15]["metrics"]["policy"]["preemptions"]]
    cells += [late(of[t, 15]) for t in techniques]
    cells += [100 * (1 - useful(of[t, 15]) / useful(of["ideal", 15])) for t in techniques + ["chimera (sm)"]]
    rows.append(cells)
    row(benchmark, cells[0], *(f"{cell:.1f}" for cell in cells[1:]))
row("mean", *(f"{mean(column):.1f}" for column in zip(*rows)))

print("\n## How Chimera preempts blocks, by limit\n")
print("Per cent of the preempted blocks, mean over benchmarks.\n")
row("limit, us", "switched", "drained", "flushed")
print("|---:|---:|---:|---:|")
for limit in (5, 10, 15, 20):
    shares = []
    for of in runs["techniques"].values():
        policy = of["chimera", limit]["metrics"]["policy"]
        counts = [policy[f"preempted_blocks_{way}"] for way in ("switched", "drained", "flushed")]
        shares.append([100 * count / max(1, sum(counts)) for count in counts])
    row(limit, *(f"{mean(column):.1f}" for column in zip(*shares)))

print("\n## LUD with each other benchmark\n")
print("Normalized IPC of LUD and of the other.\n")
columns = [("fcfs", 0)] + [(t, 30) for t in techniques]
row("the other", *(name for name, _ in columns))
print("|---|" + "---:|" * len(columns))
for (_, other), of in runs["lud"].items():
    cells = []
    for column in columns:
        ipcs = [app["normalized_ipc"] for app in of[column]["apps"]]
        cells.append(" ".join(f"{ipc:.2g}" if ipc < 0.01 else f"{ipc:.2f}" for ipc in ipcs))
    row(other, *cells)
PY
cat <<'TEXT'

## Why

- **Most sizes are undecided** because the 14 benchmarks differ by more than the mean (first table).
- **Overhead (figures 7, 8b)** is over all SMs and the whole run, in which half of the SMs change hands once per millisecond. A switch takes
  14.5 us each way, so that it can cost 1.5% at most. The paper's 12.2% would fit 29 us of the 229 us in which a preempted SM is away; it does not
  say what the overhead refers to. So switching, which the paper finds dearer than draining, is the cheapest technique here, and the paper's order of
  techniques is not seen. Flushing loses most, as in the paper: at HW, LC and MUM, whose blocks run for milliseconds.
- **Draining** loses where an SM runs half empty until its last block ends: HW, KM and SAD.
- **Reading of a switched block's cost.** With the cost of the whole SM for each block, Chimera flushes and drains where it would switch, which matters
  for KM and SAD alone.
- **Late SMs (figures 6, 8a).** Switching is late where the context takes longer than 15 us, draining where blocks do
  ([chimera15-table2.md](chimera15-table2.md)). Flushing is late in none: BT and FWT, which the paper names, have blocks of 4 to 30 us but for FWT.2, and
  those that may not be flushed are drained in time. CP and LUD hold no more than half of the SMs at these moments, so that none is preempted.
- **The estimates (section 4.1).** Chimera's late SMs are MUM's, whose blocks differ much: it expected them to drain in time.
- **ANTT (figure 10, section 4.4)** against FCFS is that of the pairs that progress. Beside KM, LC and SAD, each of LUD's launches waits for a kernel that
  is longer than the run. These pairs have the largest gains, so the paper's means, which have them, are larger.
- **STP (figure 11)** of switching is larger than the paper's, since here it costs 14.5 us in any case, while draining waits for the blocks of CP, HW, KM,
  LC, MUM and ST (last table: LUD's speed).
- **LUD/SAD**: Chimera is not below draining. Our SAD.0 drains three times slower than the paper's, so that draining is late beside it.
TEXT
echo
"$(dirname "${BASH_SOURCE[0]}")/fingerprint.py" chimera15.md
