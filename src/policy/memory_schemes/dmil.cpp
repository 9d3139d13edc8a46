// DMIL: limits of memory instructions in flight, computed from reservation failures. Source: dai18 section
// 3.3.2.
#include <fmt/core.h>

#include <optional>

#include "base/text.hpp"
#include "policy/memory_schemes/settings.hpp"

namespace gpumux::policy {
namespace {

using arch::MemoryScheme;

MemorySetting monitor_setting() {
  return {"monitor", "the SM that works the limits out for all, default 0", "the number of an SM", "0",
          [](MemoryScheme& scheme, const std::string& value) {
            const std::optional<std::uint64_t> sm = parse_uint(value);
            if (!sm || *sm > 0xffff) return false;
            scheme.monitor = static_cast<SmId>(*sm);
            return true;
          }};
}

void check_monitor(const MemoryScheme& scheme, const std::string& name, const arch::MachineConfig& machine,
                   std::size_t) {
  if (scheme.monitor >= machine.sms)
    throw_memory_error(
        name, fmt::format("monitor={}, but the machine has SMs 0 to {}", scheme.monitor, machine.sms - 1));
}

const bool registered_dmil =
    register_memory_scheme(
        {"dmil",
         "memory instructions in flight limited by each SM's reservation failures (dai18 3.3.2)",
         {interval_setting(), unbounded_setting(), stores_setting()},
         [](MemoryScheme& scheme) { scheme.limit = MemoryScheme::Limit::Dynamic; }}) &&
    register_memory_scheme({"dmil-global",
                            "the same limits on all SMs, worked out by one of them (dai18 3.3.2)",
                            {interval_setting(), unbounded_setting(), stores_setting(), monitor_setting()},
                            [](MemoryScheme& scheme) { scheme.limit = MemoryScheme::Limit::DynamicGlobal; },
                            {},
                            check_monitor});

}  // namespace
}  // namespace gpumux::policy
