// A sweep as a TOML table, which is a file of its own or a part of one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "experiment/toml_reader.hpp"
#include "sweep/sweep_file.hpp"

namespace gpumux::sweep {

/// Names of the sweep's scales, sorted. Throws UserError.
[[nodiscard]] std::vector<std::string> sweep_scales(const experiment::TomlReader& toml,
                                                    const toml::table& root);

/// Reads a sweep from a table, like parse_sweep(). `name`: the sweep's name, unless the table has one.
/// `text`: the description to keep.
[[nodiscard]] SweepFile read_sweep_table(const experiment::TomlReader& toml, const toml::table& root,
                                         const std::string& name, const std::string& scale,
                                         std::string_view text);

}  // namespace gpumux::sweep
