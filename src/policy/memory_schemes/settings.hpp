// Settings that several memory schemes have.
#pragma once

#include "policy/memory_scheme.hpp"

namespace gpumux::policy {

/// Requests between updates of what is counted.
[[nodiscard]] MemorySetting interval_setting();
/// How far the failure counter of a dynamic limit goes.
[[nodiscard]] MemorySetting unbounded_setting();
/// Until when a store is in flight.
[[nodiscard]] MemorySetting stores_setting();
/// When a scheduler offers a memory instruction, and which ones take turns.
[[nodiscard]] MemorySetting offers_setting();
[[nodiscard]] MemorySetting orders_setting();

}  // namespace gpumux::policy
