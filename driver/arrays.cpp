// Arrays and texture objects: those of the run time, with other descriptions.
#include <algorithm>
#include <iterator>

#include "cudart/api.hpp"
#include "driver/call.hpp"

namespace gpumux::driver {
namespace {

constexpr int kFirstSigned = 8;
constexpr int kFloat = 0x20;

/// Converts a format. Returns false for formats that are not supported, such as halves.
bool convert(int format, unsigned channels, cudart::ChannelFormat& to) {
  constexpr unsigned kMostChannels = 4;
  constexpr int kBits[] = {8, 16, 32};
  to = {};
  int bits = 32;
  if (format >= 1 && format <= 3) {
    to.kind = 1;
    bits = kBits[format - 1];
  } else if (format >= kFirstSigned && format <= kFirstSigned + 2) {
    to.kind = 0;
    bits = kBits[format - kFirstSigned];
  } else if (format == kFloat) {
    to.kind = 2;
  } else {
    return false;
  }
  if (channels == 0 || channels > kMostChannels) return false;
  std::fill_n(std::begin(to.bits), channels, bits);
  return true;
}

int format_of(const cudart::ChannelFormat& of) {
  if (of.kind == 2) return kFloat;
  const int size = of.bits[0] == 8 ? 0 : of.bits[0] == 16 ? 1 : 2;
  return (of.kind == 1 ? 1 : kFirstSigned) + size;
}
unsigned channels_of(const cudart::ChannelFormat& of) {
  return static_cast<unsigned>(std::ranges::count_if(of.bits, [](int bits) { return bits != 0; }));
}

Result make(void** array, const Array3D& of) {
  return in_context([&] {
    cudart::ChannelFormat format;
    if (!convert(of.format, of.channels, format)) return Error::InvalidValue;
    return cudart::cudaMalloc3DArray(array, &format, {of.width, of.height, of.depth}, of.flags);
  });
}
Result describe(Array3D* to, void* array) {
  return in_context([=] {
    cudart::ChannelFormat format;
    cudart::Extent extent;
    unsigned flags = 0;
    if (to == nullptr) return Error::InvalidValue;
    if (cudart::cudaArrayGetInfo(&format, &extent, &flags, array) != Error::Success)
      return Error::InvalidResourceHandle;
    *to = {extent.width, extent.height, extent.depth, format_of(format), channels_of(format), flags};
    return Error::Success;
  });
}

bool convert(const ResourceDescription& from, cudart::ResourceDescription& to,
             cudart::ChannelFormat& format) {
  to.type = from.type;
  switch (from.type) {
    case cudart::kResourceArray: {
      to.of.array = from.of.array;
      cudart::Extent extent;
      unsigned flags = 0;
      return cudart::cudaArrayGetInfo(&format, &extent, &flags, from.of.array) == Error::Success;
    }
    case cudart::kResourceLinear: {
      const LinearResource& of = from.of.linear;
      if (!convert(of.format, of.channels, format)) return false;
      to.of.linear = {pointer_to(of.pointer), format, of.bytes};
      return true;
    }
    case cudart::kResourcePitch2D: {
      const PitchResource& of = from.of.pitched;
      if (!convert(of.format, of.channels, format)) return false;
      to.of.pitched = {pointer_to(of.pointer), format, of.width, of.height, of.pitch};
      return true;
    }
    default: return true;  // the run time refuses it
  }
}

}  // namespace

GPUMUX_DRIVER_API Result cuArrayCreate_v2(void** array, const Array2D* of) {
  if (of == nullptr) return Result::InvalidValue;
  return make(array, {of->width, of->height, 0, of->format, of->channels, 0});
}
GPUMUX_DRIVER_API Result cuArray3DCreate_v2(void** array, const Array3D* of) {
  return of == nullptr ? Result::InvalidValue : make(array, *of);
}
GPUMUX_DRIVER_API Result cuArrayDestroy(void* array) {
  return in_context([=] { return cudart::cudaFreeArray(array); });
}
GPUMUX_DRIVER_API Result cuArray3DGetDescriptor_v2(Array3D* to, void* array) { return describe(to, array); }
GPUMUX_DRIVER_API Result cuArrayGetDescriptor_v2(Array2D* to, void* array) {
  Array3D of{};
  const Result result = to == nullptr ? Result::InvalidValue : describe(&of, array);
  if (result == Result::Success) *to = {of.width, of.height, of.format, of.channels};
  return result;
}
GPUMUX_DRIVER_BOTH(cuMemcpyHtoA_v2, _ptds,
                   (void* array, std::size_t offset, const void* from, std::size_t bytes),
                   (static_cast<void>(per_thread), in_context([=] {
                      return cudart::cudaMemcpyToArray(array, offset, 0, from, bytes,
                                                       cudart::MemcpyKind::HostToDevice);
                    })))

GPUMUX_DRIVER_API Result cuTexObjectCreate(std::uint64_t* texture, const ResourceDescription* resource,
                                           const TextureDescription* settings,
                                           const cudart::ResourceView* view) {
  return in_context([=] {
    if (resource == nullptr || settings == nullptr) return Error::InvalidValue;
    cudart::ResourceDescription of{};
    cudart::ChannelFormat format{};
    if (!convert(*resource, of, format)) return Error::InvalidValue;
    cudart::TextureDescription to{};
    std::copy(std::begin(settings->address_modes), std::end(settings->address_modes), to.address_modes);
    std::copy(std::begin(settings->border), std::end(settings->border), to.border);
    to.filter = settings->filter;
    // Small integers are converted to floats in the range of 0 or -1 to 1, unless the program wants integers.
    const bool small = format.kind != 2 && format.bits[0] < 32;
    to.read = small && (settings->flags & kReadAsInteger) == 0 ? 1 : 0;
    to.srgb = (settings->flags & kSrgb) != 0 ? 1 : 0;
    to.normalized = (settings->flags & kNormalizedCoordinates) != 0 ? 1 : 0;
    return cudart::cudaCreateTextureObject(texture, &of, &to, view);
  });
}
GPUMUX_DRIVER_API Result cuTexObjectDestroy(std::uint64_t texture) {
  return in_context([=] { return cudart::cudaDestroyTextureObject(texture); });
}

}  // namespace gpumux::driver
