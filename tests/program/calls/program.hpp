// The common part of the cases of `calls`: kernels as nvcc registers them, their launches, and the list of
// cases.
#pragma once

#include <cstdio>
#include <functional>
#include <string>

#include "tests/program/calls/cuda.hpp"

/// A case that `calls NAME` runs. Its device code is kernels.cu, packed as `packing` says, or the units of
/// units.hpp.
struct Case {
  enum class Units { None, All, WithoutOffset };

  Case(const char* name, std::function<void()> run, Packing packing = Packing::Zstd);
  Case(const char* name, std::function<void()> run, Units units);

  std::function<void()> run;
  Packing packing = Packing::Zstd;
  Units units = Units::None;
};

/// A kernel of kernels.cu or units.hpp with its name. The host identifies the kernel by the address of this
/// object.
struct Kernel {
  explicit Kernel(const char* name);
  const char* name;
};

extern void** handle;  // of the registered fat binary
// Variables of the device.
extern int table[4];
extern int counter;
extern int offset;
extern int seen;
extern int* shared_word;  // the run time sets it

/// kernel<<<grid, block, shared, stream>>>(arguments...), as nvcc 13 compiles it.
template <class... Arguments>
int launch(const Kernel& of, Dim grid, Dim block, std::size_t shared, Stream stream, Arguments... arguments) {
  if (__cudaPushCallConfiguration(grid, block, shared, stream) != 0) return -1;
  void* pointers[] = {&arguments...};
  void* kernel = nullptr;
  if (const int error = __cudaGetKernel(&kernel, &of); error != 0) return error;
  CHECK(__cudaPopCallConfiguration(&grid, &block, &shared, &stream));
  return __cudaLaunchKernel(kernel, grid, block, pointers, shared, stream);
}

template <class T>
T* device(std::size_t count) {
  void* pointer = nullptr;
  CHECK(cudaMalloc(&pointer, count * sizeof(T)));
  return static_cast<T*>(pointer);
}

inline float milliseconds(Event begin, Event end) {
  float time = -1;
  CHECK(cudaEventElapsedTime(&time, begin, end));
  return time;
}
