#!/bin/sh
# Compiles faults.cu to PTX with nvcc (CUDA 13.0 made the file in the tree). NVCC names another compiler.
# Comments are dropped: nvcc's hold its build numbers.
set -eu
cd "$(dirname "$0")"
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
"$nvcc" -ptx -arch=sm_75 -O3 -o faults.ptx.new faults.cu
sed -e '/^\/\//d' faults.ptx.new | cat -s > faults.ptx
rm faults.ptx.new
