#!/usr/bin/env python3
"""Kernels that share an H100, beside the simulator: from what validation/h100/ has recorded of both.
usage: docs/results/sharing-hardware.py >docs/results/sharing-hardware.md    (a second)
"""
import json
import os
import subprocess

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../validation/h100")
SHOWN = [("add20", "stream3"), ("add20", "hotspot"), ("add20", "blackscholes"), ("add20", "histogram"), ("stream3", "blackscholes"),
         ("stream3", "pathfinder"), ("nn", "blackscholes"), ("hotspot", "pathfinder"), ("sgemm", "nn"), ("pathfinder", "histogram")]


def read(name):
    with open(f"{FOLDER}/{name}.json") as file:
        return json.load(file)


def ranks(values):
    order = sorted(range(len(values)), key=lambda i: values[i])
    rank = [0.0] * len(values)
    i = 0
    while i < len(order):
        j = i
        while j + 1 < len(order) and values[order[j + 1]] == values[order[i]]: j += 1
        for k in range(i, j + 1): rank[order[k]] = (i + j) / 2
        i = j + 1
    return rank


def correlation(x, y):
    mx, my = sum(x) / len(x), sum(y) / len(y)
    top = sum((a - mx) * (b - my) for a, b in zip(x, y))
    return top / (sum((a - mx) ** 2 for a in x) * sum((b - my) ** 2 for b in y)) ** 0.5


hardware, schedulers = read("share"), {"gto": read("simulated_gto"), "lrr": read("simulated_lrr")}
alone = {row["kernel"]: row for row in hardware if row["kind"] == "alone"}
names = [key.split("/")[0] for key in schedulers["gto"] if key.endswith("/2")]
pairs = [row for row in hardware if row["kind"] == "pair" and row["a"] in names and row["b"] in names]


def ours(scheduler, first, second):
    """Slowdowns of both."""
    sim = schedulers[scheduler]
    return [sim[f"{kernel}/2"][0] / max(ipc, 1e-3) for kernel, ipc in zip((first, second), sim[f"{first}+{second}"])]


# kernel, beside, first, hardware's slowdown, gto's, lrr's
rows = []
for p in pairs:
    for first, second, theirs in ((p["a"], p["b"], p["even"]), (p["b"], p["a"], p["even_b_first"][::-1])):
        both = [ours(s, first, second) for s in ("gto", "lrr")]
        rows.append((first, second, first, theirs[0], both[0][0], both[1][0]))
        rows.append((second, first, first, theirs[1], both[0][1], both[1][1]))


def compared(what, rows):
    h = [r[3] for r in rows]
    cells = []
    for s in (4, 5): cells.append(sum(abs(1 / r[3] - 1 / r[s]) for r in rows) / len(rows))
    for s in (4, 5): cells.append(correlation(ranks(h), ranks([r[s] for r in rows])))
    print(f"| {what} | {len(rows)} | {cells[0]:.3f} | {cells[1]:.3f} | {cells[2]:.2f} | {cells[3]:.2f} |")


def is_add(name): return name.startswith("add")


print(f"""# Sharing an SM: beside an H100

What [validation/h100](../../validation/h100/README.md) recorded of an NVIDIA H100 80GB HBM3 at 1980 MHz, and of gpumux on `h100-measured`. Latencies
and bandwidths of the part alone: [measured.md](measured.md). Made by `docs/results/sharing-hardware.py`; the simulator's numbers by `validation/h100/simulate.py`
and `table5_2.py`.

## Two kernels on every SM

{len(names)} kernels of `benchmarks/`, all {len(pairs)} pairs, each with either one first. Blocks stay on their SMs and take one block of the grid after another;
each kernel has half of the places of every SM. A slowdown is the rate alone, on all places, over the rate beside the other. On the part in windows of
4 ms; ours is the same code on a quarter of the machine (33 SMs, 10 L2 partitions and their channels), in 60,000 cycles, with warp scheduler `gto`, which `h100-measured`
has, and `lrr`, which `v100` has from Accel-Sim. Slowdowns of the first and second kernel of a line's pair:

| pair | first began first: part | gto | lrr | second began first: part | gto | lrr | half of the SMs each: part |
|---|---|---|---|---|---|---|---|""")
for a, b in SHOWN:
    p = next(p for p in pairs if (p["a"], p["b"]) == (a, b))
    cells = [f"{p['even'][0]:.2f} / {p['even'][1]:.2f}"]
    cells += ["{:.2f} / {:.2f}".format(*ours(s, a, b)) for s in schedulers]
    cells += [f"{p['even_b_first'][0]:.2f} / {p['even_b_first'][1]:.2f}"]
    cells += ["{:.2f} / {:.2f}".format(*ours(s, b, a)[::-1]) for s in schedulers]
    cells += ["{:.2f} / {:.2f}".format(*p["spatial"])]
    print(f"| {a}, {b} | " + " | ".join(cells) + " |")
