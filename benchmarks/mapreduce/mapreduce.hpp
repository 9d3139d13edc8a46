// mapreduce: texts and the CPU references. Tests call them, too.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.hpp"

namespace gpumux::benchmarks::mapreduce {

/// Records, one after the other. Record i consists of letters starts[i] to starts[i + 1] - 1.
struct Text {
  std::string letters;
  std::vector<std::uint32_t> starts = {0};
  void add(std::string_view record) {
    letters += record;
    starts.push_back(static_cast<std::uint32_t>(letters.size()));
  }
  [[nodiscard]] std::uint32_t records() const { return static_cast<std::uint32_t>(starts.size() - 1); }
  [[nodiscard]] std::string_view record(std::uint32_t i) const {
    return std::string_view(letters).substr(starts[i], starts[i + 1] - starts[i]);
  }
};

/// A pair that a map emits. The key is `length` letters from `start` on. Layout of Pair in mapreduce.cu.
struct Pair {
  std::uint32_t hash;
  std::uint32_t start;
  std::uint32_t length;
  std::uint32_t value;
  bool operator==(const Pair&) const = default;
};

/// The sorted pairs, the index of each group's first pair (a group has one key), and the result of each
/// group, if there is a reduction.
struct Grouped {
  std::vector<Pair> pairs;
  std::vector<std::uint32_t> groups;
  std::vector<std::uint32_t> reduced;
};

/// A log of lines "URL ADDRESS COOKIE". One line in four repeats an earlier line. Of the others, one in 16 is
/// a directive that begins with '#', and of the rest one in eight asks for a picture. URLs are drawn from a
/// skewed distribution: few URLs have most views. The first line is a view of a page.
[[nodiscard]] Text web_log(std::uint32_t lines, std::uint32_t urls, Random& random);

/// Lines "URL VIEWS", with 1 to `most` views; large numbers are rare. One line in 16 begins with '#', but not
/// the first line.
[[nodiscard]] Text view_table(std::uint32_t lines, std::uint32_t most, Random& random);

/// HTML pages with 1 to 2 * words - 1 words, with tags between the words. A hundred pages have about `links`
/// links (at most 100 * words). The first page has a link.
[[nodiscard]] Text html_pages(std::uint32_t pages, std::uint32_t words, std::uint32_t links,
                              std::uint32_t urls, Random& random);

/// FNV-1a hash, of which only the bits in `mask` are kept.
[[nodiscard]] std::uint32_t hash_of(std::string_view key, std::uint32_t mask);

/// For each URL of the log, the number of different lines that view it. The URL has one pair for each of
/// these lines, which points to the line's first occurrence.
[[nodiscard]] Grouped page_view_count(const Text& log, std::uint32_t mask);

/// The URLs of the table, the most viewed first, without groups. A pair's hash is its number of views, its
/// value is the line.
[[nodiscard]] Grouped page_view_rank(const Text& table);

/// For each link, the places at which it occurs; a pair's value is the page. A link is the text between the
/// quotation marks of <a href="...">.
[[nodiscard]] Grouped inverted_index(const Text& pages, std::uint32_t mask);

}  // namespace gpumux::benchmarks::mapreduce
