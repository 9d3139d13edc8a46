// Copies, for other parts of the library.
#pragma once

#include <cstddef>

#include "graphs.hpp"

namespace gpumux::cudart {

/// In which stream a call acts, and whether it returns when that is done.
struct Where {
  StreamHandle stream;
  bool per_thread;  // of the variants of the API in which the null stream is the calling thread's
  bool blocking;
};

/// As cudaMemcpy2D.
Error copy_2d(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
              std::size_t height, MemcpyKind kind, Where where);

/// Copies and a fill as nodes of graphs.
[[nodiscard]] Work copy_work(const Copy3D& of);
[[nodiscard]] Work copy_work(void* to, const void* from, std::size_t bytes, MemcpyKind kind);
[[nodiscard]] Work fill_work(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height);

/// As cudaMemcpy3D, where one side is an array (arrays.cpp).
Error copy_3d_of_arrays(const Copy3D& of, Where where);

}  // namespace gpumux::cudart
