#include <algorithm>
#include <limits>
#include <optional>

#include "base/error.hpp"
#include "benchmarks/btree/btree.hpp"

namespace gpumux::benchmarks::btree {
namespace {

constexpr std::int32_t kSmallest = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t kLargest = std::numeric_limits<std::int32_t>::max();

struct Node {
  bool leaf = true;
  std::vector<std::int32_t> keys;  // of an inner node: the first key of each child except the first
  std::vector<std::int32_t> to;    // values of a leaf, or children of an inner node
};

class Builder {
 public:
  explicit Builder(std::size_t order) : order_(order) {}

  void insert(const Entry& entry) {
    const std::optional<Split> split = insert(root_, entry);
    if (!split) return;
    Node above;
    above.leaf = false;
    above.keys = {split->key};
    above.to = {static_cast<std::int32_t>(root_), static_cast<std::int32_t>(split->right)};
    root_ = nodes_.size();
    nodes_.push_back(std::move(above));
  }

  [[nodiscard]] Tree flat() const {
    Tree tree;
    tree.layout = {order_};
    std::vector<std::size_t> level = {root_};
    std::size_t begin = 0;  // number of the level's first node
    for (; !nodes_[level[0]].leaf; ++tree.height) {
      std::vector<std::size_t> below;
      std::size_t child = begin + level.size();
      for (std::size_t i = 0; i < level.size(); ++i) {
        const Node& node = nodes_[level[i]];
        std::vector<std::int32_t> keys = {kSmallest};
        keys.insert(keys.end(), node.keys.begin(), node.keys.end());
        append(tree, begin + i, node, keys, child);
        child += node.to.size();
        below.insert(below.end(), node.to.begin(), node.to.end());
      }
      begin += level.size();
      level = std::move(below);
    }
    tree.leaves = level.size();
    for (std::size_t i = 0; i < level.size(); ++i) {
      const Node& leaf = nodes_[level[i]];
      append(tree, begin + i, leaf, leaf.keys, tree.records.size());
      tree.records.insert(tree.records.end(), leaf.to.begin(), leaf.to.end());
    }
    return tree;
  }

 private:
  struct Split {
    std::int32_t key;  // first key of the right node
    std::size_t right;
  };

  std::optional<Split> insert(std::size_t at, const Entry& entry) {
    const auto place = std::upper_bound(nodes_[at].keys.begin(), nodes_[at].keys.end(), entry.key);
    const auto rank = place - nodes_[at].keys.begin();
    if (nodes_[at].leaf) {
      GPUMUX_CHECK(rank == 0 || nodes_[at].keys[static_cast<std::size_t>(rank) - 1] != entry.key);
      nodes_[at].keys.insert(place, entry.key);
      nodes_[at].to.insert(nodes_[at].to.begin() + rank, entry.value);
    } else {
      const std::optional<Split> split =
          insert(static_cast<std::size_t>(nodes_[at].to[static_cast<std::size_t>(rank)]), entry);
      if (!split) return std::nullopt;
      Node& node = nodes_[at];
      node.keys.insert(node.keys.begin() + rank, split->key);
      node.to.insert(node.to.begin() + rank + 1, static_cast<std::int32_t>(split->right));
    }
    if (nodes_[at].keys.size() < order_) return std::nullopt;
    return halve(at);
  }

  Split halve(std::size_t at) {
    Node& node = nodes_[at];
    const auto half = static_cast<std::ptrdiff_t>(node.keys.size() / 2);
    const Split split{node.keys[static_cast<std::size_t>(half)], nodes_.size()};
    const std::ptrdiff_t between = node.leaf ? 0 : 1;  // the key in the middle of an inner node moves up
    Node right;
    right.leaf = node.leaf;
    right.keys.assign(node.keys.begin() + half + between, node.keys.end());
    right.to.assign(node.to.begin() + half + between, node.to.end());
    node.keys.resize(static_cast<std::size_t>(half));
    node.to.resize(static_cast<std::size_t>(half + between));
    nodes_.push_back(std::move(right));
    return split;
  }

