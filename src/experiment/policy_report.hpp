// What a policy reports, in result documents.
#pragma once

#include <nlohmann/json.hpp>

#include "policy/policy.hpp"

namespace gpumux::experiment {

/// Numbers of the run and curves go to metrics.policy, those of an application to apps[i].policy; a policy
/// that says nothing adds nothing.
void add_policy_report(nlohmann::ordered_json& document, const policy::Report& report);
/// Of a document that has been through add_policy_report(); numbers of the run come first.
[[nodiscard]] policy::Report read_policy_report(const nlohmann::ordered_json& document);

}  // namespace gpumux::experiment
