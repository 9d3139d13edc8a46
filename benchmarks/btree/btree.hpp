// btree: the tree that the host builds, and the CPU reference of the queries, which does not use the tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/hash.hpp"

namespace gpumux::benchmarks::btree {

/// Offsets of the words of a node. btree.cu describes the layout.
struct NodeLayout {
  std::size_t order;  // most children of an inner node; a leaf has at most order - 1 records
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

/// A B+ tree as flat arrays. Nodes are stored level by level from the root. Leaves come last, in the order of
/// their keys; records are stored in the same order.
struct Tree {
  NodeLayout layout;
  std::uint32_t height = 0;  // levels above the leaves
  std::size_t leaves = 0;
  std::vector<std::int32_t> nodes;
  std::vector<std::int32_t> records;
  /// Number of the leaf at which the search for `key` ends.
  [[nodiscard]] std::int64_t leaf_of(std::int32_t key) const;
};

/// Builds a tree: inserts the entries one by one and splits full nodes in halves. Keys must be distinct, and
/// not the smallest or largest integer. `order` is at least 4.
[[nodiscard]] Tree build(const std::vector<Entry>& entries, std::size_t order);

/// Data that the queries search: the entries by key, and the tree of these entries.
struct Records {
  std::uint32_t stretch = 0;  // keys of the key space per entry; each stretch holds one key
  std::vector<Entry> sorted;
  Tree tree;
};
/// Random keys, inserted in random order.
[[nodiscard]] Records random_records(Random& random, std::uint32_t keys, std::uint32_t order);
/// The key of rank `rank` or, in one of 16 cases, a key of the same stretch that is not in the tree.
[[nodiscard]] std::int32_t random_key(Random& random, const Records& records, std::uint32_t rank);
/// Upper bound on the bytes of device memory for the tree and its records.
[[nodiscard]] std::uint64_t bytes_of_records(std::uint32_t keys, std::uint32_t order);
[[nodiscard]] std::vector<std::int64_t> leaves_of(const Tree& tree, const std::vector<std::int32_t>& keys);

/// The value of each key; -1 for a key that `sorted` does not have. `sorted` is in the order of keys.
[[nodiscard]] std::vector<std::int32_t> reference_find(const std::vector<Entry>& sorted,
                                                       const std::vector<std::int32_t>& keys);

struct Ranges {
  std::vector<std::int32_t> first;   // first record; 0 if the tree does not have the start key
  std::vector<std::int32_t> length;  // number of records; 0 if the tree does not have the end key
};
[[nodiscard]] Ranges reference_ranges(const std::vector<Entry>& sorted,
                                      const std::vector<std::int32_t>& starts,
                                      const std::vector<std::int32_t>& ends);

}  // namespace gpumux::benchmarks::btree
