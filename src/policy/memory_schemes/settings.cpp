#include "policy/memory_schemes/settings.hpp"

#include <bit>
#include <optional>

#include "base/text.hpp"

namespace gpumux::policy {

using arch::MemoryScheme;

MemorySetting interval_setting() {
  return {"interval",
          "requests of an application between updates of its values, a power of two from 64 to 65536, "
          "default 1024",
          "a power of two from 64 to 65536", "1024", [](MemoryScheme& scheme, const std::string& value) {
            const std::optional<std::uint64_t> requests = parse_uint(value);
            if (!requests || *requests < 64 || *requests > 65536 || !std::has_single_bit(*requests))
              return false;
            scheme.interval = static_cast<std::uint32_t>(*requests);
            return true;
          }};
}

MemorySetting unbounded_setting() {
  return {"unbounded",
          "false (default): the failure counter saturates at 4 failures per request, "
          "so a limit falls to a third at most; "
          "true: it does not",
          "true or false", "false", [](MemoryScheme& scheme, const std::string& value) {
            return set_flag(scheme.unbounded, value, "true", "false");
          }};
}

MemorySetting stores_setting() {
  return {"stores",
          "accepted (default): a store is in flight until L1 has taken its last request; "
          "performed: until its acknowledgement",
          "accepted or performed", "accepted", [](MemoryScheme& scheme, const std::string& value) {
            return set_flag(scheme.stores_performed, value, "performed", "accepted");
          }};
}

MemorySetting offers_setting() {
  return {"offers",
          "ready (default): schedulers offer their ready memory instructions, and the chosen "
          "one goes before arithmetic; wanted: only when their own order picks one",
          "ready or wanted", "ready", [](MemoryScheme& scheme, const std::string& value) {
            return set_flag(scheme.offers_ready, value, "ready", "wanted");
          }};
}

MemorySetting orders_setting() {
  return {"orders",
          "lsu (default): all instructions for the load/store unit take turns, those of "
          "shared and constant memory too; "
          "l1: only those that access L1",
          "lsu or l1", "lsu", [](MemoryScheme& scheme, const std::string& value) {
            return set_flag(scheme.orders_all, value, "lsu", "l1");
          }};
}

}  // namespace gpumux::policy
