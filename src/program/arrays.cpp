// Arrays and texture objects of a program.
#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "program/server.hpp"
#include "workload/device_memory.hpp"

namespace gpumux::program {
namespace {

workload::ArrayShape shape_of(const ArrayDescription& of) {
  return {{static_cast<workload::ChannelKind>(of.kind), static_cast<std::uint8_t>(of.bits),
           static_cast<std::uint8_t>(of.channels)},
          of.width,
          of.height,
          of.depth,
          of.layers};
}

}  // namespace

void Server::create_array() {
  const workload::ArrayShape shape = shape_of(arguments<ArrayDescription>());
  workload::TextureArray array;
  try {
    array = host_.create_array(shape);
  } catch (const SimulationFault&) {  // a shape that no array has, or no room
    return fail(Error::InvalidValue);
  }
  allocations_[array.address] = {array.bytes(), MemoryKind::Device};
  arrays_[array.address] = array;
  result(AllocateResult{array.address});
}

void Server::fill_array() {
  const auto of = arguments<FillArrayArguments>();
  const auto array = arrays_.find(of.address);
  Stream* const on = stream(of.stream);
  if (on == nullptr) return;
  if (array == arrays_.end() || request_.tail.size() != array->second.texel_bytes())
    return fail(Error::InvalidValue);
  host_.copy_to_array(array->second, std::as_bytes(std::span(request_.tail)), enter(*on));
  if (of.blocking != 0) wait_for(*on);
}

void Server::create_texture() {
  const auto of = arguments<TextureArguments>();
  constexpr std::uint32_t kModes = 4;
  if (of.filter > 1 || of.read > 1 ||
      std::ranges::any_of(of.address_modes, [](auto m) { return m >= kModes; }))
    return fail(Error::InvalidValue);
  workload::TextureResource resource;
  resource.kind = of.kind == TextureKind::Linear    ? workload::TextureResource::Kind::Linear
                  : of.kind == TextureKind::Pitch2D ? workload::TextureResource::Kind::Pitch2D
                                                    : workload::TextureResource::Kind::Array;
  resource.array = {of.address, shape_of(of.shape)};
  resource.pitch_bytes = of.pitch_bytes;
  workload::TextureSettings settings;
  for (std::size_t axis = 0; axis < settings.address.size(); ++axis)
    settings.address[axis] = static_cast<workload::AddressMode>(of.address_modes[axis]);
  settings.filter = static_cast<workload::FilterMode>(of.filter);
  settings.read = static_cast<workload::ReadMode>(of.read);
  settings.normalized = of.normalized != 0;
  settings.border = of.border;
  try {
    result(TextureHandle{host_.create_texture(resource, settings).handle});
  } catch (const SimulationFault&) {  // what CUDA refuses
    fail(Error::InvalidValue);
  }
}

void Server::destroy_texture() {
  try {
    host_.destroy_texture({arguments<TextureHandle>().handle});
  } catch (const SimulationFault&) {
    fail(Error::InvalidValue);
  }
}

}  // namespace gpumux::program
