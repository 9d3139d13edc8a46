// Small helpers for texts that users type or read.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.hpp"

namespace gpumux {

/// The choice nearest to `typed` (edit distance of at most a third of its length), or empty.
[[nodiscard]] std::string nearest_choice(std::string_view typed, std::span<const std::string> choices);

/// "unknown WHAT 'typed'; did you mean 'x'?; known: a, b, c". More than 40 choices are counted, not listed.
[[nodiscard]] std::string unknown_choice(std::string_view what, std::string_view typed,
                                         std::span<const std::string> choices);

[[nodiscard]] std::vector<std::string> split(std::string_view text, char separator);
[[nodiscard]] std::string_view trim(std::string_view text);
/// `text` with each occurrence of `from` (not empty) replaced by `to`. Replaced text is not searched again.
[[nodiscard]] std::string replace_all(std::string_view text, std::string_view from, std::string_view to);

/// Conversions of a whole text to a number. The result is empty if any character is left over or the value
/// does not fit.
[[nodiscard]] std::optional<std::int64_t> parse_int(std::string_view text);    // 10, -3, 0x1f
[[nodiscard]] std::optional<std::uint64_t> parse_uint(std::string_view text);  // 10, 0x1f
/// A whole number in a notation for large numbers: 500000, 0x10, 1e6, 2.5e6, 500K, 500k, 1M, 2G. Suffixes are
/// powers of 1000.
[[nodiscard]] std::optional<std::uint64_t> parse_count(std::string_view text);
[[nodiscard]] std::optional<double> parse_double(std::string_view text);
/// Bytes with an optional binary suffix: "48K", "48KB" and "48KiB" are 48 * 1024; "48k", "2M", "1G", "4096",
/// "4096B".
[[nodiscard]] std::optional<std::uint64_t> parse_bytes(std::string_view text);

/// True for a text without control characters, which fits as a name in tables and one-line messages.
[[nodiscard]] bool is_one_line(std::string_view text);

/// "(x,y,z)".
[[nodiscard]] std::string triple(const Dim3& size);

/// One field of a line of CSV, in quotes if necessary (RFC 4180).
[[nodiscard]] std::string csv_field(std::string_view text);

}  // namespace gpumux
