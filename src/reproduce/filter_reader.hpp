// 'where' and 'against' of a quantity: which runs it is of, and which it is compared with.
#pragma once

#include "reproduce/experiment.hpp"
#include "reproduce/experiment_sweep.hpp"
#include "reproduce/template_reader.hpp"

namespace gpumux::reproduce {

/// Both throw UserError with file:line:column for what the sweep does not have.
[[nodiscard]] Filter read_filter(const TemplateReader& reader, const SweepNames& names,
                                 const toml::node& node);
[[nodiscard]] Against read_against(const TemplateReader& reader, const SweepNames& names,
                                   const toml::node& node);

}  // namespace gpumux::reproduce
