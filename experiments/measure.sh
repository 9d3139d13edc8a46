#!/usr/bin/env bash
# Measures how long each built-in experiment usually takes: all its runs anew, one at a time. Writes
# experiments/usual_runs.txt, which is built into the program for `gpumux list experiments`.
# usage: experiments/measure.sh [SCALE [GPUMUX]]    scale: quick; GPUMUX: build/release/bin/gpumux
# Seconds are those of the processor, so other work on the host disturbs them little. Other scales keep their lines.
set -euo pipefail
cd "$(dirname "$0")"
scale=${1:-quick}
gpumux=${2:-../build/release/bin/gpumux}
folder=$(mktemp -d)
trap 'rm -rf "$folder" usual_runs.txt.new' EXIT
{
  echo "# Made by experiments/measure.sh."
  echo "# experiment scale runs seconds"
  [[ -f usual_runs.txt ]] && grep -v -e '^#' -e " $scale " usual_runs.txt || true
  "$gpumux" list experiments --json >"$folder/list.json"
  for experiment in $(sed -n 's/^      "name": "\(.*\)",$/\1/p' "$folder/list.json"); do
    TIMEFORMAT='%U'
    rm -f "$folder"/r.sqlite*
    seconds=$({ time "$gpumux" reproduce "$experiment" --scale "$scale" --db "$folder/r.sqlite" --jobs 1 --quiet \
      --json "$folder/r.json" >/dev/null; } 2>&1)
    runs=$(sed -n 's/^        "done": \([0-9]*\),$/\1/p' "$folder/r.json")
    echo "$experiment $scale $runs $seconds"
  done
} >usual_runs.txt.new
mv usual_runs.txt.new usual_runs.txt
