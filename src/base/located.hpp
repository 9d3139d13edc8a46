// Adding a source location to errors about something that a file names.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace gpumux {

/// The message of an error without a location, without its leading "error: ", so that the message can be
/// given a location. Nothing if the error has a location of its own.
[[nodiscard]] inline std::optional<std::string> placeless(const UserError& error) {
  constexpr std::string_view kMark = "error: ";
  const std::string_view text = error.what();
  if (!text.starts_with(kMark)) return std::nullopt;
  return std::string(text.substr(kMark.size()));
}

/// Returns the result of make(). A UserError without a location gets the location `where`.
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
