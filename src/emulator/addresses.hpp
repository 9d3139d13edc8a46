// The addresses of one access, its checks, and its shape for the timing model.
#pragma once

#include <bit>
#include <utility>

#include "emulator/block.hpp"
#include "emulator/lanes.hpp"
#include "emulator/windows.hpp"

namespace gpumux::emulator {

/// The addresses of an access. Lanes that are not active repeat the address of the lowest active lane, so
/// that loops over all 32 may read everywhere that the checks allow.
struct Addresses {
  alignas(64) u64 at[kWarpSize];
  u64 first = 0;         // of the lowest active lane
  u64 spread = 0;        // the highest bit in which addresses differ, and any of those below
  u64 bits = 0;          // its low bits tell the alignment
  u64 stride = 0;        // of lanes 0 and 1
  bool regular = false;  // so far is each from the one before

  [[nodiscard]] bool uniform() const { return spread == 0; }
  /// Lane i + 1 accesses the `bytes` behind those of lane i.
  [[nodiscard]] bool consecutive(u32 bytes) const { return regular && stride == bytes; }
  [[nodiscard]] bool aligned(u32 align) const { return (bits & (align - 1)) == 0; }
  /// Not above the smallest address, and not below the largest: those that share the bits that all share.
  [[nodiscard]] u64 floor() const { return first & ~below(); }
  [[nodiscard]] u64 ceiling() const { return first | below(); }
  /// The smallest address, and the largest, as signed numbers: addresses lie below 2^63 unless they are
  /// wrong.
  [[nodiscard]] std::pair<u64, u64> bounds() const;

 private:
  [[nodiscard]] u64 below() const { return spread == 0 ? 0 : ~u64{0} >> std::countl_zero(spread); }
};

void make_addresses(Addresses& addresses, const Warp& warp, const Op& op, LaneMask lanes);
/// Of addresses of `lanes` that the caller has put in `at`: the rest.
void finish_addresses(Addresses& addresses, LaneMask lanes);
/// Those that the 64-bit source `which` holds.
void read_addresses(Addresses& addresses, const Warp& warp, const Op& op, u32 which, LaneMask lanes);

enum class AccessKind : std::uint8_t { Read, Write, Atomic };

/// Turns addresses of the host, where its memory is mapped, into the device's.
void translate_host(Addresses& addresses, const Warp& warp, LaneMask lanes, u32 bytes);
/// Throws SimulationFault for the first lane (in order) whose access is misaligned or out of bounds.
/// `bytes` per lane, `align` of its address. Of check_global() the addresses are the device's afterwards.
void check_global(Addresses& addresses, const Warp& warp, LaneMask lanes, u32 bytes, u32 align,
                  AccessKind kind);
void check_bounded(const Addresses& addresses, const Warp& warp, LaneMask lanes, u32 bytes, u32 align,
                   AccessKind kind, isa::Space space, u64 size);

/// Appends the memory record of a global access: each 128-byte line once, in the order of the lowest lane
/// that touches it.
void record_global(Warp& warp, const Addresses& addresses, LaneMask lanes, u32 bytes,
                   workload::MemHeader::Where where = workload::MemHeader::Where::Global);
void record_atomic(Warp& warp, const Addresses& addresses, LaneMask lanes, u32 bytes);
/// Turns lines of the program's addresses into those that caches see.
inline void as_cached(const Warp& warp, u64* words, u32 count) {
  const u64 distance = warp.block->memory().cached(0);
  if (distance == 0) return;
  for (u32 i = 0; i < count; ++i)
    words[i] += (distance / kLineBytes) << workload::Transaction::kLineShift;  // modulo 2^64
}
/// The same for local memory: word w of a warp's 32 lanes is one line.
void record_local(Warp& warp, const Addresses& addresses, LaneMask lanes, u32 bytes);
/// Shared memory: `atomic` lanes on the same bank are serialised even on the same word.
void record_shared(Warp& warp, const Addresses& addresses, LaneMask lanes, u32 bytes, bool atomic);
/// Constant bank, or the kernel's parameters, that lies at `bank` for the caches: as many passes as
/// distinct addresses, and the lines that they touch.
void record_constant(Warp& warp, const Addresses& addresses, LaneMask lanes, u32 bytes, Address bank);

/// Host pointer to byte `offset` of a lane's local memory: 32 lanes interleaved by words.
inline std::byte* local_byte(u32* words, u32 lane, u64 offset) {
  return reinterpret_cast<std::byte*>(words + (offset >> 2U) * kWarpSize + lane) + (offset & 3U);
}

/// Moves up to 16 bytes between a lane's local memory and a buffer, word by word.
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

/// The lanes of a generic access by the space that each one's address lies in, and the addresses within.
struct GenericParts {
  Addresses part;
  /// Fills `part` with the lanes of `space`; returns their mask.
  LaneMask select(const Addresses& all, LaneMask lanes, isa::Space space);
};

}  // namespace gpumux::emulator
