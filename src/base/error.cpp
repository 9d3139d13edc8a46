#include "base/error.hpp"

#include <algorithm>
#include <string_view>

namespace gpumux {

std::string SourceLocation::text() const {
  if (line == 0) return file;
  if (column == 0) return fmt::format("{}:{}", file, line);
  return fmt::format("{}:{}:{}", file, line, column);
}

std::string bounded(const std::string& message) {
  constexpr std::size_t kMost = 2000;
  constexpr std::size_t kFront = 1200;
  constexpr std::size_t kBack = 400;
  if (message.size() <= kMost) return message;
  // A cut must not split a UTF-8 character.
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; };
  std::string out;
  for (std::size_t at = 0; at <= message.size();) {
    const std::size_t end = std::min(message.find('\n', at), message.size());
    const std::string_view line = std::string_view(message).substr(at, end - at);
    if (at != 0) out += '\n';
    at = end + 1;
    if (line.size() <= kMost) {
      out += line;
      continue;
    }
    std::size_t front = kFront;
    std::size_t back = line.size() - kBack;
    while (front > 0 && !begins(line[front])) --front;
    while (back < line.size() && !begins(line[back])) ++back;
    out += fmt::format("{} [... {} bytes ...] {}", line.substr(0, front), back - front, line.substr(back));
  }
  return out;
}

std::string one_line(std::string_view message) {
  std::string line;
  for (const char c : message) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      line += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      line += fmt::format("\\x{:02x}", byte);
    } else {
      line += c;
    }
  }
  return bounded(line);
}

void fail_check(const char* condition, const char* file, int line) {
  throw InternalError(fmt::format("{}:{}: internal check failed: {}", file, line, condition));
}

}  // namespace gpumux
