#!/usr/bin/env bash
# Figure 12 of dai18 over all 78 pairs, 2 million cycles each, and why headlines differ where they do (dai18-why.md).
# usage: docs/results/dai18.sh build/release/bin/gpumux DATABASE [JOBS] >docs/results/dai18.md   (40 minutes on two cores)
# Runs that the database has are not repeated. From the root of the project.
set -euo pipefail
gpumux=$1
database=$2
jobs=${3:-2}
page=$(mktemp)
trap 'rm -f "$page"' EXIT
"$gpumux" reproduce dai18/fig12 --scale paper --db "$database" --jobs "$jobs" --quiet --markdown "$page"
echo "# dai18, figure 12: all 78 pairs, 2 million cycles each"
echo
echo "Made by \`docs/results/dai18.sh\` with $(sed -n 's/^Scale paper, \(.*\)\.$/\1/p' "$page"), on dai18-maxwell."
echo
sed -n '/^### dai18\/fig12/,/^### Not answered/{/^### Not answered/!p}' "$page"
cat docs/results/dai18-why.md
