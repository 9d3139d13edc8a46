#!/usr/bin/env bash
# Measures what `gpumux list apps` calls the usual run: each built-in application alone at its default size, one thread.
# The machine is dai18-maxwell; for chimera15/* chimera15-fermi30, for wang17/* wang17-16sm, for awatramani17/* and
# kayiran14/* awatramani17-m2090. Runs of wang17/* and dai18/* end after at most two million cycles, as in these
# papers; those of kayiran14/*, of which the paper runs 100 million instructions, too.
# Writes benchmarks/usual_runs.txt, which is built into the program.
# usage: benchmarks/measure.sh [GPUMUX [APP...]]
#   GPUMUX  the program, build/release/bin/gpumux if it is not named
#   APP...  applications to measure again; the lines of all others stay. Without APP, all are measured.
# Seconds are those of the processor, so other work on the host disturbs them little.
set -euo pipefail
cd "$(dirname "$0")"
gpumux=${1:-../build/release/bin/gpumux}
shift || true
result=$(mktemp)
trap 'rm -f "$result" usual_runs.txt.new' EXIT
processor=$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1)
{
  if (($#)); then
    head -n 1 usual_runs.txt
  else
    echo "# Made by benchmarks/measure.sh. Seconds of one core of: ${processor:-unknown}"
  fi
  echo "# application machine cycles warp_instructions seconds lsu_stall_share, and 'cut' where the run is longer"
  for app in $("$gpumux" list apps --json | sed -n 's/^      "name": "\(.*\)",$/\1/p'); do
    if (($#)) && [[ " $* " != *" $app "* ]]; then
      grep "^$app " usual_runs.txt || true
      continue
    fi
    machine=dai18-maxwell limit=()
    case $app in
      chimera15/*) machine=chimera15-fermi30 ;;
      awatramani17/*) machine=awatramani17-m2090 ;;
      kayiran14/*) machine=awatramani17-m2090 limit=(--cycles 2000000) ;;
      wang17/*) machine=wang17-16sm limit=(--cycles 2000000) ;;
      dai18/*) limit=(--cycles 2000000) ;;
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
    printf '%s %s %s %s %s %.4g%s\n' "$app" "$machine" "$cycles" "$instructions" "$seconds" "$stalls" "${limit:+ cut}"
  done
} >usual_runs.txt.new
mv usual_runs.txt.new usual_runs.txt
