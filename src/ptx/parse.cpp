// The module level: directives, linkage, and checks that need the whole module.
#include "ptx/parse.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "ptx/parser.hpp"

namespace gpumux::ptx {

Parser::Parser(std::string_view text, const std::string& file, bool by_function)
    : file_(file), by_function_(by_function), tokens_(tokenize(text, file)) {
  module_.file = file;
}

const Token& Parser::peek(std::size_t ahead) const {
  return tokens_[std::min(pos_ + ahead, tokens_.size() - 1)];
}

Token Parser::next() {
  const Token token = peek();
  if (token.kind != Token::Kind::End) ++pos_;
  return token;
}

bool Parser::accept(char punct) {
  if (!peek().is(punct)) return false;
  ++pos_;
  return true;
}

bool Parser::accept_dot(std::string_view word) {
  if (!peek().is_dot(word)) return false;
  ++pos_;
  return true;
}

namespace {

std::string shown(const Token& token) {
  switch (token.kind) {
    case Token::Kind::End: return "the end of the file";
    case Token::Kind::Dot: return fmt::format("'.{}'", token.text);
    case Token::Kind::String: return "a string";
    default: return fmt::format("'{}'", token.text);
  }
}

}  // namespace

void Parser::fail(const Token& at, const std::string& message) const {
  throw UserError(SourceLocation{file_, at.line, at.column}, message);
}

void Parser::expect(char punct, std::string_view after) {
  if (accept(punct)) return;
  fail(peek(), fmt::format("expected '{}' after {}, found {}", punct, after, shown(peek())));
}

Token Parser::expect_name(std::string_view what) {
  if (peek().kind != Token::Kind::Name) {
    fail(peek(), fmt::format("expected {}, found {}", what, shown(peek())));
  }
  return next();
}

std::uint64_t Parser::expect_integer(std::string_view what) {
  if (peek().kind != Token::Kind::Integer) {
    fail(peek(), fmt::format("expected {}, found {}", what, shown(peek())));
  }
  return next().bits;
}

void Parser::parse_version() {
  // "9.0" is tokenized as a decimal fraction, so the token's text is parsed.
  const Token number = next();
  const std::vector<std::string> parts = split(number.text, '.');
  const std::uint64_t major = parse_uint(parts[0]).value_or(1000);
  const std::uint64_t minor = parts.size() == 2 ? parse_uint(parts[1]).value_or(1000) : 1000;
  if (number.kind != Token::Kind::Float64 || major > 99 || minor > 99) {
    fail(number, fmt::format("expected a version such as 9.0 after .version, found {}", shown(number)));
  }
  module_.version_major = static_cast<std::uint32_t>(major);
  module_.version_minor = static_cast<std::uint32_t>(minor);
  saw_version_ = true;
}

void Parser::parse_target() {
  const Token name = expect_name("a target such as sm_75 after .target");
  std::string_view digits = name.text;
  if (digits.starts_with("sm_")) digits.remove_prefix(3);
  // sm_90a and sm_100f include features of this GPU or its family only.
  if (digits.ends_with('a') || digits.ends_with('f')) digits.remove_suffix(1);
  const auto number = parse_uint(digits);
  if (!name.text.starts_with("sm_") || !number || *number > 999) {
    fail(name, fmt::format("unknown target '{}'; known: sm_NN such as sm_75", name.text));
  }
  module_.sm = static_cast<std::uint32_t>(*number);
  while (accept(',')) {
    const Token option = expect_name("a target option");
    if (option.text != "debug" && option.text != "texmode_independent" && option.text != "texmode_unified") {
      fail(option, fmt::format("target option '{}' is not supported; known: debug, texmode_unified, "
                               "texmode_independent",
                               option.text));
    }
  }
  saw_target_ = true;
}

bool Parser::skip_debug_directive() {
  const Token& token = peek();
  if (token.kind != Token::Kind::Dot) return false;
  if (token.text == "file") {
    next();
    const std::uint64_t number = expect_integer("a file number");
    if (peek().kind != Token::Kind::String) fail(peek(), "expected a file name in quotes after .file");
    module_.source_files.emplace_back(static_cast<std::uint32_t>(number), next().text);
    while (accept(',')) expect_integer("a time stamp or size");
    return true;
  }
  if (token.text == "loc") {
    const std::uint32_t at = next().line;
    const std::uint64_t file = expect_integer("a file number");
    const std::uint64_t line = expect_integer("a line");
    expect_integer("a column");
    module_.source_lines.push_back(
        {at, static_cast<std::uint32_t>(file), static_cast<std::uint32_t>(line), 0, 0});
    while (accept(',')) {
      const Token word = expect_name("function_name or inlined_at");
      if (word.text == "function_name") {
        expect_name("a label of the debug strings");
        if (accept('+')) expect_integer("an offset");
      } else if (word.text == "inlined_at") {
        isa::SourceLine& inlined = module_.source_lines.back();
        inlined.caller_file = static_cast<std::uint32_t>(expect_integer("a file number"));
        inlined.caller_line = static_cast<std::uint32_t>(expect_integer("a line"));
        expect_integer("a column");
      } else {
        fail(word, fmt::format("'{}' is not part of .loc", word.text));
      }
    }
    return true;
  }
  if (token.text == "pragma") {
    next();
    do {
      if (peek().kind != Token::Kind::String) fail(peek(), "expected a string after .pragma");
      next();
    } while (accept(','));
    expect(';', ".pragma");
    return true;
  }
  if (token.text == "section") {
    next();
    if (peek().kind != Token::Kind::Dot && peek().kind != Token::Kind::Name) {
      fail(peek(), "expected a section name after .section");
    }
    next();
    expect('{', "the name of a section");
    const Token begin = peek();
    while (!accept('}')) {
      if (peek().kind == Token::Kind::End) fail(begin, "section without an end; '}' is missing");
      next();
    }
    return true;
  }
  return false;
}

void Parser::parse_alias() {
  const Token alias = expect_name("the alias's name");
  expect(',', "the alias's name");
  const Token aliasee = expect_name("the name of a function");
  expect(';', ".alias");
  aliases_[std::string(alias.text)] = std::string(aliasee.text);
}

void Parser::parse_linkage() {
  Linkage linkage;
  while (true) {
    const Token token = next();
    if (token.kind != Token::Kind::Dot) {
      fail(token, fmt::format("expected a directive, found {}", shown(token)));
    }
    if (token.text == "visible") continue;
    if (token.text == "extern") {
      linkage.is_extern = true;
    } else if (token.text == "weak") {
      linkage.is_weak = true;
    } else if (token.text == "common") {
      linkage.is_common = true;
    } else if (token.text == "entry") {
      return parse_function(true, linkage);
    } else if (token.text == "func") {
      return parse_function(false, linkage);
    } else if (token.text == "global") {
      return parse_variable(Space::Global, linkage);
    } else if (token.text == "const") {
      return parse_variable(Space::Const, linkage);
    } else if (token.text == "shared") {
      return parse_variable(Space::Shared, linkage);
    } else if (token.text == "local") {
      fail(token, ".local outside a function is not supported; it belongs into a function's body");
    } else if (token.text == "tex") {
      fail(token, ".tex is not supported; .global .texref is");
    } else {
      static const std::vector<std::string> kKnown = {
          "version", "target", "address_size", "visible", "extern", "weak",    "common", "entry", "func",
          "global",  "const",  "shared",       "file",    "loc",    "section", "pragma", "alias"};
      const std::string nearest = nearest_choice(token.text, kKnown);
      fail(token, fmt::format("unknown directive '.{}'{}", token.text,
                              nearest.empty() ? "" : fmt::format("; did you mean '.{}'?", nearest)));
    }
  }
}

isa::Module Parser::run() {
  while (peek().kind != Token::Kind::End) {
    if (accept(';')) continue;
    if (accept_dot("version")) {
      parse_version();
      continue;
    }
    if (!saw_version_) fail(peek(), "PTX begins with .version");
    if (accept_dot("target")) {
      parse_target();
    } else if (peek().is_dot("address_size")) {
      next();
      const Token at = peek();
      if (expect_integer("64 after .address_size") != 64) {
        fail(at, "only .address_size 64 is supported");
      }
    } else if (skip_debug_directive()) {
      continue;
    } else if (accept_dot("alias")) {
      parse_alias();
    } else {
      if (!saw_target_) fail(peek(), "expected .target before the first declaration");
      parse_linkage();
    }
  }
  if (!saw_version_) fail(peek(), "no PTX found: the text has no .version");
  if (!saw_target_) fail(peek(), "the text has no .target");
  finish();
  return std::move(module_);
}

void Parser::finish() {
  const auto resolve = [this](std::string& name) {
    const auto alias = aliases_.find(name);
    if (alias != aliases_.end()) name = alias->second;
  };
  for (Function& function : module_.functions) {
    for (isa::CallSite& call : function.calls) resolve(call.callee);
  }
  check_calls();
  for (Function& function : module_.functions) {
    for (const std::uint32_t slot : function.argument_slots)
      if (function.slots[slot].open) function.slots[slot].bytes = most_open_bytes_;
  }
  for (const auto& [name, symbol] : function_symbols_) {
    std::string target = name;
    resolve(target);
    const auto found = std::find_if(module_.functions.begin(), module_.functions.end(),
                                    [&](const Function& f) { return f.name == target; });
    if (found == module_.functions.end()) {
      fail(function_uses_.at(name), fmt::format("function '{}' has no body in this file", name));
    }
    module_.symbols[symbol].function = static_cast<std::uint32_t>(found - module_.functions.begin());
  }
  for (const auto& [symbol, at] : extern_symbols_) {
    if (used_symbols_.contains(symbol)) {
      fail(at, fmt::format("external variable '{}' has no definition in this file",
                           module_.symbols[symbol].name));
    }
  }
  lay_out_shared(module_);
}

isa::Module parse(std::string_view text, const std::string& file) { return Parser(text, file, false).run(); }

isa::Module parse_by_function(std::string_view text, const std::string& file) {
  return Parser(text, file, true).run();
}

}  // namespace gpumux::ptx
