// Coalescing of the addresses of a memory instruction into the work of the load/store unit: lines, sectors,
// bank passes.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/types.hpp"
#include "trace/sass.hpp"
#include "workload/stream.hpp"

namespace gpumux::trace {

/// Number of possible counts of shared-memory banks: 1, 2, 4, ... 32.
inline constexpr unsigned kBankCounts = 6;
/// Maximum number of lines of one instruction: a bulk copy that fills 256 KiB of shared memory by 16 bytes
/// per line.
inline constexpr unsigned kMaxTransactions = 16384;

struct LineAccess {
  std::uint64_t line = 0;
  std::uint32_t sectors = 0;
  std::uint32_t lanes = 0;
  std::uint32_t rounds = 0;  // atomics: workload/atomic_rounds.hpp
};

/// Packs the properties of a line access except the line: from the lowest bit sectors, lanes - 1, and rounds.
[[nodiscard]] constexpr std::uint64_t touched_by(const LineAccess& line) {
  return std::uint64_t{line.rounds} << 9U | std::uint64_t{line.lanes - 1} << 4U | line.sectors;
}
inline constexpr std::uint64_t kMostTouched = (std::uint64_t{kWarpSize} << 9U) | 0x1ffU;
[[nodiscard]] inline workload::Transaction transaction_of(std::uint64_t line, std::uint64_t touched) {
  return workload::Transaction::make(line, touched & 0xfU, (touched >> 4U & 0x1fU) + 1,
                                     static_cast<std::uint32_t>(touched >> 9U));
}

struct MemoryAccess {
  workload::MemHeader::Where where = workload::MemHeader::Where::None;
  std::array<std::uint16_t, kBankCounts> passes{};  // shared: by log2 of the banks; constant: all the same
  std::vector<LineAccess> lines;                    // in the order of the lowest lane that touches each line
};

/// The 16 MiB windows of generic addresses for shared and local memory.
struct Windows {
  static constexpr Address kNowhere = Address{1} << 63U;
  Address shared_base = kNowhere;
  Address local_base = kNowhere;
  static constexpr std::uint64_t kBytes = std::uint64_t{1} << 24U;
  [[nodiscard]] bool is_shared(Address at) const { return at - shared_base < kBytes; }
  [[nodiscard]] bool is_local(Address at) const { return at - local_base < kBytes; }
};

/// Computes the access of the lanes of `mask` (not 0), which access `bytes` each (1 to 16). Line numbers:
///   global memory: address in the trace / 128.
///   local memory: number of the 4-byte word in the thread's frame, since the words of 32 lanes are adjacent.
///   constant memory: offset in the bank / 128.
/// If the lanes of a generic access hit several spaces, only one of them counts: global, else local, else
/// shared, as in the emulator.
void coalesce(MemoryAccess& access, SassSpace space, bool atomic, const Windows& windows,
              const std::array<Address, kWarpSize>& addresses, LaneMask mask, std::uint32_t bytes);

/// Computes the access of a bulk copy of `bytes` of global memory at each of `addresses` (not empty). Lines
/// are in the order of their addresses, with one lane for each word of 4 bytes.
void coalesce_bulk(MemoryAccess& access, const std::vector<Address>& addresses, std::uint32_t bytes);

}  // namespace gpumux::trace
