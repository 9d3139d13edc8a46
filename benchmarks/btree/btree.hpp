// btree: the tree as the host builds it, and the CPU reference of the queries, which knows nothing of the
// tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/hash.hpp"

namespace gpumux::benchmarks::btree {

/// Offsets of words in a node, see btree.cu.
struct NodeLayout {
  std::size_t order;  // children of an inner node at most; a leaf has at most order - 1 records
  [[nodiscard]] std::size_t indices() const { return 1; }
  [[nodiscard]] std::size_t keys() const { return order + 2; }
  [[nodiscard]] std::size_t is_leaf() const { return 2 * order + 3; }
  [[nodiscard]] std::size_t key_count() const { return 2 * order + 4; }
  [[nodiscard]] std::size_t words() const { return 2 * order + 5; }
};

struct Entry {
  std::int32_t key;
  std::int32_t value;
};

/// Nodes level by level, the root first, leaves last and in the order of their keys, as records are.
struct Tree {
  NodeLayout layout;
  std::uint32_t height = 0;  // levels above the leaves
  std::size_t leaves = 0;
  std::vector<std::int32_t> nodes;
  std::vector<std::int32_t> records;
  /// The number of the leaf where the way down for `key` ends.
  [[nodiscard]] std::int64_t leaf_of(std::int32_t key) const;
};

/// Inserts one by one and splits full nodes in halves. Keys are distinct, and neither the smallest nor the
/// largest integer; `order` is at least 4.
[[nodiscard]] Tree build(const std::vector<Entry>& entries, std::size_t order);

/// What the queries search.
struct Records {
  std::uint32_t stretch = 0;  // of the key space, which holds one key each
  std::vector<Entry> sorted;
  Tree tree;
};
/// Keys at random, inserted in random order.
[[nodiscard]] Records random_records(Random& random, std::uint32_t keys, std::uint32_t order);
/// The key of that rank or, one time in 16, another one of its stretch, which the tree has not.
[[nodiscard]] std::int32_t random_key(Random& random, const Records& records, std::uint32_t rank);
/// Bytes on the device, at most.
[[nodiscard]] std::uint64_t bytes_of_records(std::uint32_t keys, std::uint32_t order);
[[nodiscard]] std::vector<std::int64_t> leaves_of(const Tree& tree, const std::vector<std::int32_t>& keys);

/// The value of each key, -1 where there is none. `sorted` is by key.
[[nodiscard]] std::vector<std::int32_t> reference_find(const std::vector<Entry>& sorted,
                                                       const std::vector<std::int32_t>& keys);

struct Ranges {
  std::vector<std::int32_t> first;   // record; 0 where the start is no key
  std::vector<std::int32_t> length;  // 0 where the end is no key
};
[[nodiscard]] Ranges reference_ranges(const std::vector<Entry>& sorted,
                                      const std::vector<std::int32_t>& starts,
                                      const std::vector<std::int32_t>& ends);

}  // namespace gpumux::benchmarks::btree
