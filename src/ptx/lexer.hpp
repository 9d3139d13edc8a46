// PTX text -> tokens. PTX is free-form: inline assembly may put several instructions on one line, and
// nvcc spreads calls over five, so nothing here depends on lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace gpumux::ptx {

struct Token {
  enum class Kind : std::uint8_t {
    Name,     // add, %r1, $L__BB0_1, _Z3foo; a register keeps its '%'
    Dot,      // .reg, .f32, .L1::no_allocate; `text` is without the first dot
    Integer,  // `bits` is the value
    Float32,  // 0f3F800000: `bits` is the pattern
    Float64,  // 0d... and decimal fractions: `bits` is the pattern
    String,   // `text` is without the quotes
    Punct,    // one character
    End
  };
  Kind kind = Kind::End;
  std::string_view text;
  std::uint64_t bits = 0;
  std::uint32_t line = 0;
  std::uint32_t column = 0;

  [[nodiscard]] bool is(char punct) const { return kind == Kind::Punct && text[0] == punct; }
  [[nodiscard]] bool is_dot(std::string_view word) const { return kind == Kind::Dot && text == word; }
};

/// The tokens of `text`, which must outlive them; the last one is End. Throws UserError at characters
/// that PTX does not have, unfinished comments and strings, and numbers that do not fit.
[[nodiscard]] std::vector<Token> tokenize(std::string_view text, const std::string& file);

}  // namespace gpumux::ptx
