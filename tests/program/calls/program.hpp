// What each case of `calls` stands on: kernels as nvcc registers them, their launches, and the list of cases.
#pragma once

#include <cstdio>
#include <functional>
#include <string>

#include "tests/program/calls/cuda.hpp"

/// What `calls NAME` does. Its code is that of kernels.cu, packed as it says, or that of units.hpp.
struct Case {
  enum class Units { None, All, WithoutOffset };

  Case(const char* name, std::function<void()> run, Packing packing = Packing::Zstd);
  Case(const char* name, std::function<void()> run, Units units);

  std::function<void()> run;
  Packing packing = Packing::Zstd;
  Units units = Units::None;
};

/// A kernel of kernels.cu or units.hpp by its name; its address is what the host knows it by.
struct Kernel {
  explicit Kernel(const char* name);
  const char* name;
};

extern void** handle;  // of the fat binary
// Variables of the device.
extern int table[4];
extern int counter;
extern int offset;
extern int seen;
extern int* shared_word;  // set by the run time

/// kernel<<<grid, block, shared, stream>>>(arguments...), as nvcc 13 does it.
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
