// What the programs of this folder share: checked calls, time stamps and a small writer of JSON.
#pragma once
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#define CHECK(call)                                                                                \
  do {                                                                                             \
    const cudaError_t error_ = (call);                                                             \
    if (error_ != cudaSuccess) {                                                                   \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error_));         \
      std::exit(1);                                                                                \
    }                                                                                              \
  } while (false)

__device__ __forceinline__ unsigned long long global_ns() {
  unsigned long long t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)::"memory");
  return t;
}

__device__ __forceinline__ unsigned sm_number() {
  unsigned sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  return sm;
}

// One object with a list of rows, each a line of its own: {"kind": [ {...}, ... ]}
class Json {
 public:
  explicit Json(const char* path) : file_(std::fopen(path, "w")) {
    if (file_ == nullptr) std::exit(2);
    std::fprintf(file_, "[\n");
  }
  template <typename... Values>
  void row(const char* format, Values... values) {
    std::fprintf(file_, first_ ? "" : ",\n");
    first_ = false;
    std::fprintf(file_, format, values...);
    std::fflush(file_);
  }
  ~Json() {
    std::fprintf(file_, "\n]\n");
    std::fclose(file_);
  }

 private:
  std::FILE* file_;
  bool first_ = true;
};
