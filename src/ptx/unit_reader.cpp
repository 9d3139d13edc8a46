#include "ptx/unit_reader.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "isa/instruction.hpp"
#include "ptx/parser.hpp"

namespace gpumux::ptx {
namespace {

class UnitReader {
 public:
  explicit UnitReader(const Unit& unit) {
    of_.unit = &unit;
    of_.tokens = tokenize(unit.text, unit.name);
  }

  UnitContents run() {
    while (peek().kind != Token::Kind::End) {
      if (accept(';')) continue;
      if (peek().kind != Token::Kind::Dot) fail("expected a directive");
      read_directive();
    }
    if (of_.target.empty()) fail("the text has no .target");
    for (const Token& token : of_.tokens)
      if (token.kind == Token::Kind::Name) ++of_.uses[token.text];
    return std::move(of_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw UserError(SourceLocation{of_.unit->name, peek().line, peek().column}, what);
  }
  [[nodiscard]] const Token& peek() const { return of_.tokens[std::min(at_, of_.tokens.size() - 1)]; }
  void skip() {
    if (peek().kind == Token::Kind::End) fail("the text ends too early");
    ++at_;
  }
  bool accept(char punct) {
    if (!peek().is(punct)) return false;
    ++at_;
    return true;
  }
  std::string_view take(Token::Kind kind, const char* what) {
    if (peek().kind != kind) fail(fmt::format("expected {}", what));
    return of_.tokens[at_++].text;
  }
  /// Skips to after the bracket that closes the next one.
  void skip_brackets(char open, char close) {
    std::size_t depth = 0;
    do {
      if (peek().is(open)) ++depth;
      if (peek().is(close)) --depth;
      skip();
    } while (depth > 0);
  }
  /// Skips to the next of these characters outside brackets, which is not skipped.
  void skip_to(std::string_view ends) {
    while (peek().kind != Token::Kind::Punct || ends.find(peek().text[0]) == std::string_view::npos) {
      if (peek().is('(')) {
        skip_brackets('(', ')');
      } else if (peek().is('{')) {
        skip_brackets('{', '}');
      } else {
        skip();
      }
    }
  }

  void read_directive() {
    const std::size_t begin = at_;
    const std::string_view word = peek().text;
    if (word == "version") {
      skip();
      of_.version = take(Token::Kind::Float64, "a version such as 9.0");
      const std::vector<std::string> parts = split(std::string(of_.version), '.');
      of_.version_number = parse_uint(parts[0]).value_or(0) * 100 + parse_uint(parts.back()).value_or(0);
    } else if (word == "target") {
      read_target();
    } else if (word == "address_size") {
      skip();
      skip();
    } else if (word == "file") {
      skip();
      of_.file_numbers = std::max(of_.file_numbers, peek().bits);
      take(Token::Kind::Integer, "a file number");
      take(Token::Kind::String, "a file name");
      while (accept(',')) skip();
      UnitItem& item = of_.items.emplace_back();
      item.kind = UnitItem::Kind::FileNumber;
      item.begin = begin;
      item.head_end = item.end = at_;
    } else if (word == "section") {
      skip_to("{");
      skip_brackets('{', '}');
    } else if (word == "pragma") {
      skip_to(";");
    } else if (word == "alias") {
      skip();
      UnitItem& item = of_.items.emplace_back();
      item.kind = UnitItem::Kind::Alias;
      item.defines = true;
      item.begin = begin;
      item.at_name = at_;
      item.name = take(Token::Kind::Name, "the alias's name");
      skip_to(";");
      item.head_end = item.end = at_ + 1;
    } else {
      read_declaration();
    }
  }

  void read_target() {
    skip();
    of_.target = take(Token::Kind::Name, "a target such as sm_75");
    std::string_view digits = of_.target.substr(0, of_.target.find_last_of("0123456789") + 1);
    if (digits.starts_with("sm_")) digits.remove_prefix(3);
    of_.target_number = parse_uint(digits).value_or(0);
    while (accept(',')) of_.debug = take(Token::Kind::Name, "a target option") == "debug" || of_.debug;
  }

  void read_declaration() {
    UnitItem item;
    item.begin = at_;
    bool shared = false;
    for (bool of_linkage = true; of_linkage;) {
      const std::string_view word = take(Token::Kind::Dot, "a directive");
      if (word == "visible") {
        item.linkage = Linkage::Visible;
      } else if (word == "extern") {
        item.linkage = Linkage::Extern;
      } else if (word == "weak") {
        item.linkage = Linkage::Weak;
      } else if (word == "common") {
        item.linkage = Linkage::Common;
      } else {
        of_linkage = false;
        shared = word == "shared";
        item.is_kernel = word == "entry";
        item.at_space = at_ - 1;
        if (word == "func" || word == "entry") {
          item.kind = UnitItem::Kind::Function;
        } else if (word != "global" && word != "const" && !shared) {
          --at_;
          fail(fmt::format("unknown directive '.{}'", word));
        }
      }
    }
    if (item.kind == UnitItem::Kind::Function) {
      read_function(item);
    } else {
      read_variable(item, shared);
    }
    of_.items.push_back(item);
  }

  void read_function(UnitItem& item) {
    while (peek().is_dot("attribute")) {
      skip();
      skip_brackets('(', ')');
    }
    if (peek().is('(')) skip_brackets('(', ')');
    item.at_name = at_;
    item.name = take(Token::Kind::Name, "the function's name");
    while (!peek().is(';') && !peek().is('{') && !(begins_declaration(peek()) && !item.is_kernel)) {
      if (peek().is('(')) {
        skip_brackets('(', ')');
      } else {
        skip();
      }
    }
    item.head_end = at_;
    item.defines = peek().is('{');
    if (item.defines) {
      skip_brackets('{', '}');
    } else if (!begins_declaration(peek())) {
      skip();
    }
    item.end = at_;
  }

  void read_variable(UnitItem& item, bool shared) {
    std::uint64_t element = 8;  // size of a .texref or .surfref
    std::uint64_t elements = 1;
    while (peek().kind == Token::Kind::Dot) {
      const Token word = peek();
      skip();
      if (word.text == "align") {
        item.align = peek().bits;
        take(Token::Kind::Integer, "an alignment");
      } else if (word.text == "attribute") {
        skip_brackets('(', ')');
      } else if (const Type type = type_of(word.text); type != Type::None) {
        element = isa::width_bytes(type);
      } else if (word.text == "v2" || word.text == "v4") {
        elements = word.text == "v2" ? 2 : 4;
      } else if (word.text == "b128") {
        element = 16;
      }
    }
    element *= elements;
    item.at_name = at_;
    item.name = take(Token::Kind::Name, "the variable's name");
    item.bytes = element;
    bool open = false;
    while (accept('[')) {
      open = open || peek().is(']');
      if (!peek().is(']')) {
        item.bytes *= peek().bits;
        take(Token::Kind::Integer, "the number of elements");
      }
      if (!accept(']')) fail("expected ']'");
    }
    item.head_end = at_;
    skip_to(",;");
    if (peek().is(',')) fail("several variables in one declaration are not linked; declare each by itself");
    skip();
    item.end = at_;
    item.defines = item.linkage != Linkage::Extern;
    item.dynamic = shared && open && !item.defines;
    if (item.align == 0) item.align = element;
  }

  UnitContents of_;
  std::size_t at_ = 0;
};

}  // namespace

std::size_t UnitContents::begin_of(std::size_t token) const {
  const Token& of = tokens[token];
  const bool marked = of.kind == Token::Kind::Dot || of.kind == Token::Kind::String;
  return static_cast<std::size_t>(of.text.data() - unit->text.data()) - (marked ? 1 : 0);
}

std::size_t UnitContents::end_of(std::size_t token) const {
  const Token& of = tokens[token];
  return static_cast<std::size_t>(of.text.data() - unit->text.data()) + of.text.size() +
         (of.kind == Token::Kind::String ? 1 : 0);
}

UnitContents read_unit(const Unit& unit) { return UnitReader(unit).run(); }

}  // namespace gpumux::ptx
