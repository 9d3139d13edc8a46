// Detects databases whose content is not what gpumux has written, for example after a disk error or a dropped
// table.
#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

#include "database/sqlite.hpp"

namespace gpumux::database {

/// A row of a results database does not have valid content. what() says which row.
class ContentError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Describes the damage in a few words that follow "is damaged: "; nothing if there is none. Takes as long as
/// reading the file once. Does not throw.
[[nodiscard]] std::optional<std::string> find_damage(const std::string& path);

/// Does `work`, which uses the database. An exception due to damage becomes a UserError that describes the
/// damage; other exceptions pass.
void guarded(const std::string& path, const std::function<void()>& work);

/// Does `work`, which only interprets the content of the database. Content that cannot be interpreted also
/// counts as damage.
void reading(const std::string& path, const std::function<void()>& work);

}  // namespace gpumux::database
