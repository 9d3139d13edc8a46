#!/usr/bin/env bash
# All of wang17 at the standard scale: its claims and trends, and why ours differ where they do.
# usage: docs/results/wang17.sh build/release/bin/gpumux DATABASE [SCALE] >docs/results/wang17.md    (two hours on two cores)
set -euo pipefail
(($# == 2 || $# == 3)) || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
"$(dirname "${BASH_SOURCE[0]}")/tables.sh" wang17 "wang17-16sm and wang17-56sm" "$1" "$2" "${3:-standard}"
python3 - "$2" "${3:-standard}" <<'PY'
import collections
import re
import sqlite3
import sys

# (application with a goal, the other) -> policy -> (goal reached, normalized IPC of the other)
cases = collections.defaultdict(dict)
with sqlite3.connect(sys.argv[1]) as database:
    for policy, first, own, second, other in database.execute(
            "SELECT runs.policy, a.app, a.normalized_ipc, b.app, b.normalized_ipc FROM sweep_runs JOIN sweeps ON sweeps.id = sweep_id"
            " JOIN runs ON runs.id = sweep_runs.run_id JOIN apps a ON a.run_id = runs.id AND a.position = 0"
            " JOIN apps b ON b.run_id = runs.id AND b.position = 1 WHERE sweeps.name = 'wang17/pairs' AND scale = ? AND role = 'run' AND state = 'done'",
            sys.argv[2:3]):
        goal = float(re.search(r"goal=([\d.]+)%", first)[1]) / 100
        cases[first, second][policy] = own >= goal, other
by_app = collections.defaultdict(list)
for (first, _), results in sorted(cases.items()):
    by_app[re.match(r"wang17/([^:]*)", first)[1]].append(results)
by_app["all"] = [results for rows in list(by_app.values()) for results in rows]
policies = ["qos-rollover", "qos-rollover:others=owed", "spart"]
print("## By application with a goal\n")
print("Pairs: goals reached, and the mean normalized IPC of the other application where all three policies reach the goal.\n")
print("| with a goal | cases | rollover | rollover, `others=owed` | Spart | all three | rollover leaves | `others=owed` leaves | Spart leaves |")
print("|---|" + "---:|" * 8)
for app, rows in by_app.items():
    reached = [sum(results[policy][0] for results in rows) for policy in policies]
    common = [results for results in rows if all(results[policy][0] for policy in policies)]
    left = [f"{sum(results[policy][1] for results in common) / len(common):.2f}" if common else "-" for policy in policies]
    print("| " + " | ".join(map(str, [app, len(rows), *reached, len(common), *left])) + " |")
PY
cat <<'TEXT'

## Why

- **Two readings of Rollover.** The paper prints the factor of the others' quotas with goal IPC x factor x epoch. That is `qos-rollover`
  ([qos-reference.md](../qos-reference.md)). With `others=owed`, the factor also counts the quotas that kernels with goals have kept. Over the
  90 cases of `pairs`, `others=owed` reaches 92.2% of the goals instead of 85.6%, all C+C goals among them. It leaves 1.9% less than Spart to
  the others where both reach the goal; the printed formula leaves 4.8% more. The paper has 88.4% and 15.9% more.
- **Rollover's misses.** Of 13 missed cases, four are within 0.3% of the goal (the three C+C cases among them), and four have histo with the
  goal. In the paper, histo is poor under Rollover, too, because of the profiling of epochs.
- **Naive with history** reaches 55.6% (paper 20.6%). The misses are like the paper's: 27 of 40 are within 5% of the goal, 21 within 1%. Of the
  50 reached cases, 28 exceed the goal by less than 0.5%. So this level depends on half a percent of the IPC.
- **Spart's 70% (paper 78.8%).** 13 of 27 misses have spmv or stencil with the goal, six have histo, and six others miss by less than 1%.
- **What is left to others (figures 8a, 8b, 13)** depends on the kernel with the goal (table above). Rollover leaves more than Spart where this
  kernel is cutcp, histo, spmv or stencil, and less where it is lbm. The largest differences between the two readings have lbm as the other
  application: beside mri-q with a goal of 70%, lbm keeps 0.32 with `others=owed`, 0.88 with the printed formula, and 1.01 under Spart.
- **History (section 4.8)**: without it, Rollover reaches 4.5% fewer goals (paper 86.4%). Kept quotas alone add up to the goal's instructions.
  The paper does not say under which scheme the history was switched off.
- **Trios with two goals.** Rollover reaches both goals in 37 of 60 cases, Spart in 32. Of Rollover's 23 misses, 17 are by more than 7%, 14 of
  them at goals of 55% and more for each kernel. Spart reaches one of six cases at (70,70), the paper's none.
- **56 SMs.** Both policies reach 40% of the 30 cases, with `others=owed` Rollover reaches 60%. Why fewer than with 16 SMs was not examined.
TEXT
echo
"$(dirname "${BASH_SOURCE[0]}")/fingerprint.py" wang17.md
