#!/usr/bin/env bash
# What microbenchmarks measure of hardware, beside the machines that follow them.
# usage: docs/results/measured.sh build/release/bin/gpumux >docs/results/measured.md    (a minute)
set -euo pipefail
gpumux=$1
cat <<'TEXT'
# Beside measurements of hardware

`v100-measured` and `a100-measured` follow what was published of the parts, where `v100` is Accel-Sim's model of one. Latencies
of L1, L2 and DRAM are set from the source; all bandwidths follow from the machine.

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
- **A100 at 28 MB.** Its L2 is two halves, each of which keeps what its own SMs read; beyond 20 MB data lies in the far half.
  Ours is one L2 of 40 MB.
- **L1 at the end of its size.** The part's latency rises over the last tenth of 128 KB; ours is exact to the line.

## What cannot be expressed
- Translation: the sources do not tell its latency from DRAM's, and TLBs are not modelled.
- The far half of A100's L2, as above; frequency that follows power.
- Latencies of instructions beyond the four cycles of dependent multiply-adds, of shared memory and of atomics have no entry: the
  source does not measure them. They are `v100`'s.
- An H100 has no latencies in the source.
TEXT
