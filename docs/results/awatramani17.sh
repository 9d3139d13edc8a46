#!/usr/bin/env bash
# All of awatramani17 at the quick scale: its claims and trends, and why ours differ where they do.
# usage: docs/results/awatramani17.sh build/release/bin/gpumux DATABASE >docs/results/awatramani17.md    (18 minutes on two cores)
set -euo pipefail
[ $# -eq 2 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
"$(dirname "${BASH_SOURCE[0]}")/tables.sh" awatramani17 "awatramani17-m2090, -k20x and -onac32" "$1" "$2"
cat <<'TEXT'

## Why

- **Warp schedulers** (Figure 3.7) keep their order on the kernels that the thesis names: greedy is ahead on eight in both forms, round robin on Heartwall and
  CFD, and phase-aware is near the better one, but by half of the thesis' percentages. Its kernels are machine code of GPGPU-Sim's PTXPlus, compiled for
  Fermi by nvcc of its day, with shortest phases of 3 to 40 cycles and longest of up to 1159; ours come from today's nvcc, and grids are up to a tenth of its.
- **FWT, DXTC and Monte Carlo** change sides, by 1 to 2%. k-means' nearest_centre is 5% faster in turn than greedily in both forms, and LUD in two levels is as fast
  phase-aware as in turn; why has not been looked into.
- **Idle time** is that of the application, between kernels and where few blocks are left, too. Monte Carlo hardly idles: the mean of relative changes over
  kernels is mostly its.
- **Perf-Sat** ends up to one block above the empirical best: by the thesis' rule one block more has to gain 2%, while Perf-Sat goes on as long as stalls fall. CFD gains more
  than the thesis' memory-bound kernels; its blocks here have 64 threads instead of 192, so that many more are left out.
- **ONAC's cores** are, kernel by kernel (`cores=first:N`, `apps[].kernels[].cycles`), the fewest within 2% of all for NN (10), DCT (11), both convolutions (16 and 10) and the
  tiled transpose (3), and one less for the other transpose (10; 11).
- **ONAC and Seq-Det**. Seq-Det takes up to 24 samples on the way down where ONAC takes four or five; its searches last 83% of NN's run, 53% of DCT's, 21% of the convolutions',
  and what it saves before the run's end is little. Grids of type B are small: they lose 5% instead of 2%, as a sample of one core takes as long as in the thesis.
- **NN and DCT** take fewer cores than it takes by the 2% rule: with all cores they are slower by 1 to 2% than with 16, as row hits fall from 96.7 to 95.8% (NN) and from 85.0 to 83.2%
  (DCT).
- **Latency and cores** (Figures 4.8, 4.9) come out as in the thesis: BP-K2 is within 2% of all cores from 10 on (12), and up to 9 cores (9) arithmetic hides all of memory's
  latency but 2%; Pathfinder scales to 28 cores and hides nine tenths at 32.
- **Heartwall** computes for four fifths of the time of an SM with long blocks, not one: eight of our 16 blocks are short, and with one block an SM has
  both arithmetic and accesses in flight nearly always.
- **LUD's tail** (Figure 3.11) is of all its kernels here; greedy in two levels is a seventh below in turn, not 2.5 times above.
- **add beside stream** (Figures 5.3 to 5.9): interleaved, arithmetic in flight rises and fewer warps wait for the load/store unit, as in the thesis. Accesses in flight
  fall: the stream's no longer queue behind each other. Arithmetic stalls depend on whether the turns of the two schedulers fall into the same cycle.
- **Rodinia pairs** (Figure 5.10) gain 11 to 28%, and are far from the ideal where both take equally long; the thesis chose each kernel's number of blocks and has single
  kernels, we divide evenly and have applications.
- **Blocks** (Figure 4.3): SRAD's fifth kernel and LUD stop gaining with two and three blocks on the M2090 and lose nothing with more; on the K20X SRAD-5 falls by 3% after four.
- **Forward backprop** has fewer pipeline stalls with six blocks than with three: something issues nearly always.
TEXT
