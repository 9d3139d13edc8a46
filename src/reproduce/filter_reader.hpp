// Reads 'where' and 'against' of a quantity: the runs that it is from, and the runs that it is compared with.
#pragma once

#include "reproduce/experiment.hpp"
#include "reproduce/experiment_sweep.hpp"
#include "reproduce/template_reader.hpp"

namespace gpumux::reproduce {

/// Reads 'where' of a quantity. Throws UserError with file:line:column for names that the sweep does not
/// have.
[[nodiscard]] Filter read_filter(const TemplateReader& reader, const SweepNames& names,
                                 const toml::node& node);
[[nodiscard]] Against read_against(const TemplateReader& reader, const SweepNames& names,
                                   const toml::node& node);

}  // namespace gpumux::reproduce
