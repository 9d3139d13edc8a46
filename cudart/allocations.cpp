// Allocations. Memory that both the device and this process can access has the same addresses on both.
#include <algorithm>
#include <iterator>
#include <map>
#include <vector>

#include "allocations.hpp"
#include "graph_memory.hpp"
#include "mappings.hpp"
#include "pools.hpp"
#include "registered.hpp"
#include "streams.hpp"

namespace gpumux::cudart {
namespace {

using program::MemoryKind;

struct Allocation {
  std::size_t bytes = 0;
  MemoryKind kind = MemoryKind::Device;
  unsigned flags = 0;  // flags of cudaHostAlloc
  Pool* pool = nullptr;
  const void* owner = nullptr;
  bool of_graph = false;  // owned by graphs, which also free it (graph_memory.hpp)
};
using Allocations = std::map<std::uintptr_t, Allocation>;  // by first address
Allocations& allocations() {
  static auto* const all = new Allocations;
  return *all;
}

/// The allocation that contains the address, or nullptr.
const Allocations::value_type* allocation_of(const void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  const Allocations& all = allocations();
  const auto after = all.upper_bound(address);
  if (after == all.begin()) return nullptr;
  const auto& before = *std::prev(after);
  return address - before.first < before.second.bytes ? &before : nullptr;
}

}  // namespace

bool is_pinned(const void* pointer) {
  if (registration_at(pointer) != nullptr) return true;
  const auto* const found = allocation_of(pointer);
  return found != nullptr && found->second.kind == MemoryKind::Pinned;
}

namespace {

Error allocate(void** pointer, std::size_t bytes, MemoryKind kind, unsigned flags = 0) {
  Session& session = Session::get();
  const std::scoped_lock lock(session.lock());
  if (pointer == nullptr) return returned(Error::InvalidValue);
  if (const Error error = session.connect(); error != Error::Success) return returned(error);
  *pointer = nullptr;
  if (bytes == 0) return Error::Success;
  program::AllocateResult result{};
  const Error error = session.call(Call::Allocate, program::AllocateArguments{bytes, kind}, &result);
  if (error != Error::Success) return returned(error);
  *pointer = reinterpret_cast<void*>(result.address);
  allocations()[result.address] = {bytes, kind, flags};
  return Error::Success;
}

/// Allocates from a pool. `handle`: nullptr for the current pool.
Error allocate_from(void* handle, void** pointer, std::size_t bytes) {
  const std::scoped_lock lock(Session::get().lock());
  Pool* const pool = handle == nullptr ? current_pool() : pool_of(handle);
  if (pool == nullptr) return returned(Error::InvalidValue);
  const Error error = allocate(pointer, bytes, MemoryKind::Device);
  if (error != Error::Success || bytes == 0) return error;
  allocations()[address_of(*pointer)].pool = pool;
  count_in(pool, bytes);
  return error;
}

Error allocate_in_stream(void* pool, void** pointer, std::size_t bytes, StreamHandle stream,
                         bool per_thread) {
  const std::scoped_lock lock(Session::get().lock());
  if (const Error error = Session::get().connect(); error != Error::Success) return returned(error);
  const std::uint32_t number = stream_number(stream, per_thread);
  if (Error error = Error::Success; captured_allocation(number, bytes, pointer, error))
    return returned(error);
  return allocate_from(pool, pointer, bytes);
}

/// Removes an allocation from this process's bookkeeping.
void forget(Allocations::const_iterator allocation) {
  if (allocation->second.pool != nullptr) count_out(allocation->second.pool, allocation->second.bytes);
  allocations().erase(allocation);
}

Error wait_for_device() { return Session::get().call(Call::WaitForDevice, program::Nothing{}); }

Error release(void* pointer, bool host) {
  Session& session = Session::get();
  const std::scoped_lock lock(session.lock());
  // Connects even for nullptr, since programs initialize the device by cudaFree(nullptr).
  if (const Error error = session.connect(); error != Error::Success) return returned(error);
  if (pointer == nullptr) return Error::Success;
  const auto found = allocations().find(address_of(pointer));
  if (found == allocations().end() || (found->second.kind == MemoryKind::Pinned) != host)
    return returned(Error::InvalidValue);
  if (found->second.of_graph) {
    const Error error = wait_for_device();
    return returned(error == Error::Success ? free_of_graph(pointer, nullptr) : error);
  }
  forget(found);
  return returned(session.call(Call::Free, program::FreeArguments{address_of(pointer), 0}));
}

Error release_in_stream(void* pointer, StreamHandle stream, bool per_thread) {
  Session& session = Session::get();
  const std::scoped_lock lock(session.lock());
  if (const Error error = session.connect(); error != Error::Success) return returned(error);
  const std::uint32_t number = stream_number(stream, per_thread);
  if (Error error = Error::Success; captured_free(number, pointer, error)) return returned(error);
  const auto found = allocations().find(address_of(pointer));
  if (found == allocations().end()) return returned(Error::InvalidValue);
  if (found->second.of_graph) return returned(free_of_graph(pointer, &number));
  forget(found);
  return returned(session.call(Call::FreeInStream, program::FreeArguments{address_of(pointer), number}));
}

/// Alignment in bytes of the rows of cudaMallocPitch.
constexpr std::size_t kPitchAlignment = 512;
std::size_t pitch_of(std::size_t width) {
  return (width + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
}

}  // namespace

std::optional<AllocationInfo> allocation_at(const void* pointer) {
  const std::scoped_lock lock(Session::get().lock());
  if (const Registration* const of = registration_at(pointer); of != nullptr)
    return AllocationInfo{of->host, of->bytes, MemoryKind::Pinned, nullptr};
  if (const auto mapped = mapped_at(pointer))
    return AllocationInfo{mapped->address, mapped->bytes, MemoryKind::Device, nullptr};
  const auto* const found = allocation_of(pointer);
  if (found == nullptr) return std::nullopt;
  const auto& [address, of] = *found;
  return AllocationInfo{address, of.bytes, of.kind, of.owner};
}

void note_of_graph(std::uintptr_t address, std::size_t bytes) {
  Allocation& made = allocations()[address];
  made.bytes = bytes;
  made.of_graph = true;
}
void forget_of_graph(std::uintptr_t address) { allocations().erase(address); }

void own(const void* pointer, const void* owner) {
  const std::scoped_lock lock(Session::get().lock());
  if (const auto found = allocations().find(address_of(pointer)); found != allocations().end())
    found->second.owner = owner;
}

void free_all_of(const void* owner) {
  const std::scoped_lock lock(Session::get().lock());
  std::vector<std::pair<void*, bool>> all;
  for (const auto& [address, of] : allocations()) {
    if (of.owner == owner && !of.of_graph)
      all.emplace_back(reinterpret_cast<void*>(address), of.kind == MemoryKind::Pinned);
  }
  for (const auto& [pointer, pinned] : all) static_cast<void>(release(pointer, pinned));
}

GPUMUX_CUDART_API Error cudaMalloc(void** pointer, std::size_t bytes) {
  return allocate(pointer, bytes, MemoryKind::Device);
}
GPUMUX_CUDART_API Error cudaMallocPitch(void** pointer, std::size_t* pitch, std::size_t width,
                                        std::size_t height) {
  *pitch = pitch_of(width);
  return allocate(pointer, *pitch * height, MemoryKind::Device);
}
GPUMUX_CUDART_API Error cudaMalloc3D(PitchedPointer* pointer, Extent extent) {
  pointer->pitch = pitch_of(extent.width);
  pointer->width = extent.width;
  pointer->height = extent.height;
  return allocate(&pointer->pointer, pointer->pitch * extent.height * extent.depth, MemoryKind::Device);
}
GPUMUX_CUDART_API Error cudaMallocHost(void** pointer, std::size_t bytes) {
  return allocate(pointer, bytes, MemoryKind::Pinned);
}
GPUMUX_CUDART_API Error cudaHostAlloc(void** pointer, std::size_t bytes, unsigned flags) {
  return allocate(pointer, bytes, MemoryKind::Pinned, flags);
}
GPUMUX_CUDART_API Error cudaMallocManaged(void** pointer, std::size_t bytes, unsigned flags) {
  if (bytes == 0 || (flags != 1 && flags != 2)) return returned(Error::InvalidValue);
  return allocate(pointer, bytes, MemoryKind::Managed);
}
GPUMUX_CUDART_API Error cudaMallocAsync(void** pointer, std::size_t bytes, StreamHandle stream) {
  return allocate_in_stream(nullptr, pointer, bytes, stream, false);
}
GPUMUX_CUDART_API Error cudaMallocAsync_ptsz(void** pointer, std::size_t bytes, StreamHandle stream) {
  return allocate_in_stream(nullptr, pointer, bytes, stream, true);
}
GPUMUX_CUDART_API Error cudaMallocFromPoolAsync(void** pointer, std::size_t bytes, void* pool,
                                                StreamHandle stream) {
  return pool != nullptr ? allocate_in_stream(pool, pointer, bytes, stream, false)
                         : returned(Error::InvalidValue);
}
GPUMUX_CUDART_API Error cudaMallocFromPoolAsync_ptsz(void** pointer, std::size_t bytes, void* pool,
                                                     StreamHandle stream) {
  return pool != nullptr ? allocate_in_stream(pool, pointer, bytes, stream, true)
                         : returned(Error::InvalidValue);
}
GPUMUX_CUDART_API Error cudaFree(void* pointer) { return release(pointer, false); }
GPUMUX_CUDART_API Error cudaFreeHost(void* pointer) { return release(pointer, true); }
GPUMUX_CUDART_API Error cudaFreeAsync(void* pointer, StreamHandle stream) {
  return release_in_stream(pointer, stream, false);
}
GPUMUX_CUDART_API Error cudaFreeAsync_ptsz(void* pointer, StreamHandle stream) {
  return release_in_stream(pointer, stream, true);
}

GPUMUX_CUDART_API Error cudaHostGetFlags(unsigned* flags, void* host) {
  const std::scoped_lock lock(Session::get().lock());
  const Registration* const registered = registration_at(host);
  const auto* const found = allocation_of(host);
  if (registered == nullptr && (found == nullptr || found->second.kind != MemoryKind::Pinned))
    return returned(Error::InvalidValue);
  *flags = registered != nullptr ? registered->flags : found->second.flags;
  return Error::Success;
}
GPUMUX_CUDART_API Error cudaPointerGetAttributes(PointerAttributes* attributes, const void* pointer) {
  const std::scoped_lock lock(Session::get().lock());
  constexpr int kTypes[] = {2, 1, 3};  // by MemoryKind
  *attributes = {};
  if (const Registration* const of = registration_at(pointer); of != nullptr) {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    const std::uintptr_t offset = address - of->host < of->bytes ? address - of->host : address - of->device;
    attributes->type = kTypes[static_cast<std::size_t>(MemoryKind::Pinned)];
    attributes->host_pointer = reinterpret_cast<void*>(of->host + offset);
    attributes->device_pointer = of->device == 0 ? nullptr : reinterpret_cast<void*>(of->device + offset);
    return Error::Success;
  }
  if (mapped_at(pointer)) {
    attributes->type = kTypes[static_cast<std::size_t>(MemoryKind::Device)];
    attributes->device_pointer = const_cast<void*>(pointer);
    return Error::Success;
  }
  const auto* const found = allocation_of(pointer);
  if (found == nullptr) {
    attributes->host_pointer = const_cast<void*>(pointer);
    attributes->device = -2;  // cudaInvalidDeviceId
    return Error::Success;
  }
  attributes->type = kTypes[static_cast<std::size_t>(found->second.kind)];
  attributes->device_pointer = const_cast<void*>(pointer);
  if (found->second.kind != MemoryKind::Device) attributes->host_pointer = const_cast<void*>(pointer);
  return Error::Success;
}

GPUMUX_CUDART_API Error cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  Session& session = Session::get();
  const std::scoped_lock lock(session.lock());
  if (const Error error = session.connect(); error != Error::Success) return returned(error);
  program::MemoryInfoResult result{};
  const Error error = session.call(Call::MemoryInfo, program::Nothing{}, &result);
  // Reserved addresses of graphs use no memory, so they do not reduce the free memory.
  const GraphMemory graphs = graph_memory();
  *free = result.free + graphs.addresses - std::min(graphs.reserved, graphs.addresses);
  *total = result.total;
  return returned(error);
}

// Managed memory is always device memory and never migrates, so hints have no effect. Their other arguments,
// which differ among versions, are ignored.
GPUMUX_CUDART_API Error cudaMemPrefetchAsync(const void* pointer, std::size_t) {
  return returned(Session::get().is_shared(pointer) ? Error::Success : Error::InvalidValue);
}
GPUMUX_CUDART_API Error cudaMemPrefetchAsync_ptsz(const void* pointer, std::size_t bytes) {
  return cudaMemPrefetchAsync(pointer, bytes);
}
GPUMUX_CUDART_API Error cudaMemAdvise(const void* pointer, std::size_t bytes) {
  return cudaMemPrefetchAsync(pointer, bytes);
}
GPUMUX_CUDART_API Error cudaStreamAttachMemAsync_ptsz(StreamHandle, void* pointer, std::size_t bytes,
                                                      unsigned) {
  return cudaMemPrefetchAsync(pointer, bytes);
}
GPUMUX_CUDART_API Error cudaStreamAttachMemAsync(StreamHandle, void* pointer, std::size_t bytes, unsigned) {
  return cudaMemPrefetchAsync(pointer, bytes);
}

}  // namespace gpumux::cudart
