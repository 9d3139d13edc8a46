#!/usr/bin/env bash
# What `gpumux bench --scaling` measures on this computer, as a page.
# usage: docs/results/bench.sh build/release/bin/gpumux >docs/results/bench.md   (20 minutes, on a computer that does nothing else)
set -euo pipefail
gpumux=$1
json=$(mktemp)
trap 'rm -f "$json"' EXIT
"$gpumux" bench --scaling --repeat 5 --json "$json" >/dev/null
host=$(sed -n 's/^model name\s*: //p' /proc/cpuinfo | head -1)
python3 - "$json" "$("$gpumux" --version | head -1)" "$host" "$(nproc)" <<'PY'
import json
import sys

document = json.load(open(sys.argv[1]))
print(f"# Speed on one computer\n\nMade by `docs/results/bench.sh` with {sys.argv[2]} on {sys.argv[3]}, {sys.argv[4]} processors.")
print(f"The fastest of {document['repeats']} runs of each case, which take turns. Accel-Sim's speed is that of its QV100 model, one thread of")
print("another computer with two processors ([validation.md](../validation.md)).\n")
threads = [t["threads"] for t in document["cases"][0].get("threads", [])]
print("| kernel | machine | seconds | warp instructions/s | cycles/s | MB | times Accel-Sim |" + "".join(f" {n} threads |" for n in threads))
print("|---|---|---:|---:|---:|---:|---:|" + "---:|" * len(threads))
for case in document["cases"]:
    ratio = f"{case['reference_ratio']:.0f}" if "reference_ratio" in case else ""
    print(f"| {case['kernel']} | {case['machine']} | {case['wall_seconds']:.2f} | {case['warp_instructions_per_second']:,.0f} | "
          f"{case['cycles_per_second']:,.0f} | {case['peak_memory_bytes'] / 2**20:.0f} | {ratio} |" +
          "".join(f" {t['speedup']:.2f}x |" for t in case.get("threads", [])))
if "reference_ratio_geometric_mean" in document:
    print(f"\nGeometric mean of the traces: {document['reference_ratio_geometric_mean']:.0f} times Accel-Sim.")
titles = {"sms": "numbers of SMs, the same work for each", "applications": "numbers of applications that share SMs (even)",
          "applications_leftover": "numbers of applications, one after the other as there is room (leftover)"}
for name, entries in document.get("scaling", {}).items():
    what = "SMs" if name == "sms" else "apps"
    kernels = list(dict.fromkeys(entry["kernel"] for entry in entries))
    print(f"\nNanoseconds per warp instruction on v100, {titles[name]}:\n")
    print(f"| {what} |" + "".join(f" {entry[what]} |" for entry in entries if entry["kernel"] == kernels[0]))
    print("|---|" + "---:|" * (len(entries) // len(kernels)))
    for kernel in kernels:
        print(f"| {kernel} |" + "".join(f" {entry['nanoseconds_per_warp_instruction']:.0f} (x{entry['ratio']:.2f}) |"
                                        for entry in entries if entry["kernel"] == kernel))
PY
