// Columns that papers print of an application, and ours, for `inspect` and for isolated runs.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "arch/config.hpp"
#include "experiment/run.hpp"

namespace gpumux::cli {

/// For each paper's table with `app` (as typed): an empty line, a heading, and the lines of gpumux and the
/// paper; empty for other applications. `alone`: a completed isolated run on the machine; nullptr: columns
/// that must be measured have no value of ours.
[[nodiscard]] std::string paper_columns_text(const std::string& app, const arch::MachineConfig& machine,
                                             const experiment::RunResult* alone,
                                             std::optional<std::size_t> width, bool colour);
/// Adds the tables as members of a document, KEY: {"ours": {MEMBER: value}, "paper": {MEMBER: value}}.
/// Without a run, "ours" has no measured columns. With a run, measured columns without a value are null, and
/// tables that are not for results are left out.
void add_paper_columns(nlohmann::ordered_json& document, const std::string& app,
                       const arch::MachineConfig& machine, const experiment::RunResult* alone);

}  // namespace gpumux::cli
