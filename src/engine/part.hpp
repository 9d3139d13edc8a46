// A part of the machine as the engine moves it through time: it runs independently, as far as its grant
// allows.
#pragma once

#include <concepts>
#include <cstdint>

#include "base/types.hpp"

namespace gpumux::engine {

/// How far a part may be simulated, and which inputs are known. docs/time.md explains the terms. Core cycles.
struct Grant {
  Cycle begin = 0;  // no input is missing before this cycle; not after the part's own time
  Cycle end = 0;    // the part is not simulated beyond this cycle
  /// Messages (credits) that arrive before this cycle are in the mailbox. What a part does before its
  /// lookahead of `messages` is certain. A part that needs credits that are not known yet stops.
  Cycle messages = kNever;
  Cycle credits = kNever;
  /// True: an SM stops at the end of a window in which one of its blocks ends, so that
  /// another block can be placed.
  bool stop_at_block_end = false;
};

/// The interface that the engine requires of a part. run() returns the next cycle at which the part can
/// change without a message (kNever: no such cycle). The part has then been simulated up to done(). settle()
/// brings the counters of a sleeping part up to a cycle. progress() changes whenever something moves.
template <typename P>
concept Part = requires(P& part, const P& seen, const Grant& grant, Cycle cycle) {
  { part.run(grant) } -> std::same_as<Cycle>;
  { seen.done() } -> std::same_as<Cycle>;
  { seen.progress() } -> std::same_as<std::uint64_t>;
  part.settle(cycle);
  part.mailbox();
  seen.describe_waits();
};

}  // namespace gpumux::engine
