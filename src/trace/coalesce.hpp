// The addresses of a memory instruction as what the load/store unit does: lines, sectors, bank passes.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/types.hpp"
#include "trace/sass.hpp"
#include "workload/stream.hpp"

namespace gpumux::trace {

/// Numbers of shared-memory banks that a machine may have: 1, 2, 4, ... 32.
inline constexpr unsigned kBankCounts = 6;
/// Most lines that one instruction touches: those of a bulk copy that fills 256 KiB of shared memory by 16
/// bytes.
inline constexpr unsigned kMaxTransactions = 16384;

struct LineAccess {
  std::uint64_t line = 0;
  std::uint32_t sectors = 0;
  std::uint32_t lanes = 0;
  std::uint32_t rounds = 0;  // of atomics: workload/atomic_rounds.hpp
};

/// What is kept of it beside the line: sectors, lanes - 1 and rounds, from the lowest bit.
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
  std::vector<LineAccess> lines;                    // in the order of the lowest lane that touches them
};

/// The 16 MiB windows in which generic addresses are shared or local memory.
struct Windows {
  static constexpr Address kNowhere = Address{1} << 63U;
  Address shared_base = kNowhere;
  Address local_base = kNowhere;
  static constexpr std::uint64_t kBytes = std::uint64_t{1} << 24U;
  [[nodiscard]] bool is_shared(Address at) const { return at - shared_base < kBytes; }
  [[nodiscard]] bool is_local(Address at) const { return at - local_base < kBytes; }
};

/// Fills `access` for the lanes of `mask` (not 0), `bytes` each (1 to 16). Lines of global memory are trace
/// address / 128; those of local memory are the number of the 4-byte word in the thread's frame, since the
/// words of 32 lanes lie side by side; those of constant memory are bank offset / 128. A generic access whose
/// lanes lie in several spaces is its global part, or local, shared in this order, as in the emulator.
void coalesce(MemoryAccess& access, SassSpace space, bool atomic, const Windows& windows,
              const std::array<Address, kWarpSize>& addresses, LaneMask mask, std::uint32_t bytes);

/// The same for a bulk copy of `bytes` of global memory at each of `addresses` (not empty): its lines in the
/// order of their addresses, with a lane for each word of 4 bytes.
void coalesce_bulk(MemoryAccess& access, const std::vector<Address>& addresses, std::uint32_t bytes);

}  // namespace gpumux::trace
