#!/usr/bin/env bash
# What microbenchmarks measure of hardware, beside the machines that follow them.
# usage: docs/results/measured.sh build/release/bin/gpumux >docs/results/measured.md    (a minute)
set -euo pipefail
gpumux=$1
cat <<'TEXT'
# Beside measurements of hardware

`v100-measured` and `a100-measured` follow what was published of the parts, where `v100` is Accel-Sim's model of one; `h100-measured`
follows what [validation/h100](../../validation/h100/README.md) measured of an H100. Latencies of L1, L2 and DRAM are set from
the figures; all bandwidths follow from the machine.

TEXT
echo "Made by \`docs/results/measured.sh\` with $("$gpumux" --version)."
echo
echo '```'
echo '$ gpumux validate --hardware'
"$gpumux" validate --hardware
echo '```'
cat <<'TEXT'

## What the differences are
- **L2's bandwidth** is too high: on the parts a request passes a network of several stages, and half of A100's slices lie behind
  a second one. Here a crossbar gives each SM and each slice its port, and nothing is lost inside it.
- **Streams.** Reads alone reach all of the bandwidth here, 97% on the V100 and 87% on the A100; where three arrays are read
  at a time, ours lose more than the parts. Why is not looked into further.
- **A100 and H100 from 28 MB on.** Their L2 is two halves, each of which keeps what its own SMs read; beyond one half data lies in
  the far one. Ours is one L2.
- **L1 at the end of its size.** The part's latency rises over the last tenth of 128 KB; ours is exact to the line.
- **L2 of the H100** took 285, 277 and 275 cycles in three runs; the machine has the first, the table the last.
- **H100's L1 at 64 KB**: the measuring loop's own instructions take a part of the time; at 192 KB it reaches 94% of 128 bytes a cycle.
- **H100's L2.** Where all SMs read the same lines, as here, the part gives more than its slices do: requests for a line are served
  together on the way. Where each SM reads lines of its own, it gives about 7 TB/s; ours has 80 ports of 64 bytes, 10.1 TB/s.
- **H100's reads.** With one double a thread, as here, the part reaches 2.6 TB/s; with 16 bytes a thread 3.1 TB/s: too few bytes
  are under way. Ours reaches all with either.

## What cannot be expressed
- Translation: the sources do not tell its latency from DRAM's, and TLBs are not modelled.
- The far half of L2, as above; frequency that follows power.
- Latencies of a V100's and an A100's instructions beyond the four cycles of dependent multiply-adds, of their shared memory and
  atomics have no entry: the source does not measure them. They are `v100`'s. `h100-measured` has those of its instructions and shared memory.
TEXT
echo
"$(dirname "${BASH_SOURCE[0]}")/fingerprint.py" measured.md
