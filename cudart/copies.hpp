// Copies and fills.
#pragma once

#include <cstddef>
#include <cstdint>

#include "graphs.hpp"

namespace gpumux::cudart {

/// The stream of a call, and whether the call blocks until its work is complete.
struct Where {
  StreamHandle stream;
  bool per_thread;  // the null stream is the calling thread's (API variants _ptsz, _ptds)
  bool blocking;
};

inline constexpr Where kBlocking{nullptr, false, true};
inline constexpr Where kBlockingPerThread{nullptr, true, true};
inline Where in(StreamHandle stream) { return {stream, false, false}; }
inline Where in_per_thread(StreamHandle stream) { return {stream, true, false}; }

/// The value of a fill, with 1, 2 or 4 bytes.
struct Pattern {
  std::uint32_t value;
  std::uint32_t bytes;
};
struct Rows {
  std::size_t bytes;  // bytes per row
  std::size_t count;
};

/// Like cudaMemcpy and cudaMemset2D.
Error copy(void* to, const void* from, std::size_t bytes, MemcpyKind kind, Where where);
Error fill(void* to, std::size_t pitch, Pattern pattern, Rows rows, Where where);

/// cudaErrorInvalidPitchValue: the error of copies whose rows are longer than their pitch.
inline constexpr auto kInvalidPitch = static_cast<Error>(12);

/// Like cudaMemcpy2D.
Error copy_2d(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
              std::size_t height, MemcpyKind kind, Where where);

/// Like cudaMemcpy3D.
Error copy_3d(const Copy3D* of, Where where);
/// Like cudaMemcpy3D with an array on at least one side (array_copies.cpp).
Error copy_3d_of_arrays(const Copy3D& of, Where where);

}  // namespace gpumux::cudart
