// UCP: L1 ways divided among applications by utility. Source: dai18 section 3.1.
#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "base/text.hpp"
#include "policy/memory_scheme.hpp"

namespace gpumux::policy {
namespace {

using arch::MemoryScheme;

MemorySetting interval() {
  return {"interval", "cycles after which the ways are divided anew, 100 to 1000000000, default 10000",
          "a number of cycles from 100 to 1000000000", "10000",
          [](MemoryScheme& scheme, const std::string& value) {
            const std::optional<std::uint64_t> cycles = parse_uint(value);
            if (!cycles || *cycles < 100 || *cycles > 1'000'000'000) return false;
            scheme.ways_interval = *cycles;
            return true;
          }};
}

/// Ways of a unified L1 when shared memory has its largest carveout.
std::uint32_t fewest_ways(const arch::L1Config& l1) {
  const std::uint32_t sets = std::max(1U, l1.bytes / (std::max(1U, l1.ways) * kLineBytes));
  const std::uint32_t shared = l1.shared_carveouts.empty() ? 0 : l1.shared_carveouts.back();
  return (l1.unified_bytes - std::min(shared, l1.unified_bytes)) / (sets * kLineBytes);
}

void check_ways(const MemoryScheme&, const std::string& name, const arch::MachineConfig& machine,
                std::size_t apps) {
  const arch::L1Config& l1 = machine.l1;
  if (l1.bytes == 0 && l1.unified_bytes == 0)
    throw_memory_error(name, "the machine has no L1 whose ways could be divided");
  const bool unified = l1.unified_bytes > 0;
  const std::uint32_t ways = unified ? fewest_ways(l1) : l1.ways;
  if (apps > ways)
    throw_memory_error(
        name, fmt::format("{} applications cannot share {} {}: each needs one; run fewer", apps, ways,
                          unified ? "ways, which the largest of l1.shared_carveouts leaves of L1"
                                  : "ways of L1 (l1.ways)"));
}

const bool registered_ucp = register_memory_scheme({"ucp",
                                                    "ways of L1 divided by utility (dai18 3.1)",
                                                    {interval()},
                                                    [](MemoryScheme& scheme) { scheme.divides_ways = true; },
                                                    {},
                                                    check_ways});

}  // namespace
}  // namespace gpumux::policy
