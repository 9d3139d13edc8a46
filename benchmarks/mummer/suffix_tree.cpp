#include <algorithm>
#include <limits>

#include "benchmarks/mummer/mummer.hpp"

namespace gpumux::benchmarks::mummer {

namespace {

constexpr std::int32_t kOpen = std::numeric_limits<std::int32_t>::max();
constexpr std::uint8_t kEnd = 4;

/// Builds a suffix tree (Ukkonen, On-line construction of suffix trees, Algorithmica 14, 1995).
class Builder {
 public:
  explicit Builder(std::vector<std::uint8_t> text) : text_(std::move(text)) {
    (void)add(0, 0);
    for (std::int32_t i = 0; i < size(); ++i) extend(i);
  }
  [[nodiscard]] SuffixTree tree() const {
    SuffixTree result;
    for (const Node& node : nodes_) {
      result.edges.push_back({node.start, std::min(node.end, size()), node.link, 0});
      result.children.push_back({node.next[0], node.next[1], node.next[2], node.next[3]});
    }
    result.depths.resize(nodes_.size());
    std::vector<std::int32_t> open = {0};
    while (!open.empty()) {
      const std::int32_t node = open.back();
      open.pop_back();
      for (const std::int32_t child : nodes_[index(node)].next) {
        if (child == 0) continue;
        result.edges[index(child)][3] = node;
        result.depths[index(child)] =
            result.depths[index(node)] + result.edges[index(child)][1] - result.edges[index(child)][0];
        open.push_back(child);
      }
    }
    return result;
  }

 private:
  struct Node {
    std::int32_t start, end;
    std::int32_t link = 0;
    std::array<std::int32_t, 5> next{};
  };
  static std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] std::int32_t size() const { return static_cast<std::int32_t>(text_.size()); }
  [[nodiscard]] std::uint8_t letter(std::int32_t i) const { return text_[index(i)]; }
  std::int32_t add(std::int32_t start, std::int32_t end) {
    nodes_.push_back({start, end});
    return static_cast<std::int32_t>(nodes_.size()) - 1;
  }
  void link_to(std::int32_t node) {
    if (wants_link_ != 0) nodes_[index(wants_link_)].link = node;
    wants_link_ = node;
  }
  void extend(std::int32_t at) {
    wants_link_ = 0;
    ++remaining_;
    while (remaining_ > 0) {
      if (length_ == 0) edge_ = at;
      const std::int32_t child = nodes_[index(node_)].next[letter(edge_)];
      if (child == 0) {
        const std::int32_t leaf = add(at, kOpen);
        nodes_[index(node_)].next[letter(edge_)] = leaf;
        link_to(node_);
      } else {
        const std::int32_t edge_length =
            std::min(nodes_[index(child)].end, at + 1) - nodes_[index(child)].start;
        if (length_ >= edge_length) {  // walk down
          edge_ += edge_length;
          length_ -= edge_length;
          node_ = child;
          continue;
        }
        if (letter(nodes_[index(child)].start + length_) == letter(at)) {
          ++length_;
          link_to(node_);
          return;
        }
        const std::int32_t start = nodes_[index(child)].start;
        const std::int32_t split = add(start, start + length_);
        const std::int32_t leaf = add(at, kOpen);
        nodes_[index(node_)].next[letter(edge_)] = split;
        nodes_[index(split)].next[letter(at)] = leaf;
        nodes_[index(child)].start += length_;
        nodes_[index(split)].next[letter(nodes_[index(child)].start)] = child;
        link_to(split);
      }
      --remaining_;
      if (node_ == 0 && length_ > 0) {
        --length_;
        edge_ = at - remaining_ + 1;
      } else {
        node_ = nodes_[index(node_)].link;
      }
    }
  }

  std::vector<std::uint8_t> text_;
  std::vector<Node> nodes_;
  std::int32_t node_ = 0, edge_ = 0, length_ = 0;  // the active point
  std::int32_t remaining_ = 0;
  std::int32_t wants_link_ = 0;
};

}  // namespace

SuffixTree suffix_tree(const std::vector<std::uint8_t>& reference) {
  std::vector<std::uint8_t> text = reference;
  text.push_back(kEnd);
  return Builder(std::move(text)).tree();
}

Match longest_match(const SuffixTree& tree, const std::vector<std::uint8_t>& reference,
                    const std::uint8_t* text, std::int32_t letters) {
  std::size_t node = 0;
  std::int32_t length = 0;
  while (length < letters) {
    const std::int32_t child = tree.children[node][text[length]];
    if (child == 0) break;
    node = static_cast<std::size_t>(child);
    const std::int32_t start = tree.edges[node][0];
    const std::int32_t end = tree.edges[node][1];
    for (std::int32_t i = start; i < end && length < letters; ++i, ++length) {
      const auto at = static_cast<std::size_t>(i);
      if (at >= reference.size() || reference[at] != text[length])
        return {static_cast<std::int32_t>(node), length};
    }
  }
  return {static_cast<std::int32_t>(node), length};
}

std::int32_t top_of(const SuffixTree& tree, const Match& match, std::int32_t least) {
  if (match.length < least) return -1;
  auto top = static_cast<std::size_t>(match.node);
  while (tree.depths[static_cast<std::size_t>(tree.edges[top][3])] >= least)
    top = static_cast<std::size_t>(tree.edges[top][3]);
  return static_cast<std::int32_t>(top);
}

}  // namespace gpumux::benchmarks::mummer
