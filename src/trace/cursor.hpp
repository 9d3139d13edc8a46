// Parser for the words and numbers of one line of a trace.
#pragma once

#include <cstdint>
#include <string_view>

#include "trace/lines.hpp"

namespace gpumux::trace {

/// Moves over the line that LineReader returned last. Errors are thrown by the reader, with its position.
class Cursor {
 public:
  Cursor(const LineReader& reader, std::string_view line)
      : reader_(reader), at_(line.data()), end_(line.data() + line.size()) {
    skip_spaces();
  }
  [[nodiscard]] bool done() const { return at_ == end_; }
  [[nodiscard]] const char* at() const { return at_; }
  [[nodiscard]] std::string_view rest() const { return {at_, static_cast<std::size_t>(end_ - at_)}; }
  /// Number of words left.
  [[nodiscard]] unsigned words() const {
    unsigned count = 0;
    for (const char* at = at_; at != end_; ++at)
      count += (*at != ' ' && *at != '\t') && (at == at_ || at[-1] == ' ' || at[-1] == '\t') ? 1 : 0;
    return count;
  }
  /// Skips `text` if it comes next and is followed by a space or the end of the line. Returns whether it was
  /// skipped.
  bool skip(std::string_view text) {
    if (!rest().starts_with(text)) return false;
    const char* after = at_ + text.size();
    if (after != end_ && *after != ' ') return false;
    at_ = after;
    skip_spaces();
    return true;
  }
  [[nodiscard]] std::string_view word(const char* what) {
    const char* first = at_;
    while (at_ != end_ && *at_ != ' ' && *at_ != '\t') ++at_;
    if (at_ == first) fail_missing(what);
    const std::string_view taken(first, static_cast<std::size_t>(at_ - first));
    skip_spaces();
    return taken;
  }
  /// A hexadecimal number of at most `digits` digits, with or without 0x.
  [[nodiscard]] std::uint64_t hex(const char* what, unsigned digits = 16) {
    const char* first = at_;
    if (end_ - at_ > 2 && at_[0] == '0' && (at_[1] == 'x' || at_[1] == 'X')) at_ += 2;
    std::uint64_t value = 0;
    unsigned count = 0;
    for (; at_ != end_ && count <= digits; ++at_, ++count) {
      const char c = *at_;
      unsigned digit = 0;
      if (c >= '0' && c <= '9') {
        digit = static_cast<unsigned>(c - '0');
      } else if (c >= 'a' && c <= 'f') {
        digit = static_cast<unsigned>(c - 'a') + 10;
      } else if (c >= 'A' && c <= 'F') {
        digit = static_cast<unsigned>(c - 'A') + 10;
      } else {
        break;
      }
      value = value << 4U | digit;
    }
    if (count == 0 || count > digits) fail_number(what, first, "a hexadecimal number");
    end_number(what, first, "a hexadecimal number");
    return value;
  }
  [[nodiscard]] std::uint64_t decimal(const char* what, std::uint64_t most) {
    const char* first = at_;
    const std::uint64_t value = digits(what, first);
    if (value > most) fail_number(what, first, "a smaller number");
    end_number(what, first, "a whole number");
    return value;
  }
  /// A decimal number with an optional sign, modulo 2^64.
  [[nodiscard]] std::uint64_t signed_decimal(const char* what) {
    const char* first = at_;
    const bool negative = at_ != end_ && *at_ == '-';
    if (negative) ++at_;
    const std::uint64_t value = digits(what, first);
    end_number(what, first, "a whole number");
    return negative ? std::uint64_t{0} - value : value;
  }
  void end(const char* after) const;
  [[noreturn]] void fail(const std::string& what) const { reader_.fail(what, at_); }
  [[noreturn]] void fail_at(const char* at, const std::string& what) const { reader_.fail(what, at); }

 private:
  void skip_spaces() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t')) ++at_;
  }
  std::uint64_t digits(const char* what, const char* first) {
    std::uint64_t value = 0;
    const char* begin = at_;
    for (; at_ != end_ && *at_ >= '0' && *at_ <= '9'; ++at_) {
      if (at_ - begin > 18) fail_number(what, first, "a smaller number");
      value = value * 10 + static_cast<std::uint64_t>(*at_ - '0');
    }
    if (at_ == begin) fail_number(what, first, "a whole number");
    return value;
  }
  void end_number(const char* what, const char* first, const char* expected) {
    if (at_ != end_ && *at_ != ' ' && *at_ != '\t') fail_number(what, first, expected);
    skip_spaces();
  }
  [[noreturn]] void fail_missing(const char* what) const;
  [[noreturn]] void fail_number(const char* what, const char* first, const char* expected) const;

  const LineReader& reader_;
  const char* at_;
  const char* end_;
};

}  // namespace gpumux::trace
