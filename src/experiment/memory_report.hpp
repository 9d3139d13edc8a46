// What a memory scheme did for each application, in results (docs/memory-control.md).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "experiment/run.hpp"
#include "machine/gpu.hpp"

namespace gpumux::experiment {

/// As the SMs stand now.
[[nodiscard]] MemoryReport memory_report(const machine::Gpu& gpu, AppId app);
/// An application's `memory_control`.
[[nodiscard]] nlohmann::ordered_json memory_json(const MemoryReport& report);
/// The same back from an entry of `apps` of a result; nothing when it has none.
[[nodiscard]] std::optional<MemoryReport> read_memory(const nlohmann::ordered_json& app);

}  // namespace gpumux::experiment
