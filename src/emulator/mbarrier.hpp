// Barrier objects of 64 bits in shared memory (PTX ISA 9.0, section 9.7.13.15).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace gpumux::emulator {

/// An mbarrier object, and also the state that an arrival returns: the object before the arrival. PTX does
/// not define the layout.
struct Mbarrier {
  static constexpr std::uint32_t kMostCount = (1U << 20U) - 1;  // arrivals of a phase
  static constexpr std::int32_t kMostBytes = (1 << 20) - 1;     // pending bytes, of either sign

  std::uint32_t pending = 0;   // missing arrivals of the phase; bits 0-19
  std::uint32_t expected = 0;  // expected arrivals of later phases; bits 20-39
  std::int32_t bytes = 0;      // missing bytes of the phase; bits 40-61, two's complement
  bool valid = false;          // initialised by mbarrier.init; bit 62
  bool phase = false;          // parity of the number of complete phases; bit 63

  static Mbarrier of(std::uint64_t word) {
    const auto bytes = static_cast<std::int32_t>(static_cast<std::uint32_t>(word >> 40U) << 10U) >> 10;
    return {static_cast<std::uint32_t>(word) & kMostCount,
            static_cast<std::uint32_t>(word >> 20U) & kMostCount, bytes, ((word >> 62U) & 1U) != 0,
            (word >> 63U) != 0};
  }
  [[nodiscard]] std::uint64_t word() const {
    constexpr std::uint32_t kByteBits = (1U << 22U) - 1;
    return std::uint64_t{pending} | std::uint64_t{expected} << 20U |
           std::uint64_t{static_cast<std::uint32_t>(bytes) & kByteBits} << 40U |
           std::uint64_t{valid ? 1U : 0U} << 62U | std::uint64_t{phase ? 1U : 0U} << 63U;
  }
  /// Ends the phase if nothing is missing. Returns whether it ended.
  bool complete() {
    if (pending != 0 || bytes != 0) return false;
    phase = !phase;
    pending = expected;
    return true;
  }
};

/// Total arrivals at the mbarriers of a block since its start, by address, as counted by the timing model
/// (workload::MbarrierWord).
class MbarrierTotals {
 public:
  struct Total {
    std::uint32_t address = 0;
    std::uint64_t arrivals = 0;
    std::uint64_t complete = 0;  // total at the completion of the latest complete phase
  };
  Total& of(std::uint32_t address) {
    const auto found =
        std::find_if(totals_.begin(), totals_.end(), [&](const Total& t) { return t.address == address; });
    if (found != totals_.end()) return *found;
    return totals_.emplace_back(Total{address, 0, 0});
  }
  void clear() { totals_.clear(); }

 private:
  std::vector<Total> totals_;  // few elements
};

}  // namespace gpumux::emulator
