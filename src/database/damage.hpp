// Databases whose content is not what gpumux has written: a byte that a disk has changed, a table that
// somebody has dropped.
#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

#include "database/sqlite.hpp"

namespace gpumux::database {

/// A row of a results database does not hold what gpumux puts there. what() says which.
class ContentError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What is wrong with it, in a few words that follow "is damaged: "; nothing when all of it is as gpumux
/// writes it. Takes as long as reading the file once. Throws nothing.
[[nodiscard]] std::optional<std::string> find_damage(const std::string& path);

/// Does `work`, which uses the database. What it throws because of a damaged one becomes a UserError that
/// says what is damaged; everything else passes.
void guarded(const std::string& path, const std::function<void()>& work);

/// The same for work that only takes apart what the database holds: what cannot be understood is its fault.
void reading(const std::string& path, const std::function<void()>& work);

}  // namespace gpumux::database
