#include "experiment/symbol_name.hpp"

#include <cxxabi.h>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"

namespace gpumux::experiment {
namespace {

/// Position of the bracket that the last character closes; npos if the last character closes none.
std::size_t opening(std::string_view text, char open, char close) {
  if (text.empty() || text.back() != close) return std::string_view::npos;
  std::size_t depth = 0;
  for (std::size_t i = text.size(); i-- > 0;) {
    if (text[i] == close) ++depth;
    if (text[i] == open && --depth == 0) return i;
  }
  return std::string_view::npos;
}

std::string_view without_parameters(std::string_view name) { return name.substr(0, opening(name, '(', ')')); }
std::string_view without_arguments(std::string_view name) { return name.substr(0, opening(name, '<', '>')); }

std::string_view without_namespaces(std::string_view name) {
  const std::string_view base = without_arguments(name);
  const std::size_t at = base.rfind("::");
  return at == std::string_view::npos ? name : name.substr(at + 2);
}

/// The name without blanks and integer suffixes, so that <float,256> and <float, 256u> are equal.
std::string plain(std::string_view name) {
  std::string out;
  bool number = false;
  for (const char c : name) {
    if (c == ' ') continue;
    const bool digit = c >= '0' && c <= '9';
    if (number && (c == 'u' || c == 'l')) continue;
    // A digit inside an identifier does not start a number.
    const bool inside =
        !out.empty() && (std::isalnum(static_cast<unsigned char>(out.back())) || out.back() == '_');
    number = digit && (number || !inside);
    out += c;
  }
  return out;
}

/// The ways to write one symbol.
std::vector<std::string> spellings(const std::string& symbol) {
  const std::string full = cpp_name(symbol);
  const std::string_view name = without_parameters(full);
  const std::string_view local = without_namespaces(name);
  return {plain(full), plain(name), plain(local), plain(without_arguments(name)),
          plain(without_arguments(local))};
}

}  // namespace

std::string cpp_name(const std::string& symbol) {
  if (!symbol.starts_with("_Z")) return symbol;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), std::free);
  if (status != 0 || text == nullptr) return symbol;
  // Only templates carry their return type, which is void for a kernel.
  const std::string_view name = text.get();
  return std::string(name.starts_with("void ") ? name.substr(5) : name);
}

std::string find_symbol(std::string_view what, std::string_view typed, std::span<const std::string> symbols,
                        const std::string& file) {
  if (std::find(symbols.begin(), symbols.end(), typed) != symbols.end()) return std::string(typed);
  std::vector<std::string> found;
  std::vector<std::string> known;
  for (const std::string& symbol : symbols) {
    known.emplace_back(without_parameters(cpp_name(symbol)));
    const std::vector<std::string> names = spellings(symbol);
    if (std::find(names.begin(), names.end(), plain(typed)) != names.end()) found.push_back(symbol);
  }
  if (found.size() == 1) return found[0];
  if (found.empty()) throw UserError({file}, unknown_choice(what, typed, known));
  std::vector<std::string> candidates;
  for (const std::string& symbol : found) candidates.push_back(cpp_name(symbol));
  throw UserError({file},
                  fmt::format("{} '{}' could be any of: {}", what, typed, fmt::join(candidates, "; ")));
}

}  // namespace gpumux::experiment
