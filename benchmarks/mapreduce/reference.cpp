// Texts for the MapReduce applications, and the CPU references.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "benchmarks/mapreduce/mapreduce.hpp"

namespace gpumux::benchmarks::mapreduce {

namespace {

std::string url_of(std::uint32_t number, bool picture) {
  return fmt::format("/{}/{:x}.{}", static_cast<char>('a' + number % 23), number * 2654435761U,
                     picture ? "gif" : "html");
}

/// A random number below `end`, from a skewed distribution: small numbers are far more likely.
std::uint32_t skewed(std::uint32_t end, Random& random) { return random.below(1 + random.below(end)); }

/// Sorts the pairs by hash, key and place, and finds the groups.
Grouped group(std::string_view letters, std::vector<Pair> pairs) {
  const auto key = [&](const Pair& pair) { return letters.substr(pair.start, pair.length); };
  std::sort(pairs.begin(), pairs.end(), [&](const Pair& a, const Pair& b) {
    if (a.hash != b.hash) return a.hash < b.hash;
    const int order = key(a).compare(key(b));
    return order != 0 ? order < 0 : a.start < b.start;
  });
  Grouped result{std::move(pairs), {}, {}};
  for (std::uint32_t i = 0; i < result.pairs.size(); ++i)
    if (i == 0 || key(result.pairs[i - 1]) != key(result.pairs[i])) result.groups.push_back(i);
  return result;
}

}  // namespace

Text web_log(std::uint32_t lines, std::uint32_t urls, Random& random) {
  Text log;
  for (std::uint32_t i = 0; i < lines; ++i) {
    if (i > 0 && random.below(4) == 0) {
      log.add(std::string(log.record(random.below(i))));
    } else if (i > 0 && random.below(16) == 0) {
      log.add(fmt::format("#Date: 2014-06-{:02} 00:00:00\n", 1 + random.below(30)));
    } else {
      const std::string url = url_of(skewed(urls, random), i > 0 && random.below(8) == 0);
      const std::uint32_t visitor = random.below(1U << 16U);
      log.add(fmt::format("{} 10.{}.{}.{} {:08x}\n", url, visitor >> 12U, visitor >> 6U & 63U, visitor & 63U,
                          static_cast<std::uint32_t>(mix64(visitor))));
    }
  }
  return log;
}

Text view_table(std::uint32_t lines, std::uint32_t most, Random& random) {
  Text table;
  for (std::uint32_t i = 0; i < lines; ++i) {
    if (i > 0 && random.below(16) == 0) {
      table.add("# nothing was asked for here\n");
    } else {
      table.add(fmt::format("{} {}\n", url_of(i, false), 1 + skewed(most, random)));
    }
  }
  return table;
}

Text html_pages(std::uint32_t pages, std::uint32_t words, std::uint32_t links, std::uint32_t urls,
                Random& random) {
  Text text;
  for (std::uint32_t page = 0; page < pages; ++page) {
    std::string html = "<html><body>";
    const auto link = [&] { html += fmt::format("<a href=\"{}\">", url_of(skewed(urls, random), false)); };
    if (page == 0) link();
    const std::uint32_t count = 1 + random.below(2 * words - 1);
    for (std::uint32_t word = 0; word < count; ++word) {
      // One word in ten follows a tag that is not a link.
      if (random.below(100 * words) < links) link();
      if (random.below(10) == 0) html += random.below(2) == 0 ? "<p>" : "<a name=\"x\">";
      for (std::uint32_t letters = 2 + random.below(8); letters > 0; --letters)
        html += static_cast<char>('a' + random.below(26));
      html += ' ';
    }
    text.add(html + "</body></html>\n");
  }
  return text;
}

std::uint32_t hash_of(std::string_view key, std::uint32_t mask) {
  std::uint32_t hash = 2166136261U;
  for (const char letter : key) hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619U;
  return hash & mask;
}

Grouped page_view_count(const Text& log, std::uint32_t mask) {
  std::map<std::string_view, std::uint32_t> first;  // first start of each line that is a view
  for (std::uint32_t i = 0; i < log.records(); ++i) {
    const std::string_view url = log.record(i).substr(0, log.record(i).find(' '));
    if (!url.starts_with('#') && !url.ends_with(".gif")) first.emplace(log.record(i), log.starts[i]);
  }
  std::vector<Pair> pairs;
  for (const auto& [line, start] : first) {
    const std::string_view url = line.substr(0, line.find(' '));
    pairs.push_back({hash_of(url, mask), start, static_cast<std::uint32_t>(url.size()), 0});
  }
  Grouped result = group(log.letters, std::move(pairs));
  std::map<std::string_view, std::uint32_t> views;
  const auto key = [&](const Pair& pair) {
    return std::string_view(log.letters).substr(pair.start, pair.length);
  };
  for (const Pair& pair : result.pairs) ++views[key(pair)];
  for (const std::uint32_t head : result.groups) result.reduced.push_back(views.at(key(result.pairs[head])));
  return result;
}

Grouped page_view_rank(const Text& table) {
  std::vector<Pair> pairs;
  for (std::uint32_t i = 0; i < table.records(); ++i) {
    const std::string_view line = table.record(i);
    if (line.starts_with('#')) continue;
    const std::size_t blank = line.find(' ');
    pairs.push_back({static_cast<std::uint32_t>(std::stoul(std::string(line.substr(blank + 1)))),
                     table.starts[i], static_cast<std::uint32_t>(blank), i});
  }
  std::stable_sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) { return a.hash > b.hash; });
  return {std::move(pairs), {}, {}};
}

Grouped inverted_index(const Text& pages, std::uint32_t mask) {
  constexpr std::string_view kMark = "<a href=\"";
  std::vector<Pair> pairs;
  for (std::uint32_t page = 0; page < pages.records(); ++page) {
    const std::string_view html = pages.record(page);
    for (std::size_t at = html.find(kMark); at != std::string_view::npos; at = html.find(kMark, at)) {
      at += kMark.size();
      const std::string_view link = html.substr(at, html.find('"', at) - at);
      pairs.push_back({hash_of(link, mask), pages.starts[page] + static_cast<std::uint32_t>(at),
                       static_cast<std::uint32_t>(link.size()), page});
    }
  }
  return group(pages.letters, std::move(pairs));
}

}  // namespace gpumux::benchmarks::mapreduce
