// State that a thread block takes along, in addition to its stream, when it leaves an SM to continue later.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/types.hpp"

namespace gpumux::sm {

/// One of a block's barriers, between two openings.
struct Barrier {
  std::uint64_t warps = 0;  // warps that have arrived, by index within the block
  std::uint32_t arrivals = 0;
  std::uint32_t expected = 0;  // number of arrivals that opens the barrier; 0: all warps that
                               // have not exited must arrive
};
using Barriers = std::array<Barrier, 16>;

/// Arrivals at an mbarrier since the start of its block (workload::MbarrierWord).
struct MbarrierArrivals {
  std::uint32_t address = 0;  // in shared memory
  std::uint64_t count = 0;
  Cycle latest = 0;  // time of the last arrival
};

/// How a block has left its SM.
enum class Left : std::uint8_t {
  Ended,    // all its warps have exited
  Stopped,  // stopped, to continue later
  Dropped,  // dropped, to be restarted
  Killed    // killed together with its kernel
};

/// The context of a block that leaves an SM. The block leaves with nothing in flight, so registers are ready
/// and fences have passed. Its stream holds the contents of registers and shared memory.
struct BlockContext {
  struct WarpState {
    bool alive = true;   // the warp has not exited
    bool waits = false;  // the warp waits at the barrier `barrier`
    std::uint8_t barrier = 0;
    std::uint32_t mbarrier = 0;  // address of the mbarrier at which the warp waits for
                                 // `arrivals`; 0: it does not wait
    std::uint64_t arrivals = 0;
  };
  std::vector<WarpState> warps;  // by index within the block
  Barriers barriers{};
  std::vector<MbarrierArrivals> mbarriers;
  std::uint64_t instructions = 0;  // warp instructions issued so far
  bool notified = false;           // true: a notice was issued after which the block may
                                   // become impossible to restart
  Cycle cycles = 0;                // cycles that the block has been on SMs
  Cycle restore = 0;               // from its next dispatch until its context is on the SM
  std::uint32_t lines = 0;         // lines that come back from memory then
};

}  // namespace gpumux::sm
