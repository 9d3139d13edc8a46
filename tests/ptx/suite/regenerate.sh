#!/bin/sh
# Compiles the kernels of this folder to PTX with nvcc (CUDA 13.0 made those in the tree).
set -eu
cd "$(dirname "$0")"
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
for source in *.cu; do
  name=${source%.cu}
  "$nvcc" -ptx -arch=sm_75 -O3 -o "$name.ptx.new" "$source"
  sed -e '/^\/\//d' "$name.ptx.new" | cat -s > "$name.ptx"
  rm "$name.ptx.new"
done
