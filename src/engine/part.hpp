// A part of the machine as the engine moves it through time: it runs by itself as far as it is granted.
#pragma once

#include <concepts>
#include <cstdint>

#include "base/types.hpp"

namespace gpumux::engine {

/// How far a part may be simulated, and what it knows. docs/time.md explains the terms. Cycles of the core.
struct Grant {
  Cycle begin = 0;  // nothing is missing before; not after the part's own time
  Cycle end = 0;    // it goes no further
  /// Messages, and credits, that arrive before these cycles are in the mailbox. What a part does before its
  /// lookahead of `messages` is certain; where it waits for credits that it does not know, it stops.
  Cycle messages = kNever;
  Cycle credits = kNever;
  /// An SM stops with the window in which a block ends, so that another may take its place.
  bool stop_at_block_end = false;
};

/// What the engine asks of a part. run() returns the next cycle at which the part can change without a
/// message (kNever: never); afterwards it is simulated up to done(). settle() brings the counters of one that
/// sleeps up to a cycle. progress() changes whenever something moves.
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
