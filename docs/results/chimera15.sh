#!/usr/bin/env bash
# All of chimera15 at the quick scale: its claims and trends, and why ours differ where they do.
# usage: docs/results/chimera15.sh build/release/bin/gpumux DATABASE >docs/results/chimera15.md    (15 minutes on two cores)
set -euo pipefail
[ $# -eq 2 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
gpumux=$1
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
"$gpumux" reproduce chimera15 --scale quick --db "$2" --markdown "$folder/all.md" --quiet
echo "# chimera15 at the quick scale: ours beside the paper's"
echo
echo "Made by \`docs/results/chimera15.sh\` with $("$gpumux" --version), on chimera15-fermi30. All quantities: \`gpumux reproduce chimera15\`."
# The tables of claims and trends alone, their repeated notes left out.
awk '/^### Not answered/ { rest = 1; print "" } rest { print; next }
     /^[0-9]+ of [0-9]+ directions/ { print ""; print }
     /^###/ { print ""; print }
     /^\| claim \|/ || /^\| trend \|/ { table = 1; print "" }
     /^$/ { table = 0 }
     table { gsub(/(; )?scale quick: runs of [0-9]+ cycles/, ""); print }' "$folder/all.md"
cat <<'TEXT'

## Why

- **Overhead (figures 7 and 8b)** is over all SMs and the whole time here. Half of the SMs change hands each millisecond: where a switch takes
  14.5 us each way, 15 of 30 SMs stand for 29 us of 1000, so that about 1.5% can be lost by it. The paper's 12.2% would fit 29 us of the
  229 us in which a preempted SM is away, and not of the run; it does not say. Limits of 5, 10 and 20 us see one event at this scale. Heart wall (HW)
  outweighs the others: it runs twice as fast under `switch` as under `ideal`, with which it is compared, for fewer of its blocks share an L1 then (its
  misses are 33% and 53%). Over the other 13, switching loses least, then Chimera, draining and flushing.
- **Late SMs (figures 6 and 8a).** Those of switching are the benchmarks whose contexts take longer than 15 us, and of draining those whose blocks
  do (Table 2). Flushing is late in none: BT and FWT, which the paper names, have blocks of 4 to 9 us when the requests come, and those that may
  not be flushed are drained in time. So it is under the strict condition, where what could not be flushed is counted instead. CP and NW have
  fewer blocks then than half of the SMs hold, and are not preempted.
- **The estimates (section 4.1)**: no preemption that was to be in time was late.
- **ANTT (figures 10, section 4.4)** against FCFS grows with the run: a kernel that waits for another's end waits until the run's. At
  this scale that is 3 ms for KM, LC, MUM and SAD, and LUD, which needs 1.2 ms alone, has hardly begun; the paper's runs have 1 billion
  instructions. The order of the techniques is the paper's.
- **STP (figure 11)**: blocks of CP, HW, KM, LC and MUM take 0.7 to 7 ms, for whose ends draining waits within runs of 3 ms. Flushed work does
  not count as progress here; of the paper's STP that is not known.
- **Drain times (figure 2)**: of MUM.0, which makes a third of the paper's mean, ours are five times shorter, of LC.0, LC.2 and LUD.0 three times; of BS
  three times longer, of CP, FWT and ST about twice. Those of BT, BP, HS, KM and SAD.0 are within about a third. Inputs differ, and so do compilers.
  Contexts, blocks per SM and idempotence are the table's for all 27 kernels, switching times but for LUD.1 and LC.1 (12 and 8%).
- **LUD/SAD**: the paper's exception is not seen; why not has not been looked into.
TEXT
