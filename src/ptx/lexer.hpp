// Conversion of PTX text to tokens. PTX is free-form: inline assembly may put several instructions on one
// line, and nvcc spreads calls over five lines. So lines have no meaning here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace gpumux::ptx {

struct Token {
  enum class Kind : std::uint8_t {
    Name,     // add, %r1, $L__BB0_1, _Z3foo; registers keep their '%'
    Dot,      // .reg, .f32, .L1::no_allocate; `text` has no first dot
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

/// The tokens of `text`, which must outlive them. The last one is End. Throws UserError for characters that
/// PTX does not have, unfinished comments and strings, and numbers that are too large.
[[nodiscard]] std::vector<Token> tokenize(std::string_view text, const std::string& file);

}  // namespace gpumux::ptx
