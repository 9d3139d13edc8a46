// Reports of policies in result documents.
#pragma once

#include <nlohmann/json.hpp>

#include "policy/policy.hpp"

namespace gpumux::experiment {

/// Adds a report to a result: numbers of the run and curves to metrics.policy, numbers of an application to
/// apps[i].policy. An empty report adds nothing.
void add_policy_report(nlohmann::ordered_json& document, const policy::Report& report);
/// Reads the report from a document that add_policy_report() has filled. Numbers of the run come first.
[[nodiscard]] policy::Report read_policy_report(const nlohmann::ordered_json& document);

}  // namespace gpumux::experiment
