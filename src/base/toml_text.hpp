// TOML texts into the library's tables.
#pragma once

#include <toml++/toml.h>

#include <string>
#include <string_view>

namespace gpumux {

/// The table of a text. Throws UserError with file:line:column for what is no TOML, such as a character
/// outside ASCII that is neither in a string nor in a comment: toml++ 3.3 takes some of these for what it
/// knows to be impossible, so no such text comes before it.
[[nodiscard]] toml::table parse_toml(std::string_view text, const std::string& file);

}  // namespace gpumux
