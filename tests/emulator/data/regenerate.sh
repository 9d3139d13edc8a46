#!/usr/bin/env bash
# Makes the PTX here anew from the .cu files. Needs nvcc (13.0 made what is committed); the tests do not.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
for file in async.cu:75 async.cu:80 async.cu:90 lanes.cu:75 lanes.cu:100 grid.cu:75 grid.cu:100; do
  name=${file%%.*} sm=${file##*:}
  nvcc -ptx -std=c++17 -w -arch="sm_$sm" "$name.cu" -o "$name.sm_$sm.ptx"
done
