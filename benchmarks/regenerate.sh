#!/bin/sh
# Compiles the kernels of the built-in applications to PTX with nvcc (CUDA 13.0 made those in the tree).
# usage: benchmarks/regenerate.sh [NAME...]      all applications when none is named
# NVCC names another compiler. Fixed options, and no comments in the result, so that the same compiler
# gives the same bytes in any folder.
set -eu
cd "$(dirname "$0")"
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
if [ $# -eq 0 ]; then
  set -- $(for source in */*.cu; do dirname "$source"; done)
fi
for name in "$@"; do
  "$nvcc" -ptx -arch=sm_75 -O3 -o "$name/$name.ptx.new" "$name/$name.cu"
  # nvcc's own comments hold its build numbers; the kernels have none.
  sed -e '/^\/\//d' "$name/$name.ptx.new" | cat -s > "$name/$name.ptx"
  rm "$name/$name.ptx.new"
done