print("""
Error is the mean absolute difference of 1 / slowdown.

| slowdowns | number | error, gto | lrr | rank correlation, gto | lrr |
|---|---|---|---|---|---|""")
compared("all", rows)
compared("of pairs without sgemm", [r for r in rows if "sgemm" not in r[:2]])
compared("of pairs without add and sgemm", [r for r in rows if not any(is_add(n) or n == "sgemm" for n in r[:2])])
compared("of add", [r for r in rows if is_add(r[0])])
compared("of what is beside an add that began first", [r for r in rows if is_add(r[2]) and r[0] != r[2]])
print("\nWeighted speedup, the sum of both kernels' 1 / slowdown, of the 132: ", end="")
speedups = [[1 / rows[i][k] + 1 / rows[i + 1][k] for k in (3, 4, 5)] for i in range(0, len(rows), 2)]
means = [sum(s[k] for s in speedups) / len(speedups) for k in range(3)]
corr = [correlation(ranks([s[0] for s in speedups]), ranks([s[k] for s in speedups])) for k in (1, 2)]
print(f"{means[0]:.3f} in the mean on the part, {means[1]:.3f} with gto, {means[2]:.3f} with lrr; rank correlation {corr[0]:.2f} and {corr[1]:.2f}.")

def slow(name): return next(r[3:5] for r in rows if r[:3] == (name, "add20", "add20"))


starved = [r for r in rows if is_add(r[2]) and r[0] != r[2]]
second = [r for r in rows if is_add(r[0]) and r[2] != r[0] and not is_add(r[1])]
best = max((1 / rows[i][3] + 1 / rows[i + 1][3], rows[i][0], rows[i][1]) for i in range(0, len(rows), 2) if is_add(rows[i + 1][0]))
other = next(1 / rows[i][3] + 1 / rows[i + 1][3] for i in range(0, len(rows), 2) if rows[i][:2] == best[:0:-1])
halves = {n: (alone[n]["half_of_each_sm"] / alone[n]["blocks_per_us"],
              schedulers["gto"][f"{n}/1"][0] / schedulers["gto"][f"{n}/2"][0]) for n in names}
spatial = [sum(1 / s for s in p["spatial"]) for p in pairs]
print(f"""
What differs, and what the causes may be:

- **Which warp goes first** decides most. On the part it is the oldest block's (`order.cu`): eight equal blocks of multiply-adds end one after another, and a block that takes an
  ended one's place goes behind all that came before. It holds across kernels: a compute-bound kernel that began first runs nearly as if alone, and what is beside it
  is slowed down {min(r[3] for r in starved):.1f} to {max(r[3] for r in starved):.0f} times. Begun second, `add` beside others is slowed down {min(r[3] for r in second):.2f} to {max(r[3] for r in second):.2f} times. The best such order
  makes the shared part worth {best[0]:.2f} parts ({best[1]} before {best[2]}; {other:.2f} in the other order). `gto` is near this, `lrr` is not: with it the order makes no difference.
- **Among the other kernels** the order makes little difference on the part. With `lrr` neither; `gto` makes more of it (blackscholes beside nn).
  Errors are about the same.
- **How far it starves.** `gto` starves more than the part: beside an `add` that began first {sum(r[4] > r[3] for r in starved)} of {len(starved)} kernels are slower in ours. `sgemm` and
  `histogram` beside `add20` are slowed down {slow('sgemm')[0]:.1f} and {slow('histogram')[0]:.1f} times on the part, {slow('sgemm')[1]:.0f} and {slow('histogram')[1]:.0f} times in ours. Why is not known.
- **sgemm** issues fewer instructions alone in ours than on the part, as it waits for L2, and so loses too little beside others. Probably
  NVIDIA's compiler moves loads farther forward than our back end; this was not looked into.
- **Half of the places alone** mostly costs more on the part. Rates on half of each SM's places over those on all, part and ours:
  {", ".join(f"{n} {h:.2f} and {o:.2f}" for n, (h, o) in halves.items())}.
- **Constants.** `mri-q` of 512 samples is left out: on the part four blocks on an SM are {alone['mri-q512']['half_of_each_sm'] / alone['mri-q512']['blocks_per_us']:.1f} times as fast as eight, probably since warps drive each other's
  samples out of the cache of constants. `h100-measured` has none that misses.

**Half of the SMs each** on the part: weighted speedup {sum(spatial) / len(spatial):.2f} in the mean, {max(spatial):.2f} at most.""")
left = []
starts = []
for p in hardware:
    if p["kind"] != "pair": continue
    if "mri-q512" in (p["a"], p["b"]) or "mri_q512" in (p["a"], p["b"]): continue
    ab, ba, (a, b) = p["leftover_ab"], p["leftover_ba"], p["alone_ms"]
    left += [max(ab["end_a"], ab["end_b"]) / (a + b), max(ba["end_a"], ba["end_b"]) / (a + b)]
    starts += [ab["start_b"] / a, ba["start_a"] / b]
