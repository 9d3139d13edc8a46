// Commands that need no shell.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpumux::program {

/// The words of a command that a shell would do nothing else with than start its first word, a path, with the
/// others as arguments. Nothing for all other commands: those with names, variables, patterns, operators or
/// builtin commands.
[[nodiscard]] std::optional<std::vector<std::string>> plain_words(std::string_view command);

}  // namespace gpumux::program
