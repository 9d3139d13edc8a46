// cudaMemset and related functions, in variants: blocking, in a stream, and with per-thread default streams.
#include "copies.hpp"

namespace gpumux::cudart {
namespace {

Pattern bytes_of_value(int value) { return {static_cast<std::uint32_t>(value) & 0xffU, 1}; }

Error fill_row(void* to, int value, std::size_t bytes, Where where) {
  return fill(to, bytes, bytes_of_value(value), {bytes, 1}, where);
}

Error fill_3d(const PitchedPointer& to, int value, const Extent& extent, Where where) {
  const bool rows_meet = extent.width > to.pitch && (extent.height > 1 || extent.depth > 1);
  const bool slices_meet = extent.height > to.height && extent.depth > 1;
  if (extent.width > 0 && extent.height > 0 && (rows_meet || slices_meet))
    return returned(Error::InvalidValue);
  for (std::size_t slice = 0; slice < extent.depth; ++slice) {
    std::byte* const first = static_cast<std::byte*>(to.pointer) + slice * to.height * to.pitch;
    const Error error = fill(first, to.pitch, bytes_of_value(value), {extent.width, extent.height}, where);
    if (error != Error::Success) return error;
  }
  return Error::Success;
}

}  // namespace

GPUMUX_CUDART_API Error cudaMemset(void* to, int value, std::size_t bytes) {
  return fill_row(to, value, bytes, kBlocking);
}
GPUMUX_CUDART_API Error cudaMemset_ptds(void* to, int value, std::size_t bytes) {
  return fill_row(to, value, bytes, kBlockingPerThread);
}
GPUMUX_CUDART_API Error cudaMemsetAsync(void* to, int value, std::size_t bytes, StreamHandle stream) {
  return fill_row(to, value, bytes, in(stream));
}
GPUMUX_CUDART_API Error cudaMemsetAsync_ptsz(void* to, int value, std::size_t bytes, StreamHandle stream) {
  return fill_row(to, value, bytes, in_per_thread(stream));
}
GPUMUX_CUDART_API Error cudaMemset2D(void* to, std::size_t pitch, int value, std::size_t width,
                                     std::size_t height) {
  return fill(to, pitch, bytes_of_value(value), {width, height}, kBlocking);
}
GPUMUX_CUDART_API Error cudaMemset2D_ptds(void* to, std::size_t pitch, int value, std::size_t width,
                                          std::size_t height) {
  return fill(to, pitch, bytes_of_value(value), {width, height}, kBlockingPerThread);
}
GPUMUX_CUDART_API Error cudaMemset2DAsync(void* to, std::size_t pitch, int value, std::size_t width,
                                          std::size_t height, StreamHandle stream) {
  return fill(to, pitch, bytes_of_value(value), {width, height}, in(stream));
}
GPUMUX_CUDART_API Error cudaMemset2DAsync_ptsz(void* to, std::size_t pitch, int value, std::size_t width,
                                               std::size_t height, StreamHandle stream) {
  return fill(to, pitch, bytes_of_value(value), {width, height}, in_per_thread(stream));
}
GPUMUX_CUDART_API Error cudaMemset3D(PitchedPointer to, int value, Extent extent) {
  return fill_3d(to, value, extent, kBlocking);
}
GPUMUX_CUDART_API Error cudaMemset3D_ptds(PitchedPointer to, int value, Extent extent) {
  return fill_3d(to, value, extent, kBlockingPerThread);
}
GPUMUX_CUDART_API Error cudaMemset3DAsync(PitchedPointer to, int value, Extent extent, StreamHandle stream) {
  return fill_3d(to, value, extent, in(stream));
}
GPUMUX_CUDART_API Error cudaMemset3DAsync_ptsz(PitchedPointer to, int value, Extent extent,
                                               StreamHandle stream) {
  return fill_3d(to, value, extent, in_per_thread(stream));
}

}  // namespace gpumux::cudart
