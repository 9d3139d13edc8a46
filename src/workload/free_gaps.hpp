// The gaps between allocations, by address: the first that is large enough is found in logarithmic time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/types.hpp"

namespace gpumux::workload {

/// A treap by address, each node of which knows the largest gap below it. Its shape depends on the addresses
/// alone.
class FreeGaps {
 public:
  struct Gap {
    Address end = 0;
    std::uint64_t bytes = 0;
  };

  /// The gap that ends at `end` has so many bytes; 0: there is none.
  void set(Address end, std::uint64_t bytes);
  /// With the lowest address among those of at least so many bytes.
  [[nodiscard]] std::optional<Gap> first_of(std::uint64_t bytes) const;
  void clear();

 private:
  using Index = std::uint32_t;
  static constexpr Index kNone = ~Index{0};
  struct Node {
    Gap gap;
    std::uint64_t most = 0;  // bytes of a gap of its subtree
    Index left = kNone;      // lower addresses
    Index right = kNone;
  };

  [[nodiscard]] std::uint64_t most_of(Index node) const { return node == kNone ? 0 : nodes_[node].most; }
  void update(Index node);
  /// Those that end before `end`, and the others.
  void split(Index tree, Address end, Index& before, Index& others);
  [[nodiscard]] Index merge(Index before, Index behind);
  [[nodiscard]] Index make(Gap gap);

  std::vector<Node> nodes_;
  std::vector<Index> spare_;
  Index root_ = kNone;
};

}  // namespace gpumux::workload
