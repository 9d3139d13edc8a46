#!/bin/sh
# Compiles this folder to PTX with nvcc (CUDA 13.0 made the files in the tree). CUB's kernels get short names: theirs hold
# the architecture and are half of the text.
set -eu
cd "$(dirname "$0")"
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
shorten() { printf '%s\n' "s/_ZN[A-Za-z0-9_]*$1[A-Za-z0-9_]*\(_param_[0-9]*\)/$2\1/g; s/_ZN[A-Za-z0-9_]*$1[A-Za-z0-9_]*/$2/g"; }
for source in *.cu; do
  for arch in 75 90 100; do
    name=${source%.cu}.sm_$arch.ptx
    "$nvcc" -ptx "-arch=sm_$arch" -O3 -o "$name.new" "$source"
    sed -e '/^\/\//d' -e "$(shorten 'SingleTileKernel[A-Za-z0-9_]*EPKi' reduce_tile)" -e "$(shorten SingleTileKernelINS2 reduce_sums)" \
      -e "$(shorten RadixSortSingleTileKernel sort_tile)" -e "$(shorten DeviceReduceKernel reduce_many)" \
      -e "$(shorten DeviceScanInitKernel scan_init)" -e "$(shorten DeviceScanKernel scan)" \
      -e "$(shorten EmptyKernel empty)" "$name.new" | cat -s > "$name"
    rm "$name.new"
  done
done
