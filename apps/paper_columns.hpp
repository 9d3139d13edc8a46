// What papers print of an application beside ours, for `inspect` and for a run of the application alone.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "arch/config.hpp"
#include "experiment/run.hpp"

namespace gpumux::cli {

/// Two lines under a heading for each table that has `app`, as typed, and an empty line before each; nothing
/// for other applications. `alone`: a finished run of it alone on the machine; nullptr leaves ours of what
/// has to be measured out.
[[nodiscard]] std::string paper_columns_text(const std::string& app, const arch::MachineConfig& machine,
                                             const experiment::RunResult* alone,
                                             std::optional<std::size_t> width, bool colour);
/// The same as members of a document, KEY: {"ours": {MEMBER: value}, "paper": {MEMBER: value}}. Without a
/// run, "ours" lacks what has to be measured; with one, it has null for what did not come of it, and tables
/// that are not for results are left out.
void add_paper_columns(nlohmann::ordered_json& document, const std::string& app,
                       const arch::MachineConfig& machine, const experiment::RunResult* alone);

}  // namespace gpumux::cli
