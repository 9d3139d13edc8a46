// mapreduce: texts and the CPU references, apart from the host programs so that tests can call them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.hpp"

namespace gpumux::benchmarks::mapreduce {

/// Records one behind the other: record i is from starts[i] to starts[i + 1] - 1.
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

/// What a map emits: `length` letters from `start` on are its key. Laid out as Pair in mapreduce.cu.
struct Pair {
  std::uint32_t hash;
  std::uint32_t start;
  std::uint32_t length;
  std::uint32_t value;
  bool operator==(const Pair&) const = default;
};

/// Pairs in order, where groups of the same key begin, and what became of each group, where there is a
/// reduction.
struct Grouped {
  std::vector<Pair> pairs;
  std::vector<std::uint32_t> groups;
  std::vector<std::uint32_t> reduced;
};

/// A log of lines "URL ADDRESS COOKIE". Of 16 lines one is a directive that begins with '#', and of 8 others
/// one asks for a picture; one in four repeats an earlier line. URLs are drawn uniformly below a number that
/// is drawn so itself: few have most views. The first line is a view of a page.
[[nodiscard]] Text web_log(std::uint32_t lines, std::uint32_t urls, Random& random);

/// Lines "URL VIEWS", views from 1 to `most`, few of them large; of 16 lines one begins with '#', but not the
/// first.
[[nodiscard]] Text view_table(std::uint32_t lines, std::uint32_t most, Random& random);

/// HTML pages with 1 to 2 * words - 1 words, between which there are tags and, in a hundred pages, some
/// `links` links (at most 100 * words). The first page has one.
[[nodiscard]] Text html_pages(std::uint32_t pages, std::uint32_t words, std::uint32_t links,
                              std::uint32_t urls, Random& random);

/// FNV-1a, of which `mask` leaves some bits.
[[nodiscard]] std::uint32_t hash_of(std::string_view key, std::uint32_t mask);

/// Of the log, how many different lines view each URL. A URL's pairs, one for each of these lines, are where
/// the lines are first.
[[nodiscard]] Grouped page_view_count(const Text& log, std::uint32_t mask);

/// The URLs of the table by falling numbers of views, without groups. A pair's hash is its number of views,
/// its value the line.
[[nodiscard]] Grouped page_view_rank(const Text& table);

/// Of each link in the pages, where it stands; a pair's value is the page. Links are between the quotation
/// marks of <a href="...">.
[[nodiscard]] Grouped inverted_index(const Text& pages, std::uint32_t mask);

}  // namespace gpumux::benchmarks::mapreduce
