// The gaps between allocations by address. The first gap that is large enough is found in logarithmic time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/types.hpp"

namespace gpumux::workload {

/// A treap by address. Each node stores the largest gap of its subtree. The shape of the tree depends only on
/// the addresses.
class FreeGaps {
 public:
  struct Gap {
    Address end = 0;
    std::uint64_t bytes = 0;
  };

  /// Sets the size of the gap that ends at `end`; 0 removes the gap.
  void set(Address end, std::uint64_t bytes);
  /// The gap with the lowest address among those of at least `bytes`.
  [[nodiscard]] std::optional<Gap> first_of(std::uint64_t bytes) const;
  void clear();

 private:
  using Index = std::uint32_t;
  static constexpr Index kNone = ~Index{0};
  struct Node {
    Gap gap;
    std::uint64_t most = 0;  // bytes of the largest gap in the subtree
    Index left = kNone;      // lower addresses
    Index right = kNone;
  };

  [[nodiscard]] std::uint64_t most_of(Index node) const { return node == kNone ? 0 : nodes_[node].most; }
  void update(Index node);
  /// Splits a tree into the gaps that end before `end` and the others.
  void split(Index tree, Address end, Index& before, Index& others);
  [[nodiscard]] Index merge(Index before, Index behind);
  [[nodiscard]] Index make(Gap gap);

  std::vector<Node> nodes_;
  std::vector<Index> spare_;
  Index root_ = kNone;
};

}  // namespace gpumux::workload
