#!/usr/bin/env bash
# Measures what `gpumux list apps` calls the usual run: each built-in application alone at its default size on
# dai18-maxwell, those of chimera15 on chimera15-fermi30, those of wang17 on wang17-16sm for at most the two million cycles
# of the paper's runs, those of awatramani17 and of kayiran14 on awatramani17-m2090, one thread. Writes benchmarks/usual_runs.txt, which is built into the program.
# usage: benchmarks/measure.sh [GPUMUX]      the program, build/release/bin/gpumux when it is not named
# Seconds are those of the processor, so other work on the host disturbs them little.
set -euo pipefail
cd "$(dirname "$0")"
gpumux=${1:-../build/release/bin/gpumux}
result=$(mktemp)
trap 'rm -f "$result" usual_runs.txt.new' EXIT
processor=$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1)
{
  echo "# Made by benchmarks/measure.sh. Seconds of one core of: ${processor:-unknown}"
  echo "# application machine cycles warp_instructions seconds lsu_stall_share, and 'cut' where the run is longer"
  for app in $("$gpumux" list apps --json | sed -n 's/^      "name": "\(.*\)",$/\1/p'); do
    machine=dai18-maxwell limit=()
    case $app in
      chimera15/*) machine=chimera15-fermi30 ;;
      awatramani17/* | kayiran14/*) machine=awatramani17-m2090 ;;
      wang17/*) machine=wang17-16sm limit=(--cycles 2000000) ;;
    esac
    TIMEFORMAT='%U'
    measure() {
      seconds=$({ time "$gpumux" run "$app" --machine "$machine" --policy sequential "$@" --baseline off --quiet \
        --json "$result" >/dev/null; } 2>&1)
    }
    measure "${limit[@]}"
    # One that ends within the limit is measured to its end.
    if ((${#limit[@]})) && ! grep -q '"completions": 0' "$result"; then
      limit=()
      measure
    fi
    cycles=$(sed -n 's/^  "cycles": \([0-9]*\),$/\1/p' "$result")
    instructions=$(sed -n 's/.*"warp_instructions": \([0-9]*\),\{0,1\}$/\1/p' "$result" | head -n 1)
    stalls=$(sed -n 's/.*"lsu_stall_share": \([0-9.e-]*\),\{0,1\}$/\1/p' "$result" | head -n 1)
    echo "$app $machine $cycles $instructions $seconds $stalls${limit:+ cut}"
  done
} >usual_runs.txt.new
mv usual_runs.txt.new usual_runs.txt
