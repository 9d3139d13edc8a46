#include "policy/block_schedulers/saturation.hpp"

namespace gpumux::policy {

SaturationSearch::SaturationSearch(std::uint32_t most, std::uint32_t toggles)
    : most_(most), most_toggles_(toggles), half_((most + 1) / 2), blocks_(half_) {
  if (most_ == 1) find(1);
}

void SaturationSearch::find(std::uint32_t blocks) {
  blocks_ = blocks;
  state_ = State::Found;
}

void SaturationSearch::sample(std::uint64_t stalls) {
  if (found()) return;
  ++samples_;
  switch (state_) {
    case State::First:
      before_ = stalls;
      blocks_ = half_ + 1;
      state_ = State::WeakIncrease;
      return;
    case State::WeakIncrease:
      if (direction_) return doubt(State::StrongIncrease, stalls);
      return seek_direction(stalls);
    case State::WeakDecrease:
      if (direction_) return doubt(State::StrongDecrease, stalls);
      return seek_direction(stalls);
    case State::StrongIncrease:
    case State::StrongDecrease:
      if (stalls < before_) return go_on(state_, stalls);
      // This sample is dropped; the next one, with as many blocks, decides.
      state_ = state_ == State::StrongIncrease ? State::WeakIncrease : State::WeakDecrease;
      return;
    case State::Found: return;
  }
}

/// Takes one more step in the decided direction, or ends the search at the limit.
void SaturationSearch::go_on(State strong, std::uint64_t stalls) {
  before_ = stalls;
  state_ = strong;
  if (strong == State::StrongIncrease) return blocks_ == most_ ? find(most_) : void(++blocks_);
  return blocks_ == 1 ? find(1) : void(--blocks_);
}

/// Decides the direction: two decisions in a row for the same direction are needed.
void SaturationSearch::seek_direction(std::uint64_t stalls) {
  const bool fewer = stalls < before_;
  if (state_ == State::WeakIncrease && fewer && !history_) {
    history_ = true;
    return;
  }
  if (fewer) {  // the second decision for this direction
    direction_ = true;
    toggles_ = 0;
    return go_on(state_ == State::WeakIncrease ? State::StrongIncrease : State::StrongDecrease, stalls);
  }
  if (history_) {
    history_ = false;
    return;
  }
  if (++toggles_ > most_toggles_) return find(half_ + 1);
  before_ = stalls;
  const bool down = state_ == State::WeakIncrease;
  blocks_ = down ? half_ : half_ + 1;
  state_ = down ? State::WeakDecrease : State::WeakIncrease;
}

/// Decides after a second sample with one block beyond a possible optimum.
void SaturationSearch::doubt(State strong, std::uint64_t stalls) {
  const std::uint32_t optimum = strong == State::StrongIncrease ? blocks_ - 1 : blocks_ + 1;
  if (stalls > before_ || ++toggles_ > most_toggles_) return find(optimum);
  go_on(strong, stalls);
}

}  // namespace gpumux::policy
