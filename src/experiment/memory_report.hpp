// The effects of a memory scheme on each application, for results (docs/memory-control.md).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "experiment/run.hpp"
#include "machine/gpu.hpp"

namespace gpumux::experiment {

/// Reads the report from the present state of the SMs.
[[nodiscard]] MemoryReport memory_report(const machine::Gpu& gpu, AppId app);
/// The JSON value of an application's `memory_control`.
[[nodiscard]] nlohmann::ordered_json memory_json(const MemoryReport& report);
/// Reads the report from an entry of `apps` of a result; nothing if the entry has none.
[[nodiscard]] std::optional<MemoryReport> read_memory(const nlohmann::ordered_json& app);

}  // namespace gpumux::experiment
