// Names of kernels and variables as users write them: the PTX's own, or the C++ name that nvcc mangled into
// it.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace gpumux::experiment {

/// What C++ calls a symbol of PTX: "scale(float*, int)" for "_Z5scalePfi". A name that is not mangled is
/// itself.
[[nodiscard]] std::string cpp_name(const std::string& symbol);

/// The one of `symbols` (names in the PTX `file`) that `typed` means: the PTX name, or the C++ name with or
/// without namespaces, template arguments and parameters ("reduce", "reduce<float, 256>", "reduce<float,
/// 256>(float*, int)"). `what` is "kernel" or "variable", for messages. Throws UserError when there is none,
/// or more than one.
[[nodiscard]] std::string find_symbol(std::string_view what, std::string_view typed,
                                      std::span<const std::string> symbols, const std::string& file);

}  // namespace gpumux::experiment
