// Linking of relocatable translation units (nvcc -rdc=true): joins their PTX to one PTX text.
#pragma once

#include <span>
#include <string>

namespace gpumux::ptx {

struct Unit {
  std::string name;  // for messages
  std::string text;
};

/// Links units to one text with the definitions of all units. Each shared name is defined once:
/// - a .visible definition is preferred over .weak, and .weak over .common; among .weak definitions the first
///   is taken, among .common ones the largest
/// - a private name that occurs in several units gets a number: `$str` becomes `$str$1`
/// - dynamic shared memory (.extern .shared x[]) gets the largest alignment of the units
/// - functions that no unit defines stay declared, which is an error of the kernels that call them
///
/// Version and target are the highest of all units. Throws UserError, which names the units, for two .visible
/// definitions of a name, a used variable that no unit defines, and text that is no PTX.
[[nodiscard]] std::string link(std::span<const Unit> units);

}  // namespace gpumux::ptx
