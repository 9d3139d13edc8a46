# Kernels of benchmarks/ as functions of a block's place, which a kernel of this folder calls: bodies.cuh.
# Usage: make_bodies.py BENCHMARKS > bodies.cuh
import re
import sys

NAMES = ["add", "stream", "sgemm", "transpose", "hotspot", "pathfinder", "nn", "blackscholes", "mri_q", "histogram", "mm3"]

print("// Made by make_bodies.py from the applications' kernels. Parameters hide CUDA's names of a block's place.")
print("#pragma once")
for name in NAMES:
    text = open(f"{sys.argv[1]}/{name}/{name}.cu").read()
    # The parameter lists of kernels made by macros have them as well.
    text, count = re.subn(r'extern "C" __global__ void (\w+)(##\w+##\w+|\w*)\(',
                          r"__device__ __forceinline__ void \1\2(uint3 blockIdx, dim3 gridDim, ", text)
    if name == "stream":
        text = text.replace("__device__ __forceinline__ void stream(", "__device__ __forceinline__ void stream(uint3 blockIdx, dim3 gridDim, ")
        text = text.replace("stream<WORDS>(in, out)", "stream<WORDS>(blockIdx, gridDim, in, out)")
    if name == "mm3":
        text = text.replace("__device__ void multiply(", "__device__ __forceinline__ void multiply(uint3 blockIdx, dim3 gridDim, ")
        text = text.replace("  multiply(", "  multiply(blockIdx, gridDim, ")
    defined = re.findall(r"#define (\w+)", text)
    print(f"namespace {name}_ {{\n{text}\n}}  // namespace {name}_")
    for macro in defined:
        print(f"#undef {macro}")
