#!/usr/bin/env bash
# All of kayiran14 at the quick scale: its claims and trends, and why ours differ where they do.
# usage: docs/results/kayiran14.sh build/release/bin/gpumux DATABASE >docs/results/kayiran14.md    (33 minutes on two cores)
set -euo pipefail
[ $# -eq 2 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
"$(dirname "${BASH_SOURCE[0]}")/tables.sh" kayiran14 "kayiran14-hetero and -small3x3" "$1" "$2"
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
"$1" reproduce kayiran14/pairs --scale quick --db "$2" --markdown "$folder/pairs.md" --quiet
echo
awk '/by application \(/ { print ""; print; print ""; table = 1; next } table && /^\|/ { print; seen = 1; next } table && seen { table = seen = 0 }' "$folder/pairs.md"
cat <<'TEXT'

## Why

- **CPU cores suffer far more than the GPU** (Figure 1): together they keep 43% of their speed alone, the GPU 93%. CM-CPU lifts them and costs Type-H (bp, path), CM-BAL1
  costs those 2 to 5% and helps all others, and from CM-BAL1 to 4 the GPU's gain falls and the CPUs' rises, as in the paper.
- **Means are larger** because of Type-L: iix is three times as fast with a few warps, whose lines stay in L1, and mum half again as fast. With a third of workloads of that type
  CM-CPU gains 11% on the GPU, where the paper loses as much: Type-H loses 16% and Type-M 2% here, and the paper does not print the sizes by type. By Table II iix is best with one
  warp; how much it gains there is not printed either.
- **Inputs lie in the last-level cache**: ours are of 1 to 6 MB, it has 8. Of the accesses of bfs, iix, mum, mst and pvr 1 to 5% miss there, and DRAM is used for 2 to 15% of
  the time. So replies of five flits fill the reply network before requests fill DRAM's queues, and stall_net is above stall_MC for all but bp (Figure 8, the other way round);
  mcf beside pvr loses 37%, not 84, and pvr 5%, not 20. bp and path, of whose accesses 36 and 90% miss, use 57 and 91% of DRAM's bandwidth.
- **DYNCTA** begins with half of the blocks that fit and takes one more or less each 2048 cycles: path ends after 130,000 cycles, in which it loses a third. For iix, with two
  blocks on an SM, it does nothing.
- **perlbench** is not insensitive at quick: 20,000 instructions do not warm its L2, and what misses for the first time waits for the GPU, with fewer warps less. The paper warms up 500,000.
- **CM-BAL1 below CM-CPU on the GPU** happens for iix and mst by up to 6%: what it has learned of stall_GPU is void at each launch, and theirs last for
  some 20 samples.
- **3G1C beside dedicated controllers** (Figure 5): with 1G7C and 4G4C cores of omnetpp gain from 3G1C up to 75%, where the paper finds the shared network best: nothing else competes with
  them there, and DRAM is not short of bandwidth.
- **Fewer CPU cores** (section 4): 8 instead of 14 change the GPU by 2.5 to 4.6%, the paper says 2 to 3.
- **GPU cores in a tile**: what CM-BAL1 gains grows with their number (8, 15 and 20% on the GPU), as more of them fill the network more; the paper finds little difference.
- **iix alone** is fastest with four warps, not with one or two: its 56 blocks leave two for an SM, of eight warps each.
- **LLC accesses** are counted per cycle, not per workload: runs end with the slowest core, so that a faster GPU does more.
TEXT
echo
"$(dirname "${BASH_SOURCE[0]}")/fingerprint.py" kayiran14.md
