// Calls of Server for arrays, texture objects and surface objects.
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

workload::BoxEnd end_of(const ArrayPlace& of) {
  return of.in_array != 0 ? workload::BoxEnd::of({of.address, shape_of(of.shape)}, of.x, of.row, of.slice)
                          : workload::BoxEnd::linear(of.address, of.pitch, of.slice_pitch);
}

}  // namespace

void Server::create_array() {
  const auto of = arguments<CreateArrayArguments>();
  workload::TextureArray array;
  try {
    array = host_.create_array(shape_of(of.shape), of.levels);
  } catch (const SimulationFault&) {  // a shape that no array has, or no room
    return fail(Error::InvalidValue);
  }
  allocations_[array.address] = {workload::mipmap_bytes(array, of.levels), MemoryKind::Device};
  result(AllocateResult{array.address});
}

void Server::copy_box() {
  const auto of = arguments<CopyBoxArguments>();
  Stream* const on = stream(of.stream);
  if (on == nullptr) return;
  const workload::BoxEnd to = end_of(of.to), from = end_of(of.from);
  const workload::BoxSize size{of.bytes, of.rows, of.slices};
  try {  // checked before any part of the copy is enqueued
    if (of.side != BoxSide::Answered) workload::check_box(host_.memory(), to, size);
    if (of.side != BoxSide::Sent) workload::check_box(host_.memory(), from, size);
  } catch (const SimulationFault&) {
    return fail(Error::InvalidValue);
  }
  const bool sent_right = of.side != BoxSide::Sent || (to.in_array && request_.tail.size() == size.total());
  if (!sent_right || (of.side == BoxSide::Answered && !from.in_array)) return fail(Error::InvalidValue);
  const runtime::StreamId id = enter(*on);
  switch (of.side) {
    case BoxSide::OnDevice: host_.copy_box(to, from, size, {}, id); break;
    case BoxSide::ToDevice: host_.copy_box(to, from, size, runtime::HostCopy::ToDevice, id); break;
    case BoxSide::FromDevice: host_.copy_box(to, from, size, runtime::HostCopy::FromDevice, id); break;
    case BoxSide::Sent: host_.copy_to_box(to, size, std::as_bytes(std::span(request_.tail)), id); break;
    case BoxSide::Answered:
      tail_.resize(size.total());
      host_.copy_from_box(std::as_writable_bytes(std::span(tail_)), from, size, id);
      break;
  }
  if (of.blocking != 0 || of.side == BoxSide::Answered) wait_for(*on);
}

void Server::create_texture() {
  const auto of = arguments<TextureArguments>();
  constexpr std::uint32_t kModes = 4;
  if (of.filter > 1 || of.read > 1 || of.level_filter > 1 || of.kind > TextureKind::LayeredCube ||
      std::ranges::any_of(of.address_modes, [](auto m) { return m >= kModes; }))
    return fail(Error::InvalidValue);
  workload::TextureResource resource;
  static_assert(static_cast<int>(TextureKind::LayeredCube) ==
                static_cast<int>(workload::TextureResource::Kind::LayeredCube));
  resource.kind = static_cast<workload::TextureResource::Kind>(of.kind);
  resource.levels = of.levels;
  resource.array = {of.address, shape_of(of.shape)};
  resource.pitch_bytes = of.pitch_bytes;
  workload::TextureSettings settings;
  for (std::size_t axis = 0; axis < settings.address.size(); ++axis)
    settings.address[axis] = static_cast<workload::AddressMode>(of.address_modes[axis]);
  settings.filter = static_cast<workload::FilterMode>(of.filter);
  settings.read = static_cast<workload::ReadMode>(of.read);
  settings.normalized = of.normalized != 0;
  settings.border = of.border;
  settings.level_filter = static_cast<workload::FilterMode>(of.level_filter);
  settings.level_bias = of.level_bias;
  settings.least_level = of.least_level;
  settings.most_level = of.most_level;
  try {
    result(TextureHandle{host_.create_texture(resource, settings).handle});
  } catch (const SimulationFault&) {  // a description that CUDA refuses
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

void Server::create_surface() {
  const auto of = arguments<SurfaceArguments>();
  try {
    result(TextureHandle{host_.create_surface({of.address, shape_of(of.shape)}).handle});
  } catch (const SimulationFault&) {
    fail(Error::InvalidValue);
  }
}

}  // namespace gpumux::program
