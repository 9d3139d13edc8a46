#!/bin/sh
# Compiles faults.cu and source_lines.cu to PTX with nvcc (CUDA 13.0 made the files in the tree). NVCC names
# another compiler. Comments, which hold nvcc's build numbers, and folders are dropped.
set -eu
cd "$(dirname "$0")"
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
compile() {  # NAME OPTION...
  name=$1
  shift
  "$nvcc" -ptx -arch=sm_75 -O3 "$@" -o "$name.ptx.new" "$name.cu"
  sed -E -e '/^\/\//d' -e 's|^([[:space:]]*\.file[^"]*")[^"]*/|\1|' -e 's|(^[[:space:]]*\.file[^"]*"[^"]*").*|\1|' \
    "$name.ptx.new" | cat -s > "$name.ptx"
  rm "$name.ptx.new"
}
compile faults
compile source_lines -lineinfo
