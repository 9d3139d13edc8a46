// Errors of what a file names, at the place where it names it.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"

namespace gpumux {

/// What make() gives. A UserError of it that has no place of its own gets `where`.
template <typename Make>
auto located(const SourceLocation& where, const Make& make) {
  try {
    return make();
  } catch (const UserError& error) {
    constexpr std::string_view kPlaceless = "error: ";
    const std::string_view text = error.what();
    if (!text.starts_with(kPlaceless)) throw;
    throw UserError(where, std::string(text.substr(kPlaceless.size())));
  }
}

}  // namespace gpumux
