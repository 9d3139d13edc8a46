#include "ptx/lexer.hpp"

#include <bit>
#include <charconv>
#include <cstdlib>

namespace gpumux::ptx {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

class Lexer {
 public:
  Lexer(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  std::vector<Token> run() {
    while (true) {
      skip_blank();
      Token token;
      token.line = line_;
      token.column = static_cast<std::uint32_t>(pos_ - line_begin_ + 1);
      if (pos_ == text_.size()) {
        tokens_.push_back(token);
        return std::move(tokens_);
      }
      lex(token);
      tokens_.push_back(token);
    }
  }

 private:
  [[nodiscard]] char at(std::size_t index) const { return index < text_.size() ? text_[index] : '\0'; }

  [[noreturn]] void fail(const std::string& message) const {
    const auto column = static_cast<std::uint32_t>(pos_ - line_begin_ + 1);
    throw UserError(SourceLocation{file_, line_, column}, message);
  }

  void newline() {
    ++line_;
    line_begin_ = pos_ + 1;
  }

  void skip_blank() {
    while (pos_ < text_.size()) {
      const char c = text_[pos_];
      if (c == '\n') {
        newline();
        ++pos_;
      } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
        ++pos_;
      } else if (c == '/' && at(pos_ + 1) == '/') {
        while (pos_ < text_.size() && text_[pos_] != '\n') ++pos_;
      } else if (c == '/' && at(pos_ + 1) == '*') {
        skip_comment();
      } else {
        return;
      }
    }
  }

  void skip_comment() {
    const std::size_t end = text_.find("*/", pos_ + 2);
    if (end == std::string_view::npos) fail("comment without an end; '*/' is missing");
    for (; pos_ < end + 2; ++pos_) {
      if (text_[pos_] == '\n') newline();
    }
  }

  void lex(Token& token) {
    const char c = text_[pos_];
    if (c == '.' && (is_word(at(pos_ + 1)))) {
      lex_dot(token);
    } else if (is_digit(c)) {
      lex_number(token);
    } else if (is_word(c) || (c == '%' && is_word(at(pos_ + 1)))) {
      token.kind = Token::Kind::Name;
      std::size_t end = pos_ + 1;
      while (is_word(at(end))) ++end;
      take(token, end);
    } else if (c == '"') {
      lex_string(token);
    } else if (std::string_view("{}[]()<>,;:@!|+-*/%&^=~?").find(c) != std::string_view::npos) {
      token.kind = Token::Kind::Punct;
      take(token, pos_ + 1);
    } else {
      fail(fmt::format("character {} is not part of PTX",
                       c >= ' ' && c <= '~' ? fmt::format("'{}'", c)
                                            : fmt::format("0x{:02x}", static_cast<unsigned char>(c))));
    }
  }

  void take(Token& token, std::size_t end) {
    token.text = text_.substr(pos_, end - pos_);
    pos_ = end;
  }

  void lex_dot(Token& token) {
    token.kind = Token::Kind::Dot;
    ++pos_;
    std::size_t end = pos_;
    while (true) {
      while (is_word(at(end))) ++end;
      if (at(end) != ':' || at(end + 1) != ':' || !is_word(at(end + 2))) break;
      end += 2;
    }
    take(token, end);
  }

  void lex_string(Token& token) {
    token.kind = Token::Kind::String;
    std::size_t end = pos_ + 1;
    while (at(end) != '"') {
      if (end >= text_.size() || text_[end] == '\n') fail("string without an end; '\"' is missing");
      end += text_[end] == '\\' ? 2 : 1;
    }
    ++pos_;
    take(token, end);
    ++pos_;
  }

  void lex_number(Token& token) {
    const char c = at(pos_ + 1);
    if (text_[pos_] == '0' && (c == 'f' || c == 'F' || c == 'd' || c == 'D')) {
      const bool single = c == 'f' || c == 'F';
      std::size_t end = pos_ + 2;
      while (is_hex(at(end))) ++end;
      const std::size_t want = single ? 8 : 16;
      if (end - pos_ - 2 != want || is_word(at(end))) {
        fail(fmt::format("a number that begins with 0{} has {} hexadecimal digits", c, want));
      }
      token.kind = single ? Token::Kind::Float32 : Token::Kind::Float64;
      token.bits = integer(text_.substr(pos_ + 2, want), 16);
      take(token, end);
      return;
    }
    std::size_t end = pos_;
    while (is_digit(at(end))) ++end;
    const bool fraction = at(end) == '.' && (is_digit(at(end + 1)) || !is_word(at(end + 1)));
    const bool exponent = text_[pos_] != '0' && (at(end) == 'e' || at(end) == 'E');
    if (fraction || exponent) {
      lex_decimal(token, end);
      return;
    }
    token.kind = Token::Kind::Integer;
    int base = 10;
    std::size_t digits = pos_;
    if (text_[pos_] == '0' && (c == 'x' || c == 'X')) {
      base = 16;
      digits = pos_ + 2;
    } else if (text_[pos_] == '0' && (c == 'b' || c == 'B')) {
      base = 2;
      digits = pos_ + 2;
    } else if (text_[pos_] == '0' && is_digit(c)) {
      base = 8;
      digits = pos_ + 1;
    }
    end = digits;
    while (base == 16 ? is_hex(at(end)) : is_digit(at(end))) ++end;
    token.bits = integer(text_.substr(digits, end - digits), base);
    if (at(end) == 'U') ++end;
    if (is_word(at(end))) fail(fmt::format("'{}' does not belong into a number", at(end)));
    take(token, end);
  }

  void lex_decimal(Token& token, std::size_t end) {
    if (at(end) == '.') {
      ++end;
      while (is_digit(at(end))) ++end;
    }
    if (at(end) == 'e' || at(end) == 'E') {
      ++end;
      if (at(end) == '+' || at(end) == '-') ++end;
      if (!is_digit(at(end))) fail("the exponent of a number has no digits");
      while (is_digit(at(end))) ++end;
    }
    token.kind = Token::Kind::Float64;
    double value = 0;
    const auto [ptr, error] = std::from_chars(text_.data() + pos_, text_.data() + end, value);
    if (error != std::errc{} || ptr != text_.data() + end) fail("number that does not fit f64");
    token.bits = std::bit_cast<std::uint64_t>(value);
    take(token, end);
  }

  std::uint64_t integer(std::string_view digits, int base) const {
    std::uint64_t value = 0;
    const auto [ptr, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    if (error == std::errc::result_out_of_range) fail("number that does not fit 64 bits");
    if (error != std::errc{} || ptr != digits.data() + digits.size()) fail("malformed number");
    return value;
  }

  std::string_view text_;
  const std::string& file_;
  std::vector<Token> tokens_;
  std::size_t pos_ = 0;
  std::size_t line_begin_ = 0;
  std::uint32_t line_ = 1;
};

}  // namespace

std::vector<Token> tokenize(std::string_view text, const std::string& file) {
  return Lexer(text, file).run();
}

}  // namespace gpumux::ptx
