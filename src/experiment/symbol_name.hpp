// Names of kernels and variables as users write them: the name in the PTX, or the C++ name that nvcc mangled.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace gpumux::experiment {

/// The C++ name of a PTX symbol: "scale(float*, int)" for "_Z5scalePfi". A name that is not mangled is
/// returned unchanged.
[[nodiscard]] std::string cpp_name(const std::string& symbol);

/// The symbol that `typed` means, one of `symbols` (names in the PTX `file`). `typed` is the PTX name, or the
/// C++ name with or without namespaces, template arguments and parameters ("reduce", "reduce<float, 256>",
/// "reduce<float, 256>(float*, int)"). `what` is "kernel" or "variable", for error messages. Throws UserError
/// if no symbol matches, or more than one.
[[nodiscard]] std::string find_symbol(std::string_view what, std::string_view typed,
                                      std::span<const std::string> symbols, const std::string& file);

}  // namespace gpumux::experiment
