// What a thread block takes along when it leaves an SM and is to go on, beside its stream.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/types.hpp"

namespace gpumux::sm {

/// One of a block's barriers between two openings.
struct Barrier {
  std::uint64_t warps = 0;  // that have arrived, by index within the block
  std::uint32_t arrivals = 0;
  std::uint32_t expected = 0;  // arrivals that open it; 0: every warp that has not exited
};
using Barriers = std::array<Barrier, 16>;

/// Arrivals at an mbarrier of a block since it began (workload::MbarrierWord).
struct MbarrierArrivals {
  std::uint32_t address = 0;  // in shared memory
  std::uint64_t count = 0;
  Cycle latest = 0;  // the last of them
};

/// How a block has left its SM.
enum class Left : std::uint8_t {
  Ended,    // all its warps have exited
  Stopped,  // to go on where it stands
  Dropped,  // to begin anew
  Killed    // for good, with its kernel
};

/// A block leaves with nothing in flight, so that registers are all there, and fences passed. What its
/// registers and shared memory hold is in its stream.
struct BlockContext {
  struct WarpState {
    bool alive = true;   // has not exited
    bool waits = false;  // at the barrier of this number
    std::uint8_t barrier = 0;
    std::uint32_t mbarrier = 0;  // it waits for `arrivals` at the mbarrier of this address; 0: it does not
    std::uint64_t arrivals = 0;
  };
  std::vector<WarpState> warps;  // by index within the block
  Barriers barriers{};
  std::vector<MbarrierArrivals> mbarriers;
  std::uint64_t instructions = 0;  // that it has issued so far
  bool notified = false;           // among them a notice that it may not begin anew
  Cycle cycles = 0;                // that it has been on SMs
  Cycle restore = 0;               // from its next dispatch until all this is on its SM
  std::uint32_t lines = 0;         // that come back from memory then
};

}  // namespace gpumux::sm
