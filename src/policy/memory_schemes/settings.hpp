// Settings that several memory schemes share.
#pragma once

#include "policy/memory_scheme.hpp"

namespace gpumux::policy {

/// Setting: requests between updates of quotas or limits.
[[nodiscard]] MemorySetting interval_setting();
/// Setting: whether the failure counter of a dynamic limit saturates.
[[nodiscard]] MemorySetting unbounded_setting();
/// Setting: until when a store counts as in flight.
[[nodiscard]] MemorySetting stores_setting();
/// Setting: when a scheduler offers a memory instruction.
[[nodiscard]] MemorySetting offers_setting();
[[nodiscard]] MemorySetting orders_setting();

}  // namespace gpumux::policy
