// Hashes of the program's own sources, on which kept results depend in addition to their inputs.
#pragma once

#include <string>
#include <string_view>

namespace gpumux::experiment {

/// Content hash of the source files by which a policy decides, without comments. Empty for a policy that is
/// not in src/policy. embedded::simulator_sources covers the sources that all runs share.
[[nodiscard]] std::string_view policy_sources(std::string_view policy);

/// Content hash of the sources of a block scheduler, as `blocks=` names it. Empty for the usual one, which
/// all runs share.
[[nodiscard]] std::string_view block_scheduler_sources(std::string_view text);
[[nodiscard]] std::string_view core_control_sources(std::string_view text);
[[nodiscard]] std::string_view concurrency_control_sources(std::string_view text);

/// Content hash of the sources of a memory scheme; empty for none.
[[nodiscard]] std::string_view memory_scheme_sources(const std::string& name);

}  // namespace gpumux::experiment
