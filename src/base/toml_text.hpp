// What is checked of a TOML text before the library reads it.
#pragma once

#include <string>
#include <string_view>

namespace gpumux {

/// Throws UserError with file:line:column for a character outside ASCII that is neither in a string nor in a
/// comment: TOML allows none there, and toml++ 3.3 takes some for what it knows to be impossible.
void check_toml_characters(std::string_view text, const std::string& file);

}  // namespace gpumux
