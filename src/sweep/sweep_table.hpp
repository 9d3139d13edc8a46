// A sweep as a table of TOML: a file of its own, or a part of one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "experiment/toml_reader.hpp"
#include "sweep/sweep_file.hpp"

namespace gpumux::sweep {

/// Names of its scales, sorted. Throws UserError.
[[nodiscard]] std::vector<std::string> sweep_scales(const experiment::TomlReader& toml,
                                                    const toml::table& root);

/// As parse_sweep() of the file that `toml` reads. `name`: of the sweep where the table has none; `text`:
/// what is kept as its description.
[[nodiscard]] SweepFile read_sweep_table(const experiment::TomlReader& toml, const toml::table& root,
                                         const std::string& name, const std::string& scale,
                                         std::string_view text);

}  // namespace gpumux::sweep
