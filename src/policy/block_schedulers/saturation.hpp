// Perf-Sat's search for the number of blocks beyond which more blocks only stall each other. Source:
// awatramani17 section 4.3.2.2. The text available to us lacks its figure 4.4; docs/schedulers.md describes
// the state machine rebuilt from the text.
#pragma once

#include <cstdint>

namespace gpumux::policy {

/// The search for one kernel on one SM. A sample is the number of cycles in which the SM stalled with
/// blocks() resident.
class SaturationSearch {
 public:
  enum class State : std::uint8_t {
    First,
    WeakIncrease,
    StrongIncrease,
    WeakDecrease,
    StrongDecrease,
    Found
  };

  static constexpr std::uint32_t kMostToggles = 3;
  /// Starts with half of `most` (1 or more), rounded up, and changes direction at most `toggles` times.
  explicit SaturationSearch(std::uint32_t most, std::uint32_t toggles = kMostToggles);
  void sample(std::uint64_t stalls);
  /// Blocks to run with: those of the next sample or, once the search has ended, the optimum.
  [[nodiscard]] std::uint32_t blocks() const { return blocks_; }
  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] bool found() const { return state_ == State::Found; }
  [[nodiscard]] std::uint32_t samples() const { return samples_; }

 private:
  void find(std::uint32_t blocks);
  void go_on(State strong, std::uint64_t stalls);
  void seek_direction(std::uint64_t stalls);
  void doubt(State strong, std::uint64_t stalls);

  std::uint32_t most_;
  std::uint32_t most_toggles_;
  std::uint32_t half_;
  std::uint32_t blocks_;
  State state_ = State::First;
  std::uint64_t before_ = 0;   // the sample to compare with
  bool direction_ = false;     // the direction is decided
  bool history_ = false;       // the last decision in WeakIncrease was for more blocks
  std::uint32_t toggles_ = 0;  // changes between WeakIncrease and WeakDecrease, then between weak and strong
  std::uint32_t samples_ = 0;
};

}  // namespace gpumux::policy
