// MSHRs and the miss queue divided evenly among applications. Source: dai18 section 4.5.
#include <fmt/core.h>

#include "policy/memory_scheme.hpp"

namespace gpumux::policy {
namespace {

using arch::MemoryScheme;

void check_misses(const MemoryScheme&, const std::string& name, const arch::MachineConfig& machine,
                  std::size_t apps) {
  const auto enough = [&](std::uint32_t have, const char* what) {
    if (apps > have)
      throw_memory_error(name, fmt::format("{} applications cannot share {} {}: each needs one; run fewer",
                                           apps, have, what));
  };
  enough(machine.l1.mshr_entries, "MSHRs (l1.mshr_entries)");
  enough(machine.l1.miss_queue, "places of the miss queue (l1.miss_queue)");
}

const bool registered_mshr =
    register_memory_scheme({"mshr",
                            "MSHRs and miss queue divided evenly among applications (dai18 4.5)",
                            {},
                            [](MemoryScheme& scheme) { scheme.divides_misses = true; },
                            {},
                            check_misses});

}  // namespace
}  // namespace gpumux::policy
