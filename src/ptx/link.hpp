// The PTX of several relocatable translation units (nvcc -rdc=true) -> one PTX text.
#pragma once

#include <span>
#include <string>

namespace gpumux::ptx {

struct Unit {
  std::string name;  // for messages
  std::string text;
};

/// One text with what all units define, each thing that goes by a name across units once:
///  - a definition that is .visible is the one; of those that are .weak the first, of .common the largest; a
///    definition that is .visible goes before .weak, and this before .common
///  - names of one unit alone that another has, too, get a number behind them: `$str` becomes `$str$1`
///  - dynamic shared memory (.extern .shared x[]) has the largest alignment that a unit asks for
///  - functions that no unit defines stay declared: an error of the kernels that call them
/// Its version and target are the highest of the units'. Throws UserError, which names the units, for two
/// .visible definitions of a name, a variable in use that no unit defines, and text that is no PTX.
[[nodiscard]] std::string link(std::span<const Unit> units);

}  // namespace gpumux::ptx
