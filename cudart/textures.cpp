// Texture and surface objects.
#include <algorithm>
#include <bit>
#include <map>
#include <optional>

#include "arrays.hpp"
#include "registered.hpp"

namespace gpumux::cudart {
namespace {

/// The descriptions of an object, which programs may query.
struct Object {
  bool surface = false;
  ResourceDescription resource{};
  TextureDescription settings{};
  std::optional<ResourceView> view;
};
std::map<std::uint64_t, Object>& objects() {
  static auto* const all = new std::map<std::uint64_t, Object>;
  return *all;
}

const Object* object_of(std::uint64_t handle, bool surface) {
  const auto found = objects().find(handle);
  return found != objects().end() && found->second.surface == surface ? &found->second : nullptr;
}

program::TextureKind kind_of(const Array& array) {
  if ((array.flags & kArrayCubemap) == 0) return program::TextureKind::Array;
  return (array.flags & kArrayLayered) != 0 ? program::TextureKind::LayeredCube : program::TextureKind::Cube;
}

/// Describes the memory of a texture object. Returns false for a description without a valid texture.
bool describe(const ResourceDescription& resource, program::TextureArguments& of) {
  of.levels = 1;
  switch (resource.type) {
    case kResourceArray:
    case kResourceMipmapped: {
      const bool whole = resource.type == kResourceMipmapped;
      const Mipmap* const mipmap = whole ? mipmap_of(resource.of.array) : nullptr;
      const Array* const array = mipmap != nullptr ? mipmap->levels[0].get()
                                 : whole           ? nullptr
                                                   : array_of(resource.of.array);
      if (array == nullptr) return false;
      of.kind = kind_of(*array);
      of.shape = array->shape;
      of.address = array->address;
      if (mipmap != nullptr) of.levels = static_cast<std::uint32_t>(mipmap->levels.size());
      return true;
    }
    case kResourceLinear: {
      const LinearResource& linear = resource.of.linear;
      if (!describe(linear.format, of.shape)) return false;
      of.kind = program::TextureKind::Linear;
      of.address = reinterpret_cast<std::uintptr_t>(device_view(linear.pointer, linear.bytes));
      of.shape.width = static_cast<std::uint32_t>(linear.bytes / (of.shape.bits / 8 * of.shape.channels));
      return true;
    }
    case kResourcePitch2D: {
      const PitchResource& pitched = resource.of.pitched;
      if (!describe(pitched.format, of.shape)) return false;
      of.kind = program::TextureKind::Pitch2D;
      of.address = reinterpret_cast<std::uintptr_t>(device_view(pitched.pointer, 1));
      of.shape.width = static_cast<std::uint32_t>(pitched.width);
      of.shape.height = static_cast<std::uint32_t>(pitched.height);
      of.pitch_bytes = pitched.pitch;
      return true;
    }
    default: return false;
  }
}

/// The cudaResourceViewFormat of a format. There are three for each kind and width: 1, 2 and 4 channels.
int view_format(const program::ArrayDescription& shape) {
  constexpr std::uint32_t kSigned = 0, kFloat = 2;
  const int channels = shape.channels == 1 ? 0 : shape.channels == 2 ? 1 : 2;
  if (shape.kind == kFloat) return (shape.bits == 16 ? 19 : 22) + channels;
  const int width = shape.bits == 8 ? 0 : shape.bits == 16 ? 1 : 2;
  return 1 + width * 6 + (shape.kind == kSigned ? 3 : 0) + channels;
}

/// Applies a view of the whole resource, or of some levels of a mipmap. Returns false for any other view.
bool apply_view(const ResourceDescription& resource, const ResourceView& view,
                program::TextureArguments& of) {
  if (resource.type != kResourceArray && resource.type != kResourceMipmapped) return false;
  if (view.format != 0 && view.format != view_format(of.shape)) return false;
  if (view.last_level < view.first_level || view.last_level >= of.levels) return false;
  const Array* const first = resource.type == kResourceMipmapped
                                 ? mipmap_of(resource.of.array)->levels[view.first_level].get()
                                 : array_of(resource.of.array);
  const program::ArrayDescription& shape = first->shape;
  const std::size_t depth = shape.layers != 0 ? shape.layers : shape.depth;
  const bool whole = view.width == of.shape.width && view.height == of.shape.height &&
                     (view.depth == depth || (view.depth == 0 && depth == 0));
  const unsigned last_layer = shape.layers != 0 ? shape.layers - 1 : 0;
  if (!whole || view.first_layer != 0 || (view.last_layer != 0 && view.last_layer != last_layer))
    return false;
  of.address = first->address;
  of.shape = shape;
  of.levels = view.last_level - view.first_level + 1;
  return true;
}

/// The name of a setting that would change results but is not supported, or nullptr.
const char* unsupported(const TextureDescription& settings, const program::TextureArguments& of) {
  const bool cube = of.kind == program::TextureKind::Cube || of.kind == program::TextureKind::LayeredCube;
  if (cube && settings.seamless_cube != 0 && settings.filter != 0) return "a seamless cube map";
  constexpr std::uint32_t kUnsigned = 1;
  if (settings.srgb != 0 && of.shape.kind == kUnsigned && of.shape.bits == 8 && settings.read == 1)
    return "a texture of sRGB";
  return nullptr;
}

Error create(std::uint64_t* texture, const ResourceDescription* resource, const TextureDescription* settings,
             const ResourceView* view) {
  Session& session = Session::get();
  const std::scoped_lock lock(session.lock());
  if (texture == nullptr || resource == nullptr || settings == nullptr) return Error::InvalidValue;
  if (const Error error = session.connect(); error != Error::Success) return error;
  program::TextureArguments arguments{};
  if (!describe(*resource, arguments)) return Error::InvalidValue;
  if (view != nullptr && !apply_view(*resource, *view, arguments))
    return not_supported("a resource view that is not of the whole array");
  if (const char* const what = unsupported(*settings, arguments); what != nullptr) return not_supported(what);
  for (std::size_t axis = 0; axis < arguments.address_modes.size(); ++axis)
    arguments.address_modes[axis] = static_cast<std::uint32_t>(settings->address_modes[axis]);
  arguments.filter = static_cast<std::uint32_t>(settings->filter);
  arguments.read = static_cast<std::uint32_t>(settings->read);
  arguments.normalized = settings->normalized != 0 ? 1 : 0;
  std::copy(std::begin(settings->border), std::end(settings->border), arguments.border.begin());
  if (resource->type == kResourceMipmapped) {
    arguments.level_filter = static_cast<std::uint32_t>(settings->level_filter);
    arguments.level_bias = settings->level_bias;
    arguments.least_level = settings->least_level;
    arguments.most_level = settings->most_level;
  }
  program::TextureHandle result{};
  const Error error = session.call(Call::CreateTexture, arguments, &result);
  if (error != Error::Success) return error;
  *texture = result.handle;
  objects()[result.handle] = {false, *resource, *settings,
                              view != nullptr ? std::optional(*view) : std::nullopt};
  return error;
}

Error destroy(std::uint64_t handle, bool surface) {
  Session& session = Session::get();
  const std::scoped_lock lock(session.lock());
  if (object_of(handle, surface) == nullptr) return Error::InvalidValue;
  objects().erase(handle);
  return session.call(surface ? Call::DestroySurface : Call::DestroyTexture, program::TextureHandle{handle});
}

template <class Result, class Get>
Error tell(Result* to, std::uint64_t handle, bool surface, const Get& get) {
  const std::scoped_lock lock(Session::get().lock());
  const Object* const object = object_of(handle, surface);
  if (to == nullptr || object == nullptr) return returned(Error::InvalidValue);
  return returned(get(*object));
}

}  // namespace

GPUMUX_CUDART_API Error cudaCreateTextureObject(std::uint64_t* texture, const ResourceDescription* resource,
                                                const TextureDescription* settings,
                                                const ResourceView* view) {
  return returned(create(texture, resource, settings, view));
}
GPUMUX_CUDART_API Error cudaDestroyTextureObject(std::uint64_t texture) {
  return returned(destroy(texture, false));
}
GPUMUX_CUDART_API Error cudaGetTextureObjectResourceDesc(ResourceDescription* resource,
                                                         std::uint64_t texture) {
  return tell(resource, texture, false, [&](const Object& object) {
    *resource = object.resource;
    return Error::Success;
  });
}
GPUMUX_CUDART_API Error cudaGetTextureObjectTextureDesc(TextureDescription* settings, std::uint64_t texture) {
  return tell(settings, texture, false, [&](const Object& object) {
    *settings = object.settings;
    return Error::Success;
  });
}
GPUMUX_CUDART_API Error cudaGetTextureObjectResourceViewDesc(ResourceView* view, std::uint64_t texture) {
  return tell(view, texture, false, [&](const Object& object) {
    if (!object.view) return Error::InvalidValue;  // the object was created without a view
    *view = *object.view;
    return Error::Success;
  });
}
GPUMUX_CUDART_API Error cudaDeviceGetTexture1DLinearMaxWidth(std::size_t* width, const ChannelFormat* format,
                                                             int) {
  program::ArrayDescription shape{};
  if (width == nullptr || format == nullptr || !describe(*format, shape))
    return returned(Error::InvalidValue);
  *width = std::size_t{1} << 28U;
  return Error::Success;
}

GPUMUX_CUDART_API Error cudaCreateSurfaceObject(std::uint64_t* surface, const ResourceDescription* resource) {
  Session& session = Session::get();
  const std::scoped_lock lock(session.lock());
  if (surface == nullptr || resource == nullptr || resource->type != kResourceArray)
    return returned(Error::InvalidValue);
  const Array* const array = array_of(resource->of.array);
  if (array == nullptr || (array->flags & kArraySurface) == 0) return returned(Error::InvalidValue);
  program::TextureHandle result{};
  const Error error =
      session.call(Call::CreateSurface, program::SurfaceArguments{array->address, array->shape}, &result);
  if (error != Error::Success) return returned(error);
  *surface = result.handle;
  objects()[result.handle] = {true, *resource, {}, {}};
  return Error::Success;
}
GPUMUX_CUDART_API Error cudaDestroySurfaceObject(std::uint64_t surface) {
  return returned(destroy(surface, true));
}
GPUMUX_CUDART_API Error cudaGetSurfaceObjectResourceDesc(ResourceDescription* resource,
                                                         std::uint64_t surface) {
  return tell(resource, surface, true, [&](const Object& object) {
    *resource = object.resource;
    return Error::Success;
  });
}

}  // namespace gpumux::cudart
