// Encodes bytes as text, for typed arrays and hashes in a page (RFC 4648).
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace gpumux::report {

[[nodiscard]] inline std::string base64(std::span<const std::uint8_t> bytes) {
  constexpr const char* kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t left = bytes.size() - i;
    const std::uint32_t group = (std::uint32_t{bytes[i]} << 16U) |
                                (left > 1 ? std::uint32_t{bytes[i + 1]} << 8U : 0U) |
                                (left > 2 ? std::uint32_t{bytes[i + 2]} : 0U);
    text += kDigits[group >> 18U];
    text += kDigits[(group >> 12U) & 63U];
    text += left > 1 ? kDigits[(group >> 6U) & 63U] : '=';
    text += left > 2 ? kDigits[group & 63U] : '=';
  }
  return text;
}

}  // namespace gpumux::report
