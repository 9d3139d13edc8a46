// Errors of what a file names, at the place where it names it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace gpumux {

/// What an error without a place says, for one that has a place: its mark would stand there twice. Nothing
/// where it has a place of its own.
[[nodiscard]] inline std::optional<std::string> placeless(const UserError& error) {
  constexpr std::string_view kMark = "error: ";
  const std::string_view text = error.what();
  if (!text.starts_with(kMark)) return std::nullopt;
  return std::string(text.substr(kMark.size()));
}

/// What make() gives. A UserError of it that has no place of its own gets `where`.
template <typename Make>
auto located(const SourceLocation& where, const Make& make) {
  try {
    return make();
  } catch (const UserError& error) {
    const std::optional<std::string> text = placeless(error);
    if (!text) throw;
    throw UserError(where, *text);
  }
}

}  // namespace gpumux
