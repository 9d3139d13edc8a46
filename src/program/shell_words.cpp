#include "program/shell_words.hpp"

namespace gpumux::program {
namespace {

constexpr std::string_view kBlanks = " \t";
/// Characters with a meaning for a shell: anywhere outside of quotes, and within double quotes.
constexpr std::string_view kSpecial = "|&;<>()$`*?[]{}\n";
constexpr std::string_view kSpecialInQuotes = "$`\\";

}  // namespace

std::optional<std::vector<std::string>> plain_words(std::string_view command) {
  std::vector<std::string> words;
  bool in_word = false;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (kBlanks.find(c) != std::string_view::npos) {
      in_word = false;
      continue;
    }
    if (kSpecial.find(c) != std::string_view::npos) return std::nullopt;
    if (!in_word) {
      if (c == '#' || c == '~') return std::nullopt;  // a comment or a home folder
      words.emplace_back();
      in_word = true;
    }
    if (c == '\'' || c == '"') {
      const std::size_t end = command.find(c, i + 1);
      if (end == std::string_view::npos) return std::nullopt;
      const std::string_view quoted = command.substr(i + 1, end - i - 1);
      if (c == '"' && quoted.find_first_of(kSpecialInQuotes) != std::string_view::npos) return std::nullopt;
      words.back() += quoted;
      i = end;
    } else if (c == '\\') {
      if (++i == command.size() || command[i] == '\n') return std::nullopt;
      words.back() += command[i];
    } else {
      words.back() += c;
    }
  }
  if (words.empty()) return std::nullopt;
  const std::string& program = words.front();
  // A=./b is an assignment; a name without a slash may be a builtin command.
  if (program.find('/') == std::string::npos || program.find('=') < program.find('/')) return std::nullopt;
  return words;
}

}  // namespace gpumux::program
