#!/usr/bin/env bash
# All of awatramani17 at the quick scale: its claims and trends, and why ours differ where they do.
# usage: docs/results/awatramani17.sh build/release/bin/gpumux DATABASE >docs/results/awatramani17.md    (23 minutes on two cores)
set -euo pipefail
[ $# -eq 2 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
"$(dirname "${BASH_SOURCE[0]}")/tables.sh" awatramani17 "awatramani17-m2090, -k20x and -onac32" "$1" "$2"
cat <<'TEXT'

## Why

- **Warp schedulers** (Figure 3.7). Greedy is ahead in both forms on both of backprop's, both of the B+ tree's and on SRAD's kernel, as in the thesis; phase-aware is near the better
  one, by a third of the thesis' percentages. Its kernels are machine code of GPGPU-Sim's PTXPlus, compiled for Fermi by nvcc of its day, with shortest phases of 3 to 40
  cycles and longest of up to 1159; ours come from today's nvcc.
- **Who changes sides**: FWT and Heartwall are 0.3 and 4% faster greedily, the histogram, Monte Carlo, DXTC, k-means and LUD 0.4 to 10% in turn. LUD is 13% slower phase-aware in one level: all warps
  wait for shared memory in one phase. Heartwall's blocks have 512 threads instead of 256, so that two are on an SM, not four.
- **Idle time** (Figure 3.8): means of relative changes over kernels are mostly those of kernels that hardly idle (FWT, Monte Carlo, backprop's first: 0.2 to 8% of their time).
- **Perf-Sat** (Figures 4.5 to 4.7) ends up to three blocks above the empirical best (SRAD-5): by the thesis' rule one block more has to gain 2%, while Perf-Sat goes on as long as
  stalls fall. Its losses are the search's: it begins with half of the blocks and lasts for up to eight times the time that fills an SM, most of the run where a grid of 8192 blocks
  is an eighth of the thesis' (the B+ tree, Pathfinder: 12 to 14% on the K20X), and all of the run for Gaussian's many launches. CFD gains 17 and 38%, Gaussian loses 14 and 8%: that is the mean of the MEM kernels.
- **ONAC** (Figures 4.12, 4.14 to 4.16) comes within one of the fewest cores for 10 of the 13 kernels of type A, with fewer samples than Seq-Det for 9. For the eight that need fewer than 31
  cores it saves 23% of energy, at a median loss of 1.6%. k-means is twice as fast on 10 to 14 cores as on 32, whose warps evict each other's lines from L2, so that the mean loss is a gain;
  without it the mean is 3%: one sample of one core lasts 10 to 20% of a grid that is a quarter of the thesis'.
- **Kernels that need all cores here**: the B+ tree's second, the first of DCT (through the texture cache) and, but for one core, LUD, FWT and merge sort. Of type B, Pathfinder, texture convolution and
  backprop's first are within 2% from 24 to 27 cores on: they reach 80 to 90% of the DRAM's bandwidth.
- **BP-K2** is within 2% with the first estimate, 9 cores; the thesis goes on to 12. Up to 9 cores arithmetic hides nearly all of memory's latency, as in the thesis (Figure 4.9).
- **Type B loses** 5% instead of 2%, and searches take 10 to 60% of runs instead of 4%, as grids are a tenth to a half of the thesis': DXTC, of 4096 blocks, loses 19%, the others 1 to 5%.
- **Heartwall** computes for half of the time of an SM, not a fifth: with blocks of 512 threads both arithmetic and accesses are in flight nearly always.
- **LUD's tail** (Figure 3.11): greedy in two levels is a third below in turn, not 2.5 times above.
- **add beside stream** (Figures 5.3 to 5.9): interleaved, arithmetic in flight rises and fewer warps wait for the load/store unit, as in the thesis. Accesses in flight
  fall: the stream's no longer queue behind each other. Arithmetic stalls depend on whether the turns of the two schedulers fall into the same cycle.
- **Rodinia pairs** (Figure 5.10), each kernel with its optimal number of blocks: CFD beside Pathfinder and backprop gains 18 and 20%, and Gaussian raises the IPC of both by 9 and 25%. Optima of
  CFD, Pathfinder, backprop and LUD (2 to 5 blocks) hardly fit an SM together and are scaled down; LUD beside Pathfinder or backprop loses 3%, as each of them issues in most cycles alone. Nothing is near the ideal, in
  which the shorter kernel costs nothing.
- **Blocks** (Figure 4.3): SRAD's fifth kernel and LUD stop gaining with two and four blocks on the M2090 and lose nothing with more.
- **Backprop's first kernel** and SRAD-6 have fewer pipeline stalls with six blocks than with one or three: something issues nearly always.
TEXT
echo
"$(dirname "${BASH_SOURCE[0]}")/fingerprint.py" awatramani17.md
