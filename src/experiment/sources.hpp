// What kept results depend on beside their inputs: the program's own sources.
#pragma once

#include <string>
#include <string_view>

namespace gpumux::experiment {

/// Content hash of the files by which a policy decides; comments do not count. Empty for a policy that is not
/// of src/policy. What all runs share is embedded::simulator_sources.
[[nodiscard]] std::string_view policy_sources(std::string_view policy);

/// The same for a block scheduler, as `blocks=` names it. Empty for the usual one, which is of all runs.
[[nodiscard]] std::string_view block_scheduler_sources(std::string_view text);
[[nodiscard]] std::string_view core_control_sources(std::string_view text);
[[nodiscard]] std::string_view concurrency_control_sources(std::string_view text);

/// The same for a memory scheme; empty for none.
[[nodiscard]] std::string_view memory_scheme_sources(const std::string& name);

}  // namespace gpumux::experiment
