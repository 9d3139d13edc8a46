// Parsing of TOML texts.
#pragma once

#include <toml++/toml.h>

#include <string>
#include <string_view>

namespace gpumux {

/// Parses a TOML text. Throws UserError with file:line:column for invalid TOML, which includes characters
/// outside ASCII in neither a string nor a comment. toml++ 3.3 assumes that some such characters cannot
/// occur, so they are checked first.
[[nodiscard]] toml::table parse_toml(std::string_view text, const std::string& file);

}  // namespace gpumux
