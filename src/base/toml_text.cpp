#include "base/toml_text.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/error.hpp"

namespace gpumux {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

/// The index after the string that starts at `at`, or the end of its line or of the text.
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

bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80U; }

/// Throws UserError for a character outside ASCII that is in neither a string nor a comment. Only quotes and
/// `#` are parsed.
void check_characters(std::string_view text, const std::string& file) {
  std::size_t at = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      at = end_of_string(text, at);
    } else if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if (!is_ascii(c)) {
      const std::string_view before = text.substr(0, at);
      const auto line = static_cast<std::uint32_t>(std::count(before.begin(), before.end(), '\n'));
      const std::size_t begin = before.rfind('\n') + 1;  // start of the line, 0 for the first line
      throw UserError({file, line + 1, static_cast<std::uint32_t>(at - begin + 1)},
                      "a character outside ASCII belongs into quotes or a comment");
    } else {
      ++at;
    }
  }
}

/// True for a continuation byte of a UTF-8 character.
bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U; }

/// Replacement of a character outside ASCII: `?` and the hexadecimal digits of its bytes, so that different
/// keys stay different.
constexpr std::string_view kHex = "0123456789abcdef";
constexpr std::size_t kMostBytes = 4;
constexpr std::size_t kStandIn = 1 + 2 * kMostBytes;

/// `text` with each character outside ASCII replaced by kStandIn ASCII characters. The result is valid TOML
/// if `text` is.
std::string in_ascii(std::string_view text) {
  std::string ascii;
  for (std::size_t at = 0; at < text.size();) {
    if (is_ascii(text[at])) {
      ascii += text[at++];
      continue;
    }
    const std::size_t begin = at;
    std::string stand_in = "?";
    do {
      const auto byte = static_cast<unsigned char>(text[at]);
      stand_in += {kHex[byte >> 4U], kHex[byte & 15U]};
      ++at;
    } while (at < text.size() && continues(text[at]) && at < begin + kMostBytes);
    stand_in.resize(kStandIn, '?');
    ascii += stand_in;
  }
  return ascii;
}

SourceLocation place(const std::string& file, const toml::source_position& at) {
  return {file, static_cast<std::uint32_t>(at.line), static_cast<std::uint32_t>(at.column)};
}

/// Converts a location in in_ascii(text) to the location in `text`. Only columns differ.
SourceLocation place_before(SourceLocation at, std::string_view text) {
  for (std::uint32_t line = 1; line < at.line; ++line) text.remove_prefix(text.find('\n') + 1);
  std::uint32_t column = 1;
  for (std::size_t stands = 1; stands < at.column && !text.empty(); ++column) {
    stands += is_ascii(text.front()) ? 1 : kStandIn;
    do text.remove_prefix(1);
    while (!text.empty() && continues(text.front()));
  }
  at.column = column;
  return at;
}

}  // namespace

toml::table parse_toml(std::string_view text, const std::string& file) {
  const std::string_view rest = text.substr(text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0);
  if (!std::all_of(rest.begin(), rest.end(), is_ascii)) {
    check_characters(text, file);
    try {  // check_characters() takes a quote inside a value, as in `a = 0"\u00a7`, for the start of a string
      (void)toml::parse(in_ascii(rest), std::string_view(file));
    } catch (const toml::parse_error& error) {
      throw UserError(place_before(place(file, error.source().begin), rest),
                      std::string(error.description()));
    }
  }
  try {
    return toml::parse(text, std::string_view(file));
  } catch (const toml::parse_error& error) {
    throw UserError(place(file, error.source().begin), std::string(error.description()));
  }
}

}  // namespace gpumux