  // Appends a node. `first` is the number of the node's first child or record; the others have the next
  // numbers.
  void append(Tree& tree, std::size_t number, const Node& node, const std::vector<std::int32_t>& keys,
              std::size_t first) const {
    std::vector<std::int32_t> words(tree.layout.words(), 0);
    words[0] = static_cast<std::int32_t>(number);
    for (std::size_t i = 0; i < node.to.size(); ++i) {
      words[tree.layout.indices() + i] = static_cast<std::int32_t>(first + i);
    }
    const auto key = words.begin() + static_cast<std::ptrdiff_t>(tree.layout.keys());
    std::fill_n(std::copy(keys.begin(), keys.end(), key), order_ + 1 - keys.size(), kLargest);
    words[tree.layout.is_leaf()] = node.leaf ? 1 : 0;
    words[tree.layout.key_count()] = static_cast<std::int32_t>(node.keys.size());
    tree.nodes.insert(tree.nodes.end(), words.begin(), words.end());
  }

  std::size_t order_;
  std::size_t root_ = 0;
  std::vector<Node> nodes_{1};
};

std::optional<std::int32_t> rank_of(const std::vector<Entry>& sorted, std::int32_t key) {
  const auto at =
      std::lower_bound(sorted.begin(), sorted.end(), key,
                       [](const Entry& entry, std::int32_t wanted) { return entry.key < wanted; });
  if (at == sorted.end() || at->key != key) return std::nullopt;
  return static_cast<std::int32_t>(at - sorted.begin());
}

}  // namespace

std::int64_t Tree::leaf_of(std::int32_t key) const {
  const std::size_t inner = nodes.size() / layout.words() - leaves;
  std::size_t low = 0;
  std::size_t high = leaves;
  while (high - low > 1) {
    const std::size_t middle = (low + high) / 2;
    (nodes[(inner + middle) * layout.words() + layout.keys()] <= key ? low : high) = middle;
  }
  return static_cast<std::int64_t>(inner + low);
}

Tree build(const std::vector<Entry>& entries, std::size_t order) {
  Builder builder(order);
  for (const Entry& entry : entries) builder.insert(entry);
  return builder.flat();
}

Records random_records(Random& random, std::uint32_t keys, std::uint32_t order) {
  constexpr std::uint32_t kKeySpace = 1U << 30U;
  Records records{kKeySpace / keys, {}, {}};
  for (std::uint32_t i = 0; i < keys; ++i) {
    records.sorted.push_back(
        {static_cast<std::int32_t>(i * records.stretch + 1 + random.below(records.stretch)),
         static_cast<std::int32_t>(random.below(std::numeric_limits<std::int32_t>::max()))});
  }
  std::vector<Entry> shuffled = records.sorted;
  for (std::uint32_t i = keys; i > 1; --i) std::swap(shuffled[i - 1], shuffled[random.below(i)]);
  records.tree = build(shuffled, order);
  return records;
}

std::int32_t random_key(Random& random, const Records& records, std::uint32_t rank) {
  const bool absent = random.below(16) == 0;
  const std::int32_t key = records.sorted[rank].key;
  if (!absent) return key;
  const std::uint32_t begin = rank * records.stretch + 1;
  const std::uint32_t taken = static_cast<std::uint32_t>(key) - begin;
  return static_cast<std::int32_t>(begin + (taken + 1 + random.below(records.stretch - 1)) % records.stretch);
}

std::uint64_t bytes_of_records(std::uint32_t keys, std::uint32_t order) {
  // Nodes are at least half full, and fewer than half of the nodes are inner nodes.
  const std::uint64_t leaves = keys / (order / 2) + 1;
  return 4 * (2 * leaves * NodeLayout{order}.words() + keys);
}

std::vector<std::int64_t> leaves_of(const Tree& tree, const std::vector<std::int32_t>& keys) {
  std::vector<std::int64_t> leaves;
  for (const std::int32_t key : keys) leaves.push_back(tree.leaf_of(key));
  return leaves;
}

std::vector<std::int32_t> reference_find(const std::vector<Entry>& sorted,
                                         const std::vector<std::int32_t>& keys) {
  std::vector<std::int32_t> values;
  for (const std::int32_t key : keys) {
    const std::optional<std::int32_t> rank = rank_of(sorted, key);
    values.push_back(rank ? sorted[static_cast<std::size_t>(*rank)].value : -1);
  }
  return values;
}

Ranges reference_ranges(const std::vector<Entry>& sorted, const std::vector<std::int32_t>& starts,
                        const std::vector<std::int32_t>& ends) {
  Ranges ranges;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    ranges.first.push_back(rank_of(sorted, starts[i]).value_or(0));
    const std::optional<std::int32_t> last = rank_of(sorted, ends[i]);
    ranges.length.push_back(last ? *last - ranges.first.back() + 1 : 0);
  }
  return ranges;
}

}  // namespace gpumux::benchmarks::btree
