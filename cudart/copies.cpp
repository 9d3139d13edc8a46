// Copies and fills. Memory that the device can access is copied directly. Bytes of any other host memory go
// through the staging buffer.
#include <algorithm>
#include <cstring>

#include "allocations.hpp"
#include "arrays.hpp"
#include "constants.hpp"
#include "copies.hpp"
#include "graph.hpp"
#include "mappings.hpp"
#include "modules.hpp"
#include "registered.hpp"
#include "streams.hpp"

namespace gpumux::cudart {
namespace {

using program::Direction;
using program::MemoryKind;

void move_rows(std::byte* to, std::size_t to_pitch, const std::byte* from, std::size_t from_pitch,
               Rows rows) {
  for (std::size_t row = 0; row < rows.count; ++row)
    std::memcpy(to + row * to_pitch, from + row * from_pitch, rows.bytes);
}

/// Bytes from the first byte of the first row to the last byte of the last row.
std::size_t bytes_from_to(Rows rows, std::size_t pitch) { return (rows.count - 1) * pitch + rows.bytes; }

/// One copy. If the device cannot access the host side, the bytes are staged in pieces.
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

  /// Copies in pieces, each of some whole rows or of a part of one row.
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
    // Bytes from the device must leave the staging buffer before the call returns, so this direction always
    // blocks.
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

/// Copies bytes between a constant and any memory except another constant. The bytes go through this process.
Error copy_constant(bool to_constant, const ConstantPlace& place, std::byte* memory, std::size_t bytes,
                    Where where);

/// True if all rows are in one mapping of the program. Otherwise adjacent addresses may be in different
/// places of device memory.
bool is_in_one_mapping(const void* first, std::size_t pitch, Rows rows) {
  const std::size_t bytes = bytes_from_to(rows, pitch);
  return bytes_in_one_mapping(first, bytes) == bytes;
}
/// True for an address in the program's address reservations that is not mapped or not accessible.
bool is_out_of_reach(const void* pointer) {
  return is_virtual(pointer) && device_view(pointer, 1) == pointer;
}

Error copy_in_pieces(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, Rows rows,
                     MemcpyKind kind, Where where);

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
  if (!is_in_one_mapping(to, to_pitch, rows) || !is_in_one_mapping(from, from_pitch, rows))
    return copy_in_pieces(to, to_pitch, from, from_pitch, rows, kind, where);
  if (is_out_of_reach(to) || is_out_of_reach(from)) return returned(Error::InvalidValue);
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

Error copy_in_pieces(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, Rows rows,
                     MemcpyKind kind, Where where) {
  for (std::size_t row = 0; row < rows.count; ++row) {
    auto* target = static_cast<std::byte*>(to) + row * to_pitch;
    const auto* source = static_cast<const std::byte*>(from) + row * from_pitch;
    for (std::size_t rest = rows.bytes; rest > 0;) {
      const std::size_t bytes =
          std::min(bytes_in_one_mapping(target, rest), bytes_in_one_mapping(source, rest));
      const Error error = copy_rows(target, bytes, source, bytes, {bytes, 1}, kind, where);
      if (error != Error::Success) return error;
      target += bytes;
      source += bytes;
      rest -= bytes;
    }
  }
  return Error::Success;
}

/// Checks that rows and slices of linear memory do not overlap. The pitch of a single row beside an array is
/// ignored.
Error check_layout(const Copy3D& of) {
  const bool of_array = of.from_array != nullptr || of.to_array != nullptr;
  const std::size_t texel =
      of_array ? texel_bytes_of(of.from_array != nullptr ? of.from_array : of.to_array) : 1;
  const std::size_t bytes = of.extent.width * texel;
  const std::size_t least = of_array ? 1 : 0;
  const std::size_t rows = std::max(of.extent.height, least), slices = std::max(of.extent.depth, least);
  if (bytes == 0 || rows == 0 || slices == 0 || (of_array && rows == 1 && slices == 1)) return Error::Success;
  const auto within = [](std::size_t first, std::size_t count, std::size_t all) {
    return count <= all && first <= all - count;
  };
  const auto check = [&](void* array, const PitchedPointer& memory, const Position& at) {
    if (array != nullptr) return Error::Success;
    if (!within(at.x, bytes, memory.pitch)) return kInvalidPitch;
    return slices > 1 && !within(at.y, rows, memory.height) ? Error::InvalidValue : Error::Success;
  };
  const Error error = check(of.from_array, of.from, of.from_at);
  return error == Error::Success ? check(of.to_array, of.to, of.to_at) : error;
}

}  // namespace

Error copy(void* to, const void* from, std::size_t bytes, MemcpyKind kind, Where where) {
  return copy_rows(to, bytes, from, bytes, {bytes, 1}, kind, where);
}

Error copy_2d(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
              std::size_t height, MemcpyKind kind, Where where) {
  if (width > to_pitch || width > from_pitch) return returned(kInvalidPitch);
  return copy_rows(to, to_pitch, from, from_pitch, {width, height}, kind, where);
}

Error copy_3d(const Copy3D* of, Where where) {
  if (of == nullptr) return returned(Error::InvalidValue);
  if (const Error error = check_layout(*of); error != Error::Success) return returned(error);
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
  if (rows.count > 1 && rows.bytes > pitch)
    return returned(Error::InvalidValue);  // as documented, unlike for copies
  if (constant_at(to)) {
    std::string row(rows.bytes, '\0');
    for (std::size_t at = 0; at < row.size(); at += pattern.bytes)
      std::memcpy(row.data() + at, &pattern.value, std::min<std::size_t>(pattern.bytes, row.size() - at));
    return copy_rows(to, pitch, row.data(), 0, rows, MemcpyKind::HostToDevice, where);
  }
  if (!is_in_one_mapping(to, pitch, rows)) {
    for (std::size_t row = 0; row < rows.count; ++row) {
      auto* next = static_cast<std::byte*>(to) + row * pitch;
      for (std::size_t rest = rows.bytes; rest > 0;) {
        const std::size_t bytes = bytes_in_one_mapping(next, rest);
        if (const Error error = fill(next, bytes, pattern, {bytes, 1}, where); error != Error::Success)
          return error;
        next += bytes;
        rest -= bytes;
      }
    }
    return Error::Success;
  }
  if (is_out_of_reach(to)) return returned(Error::InvalidValue);
  to = device_view(to, bytes_from_to(rows, pitch));
  const std::optional<AllocationInfo> allocation = allocation_at(to);
  const std::uint32_t stream = stream_number(where.stream, where.per_thread);
  const Work work = [=](std::uint32_t in) {
    const program::FillArguments arguments{address_of(to), rows.bytes,    rows.count, pitch,
                                           pattern.value,  pattern.bytes, in};
    return Session::get().call(Call::Fill, arguments);
  };
  const MemsetNode described{to, pitch, pattern.value, pattern.bytes, rows.bytes / pattern.bytes, rows.count};
  if (captured(stream, {NodeType::Memset, described, work})) return Error::Success;
  Error error = work(stream);
  // As documented, filling memory that the host can access blocks.
  const bool seen = !allocation || allocation->kind != MemoryKind::Device;
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

Where in_number(std::uint32_t stream) { return {stream_handle(stream), false, false}; }

}  // namespace

Error describe_copy(const Copy3D* of, NodeWork& out) {
  if (of == nullptr) return Error::InvalidValue;
  if (const Error error = check_layout(*of); error != Error::Success) return error;
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

}  // namespace gpumux::cudart
