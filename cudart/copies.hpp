// Copies and fills.
#pragma once

#include <cstddef>
#include <cstdint>

#include "graphs.hpp"

namespace gpumux::cudart {

/// In which stream a call acts, and whether it returns when that is done.
struct Where {
  StreamHandle stream;
  bool per_thread;  // of the variants of the API in which the null stream is the calling thread's
  bool blocking;
};

inline constexpr Where kBlocking{nullptr, false, true};
inline constexpr Where kBlockingPerThread{nullptr, true, true};
inline Where in(StreamHandle stream) { return {stream, false, false}; }
inline Where in_per_thread(StreamHandle stream) { return {stream, true, false}; }

/// What is filled with: `bytes` of it, 1, 2 or 4.
struct Pattern {
  std::uint32_t value;
  std::uint32_t bytes;
};
struct Rows {
  std::size_t bytes;  // of each
  std::size_t count;
};

/// As cudaMemcpy and cudaMemset2D.
Error copy(void* to, const void* from, std::size_t bytes, MemcpyKind kind, Where where);
Error fill(void* to, std::size_t pitch, Pattern pattern, Rows rows, Where where);

/// cudaErrorInvalidPitchValue: of copies whose rows are longer than their pitch.
inline constexpr auto kInvalidPitch = static_cast<Error>(12);

/// As cudaMemcpy2D.
Error copy_2d(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
              std::size_t height, MemcpyKind kind, Where where);

/// As cudaMemcpy3D.
Error copy_3d(const Copy3D* of, Where where);
/// The same, where a side is an array (array_copies.cpp).
Error copy_3d_of_arrays(const Copy3D& of, Where where);

}  // namespace gpumux::cudart
