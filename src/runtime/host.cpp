#include "runtime/host.hpp"

#include <fmt/core.h>

#include "base/error.hpp"

namespace gpumux::runtime {

void Host::launch_source(const KernelMaker&, StreamId) {
  throw InternalError("this host launches modules alone");
}

void Host::copy_unseen(bool, std::uint64_t, std::uint64_t, StreamId) {
  throw InternalError("this host copies bytes alone");
}

std::uint32_t Host::load_module_at(std::string_view, const std::string&,
                                   std::span<const workload::PlacedVariable>) {
  throw InternalError("this host chooses addresses itself");
}

std::vector<workload::PlacedVariable> Host::variables(std::uint32_t) {
  throw InternalError("this host does not list variables");
}

void Host::malloc_at(Address, std::uint64_t) { throw InternalError("this host chooses addresses itself"); }

void Host::host_write(Address, std::span<const std::byte>) {
  throw InternalError("this host shares no memory with the device");
}

void Host::map_host(Address, std::uint64_t, Address) {
  throw InternalError("this host shares no memory with the device");
}

void Host::unmap_host(Address) { throw InternalError("this host shares no memory with the device"); }

void Host::set_registers(std::uint32_t, const std::string&, std::uint32_t) {
  throw InternalError("on this host kernels have the registers that they need");
}

void Host::end_work() { throw InternalError("this host ends no work"); }

void Host::host_time_begins(std::uint64_t) { throw InternalError("this host knows no time"); }

void Host::copy_pinned(HostCopy, Address, Address, std::uint64_t, StreamId) {
  throw InternalError("this host has no memory that it shares");
}

void Host::begin_body() { throw InternalError("this host keeps no work"); }

BodyId Host::end_body() { throw InternalError("this host keeps no work"); }

void Host::enqueue_condition(const Condition&, StreamId) { throw InternalError("this host keeps no work"); }

const arch::MachineConfig& Host::machine() const { throw InternalError("this host has no machine"); }

workload::DeviceMemory& Host::memory() { throw InternalError("this host does not show its memory"); }

emulator::LoadedModule& Host::module(std::uint32_t) {
  throw InternalError("this host does not show its modules");
}

std::uint64_t Host::ended_operations() const { throw InternalError("this host does not count"); }

workload::TextureTable& Host::textures() { throw InternalError("this host has no textures"); }

workload::TextureArray Host::create_array(const workload::ArrayShape& shape, std::uint32_t levels) {
  textures().check(shape);
  if (const std::uint32_t most = workload::most_mipmap_levels(shape); levels < 1 || levels > most) {
    throw SimulationFault(fmt::format("error: a mipmap of {} levels; 1 to {} are possible", levels, most));
  }
  workload::TextureArray array{0, shape};
  array.address = malloc_bytes(workload::mipmap_bytes(array, levels));
  return array;
}

void Host::limit_pending_launches(std::uint64_t) { throw InternalError("this host has no machine"); }

void Host::copy_to_array(const workload::TextureArray& array, std::span<const std::byte> texels,
                         StreamId stream) {
  textures().check(array.shape);
  copy_to_device(array.address, workload::lay_out(array, texels), stream);
}

void Host::copy_to_box(const workload::BoxEnd&, const workload::BoxSize&, std::span<const std::byte>,
                       StreamId) {
  throw InternalError("this host has no textures");
}

void Host::copy_from_box(std::span<std::byte>, const workload::BoxEnd&, const workload::BoxSize&, StreamId) {
  throw InternalError("this host has no textures");
}

void Host::copy_box(const workload::BoxEnd&, const workload::BoxEnd&, const workload::BoxSize&,
                    std::optional<HostCopy>, StreamId) {
  throw InternalError("this host has no textures");
}

void Host::copy_on_device_to_array(const workload::TextureArray&, Address, StreamId) {
  throw InternalError("this host has no textures");
}

}  // namespace gpumux::runtime