print(f"""
**Usual grids in two streams** on the part: the second kernel's first block begins when the first kernel has dispatched its last, after
{100 * min(starts):.0f}% to {100 * max(starts):.0f}% of the first's time alone, and both take {min(left):.3f} to {max(left):.3f} of the sum of their times alone ({len(left)} runs). Its block scheduler is `leftover`.

## Table 5.2 of awatramani17

`add` with so many loops beside `stream` with so many words, four blocks of each on an SM, each block once. Efficiency is achieved over greatest speedup.

| loops | words | greatest speedup, part | ours | efficiency, add first, part | ours | stream first, part | ours |
|---|---|---|---|---|---|---|---|""")
simulated = {(r["loops"], r["words"]): r for r in read("simulated_table5_2")}
differences = []
for h in hardware:
    if h["kind"] != "table5_2": continue
    s = simulated.get((h["loops"], h["words"]))
    cells = ["", "", ""]
    if s:
        both, most = s["add"] + s["stream"], (s["add"] + s["stream"]) / max(s["add"], s["stream"])
        values = [most, both / s["add_first"] / most, both / s["stream_first"] / most]
        cells = [f"{v:.2f}" for v in values]
        differences += [values[1] - h["efficiency"], values[2] - h["stream_first_efficiency"]]
    print(f"| {h['loops']} | {h['words']} | {h['max_speedup']:.2f} | {cells[0]} | {h['efficiency']:.2f} | {cells[1]} | {h['stream_first_efficiency']:.2f} | {cells[2]} |")
print(f"""
The thesis has 0.94, 0.86, 0.87, 0.80 for 10 loops and 1 to 4 words, 0.97, 0.92, 0.92, 0.88 for 20 loops. Ours are higher than the part's by {sum(differences) / len(differences):.2f} in the
mean, {max(differences):.2f} at most. On the part, too, efficiency falls with the words, rises from 10 to 20 and from
30 to 60 loops (each two have streams of their own length), and is mostly lower with `add` first, as the stream then waits. Unlike in the thesis, a kernel keeps to its
four blocks when the other has ended.

## What this does not say

One part, one driver, one compiler. The simulator runs a quarter of the machine for 30 us where the part runs 4 ms. Blocks that stay on their SMs are slower than the usual grid on the part:
hotspot by {alone['hotspot']['plain_blocks_per_us'] / alone['hotspot']['blocks_per_us']:.2f}, transpose by {alone['transpose']['plain_blocks_per_us'] / alone['transpose']['blocks_per_us']:.2f}, the others by {max(alone[n]['plain_blocks_per_us'] / alone[n]['blocks_per_us'] for n in names if n not in ('hotspot', 'transpose')):.2f} at most. The part's driver chooses the split of L1 and shared memory
for each kernel; ours has one split for all here.""")
print("\n" + subprocess.run([os.path.join(os.path.dirname(os.path.abspath(__file__)), "fingerprint.py"), "sharing-hardware.md"],
                           check=True, capture_output=True, text=True).stdout, end="")
