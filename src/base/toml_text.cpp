#include "base/toml_text.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/error.hpp"

namespace gpumux {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

/// Behind the string that begins at `at`, or at the end of its line or of the text.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const std::string_view three = quote == '"' ? "\"\"\"" : "'''";
  const bool many_lines = text.substr(at, 3) == three;
  at += many_lines ? 3 : 1;
  while (at < text.size()) {
    if (quote == '"' && text[at] == '\\') {
      at += 2;
    } else if (many_lines && text.substr(at, 3) == three) {
      at += 3;
      for (int more = 0; more < 2 && at < text.size() && text[at] == quote; ++more) ++at;
      return at;
    } else if (!many_lines && (text[at] == quote || text[at] == '\n')) {
      return at + 1;
    } else {
      ++at;
    }
  }
  return text.size();
}

}  // namespace

void check_toml_characters(std::string_view text, const std::string& file) {
  std::size_t at = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      at = end_of_string(text, at);
    } else if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if (static_cast<unsigned char>(c) >= 0x80U) {
      const std::string_view before = text.substr(0, at);
      const auto line = static_cast<std::uint32_t>(std::count(before.begin(), before.end(), '\n'));
      const std::size_t begin = before.rfind('\n') + 1;  // of the line; 0 when it is the first
      throw UserError({file, line + 1, static_cast<std::uint32_t>(at - begin + 1)},
                      "a character outside ASCII belongs into quotes or a comment");
    } else {
      ++at;
    }
  }
}

}  // namespace gpumux
