#!/usr/bin/env bash
# The figures of dai18 that are too large for `--scale quick`: 12 and 13 over all 78 pairs, 2 million cycles each,
# and why the headlines differ where they do (dai18-why.md).
# usage: docs/results/dai18.sh build/release/bin/gpumux DATABASE [JOBS] >docs/results/dai18.md    (an hour on two cores)
# Runs that the database has are not repeated. From the root of the project.
set -euo pipefail
gpumux=$1
database=$2
jobs=${3:-2}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for figure in fig12 fig13; do
  "$gpumux" reproduce "dai18/$figure" --scale paper --db "$database" --jobs "$jobs" --quiet \
    --markdown "$folder/$figure.md"
done
echo "# dai18: all 78 pairs, 2 million cycles each"
echo
echo "Made by \`docs/results/dai18.sh\`. $(sed -n 's/^Scale paper, \(.*\)\.$/\1/p' "$folder/fig12.md"), machine dai18-maxwell."
for figure in fig12 fig13; do
  echo
  sed -n "/^### dai18\/$figure/,/^### Not answered/{/^### Not answered/!p}" "$folder/$figure.md"
done
cat "$(dirname "$0")/dai18-why.md"
