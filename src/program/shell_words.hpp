// Splitting of commands that need no shell.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpumux::program {

/// The words of a command that a shell would only start: a program given by path, with its arguments. Nothing
/// for all other commands: those with variables, patterns, operators, builtin commands or programs without a
/// path.
[[nodiscard]] std::optional<std::vector<std::string>> plain_words(std::string_view command);

}  // namespace gpumux::program
