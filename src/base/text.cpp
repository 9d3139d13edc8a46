#include "base/text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/core.h>
#include <fmt/ranges.h>

namespace gpumux {
namespace {

/// The number of insertions, deletions, changes and swaps of adjacent characters that turn `a` into `b`
/// (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(above);
    above.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({change, above[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest_choice(std::string_view typed, std::span<const std::string> choices) {
  std::string best;
  std::size_t best_distance = typed.size() / 3 + 1;
  for (const std::string& choice : choices) {
    const std::size_t distance = edit_distance(typed, choice);
    if (distance < best_distance) {
      best_distance = distance;
      best = choice;
    }
  }
  return best;
}

std::string unknown_choice(std::string_view what, std::string_view typed,
                           std::span<const std::string> choices) {
  const std::string nearest = nearest_choice(typed, choices);
  const std::string hint = nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest);
  constexpr std::size_t kMost = 40;  // more would bury the message
  if (choices.size() > kMost) {
    if (!nearest.empty()) return fmt::format("unknown {} '{}'{}", what, typed, hint);
    return fmt::format("unknown {} '{}'; {} are known, such as {}, {} and {}", what, typed, choices.size(),
                       choices[0], choices[1], choices[2]);
  }
  return fmt::format("unknown {} '{}'{}; known: {}", what, typed, hint, fmt::join(choices, ", "));
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = text.find(separator, begin);
    parts.emplace_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  for (std::size_t at = text.find(from); at != std::string_view::npos; at = text.find(from)) {
    out.append(text.substr(0, at)).append(to);
    text.remove_prefix(at + from.size());
  }
  return out.append(text);
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::optional<std::uint64_t> parse_uint(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    text.remove_prefix(2);
    base = 16;
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> parse_int(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const std::optional<std::uint64_t> magnitude = parse_uint(text);
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
  if (!magnitude || *magnitude > kMax + (negative ? 1 : 0)) return std::nullopt;
  return static_cast<std::int64_t>(negative ? 0 - *magnitude : *magnitude);
}

std::optional<double> parse_double(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> parse_count(std::string_view text) {
  if (const auto whole = parse_uint(text)) return whole;
  double factor = 1;
  if (!text.empty()) {
    switch (text.back()) {
      case 'k':
      case 'K': factor = 1e3; break;
      case 'M': factor = 1e6; break;
      case 'G': factor = 1e9; break;
      default: break;
    }
    if (factor > 1) text.remove_suffix(1);
  }
  const std::optional<double> value = parse_double(text);
  constexpr double kMost = 1e18;
  if (!value || !(*value >= 0) || *value * factor > kMost) return std::nullopt;
  const double count = *value * factor;
  if (count != std::floor(count)) return std::nullopt;
  return static_cast<std::uint64_t>(count);
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  unsigned shift = 0;
  const bool binary = text.ends_with("iB");
  if (text.ends_with('B')) text.remove_suffix(binary ? 2 : 1);
  if (!text.empty()) {
    switch (text.back()) {
      case 'k':
      case 'K': shift = 10; break;
      case 'M': shift = 20; break;
      case 'G': shift = 30; break;
      default: break;
    }
    if (shift != 0) text.remove_suffix(1);
  }
  if (binary && shift == 0) return std::nullopt;
  const std::optional<std::uint64_t> value = parse_uint(text);
  if (!value || (*value << shift) >> shift != *value) return std::nullopt;
  return *value << shift;
}

bool is_one_line(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
  });
}

std::string triple(const Dim3& size) { return fmt::format("({},{},{})", size.x, size.y, size.z); }

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

}  // namespace gpumux
