// Allocations, copies and fills. What the device and this process both see lies at the same addresses for
// both; bytes of any other host memory pass through the staging buffer.
#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "constants.hpp"
#include "graph.hpp"
#include "graph_memory.hpp"
#include "memory.hpp"
#include "modules.hpp"
#include "pools.hpp"
#include "registered.hpp"
#include "streams.hpp"

namespace gpumux::cudart {
namespace {

using program::Direction;
using program::MemoryKind;

struct Allocation {
  std::size_t bytes = 0;
  MemoryKind kind = MemoryKind::Device;
  unsigned flags = 0;  // of cudaHostAlloc
  Pool* pool = nullptr;
  const void* owner = nullptr;
  bool of_graph = false;  // whose addresses graphs have, and give back (graph_memory.hpp)
};
using Allocations = std::map<std::uintptr_t, Allocation>;  // by first address
Allocations& allocations() {
  static auto* const all = new Allocations;
  return *all;
}

/// The allocation that a pointer points into; nullptr: none.
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

std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

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

/// From a pool; nullptr: the current one.
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

/// Allocated no longer, for this process.
void forget(Allocations::const_iterator allocation) {
  if (allocation->second.pool != nullptr) count_out(allocation->second.pool, allocation->second.bytes);
  allocations().erase(allocation);
}

Error wait_for_device() { return Session::get().call(Call::WaitForDevice, program::Nothing{}); }

Error release(void* pointer, bool host) {
  Session& session = Session::get();
  const std::scoped_lock lock(session.lock());
  if (pointer == nullptr) return Error::Success;
  if (const Error error = session.connect(); error != Error::Success) return returned(error);
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

void move_rows(std::byte* to, std::size_t to_pitch, const std::byte* from, std::size_t from_pitch,
               Rows rows) {
  for (std::size_t row = 0; row < rows.count; ++row)
    std::memcpy(to + row * to_pitch, from + row * from_pitch, rows.bytes);
}

/// From the first byte of the first row to the last of the last.
std::size_t bytes_from_to(Rows rows, std::size_t pitch) { return (rows.count - 1) * pitch + rows.bytes; }

/// One copy, whose host side is staged in pieces if the device does not see it.
class Copy {
 public:
  Copy(std::byte* to, std::size_t to_pitch, const std::byte* from, std::size_t from_pitch, Rows rows,
       std::uint32_t stream, bool blocking)
      : to_(to),
        from_(from),
        to_pitch_(to_pitch),
        from_pitch_(from_pitch),
        rows_(rows),
        stream_(stream),
        blocking_(blocking) {}

  Error perform(MemcpyKind kind) {
    const Session& session = Session::get();
    const bool to_shared = session.is_shared(to_);
    const bool from_shared = session.is_shared(from_);
    if (kind == MemcpyKind::Default) kind = inferred(to_shared, from_shared);
    switch (kind) {
      case MemcpyKind::HostToHost: return on_host();
      case MemcpyKind::HostToDevice:
        if (!to_shared) return Error::InvalidValue;
        return from_shared ? transfer(Direction::ToDevice) : in_pieces(Direction::ToDevice);
      case MemcpyKind::DeviceToHost:
        if (!from_shared) return Error::InvalidValue;
        return to_shared ? transfer(Direction::FromDevice) : in_pieces(Direction::FromDevice);
      case MemcpyKind::DeviceToDevice:
        return to_shared && from_shared ? transfer(Direction::OnDevice) : Error::InvalidValue;
      case MemcpyKind::Default: break;
    }
    return Error::InvalidMemcpyDirection;
  }

 private:
  [[nodiscard]] MemcpyKind inferred(bool to_shared, bool from_shared) const {
    const bool to_host = !to_shared || is_pinned(to_);
    const bool from_host = !from_shared || is_pinned(from_);
    if (to_host) return from_host ? MemcpyKind::HostToHost : MemcpyKind::DeviceToHost;
    return from_host ? MemcpyKind::HostToDevice : MemcpyKind::DeviceToDevice;
  }

  Error on_host() {
    const Error error = Session::get().call(Call::WaitForStream, program::StreamNumber{stream_});
    if (error == Error::Success) move_rows(to_, to_pitch_, from_, from_pitch_, rows_);
    return error;
  }

  Error transfer(Direction direction) {
    const program::TransferArguments arguments{
        address_of(to_), address_of(from_), rows_.bytes, rows_.count,         to_pitch_,
        from_pitch_,     direction,         stream_,     blocking_ ? 1U : 0U, 0};
    return Session::get().call(Call::Transfer, arguments);
  }

  /// A piece of whole rows, or of a part of one.
  Error in_pieces(Direction direction) {
    constexpr std::size_t kMost = program::kStagingBytes;
    if (rows_.bytes <= kMost) {
      const std::size_t at_once = kMost / rows_.bytes;
      for (std::size_t row = 0; row < rows_.count; row += at_once) {
        const Rows piece{rows_.bytes, std::min(at_once, rows_.count - row)};
        const Error error = staged(direction, row, 0, piece);
        if (error != Error::Success) return error;
      }
      return Error::Success;
    }
    for (std::size_t row = 0; row < rows_.count; ++row) {
      for (std::size_t at = 0; at < rows_.bytes; at += kMost) {
        const Error error = staged(direction, row, at, {std::min(kMost, rows_.bytes - at), 1});
        if (error != Error::Success) return error;
      }
    }
    return Error::Success;
  }

  Error staged(Direction direction, std::size_t row, std::size_t at, Rows piece) {
    std::byte* const staging = Session::get().staging();
    std::byte* const to = to_ + row * to_pitch_ + at;
    const std::byte* const from = from_ + row * from_pitch_ + at;
    const bool in = direction == Direction::ToDevice;
    if (in) move_rows(staging, piece.bytes, from, from_pitch_, piece);
    // What comes from the device is not where the program expects it before it has left the buffer.
    const bool blocking = blocking_ || !in;
    const program::TransferArguments arguments{in ? address_of(to) : 0,
                                               in ? 0 : address_of(from),
                                               piece.bytes,
                                               piece.count,
                                               in ? to_pitch_ : piece.bytes,
                                               in ? piece.bytes : from_pitch_,
                                               direction,
                                               stream_,
                                               blocking ? 1U : 0U,
                                               1};
    const Error error = Session::get().call(Call::Transfer, arguments);
    if (error == Error::Success && !in) move_rows(to, to_pitch_, staging, piece.bytes, piece);
    return error;
  }

  std::byte* to_;
  const std::byte* from_;
  std::size_t to_pitch_, from_pitch_;
  Rows rows_;
  std::uint32_t stream_;
  bool blocking_;
};

/// Bytes of a constant, from or to any memory but another constant; they pass through this process.
Error copy_constant(bool to_constant, const ConstantPlace& place, std::byte* memory, std::size_t bytes,
                    Where where);

Error copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, Rows rows,
                MemcpyKind kind, Where where) {
  Session& session = Session::get();
  const std::scoped_lock lock(session.lock());
  if (const Error error = session.connect(); error != Error::Success) return returned(error);
  if (rows.bytes == 0 || rows.count == 0) return Error::Success;
  if (to == nullptr || from == nullptr) return returned(Error::InvalidValue);
  const auto to_constant = constant_at(to);
  const auto from_constant = constant_at(from);
  if (to_constant || from_constant) {
    const std::uint32_t stream = stream_number(where.stream, where.per_thread);
    const Work later = [=](std::uint32_t in) {
      return copy_rows(to, to_pitch, from, from_pitch, rows, kind, {stream_handle(in), false, false});
    };
    if (captured(stream, {NodeType::Memcpy, {}, later})) return Error::Success;
    if (to_constant && from_constant) return returned(not_supported("a copy from constant to constant"));
    ConstantPlace place = to_constant ? *to_constant : *from_constant;
    auto* memory = static_cast<std::byte*>(to_constant ? const_cast<void*>(from) : to);
    for (std::size_t row = 0; row < rows.count; ++row) {
      const Error error = copy_constant(to_constant.has_value(), place, memory, rows.bytes, where);
      if (error != Error::Success) return error;
      place.offset += to_constant ? to_pitch : from_pitch;
      memory += to_constant ? from_pitch : to_pitch;
    }
    return Error::Success;
  }
  auto* const target = static_cast<std::byte*>(device_view(to, bytes_from_to(rows, to_pitch)));
  const auto* const source =
      static_cast<const std::byte*>(device_view(from, bytes_from_to(rows, from_pitch)));
  const Work work = [=](std::uint32_t stream) {
    return Copy(target, to_pitch, source, from_pitch, rows, stream, where.blocking).perform(kind);
  };
  const std::uint32_t stream = stream_number(where.stream, where.per_thread);
  const auto* const from_bytes = static_cast<const std::byte*>(from);
  const Copy3D described{nullptr,
                         {},
                         {const_cast<std::byte*>(from_bytes), from_pitch, rows.bytes, rows.count},
                         nullptr,
                         {},
                         {to, to_pitch, rows.bytes, rows.count},
                         {rows.bytes, rows.count, 1},
                         kind};
  return captured(stream, {NodeType::Memcpy, described, work}) ? Error::Success : returned(work(stream));
}

constexpr int kInvalidPitch = 12;

}  // namespace

Error copy(void* to, const void* from, std::size_t bytes, MemcpyKind kind, Where where) {
  return copy_rows(to, bytes, from, bytes, {bytes, 1}, kind, where);
}

Error copy_2d(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
              std::size_t height, MemcpyKind kind, Where where) {
  if (width > to_pitch || width > from_pitch) return returned(static_cast<Error>(kInvalidPitch));
  return copy_rows(to, to_pitch, from, from_pitch, {width, height}, kind, where);
}

Error copy_3d(const Copy3D* of, Where where) {
  if (of == nullptr) return returned(Error::InvalidValue);
  if (of->from_array != nullptr || of->to_array != nullptr) return copy_3d_of_arrays(*of, where);
  const auto first = [](const PitchedPointer& pointer, const Position& at) {
    return static_cast<std::byte*>(pointer.pointer) + (at.z * pointer.height + at.y) * pointer.pitch + at.x;
  };
  for (std::size_t slice = 0; slice < of->extent.depth; ++slice) {
    const Error error = copy_2d(first(of->to, of->to_at) + slice * of->to.height * of->to.pitch, of->to.pitch,
                                first(of->from, of->from_at) + slice * of->from.height * of->from.pitch,
                                of->from.pitch, of->extent.width, of->extent.height, of->kind, where);
    if (error != Error::Success) return error;
  }
  return Error::Success;
}

Error fill(void* to, std::size_t pitch, Pattern pattern, Rows rows, Where where) {
  Session& session = Session::get();
  const std::scoped_lock lock(session.lock());
  if (const Error error = session.connect(); error != Error::Success) return returned(error);
  if (rows.bytes == 0 || rows.count == 0) return Error::Success;
  if (constant_at(to)) {
    std::string row(rows.bytes, '\0');
    for (std::size_t at = 0; at < row.size(); at += pattern.bytes)
      std::memcpy(row.data() + at, &pattern.value, std::min<std::size_t>(pattern.bytes, row.size() - at));
    return copy_rows(to, pitch, row.data(), 0, rows, MemcpyKind::HostToDevice, where);
  }
  to = device_view(to, bytes_from_to(rows, pitch));
  const auto* const allocation = allocation_of(to);
  const std::uint32_t stream = stream_number(where.stream, where.per_thread);
  const Work work = [=](std::uint32_t in) {
    const program::FillArguments arguments{address_of(to), rows.bytes,    rows.count, pitch,
                                           pattern.value,  pattern.bytes, in};
    return Session::get().call(Call::Fill, arguments);
  };
  const MemsetNode described{to, pitch, pattern.value, pattern.bytes, rows.bytes / pattern.bytes, rows.count};
  if (captured(stream, {NodeType::Memset, described, work})) return Error::Success;
  Error error = work(stream);
  // As documented: what the host sees, too, is filled when the call returns.
  const bool seen = allocation == nullptr || allocation->second.kind != MemoryKind::Device;
  if (error == Error::Success && where.blocking && seen)
    error = session.call(Call::WaitForStream, program::StreamNumber{stream});
  return returned(error);
}

namespace {

Error copy_constant(bool to_constant, const ConstantPlace& place, std::byte* memory, std::size_t bytes,
                    Where where) {
  Session& session = Session::get();
  const program::VariableDescription& of = place.variable;
  if (place.offset > of.bytes || bytes > of.bytes - place.offset) return returned(Error::InvalidValue);
  const std::uint32_t stream = stream_number(where.stream, where.per_thread);
  const bool on_device = session.is_shared(memory);
  if (to_constant) {
    std::string content(bytes, '\0');
    if (on_device) {
      const Error error = copy(content.data(), memory, bytes, MemcpyKind::DeviceToHost,
                               {where.stream, where.per_thread, true});
      if (error != Error::Success) return error;
    } else {
      std::memcpy(content.data(), memory, bytes);
    }
    const program::WriteConstantArguments arguments{place.offset, of.variable, stream,
                                                    where.blocking ? 1U : 0U};
    return returned(session.call(Call::WriteConstant, arguments, bytes_of(content)));
  }
  std::string content;
  const Error error =
      session.call(Call::ReadConstant,
                   program::ReadConstantArguments{place.offset, bytes, of.variable, stream}, {}, &content);
  if (error != Error::Success) return returned(error);
  if (on_device) return copy(memory, content.data(), bytes, MemcpyKind::HostToDevice, where);
  std::memcpy(memory, content.data(), content.size());
  return Error::Success;
}

/// Rows of cudaMallocPitch begin at multiples of this.
constexpr std::size_t kPitchAlignment = 512;
std::size_t pitch_of(std::size_t width) {
  return (width + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
}

Where in_number(std::uint32_t stream) { return {stream_handle(stream), false, false}; }

}  // namespace

Error describe_copy(const Copy3D* of, NodeWork& out) {
  if (of == nullptr) return Error::InvalidValue;
  out = {NodeType::Memcpy, *of, [of = *of](std::uint32_t stream) { return copy_3d(&of, in_number(stream)); }};
  return Error::Success;
}
Error describe_copy(void* to, const void* from, std::size_t bytes, MemcpyKind kind, NodeWork& out) {
  out = {NodeType::Memcpy,
         Copy3D{nullptr,
                {},
                {const_cast<void*>(from), bytes, bytes, 1},
                nullptr,
                {},
                {to, bytes, bytes, 1},
                {bytes, 1, 1},
                kind},
         [=](std::uint32_t stream) { return copy(to, from, bytes, kind, in_number(stream)); }};
  return Error::Success;
}
Error describe_symbol_copy(bool to_symbol, const void* symbol, void* memory, std::size_t bytes,
                           std::size_t offset, MemcpyKind kind, NodeWork& out) {
  Error error = Error::Success;
  const Variable* const variable = find_variable(symbol, error);
  if (variable == nullptr) return error;
  if (variable->address == nullptr) return Error::InvalidSymbol;
  const std::uint64_t has = variable->description.bytes;
  if (offset > has || bytes > has - offset) return Error::InvalidValue;
  void* const place = static_cast<std::byte*>(variable->address) + offset;
  return to_symbol ? describe_copy(place, memory, bytes, kind, out)
                   : describe_copy(memory, place, bytes, kind, out);
}
Error describe_fill(const MemsetNode* of, NodeWork& out) {
  if (of == nullptr) return Error::InvalidValue;
  const std::size_t bytes = of->element_bytes;
  if (bytes != 1 && bytes != 2 && bytes != 4) return Error::InvalidValue;
  out = {NodeType::Memset, *of, [of = *of](std::uint32_t stream) {
           const Rows rows{of.width * of.element_bytes, std::max<std::size_t>(of.height, 1)};
           return fill(of.to, of.pitch, {of.value, of.element_bytes}, rows, in_number(stream));
         }};
  return Error::Success;
}

namespace {}  // namespace

std::optional<AllocationInfo> allocation_at(const void* pointer) {
  const std::scoped_lock lock(Session::get().lock());
  if (const Registration* const of = registration_at(pointer); of != nullptr)
    return AllocationInfo{of->host, of->bytes, MemoryKind::Pinned, nullptr};
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
  // Addresses of graphs' memory are not memory.
  const GraphMemory graphs = graph_memory();
  *free = result.free + graphs.addresses - std::min(graphs.reserved, graphs.addresses);
  *total = result.total;
  return returned(error);
}

GPUMUX_CUDART_API Error cudaMemcpy(void* to, const void* from, std::size_t bytes, MemcpyKind kind) {
  return copy(to, from, bytes, kind, kBlocking);
}
GPUMUX_CUDART_API Error cudaMemcpy_ptds(void* to, const void* from, std::size_t bytes, MemcpyKind kind) {
  return copy(to, from, bytes, kind, kBlockingPerThread);
}
GPUMUX_CUDART_API Error cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, MemcpyKind kind,
                                        StreamHandle stream) {
  return copy(to, from, bytes, kind, in(stream));
}
GPUMUX_CUDART_API Error cudaMemcpyAsync_ptsz(void* to, const void* from, std::size_t bytes, MemcpyKind kind,
                                             StreamHandle stream) {
  return copy(to, from, bytes, kind, in_per_thread(stream));
}
GPUMUX_CUDART_API Error cudaMemcpyPeer(void* to, int, const void* from, int, std::size_t bytes) {
  return copy(to, from, bytes, MemcpyKind::DeviceToDevice, kBlocking);
}
GPUMUX_CUDART_API Error cudaMemcpyPeerAsync(void* to, int, const void* from, int, std::size_t bytes,
                                            StreamHandle stream) {
  return copy(to, from, bytes, MemcpyKind::DeviceToDevice, in(stream));
}
GPUMUX_CUDART_API Error cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                                     std::size_t width, std::size_t height, MemcpyKind kind) {
  return copy_2d(to, to_pitch, from, from_pitch, width, height, kind, kBlocking);
}
GPUMUX_CUDART_API Error cudaMemcpy2D_ptds(void* to, std::size_t to_pitch, const void* from,
                                          std::size_t from_pitch, std::size_t width, std::size_t height,
                                          MemcpyKind kind) {
  return copy_2d(to, to_pitch, from, from_pitch, width, height, kind, kBlockingPerThread);
}
GPUMUX_CUDART_API Error cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                                          std::size_t from_pitch, std::size_t width, std::size_t height,
                                          MemcpyKind kind, StreamHandle stream) {
  return copy_2d(to, to_pitch, from, from_pitch, width, height, kind, in(stream));
}
GPUMUX_CUDART_API Error cudaMemcpy2DAsync_ptsz(void* to, std::size_t to_pitch, const void* from,
                                               std::size_t from_pitch, std::size_t width, std::size_t height,
                                               MemcpyKind kind, StreamHandle stream) {
  return copy_2d(to, to_pitch, from, from_pitch, width, height, kind, in_per_thread(stream));
}
GPUMUX_CUDART_API Error cudaMemcpy3D(const Copy3D* of) { return copy_3d(of, kBlocking); }
GPUMUX_CUDART_API Error cudaMemcpy3D_ptds(const Copy3D* of) { return copy_3d(of, kBlockingPerThread); }
GPUMUX_CUDART_API Error cudaMemcpy3DAsync(const Copy3D* of, StreamHandle stream) {
  return copy_3d(of, in(stream));
}
GPUMUX_CUDART_API Error cudaMemcpy3DAsync_ptsz(const Copy3D* of, StreamHandle stream) {
  return copy_3d(of, in_per_thread(stream));
}

// Managed memory is the device's from the start, and costs neither side a migration: hints change nothing.
// Their other arguments, which differ among versions, are not looked at.
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
