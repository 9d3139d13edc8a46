// The addresses of a memory access, its checks, and its record for the timing model.
#pragma once

#include <bit>
#include <utility>

#include "emulator/block.hpp"
#include "emulator/lanes.hpp"
#include "emulator/windows.hpp"

namespace gpumux::emulator {

/// The addresses of an access. Inactive lanes repeat the address of the lowest active lane, so that loops
/// over all 32 lanes can read all addresses that were checked.
struct Addresses {
  alignas(64) u64 at[kWarpSize];
  u64 first = 0;         // address of the lowest active lane
  u64 spread = 0;        // has the highest bit in which addresses differ, and possibly lower bits
  u64 bits = 0;          // only low bits are meaningful: alignment
  u64 stride = 0;        // address of lane 1 - address of lane 0
  bool regular = false;  // all adjacent lanes have this stride

  [[nodiscard]] bool uniform() const { return spread == 0; }
  /// True if lane i + 1 accesses the `bytes` after those of lane i.
  [[nodiscard]] bool consecutive(u32 bytes) const { return regular && stride == bytes; }
  [[nodiscard]] bool aligned(u32 align) const { return (bits & (align - 1)) == 0; }
  /// Bounds from the common high bits: floor() is at most the smallest address, ceiling() at least the
  /// largest.
  [[nodiscard]] u64 floor() const { return first & ~below(); }
  [[nodiscard]] u64 ceiling() const { return first | below(); }
  /// The smallest and the largest address as signed numbers. Valid addresses are below 2^63.
  [[nodiscard]] std::pair<u64, u64> bounds() const;

 private:
  [[nodiscard]] u64 below() const { return spread == 0 ? 0 : ~u64{0} >> std::countl_zero(spread); }
};

void make_addresses(Addresses& addresses, const Warp& warp, const Op& op, LaneMask lanes);
/// Completes addresses whose `at` the caller has filled for `lanes`.
void finish_addresses(Addresses& addresses, LaneMask lanes);
/// Reads the addresses in the 64-bit source `which`.
void read_addresses(Addresses& addresses, const Warp& warp, const Op& op, u32 which, LaneMask lanes);

enum class AccessKind : std::uint8_t { Read, Write, Atomic };

/// Converts host addresses in mapped memory to device addresses.
void translate_host(Addresses& addresses, const Warp& warp, LaneMask lanes, u32 bytes);
/// Throws SimulationFault for the first lane (in order) whose access is misaligned or out of bounds. `bytes`:
/// size per lane. `align`: required alignment. check_global() also converts the addresses to device
/// addresses.
void check_global(Addresses& addresses, const Warp& warp, LaneMask lanes, u32 bytes, u32 align,
                  AccessKind kind);
void check_bounded(const Addresses& addresses, const Warp& warp, LaneMask lanes, u32 bytes, u32 align,
                   AccessKind kind, isa::Space space, u64 size);

/// Appends the memory record of a global access: each 128-byte line once, in the order of the lowest lane
/// that touches it.
void record_global(Warp& warp, const Addresses& addresses, LaneMask lanes, u32 bytes,
                   workload::MemHeader::Where where = workload::MemHeader::Where::Global);
void record_atomic(Warp& warp, const Addresses& addresses, LaneMask lanes, u32 bytes);
/// Converts line numbers from the program's addresses to those that caches see.
inline void as_cached(const Warp& warp, u64* words, u32 count) {
  const u64 distance = warp.block->memory().cached(0);
  if (distance == 0) return;
  for (u32 i = 0; i < count; ++i)
    words[i] += (distance / kLineBytes) << workload::Transaction::kLineShift;  // modulo 2^64
}
/// Appends the record of a local access. Word w of a warp's 32 lanes is one line.
void record_local(Warp& warp, const Addresses& addresses, LaneMask lanes, u32 bytes);
/// Appends the record of a shared memory access. `atomic`: lanes with the same bank are serialised even for
/// the same word.
void record_shared(Warp& warp, const Addresses& addresses, LaneMask lanes, u32 bytes, bool atomic);
/// Appends the record of an access to a constant bank, or to the kernel's parameters. `bank`: its address for
/// the caches. There is one pass per distinct address.
void record_constant(Warp& warp, const Addresses& addresses, LaneMask lanes, u32 bytes, Address bank);

/// Host pointer to byte `offset` of a lane's local memory. Words of 32 lanes are interleaved.
inline std::byte* local_byte(u32* words, u32 lane, u64 offset) {
  return reinterpret_cast<std::byte*>(words + (offset >> 2U) * kWarpSize + lane) + (offset & 3U);
}

/// Copies up to 16 bytes from a lane's local memory, word by word.
inline void read_local(u32* words, u32 lane, u64 offset, void* to, u32 bytes) {
  auto* out = static_cast<std::byte*>(to);
  if (bytes <= 4) {
    std::memcpy(out, local_byte(words, lane, offset), bytes);
    return;
  }
  for (u32 i = 0; i < bytes; i += 4) std::memcpy(out + i, local_byte(words, lane, offset + i), 4);
}
inline void write_local(u32* words, u32 lane, u64 offset, const void* from, u32 bytes) {
  const auto* in = static_cast<const std::byte*>(from);
  if (bytes <= 4) {
    std::memcpy(local_byte(words, lane, offset), in, bytes);
    return;
  }
  for (u32 i = 0; i < bytes; i += 4) std::memcpy(local_byte(words, lane, offset + i), in + i, 4);
}

/// Divides the lanes of a generic access by space.
struct GenericParts {
  Addresses part;
  /// Fills `part` with the lanes whose address is in `space`, with addresses relative to the space. Returns
  /// their mask.
  LaneMask select(const Addresses& all, LaneMask lanes, isa::Space space);
};

}  // namespace gpumux::emulator
