// mummer: the suffix tree of a reference, and the CPU references of the kernels.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace gpumux::benchmarks::mummer {

/// A suffix tree with the contents of the kernels' textures: edges {first letter, behind the last letter,
/// suffix link, parent}, children by letter (0: none), and the length of the path to each node. Node 0 is the
/// root.
struct SuffixTree {
  std::vector<std::array<std::int32_t, 4>> edges;
  std::vector<std::array<std::int32_t, 4>> children;
  std::vector<std::int32_t> depths;
};
/// The suffix tree of a reference of letters 0 to 3, by Ukkonen's algorithm. A letter 4 is appended to the
/// reference and ends the edges of leaves.
[[nodiscard]] SuffixTree suffix_tree(const std::vector<std::uint8_t>& reference);

struct Match {
  std::int32_t node, length;
  friend bool operator==(const Match&, const Match&) = default;
};
/// The longest match of text[0 .. letters) from the root, letter by letter.
[[nodiscard]] Match longest_match(const SuffixTree& tree, const std::vector<std::uint8_t>& reference,
                                  const std::uint8_t* text, std::int32_t letters);
/// The highest node on the match's path with a depth of at least `least`; -1 if the match is shorter.
[[nodiscard]] std::int32_t top_of(const SuffixTree& tree, const Match& match, std::int32_t least);

}  // namespace gpumux::benchmarks::mummer
