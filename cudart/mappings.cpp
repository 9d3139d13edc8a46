#include "mappings.hpp"

#include <algorithm>
#include <iterator>
#include <map>

namespace gpumux::cudart {
namespace {

/// Offsets of the addresses that can be reserved: in the device's own range, after all possible device
/// memory, so that they are the same in each run.
constexpr std::uintptr_t kFirstOffset = std::uintptr_t{1} << 37U;
constexpr std::uintptr_t kEndOffset = std::uintptr_t{1} << 40U;
constexpr std::size_t kReservedUnit = 4096;

struct Physical {
  std::uintptr_t allocation = 0;  // device allocation
  std::uintptr_t device = 0;      // address of its first page
  std::size_t bytes = 0;
  unsigned references = 1;
  unsigned mappings = 0;
};
struct Mapping {
  std::size_t bytes = 0;
  PhysicalHandle handle = 0;
  Access access = Access::None;
};
struct VirtualMemory {
  std::map<PhysicalHandle, Physical> physical;
  PhysicalHandle last = 0;
  std::map<std::uintptr_t, std::size_t> reserved;
  std::map<std::uintptr_t, Mapping> mappings;
};
VirtualMemory& virtual_memory() {
  static auto* const all = new VirtualMemory;
  return *all;
}

std::uintptr_t first_address() { return Session::get().device().memory_base + kFirstOffset; }
std::uintptr_t end_address() { return Session::get().device().memory_base + kEndOffset; }

/// The element that contains the address, or end(). Keys are first addresses.
template <class Map, class Bytes>
typename Map::iterator containing(Map& map, std::uintptr_t address, const Bytes& bytes) {
  const auto after = map.upper_bound(address);
  if (after == map.begin()) return map.end();
  const auto found = std::prev(after);
  return address - found->first < bytes(found->second) ? found : map.end();
}
std::map<std::uintptr_t, Mapping>::iterator mapping_of(std::uintptr_t address) {
  return containing(virtual_memory().mappings, address, [](const Mapping& of) { return of.bytes; });
}

/// True if no element of the map overlaps the range.
template <class Map, class Bytes>
bool is_free(Map& map, std::uintptr_t address, std::size_t bytes, const Bytes& bytes_of) {
  const auto next = map.lower_bound(address);
  return (next == map.end() || next->first - address >= bytes) &&
         containing(map, address, bytes_of) == map.end();
}
bool can_be_reserved(std::uintptr_t address, std::size_t bytes) {
  return address >= first_address() && address < end_address() && bytes <= end_address() - address &&
         is_free(virtual_memory().reserved, address, bytes, [](std::size_t of) { return of; });
}

/// True if the range consists of whole mappings without gaps.
bool is_filled(std::uintptr_t address, std::size_t bytes) {
  const std::uintptr_t end = address + bytes;
  if (bytes == 0 || end < address) return false;
  auto next = virtual_memory().mappings.find(address);
  for (; next != virtual_memory().mappings.end() && next->first == address && address < end; ++next)
    address += next->second.bytes;
  return address == end;
}

Error destroy_if_unused(PhysicalHandle handle) {
  const auto found = virtual_memory().physical.find(handle);
  if (found->second.references > 0 || found->second.mappings > 0) return Error::Success;
  const std::uintptr_t allocation = found->second.allocation;
  virtual_memory().physical.erase(found);
  return Session::get().call(Call::Free, program::FreeArguments{allocation, 0});
}

Error change_access(std::uintptr_t address, Mapping& of, Access access) {
  Session& session = Session::get();
  const bool before = of.access != Access::None, now = access != Access::None;
  Error error = Error::Success;
  if (now && !before) {
    const program::MapHostArguments arguments{address, of.bytes,
                                              virtual_memory().physical.at(of.handle).device};
    error = session.call(Call::MapHost, arguments);
  } else if (before && !now) {
    // Running kernels may use the mapping.
    error = session.call(Call::WaitForDevice, program::Nothing{});
    if (error == Error::Success) error = session.call(Call::UnmapHost, program::UnmapHostArguments{address});
  }
  if (error == Error::Success) of.access = access;
  return error;
}

/// Runs `call` with the session connected and its lock held.
template <class Function>
Error with_session(const Function& call) {
  Session& session = Session::get();
  const std::scoped_lock lock(session.lock());
  const Error error = session.connect();
  return error == Error::Success ? call() : error;
}

bool is_granular(std::uint64_t number) { return number % kMappingGranularity == 0; }

}  // namespace

Error create_physical(std::size_t bytes, PhysicalHandle& handle) {
  return with_session([&] {
    if (bytes == 0 || !is_granular(bytes)) return Error::InvalidValue;
    program::AllocateResult result{};
    const program::AllocateArguments wanted{bytes + kReservedUnit, program::MemoryKind::Device};
    if (const Error error = Session::get().call(Call::Allocate, wanted, &result); error != Error::Success)
      return error;
    handle = ++virtual_memory().last;
    virtual_memory().physical[handle] = {
        result.address, (result.address + kReservedUnit - 1) / kReservedUnit * kReservedUnit, bytes};
    return Error::Success;
  });
}

Error release_physical(PhysicalHandle handle) {
  return with_session([=] {
    const auto found = virtual_memory().physical.find(handle);
    if (found == virtual_memory().physical.end() || found->second.references == 0) return Error::InvalidValue;
    --found->second.references;
    return destroy_if_unused(handle);
  });
}

Error retain_physical(const void* pointer, PhysicalHandle& handle) {
  return with_session([&] {
    const auto found = mapping_of(address_of(pointer));
    if (found == virtual_memory().mappings.end()) return Error::InvalidValue;
    handle = found->second.handle;
    ++virtual_memory().physical.at(handle).references;
    return Error::Success;
  });
}

bool is_physical(PhysicalHandle handle) {
  const std::scoped_lock lock(Session::get().lock());
  const auto found = virtual_memory().physical.find(handle);
  return found != virtual_memory().physical.end() && found->second.references > 0;
}

Error reserve_addresses(std::size_t bytes, std::size_t alignment, std::uintptr_t wanted,
                        std::uintptr_t& address) {
  return with_session([&] {
    if (bytes == 0 || bytes % kReservedUnit != 0 || wanted % kReservedUnit != 0 ||
        (alignment & (alignment - 1)) != 0)
      return Error::InvalidValue;
    const std::size_t unit = std::max(alignment, kMappingGranularity);
    const auto aligned = [&](std::uintptr_t from) { return (from + unit - 1) / unit * unit; };
    std::uintptr_t place = aligned(first_address());
    if (wanted % unit == 0 && can_be_reserved(wanted, bytes)) {
      place = wanted;
    } else {
      for (const auto& [start, size] : virtual_memory().reserved) {
        if (start >= place && start - place >= bytes) break;
        place = std::max(place, aligned(start + size));
      }
    }
    if (!can_be_reserved(place, bytes)) return Error::MemoryAllocation;
    virtual_memory().reserved[place] = bytes;
    address = place;
    return Error::Success;
  });
}

Error free_addresses(std::uintptr_t address, std::size_t bytes) {
  return with_session([=] {
    const auto found = virtual_memory().reserved.find(address);
    const auto bytes_of = [](const Mapping& of) { return of.bytes; };
    if (found == virtual_memory().reserved.end() || found->second != bytes ||
        !is_free(virtual_memory().mappings, address, bytes, bytes_of))
      return Error::InvalidValue;
    virtual_memory().reserved.erase(found);
    return Error::Success;
  });
}

Error map_physical(std::uintptr_t address, std::size_t bytes, PhysicalHandle handle) {
  return with_session([=] {
    const auto memory = virtual_memory().physical.find(handle);
    const auto range = containing(virtual_memory().reserved, address, [](std::size_t of) { return of; });
    const bool exists = memory != virtual_memory().physical.end() && memory->second.references > 0;
    if (!exists || range == virtual_memory().reserved.end() || bytes == 0 || !is_granular(address) ||
        !is_granular(bytes) || bytes > memory->second.bytes ||
        bytes > range->second - (address - range->first) ||
        !is_free(virtual_memory().mappings, address, bytes, [](const Mapping& of) { return of.bytes; }))
      return Error::InvalidValue;
    ++memory->second.mappings;
    virtual_memory().mappings[address] = {bytes, handle, Access::None};
    return Error::Success;
  });
}

Error unmap_physical(std::uintptr_t address, std::size_t bytes) {
  return with_session([=] {
    if (!is_filled(address, bytes)) return Error::InvalidValue;
    for (auto next = virtual_memory().mappings.find(address);
         next != virtual_memory().mappings.end() && next->first < address + bytes;) {
      if (const Error error = change_access(next->first, next->second, Access::None); error != Error::Success)
        return error;
      const PhysicalHandle handle = next->second.handle;
      next = virtual_memory().mappings.erase(next);
      --virtual_memory().physical.at(handle).mappings;
      if (const Error error = destroy_if_unused(handle); error != Error::Success) return error;
    }
    return Error::Success;
  });
}

Error set_access(std::uintptr_t address, std::size_t bytes, Access access) {
  return with_session([=] {
    if (!is_filled(address, bytes)) return Error::InvalidValue;
    for (auto next = virtual_memory().mappings.find(address);
         next != virtual_memory().mappings.end() && next->first < address + bytes; ++next) {
      if (const Error error = change_access(next->first, next->second, access); error != Error::Success)
        return error;
    }
    return Error::Success;
  });
}

std::optional<Mapped> mapped_at(const void* pointer) {
  const auto found = mapping_of(address_of(pointer));
  if (found == virtual_memory().mappings.end()) return std::nullopt;
  const Mapping& of = found->second;
  return Mapped{found->first, of.bytes, virtual_memory().physical.at(of.handle).device, of.access};
}

bool is_virtual(const void* pointer) {
  const Session& session = Session::get();
  return session.connected() && address_of(pointer) >= first_address() && address_of(pointer) < end_address();
}

std::size_t bytes_in_one_mapping(const void* pointer, std::size_t bytes) {
  const auto found = mapping_of(address_of(pointer));
  if (found == virtual_memory().mappings.end()) return bytes;
  return std::min<std::size_t>(bytes, found->first + found->second.bytes - address_of(pointer));
}

}  // namespace gpumux::cudart
