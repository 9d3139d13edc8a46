#include "workload/free_gaps.hpp"

#include <algorithm>

#include "base/hash.hpp"

namespace gpumux::workload {
namespace {

/// Heap order of a node: greater ranks are above. Hashed addresses are as good as random, so the depth of the
/// tree is logarithmic.
std::uint64_t rank(Address end) { return mix64(end); }

}  // namespace

void FreeGaps::update(Index node) {
  Node& of = nodes_[node];
  of.most = std::max({of.gap.bytes, most_of(of.left), most_of(of.right)});
}

void FreeGaps::split(Index tree, Address end, Index& before, Index& others) {
  if (tree == kNone) {
    before = others = kNone;
    return;
  }
  Index inner = kNone;
  if (nodes_[tree].gap.end < end) {
    split(nodes_[tree].right, end, inner, others);
    nodes_[tree].right = inner;
    before = tree;
  } else {
    split(nodes_[tree].left, end, before, inner);
    nodes_[tree].left = inner;
    others = tree;
  }
  update(tree);
}

FreeGaps::Index FreeGaps::merge(Index before, Index behind) {
  if (before == kNone) return behind;
  if (behind == kNone) return before;
  const bool first_above = rank(nodes_[before].gap.end) > rank(nodes_[behind].gap.end);
  const Index top = first_above ? before : behind;
  if (first_above) {
    const Index inner = merge(nodes_[before].right, behind);
    nodes_[before].right = inner;
  } else {
    const Index inner = merge(before, nodes_[behind].left);
    nodes_[behind].left = inner;
  }
  update(top);
  return top;
}

FreeGaps::Index FreeGaps::make(Gap gap) {
  Index made = static_cast<Index>(nodes_.size());
  if (spare_.empty()) {
    nodes_.emplace_back();
  } else {
    made = spare_.back();
    spare_.pop_back();
  }
  nodes_[made] = {gap, gap.bytes, kNone, kNone};
  return made;
}

void FreeGaps::set(Address end, std::uint64_t bytes) {
  Index before = kNone, behind = kNone, known = kNone;
  split(root_, end, before, behind);
  split(behind, end + 1, known, behind);
  if (known != kNone) spare_.push_back(known);
  root_ = merge(bytes == 0 ? before : merge(before, make({end, bytes})), behind);
}

std::optional<FreeGaps::Gap> FreeGaps::first_of(std::uint64_t bytes) const {
  if (most_of(root_) < bytes || bytes == 0) return std::nullopt;
  Index at = root_;
  while (true) {
    const Node& node = nodes_[at];
    if (most_of(node.left) >= bytes) {
      at = node.left;
    } else if (node.gap.bytes >= bytes) {
      return node.gap;
    } else {
      at = node.right;
    }
  }
}

void FreeGaps::clear() {
  nodes_.clear();
  spare_.clear();
  root_ = kNone;
}

}  // namespace gpumux::workload
